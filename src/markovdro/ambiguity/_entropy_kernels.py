"""Compiled kernel of relative-entropy balls around single rows: each row has a radius of its own.

The row that maximises ``S·h`` over ``KL(p ‖ S) ≤ r`` is that of a conditional-entropy ball with one
row (``_rows``): ``S_j = p_j/x_j`` with ``x_j = y + κ g_j``, g being the gaps to the best state that
may be reached. What proves it is the dual: for every ``t ≥ max h``,

    max S·h  ≤  t − e^-r exp(Σ_j p_j log(t − h_j)),

with equality at ``t = max h + y/κ``.
"""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._compiled import compiled
from markovdro.ambiguity._rows import divergence, linear_maximum

__all__ = ["entropy_rows"]

TINY = 1e-300
ROUNDING = 2.3e-16
# A row that rounding left outside its ball is drawn in by this share more than to the border.
SHRINK = 1e-12


@compiled
def entropy_rows(
    nominal: FloatArray,
    support: BoolArray,
    values: FloatArray,
    radius: float,
    log_multipliers: FloatArray,
    slacks: FloatArray,
    target: FloatArray,
    ceilings: FloatArray,
    distances: FloatArray,
) -> None:
    """Write, for each row p of P', the best row S of its ball, a proven bound on ``S·h``, and KL.

    ``log_multipliers`` (−log κ, or NaN) and ``slacks`` are where the search starts, and ends.
    ``support`` is 0 × 0 where every transition is allowed.
    """
    size = len(values)
    one = np.ones(1)
    for i in range(len(nominal)):
        top, level = -math.inf, 0.0
        for j in range(size):
            if support.size == 0 or support[i, j]:
                top = max(top, values[j])
        log_multipliers[i], _ = linear_maximum(
            nominal[i : i + 1],
            one,
            support[i : i + 1],
            one,
            values,
            radius,
            log_multipliers[i],
            slacks[i : i + 1],
            target[i : i + 1],
        )
        distances[i] = divergence(nominal[i : i + 1], one, target[i : i + 1])
        while distances[i] > radius:
            # Rounding left the row outside. Near p the divergence is quadratic, and it is convex.
            share = math.sqrt(radius / distances[i]) * (1.0 - SHRINK)
            for j in range(size):
                target[i, j] = nominal[i, j] + share * (target[i, j] - nominal[i, j])
            distances[i] = divergence(nominal[i : i + 1], one, target[i : i + 1])
        for j in range(size):
            level += target[i, j] * (top - values[j])
        ceilings[i] = top - level
        if level <= 0.0:
            continue
        kappa = math.exp(-log_multipliers[i])
        entropy, terms = 0.0, 0.0
        for j in range(size):
            gap = max(top - values[j], 0.0)
            term = nominal[i, j] * math.log(max(slacks[i] + kappa * gap, TINY))
            entropy += term
            terms += abs(term)
        found = (math.expm1(entropy - radius) + (1.0 - slacks[i])) / kappa
        lost = ROUNDING * (size + 10.0) * ((terms + radius + abs(1.0 - slacks[i])) / kappa + level)
        # A little above the row that was found, which is never above its own bound.
        ceilings[i] = top - min(max(found - lost, 0.0), level)
