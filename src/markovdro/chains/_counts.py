"""Transition counts: what the data says, and where it came from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovdro._arrays import CountArray, IndexArray
from markovdro._inputs import read_only, square_matrix
from markovdro.chains import _labels
from markovdro.chains._alignment import align_table
from markovdro.errors import DataError

__all__ = ["TransitionCounts", "count_transitions"]


@dataclass(frozen=True, eq=False)
class TransitionCounts:
    """How often each state was followed by each other, and what is known of the trajectories.

    Attributes
    ----------
    matrix : integer array, d × d
        ``matrix[i, j]`` is the number of transitions from ``states[i]`` to ``states[j]``.
    states : tuple
        The labels, in the order of rows and columns.
    closing : integer array, d × d, or None
        ``closing[i, j]`` is the number of trajectories that ended in state i and began in state j.
        None where only the counts are known.
    """

    matrix: CountArray
    states: tuple[Hashable, ...]
    closing: CountArray | None = None

    @classmethod
    def from_matrix(
        cls, counts: Any, *, states: Iterable[Hashable] | None = None
    ) -> TransitionCounts:
        """Take counts that were made elsewhere.

        Parameters
        ----------
        counts : d × d, nonnegative whole numbers
            Row: where a transition begins; column: where it ends. The names of a table, such
            as ``pandas.crosstab`` makes, decide which state a row or a column belongs to.
        states : labels, optional
            By default the names of the table, or 0, 1, …, d − 1 where there are none.

        Examples
        --------
        >>> from markovdro import TransitionCounts
        >>> TransitionCounts.from_matrix([[3, 1], [1, 0]], states=["up", "down"]).total
        5
        """
        given = None if states is None else _labels.unique_states(states)
        numbers, given = align_table(counts, given, "counts", DataError)
        array = square_matrix(numbers, "counts", error=DataError)
        if (array % 1 != 0).any():
            row, column = (int(i) for i in np.argwhere(array % 1 != 0)[0])
            raise DataError(
                f"counts must be whole numbers, but entry ({row}, {column}) is "
                f"{array[row, column]:g}."
            )
        if array.max() >= _labels.EXACT:
            raise DataError(
                f"counts must be below 2^53, but the largest is {array.max():g}: "
                "from there on doubles are no longer exact."
            )
        labels = _labels.states_of_rows(given, len(array), "counts")
        return cls(read_only(array.astype(np.int64)), labels)

    @property
    def total(self) -> int:
        """Number of transitions, the paper's T."""
        return int(self.matrix.sum())

    @property
    def trajectories(self) -> int | None:
        """Number of trajectories, or None where only the counts are known."""
        return None if self.closing is None else int(self.closing.sum())

    @property
    def initial(self) -> CountArray | None:
        """How many trajectories began in each state, or None where that is not known."""
        return None if self.closing is None else np.sum(self.closing, axis=0)

    @property
    def final(self) -> CountArray | None:
        """How many trajectories ended in each state, or None where that is not known."""
        return None if self.closing is None else np.sum(self.closing, axis=1)

    @property
    def visits(self) -> CountArray:
        """How often each state was seen.

        Where only the counts are known, the larger of departures and arrivals, which is at most
        one visit short for each trajectory.
        """
        departures, arrivals = self.matrix.sum(axis=1), self.matrix.sum(axis=0)
        initial = self.initial
        visits: CountArray = (
            np.maximum(departures, arrivals) if initial is None else arrivals + initial
        )
        return visits

    @property
    def unvisited(self) -> tuple[Hashable, ...]:
        """States that were never left, so that their row is unknown.

        A state in which a trajectory ended, and which was seen nowhere else, is among them.
        """
        return tuple(self.states[i] for i in np.flatnonzero(self.matrix.sum(axis=1) == 0))

    def __repr__(self) -> str:
        origin = "" if self.trajectories is None else f" from {_plural(self.trajectories)}"
        missing = f", {len(self.unvisited)} never left" if self.unvisited else ""
        return (
            f"TransitionCounts({self.total} transitions{origin}, "
            f"{len(self.states)} states{missing})"
        )


def _plural(trajectories: int) -> str:
    return "1 trajectory" if trajectories == 1 else f"{trajectories} trajectories"


def count_transitions(
    trajectory: Any, *, states: Sequence[Hashable] | None = None
) -> TransitionCounts:
    """Count the transitions of one trajectory, or of several that belong to the same chain.

    Parameters
    ----------
    trajectory : sequence of labels, or a list of such sequences
        Lists, numpy arrays, pandas or polars series; labels may be any hashable things. No
        transition is counted from the end of one trajectory to the beginning of the next.
        Several trajectories are a list or tuple of lists, arrays, series, ranges or iterators. A
        list of tuples alone is refused, because each could be a label or a trajectory: pass
        ``[data]`` for labels (or give them in ``states``), ``list(map(list, data))`` for
        trajectories.
    states : labels, optional
        The states and their order. By default the labels found, in the order of their categories
        (ordered categoricals), or else sorted where they can be.

    Returns
    -------
    TransitionCounts
        ``matrix[i, j] = #{t : ξ_{t−1} = i, ξ_t = j}``, T times the paper's estimator of the doublet
        distribution.

    Raises
    ------
    DataError
        If a label is missing or unknown, if nothing was followed by anything, or if the
        trajectories never leave one single state.

    Examples
    --------
    H→T, T→T and T→H are three transitions:

    >>> from markovdro import count_transitions
    >>> counts = count_transitions(["H", "T", "T", "H"])
    >>> counts.states
    ('H', 'T')
    >>> counts.matrix
    array([[0, 1],
           [1, 1]])
    """
    given = None if states is None else _labels.unique_states(states)
    parts = _labels.split_trajectories(trajectory, given)
    order = _labels.declared_order(parts) if given is None else None
    trajectories = [_labels.label_array(part) for part in parts]
    labels = _labels.join(trajectories)
    lengths = np.array([t.size for t in trajectories], dtype=np.intp)
    _labels.check_complete(labels, lengths)
    found, codes = _labels.factorize(labels)
    names, number = _labels.number_states(found, given, order)
    if not np.array_equal(number, np.arange(number.size)):
        codes = number[codes]
    lengths = lengths[lengths > 0]
    total = int(lengths.sum()) - len(lengths)
    if total <= 0:
        raise DataError(
            "there is no transition to count: a trajectory must hold at least two observations."
        )
    if len(names) < 2:
        raise DataError(
            f"the trajectory never leaves the one state {names[0]!r}; "
            "give every possible state through the argument states."
        )
    return _count(codes, lengths, names)


def _count(codes: IndexArray, lengths: IndexArray, names: tuple[Hashable, ...]) -> TransitionCounts:
    size = len(names)
    ends = np.cumsum(lengths) - 1
    doublets = codes[:-1] * size
    doublets += codes[1:]
    if len(lengths) > 1:
        doublets = np.delete(doublets, ends[:-1])
    closing = codes[ends] * size + codes[ends - lengths + 1]
    return TransitionCounts(
        matrix=_histogram(doublets, size), states=names, closing=_histogram(closing, size)
    )


def _histogram(pairs: IndexArray, size: int) -> CountArray:
    counted = np.bincount(pairs, minlength=size * size).astype(np.int64, copy=False)
    matrix: CountArray = read_only(counted.reshape(size, size))
    return matrix
