"""How many threads a call may use: the caller's number, or whatever the caller lets BLAS use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["allowed_threads", "blas_threads"]


@cache
def _controller() -> Any:
    """Find the BLAS libraries once: looking them up takes longer than a small problem."""
    import scipy.linalg.lapack  # noqa: F401  (loads the library that is to be controlled)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def allowed_threads(threads: int | None) -> int:
    """Return the caller's number, or the number that BLAS is limited to at the moment."""
    if threads is not None:
        return threads
    return max((library["num_threads"] for library in _controller().info()), default=1)


@contextmanager
def blas_threads(threads: int | None) -> Iterator[None]:
    """Limit BLAS to the caller's number, if there is one, for the length of a block."""
    if threads is None:
        yield
    else:
        with _controller().limit(limits=threads):
            yield
