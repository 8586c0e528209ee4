"""Compiled kernels of the conditional-entropy ball: one row, all rows, the linear maximum.

Row i of the maximiser is written through a slack ``y`` that no cancellation can touch. With the
gaps ``g_j = max h − h_j ≥ 0`` and ``κ_i = π_i/(λ α_i)``, where λ is the multiplier of the ball,

    S_ij = P'_ij / x_j,   x_j = y_i + κ_i g_j,   Σ_j P'_ij / x_j = 1,   KL_i = Σ_j P'_ij log x_j.

In the notation of the usual derivation ``y_i = κ_i (t_i − max h)``. The slack is 1 for κ = 0, where
the row is P'_i, and falls towards the mass that P'_i has at the best state. Where that mass is
zero the slack may reach 0: the row is then saturated, and what it lacks to sum to one goes to the
best state, which costs no entropy.
"""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._compiled import compiled, compiled_within, fast_log_ratio

__all__ = ["divergence", "linear_maximum"]

# λ is found to this relative accuracy of the radius, on the feasible side of it.
RADIUS_SLACK = 5e-10
# After this many steps towards λ, every second one halves its bracket.
NEWTON_STEPS = 10
# … and where no λ is known yet that is large enough, log λ rises by half of this.
MOST_RISE = 20.0
# Beyond this exponent κ would overflow; such a row is the best state but for e^-600.
LARGEST_LOG = 600.0
TINY = 1e-300


@compiled
def divergence(nominal: FloatArray, weights: FloatArray, transition: FloatArray) -> float:
    """Return ``Σ_i α_i KL(P'_i ‖ P_i)`` as a sum of terms that are never negative.

    ``KL = Σ_j P'_ij (δ − log(1 + δ))`` with ``δ = P_ij/P'_ij − 1``, plus the mass of P_i outside
    the support of P'_i: equal to the definition for rows that sum to one, and free of its
    cancellation when the rows are close.
    """
    total = 0.0
    for i in range(len(weights)):
        row, outside, impossible = 0.0, 0.0, 0.0
        for j in range(nominal.shape[1]):
            p, q = nominal[i, j], transition[i, j]
            seen, possible = p > 0.0, q > 0.0
            impossible += 1.0 if seen and not possible else 0.0
            outside += 0.0 if seen else q
            # Where either is zero, a ratio of one is taken, which costs nothing.
            base = p if seen and possible else 1.0
            at = q if seen and possible else 1.0
            row += p * ((at - base) / base - fast_log_ratio(at, base))
        if impossible > 0.0:
            return math.inf
        total += weights[i] * (row + outside)
    return total


@compiled
def _least_slack(top: float, mean: float, kappa: float) -> float:
    """Return a slack that is certainly not above the root, and close to it.

    By Jensen's inequality over the states that are not best,
    ``Σ P'/x ≥ top/y + (1 − top)²/((1 − top) y + κ m)``; where the right side is one, a quadratic
    equation in y, the left is at least one.
    """
    rest = 1.0 - top
    cost = kappa * mean
    if rest <= 0.0 or cost <= 0.0:
        return 1.0
    half = rest - cost
    root = math.sqrt(half * half + 4.0 * rest * top * cost)
    if half >= 0.0:
        return min(1.0, (half + root) / (2.0 * rest))
    return 2.0 * top * cost / (root - half)


@compiled
def _solve_row(
    nominal: FloatArray, gaps: FloatArray, ahead: float, kappa: float, guess: float, least: float
) -> tuple[float, float, float]:
    """Return the slack of one row, its entropy, and d(entropy)/d(log κ).

    Newton on ``1/Σ(P'/x)``, concave and increasing in y, converges from the left without
    overshooting. Once a step is short, a last pass adds the entropy, corrected for what
    that step leaves.
    """
    size = len(nominal)
    slack = min(1.0, max(guess, least))
    for _ in range(60):
        first = 0.0
        second = 0.0
        for j in range(size):
            inverse = 1.0 / max(slack + kappa * max(gaps[j] - ahead, 0.0), TINY)
            share = nominal[j] * inverse
            first += share
            second += share * inverse
        if second <= 0.0:
            break
        step = min(1.0, max(slack + first * (first - 1.0) / second, least)) - slack
        slack += step
        if abs(step) <= 1e-2 * slack:
            break
    first = 0.0
    second = 0.0
    entropy = 0.0
    for j in range(size):
        x = max(slack + kappa * max(gaps[j] - ahead, 0.0), TINY)
        inverse = 1.0 / x
        share = nominal[j] * inverse
        first += share
        second += share * inverse
        entropy += nominal[j] * fast_log_ratio(x, 1.0)
    if slack <= 0.0:
        return 0.0, entropy, 1.0
    step = min(1.0, max(slack + first * (first - 1.0) / second, least)) - slack
    entropy += step * (first - 0.5 * step * second)
    return slack + step, max(entropy, 0.0), max(1.0 - first * first / second, 0.0)


@compiled_within
def _gaps_to_best(values: FloatArray, gaps: FloatArray) -> None:
    highest = -math.inf
    for j in range(len(values)):
        highest = max(highest, values[j])
    for j in range(len(values)):
        gaps[j] = highest - values[j]


@compiled
def _describe_rows(
    nominal: FloatArray,
    weights: FloatArray,
    support: BoolArray,
    stationary: FloatArray,
    gaps: FloatArray,
    ahead: FloatArray,
    top: FloatArray,
    mean: FloatArray,
) -> tuple[float, float]:
    """Write what each row knows of the gaps; return ``Σ_i (π_i²/α_i) Var_{P'_i}(g)``.

    ``ahead`` is the gap of the row's best allowed state, ``top`` the mass of P'_i there, ``mean``
    the mean gap behind it. For a small radius the divergence is the returned number over 2λ². The
    largest mean gap is returned with it: where it is zero, no row has anything to gain.
    """
    size = len(gaps)
    curvature, widest = 0.0, 0.0
    for i in range(len(weights)):
        nearest = 0.0
        if support.size > 0:
            nearest = math.inf
            for j in range(size):
                nearest = min(nearest, gaps[j] if support[i, j] else math.inf)
        at_best = 0.0
        cost = 0.0
        square = 0.0
        for j in range(size):
            gap = max(gaps[j] - nearest, 0.0)
            share = nominal[i, j] * gap
            at_best += nominal[i, j] if gap == 0.0 else 0.0
            cost += share
            square += share * gap
        ahead[i] = nearest
        top[i] = at_best
        mean[i] = cost
        curvature += stationary[i] * stationary[i] / weights[i] * max(square - cost * cost, 0.0)
        widest = max(widest, cost)
    return curvature, widest


@compiled
def _entropies(
    nominal: FloatArray,
    weights: FloatArray,
    gaps: FloatArray,
    ahead: FloatArray,
    top: FloatArray,
    mean: FloatArray,
    log_ratio: FloatArray,
    log_multiplier: float,
    slack: FloatArray,
    slope: FloatArray,
) -> tuple[float, float]:
    """Solve every row at one multiplier; return the divergence K and ``−dK/d(log λ)``."""
    total = 0.0
    decrease = 0.0
    for i in range(len(weights)):
        kappa = math.exp(min(log_ratio[i] - log_multiplier, LARGEST_LOG))
        least = _least_slack(top[i], mean[i], kappa)
        slack[i], entropy, slope[i] = _solve_row(nominal[i], gaps, ahead[i], kappa, slack[i], least)
        total += weights[i] * entropy
        decrease += weights[i] * slope[i]
    return total, decrease


@compiled
def _write_rows(
    nominal: FloatArray,
    support: BoolArray,
    stationary: FloatArray,
    gaps: FloatArray,
    ahead: FloatArray,
    log_ratio: FloatArray,
    log_multiplier: float,
    slack: FloatArray,
    target: FloatArray,
) -> float:
    """Write the maximiser S; return ``Σ_i π_i (S_i·h − h_i)``."""
    size = len(gaps)
    gain = 0.0
    for i in range(len(slack)):
        kappa = math.exp(min(log_ratio[i] - log_multiplier, LARGEST_LOG))
        total = 0.0
        for j in range(size):
            x = max(slack[i] + kappa * max(gaps[j] - ahead[i], 0.0), TINY)
            target[i, j] = nominal[i, j] / x
            total += target[i, j]
        if slack[i] <= 0.0:
            best = i
            nearest = math.inf
            for j in range(size):
                if (support.size == 0 or support[i, j]) and gaps[j] < nearest:
                    nearest = gaps[j]
                    best = j
            target[i, best] += max(1.0 - total, 0.0)
            total = max(total, 1.0)
        scale = 1.0 / total
        cost = 0.0
        for j in range(size):
            target[i, j] *= scale
            cost += target[i, j] * gaps[j]
        gain += stationary[i] * (gaps[i] - cost)
    return gain


@compiled
def _multiplier_step(divergence: float, decrease: float, goal: float) -> float:
    """Return Newton's step in log λ, on log K.

    From outside the ball, where K may be nearly flat in log λ, a long step is cut to Newton's on K
    itself, which does not overshoot because K is convex there.
    """
    excess = math.log(max(divergence, TINY) / goal)
    step = excess * divergence / max(decrease, TINY)
    if excess > 0.0:
        step = min(step, max(3.0, (divergence - goal) / max(decrease, TINY)))
    return step


@compiled
def _kept_inside(following: float, low: float, high: float, least: float, trial: int) -> float:
    """Return the next log λ, or the middle of its bracket where that is no use, or too slow."""
    halve = trial >= NEWTON_STEPS and trial % 2 == 0
    if low < following < high and not halve:
        return following
    low = max(low, least)
    return 0.5 * (low + min(high, low + MOST_RISE))


@compiled
def linear_maximum(
    nominal: FloatArray,
    weights: FloatArray,
    support: BoolArray,
    stationary: FloatArray,
    values: FloatArray,
    radius: float,
    log_multiplier: float,
    slack: FloatArray,
    target: FloatArray,
) -> tuple[float, float]:
    """Maximise ``Σ_ij π_i h_j S_ij`` over the ball of conditional relative entropy.

    Parameters
    ----------
    nominal, weights : P' (d × d) and α (d), all α positive
        Or the first few rows of them, where the ball leaves the others as they are.
    support : boolean d × d of allowed transitions, or 0 × 0 where all are
    stationary, values : π and h
    radius : r > 0
    log_multiplier : the last log λ, or NaN for none
    slack : in: the last slacks (any numbers, where there are none); out: the slacks found
    target : out: the maximiser S

    Returns
    -------
    log_multiplier : log λ
    gain : ``Σ_i π_i (S_i·h − h_i)``, which is the Frank-Wolfe gap at a P with ``π = πP``

    Notes
    -----
    The divergence K falls in λ. Newton's method on log K, in log λ, starts from the small-radius
    limit ``λ² = curvature/2r`` or from the last λ; K is log-log concave in all but odd cases, so
    that from the feasible side the iterates stay feasible. Where a row's best state is all but
    closed, log K falls like a step, and Newton's method jumps from one side of it to the other:
    then the bracket is halved.
    """
    rows, size = len(weights), len(values)
    gaps, log_ratio = np.empty(size), np.empty(rows)
    ahead, top, mean, slope = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    largest_log = -math.inf
    for i in range(rows):
        log_ratio[i] = math.log(max(stationary[i], TINY) / weights[i])
        largest_log = max(largest_log, log_ratio[i])
    _gaps_to_best(values, gaps)
    curvature, widest = _describe_rows(
        nominal, weights, support, stationary, gaps, ahead, top, mean
    )
    gain = 0.0
    if widest <= 0.0:
        for i in range(rows):
            gain += stationary[i] * (gaps[i] - ahead[i])
            for j in range(size):
                target[i, j] = nominal[i, j]
        return log_multiplier, gain
    least = largest_log - LARGEST_LOG
    if math.isnan(log_multiplier):
        log_multiplier = 0.5 * math.log(max(curvature, TINY) / (2.0 * radius))
        for i in range(rows):
            slack[i] = 1.0
    log_multiplier = max(log_multiplier, least)
    goal = radius * (1.0 - RADIUS_SLACK)
    low, high, excess = -math.inf, math.inf, 0.0
    for trial in range(100):
        divergence, decrease = _entropies(
            nominal, weights, gaps, ahead, top, mean, log_ratio, log_multiplier, slack, slope
        )
        excess = math.log(max(divergence, TINY) / goal)
        if abs(excess) <= 0.8 * RADIUS_SLACK or (excess < 0.0 and log_multiplier <= least):
            break
        if excess > 0.0:
            low = log_multiplier
        else:
            high = log_multiplier
        following = log_multiplier + _multiplier_step(divergence, decrease, goal)
        following = _kept_inside(max(following, least), low, high, least, trial)
        if following == log_multiplier:
            break
        shift = log_multiplier - following
        for i in range(rows):
            slack[i] += (slack[i] - 1.0 + slope[i]) * shift
        log_multiplier = following
    if excess > RADIUS_SLACK and high < math.inf:
        log_multiplier = high
        _entropies(
            nominal, weights, gaps, ahead, top, mean, log_ratio, log_multiplier, slack, slope
        )
    gain = _write_rows(
        nominal, support, stationary, gaps, ahead, log_ratio, log_multiplier, slack, target
    )
    return log_multiplier, gain
