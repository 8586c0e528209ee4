"""From what a user calls a trajectory to one array of labels, and from labels to state numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from markovdro._arrays import AnyArray, IndexArray
from markovdro._inputs import is_missing, shown
from markovdro.errors import DataError

# More states than this cannot be meant: the d×d matrices alone would fill several gigabytes.
MOST_STATES = 20_000

# Doubles hold every integer up to here; beyond, distinct labels could become one.
EXACT = 2**53

DATES = (np.datetime64, np.timedelta64)


def split_trajectories(data: Any, states: Sequence[Hashable] | None = None) -> list[Any]:
    """Return the trajectories in the data.

    A list or tuple whose entries are lists, arrays, series, ranges or iterators holds several
    trajectories; anything else is one. Entries that are all tuples could be either, so that they
    are refused, unless the given states hold a tuple: then they are labels.
    """
    if not isinstance(data, list | tuple):
        return [data]
    kinds = set(map(type, data))
    if kinds == {tuple} and not any(isinstance(state, tuple) for state in states or ()):
        raise DataError(
            f"the {type(data).__name__} holds only tuples, such as {shown(data[0])}, which could "
            "be labels or trajectories; pass [list(data)] to take each tuple as a label, or "
            "list(map(list, data)) to take each as a trajectory."
        )
    if not any(map(_is_trajectory, kinds)):
        return [data]
    for position, item in enumerate(data):
        if not _is_trajectory(type(item)):
            raise DataError(
                f"the list mixes trajectories and labels: entry {position} is {shown(item)}; "
                "pass one trajectory, or a list of lists, arrays or series."
            )
    return list(data)


def _is_trajectory(kind: type) -> bool:
    # A pandas Timestamp has to_numpy too, but is one label.
    series = hasattr(kind, "to_numpy") and hasattr(kind, "__len__")
    return issubclass(kind, list | np.ndarray | range | Iterator) or series


def label_array(trajectory: Any) -> AnyArray:
    """Return the labels of one trajectory, with a type of their own where they all have it."""
    labels = _sequence(trajectory, "a trajectory")
    return _array_of_labels(labels) if isinstance(labels, list) else labels


def _sequence(labels: Any, name: str) -> AnyArray | list[Any]:
    """Return the one-dimensional array that was given, or a list of anything else in order."""
    if isinstance(labels, str | bytes):
        raise DataError(
            f"{name} must be a sequence of labels, but is the text {shown(labels)}; "
            "pass list(text) to take each character as a label."
        )
    if isinstance(labels, set | frozenset | dict):
        raise DataError(f"{name} must be in order, but is a {type(labels).__name__}; pass a list.")
    if isinstance(labels, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(labels)
        labels = labels.data.astype(object)
        labels[hidden] = None
    if hasattr(labels, "columns"):
        raise DataError(
            f"{name} must be one column, but is a table with columns {list(labels.columns)}; "
            "pass the column of states."
        )
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1:
            raise DataError(
                f"{name} must be one-dimensional, but has shape {labels.shape}; "
                "pass list(array) to take each row as a trajectory."
            )
        return labels
    if not isinstance(labels, Iterable):
        raise DataError(
            f"{name} must be a sequence of labels, but is {shown(labels)} "
            f"({type(labels).__name__})."
        )
    return list(labels)


def plain_list(labels: AnyArray | Iterable[Any]) -> list[Hashable]:
    """Return labels as Python holds them, so that equal ones are found again in a dictionary."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "OmM":
        plain: list[Hashable] = labels.tolist()
        return plain
    return [_plain(label) for label in labels]


def _plain(label: Any) -> Any:
    """Return a date of numpy as one of Python, where there is one: the two hash differently."""
    if not isinstance(label, DATES):
        return label
    item = label.item()
    if isinstance(item, int) and np.datetime_data(label.dtype)[0] == "ns":
        # Dates in nanoseconds become integers, but most are whole microseconds.
        coarse = label.astype(label.dtype.str.replace("ns", "us"))
        item = coarse.item() if coarse == label else item
    return label if isinstance(item, int) else item


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
        return _array_of_labels(list(chain.from_iterable(map(plain_list, filled))))
    return np.concatenate(filled) if len(filled) > 1 else [*filled, *trajectories][0]


def check_complete(labels: AnyArray, lengths: IndexArray) -> None:
    """Refuse None, NaN, NaT and infinities, naming the first."""
    kind = labels.dtype.kind
    if kind in "fc":
        missing = ~np.isfinite(labels)
    elif kind in "mM":
        missing = np.isnat(labels)
    elif kind == "O":
        missing = np.fromiter(map(is_missing, labels), dtype=bool, count=labels.size)
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


def factorize(labels: AnyArray) -> tuple[list[Hashable], IndexArray]:
    """Return the distinct labels and, for each entry, the number of its label."""
    kind = labels.dtype.kind
    if kind == "O":
        if any(issubclass(found, DATES) for found in set(map(type, labels))):
            labels = np.fromiter(map(_plain, labels), dtype=object, count=labels.size)
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
    return plain_list(values), codes.astype(np.intp, copy=False)


def _factorize_integers(labels: AnyArray, low: int, high: int) -> tuple[list[Hashable], IndexArray]:
    """Integers in a narrow range: a table of the range does what sorting would, in one pass."""
    # Unsigned and short integers could overflow in the difference.
    offsets = labels.astype(np.intp, copy=False) - low if high < 2**62 else labels - labels.min()
    present = np.bincount(offsets.astype(np.intp, copy=False), minlength=high - low + 1) > 0
    code_of = np.cumsum(present, dtype=np.intp) - 1
    values: list[Hashable] = [low + int(offset) for offset in np.flatnonzero(present)]
    return values, code_of[offsets]


def declared_order(trajectories: list[Any]) -> list[Hashable] | None:
    """Return the order that ordered categoricals declare, or None where there are none."""
    orders = [_categories(getattr(trajectory, "dtype", None)) for trajectory in trajectories]
    declared = [order for order in orders if order is not None]
    if any(order != declared[0] for order in declared):
        raise DataError(
            "the trajectories order their categories differently; "
            "give one order through the argument states."
        )
    return declared[0] if declared else None


def _categories(dtype: Any) -> list[Hashable] | None:
    # pandas says whether the order has a meaning; an Enum of polars always has one.
    if getattr(dtype, "ordered", None) is True or type(dtype).__name__ == "Enum":
        return plain_list(_sequence(dtype.categories, "the categories"))
    return None


def number_states(
    found: list[Hashable],
    states: list[Hashable] | None,
    order: list[Hashable] | None = None,
) -> tuple[tuple[Hashable, ...], IndexArray]:
    """Fix the order of the states, and give the number of each label that was found.

    Without ``states`` the labels come in the order of their categories, where that is declared, or
    else sorted; labels that cannot be compared keep the order in which they first appear.
    """
    if states is not None:
        ordered = states
    elif order is not None:
        seen = set(found)
        ordered = [label for label in order if label in seen]
    else:
        ordered = _sorted(found)
    if len(ordered) > MOST_STATES:
        owner = "the trajectory" if states is None else "the argument states"
        raise DataError(
            f"{owner} holds {len(ordered)} distinct labels, more than the {MOST_STATES} "
            "states that a finite chain can have here; put the values into classes first."
        )
    index = {label: number for number, label in enumerate(ordered)}
    unknown = [label for label in found if label not in index]
    if unknown:
        given, remedy = (
            ("given states", "add it to states, or remove it from the trajectory")
            if states is not None
            else ("ordered categories of the others", "give the order through the argument states")
        )
        raise DataError(f"the label {shown(unknown[0])} is not among the {given}; {remedy}.")
    return tuple(ordered), np.array([index[label] for label in found], dtype=np.intp)


def _sorted(labels: list[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return labels


def unique_states(states: Any) -> list[Hashable]:
    """Return the given states as a list, refusing repetitions and missing labels."""
    ordered = plain_list(_sequence(states, "states"))
    if any(is_missing(state) for state in ordered):
        raise DataError("states must not hold missing values (None, NaN or infinity).")
    try:
        repeated = len(set(ordered)) < len(ordered)
    except TypeError as error:
        raise DataError(f"states must be hashable, but {error}.") from None
    if repeated:
        twice = next(state for state in ordered if ordered.count(state) > 1)
        raise DataError(f"each state must be given once, but {shown(twice)} is repeated.")
    return ordered


def states_of_rows(states: list[Hashable] | None, size: int, name: str) -> tuple[Hashable, ...]:
    """Return one label for each row of a matrix: the given ones, or 0, 1, …, d − 1."""
    if states is None:
        return tuple(range(size))
    if len(states) != size:
        raise DataError(f"states must name the {size} rows of {name}, but there are {len(states)}.")
    return tuple(states)
