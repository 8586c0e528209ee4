"""From what a user calls a trajectory to one array of labels, and from labels to state numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np

from markovdro._arrays import AnyArray, IndexArray
from markovdro.errors import DataError

# More states than this cannot be meant: the d×d matrices alone would fill several gigabytes.
MOST_STATES = 20_000

# Doubles hold every integer up to here; beyond, distinct labels could become one.
EXACT = 2**53


def split_trajectories(data: Any) -> list[AnyArray]:
    """Return one label array for each trajectory in the data.

    A list or tuple whose entries are lists, arrays or series holds several trajectories; anything
    else is one. Tuples are labels, not trajectories, because labels may be any hashable thing.
    """
    if isinstance(data, list | tuple) and any(map(_is_trajectory, set(map(type, data)))):
        for position, item in enumerate(data):
            if not _is_trajectory(type(item)):
                raise DataError(
                    f"the list mixes trajectories and labels: entry {position} is {item!r}; "
                    "pass one trajectory, or a list of lists, arrays or series."
                )
        return [_label_array(item) for item in data]
    return [_label_array(data)]


def _is_trajectory(kind: type) -> bool:
    # A pandas Timestamp has to_numpy too, but is one label.
    series = hasattr(kind, "to_numpy") and hasattr(kind, "__len__")
    return issubclass(kind, list | np.ndarray) or series


def _label_array(trajectory: Any) -> AnyArray:
    if isinstance(trajectory, str | bytes):
        raise DataError(
            f"a trajectory must be a sequence of labels, but is the text {trajectory!r}; "
            "pass list(text) to take each character as a label."
        )
    if isinstance(trajectory, set | frozenset | dict):
        raise DataError(
            f"a trajectory must be in order, but is a {type(trajectory).__name__}; pass a list."
        )
    if isinstance(trajectory, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(trajectory)
        trajectory = trajectory.data.astype(object)
        trajectory[hidden] = None
    if hasattr(trajectory, "columns"):
        raise DataError(
            "a trajectory must be one column, but is a table with columns "
            f"{list(trajectory.columns)}; pass the column of states."
        )
    if hasattr(trajectory, "to_numpy"):
        trajectory = trajectory.to_numpy()
    if isinstance(trajectory, np.ndarray):
        if trajectory.ndim != 1:
            raise DataError(
                f"a trajectory must be one-dimensional, but has shape {trajectory.shape}; "
                "pass list(array) to take each row as a trajectory."
            )
        return trajectory
    if not isinstance(trajectory, Iterable):
        raise DataError(
            f"a trajectory must be a sequence of labels, but is {trajectory!r} "
            f"({type(trajectory).__name__})."
        )
    return _array_of_labels(list(trajectory))


def _array_of_labels(labels: list[Any]) -> AnyArray:
    """Plain numbers become a number array; every other label stays the object that it is."""
    kinds = set(map(type, labels))
    mixed = kinds == {int, float}
    if kinds <= {int, float} and not (mixed and any(abs(x) > EXACT for x in labels)):
        numbers = np.array(labels)
        # Integers that fit no integer type come out as doubles or objects.
        if kinds != {int} or numbers.dtype.kind in "iu":
            return numbers
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def join(trajectories: list[AnyArray]) -> AnyArray:
    """Put the trajectories end to end without letting numbers become text."""
    filled = [t for t in trajectories if t.size]
    if len({t.dtype.kind for t in filled}) > 1:
        return _array_of_labels(list(chain.from_iterable(t.tolist() for t in filled)))
    return np.concatenate(filled) if len(filled) > 1 else [*filled, *trajectories][0]


def check_complete(labels: AnyArray, lengths: IndexArray) -> None:
    """Refuse None, NaN, NaT and infinities, naming the first."""
    kind = labels.dtype.kind
    if kind in "fc":
        missing = ~np.isfinite(labels)
    elif kind in "mM":
        missing = np.isnat(labels)
    elif kind == "O":
        missing = np.fromiter(map(_is_missing, labels), dtype=bool, count=labels.size)
    else:
        return
    if missing.any():
        place = int(np.argmax(missing))
        ends = np.cumsum(lengths)
        number = int(np.searchsorted(ends, place, side="right"))
        position = place - int(ends[number] - lengths[number])
        name = "the trajectory" if len(lengths) == 1 else f"trajectory {number}"
        raise DataError(
            f"{name} holds {labels[place]!s} at position {position}; "
            "remove missing observations, or split the trajectory there."
        )


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        if isinstance(label, float | np.floating | Decimal):
            return not math.isfinite(label)
        return bool(label != label)  # NaN in any of its types  # noqa: PLR0124
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True


def factorize(labels: AnyArray) -> tuple[list[Hashable], IndexArray]:
    """Return the distinct labels and, for each entry, the number of its label."""
    kind = labels.dtype.kind
    if kind == "O":
        try:
            index = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        except TypeError as error:
            raise DataError(f"labels must be hashable, but {error}.") from None
        codes = np.fromiter(map(index.__getitem__, labels), dtype=np.intp, count=labels.size)
        return list(index), codes
    if kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < 4 * labels.size + 1000:
            return _factorize_integers(labels, low, high)
    values, codes = np.unique(labels, return_inverse=True)
    # Dates in nanoseconds have no counterpart in Python, and would become integers.
    dates_as_integers = kind in "mM" and isinstance(values[:1].tolist()[0], int)
    return list(values) if dates_as_integers else values.tolist(), codes.astype(np.intp, copy=False)


def _factorize_integers(labels: AnyArray, low: int, high: int) -> tuple[list[Hashable], IndexArray]:
    """Integers in a narrow range: a table of the range does what sorting would, in one pass."""
    # Unsigned and short integers could overflow in the difference.
    offsets = labels.astype(np.intp, copy=False) - low if high < 2**62 else labels - labels.min()
    present = np.bincount(offsets.astype(np.intp, copy=False), minlength=high - low + 1) > 0
    code_of = np.cumsum(present, dtype=np.intp) - 1
    values: list[Hashable] = [low + int(offset) for offset in np.flatnonzero(present)]
    return values, code_of[offsets]


def number_states(
    found: list[Hashable], states: Sequence[Hashable] | None
) -> tuple[tuple[Hashable, ...], IndexArray]:
    """Fix the order of the states, and give the number of each label that was found.

    Without ``states`` the labels are sorted; labels that cannot be compared keep the order in
    which they first appear.
    """
    if states is None:
        try:
            ordered = sorted(found)  # type: ignore[type-var]
        except TypeError:
            ordered = found
    else:
        ordered = unique_states(states)
    if len(ordered) > MOST_STATES:
        raise DataError(
            f"the trajectory holds {len(ordered)} distinct labels, more than the {MOST_STATES} "
            "states that a finite chain can have here; put the values into classes first."
        )
    index = {label: number for number, label in enumerate(ordered)}
    unknown = [label for label in found if label not in index]
    if unknown:
        raise DataError(
            f"the label {unknown[0]!r} is not among the given states; "
            "add it to states, or remove it from the trajectory."
        )
    return tuple(ordered), np.array([index[label] for label in found], dtype=np.intp)


def unique_states(states: Iterable[Hashable]) -> list[Hashable]:
    """Return the given states as a list, refusing repetitions and missing labels."""
    if hasattr(states, "tolist"):
        states = states.tolist()
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise DataError(f"states must be a sequence of labels, but is {states!r}.")
    ordered = list(states)
    if any(_is_missing(state) for state in ordered):
        raise DataError("states must not hold missing values (None, NaN or infinity).")
    try:
        repeated = len(set(ordered)) < len(ordered)
    except TypeError as error:
        raise DataError(f"states must be hashable, but {error}.") from None
    if repeated:
        twice = next(state for state in ordered if ordered.count(state) > 1)
        raise DataError(f"each state must be given once, but {twice!r} is repeated.")
    return ordered
