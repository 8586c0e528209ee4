"""The cheaper certificate: where the radius is small, the worst case is a concave problem.

In the log-stationary law v (``_region``), a chain of the ball loses at least ρ where
``f(v) = Σ_i (L_i − ρ) e^{v_i} ≥ 0`` and ``R(v) ≤ r``. For the minorant m of R that touches it at a
stationary point, and any λ > 0, no v of the ball has f above the maximum of

    G(v) = Σ_i (L_i − ρ) e^{v_i} − λ (m(v) − r).

The exponentials of the costly states bend G up, m bends it down. Over the ellipsoid that holds the
ball, the secant curvatures of both are bounded; if the matrix M of what is left is positive
definite, then ``G ≤ G(v*) + g'M⁻¹g/2`` with the gradient g at the stationary point v*, where λ is
the multiplier of the ball and g nearly zero. Since ``Σ e^v ≥ 1``, no chain loses more than ρ plus
that.
"""

from __future__ import annotations

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.worstcase._region import Region

__all__ = ["convexity_bound"]

# A larger multiplier bends G down further, at the price of a gradient that is not zero.
MULTIPLIERS = (1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
ROUNDING = 2.3e-16


def convexity_bound(
    region: Region,
    loss: FloatArray,
    value: float,
    stationary: FloatArray,
    values: FloatArray,
) -> float:
    """Return a proven bound on the worst case, in the loss scaled to [0, 1]; 1 says nothing.

    ``value``, ``stationary`` and ``values`` belong to the best chain that was found.
    """
    from markovdro.ambiguity._stationary_cost import minorant
    from markovdro.worstcase._curvature import exponential_bends, laplacian_of_bends

    ellipsoid, centre = region.ellipsoid, region.centre
    if ellipsoid is None or centre is None or not (stationary > 0).all():
        return 1.0
    estimate = region.estimate
    weights = estimate.weights
    multiplier, tau, h = ConditionalEntropyBall(estimate, region.radius).dual(stationary, values)
    v = region.shifted(stationary)
    scale = float(np.exp(v[0]) / stationary[0])
    slopes, odds = np.empty_like(v), np.empty_like(estimate.doublets)
    cost, error = minorant(estimate.doublets, weights, v, tau, h / scale, slopes, odds)
    off_centre = (v[:, None] - v) - (centre[:, None] - centre)
    below, above = -ellipsoid.spans - off_centre, ellipsoid.spans - off_centre
    least, most = centre - ellipsoid.reach - v, centre + ellipsoid.reach - v
    if (below > 0).any() or (above < 0).any() or (least > 0).any() or (most < 0).any():
        return 1.0  # rounding took the law out of the ball: nothing is proven around it
    form = np.empty_like(odds)
    laplacian_of_bends(estimate.doublets, odds, below, above, form)
    surplus = loss - value
    exponentials = surplus * np.exp(v)
    bends = np.empty_like(v)
    exponential_bends(exponentials, least, most, bends)
    bound = 1.0
    for factor in MULTIPLIERS:
        price = factor * multiplier * scale
        gradient = exponentials - price * slopes
        excess = _half_decrement(price * form - np.diag(bends), weights, gradient)
        level = float(exponentials.sum()) - price * (cost - region.radius)
        size_of_terms = float(np.abs(exponentials).sum()) + price * (abs(cost) + region.radius)
        allowance = price * error + ROUNDING * 4.0 * (len(v) + 10.0) * size_of_terms
        found = value + max(level + excess + allowance, 0.0) + ROUNDING * 4.0
        if found > bound and bound < 1.0:
            break
        bound = min(bound, found)
    return bound


def _half_decrement(matrix: FloatArray, weights: FloatArray, gradient: FloatArray) -> float:
    """Return ``max g·u − u'Mu/2`` over ``α·u = 0`` from above, or infinity if M is not definite."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    size = len(weights)
    trace = float(np.abs(matrix.diagonal()).sum())
    # A factorisation in floating point proves that a matrix has no eigenvalue below this shift, if
    # it succeeds once the shift has been taken off the diagonal.
    shift = ROUNDING * 10.0 * (size + 3.0) * 11.0 * trace
    raised = matrix + 10.0 * trace * np.outer(weights, weights)
    factor, failed = dpotrf(raised - shift * np.eye(size), lower=1)
    if failed:
        return np.inf
    balanced = gradient - gradient.sum() * weights
    step, _ = dpotrs(factor, balanced, lower=1)
    residual = balanced - raised @ step
    reached = float(balanced @ step) - 0.5 * float(step @ raised @ step)
    terms = float(np.abs(balanced) @ np.abs(step) + np.abs(step) @ (np.abs(raised) @ np.abs(step)))
    reached += ROUNDING * 4.0 * (size + 10.0) * terms
    return reached + float(residual @ residual) / (1.8 * shift)
