"""The exact oracle against its dual, against IPOPT, and in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from markovdro import Estimate
from markovdro.ambiguity import ConditionalEntropyBall

Array = npt.NDArray[np.float64]


def instance(seed: int, size: int, concentration: float = 1.0) -> tuple[Estimate, Array, Array]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(size * size, concentration)).reshape(size, size) + 1e-12
    estimate = Estimate.from_doublets(theta / theta.sum())
    return estimate, rng.dirichlet(np.ones(size)), rng.normal(size=size)


def dual_value(estimate: Estimate, weights: Array, values: Array, radius: float) -> float:
    """The paper's dual, ``min_η Σ η_i − λ*(η)``, by a general minimiser over log(η − max C)."""
    cost = np.outer(weights, values)
    joint = estimate.weights[:, None] * estimate.transition
    top = cost.max(axis=1)

    def dual(x: Array) -> tuple[float, Array]:
        distance = (top[:, None] - cost) + np.exp(x)[:, None]
        logs = np.log(distance / estimate.weights[:, None])
        multiplier = math.exp(float((joint * logs).sum()) - radius)
        gradient = 1 - multiplier * (joint / distance).sum(axis=1)
        return float((top + np.exp(x)).sum()) - multiplier, gradient * np.exp(x)

    best = math.inf
    for scale in (-8.0, -4.0, 0.0, 2.0):
        found = minimize(
            dual,
            np.full(len(values), scale),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-60.0, 15.0)] * len(values),
            options={"ftol": 1e-15, "gtol": 1e-13, "maxiter": 5000},
        )
        best = min(best, float(found.fun))
    return best


def ipopt_value(estimate: Estimate, weights: Array, values: Array, radius: float) -> float:
    """The primal problem, conic in P, by casadi and IPOPT; zeros of P' are free variables."""
    ca = pytest.importorskip("casadi")
    size = len(values)
    p = ca.SX.sym("p", size, size)
    joint = estimate.weights[:, None] * estimate.transition
    seen = joint > 0
    ball = sum(
        float(joint[i, j]) * (math.log(estimate.transition[i, j]) - ca.log(p[i, j]))
        for i in range(size)
        for j in range(size)
        if seen[i, j]
    )
    gain = sum(float(weights[i] * values[j]) * p[i, j] for i in range(size) for j in range(size))
    solver = ca.nlpsol(
        "oracle",
        "ipopt",
        {"x": ca.vec(p), "f": -gain, "g": ca.vertcat(ca.sum2(p), ball)},
        {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-11},
    )
    start = 0.9 * estimate.transition + 0.1 / size
    highest = np.where(estimate.support, 1.0, 0.0).ravel(order="F")
    solution: dict[str, Any] = solver(
        x0=start.ravel(order="F"),
        lbx=0.0,
        ubx=highest,
        lbg=np.append(np.ones(size), -math.inf),
        ubg=np.append(np.ones(size), radius),
    )
    return -float(solution["f"])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1e-4, 0.01, 0.1, 1.0, 3.0]))
def test_no_dual_point_is_below_the_maximum_found(seed: int, size: int, radius: float) -> None:
    estimate, weights, values = instance(seed, size)
    ball = ConditionalEntropyBall(estimate, radius)
    target, _ = ball.maximise(weights, values)
    primal = float(weights @ (target @ values))
    dual = dual_value(estimate, weights, values, radius)
    spread = float(np.ptp(values))
    # Weak duality, to rounding; and strong duality, to what the general minimiser can do.
    assert primal <= dual + 1e-9 * spread
    assert primal == pytest.approx(dual, abs=1e-5 * spread)
    assert ball.divergence(target) <= radius * (1 + 1e-9)
    assert np.abs(target.sum(axis=1) - 1).max() < 1e-12
    assert (target > 0).all()


@pytest.mark.parametrize("radius", [0.003, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_ipopt(seed: int, radius: float) -> None:
    estimate, weights, values = instance(seed, 5)
    target, _ = ConditionalEntropyBall(estimate, radius).maximise(weights, values)
    found = float(weights @ (target @ values))
    spread = float(np.ptp(values))
    # IPOPT relaxes its bounds by 1e-8 by default.
    assert found == pytest.approx(ipopt_value(estimate, weights, values, radius), abs=1e-6 * spread)


def with_zeros(seed: int, size: int = 5) -> Estimate:
    """Counts with many zeros; every transition stays possible."""
    rng = np.random.default_rng(seed)
    theta = rng.random((size, size)) * (rng.random((size, size)) < 0.5)
    theta += np.roll(np.eye(size), 1, axis=1) * 0.3
    return Estimate.from_doublets(theta / theta.sum())


@pytest.mark.parametrize("radius", [0.003, 0.05, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_zeros_of_the_estimate_may_be_used(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    estimate = with_zeros(seed)
    weights, values = rng.dirichlet(np.ones(5)), rng.normal(size=5)
    ball = ConditionalEntropyBall(estimate, radius)
    target, _ = ball.maximise(weights, values)
    best = int(np.argmax(values))
    unused = (estimate.transition == 0) & (np.arange(5) != best)[None, :]
    assert (target[unused] == 0).all()
    assert ball.divergence(target) == pytest.approx(radius, rel=2e-9)
    assert float(weights @ (target @ values)) == pytest.approx(
        ipopt_value(estimate, weights, values, radius), abs=2e-6 * float(np.ptp(values))
    )


def test_a_saturated_row_gives_what_it_lacks_to_the_best_state() -> None:
    """With one row of any weight, P' = (1, 0) and h = (0, 1): S = (e^{−r/α}, 1 − e^{−r/α})."""
    theta = np.array([[0.6, 0.0], [0.4, 0.0]])
    estimate = Estimate.from_doublets(theta)
    radius = 0.25
    target, gain = ConditionalEntropyBall(estimate, radius).maximise(
        np.array([1.0, 0.0]), np.array([0.0, 1.0])
    )
    stay = math.exp(-radius / 0.6)
    assert target[0] == pytest.approx([stay, 1 - stay], rel=1e-8)
    assert target[1] == pytest.approx([1.0, 0.0])
    assert gain == pytest.approx(1 - stay, rel=1e-8)


@pytest.mark.parametrize("radius", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_structural_zeros_stay_zero(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    size = 5
    support = rng.random((size, size)) < 0.6
    support |= np.roll(np.eye(size, dtype=bool), 1, axis=1)
    theta = np.where(support, rng.random((size, size)), 0.0)
    # One possible transition that was never seen, beside the impossible ones.
    theta[2, np.flatnonzero(support[2])[0]] = 0.0
    theta[2, 3] = 0.5
    support[2, 3] = True
    estimate = Estimate.from_doublets(theta / theta.sum(), support=support)
    weights, values = rng.dirichlet(np.ones(size)), rng.normal(size=size)
    ball = ConditionalEntropyBall(estimate, radius)
    target, _ = ball.maximise(weights, values)
    assert (target[~support] == 0).all()
    assert ball.divergence(target) <= radius * (1 + 1e-9)
    assert float(weights @ (target @ values)) == pytest.approx(
        ipopt_value(estimate, weights, values, radius), abs=2e-6 * float(np.ptp(values))
    )


@pytest.mark.parametrize("radius", [1e-6, 1e-3, 0.1, 1.0, 10.0])
def test_two_states_in_closed_form(radius: float) -> None:
    """One row matters and moves until its own entropy is spent: ``α KL(p ‖ q) = r``."""
    estimate = Estimate.from_doublets([[0.42, 0.28], [0.15, 0.15]])
    target, _ = ConditionalEntropyBall(estimate, radius).maximise(
        np.array([1.0, 0.0]), np.array([0.0, 3.0])
    )

    def excess(stay: float) -> float:
        return 0.6 * math.log(0.6 / stay) + 0.4 * math.log(0.4 / (1 - stay)) - radius / 0.7

    stay = brentq(excess, 1e-12, 0.6, xtol=1e-15, rtol=1e-14)
    # The multiplier stops within 5e-10 of the radius; the square root loses half of the digits
    # where the radius is small.
    assert target[0, 0] == pytest.approx(stay, rel=1e-8)
    assert target[1] == pytest.approx([0.5, 0.5], rel=1e-12)


def test_the_gain_is_that_of_the_point_returned() -> None:
    estimate, weights, values = instance(3, 6)
    target, gain = ConditionalEntropyBall(estimate, 0.2).maximise(weights, values)
    assert gain == pytest.approx(float(weights @ (target @ values - values)), abs=1e-12)


def test_warm_starts_change_nothing() -> None:
    estimate, weights, values = instance(11, 6)
    warm = ConditionalEntropyBall(estimate, 0.2)
    rng = np.random.default_rng(1)
    for _ in range(20):
        warm.maximise(rng.dirichlet(np.ones(6)), rng.normal(size=6) * 10.0 ** rng.integers(-6, 7))
    again, _ = warm.maximise(weights, values)
    fresh, _ = ConditionalEntropyBall(estimate, 0.2).maximise(weights, values)
    # Both stop at the same relative accuracy of the radius.
    assert again == pytest.approx(fresh, abs=1e-9)


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.floats(-12, 1),
    st.floats(-6, 6),
    st.sampled_from([0.02, 0.2, 1.0]),
)
def test_the_maximiser_lies_in_the_ball_whatever_the_scale(
    seed: int, size: int, log_radius: float, log_scale: float, concentration: float
) -> None:
    estimate, weights, values = instance(seed, size, concentration)
    radius = 10.0**log_radius
    ball = ConditionalEntropyBall(estimate, radius)
    target, gain = ball.maximise(weights, values * 10.0**log_scale)
    assert np.isfinite(target).all()
    assert math.isfinite(gain)
    # Entropies are computed to about 1e-15; below that radius no more can be asked.
    assert ball.divergence(target) <= radius * (1 + 1e-9) + 1e-14
    assert np.abs(target.sum(axis=1) - 1).max() < 1e-12


def test_equal_values_leave_the_estimate_as_it_is() -> None:
    estimate, weights, _ = instance(1, 4)
    target, gain = ConditionalEntropyBall(estimate, 0.5).maximise(weights, np.full(4, 2.0))
    assert np.array_equal(target, estimate.transition)
    assert gain == 0.0


def test_radius_zero_leaves_only_the_estimate() -> None:
    estimate, weights, values = instance(1, 4)
    target, _ = ConditionalEntropyBall(estimate, 0.0).maximise(weights, values)
    assert np.array_equal(target, estimate.transition)
