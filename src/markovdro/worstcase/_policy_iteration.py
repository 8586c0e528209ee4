"""The exact worst case over sets that choose every row on its own: policy iteration.

Nature controls the chain: in state i she picks a row of the set. With the relative values h of a
chain, the rows that maximise ``S_i·h`` make a chain that loses at least as much in the long run,
and more unless h proves that none does: for every chain P of the set, and its stationary law π,

    π·L = Σ_i π_i (L_i + P_i·h − h_i)  ≤  max_i (L_i + max S_i·h − h_i),

whatever h is. At the end of the iteration both sides agree: the worst case is global.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro.ambiguity import BestRows, RowBall
from markovdro.chains import LongRun, closed_classes, eliminated
from markovdro.worstcase._loop import Watch
from markovdro.worstcase._options import Options
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._result import Proof, Status

__all__ = ["iterate_policies"]

# A row is changed where it gains more than this share of the range of h: less is rounding.
LEAST_GAIN = 1e-13
# The iteration ends where the bound is this close, in the loss scaled to [0, 1].
CLOSE = 1e-12
ROUNDING = 2.3e-16


@dataclass(frozen=True, eq=False)
class _Policy:
    """A chain of the set, how far its rows are from those of P', and what it comes to."""

    transition: FloatArray
    distances: FloatArray
    run: LongRun


def iterate_policies(
    problem: Problem,
    options: Options,
    ball: RowBall,
    warm: FloatArray | None = None,
    watch: Watch | None = None,
) -> Found:
    """Solve one problem, beginning from the relative values of a chain, in the set or not."""
    nominal = problem.estimate.transition
    centre = problem.evaluate(nominal)
    policy = _Policy(nominal, np.zeros(len(nominal)), centre)
    if warm is not None:
        first = BestRows(*ball.best_rows(problem.evaluate(warm).values))
        started = _policy(problem, ball, first.transition, first.distances)
        policy = policy if started is None else started
    bound, step = 1.0, 0
    while True:
        h, value = policy.run.values, policy.run.value
        rows = BestRows(*ball.best_rows(h))
        gains = (rows.transition - policy.transition) @ h
        bound = min(bound, _bound(problem.loss, h, rows.ceilings))
        gap = max(float(policy.run.stationary @ gains), 0.0)
        if watch is not None:
            watch(step, value, gap)
        better = gains > LEAST_GAIN * float(np.ptp(h))
        if bound - value <= CLOSE or not better.any():
            status = Status.STALLED
            break
        if time.perf_counter() >= options.deadline:
            status = Status.TIME_LIMIT
            break
        if step >= options.most_iterations:
            status = Status.ITERATION_LIMIT
            break
        following = _policy(
            problem,
            ball,
            np.where(better[:, None], rows.transition, policy.transition),
            np.where(better, rows.distances, policy.distances),
        )
        if following is None or following.run.value < value - CLOSE:
            status = Status.STALLED
            break
        policy, step = following, step + 1
    found = Found(
        nominal=centre.value,
        value=policy.run.value,
        gap=gap,
        status=status,
        iterations=step,
        transition=policy.transition,
        stationary=policy.run.stationary,
        values=policy.run.values,
        distance=float(policy.distances.max()),
    )
    return found.proven(bound, Proof.DUALITY)


def _bound(loss: FloatArray, h: FloatArray, ceilings: FloatArray) -> float:
    """``max_i (L_i + max S_i·h − h_i)``, rounded up."""
    allowance = ROUNDING * 4.0 * (1.0 + 2.0 * float(np.abs(h).max()))
    return float((loss + ceilings - h).max()) + allowance


def _policy(
    problem: Problem, ball: RowBall, transition: FloatArray, distances: FloatArray
) -> _Policy | None:
    """Evaluate a chain, once it has a single closed class: the one that loses most.

    Returns None where some state cannot come to that class by any row of the set.
    """
    common: BoolArray = np.all(transition > 0, axis=0)
    if not common.any():
        classes = closed_classes(transition)
        common = classes[0]
        if len(classes) > 1:
            common = max(classes, key=lambda mask: _loss_within(mask, problem.loss, transition))
            if not _lead_into(common, ball, transition, distances):
                return None
    mass = np.where(common, 1.0, 0.0)
    return _Policy(transition, distances, problem.evaluate(transition, mass))


def _loss_within(mask: BoolArray, loss: FloatArray, transition: FloatArray) -> float:
    inside: FloatArray = np.ascontiguousarray(transition[np.ix_(mask, mask)])
    return eliminated(inside, loss[mask], np.ones(len(inside))).value


def _lead_into(
    goal: BoolArray, ball: RowBall, transition: FloatArray, distances: FloatArray
) -> bool:
    """Give states that do not come to the goal rows of the set that do; tell if all have one."""
    reached = goal.copy()
    while not reached.all():
        on_the_way = ~reached & (transition[:, reached] > 0).any(axis=1)
        if not on_the_way.any():
            rows = BestRows(*ball.best_rows(reached.astype(np.float64)))
            on_the_way = ~reached & (rows.transition[:, reached] > 0).any(axis=1)
            transition[on_the_way] = rows.transition[on_the_way]
            distances[on_the_way] = rows.distances[on_the_way]
        if not on_the_way.any():
            return False
        reached |= on_the_way
    return True
