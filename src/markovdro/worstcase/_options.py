"""What a caller may choose, with its defaults and its rules, in one place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import Any

from markovdro._inputs import float_array, one_of, positive_number, whole_number
from markovdro.ambiguity import Ambiguity, ConditionalEntropy, ambiguity_named
from markovdro.errors import InputError

__all__ = [
    "DEFAULT_STARTS",
    "MOST_ITERATIONS",
    "MOST_NODES",
    "TRIVIAL",
    "Options",
    "check_options",
]

DEFAULT_STARTS = 4
# A search can be followed to its end; a proof of the last digits is rarely worth its time.
CLIMB_TOLERANCE = 1e-6
PROOF_TOLERANCE = 1e-4
# A value this close to the largest loss cannot be told from it.
TRIVIAL = 1e-9
MOST_ITERATIONS = 1000
MOST_NODES = 100_000

METHODS = ("auto", "frank-wolfe", "global", "paper")
PROVING = ("auto", "global")


@dataclass(frozen=True)
class Options:
    """Checked options of one call."""

    method: str
    ambiguity: Ambiguity
    starts: int
    tolerance: float
    """Frank-Wolfe stops at a gap of this fraction of the loss range."""
    proof_tolerance: float
    """A worst case is certified once its bound is this close."""
    most_iterations: int
    most_nodes: int
    threads: int | None
    began: float
    deadline: float

    @property
    def proves(self) -> bool:
        """Whether a bound is asked for, beside the best chain."""
        return self.method in PROVING

    @property
    def unlimited(self) -> bool:
        """Whether no time limit was given."""
        return self.deadline == inf

    @property
    def seconds(self) -> float:
        """Time since the call began."""
        return time.perf_counter() - self.began


def check_options(
    *,
    ambiguity: Any,
    method: Any,
    tolerance: Any,
    time_limit: Any,
    threads: Any,
    starts: Any = DEFAULT_STARTS,
    max_iterations: Any = MOST_ITERATIONS,
    max_nodes: Any = MOST_NODES,
) -> Options:
    """Check every option before any work."""
    began = time.perf_counter()
    ambiguity = ambiguity_named(ambiguity)
    method = one_of(method, METHODS, "method")
    if method == "paper" and not isinstance(ambiguity, ConditionalEntropy):
        raise InputError(
            "method='paper' is for ambiguity='conditional-entropy' alone, but ambiguity is "
            f"{ambiguity.name!r}; leave the method out."
        )
    deadline = inf
    if time_limit is not None:
        limit = float(float_array(time_limit, "time_limit", 0))
        if limit < 0:
            raise InputError(f"time_limit must be at least 0 seconds, but is {limit:g}.")
        deadline = began + limit
    proves = method in PROVING
    if tolerance is None:
        tolerance = PROOF_TOLERANCE if proves else CLIMB_TOLERANCE
    proof_tolerance = positive_number(tolerance, "tolerance", below=1.0)
    return Options(
        method=method,
        ambiguity=ambiguity,
        starts=whole_number(starts, "starts", least=1),
        tolerance=min(proof_tolerance, CLIMB_TOLERANCE) if proves else proof_tolerance,
        proof_tolerance=proof_tolerance,
        most_iterations=whole_number(max_iterations, "max_iterations", least=0),
        most_nodes=whole_number(max_nodes, "max_nodes", least=0),
        threads=None if threads is None else whole_number(threads, "threads", least=1),
        began=began,
        deadline=deadline,
    )
