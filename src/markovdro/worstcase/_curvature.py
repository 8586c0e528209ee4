"""Compiled secant curvature: how much a function bends between a point and the rest of a range.

For a function g with a tangent at 0, the secant curvature at t is the κ with

    g(t) = g(0) + g'(0) t + ½ κ t².

A certificate needs no more of a function than that it lies above (or below) a parabola that touches
it at one point, on the range where the ball is. The second derivative at the worst place of the
range says that too, but far less sharply: for the logarithms of the ball it dies out like e^-t,
where the secant curvature falls like 1/t.
"""

from __future__ import annotations

import math

from markovdro._arrays import FloatArray
from markovdro._compiled import compiled, compiled_inline, compiled_within, fast_log_ratio

__all__ = [
    "exponential_bend",
    "exponential_bends",
    "laplacian_of_bends",
    "logarithm_bend",
    "make_laplacian",
]

# Nearer than this the secant is lost in rounding, and the second derivative hardly changes.
NEAR = 0.05
# Rounding, in the logarithm itself and relative to what is computed from it: a wide margin.
LAST_DIGITS, SAFETY = 1e-15, 1e-9


@compiled_inline
def logarithm_bend(odds: float, t: float, growth: float) -> float:
    """Return the secant curvature of ``log(1 + odds·e^t)`` at t, from below; growth is ``e^t``.

    Over a range that holds 0 it is least at an end of the range: on either side of 0 it falls, or
    rises and then falls. (Arithmetic only, so that loops stay vectorised.)
    """
    # Where the odds are above one, the function is seen from the other term of the sum.
    turned = odds > 1.0
    o = 1.0 / odds if turned else odds
    w = 1.0 / growth if turned else growth
    s = -t if turned else t
    p = o / (1.0 + o)
    there = 1.0 + o * w
    # The second derivative rises to a quarter and falls: over a range it is least at an end.
    here_bend, there_bend = p / (1.0 + o), o * w / (there * there)
    least = min(there_bend, here_bend)
    above = fast_log_ratio(there, 1.0 + o) - p * s - LAST_DIGITS * (1.0 + p * abs(s))
    above = max(0.0, above)
    far = abs(s) > NEAR
    square = s * s if far else 1.0
    return (1.0 - SAFETY) * (2.0 * above / square if far else least)


@compiled_within
def exponential_bend(sign: float, below: float, above: float) -> float:
    """Return what ``e^t`` bends over a range that holds 0: at most where it rises, else at least.

    The secant curvature ``2(e^t − 1 − t)/t²`` grows with t. With a positive sign the largest is
    returned, from above; with a negative sign the least, from below.
    """
    t = above if sign > 0.0 else below
    if abs(t) < NEAR:
        return math.exp(t)
    return (1.0 + math.copysign(SAFETY, sign)) * 2.0 * (math.expm1(t) - t) / (t * t)


@compiled
def laplacian_of_bends(
    doublets: FloatArray,
    odds: FloatArray,
    below: FloatArray,
    above: FloatArray,
    form: FloatArray,
) -> None:
    """Write a form whose half is below what the minorant of R rises above its tangent plane.

    With ``t_ij = u_i − u_j`` in ``[below_ij, above_ij]``, which holds 0, that rise is the sum
    of the doublets times what ``log(1 + odds_ij e^t_ij)`` rises above its tangent.
    """
    size = len(doublets)
    for i in range(size):
        for j in range(size):
            down, up = below[i, j], above[i, j]
            one = logarithm_bend(odds[i, j], down, math.exp(down))
            other = logarithm_bend(odds[i, j], up, math.exp(up))
            form[i, j] = -doublets[i, j] * min(one, other)
    make_laplacian(form)


@compiled_within
def make_laplacian(form: FloatArray) -> None:
    """Turn minus the weights of pairs into the form ``Σ_ij weight_ij (u_i − u_j)²``, in place."""
    size = len(form)
    for i in range(size):
        form[i, i] = 0.0
    for i in range(size):
        for j in range(i):
            entry = form[i, j] + form[j, i]
            form[i, j] = form[j, i] = entry
            form[i, i] -= entry
            form[j, j] -= entry


@compiled
def exponential_bends(
    terms: FloatArray, below: FloatArray, above: FloatArray, bends: FloatArray
) -> None:
    """Write, for each term times ``e^t``, what it bends up at the most over its range of t."""
    for i in range(len(terms)):
        bends[i] = terms[i] * exponential_bend(terms[i], below[i], above[i])
