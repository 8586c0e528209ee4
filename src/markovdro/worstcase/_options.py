"""What a caller may choose, with its defaults and its rules, in one place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import Any

from markovdro._inputs import float_array, one_of, positive_number, whole_number
from markovdro.errors import InputError

__all__ = ["DEFAULT_STARTS", "DEFAULT_TOLERANCE", "MOST_ITERATIONS", "Options", "check_options"]

DEFAULT_STARTS = 4
DEFAULT_TOLERANCE = 1e-6
MOST_ITERATIONS = 1000

AMBIGUITIES = ("conditional-entropy",)
METHODS = ("auto", "frank-wolfe", "paper")


@dataclass(frozen=True)
class Options:
    """Checked options of one call."""

    method: str
    ambiguity: str
    starts: int
    tolerance: float
    most_iterations: int
    threads: int | None
    began: float
    deadline: float

    @property
    def seconds(self) -> float:
        """Time since the call began."""
        return time.perf_counter() - self.began


def check_options(
    *,
    ambiguity: Any,
    method: Any,
    starts: Any,
    tolerance: Any,
    time_limit: Any,
    max_iterations: Any,
    threads: Any,
) -> Options:
    """Check every option before any work."""
    began = time.perf_counter()
    ambiguity = one_of(ambiguity, AMBIGUITIES, "ambiguity")
    method = one_of(method, METHODS, "method")
    deadline = inf
    if time_limit is not None:
        limit = float(float_array(time_limit, "time_limit", 0))
        if limit < 0:
            raise InputError(f"time_limit must be at least 0 seconds, but is {limit:g}.")
        deadline = began + limit
    return Options(
        method="frank-wolfe" if method == "auto" else method,
        ambiguity=ambiguity,
        starts=whole_number(starts, "starts", least=1),
        tolerance=positive_number(tolerance, "tolerance", below=1.0),
        most_iterations=whole_number(max_iterations, "max_iterations", least=0),
        threads=None if threads is None else whole_number(threads, "threads", least=1),
        began=began,
        deadline=deadline,
    )
