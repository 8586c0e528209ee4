"""Compiled Newton steps for ``max F(v)`` where ``R(v) ≤ r``, in a box and along ``α·v`` = const."""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro._cholesky import factorise, substitute
from markovdro._compiled import compiled_within

__all__ = ["gauge_price", "newton_step"]

# Longest move of one coordinate of v in a step, and largest change of the multiplier.
LONGEST, FASTEST = 2.0, 6.0
# Coordinates that leave the box are held in rounds, by no less than this.
MOST_HOLDS, SLIVER = 6, 1e-12


@compiled_within
def gauge_price(
    push: FloatArray, weights: FloatArray, v: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float]:
    """Return the multiplier of the gauge, the mean push inside the box, and the weight there."""
    pull, mass = 0.0, 0.0
    for i in range(len(v)):
        if low[i] < v[i] < high[i]:
            pull += push[i]
            mass += weights[i]
    return pull / mass if mass > 0.0 else 0.0, mass


@compiled_within
def _hold(
    push: FloatArray,
    weights: FloatArray,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    move: FloatArray,
    held: IndexArray,
) -> None:
    """Mark the coordinates that an end of their interval holds against the push, with no move."""
    price, mass = gauge_price(push, weights, v, low, high)
    for i in range(len(v)):
        net = push[i] - price * weights[i]
        outward = (v[i] <= low[i] and net >= 0.0) or (v[i] >= high[i] and net <= 0.0)
        held[i] = 1 if outward and mass > 0.0 else 0
        move[i] = 0.0


@compiled_within
def _free_coordinates(held: IndexArray, free: IndexArray, move: FloatArray) -> int:
    """List the coordinates that are not held, whose moves are forgotten; return how many."""
    count = 0
    for i in range(len(held)):
        if held[i] == 0:
            free[count] = i
            move[i] = 0.0
            count += 1
    return count


@compiled_within
def _solve_free(
    hessian: FloatArray,
    curvature: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
    rise: FloatArray,
    free: IndexArray,
    count: int,
    move: FloatArray,
    system: FloatArray,
    ball: FloatArray,
    loss: FloatArray,
) -> bool:
    """Write the move of the free coordinates that makes R least, and the one in which F rises.

    Both keep the gauge, given the moves of the coordinates that are held; ``curvature`` is what F
    adds to the diagonal of the Hessian of R.
    """
    size = len(weights)
    gauge = np.empty(count)
    trace = 0.0
    for i in range(size):
        trace += hessian[i, i]
    ridge, definite = 1e-10, False
    while not definite and ridge < 1.0:
        for a in range(count):
            i = free[a]
            for b in range(a + 1):
                system[a, b] = hessian[i, free[b]] + 10.0 * trace * weights[i] * weights[free[b]]
            system[a, a] += ridge * (abs(hessian[i, i]) + abs(gradient[i])) + curvature[i]
        definite = factorise(system, count)
        ridge *= 100.0
    if not definite:
        return False
    owed = 0.0
    for i in range(size):
        owed -= weights[i] * move[i]
    for a in range(count):
        i = free[a]
        ball[a] = -gradient[i]
        for j in range(size):
            ball[a] -= hessian[i, j] * move[j]
        loss[a], gauge[a] = rise[i], weights[i]
    substitute(system, count, ball)
    substitute(system, count, loss)
    substitute(system, count, gauge)
    across_gauge, across_ball, across_loss, reward = 0.0, 0.0, 0.0, 0.0
    for a in range(count):
        weight = weights[free[a]]
        across_gauge += weight * gauge[a]
        across_ball += weight * ball[a]
        across_loss += weight * loss[a]
        reward += rise[free[a]] * loss[a]
    # What the gauge takes may be all of it, as where one coordinate is free.
    left = reward - across_loss * across_loss / across_gauge > 1e-12 * reward
    for a in range(count):
        ball[a] += (owed - across_ball) / across_gauge * gauge[a]
        loss[a] = loss[a] - across_loss / across_gauge * gauge[a] if left else 0.0
    return True


@compiled_within
def _model_change(
    hessian: FloatArray, gradient: FloatArray, curvature: FloatArray, move: FloatArray
) -> float:
    """Return what a quadratic model of R adds for a move."""
    change = 0.0
    for i in range(len(move)):
        along = gradient[i] + 0.5 * curvature[i] * move[i]
        for j in range(len(move)):
            along += 0.5 * hessian[i, j] * move[j]
        change += move[i] * along
    return change


@compiled_within
def _stop_at_sides(
    length: float,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    move: FloatArray,
    held: IndexArray,
) -> bool:
    """Hold the coordinates that a move of this length takes out of the box; tell if any are."""
    crossed = False
    for i in range(len(v)):
        end = v[i] + length * move[i]
        if held[i] == 0 and not low[i] - SLIVER <= end <= high[i] + SLIVER:
            move[i] = min(max(end, low[i]), high[i]) - v[i]
            held[i] = 1
            crossed = True
    return crossed


@compiled_within
def newton_step(
    hessian: FloatArray,
    cost: float,
    radius: float,
    bend: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
    rise: FloatArray,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    multiplier: float,
    system: FloatArray,
    move: FloatArray,
) -> float:
    """Write Newton's move for ``max F`` in box and ball; return the new multiplier, or NaN.

    The ball is that of the quadratic model of R, which comes to r at the new multiplier (to its
    least, if that is larger). A long move is cut in length. Coordinates that would leave the box
    are held at its sides, and the others solved again.
    """
    size = len(v)
    held, free = np.empty(size, np.int64), np.empty(size, np.int64)
    ball, loss, curvature = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        curvature[i] = gradient[i] - multiplier * rise[i]
    _hold(curvature, weights, v, low, high, move, held)
    for i in range(size):
        curvature[i] = -multiplier * bend[i] * math.exp(v[i])
    following = multiplier
    for _ in range(MOST_HOLDS):
        count = _free_coordinates(held, free, move)
        if count == 0:
            return multiplier / FASTEST if cost > radius else multiplier * FASTEST
        if not _solve_free(
            hessian, curvature, weights, gradient, rise, free, count, move, system, ball, loss
        ):
            return math.nan
        reward = 0.0
        for a in range(count):
            move[free[a]] = ball[a]
            reward += rise[free[a]] * loss[a]
        least = cost + _model_change(hessian, gradient, curvature, move)
        if reward > 0.0:
            following = math.sqrt(max(2.0 * (radius - least), 0.0) / reward)
            following = max(following, multiplier / FASTEST)
        longest = 1e-300
        for a in range(count):
            move[free[a]] += following * loss[a]
            longest = max(longest, abs(move[free[a]]))
        if not longest < math.inf:
            return math.nan
        length = min(1.0, LONGEST / longest)
        if not _stop_at_sides(length, v, low, high, move, held):
            for i in range(size):
                move[i] *= length
            break
    return following
