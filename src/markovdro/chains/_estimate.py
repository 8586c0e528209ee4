"""The estimated chain: the paper's θ', α and P', with all that was assumed to get them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._inputs import doublet_matrix, float_array, positive_number, read_only
from markovdro.chains._alignment import align_table
from markovdro.chains._counts import TransitionCounts
from markovdro.chains._labels import states_of_rows, unique_states
from markovdro.chains._smoothing import Smoothing, ZeroPerturbation, smoothing_named
from markovdro.chains._structure import recurrent_states
from markovdro.errors import (
    DataError,
    HeavySmoothingWarning,
    InputError,
    MarkovDROWarning,
    UnvisitedStateError,
    UnvisitedStatesWarning,
)

__all__ = ["Estimate", "checked_estimate", "estimate"]

# Above this share of the doublet mass, what was added to the data deserves a warning.
HEAVY_SMOOTHING = 0.1

# Rows of less mass than this have lost their digits, or soon overflow what is divided by it.
LEAST_WEIGHT = 1e-290


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated Markov chain, the centre of every ambiguity set.

    Attributes
    ----------
    doublets : array, d × d
        The doublet distribution θ', positive or zero, summing to one.
    weights : array, d
        Its row sums α: how much the data says of each row.
    transition : array, d × d
        The conditional rows P' = θ'/α.
    support : boolean array, d × d
        Transitions that any chain of an ambiguity set may use. Where it is False the transition
        is impossible by assumption (a structural zero).
    states : tuple
        The labels.
    transitions_seen : float or None
        The paper's T, where it is known.
    smoothing : Smoothing or None
        How unseen transitions were treated.
    counts : TransitionCounts or None
        The data.
    """

    doublets: FloatArray
    weights: FloatArray
    transition: FloatArray
    support: BoolArray
    states: tuple[Hashable, ...]
    transitions_seen: float | None
    smoothing: Smoothing | None = None
    counts: TransitionCounts | None = None

    @classmethod
    def from_doublets(
        cls,
        doublets: Any,
        *,
        states: Iterable[Hashable] | None = None,
        support: Any = None,
        transitions_seen: float | None = None,
    ) -> Estimate:
        """Take a doublet distribution that was made elsewhere.

        Parameters
        ----------
        doublets : d × d, nonnegative, summing to one, no row all zero
            ``doublets[i, j]`` is the share of transitions that went from i to j. For a published
            transition matrix P with stationary law π it is ``π[:, None] * P``. The names of a
            table decide which state a row or a column belongs to.
        states : labels, optional
            By default the names of the table, or 0, 1, …, d − 1 where there are none.
        support : optional
            As in :func:`estimate`.
        transitions_seen : optional
            The number of transitions behind it, which the radius rules need.

        Examples
        --------
        >>> from markovdro import Estimate
        >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])
        >>> coin.transition
        array([[0.8, 0.2],
               [0.2, 0.8]])
        """
        given = None if states is None else unique_states(states)
        numbers, given = align_table(doublets, given, "doublets")
        theta = doublet_matrix(numbers)
        labels = states_of_rows(given, len(theta), "doublets")
        if transitions_seen is not None:
            transitions_seen = positive_number(transitions_seen, "transitions_seen")
        allowed = _support(support, theta, labels)
        return _build(theta, allowed, labels, transitions_seen)

    @cached_property
    def recurrent(self) -> BoolArray:
        """States that every chain of an ambiguity set visits for ever.

        They form the one closed class of P'. A chain at finite divergence keeps every transition
        of P', so that its own closed class holds these states too.
        """
        mask: BoolArray = read_only(recurrent_states(self.transition, self.states))
        return mask

    @cached_property
    def frequencies(self) -> FloatArray:
        """Share of the transitions that began in each state, without smoothing.

        This is what models that take observations for independent estimate the long-run law by. The
        weights α stand in where there are no counts.
        """
        if self.counts is None:
            return self.weights
        share: FloatArray = read_only(self.counts.matrix.sum(axis=1) / self.counts.total)
        return share

    @cached_property
    def warnings(self) -> tuple[MarkovDROWarning, ...]:
        """What a careful reader should know before trusting the estimate."""
        found: list[MarkovDROWarning] = []
        unvisited = () if self.counts is None else self.counts.unvisited
        if unvisited:
            found.append(
                UnvisitedStatesWarning(
                    f"{len(unvisited)} of {len(self.states)} states were never left "
                    f"({_first(unvisited)}): the data says nothing of their rows, and nature "
                    "may make them nearly absorbing at little cost."
                )
            )
        if self.smoothing_mass > HEAVY_SMOOTHING:
            found.append(
                HeavySmoothingWarning(
                    f"{self.smoothing_mass:.0%} of the doublet mass comes from the smoothing, not "
                    f"from the data ({self.transitions_seen:g} transitions for "
                    f"{self.doublets.size} doublets)."
                )
            )
        return tuple(found)

    @property
    def smoothing_mass(self) -> float:
        """Share of the doublet mass that smoothing moved: 0 none, 1 all.

        This is the total variation distance from the empirical doublet distribution N/T.
        """
        if self.counts is None:
            return 0.0
        moved = self.doublets - self.counts.matrix / self.counts.total
        return float(np.maximum(moved, 0.0).sum())

    def __repr__(self) -> str:
        seen = "" if self.transitions_seen is None else f", {self.transitions_seen:g} transitions"
        smoothing = "" if self.smoothing is None else f", {self.smoothing!r}"
        doubts = f", {len(self.warnings)} warning(s)" if self.warnings else ""
        return f"Estimate({len(self.states)} states{seen}{smoothing}{doubts})"


def estimate(
    counts: TransitionCounts | Any,
    *,
    smoothing: str | Smoothing = ZeroPerturbation(),  # noqa: B008  immutable
    support: Any = None,
) -> Estimate:
    """Estimate a chain from transition counts.

    Parameters
    ----------
    counts : TransitionCounts, or a square matrix of counts
        The data.
    smoothing : name or object
        What unseen transitions get: ``"zero-perturbation"`` (the paper's, ε = 1e-5),
        ``"pseudo-counts"`` (½ each), ``"laplace"`` (1 each), ``"ghost"`` (each trajectory closed by
        one transition) or ``"none"``; or an object such as ``ZeroPerturbation(1e-4)``.
    support : boolean d × d, optional
        False marks a transition that cannot happen. Smoothing leaves it at zero, and no chain of
        an ambiguity set uses it. By default every transition is possible.

    Returns
    -------
    Estimate
        θ' = N/T after smoothing, α_i = Σ_j θ'_ij and P'_ij = θ'_ij/α_i.

    Raises
    ------
    UnvisitedStateError
        If a state was never left and the smoothing gives it no row. With a smoothing that does,
        the estimate carries an :class:`~markovdro.errors.UnvisitedStatesWarning`.
    ReducibleChainError
        If the estimated chain falls apart into several closed classes.

    Examples
    --------
    >>> from markovdro import count_transitions, estimate
    >>> chain = estimate(count_transitions([0, 1, 1, 0, 0]), smoothing="laplace")
    >>> chain.doublets
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    if not isinstance(counts, TransitionCounts):
        counts = TransitionCounts.from_matrix(counts)
    if counts.total == 0:
        raise DataError("all counts are zero: there is no transition to estimate from.")
    chosen = smoothing_named(smoothing)
    allowed = _support(support, counts.matrix, counts.states)
    masses = float_array(chosen.masses(counts, allowed), "the smoothed masses", 2)
    if masses.shape != allowed.shape or (masses < 0).any() or (masses[~allowed] > 0).any():
        raise InputError(
            f"the smoothing {chosen!r} must give each of the {allowed.shape} doublets a mass of at "
            "least zero, and none outside the support."
        )
    empty = tuple(counts.states[i] for i in np.flatnonzero(masses.sum(axis=1) == 0))
    if empty:
        was = "state {} was" if len(empty) == 1 else "states {} were"
        raise UnvisitedStateError(
            f"the {was.format(_first(empty))} never left, and this smoothing gives no row there: "
            "it would be free, and the worst case max(loss) if it can be absorbing. "
            "Use smoothing='pseudo-counts' or 'zero-perturbation', or leave the state out."
        )
    return _build(masses / masses.sum(), allowed, counts.states, counts.total, chosen, counts)


def checked_estimate(value: Any) -> Estimate:
    """Return the estimate itself, or say what was passed in its place."""
    if not isinstance(value, Estimate):
        raise InputError(
            f"estimate must be an Estimate, but is {type(value).__name__}; make one by "
            "estimate(count_transitions(trajectory)), or by Estimate.from_doublets(matrix)."
        )
    return value


def _build(
    theta: FloatArray,
    support: BoolArray,
    states: tuple[Hashable, ...],
    transitions_seen: float | None,
    smoothing: Smoothing | None = None,
    counts: TransitionCounts | None = None,
) -> Estimate:
    if len(states) < 2:
        raise InputError("a chain must have at least two states, but there is one.")
    weights = theta.sum(axis=1)
    if (weights < LEAST_WEIGHT).any():
        least = int(np.argmin(weights))
        found = f"a row of mass {weights[least]:.3g}" if weights[least] > 0 else "an empty row"
        raise UnvisitedStateError(
            f"the state {states[least]!r} has {found} in the doublet distribution, below the least "
            f"mass of {LEAST_WEIGHT:g}; leave the state out, or give the row more."
        )
    transition = theta / weights[:, None]
    built = Estimate(
        doublets=read_only(theta),
        weights=read_only(weights),
        transition=read_only(transition),
        support=read_only(support),
        states=states,
        transitions_seen=transitions_seen,
        smoothing=smoothing,
        counts=counts,
    )
    _ = built.recurrent  # raises where the chain has several closed classes
    return built


def _support(support: Any, masses: Any, states: tuple[Hashable, ...]) -> BoolArray:
    if support is None:
        return np.ones(masses.shape, dtype=bool)
    content = "True or False everywhere"
    given = float_array(align_table(support, states, "support")[0], "support", 2, content=content)
    other = given[~np.isin(given, (0.0, 1.0))]
    if other.size:
        raise InputError(f"support must be {content}, but holds {other[0]:g}.")
    if given.shape != masses.shape:
        raise InputError(
            f"support must have the shape {masses.shape} of the counts, but has {given.shape}."
        )
    allowed: BoolArray = given == 1.0
    broken = ~allowed & (masses > 0)
    if broken.any():
        i, j = np.argwhere(broken)[0]
        raise InputError(
            f"the data holds a transition from {states[i]!r} to {states[j]!r}, which the support "
            "calls impossible; allow it, or correct the data."
        )
    return allowed


def _first(labels: tuple[Hashable, ...], most: int = 3) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(repr(label) for label in labels[:most]) + more
