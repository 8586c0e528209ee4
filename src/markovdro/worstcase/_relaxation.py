"""Compiled bounds over boxes of log-stationary laws: what branch and bound rests on.

In ``v = log π`` up to a constant, chosen so that ``Σ_i α_i v_i = Σ_i α_i log α_i`` (the gauge), the
chains of the ball lie in the convex set ``R(v) ≤ r`` (``ambiguity._stationary_cost``), and the
long-run loss of a chain is at least ρ where

    f(v) = Σ_i (L_i − ρ) e^{v_i} ≥ 0.

Only states with ``L_i > ρ`` make f other than concave. Over a box their exponentials are replaced
by a mixture of themselves (share θ) and of the chords above them, which gives a function ``F ≥ f``.
For every multiplier λ > 0 and every minorant m of R, no v of box and ball has f above

    max over the box of G(v) = F(v) − λ (m(v) − r).

Where θ = 0, G is concave, and below its tangent plane at any v. Where θ > 0, a Cholesky
factorisation of a matrix of secant curvatures proves that; curvature of the ball thus pays for what
the exponentials bend. The maximum of the plane over the box is the bound. A Newton method on the
relaxed problem only looks for λ, m and v that make it small.
"""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro._cholesky import factorise
from markovdro._compiled import compiled, compiled_within
from markovdro.ambiguity._stationary_cost import (
    cost_derivatives,
    match_stationary_law,
    minorant,
)
from markovdro.worstcase._curvature import exponential_bend, logarithm_bend, make_laplacian
from markovdro.worstcase._newton import gauge_price, newton_step

__all__ = ["bound_boxes", "minimise"]

MOST_STEPS = 100
# Leaving the ball costs this many times the multiplier, where steps are compared.
PENALTY = 2.0
# A step that overshot is cut to this share, and at most so many times.
SHORTER, MOST_SHORTENINGS = 0.3, 8
# A bound this close to a value that the relaxation reaches cannot fall much further.
CLOSE = 0.03
# Steps that move no coordinate by more than this change no bound.
STILL = 1e-7
ROUNDING = 2.3e-16
# A mixture is tried where at least this share of the exponentials can be kept.
LEAST_SHARE, MOST_ATTEMPTS = 0.1, 4


@compiled_within
def _tangent_bound(
    level: float,
    slopes: FloatArray,
    rise: FloatArray,
    weights: FloatArray,
    gauge: float,
    steepness: float,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> float:
    """Maximise ``level + slopes·(x − v)`` over the x of a box with ``α·x = gauge``, from above.

    Any multiplier of the equality would give a bound. A slope is what is left of larger terms: the
    ``rise`` of F, the gauge, and ``steepness`` times what flows through the state in m, at most
    ``2α_i + |∂m_i|``. Its rounding counts over the width of the box.
    """
    price, _ = gauge_price(slopes, weights, v, low, high)
    total, size_of_terms = level + price * gauge, abs(level) + abs(price * gauge)
    for i in range(len(v)):
        total -= price * weights[i] * v[i]
        size_of_slope = 3.0 * abs(rise[i]) + 2.0 * abs(slopes[i]) + 2.0 * steepness * weights[i]
        size_of_slope += abs(price) * weights[i]
        size_of_terms += abs(price * weights[i] * v[i])
        size_of_terms += size_of_slope * max(high[i] - v[i], v[i] - low[i])
        slope = slopes[i] - price * weights[i]
        slopes[i] = slope
        gain = slope * ((high[i] if slope > 0.0 else low[i]) - v[i])
        total += gain
        size_of_terms += abs(gain)
    return total + ROUNDING * 2.0 * (len(v) + 10.0) * size_of_terms


@compiled_within
def _settle(
    weights: FloatArray,
    gauge: float,
    low: FloatArray,
    high: FloatArray,
    v: FloatArray,
    tau: FloatArray,
) -> bool:
    """Move v into the box and its slice ``α·v = gauge``, by a shift of all that the box lets move.

    τ follows, which keeps ``τ_i + π_i h_j`` positive. Returns False where the box misses the slice.
    """
    least, most = math.inf, -math.inf
    below, above = 0.0, 0.0
    for i in range(len(v)):
        least, most = min(least, low[i] - v[i]), max(most, high[i] - v[i])
        below += weights[i] * low[i]
        above += weights[i] * high[i]
    allowance = ROUNDING * 10.0 * len(v) * (abs(below) + abs(above) + abs(gauge))
    if below > gauge + allowance or above < gauge - allowance:
        return False
    shift = 0.0
    for _ in range(100):
        level, slope = -gauge, 0.0
        for i in range(len(v)):
            at = v[i] + shift
            level += weights[i] * min(max(at, low[i]), high[i])
            slope += weights[i] if low[i] < at < high[i] else 0.0
        if abs(level) <= ROUNDING * 4.0 * abs(gauge):
            break
        if level > 0.0:
            most = shift
        else:
            least = shift
        shift = shift - level / slope if slope > 0.0 else math.inf
        if not least < shift < most:
            shift = 0.5 * (least + most)
    for i in range(len(v)):
        settled = min(max(v[i] + shift, low[i]), high[i])
        tau[i] *= math.exp(settled - v[i])
        v[i] = settled
    return True


@compiled_within
def _shrink(
    surplus: float, slopes: FloatArray, v: FloatArray, low: FloatArray, high: FloatArray
) -> bool:
    """Cut off what cannot hold G ≥ 0: a coordinate may lose at most the surplus of the bound.

    Returns whether the point v was cut off.
    """
    outside = False
    for i in range(len(low)):
        slope = slopes[i]
        if slope == 0.0:
            continue
        distance = surplus / abs(slope) * (1.0 + 1e-9) + 1e-12 * (abs(low[i]) + abs(high[i]))
        if distance < high[i] - low[i]:
            if slope > 0.0:
                low[i] = high[i] - distance
            else:
                high[i] = low[i] + distance
            outside = outside or not low[i] <= v[i] <= high[i]
    return outside


@compiled_within
def _below_tangent(
    doublets: FloatArray,
    weights: FloatArray,
    odds: FloatArray,
    price: float,
    bend: FloatArray,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    matrix: FloatArray,
) -> bool:
    """Prove that ``Σ_i bend_i e^{x_i} − price·m(x)`` is below its tangent plane at v on the box.

    Half of the form of the matrix, made of secant curvatures over the box, is below what is missing
    to the plane, where ``α·x`` is that of v.
    """
    size = len(v)
    up, down, rise, fall = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        up[i], down[i] = high[i] - v[i], v[i] - low[i]
        rise[i], fall[i] = math.exp(up[i]), math.exp(-down[i])
    for i in range(size):
        for j in range(size):
            one = logarithm_bend(odds[i, j], up[i] + down[j], rise[i] / fall[j])
            other = logarithm_bend(odds[i, j], -down[i] - up[j], fall[i] / rise[j])
            matrix[i, j] = -price * doublets[i, j] * min(one, other)
    make_laplacian(matrix)
    trace = 0.0
    for i in range(size):
        term = bend[i] * math.exp(v[i])
        term *= exponential_bend(term, -down[i], up[i])
        trace += matrix[i, i] + abs(term)
        matrix[i, i] -= term
    # The gauge takes one direction out; and a factorisation in floating point proves that a matrix
    # is positive definite if it succeeds once this much has been taken off the diagonal.
    shift = ROUNDING * 10.0 * (size + 3.0) * 11.0 * trace
    for i in range(size):
        matrix[i, i] -= shift
        for j in range(i + 1):
            matrix[i, j] += 10.0 * trace * weights[i] * weights[j]
    return factorise(matrix, size)


@compiled_within
def _has_positive(numbers: FloatArray) -> bool:
    """Tell whether a number is positive (numpy's ``max`` is slow to compile)."""
    found = False
    for i in range(len(numbers)):
        found = found or numbers[i] > 0.0
    return found


@compiled_within
def _gauge(weights: FloatArray) -> float:
    """Return ``Σ_i α_i log α_i``, which is ``Σ_i α_i v_i``."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * math.log(weights[i])
    return total


@compiled_within
def _start_dual(weights: FloatArray, tau: FloatArray, h: FloatArray) -> None:
    """Write τ and h of the chain P', from which every dual solution can be reached."""
    for i in range(len(weights)):
        tau[i], h[i] = weights[i], 0.0


@compiled_within
def _advance(
    move: FloatArray,
    origin: FloatArray,
    origin_tau: FloatArray,
    origin_h: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
) -> float:
    """Take a step, remembering where it begins; return the longest move of a coordinate."""
    longest = 0.0
    for i in range(len(v)):
        origin[i], origin_tau[i], origin_h[i] = v[i], tau[i], h[i]
        v[i] += move[i]
        tau[i] *= math.exp(move[i])
        longest = max(longest, abs(move[i]))
    return longest


@compiled_within
def _retreat(
    origin: FloatArray,
    origin_tau: FloatArray,
    origin_h: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
) -> None:
    """Go back most of the way to where the last step began."""
    for i in range(len(v)):
        v[i] = origin[i] + SHORTER * (v[i] - origin[i])
        tau[i], h[i] = origin_tau[i] * math.exp(v[i] - origin[i]), origin_h[i]


@compiled_within
def _lagrangian(
    doublets: FloatArray,
    weights: FloatArray,
    radius: float,
    offset: float,
    linear: FloatArray,
    bend: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    odds: FloatArray,
    multiplier: float,
    rise: FloatArray,
    slopes: FloatArray,
) -> tuple[float, float, float]:
    """Return m, F and G at v, G rounded up; write the gradients of F (rise) and of G (slopes)."""
    size = len(v)
    cost, error = minorant(doublets, weights, v, tau, h, slopes, odds)
    price = 1.0 / multiplier
    relaxed, size_of_terms = offset, abs(offset)
    for i in range(size):
        level = bend[i] * math.exp(v[i])
        rise[i] = linear[i] + level
        relaxed += linear[i] * v[i] + level
        size_of_terms += abs(linear[i] * v[i]) + abs(level)
        slopes[i] = rise[i] - price * slopes[i]
    size_of_terms += price * (abs(cost) + radius)
    allowance = price * error + ROUNDING * (2.0 * size + 10.0) * size_of_terms
    return cost, relaxed, relaxed - price * (cost - radius) + allowance


@compiled
def minimise(
    doublets: FloatArray,
    positive: FloatArray,
    weights: FloatArray,
    radius: float,
    offset: float,
    linear: FloatArray,
    bend: FloatArray,
    low: FloatArray,
    high: FloatArray,
    goal: float,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    odds: FloatArray,
    multiplier: float,
) -> tuple[float, float]:
    """Look for the least bound on ``F(v) = offset + linear·v + Σ bend_i e^{v_i}`` in box and ball.

    A bound at or below the goal is good enough, and the box is shrunk to what may hold F above it
    (the goal −∞ asks for the best bound). The point v ends near the maximiser of F in the box, τ
    and h at its dual solution, ``odds`` at those of its minorant. Returns the bound and 1/λ.
    """
    size = len(v)
    rows, curvature = np.empty((size, size)), np.empty((size, size))
    scaled, schur = np.empty((size, size)), np.empty((size, size))
    hessian, system = np.empty((size, size)), np.empty((size, size))
    total, gradient, slopes, rise = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    origin, origin_tau, origin_h = np.empty(size), np.empty(size), np.empty(size)
    move = np.empty(size)
    best, best_multiplier = math.inf, multiplier
    merit, penalty, shortenings = math.inf, 0.0, 0
    afresh, bends, gauge = False, _has_positive(bend), _gauge(weights)
    if not _settle(weights, gauge, low, high, v, tau):
        return -math.inf, multiplier
    for _ in range(MOST_STEPS):
        if not match_stationary_law(positive, v, tau, h, rows, curvature, total, scaled, schur):
            # Rounding spoiled the dual solution: start it afresh, once.
            _start_dual(weights, tau, h)
            if afresh:
                break
            afresh = True
            continue
        cost, relaxed, level = _lagrangian(
            doublets,
            weights,
            radius,
            offset,
            linear,
            bend,
            v,
            tau,
            h,
            odds,
            multiplier,
            rise,
            slopes,
        )
        outside = max(cost - radius, 0.0)
        if penalty * outside - relaxed > merit and shortenings < MOST_SHORTENINGS:
            # Newton's step went too far: what it wins in F it loses in R, at more than its price.
            shortenings += 1
            _retreat(origin, origin_tau, origin_h, v, tau, h)
            continue
        shortenings = 0
        bound = _tangent_bound(level, slopes, rise, weights, gauge, 1.0 / multiplier, v, low, high)
        if bound < best and (
            not bends
            or _below_tangent(doublets, weights, odds, 1.0 / multiplier, bend, v, low, high, system)
        ):
            best, best_multiplier = bound, multiplier
            if best <= goal:
                break
            if _shrink(bound - goal, slopes, v, low, high):
                if not _settle(weights, gauge, low, high, v, tau):
                    return -math.inf, multiplier
                merit = math.inf
                continue
        if outside <= 1e-6 * radius and bound - relaxed <= CLOSE * abs(relaxed):
            break
        if not cost_derivatives(v, h, rows, curvature, total, scaled, schur, gradient, hessian):
            break
        following = newton_step(
            hessian,
            cost,
            radius,
            bend,
            weights,
            gradient,
            rise,
            v,
            low,
            high,
            multiplier,
            system,
            move,
        )
        if not following > 0.0:
            break
        penalty = max(penalty, PENALTY / following)
        merit = penalty * outside - relaxed
        merit += 1e-12 * (abs(merit) + abs(relaxed))
        longest = _advance(move, origin, origin_tau, origin_h, v, tau, h)
        if longest <= STILL and abs(following - multiplier) <= 1e-6 * multiplier:
            break
        _settle(weights, gauge, low, high, v, tau)
        multiplier = following
    return best, best_multiplier


@compiled_within
def _overestimate(
    surplus: FloatArray,
    share: float,
    low: FloatArray,
    high: FloatArray,
    linear: FloatArray,
    bend: FloatArray,
) -> float:
    """Write F, the share θ of each rising exponential and 1 − θ of its chord; return its offset."""
    offset = 0.0
    for i in range(len(surplus)):
        linear[i], bend[i] = 0.0, surplus[i]
        if surplus[i] > 0.0:
            width = high[i] - low[i]
            ratio = math.expm1(width) / width if width > 1e-9 else 1.0 + width
            bottom = surplus[i] * math.exp(low[i])
            linear[i] = (1.0 - share) * bottom * ratio
            offset += (1.0 - share) * bottom - linear[i] * low[i]
            bend[i] = share * surplus[i]
    return offset


@compiled_within
def _affordable_share(
    doublets: FloatArray,
    weights: FloatArray,
    odds: FloatArray,
    price: float,
    surplus: FloatArray,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    bend: FloatArray,
    matrix: FloatArray,
) -> float:
    """Return a share θ of the rising exponentials that the curvature of the ball can pay for."""
    least, most, share = 0.0, 1.0, 1.0
    for _ in range(5):
        for i in range(len(surplus)):
            bend[i] = share * surplus[i] if surplus[i] > 0.0 else surplus[i]
        if _below_tangent(doublets, weights, odds, price, bend, v, low, high, matrix):
            least = share
            if share == 1.0:
                break
        else:
            most = share
        share = 0.5 * (least + most)
    return least


@compiled
def bound_boxes(
    doublets: FloatArray,
    positive: FloatArray,
    weights: FloatArray,
    radius: float,
    surplus: FloatArray,
    first: int,
    last: int,
    lows: FloatArray,
    highs: FloatArray,
    points: FloatArray,
    taus: FloatArray,
    hs: FloatArray,
    multipliers: FloatArray,
    bounds: FloatArray,
    branches: IndexArray,
) -> None:
    """Bound ``f(v) = Σ_i surplus_i e^{v_i}`` over the boxes from ``first`` to ``last`` (exclusive).

    ``surplus`` is ``L − ρ``. ``bounds`` receives the bounds; a box with one of at most zero is
    refuted. Others are shrunk; ``branches`` receives the state whose chord is furthest from its
    exponential at the point found, ``points``.
    """
    size = len(surplus)
    linear, bend = np.empty(size), np.empty(size)
    odds, matrix = np.empty((size, size)), np.empty((size, size))
    for m in range(first, last):
        low, high, v = lows[m], highs[m], points[m]
        share = 0.0
        bounds[m] = math.inf
        for _ in range(MOST_ATTEMPTS):
            offset = _overestimate(surplus, share, low, high, linear, bend)
            bound, multipliers[m] = minimise(
                doublets,
                positive,
                weights,
                radius,
                offset,
                linear,
                bend,
                low,
                high,
                0.0,
                v,
                taus[m],
                hs[m],
                odds,
                multipliers[m],
            )
            bounds[m] = min(bounds[m], bound)
            if bounds[m] <= 0.0:
                break
            previous = share
            share = _affordable_share(
                doublets, weights, odds, 1.0 / multipliers[m], surplus, v, low, high, bend, matrix
            )
            if share < LEAST_SHARE or share <= previous:
                break
        widest, branches[m] = -1.0, 0
        for i in range(size):
            if surplus[i] > 0.0:
                width = high[i] - low[i]
                ratio = math.expm1(width) / width if width > 1e-9 else 1.0 + width
                bottom = math.exp(low[i])
                error = bottom * (1.0 + ratio * (v[i] - low[i])) - math.exp(v[i])
                error = surplus[i] * max(error, 0.0) + 1e-9 * width
                if error > widest:
                    widest = error
                    branches[m] = i
