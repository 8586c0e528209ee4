"""The least divergence for a given stationary law, against convex solvers of another kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar

from markovdro.ambiguity._stationary_cost import (
    cost_derivatives,
    match_stationary_law,
    minorant,
)

Array = npt.NDArray[np.float64]

SIZES = [2, 3, 5, 8]


def drawn(size: int, seed: int, concentration: float = 1.0) -> tuple[Array, Array]:
    """A positive doublet distribution, and a log-stationary law that is not its own."""
    rng = np.random.default_rng(100 * size + seed)
    theta = rng.dirichlet(np.full(size * size, concentration)).reshape(size, size) + 1e-6
    law = rng.dirichlet(np.full(size, 2.0)) + 0.01
    return theta / theta.sum(), np.log(law / law.sum())


def cheapest_chain(theta: Array, law: Array, last_barrier: float = 0.0) -> Array:
    """``min −Σ θ_ij log P_ij`` over rows that sum to one and keep the law: Newton in P itself.

    It starts at the chain whose rows are all the law, stays feasible, and halves its steps. Entries
    that θ' does not see are kept positive by a barrier that falls tenfold from round to round.
    """
    size = len(law)
    law = law / law.sum()
    # One of the 2d equations follows from the others.
    sums = np.kron(np.eye(size), np.ones(size))
    flows = np.kron(law, np.eye(size))[: size - 1]
    equations = np.vstack([sums, flows])
    p = np.tile(law, size)
    barrier = 0.01 if last_barrier else 0.0
    while True:
        p = _newton(theta.ravel() + barrier, equations, p)
        if barrier <= last_barrier:
            return p.reshape(size, size)
        barrier /= 10


def _newton(mass: Array, equations: Array, p: Array) -> Array:
    def cost(x: Array) -> float:
        return -float(mass @ np.log(x))

    for _ in range(100):
        slope, inverse = -mass / p, p**2 / mass
        # A row scaling, so that the equations are solved to the last digits.
        root = np.sqrt(inverse)
        prices = np.linalg.lstsq((equations * root).T, -root * slope, rcond=None)[0]
        step = -inverse * (slope + equations.T @ prices)
        decrement = -float(slope @ step)
        shrink = max(float((-step / p).max()), 0.0)
        length = min(1.0, 0.99 / shrink) if shrink > 0 else 1.0
        while decrement > 1e-10 and cost(p + length * step) > cost(p) - 0.1 * length * decrement:
            length /= 2
        p = p + length * step
        if decrement < 1e-20:
            break
    return p


def divergence(theta: Array, transition: Array) -> float:
    nominal = theta / theta.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = theta * np.log(nominal / transition)
    return float(np.where(theta > 0, terms, 0.0).sum())


def oracle(theta: Array, v: Array) -> float:
    return divergence(theta, cheapest_chain(theta, np.exp(v)))


@dataclass(frozen=True)
class Solved:
    """What the kernels say of R at v."""

    tau: Array
    h: Array
    rows: Array
    gradient: Array
    hessian: Array


def solve(theta: Array, v: Array) -> Solved:
    size = len(v)
    tau, h = theta.sum(axis=1), np.zeros(size)
    square = [np.empty((size, size)) for _ in range(5)]
    rows, curvature, scaled, schur, hessian = square
    total, gradient = np.empty(size), np.empty(size)
    assert match_stationary_law(theta, v, tau, h, rows, curvature, total, scaled, schur)
    assert cost_derivatives(v, h, rows, curvature, total, scaled, schur, gradient, hessian)
    return Solved(tau, h, rows, gradient, hessian)


def touching(theta: Array, tau: Array, h: Array, v: Array) -> tuple[float, float]:
    size = len(v)
    value, error = minorant(
        theta, theta.sum(axis=1), v, tau, h, np.empty(size), np.empty((size, size))
    )
    assert 0 <= error < 1e-10
    return value, error


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", SIZES)
def test_the_chain_keeps_the_law_at_the_least_divergence(size: int, seed: int) -> None:
    theta, v = drawn(size, seed)
    solved, law = solve(theta, v), np.exp(v)
    # Newton stops once a step has squared a miss of 1e-4.
    assert np.abs(solved.rows.sum(axis=1) - 1).max() < 1e-7
    assert np.abs(law @ solved.rows - law).max() < 1e-7
    assert (solved.rows > 0).all()
    least = oracle(theta, v)
    assert divergence(theta, solved.rows) == pytest.approx(least, abs=1e-7)
    value, _ = touching(theta, solved.tau, solved.h, v)
    # The dual value misses by the square of what the rows miss.
    assert value == pytest.approx(least, abs=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_two_states_in_closed_form(seed: int) -> None:
    """``P_01 = s π_1`` and ``P_10 = s π_0``: one scalar s is left."""
    theta, v = drawn(2, seed, 0.5)
    law = np.exp(v)

    def cost(log_s: float) -> float:
        out, back = math.exp(log_s) * law[1], math.exp(log_s) * law[0]
        return divergence(theta, np.array([[1 - out, out], [back, 1 - back]]))

    most = -math.log(law.max())
    found = minimize_scalar(
        cost, bounds=(most - 30, most - 1e-12), method="bounded", options={"xatol": 1e-10}
    )
    solved = solve(theta, v)
    assert touching(theta, solved.tau, solved.h, v)[0] == pytest.approx(found.fun, abs=1e-12)


def test_the_law_of_the_estimate_costs_nothing() -> None:
    theta, _ = drawn(5, 0)
    chain = theta / theta.sum(axis=1, keepdims=True)
    law = np.linalg.matrix_power(chain, 4096)[0]
    solved = solve(theta, np.log(law))
    assert touching(theta, solved.tau, solved.h, np.log(law))[0] == pytest.approx(0, abs=1e-13)
    assert np.abs(solved.gradient).max() < 1e-9
    assert solved.rows == pytest.approx(chain, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("size", SIZES)
def test_gradient_and_hessian_by_differences_of_another_solver(size: int, seed: int) -> None:
    theta, v = drawn(size, seed)
    solved = solve(theta, v)
    # The oracle is good to 1e-13: central differences err by that over the step, and by its square.
    unit, step = np.eye(size), 1e-4
    slopes = [
        (oracle(theta, v + step * e) - oracle(theta, v - step * e)) / (2 * step) for e in unit
    ]
    scale = np.abs(slopes).max()
    assert solved.gradient == pytest.approx(np.array(slopes), abs=1e-6 * scale + 1e-8)
    step = 2e-3
    bends = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            corners = [
                a * b * oracle(theta, v + step * (a * unit[i] + b * unit[j]))
                for a in (1, -1)
                for b in (1, -1)
            ]
            bends[i, j] = sum(corners) / (4 * step**2)
    assert solved.hessian == pytest.approx(bends, abs=3e-5 * np.abs(bends).max() + 1e-7)
    # Only differences of v matter, and the cost is convex.
    assert np.abs(solved.hessian.sum(axis=1)).max() < 1e-6
    assert np.linalg.eigvalsh(solved.hessian).min() > -1e-7


def test_the_unit_of_the_law_changes_nothing() -> None:
    theta, v = drawn(6, 3)
    here, there = solve(theta, v), solve(theta, v + 2.5)
    assert there.gradient == pytest.approx(here.gradient, abs=1e-9)
    assert there.hessian == pytest.approx(here.hessian, abs=1e-8)
    assert there.rows == pytest.approx(here.rows, abs=1e-9)


@pytest.mark.parametrize("spread", [0.01, 0.3, 1.5])
@pytest.mark.parametrize("size", SIZES)
def test_the_minorant_is_nowhere_above_the_cost(size: int, spread: float) -> None:
    rng = np.random.default_rng(size)
    for seed in range(3):
        theta, v = drawn(size, seed)
        solved = solve(theta, v)
        for _ in range(4):
            w = v + spread * rng.normal(size=size)
            # To where both are nonnegative, along the direction that changes nothing at v.
            shift = 0.5 * (-solved.h.min() + (solved.tau / np.exp(v)).min())
            moved = replace(solved, tau=solved.tau - np.exp(v) * shift, h=solved.h + shift)
            assert moved.tau.min() >= 0
            assert moved.h.min() >= 0
            # The oracle's chain is feasible to 1e-13, so that it is above the least divergence.
            assert by_formula(theta, moved, v, w) <= oracle(theta, w) + 1e-12
            # What the kernel makes of any multipliers is a minorant of its own.
            value, error = touching(theta, solved.tau * rng.uniform(0.5, 1.5, size), solved.h, w)
            assert value - error <= oracle(theta, w) + 1e-12


def by_formula(theta: Array, solved: Solved, v: Array, w: Array) -> float:
    """``Σ θ_ij log((τ_i + q_j e^{w_i − w_j})/α_i) − Σ τ − Σ q + 1`` as the documentation has it."""
    q = np.exp(v) * solved.h
    inside = solved.tau[:, None] + q * np.exp(w[:, None] - w)
    logs = np.log(inside / theta.sum(axis=1)[:, None])
    return float((theta * logs).sum() - solved.tau.sum() - q.sum() + 1)


@pytest.mark.parametrize("size", SIZES)
def test_the_slopes_and_odds_of_the_minorant(size: int) -> None:
    theta, v = drawn(size, 1)
    solved = solve(theta, v)
    alpha = theta.sum(axis=1)
    slopes, odds = np.empty(size), np.empty((size, size))
    value, _ = minorant(theta, alpha, v, solved.tau, solved.h, slopes, odds)
    # Odds o mean that τ_i is 1/(1 + o) of the sum τ_i + π_i h_j = θ'_ij/P_ij.
    sums = theta / solved.rows
    stays = sums / (1 + odds)
    assert stays == pytest.approx(np.tile(stays[:, :1], size), rel=1e-9)
    fixed = replace(solved, tau=stays[:, 0], h=(sums - stays)[0] / np.exp(v[0]))
    assert by_formula(theta, fixed, v, v) == pytest.approx(value, abs=1e-10)
    step = 1e-5
    for i, e in enumerate(np.eye(size)):
        rise = by_formula(theta, fixed, v, v + step * e) - by_formula(theta, fixed, v, v - step * e)
        assert slopes[i] == pytest.approx(rise / (2 * step), abs=1e-8)
    assert slopes == pytest.approx(solved.gradient, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_zero_doublets(seed: int) -> None:
    """Some transitions were never seen: their rows in P are free, and cost nothing."""
    size = 5
    rng = np.random.default_rng(seed)
    theta, v = drawn(size, seed)
    unseen = rng.random((size, size)) < 0.3
    unseen[np.arange(size), (np.arange(size) + 1) % size] = False
    theta[unseen] = 0.0
    theta /= theta.sum()
    positive = np.where(theta > 0, theta, 1e-12)
    solved = solve(positive, v)
    value, error = touching(theta, solved.tau, solved.h, v)
    # A feasible chain is above the least divergence; a barrier μ misses it by at most μd².
    reached = divergence(theta, cheapest_chain(theta, np.exp(v), last_barrier=1e-10))
    assert value - error <= reached + 1e-12
    assert value == pytest.approx(reached, abs=1e-8)
    for _ in range(4):
        w = v + rng.normal(size=size)
        rival = divergence(theta, cheapest_chain(theta, np.exp(w), last_barrier=1e-10))
        assert touching(theta, solved.tau, solved.h, w)[0] <= rival + 1e-12


def test_multipliers_of_the_wrong_sign_are_cut() -> None:
    theta, v = drawn(4, 2)
    least = oracle(theta, v)
    rng = np.random.default_rng(0)
    for _ in range(50):
        tau, h = rng.normal(size=4), rng.normal(size=4)
        value, error = touching(theta, tau, h, v)
        assert value - error <= least
