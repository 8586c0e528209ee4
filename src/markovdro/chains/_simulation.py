"""Simulated trajectories of a chain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from markovdro._arrays import AnyArray
from markovdro._inputs import random_generator, shown, transition_matrix, whole_number
from markovdro.chains._alignment import align_table
from markovdro.chains._labels import plain_list, states_of_rows, unique_states
from markovdro.chains._stationary import stationary_law
from markovdro.errors import InputError

__all__ = ["simulate"]

# Eighty gigabytes of labels: whoever asks for more has mistyped.
MOST_TRANSITIONS = 10**10


def simulate(
    transition: Any,
    transitions: int,
    *,
    seed: int | np.random.Generator,
    start: Hashable | None = None,
    states: Sequence[Hashable] | None = None,
) -> AnyArray:
    """Draw a trajectory of a chain.

    Parameters
    ----------
    transition : d × d, rows summing to one
    transitions : int
        Number of transitions T; the trajectory holds T + 1 observations.
    seed : int or numpy.random.Generator
    start : label, optional
        The initial state. By default it is drawn from the stationary law.
    states : labels, optional
        By default the names of the table, or 0, 1, …, d − 1 where there are none.

    Returns
    -------
    array of labels, ξ_0 to ξ_T

    Examples
    --------
    >>> from markovdro import simulate
    >>> simulate([[0.0, 1.0], [1.0, 0.0]], 3, seed=1, start="on", states=["on", "off"]).tolist()
    ['on', 'off', 'on', 'off']
    """
    from markovdro.chains._elimination import walk

    given = None if states is None else unique_states(states)
    numbers, given = align_table(transition, given, "transition")
    matrix = transition_matrix(numbers)
    labels = states_of_rows(given, len(matrix), "transition")
    steps = whole_number(transitions, "transitions", least=1, most=MOST_TRANSITIONS)
    rng = random_generator(seed)
    first = (
        int(rng.choice(len(matrix), p=stationary_law(matrix, method="gth")))
        if start is None
        else _number(start, labels)
    )
    cumulative = matrix.cumsum(axis=1)
    # Rounding must not leave a gap below one, nor give it to a state that cannot follow.
    cumulative[cumulative >= cumulative[:, -1:]] = 1.0
    path = np.empty(steps + 1, dtype=np.intp)
    walk(cumulative, first, rng.random(steps), path)
    if given is None:
        return path
    lookup = np.empty(len(labels), dtype=object)
    lookup[:] = labels
    return lookup[path]


def _number(start: Any, labels: tuple[Hashable, ...]) -> int:
    try:
        return {label: code for code, label in enumerate(labels)}[plain_list([start])[0]]
    except (KeyError, TypeError):  # TypeError: what cannot be hashed is no label
        raise InputError(f"start must be one of the states, but is {shown(start)}.") from None
