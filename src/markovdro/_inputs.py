"""Checks that several parts share: each turns what the user passed into what the code computes on.

Every failure is an :class:`~markovdro.errors.InputError` that names the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

import numpy as np

from markovdro._arrays import AnyArray, FloatArray
from markovdro.errors import InputError

# Numbers that a user typed or read from a file may be this far from summing to one.
SUM_TOLERANCE = 1e-8

# Whole numbers are handed to compiled code, which has no larger ones.
LARGEST_INTEGER = 2**63 - 1

# Float would read text as a number, and dates as a count of their units.
NOT_NUMBERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)


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


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a sequence; what is no sequence is one entry itself."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    # A set has no order to line up by. The check of the entry says what is wrong with it.
    whole = isinstance(value, str | bytes | Mapping | Set) or not isinstance(value, Iterable)
    return [value] if whole or getattr(value, "ndim", 1) == 0 else list(value)


def one_of(value: Any, names: Sequence[str], name: str) -> str:
    """Return a name that is among those allowed."""
    if not isinstance(value, str) or value not in names:
        raise InputError(f"{name} must be one of {', '.join(names)}, but is {shown(value)}.")
    return value


def _hides_entries(value: Any) -> bool:
    """Whether a masked array, also one in a list, hides entries, which numpy would uncover."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    if not isinstance(value, list | tuple):
        return False
    kinds = set(map(type, value))
    nested = any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in kinds)
    return nested and any(map(_hides_entries, value))


def _as_given(value: Any, name: str, error: type[InputError]) -> AnyArray | None:
    """Return an array of what was given, before any conversion, or None for ragged rows."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if _hides_entries(value):
        raise error(f"{name} must not hide entries, but is masked; fill the hidden ones first.")
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None


def _place(where: tuple[int, ...]) -> str:
    return f" at position {where[0] if len(where) == 1 else where}" if where else ""


def _refuse_objects(objects: AnyArray, name: str, error: type[InputError]) -> None:
    """Name the first object that is missing, or too large for a double."""
    for where in np.ndindex(objects.shape):
        entry = objects[where]
        if is_missing(entry):
            raise error(
                f"{name} must be finite, but holds {entry!s}{_place(where)}; "
                "remove missing values first."
            )
        try:
            float(entry)
        except OverflowError:
            raise error(
                f"{name} must be finite, but the number{_place(where)} is beyond the largest "
                "double, 1.8e308."
            ) from None
        except (TypeError, ValueError):
            continue


def float_array(
    value: Any,
    name: str,
    ndim: int,
    *,
    error: type[InputError] = InputError,
    content: str = "numbers",
) -> FloatArray:
    """Copy to a contiguous array of finite doubles with the given number of axes."""
    given = _as_given(value, name, error)
    wrong = error(f"{name} must be {content}, but holds something else ({type(value).__name__}).")
    if given is None or given.dtype.kind not in "biufO":
        raise wrong
    kinds = set(map(type, given.flat)) if given.dtype.kind == "O" else set()
    if any(issubclass(kind, NOT_NUMBERS) for kind in kinds):
        raise wrong
    if given.ndim != ndim:
        kind = {0: "one number", 1: "one-dimensional", 2: "a matrix"}[ndim]
        raise error(f"{name} must be {kind}, but has shape {given.shape}.")
    # True among the numbers of an array is 1, as in an indicator; alone it is a mistake.
    if ndim == 0 and isinstance(given.item(), bool | np.bool_):
        raise error(f"{name} must be a number, but is {given.item()}.")
    if kinds:
        _refuse_objects(given, name, error)
    try:
        # Adding zero turns -0.0, which prints badly, into 0.0.
        with np.errstate(over="ignore"):
            array: FloatArray = np.array(given, dtype=np.float64, order="C") + 0.0
    except (TypeError, ValueError):
        raise wrong from None
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        found = f"but holds {array[where]}{_place(where)}"
        raise error(f"{name} must be finite, {found}; remove missing values first.")
    return array


def limits(value: Any, name: str, size: int, *, below: bool) -> FloatArray:
    """Return one limit for each of several numbers, infinite where there is none.

    One number is the limit of all. Lower limits (``below``) may be −∞, upper limits ∞.
    """
    none = -math.inf if below else math.inf
    given = [none if entry is None else entry for entry in entries_of(value)]
    for entry in given:
        if isinstance(entry, bool | np.bool_):
            raise InputError(f"{name} must be numbers, but holds {entry}.")
    free = [isinstance(entry, float | np.floating) and float(entry) == none for entry in given]
    known = [0.0 if absent else entry for entry, absent in zip(given, free, strict=True)]
    numbers = float_array(known, name, 1)
    if len(numbers) not in {1, size}:
        raise InputError(
            f"{name} must be one number or {size}, one for each, but there are {len(numbers)}."
        )
    array: FloatArray = np.where(free, none, numbers) + np.zeros(size)
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


def whole_number(value: Any, name: str, *, least: int, most: int | None = LARGEST_INTEGER) -> int:
    """Return an integer between two limits; ``True`` and ``2.5`` are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, but is {shown(value)}.")
    number = int(value)
    if number < least:
        raise InputError(f"{name} must be at least {least}, but is {shown(number)}.")
    if most is not None and number > most:
        raise InputError(f"{name} must be at most {most}, but is {shown(number)}.")
    return number


def random_generator(seed: Any) -> np.random.Generator:
    """Return the caller's generator, or a new one from the caller's seed."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number(seed, "seed", least=0, most=None))


def square_matrix(value: Any, name: str, *, error: type[InputError] = InputError) -> FloatArray:
    """Square, not empty, finite and nonnegative."""
    matrix = float_array(value, name, 2, error=error)
    if matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise error(f"{name} must be a square matrix, but has shape {matrix.shape}.")
    if (matrix < 0).any():
        row, column = (int(i) for i in np.argwhere(matrix < 0)[0])
        raise error(
            f"{name} must not be negative, but entry ({row}, {column}) is {matrix[row, column]:g}."
        )
    return matrix


def transition_matrix(value: Any, name: str = "transition") -> FloatArray:
    """Square, nonnegative, rows summing to one; the rows are renormalised to full precision."""
    matrix = square_matrix(value, name)
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    row = int(np.argmax(np.abs(sums - 1)))
    if not _sums_to_one(sums[row], value, len(matrix)):
        raise InputError(
            f"each row of {name} must sum to one, but row {row} sums to {sums[row]:.12g}; "
            "divide each row by its sum."
        )
    normalised: FloatArray = matrix / sums[:, None]
    return normalised


def doublet_matrix(value: Any) -> FloatArray:
    """Square, nonnegative, summing to one; renormalised to full precision."""
    theta = square_matrix(value, "doublets")
    with np.errstate(over="ignore"):
        total = theta.sum()
    if not _sums_to_one(total, value, theta.size):
        raise InputError(f"doublets must sum to one, but sum to {total:.12g}; divide by their sum.")
    normalised: FloatArray = theta / total
    return normalised


def _sums_to_one(total: float, value: Any, terms: int) -> bool:
    """Whether a sum is one, up to the tolerance and the precision of the numbers as given."""
    off = abs(total - 1)
    if off <= SUM_TOLERANCE:
        return True
    given = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    if given.dtype.kind != "f":
        return False
    # Rounding errors of n numbers that were summed and divided in this precision grow like √n.
    return bool(off <= 4 * math.sqrt(terms) * float(np.finfo(given.dtype).eps))
