"""The paper's own oracle (Algorithm 2), for comparison: gradient descent on the dual."""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._compiled import compiled, fast_log_ratio
from markovdro.ambiguity import ConditionalEntropyBall

__all__ = ["PaperOracle", "dual_gradient"]

# No logarithm is taken of a distance below the first, no quotient by a share 1 − e^-r below the
# second: both are many orders below what a digit of the answer depends on.
LEAST_DISTANCE, LEAST_LOSS = 1e-300, 1e-100


@compiled
def dual_gradient(
    nominal: FloatArray,
    weights: FloatArray,
    cost: FloatArray,
    radius: float,
    eta: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return λ*(η), and write ``∂Q/∂η_i = 1 − λ*(η) α_i Σ_j P'_ij/(η_i − C_ij)``.

    ``λ*(η) = exp(Σ_ij α_i P'_ij log((η_i − C_ij)/α_i) − r)`` (Proposition "Linearized oracle
    subproblem"). The derivative printed in the paper lacks the factor λ* and has d for 1.
    """
    size = len(eta)
    exponent = -radius
    for i in range(size):
        logarithm = 0.0
        inverse = 0.0
        for j in range(size):
            distance = max(eta[i] - cost[i, j], LEAST_DISTANCE)
            logarithm += nominal[i, j] * fast_log_ratio(distance, weights[i])
            inverse += nominal[i, j] / distance
        exponent += weights[i] * logarithm
        gradient[i] = weights[i] * inverse
    multiplier = math.exp(exponent)
    for i in range(size):
        gradient[i] = 1.0 - multiplier * gradient[i]
    return multiplier


@compiled
def _descend(
    nominal: FloatArray,
    weights: FloatArray,
    cost: FloatArray,
    radius: float,
    lowest: FloatArray,
    highest: FloatArray,
    rate: float,
    steps: int,
    eta: FloatArray,
) -> None:
    """Take projected gradient steps of length ``rate`` on the dual."""
    gradient = np.empty_like(eta)
    for _ in range(steps):
        dual_gradient(nominal, weights, cost, radius, eta, gradient)
        for i in range(len(eta)):
            eta[i] = min(max(eta[i] - rate * gradient[i], lowest[i]), highest[i])


class PaperOracle:
    """Algorithm 2 as printed, with the corrected derivative.

    Every step moves all d coordinates, projects them on the box of Proposition "Linearized oracle
    subproblem" and uses the learning rate ``K/√N``. The rows it returns sum to one only in the
    limit; they are renormalised and pulled into the ball, without which Algorithm 1 would leave
    the set of chains.

    Parameters
    ----------
    ball : ConditionalEntropyBall
    steps : int
        N, the number of gradient steps. With the defaults the gain is within 3% of the exact one
        at d = 10 and 100 and r = 0.01 to 1; with N = 1000 no single K does that.
    rate : float
        K, in units of the mean distance of the start from the lower end of the box. (The paper
        names neither the start nor K.)
    """

    def __init__(
        self, ball: ConditionalEntropyBall, *, steps: int = 10_000, rate: float = 10.0
    ) -> None:
        self.ball = ball
        self.steps = steps
        self.rate = rate

    def __call__(self, stationary: FloatArray, values: FloatArray) -> tuple[FloatArray, float]:
        """Return an approximate maximiser of ``Σ π_i h_j S_ij``, and its gain."""
        nominal, weights = self.ball.estimate.transition, self.ball.estimate.weights
        cost = np.outer(stationary, values)
        lowest = cost.max(axis=1)
        shrink = math.exp(-self.ball.radius)
        # A radius near zero would send the upper end of the box beyond the numbers.
        lost = max(-math.expm1(-self.ball.radius), LEAST_LOSS)
        reach = (len(cost) * cost.max() - shrink * (cost * nominal).sum()) / lost
        highest = np.maximum(reach - (lowest.sum() - lowest), lowest)
        eta = self._start(cost, lowest, highest)
        unit = float((eta - lowest).mean())
        _descend(
            nominal,
            weights,
            cost,
            self.ball.radius,
            lowest,
            highest,
            self.rate * unit / math.sqrt(self.steps),
            self.steps,
            eta,
        )
        distances = np.maximum(eta[:, None] - cost, LEAST_DISTANCE)
        # What each row has in common, λ* and its weight, goes when the row is normalised.
        rows = nominal * (distances.min(axis=1, keepdims=True) / distances)
        total = rows.sum(axis=1, keepdims=True)
        target = self.ball.pull_inside(np.divide(rows, total, out=nominal.copy(), where=total > 0))
        return target, float(stationary @ (target @ values - values))

    def _start(self, cost: FloatArray, lowest: FloatArray, highest: FloatArray) -> FloatArray:
        """Return the best of the points ``2^-k`` of the way up the box.

        The paper allows any point of the box, whose sides are wider than the distances that
        matter by orders of magnitude: from its middle the descent would not arrive.
        """
        estimate = self.ball.estimate
        starts = [lowest + 0.5**k * (highest - lowest) for k in range(1, 40)]
        gradient = np.empty_like(lowest)
        dual = [
            eta.sum()
            - dual_gradient(
                estimate.transition, estimate.weights, cost, self.ball.radius, eta, gradient
            )
            for eta in starts
        ]
        return starts[int(np.argmin(dual))]
