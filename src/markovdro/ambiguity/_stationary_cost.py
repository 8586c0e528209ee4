"""Compiled kernels of ``R(v)``: the least divergence at which a chain has a given stationary law.

With ``v = log π`` up to a constant and θ'_ij = α_i P'_ij, let

    R(v) = min { Σ_i α_i KL(P'_i ‖ P_i) : Σ_i π_i P_ij = π_j }.

The ball holds a chain with the stationary law π if and only if ``R(v) ≤ r``. For all τ, h ≥ 0 and
``q_j = π_j h_j``, the inequality ``log u ≤ u − 1`` at ``u = P_ij (τ_i + π_i h_j)/θ'_ij`` gives

    R(v) ≥ m(v) = Σ_ij θ'_ij log((τ_i + q_j e^{v_i − v_j})/α_i) − Σ_i τ_i − Σ_j q_j + 1,

which is convex in v for fixed τ and q. Where every transition is possible, some τ and q give
equality, with ``P_ij = θ'_ij/(τ_i + π_i h_j)``, so that R is convex, and the set of log-stationary
laws of the ball is too. Adding a constant to h, and taking ``π_i`` times it from τ_i, changes
nothing in m(v) at this v. ``docs/certificate.md`` has the proofs.
"""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._cholesky import factorise, substitute
from markovdro._compiled import compiled, compiled_within, fast_log_ratio

__all__ = ["cost_derivatives", "match_stationary_law", "minorant"]

ROUNDING = 2.3e-16
TINY = 1e-300
# Newton's method stops after a whole step from where rows and columns miss their sums by no more
# than this share of them: after it they miss them by about the square of it …
ENOUGH = 1e-4
MOST_STEPS = 60
# … takes a whole step where no τ_i + π_i h_j falls by more than this share of itself …
BOLDNESS = 0.5
# … and never lets one fall by more than this.
FURTHEST = 0.99
# Diagonals are raised by this share, so that rounding leaves factorisations positive.
RIDGE = 1e-11


@compiled_within
def _rows_at(
    doublets: FloatArray,
    law: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    rows: FloatArray,
    curvature: FloatArray,
    total: FloatArray,
) -> None:
    """Write P, ``W_ij = θ'_ij/(τ_i + π_i h_j)²`` and the row sums of W."""
    size = len(law)
    for i in range(size):
        summed = 0.0
        for j in range(size):
            inverse = 1.0 / (tau[i] + law[i] * h[j])
            entry = doublets[i, j] * inverse
            rows[i, j] = entry
            curvature[i, j] = entry * inverse
            summed += entry * inverse
        total[i] = summed


@compiled_within
def _eliminated_hessian(
    law: FloatArray,
    curvature: FloatArray,
    total: FloatArray,
    ground: int,
    scaled: FloatArray,
    schur: FloatArray,
) -> bool:
    """Factorise minus the Hessian in h once τ is eliminated, one state being grounded.

    It is a graph's Laplacian: off the diagonal ``−Σ_i W_ij W_ik π_i²/W_i·``, and a diagonal that is
    summed from the other entries, so that nothing cancels.
    """
    size = len(law)
    for j in range(size):
        schur[j, j] = 0.0
        for i in range(size):
            scaled[j, i] = curvature[i, j] * law[i] / math.sqrt(total[i])
    for j in range(size):
        for k in range(j):
            weight = 0.0
            for i in range(size):
                weight += scaled[j, i] * scaled[k, i]
            schur[j, j] += weight
            schur[k, k] += weight
            schur[j, k] = -weight
    for j in range(size):
        schur[j, j] *= 1.0 + RIDGE
        schur[max(j, ground), min(j, ground)] = 0.0
    schur[ground, ground] = 1.0
    return factorise(schur, size)


@compiled_within
def _heaviest(law: FloatArray) -> int:
    """Return the likeliest state: h, counted from there, keeps its digits."""
    heaviest = 0
    for i in range(len(law)):
        if law[i] > law[heaviest]:
            heaviest = i
    return heaviest


@compiled_within
def _step_length(
    doublets: FloatArray,
    law: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    step_tau: FloatArray,
    step_h: FloatArray,
) -> float:
    """Return how far to go along a Newton step: all of it, or to where m is largest on it.

    Along the step m is a sum of logarithms and a linear function, so that its slope is
    cheap, and falls.
    """
    size = len(law)
    fall, linear = 0.0, 0.0
    for i in range(size):
        linear += step_tau[i] + law[i] * step_h[i]
        for j in range(size):
            change = step_tau[i] + law[i] * step_h[j]
            fall = max(fall, -change / (tau[i] + law[i] * h[j]))
    if fall <= BOLDNESS:
        return 1.0
    low, high = 0.0, min(1.0, FURTHEST / fall)
    length = high
    for _ in range(12):
        slope = -linear
        for i in range(size):
            for j in range(size):
                change = step_tau[i] + law[i] * step_h[j]
                slope += doublets[i, j] * change / (tau[i] + law[i] * h[j] + length * change)
        if slope >= 0.0:
            low = length
        else:
            high = length
        if low == high:
            break
        length = 0.5 * (low + high)
    return max(low, 1e-3 * high)


@compiled
def match_stationary_law(
    doublets: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    rows: FloatArray,
    curvature: FloatArray,
    total: FloatArray,
    scaled: FloatArray,
    schur: FloatArray,
) -> bool:
    """Maximise m(v) over τ and h, of any sign, by damped Newton steps.

    τ and h come with ``τ_i + π_i h_j > 0`` and leave so; ``rows`` receives P and ``curvature`` W,
    ``total`` its row sums. Returns False where rounding stopped the factorisation. All doublets are
    positive here.
    """
    size = len(v)
    law, row_excess = np.empty(size), np.empty(size)
    step_tau, step_h, excess = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        law[i] = math.exp(v[i])
    ground = _heaviest(law)
    shift = h[ground]
    for i in range(size):
        tau[i] += law[i] * shift
        h[i] -= shift
    _rows_at(doublets, law, tau, h, rows, curvature, total)
    for _ in range(MOST_STEPS):
        for j in range(size):
            excess[j] = -law[j]
        for i in range(size):
            summed = -1.0
            for j in range(size):
                summed += rows[i, j]
                excess[j] += law[i] * rows[i, j]
            row_excess[i] = summed
        if not _eliminated_hessian(law, curvature, total, ground, scaled, schur):
            return False
        for j in range(size):
            right = excess[j]
            for i in range(size):
                right -= curvature[i, j] * law[i] * row_excess[i] / total[i]
            step_h[j] = right if j != ground else 0.0
        substitute(schur, size, step_h)
        residual = 0.0
        for i in range(size):
            residual = max(residual, abs(row_excess[i]), abs(excess[i]) / law[i])
            right = row_excess[i]
            for j in range(size):
                right -= curvature[i, j] * law[i] * step_h[j]
            step_tau[i] = right / total[i]
        length = _step_length(doublets, law, tau, h, step_tau, step_h)
        for i in range(size):
            tau[i] += length * step_tau[i]
            h[i] += length * step_h[i]
        _rows_at(doublets, law, tau, h, rows, curvature, total)
        if length == 1.0 and residual <= ENOUGH:
            return True
    return True


@compiled
def cost_derivatives(
    v: FloatArray,
    h: FloatArray,
    rows: FloatArray,
    curvature: FloatArray,
    total: FloatArray,
    scaled: FloatArray,
    schur: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> bool:
    """Write gradient and Hessian of R at the point that ``match_stationary_law`` left.

    ``∂R/∂v_i = π_i (P_i·h − h_i)``; the Hessian is that of the dual in v, plus what τ and h add by
    following v (a Schur complement).
    """
    size = len(v)
    law, cross, own = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        law[i] = math.exp(v[i])
        mean, slope, bend = 0.0, 0.0, 0.0
        for j in range(size):
            u = law[i] * h[j]
            mean += rows[i, j] * u
            slope += curvature[i, j] * u
            bend += curvature[i, j] * u * u
        gradient[i] = mean - law[i] * h[i]
        cross[i] = -slope
        own[i] = gradient[i] - bend
    ground = _heaviest(law)
    if not _eliminated_hessian(law, curvature, total, ground, scaled, schur):
        return False
    for i in range(size):
        for j in range(size):
            change = rows[i, j] - curvature[i, j] * (law[i] * h[j] + cross[i] / total[i])
            scaled[i, j] = law[i] * (change - (1.0 if i == j else 0.0))
        scaled[i, ground] = 0.0
        for a in range(size):
            entry = scaled[i, a]
            for b in range(a):
                entry -= schur[a, b] * scaled[i, b]
            scaled[i, a] = entry / schur[a, a]
        for k in range(i + 1):
            product = 0.0
            for a in range(size):
                product += scaled[i, a] * scaled[k, a]
            if k == i:
                product += own[i] + cross[i] * cross[i] / total[i]
            hessian[i, k] = product
            hessian[k, i] = product
    return True


@compiled
def minorant(
    doublets: FloatArray,
    weights: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    slopes: FloatArray,
    odds: FloatArray,
) -> tuple[float, float]:
    """Return m(v) and a bound on its rounding error; write its gradient, and how it is made up.

    The doublets are the true ones here, zeros included. Whatever τ and h are, they are moved along
    the direction that changes nothing, to the middle of where both are nonnegative, and then cut to
    what is, so that m is convex and nowhere above R. ``odds[i, j]`` receives the ratio of the two
    terms inside its logarithm.
    """
    size = len(v)
    law, shift_low, shift_high = np.empty(size), -math.inf, math.inf
    for i in range(size):
        law[i] = math.exp(v[i])
        shift_low = max(shift_low, -h[i])
        shift_high = min(shift_high, tau[i] / law[i])
        slopes[i] = 0.0
    shift = 0.5 * (shift_low + shift_high)
    value, magnitude = 1.0, 1.0
    for j in range(size):
        term = law[j] * max(h[j] + shift, 0.0)
        value -= term
        magnitude += term
    for i in range(size):
        stays = max(tau[i] - law[i] * shift, 0.0)
        value -= stays
        magnitude += stays
        total, total_size, flow = 0.0, 0.0, 0.0
        for j in range(size):
            moves = law[i] * max(h[j] + shift, 0.0)
            whole = max(stays + moves, TINY)
            logarithm = doublets[i, j] * fast_log_ratio(whole, weights[i])
            total += logarithm
            total_size += abs(logarithm)
            share = doublets[i, j] * (moves / whole)
            slopes[j] -= share
            flow += share
            odds[i, j] = moves / max(stays, TINY)
        slopes[i] += flow
        value += total
        magnitude += total_size
    # Each term is off by a few units of rounding, and a sum by one for each term.
    return value, ROUNDING * (size * size + 20.0) * magnitude
