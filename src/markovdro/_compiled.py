"""The one decorator for compiled kernels, and the logarithm that they share.

Modules that import this one are themselves imported only when something is solved: loading the
compiler takes longer than loading the rest of the library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.ir
import numba
from numba.core import types
from numba.extending import intrinsic

__all__ = ["compiled", "compiled_within", "fast_log_ratio", "source_stamp"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered, which is what lets loops use vector units; infinities and NaN keep
# their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def source_stamp(package: Path) -> str:
    """Hash the sources of all kernels of a package, and of what may be compiled into them.

    The compiler's disk cache looks at the file of the kernel alone, and would go on using a kernel
    whose helper in another file has changed.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"_compiled import" in source or path.name == Path(__file__).name:
            digest.update(source)
    return digest.hexdigest()[:12]


_STAMP = source_stamp(Path(__file__).parent)


def compiled(function: F) -> F:
    """Compile at first call, keep the result on disk, and run without the interpreter's lock."""
    return _decorated(function, from_python=True)


def compiled_within(function: F) -> F:
    """Compile what only kernels call: from Python, the process would break off.

    What lets Python call a kernel takes as long to compile as a small kernel itself.
    """
    return _decorated(function, from_python=False)


def _decorated(function: F, *, from_python: bool) -> F:
    # The qualified name is part of the name of the cache file.
    function.__qualname__ += f"-{_STAMP}"
    # Nothing calls a kernel from C.
    decorated: F = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath=_FAST,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not from_python,
    )(function)
    return decorated


def compiled_inline(function: F) -> F:
    """Compile into the body of each caller, so that the caller's loop is vectorised through it."""
    decorated: F = numba.njit(inline="always", error_model="numpy", fastmath=_FAST)(function)
    return decorated


@intrinsic  # type: ignore[untyped-decorator]
def _bits(_typing_context: Any, _value: Any) -> Any:
    """Reinterpret a double as a 64-bit integer."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvmlite.ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _double(_typing_context: Any, _value: Any) -> Any:
    """Reinterpret a 64-bit integer as a double."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvmlite.ir.DoubleType())

    return types.float64(types.int64), generate


@compiled_inline
def _twice_artanh(s: float) -> float:
    """Return ``2 artanh(s) = log((1 + s)/(1 − s))`` for ``|s| ≤ (√2 − 1)/(√2 + 1)``.

    The series is cut after ``s^21``, where the rest is below ``1e-17``.
    """
    z = s * s
    tail = 1 / 17 + z * (1 / 19 + z * (1 / 21))
    tail = 1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z * tail)))
    return 2.0 * s + 2.0 * s * (z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * tail))))


@compiled_inline
def fast_log_ratio(a: float, b: float) -> float:
    """Return ``log(a/b)`` of positive numbers, to about two units in the last place.

    The C library's logarithm is a call, which keeps a loop from being vectorised; this one is
    arithmetic only, and several times as fast over a row of numbers. With ``a/b = m·2^e`` and
    ``m`` in ``[1/√2, √2]`` it is ``e·log 2 + 2 artanh(s)``, ``s = (m − 1)/(m + 1)``; for ``e = 0``
    that is ``s = (a − b)/(a + b)``, whose relative precision survives where a and b are close.
    """
    pattern = _bits(a / b)
    # An integer below 2^52 in the low bits of 2^52 is that integer as a double: no conversion.
    exponent = _double((pattern >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0)
    mantissa = _double((pattern & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    large = mantissa > 1.4142135623730951
    mantissa = 0.5 * mantissa if large else mantissa
    exponent = exponent + 1.0 if large else exponent
    close = exponent == 0.0
    above = a - b if close else mantissa - 1.0
    total = a + b if close else mantissa + 1.0
    logarithm: float = exponent * 0.6931471805599453 + _twice_artanh(above / total)
    return logarithm
