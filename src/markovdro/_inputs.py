"""Checks that several parts share: each turns what the user passed into what the code computes on.

Every failure is an :class:`~markovdro.errors.InputError` that names the argument.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from markovdro._arrays import AnyArray, FloatArray
from markovdro.errors import InputError

# Rows that a user typed or read from a file may be this far from summing to one.
ROW_SUM_TOLERANCE = 1e-8


def read_only(array: AnyArray) -> AnyArray:
    """Return the array itself, locked: what a frozen result holds must not change."""
    array.setflags(write=False)
    return array


def shown(value: Any, most: int = 60) -> str:
    """Return what a message shows of a value: one line, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not write integers of many thousand digits
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= most else text[: most - 1] + "…"


def is_missing(value: Any) -> bool:
    """Whether a single thing is None, infinite, or NaN, NaT or NA of any library."""
    if value is None:
        return True
    try:
        if isinstance(value, float | np.floating | Decimal):
            return not math.isfinite(value)
        return bool(value != value)  # NaN in any of its types  # noqa: PLR0124
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True


def _doubles(value: Any) -> FloatArray | None:
    try:
        given = np.asarray(value)
        if given.dtype.kind in "cSUmM":
            return None
        # Adding zero turns -0.0, which prints badly, into 0.0.
        array: FloatArray = np.array(given, dtype=np.float64, order="C") + 0.0
    except (TypeError, ValueError):
        return None
    return array


def float_array(value: Any, name: str, ndim: int) -> FloatArray:
    """Copy to a contiguous array of finite doubles with the given number of axes."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    array = _doubles(value)
    if array is None:
        raise InputError(
            f"{name} must be numbers, but holds something else ({type(value).__name__})."
        )
    if array.ndim != ndim:
        kind = {0: "one number", 1: "one-dimensional", 2: "a matrix"}[ndim]
        raise InputError(f"{name} must be {kind}, but has shape {array.shape}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f" at position {where[0] if ndim == 1 else where}" if ndim else ""
        found = f"but holds {array[where]}{place}"
        raise InputError(f"{name} must be finite, {found}; remove missing values first.")
    return array


def loss_vector(value: Any, states: int, name: str = "loss") -> FloatArray:
    """One finite loss for each state."""
    array = float_array(value, name, 1)
    if array.size != states:
        raise InputError(
            f"{name} must have one entry for each of the {states} states, but has {array.size}."
        )
    return array


def radius_value(value: Any, name: str = "radius") -> float:
    """Return a finite number of nats, at least zero."""
    radius = float(float_array(value, name, 0))
    if radius < 0:
        raise InputError(f"{name} must be at least 0 (in nats per transition), but is {radius:g}.")
    return radius


def positive_number(value: Any, name: str, *, below: float = math.inf) -> float:
    """Return a finite number above zero, and below a limit where there is one."""
    number = float(float_array(value, name, 0))
    if not 0 < number < below:
        limit = "" if math.isinf(below) else f" and below {below:g}"
        raise InputError(f"{name} must be above 0{limit}, but is {number:g}.")
    return number


def whole_number(value: Any, name: str, *, least: int) -> int:
    """Return an integer of at least the given size; ``True`` and ``2.5`` are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, but is {value!r}.")
    if value < least:
        raise InputError(f"{name} must be at least {least}, but is {value}.")
    return int(value)


def random_generator(seed: Any) -> np.random.Generator:
    """Return the caller's generator, or a new one from the caller's seed."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number(seed, "seed", least=0))


def transition_matrix(value: Any, name: str = "transition") -> FloatArray:
    """Square, nonnegative, rows summing to one; the rows are renormalised to full precision."""
    matrix = float_array(value, name, 2)
    if matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InputError(f"{name} must be square, but has shape {matrix.shape}.")
    if (matrix < 0).any():
        row, column = (int(i) for i in np.argwhere(matrix < 0)[0])
        raise InputError(
            f"{name} must not be negative, but entry ({row}, {column}) is {matrix[row, column]:g}."
        )
    sums = matrix.sum(axis=1)
    if (np.abs(sums - 1) > ROW_SUM_TOLERANCE).any():
        row = int(np.argmax(np.abs(sums - 1)))
        raise InputError(
            f"each row of {name} must sum to one, but row {row} sums to {sums[row]:.12g}; "
            "divide each row by its sum."
        )
    normalised: FloatArray = matrix / sums[:, None]
    return normalised
