"""Where the stationary laws of a ball lie, whatever the loss.

The logarithms ``v = log π`` of the stationary laws of a ball, shifted so that ``Σ_i α_i v_i`` is
``Σ_i α_i log α_i``, form a convex set that holds the law of P'. Two outer descriptions of it are
computed where they are needed, both proven:

- an **ellipsoid**, from one matrix inverse, for small radii and any number of states;
- a **box**, from two convex problems for each state, for any radius and few states.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import read_only
from markovdro.chains import Estimate, stationary_law

__all__ = ["Ellipsoid", "Region"]

# Laws whose logarithms differ by more than this are not bounded: they hardly bend the ball.
WIDEST_ELLIPSOID, WIDEST_BOX = 12.0, 300.0
# A box narrower than this is not worth another pass.
WIDE_ENOUGH, MOST_PASSES = 10.0, 5
MOST_ROUNDS = 12
SMALLEST_RADIUS = 1e-12
# What an inverse may lose to rounding, n ε κ², stays below half of the margin of the ellipsoid.
MARGIN, ROUNDING = 1e-4, 2.3e-16
LAST_DIGITS = 1e-12
# Zero doublets count as this much where only a good guess is sought.
NEARLY_ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Proven ranges of the log-stationary laws around that of P', all symmetric."""

    spans: FloatArray
    """d × d: how far ``v_i − v_j`` can be from its value at P'."""
    reach: FloatArray
    """d: how far v_i can be from its value at P'."""


@dataclass(frozen=True, eq=False)
class Region:
    """The log-stationary laws of the ball of a radius around an estimate.

    A ball too small for floating point is replaced by a larger one, whose bounds are bounds for it.
    """

    estimate: Estimate
    radius: float
    _kept: dict[str, tuple[FloatArray, FloatArray] | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", max(self.radius, SMALLEST_RADIUS))

    @cached_property
    def centre(self) -> FloatArray | None:
        """The v of P', or None where P' does not visit every state for ever."""
        if not self.estimate.recurrent.all():
            return None
        return self.shifted(stationary_law(self.estimate.transition))

    def shifted(self, stationary: FloatArray) -> FloatArray:
        """Return the v of a positive stationary law."""
        weights = self.estimate.weights
        v: FloatArray = np.log(stationary)
        v += weights @ (np.log(weights) - v)
        return v

    @cached_property
    def positive(self) -> FloatArray:
        """The doublets, with nearly zero for zero."""
        theta = self.estimate.doublets
        return np.where(theta > 0, theta, NEARLY_ZERO)

    @cached_property
    def ellipsoid(self) -> Ellipsoid | None:
        """Ranges that prove themselves, or None where the radius is too large for them.

        With the odds ``cπ'_i/(α_i − cπ'_i)``, m is zero at P' and nowhere above R. Where no
        ``v_i − v_j`` is further than S_ij from its value there, m lies above half of a quadratic
        form Λ, made of the secant curvatures of its logarithms over ``±S_ij``. If ``u'Λu ≤ 2r``
        allows less than S, no v of the ball leaves S, because the set is convex and holds the v of
        P'.
        """
        from markovdro.worstcase._curvature import laplacian_of_bends

        theta, weights = self.estimate.doublets, self.estimate.weights
        # The bend is at most a quarter; with less than this, no matrix need be formed.
        most = 0.25 * (weights + theta.sum(axis=0) - 2.0 * theta.diagonal())
        if 2.0 * self.radius > float(most.min()) * WIDEST_ELLIPSOID**2 or self.centre is None:
            return None
        centre = self.centre
        law = np.exp(centre)
        share = 0.5 * float((weights / law).min()) * law / weights
        odds = np.repeat((share / (1.0 - share))[:, None], len(law), axis=1)
        spans, form = np.zeros_like(odds), np.empty_like(odds)
        for _ in range(MOST_ROUNDS):
            laplacian_of_bends(theta, odds, -spans, spans, form)
            least = float(form.diagonal().min())
            if not least > 0 or 2.0 * self.radius > least * WIDEST_ELLIPSOID**2:
                return None
            inverse = _inverse(form, weights)
            if inverse is None:
                return None
            own = inverse.diagonal()
            allowed = np.sqrt(2.0 * self.radius * np.maximum(own[:, None] + own - 2 * inverse, 0.0))
            if (allowed <= (1.0 - MARGIN) * spans)[~np.eye(len(law), dtype=bool)].all():
                across = inverse @ weights
                reach = np.sqrt(2.0 * self.radius * (own - 2.0 * across + weights @ across))
                return Ellipsoid(allowed * (1.0 + MARGIN), reach * (1.0 + MARGIN))
            # The ranges grow from round to round towards the smallest that prove themselves; going
            # a little further each time arrives there sooner.
            spans = np.maximum(spans, allowed + 0.3 * (allowed - spans) + 0.01 * allowed)
        return None

    def box(self, threads: int, deadline: float) -> tuple[FloatArray, FloatArray] | None:
        """Return the least and the largest v_i of the ball, or None where they are not to be had.

        Ranges inside a larger box prove themselves if they stay off its sides. They are kept,
        unless time ran out.
        """
        if "box" not in self._kept:
            box = self._proven_box(threads, deadline)
            if box is None and time.perf_counter() >= deadline:
                return None
            self._kept["box"] = box
        return self._kept["box"]

    def _proven_box(self, threads: int, deadline: float) -> tuple[FloatArray, FloatArray] | None:
        centre = self.centre
        if centre is None:
            return None
        low, high = centre - WIDEST_BOX, centre + WIDEST_BOX
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(MOST_PASSES):
                # What a solution lacks in accuracy loosens its bound in proportion to the box.
                widest = float((high - low).max())
                reaches = np.array(
                    list(
                        pool.map(
                            lambda number: self._reach(number, low, high, deadline),  # noqa: B023
                            range(2 * len(centre)),
                        )
                    )
                )
                if not (reaches < WIDEST_BOX).all():
                    return None
                low = np.maximum(low, centre - reaches[::2] - LAST_DIGITS)
                high = np.minimum(high, centre + reaches[1::2] + LAST_DIGITS)
                width = float((high - low).max())
                if width < WIDE_ENOUGH or width > 0.7 * widest:
                    break
        # Many searches share the box, and each shrinks its own copy.
        return read_only(low), read_only(high)

    def _reach(self, number: int, low: FloatArray, high: FloatArray, deadline: float) -> float:
        """Bound how far a coordinate of v can be below its centre (even numbers) or above (odd)."""
        from markovdro.worstcase import _relaxation

        if self.centre is None or time.perf_counter() >= deadline:
            return np.inf
        state, sign = number // 2, 1.0 if number % 2 else -1.0
        weights = self.estimate.weights
        size = len(weights)
        direction = np.zeros(size)
        direction[state] = sign
        reach, _ = _relaxation.minimise(
            self.estimate.doublets,
            self.positive,
            weights,
            self.radius,
            -sign * float(self.centre[state]),
            direction,
            np.zeros(size),
            low.copy(),
            high.copy(),
            -np.inf,
            self.centre.copy(),
            weights.copy(),
            np.zeros(size),
            np.empty((size, size)),
            float(np.sqrt(2.0 * self.radius * weights[state])),
        )
        return reach


def _inverse(form: FloatArray, weights: FloatArray) -> FloatArray | None:
    """Invert a Laplacian made definite along the direction that it does not see."""
    from scipy.linalg.lapack import dpotrf, dpotri

    grounded = form + form.trace() * np.outer(weights, weights)
    factor, failed = dpotrf(grounded, lower=1)
    if failed:
        return None
    half, failed = dpotri(factor, lower=1)
    inverse: FloatArray = np.tril(half) + np.tril(half, -1).T
    condition = np.abs(grounded).sum(axis=1).max() * np.abs(inverse).sum(axis=1).max()
    lost = len(weights) * ROUNDING * condition**2
    return None if failed or not lost <= 0.5 * MARGIN else inverse
