"""The Frank-Wolfe loop (the paper's Algorithm 1), for any oracle and chains of any size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from markovdro._arrays import FloatArray
from markovdro.chains import LongRun
from markovdro.worstcase._result import Status

__all__ = ["Climb", "Evaluate", "Oracle", "Watch", "climb"]

Evaluate = Callable[[FloatArray], LongRun]
"""From a chain P to its long-run value, π and h."""
Oracle = Callable[[FloatArray, FloatArray], tuple[FloatArray, float]]
"""From π and h to the maximiser S of ``Σ π_i h_j S_ij``, and ``Σ_i π_i (S_i·h − h_i)``."""
Watch = Callable[[int, float, float], None]
"""Called with the step, the value and the gap at each point of the climb."""


@dataclass(frozen=True, eq=False)
class Climb:
    """Where one start ended."""

    transition: FloatArray
    long_run: LongRun
    gap: float
    iterations: int
    status: Status


def climb(
    start: FloatArray,
    evaluate: Evaluate,
    oracle: Oracle,
    *,
    known: LongRun | None = None,
    tolerance: float,
    most_iterations: int,
    deadline: float = math.inf,
    hopeful: Callable[[float], bool] | None = None,
    watch: Watch | None = None,
) -> Climb:
    """Climb from a chain to a stationary point.

    ``hopeful`` is asked once, after a few steps, whether the climb is worth going on. Losses are
    scaled to [0, 1], so that ``tolerance`` is a fraction of the loss range; ``known`` is
    the long-run behaviour of the start, where it has been computed before. The rules of the step
    are those of the compiled loop, which solves chains of few states.
    """
    from markovdro.worstcase._kernels import BRIEF

    point, here = start, evaluate(start) if known is None else known
    iteration = 0
    while True:
        target, gap = oracle(here.stationary, here.values)
        if watch is not None:
            watch(iteration, here.value, gap)
        if gap <= tolerance:
            return Climb(point, here, gap, iteration, Status.STATIONARY)
        if 1.0 - here.value <= tolerance:
            return Climb(point, here, gap, iteration, Status.CERTIFIED)
        if time.perf_counter() >= deadline:
            return Climb(point, here, gap, iteration, Status.TIME_LIMIT)
        hopeless = iteration == BRIEF and hopeful is not None and not hopeful(here.value)
        if iteration >= most_iterations or hopeless:
            return Climb(point, here, gap, iteration, Status.ITERATION_LIMIT)
        following = _search_segment(point, target, here, gap, evaluate)
        if following is None:
            return Climb(point, here, gap, iteration, Status.STALLED)
        point, here = following
        iteration += 1


def _search_segment(
    point: FloatArray, target: FloatArray, here: LongRun, gap: float, evaluate: Evaluate
) -> tuple[FloatArray, LongRun] | None:
    """Return a better point between the point and the target, or None where rounding hides any."""
    from markovdro.worstcase._kernels import (
        MOST_TRIALS,
        improves,
        next_fraction,
        settles,
        slope_along,
    )

    room = 1.0 - here.value
    best: tuple[FloatArray, LongRun] | None = None
    low, high = (0.0, here.value, gap), None
    fraction = 1.0
    for trial in range(MOST_TRIALS):
        candidate = target if fraction == 1.0 else point + fraction * (target - point)
        there = evaluate(candidate)
        slope = slope_along(point, target, there.stationary, there.values)
        if there.value > (here.value if best is None else best[1].value):
            best = candidate, there
        rise = there.value - here.value
        if improves(rise, fraction, gap, room) and settles(slope, fraction, gap, trial):
            break
        if slope > 0.0 and there.value >= low[1]:
            low = fraction, there.value, slope
        else:
            high = fraction, there.value, slope
        if high is None:
            break
        fraction = next_fraction(*low, *high)
    return best
