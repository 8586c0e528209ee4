"""A figure that was measured, and the clock that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Limit:
    """One figure, measured."""

    claim: str
    measured: str
    limit: str
    met: bool


def timed(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def at_most(claim: str, ratio: float, limit: float) -> Limit:
    return Limit(claim, f"{ratio:.1f}×", f"≤ {limit:g}×", ratio <= limit)


def at_least(claim: str, ratio: float, limit: float) -> Limit:
    return Limit(claim, f"{ratio:.0f}×", f"≥ {limit:g}×", ratio >= limit)
