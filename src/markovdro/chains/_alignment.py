"""Numbers that come with the names of their states are put in the order of the states.

A dict or a pandas series names the state of each loss; a table may name those of its rows and of
its columns. Names decide, in whatever order they come, and must be those of the states. An axis
that only numbers its entries, as pandas and polars do by default, is taken by position.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro._inputs import entries_of, float_array, shown
from markovdro.chains._labels import plain_list, unique_states
from markovdro.errors import InputError

__all__ = [
    "align_table",
    "loss_vector",
    "named_vector",
    "names_of_axes",
    "rows_by_state",
    "separate_losses",
]

# What is computed from a loss, such as its range and relative values, must be finite as well.
LARGEST_LOSS = 1e300


@dataclass(frozen=True)
class _Names:
    """The labels of an axis, and whether they do no more than number it."""

    labels: list[Hashable]
    numbered: bool = False

    def order(
        self,
        states: Sequence[Hashable],
        name: str,
        error: type[InputError],
        each: str = "state",
    ) -> IndexArray | None:
        """Return where each state is on the axis, or None where position decides."""
        place = {label: position for position, label in enumerate(self.labels)}
        known = set(states)
        unknown = [label for label in place if label not in known]
        missing = [state for state in states if state not in place]
        same = not unknown and not missing and len(self.labels) == len(states)
        if self.numbered:
            if same and self.labels != list(states):
                raise error(
                    f"{name} must have names that were set, because the default numbers are the "
                    f"{each}s in another order; or pass a plain array in the order of the {each}s."
                )
            return None
        if same:
            return np.array([place[state] for state in states], dtype=np.intp)
        faults = [f"{shown(label)} is no {each}" for label in unknown[:1]]
        faults += [f"{shown(state)} is missing" for state in missing[:1]]
        raise error(
            f"{name} must name each {each} once, but "
            f"{' and '.join(faults) or 'some are repeated'}; "
            f"correct the names, or pass a plain array in the order of the {each}s."
        )


@dataclass(frozen=True, eq=False)
class _NamedNumbers:
    """A row of a table of losses, with the names of the columns."""

    numbers: Any
    names: _Names


def _names(axis: Any) -> _Names:
    """Read the index of pandas, or the columns of any table; None is an axis without names."""
    if axis is None:
        return _Names([], numbered=True)
    labels = plain_list(axis.to_numpy() if hasattr(axis, "to_numpy") else axis)
    if getattr(axis, "start", None) == 0 and getattr(axis, "step", None) == 1:
        return _Names(labels, numbered=True)
    if labels == [f"column_{number}" for number in range(len(labels))]:
        return _Names([], numbered=True)
    return _Names(labels)


def _split_names(loss: Any) -> tuple[Any, _Names | None]:
    """Return the numbers of one loss, and their names where it has an axis for them."""
    if isinstance(loss, _NamedNumbers):
        return loss.numbers, loss.names
    if isinstance(loss, Mapping):
        return list(loss.values()), _Names(plain_list(loss))
    index = getattr(loss, "index", None)
    # Lists have a method of that name.
    if callable(index) or index is None or _is_table(loss) or not hasattr(loss, "to_numpy"):
        return loss, None
    return loss.to_numpy(), _names(index)


def _is_table(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def named_vector(
    vector: Any, names: Sequence[Hashable], name: str, *, each: str = "state"
) -> FloatArray:
    """One finite number for each of several names, states or others, in their order."""
    numbers, given = _split_names(vector)
    array = float_array(numbers, name, 1)
    order = None if given is None else given.order(names, name, InputError, each)
    if array.size != len(names):
        raise InputError(
            f"{name} must have one entry for each of the {len(names)} {each}s, "
            f"but has {array.size}."
        )
    return array if order is None else array[order]


def loss_vector(loss: Any, states: Sequence[Hashable], name: str = "loss") -> FloatArray:
    """One finite loss for each state, in the order of the states."""
    vector = named_vector(loss, states, name)
    if np.abs(vector).max() > LARGEST_LOSS:
        largest = vector[np.argmax(np.abs(vector))]
        raise InputError(
            f"{name} must lie between -{LARGEST_LOSS:g} and {LARGEST_LOSS:g}, but holds "
            f"{largest:g}; give it in a larger unit."
        )
    return vector


def rows_by_state(table: Any, states: Sequence[Hashable], name: str) -> FloatArray:
    """One row of numbers for each state, in the order of the states."""
    named = _names(getattr(table, "index", None)) if _is_table(table) else _names(None)
    order = named.order(states, f"the rows of {name}", InputError)
    matrix = float_array(table, name, 2)
    if len(matrix) != len(states):
        raise InputError(
            f"{name} must have one row for each of the {len(states)} states, but has {len(matrix)}."
        )
    return matrix if order is None else matrix[order]


def names_of_axes(table: Any) -> tuple[list[Hashable] | None, list[Hashable] | None]:
    """Return the names of the rows and of the columns of a table, where it has any."""
    if not _is_table(table):
        return None, None
    rows, columns = _names(getattr(table, "index", None)), _names(table.columns)
    return (
        None if rows.numbered else rows.labels,
        None if columns.numbered else columns.labels,
    )


def separate_losses(losses: Any) -> list[Any]:
    """Return the losses one by one: a table has one in each row, a vector is one itself."""
    if _is_table(losses):
        names = _names(losses.columns)
        return [_NamedNumbers(row, names) for row in losses.to_numpy()]
    if isinstance(losses, Mapping) or _split_names(losses)[1] is not None:
        return [losses]
    entries = entries_of(losses)
    if not entries or _is_row(entries[0]):
        return entries
    return [entries if isinstance(losses, Iterator) else losses]


def _is_row(entry: Any) -> bool:
    numbers = isinstance(entry, Iterable) and not isinstance(entry, str | bytes)
    return numbers and getattr(entry, "ndim", 1) > 0


def align_table(
    table: Any,
    states: Sequence[Hashable] | None,
    name: str,
    error: type[InputError] = InputError,
) -> tuple[Any, list[Hashable] | None]:
    """Put the rows and the columns of a square table in the order of the states.

    Without ``states`` the names of its rows are the states, or those of its columns where the rows
    have none. Names on one axis only say nothing of the order of the other: then they must be
    in the order of the states. What is no table comes back as it is.
    """
    given = None if states is None else list(states)
    if not _is_table(table):
        return table, given
    numbers = table.to_numpy()
    rows, columns = _names(getattr(table, "index", None)), _names(table.columns)
    if given is None:
        named = [axis.labels for axis in (rows, columns) if not axis.numbered]
        given = unique_states(named[0]) if named else None
    if given is None or numbers.shape != (len(given), len(given)):
        return numbers, given
    by_row = rows.order(given, f"the rows of {name}", error)
    by_column = columns.order(given, f"the columns of {name}", error)
    here: IndexArray = np.arange(len(given))
    known = [order for order in (by_row, by_column) if order is not None]
    if len(known) == 1 and (known[0] != here).any():
        axis = "rows" if by_column is None else "columns"
        raise error(
            f"only the {axis} of {name} are named, and not in the order of the states; "
            "name both rows and columns, or put them in that order."
        )
    down, across = (here if order is None else order for order in (by_row, by_column))
    return numbers[np.ix_(down, across)], given
