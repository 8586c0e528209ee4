"""The paper's Algorithms 1 and 2: the corrected derivative, the box, and what they reach."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from markovdro import worst_case
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._paper import PaperOracle, dual_gradient

Array = npt.NDArray[np.float64]
RADIUS = 0.3


def setting(seed: int = 2, size: int = 4) -> tuple[ConditionalEntropyBall, Array, Array, Array]:
    given = synthetic_problem(size, 200, seed)
    rng = np.random.default_rng(seed)
    law, values = rng.dirichlet(np.ones(size)), rng.normal(size=size)
    return ConditionalEntropyBall(given.estimate, RADIUS), law, values, np.outer(law, values)


def log_multiplier(ball: ConditionalEntropyBall, cost: Array, eta: Array) -> float:
    """``log λ*(η)`` as the paper writes it."""
    alpha, nominal = ball.estimate.weights, ball.estimate.transition
    return float(
        sum(
            alpha[i] * nominal[i, j] * math.log((eta[i] - cost[i, j]) / alpha[i])
            for i in range(len(alpha))
            for j in range(len(alpha))
        )
        - ball.radius
    )


def test_the_multiplier_minimises_the_dual_in_lambda() -> None:
    """λ*(η) is where ``∂/∂λ [λ(r − 1) + Σ η + λ Σ α P' log(λα/(η − C))]`` vanishes."""
    ball, _, _, cost = setting()
    eta = cost.max(axis=1) + 0.7
    found = dual_gradient(
        ball.estimate.transition, ball.estimate.weights, cost, RADIUS, eta, np.empty(4)
    )
    assert found == pytest.approx(math.exp(log_multiplier(ball, cost, eta)), rel=1e-12)
    alpha, nominal = ball.estimate.weights, ball.estimate.transition
    slope = RADIUS + float(
        (alpha[:, None] * nominal * np.log(found * alpha[:, None] / (eta[:, None] - cost))).sum()
    )
    assert slope == pytest.approx(0.0, abs=1e-12)


def test_the_corrected_derivative_against_differences_and_the_printed_one_not() -> None:
    ball, _, _, cost = setting()
    nominal, alpha = ball.estimate.transition, ball.estimate.weights
    eta = cost.max(axis=1) + np.array([0.3, 0.5, 0.2, 0.9])
    gradient = np.empty(4)
    dual_gradient(nominal, alpha, cost, RADIUS, eta, gradient)
    step = 1e-6
    for i in range(4):
        up, down = eta.copy(), eta.copy()
        up[i] += step
        down[i] -= step
        difference = (
            2 * step
            - math.exp(log_multiplier(ball, cost, up))
            + math.exp(log_multiplier(ball, cost, down))
        ) / (2 * step)
        # Central differences: an error of order step², and rounding of 1e-16/step.
        assert gradient[i] == pytest.approx(difference, abs=1e-8)
        printed = 4 - alpha[i] * float((nominal[i] / (eta[i] - cost[i])).sum())
        assert abs(printed - difference) > 1.0


def test_the_dual_minimum_lies_in_the_box() -> None:
    """Proposition "Linearized oracle subproblem" (iii)."""
    for seed in range(5):
        ball, _, _, cost = setting(seed)
        top = cost.max(axis=1)
        shrink = math.exp(-RADIUS)
        reach = (4 * cost.max() - shrink * (cost * ball.estimate.transition).sum()) / (1 - shrink)

        def dual(x: Array, ball: ConditionalEntropyBall = ball, cost: Array = cost) -> float:
            eta = cost.max(axis=1) + np.exp(x)
            return float(eta.sum()) - math.exp(log_multiplier(ball, cost, eta))

        eta = top + np.exp(minimize(dual, np.zeros(4), method="Nelder-Mead").x)
        assert (eta > top).all()
        assert (eta <= reach - (top.sum() - top) + 1e-6).all()


@pytest.mark.parametrize("radius", [0.05, 0.3, 1.0])
def test_the_descent_comes_near_the_exact_oracle(radius: float) -> None:
    given = synthetic_problem(6, 300, 1)
    ball = ConditionalEntropyBall(given.estimate, radius)
    rng = np.random.default_rng(0)
    law, values = rng.dirichlet(np.ones(6)), rng.normal(size=6)
    _, exact = ball.maximise(law, values)
    target, gain = PaperOracle(ball)(law, values)
    _, centre = ConditionalEntropyBall(given.estimate, 0.0).maximise(law, values)
    assert ball.divergence(target) <= radius
    assert np.abs(target.sum(axis=1) - 1).max() < 1e-12
    assert 0.97 * (exact - centre) <= gain - centre <= (exact - centre) * (1 + 1e-9)


def test_it_reaches_the_stationary_point_of_the_exact_oracle_from_below() -> None:
    given = synthetic_problem(10, 300, 10)
    exact = worst_case(given.loss, given.estimate, 0.1, starts=1)
    printed = worst_case(given.loss, given.estimate, 0.1, method="paper", tolerance=1e-3)
    assert printed.nominal < printed.value <= exact.value + 1e-9
    assert printed.value == pytest.approx(exact.value, abs=0.02)
    assert printed.divergence <= 0.1 * (1 + 1e-9)
    assert printed.method == "paper"
