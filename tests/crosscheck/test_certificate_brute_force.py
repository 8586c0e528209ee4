"""Two and three states: every chain of a fine grid over the ball, and the threshold form."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

from markovdro import Estimate, worst_case
from markovdro.ambiguity import ConditionalEntropyBall

Array = npt.NDArray[np.float64]


def drawn(size: int, seed: int, concentration: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(size * size, concentration)).reshape(size, size) + 1e-4
    return theta / theta.sum(), rng.random(size)


def entropy_of_rows(nominal: Array, rows: Array) -> Array:
    """``KL(P'_i ‖ row)`` of many rows."""
    divergence: Array = (nominal * (np.log(nominal) - np.log(rows))).sum(axis=-1)
    return divergence


def tilted(nominal: Array, logs: Array) -> Array:
    """Rows in proportion to ``P'_ij e^{u_j}``, with u_0 = 0."""
    full = np.concatenate([np.zeros((*logs.shape[:-1], 1)), logs], axis=-1)
    rows = nominal * np.exp(full - full.max(axis=-1, keepdims=True))
    normalised: Array = rows / rows.sum(axis=-1, keepdims=True)
    return normalised


def row_grid(
    nominal: Array, weight: float, radius: float, centre: Array, width: float, points: int
) -> tuple[Array, Array, Array]:
    """Rows of a grid in logarithmic odds that the whole budget could pay for, and their price."""
    steps = np.linspace(-width, width, points)
    axes = np.meshgrid(*[steps + c for c in centre], indexing="ij")
    logs = np.stack([axis.ravel() for axis in axes], axis=-1)
    rows = tilted(nominal, logs)
    price = weight * entropy_of_rows(nominal, rows)
    cheap = price <= radius
    return logs[cheap], rows[cheap], price[cheap]


def shares_by_trees(rows: list[Array]) -> Array:
    """Stationary laws by the Markov chain tree theorem, for all combinations of rows."""
    if len(rows) == 2:
        trees = [rows[1][:, 0][None, :], rows[0][:, 1][:, None]]
    else:
        a = [rows[0][:, j][:, None, None] for j in range(3)]
        b = [rows[1][:, j][None, :, None] for j in range(3)]
        c = [rows[2][:, j][None, None, :] for j in range(3)]
        trees = [
            b[0] * c[0] + b[0] * c[1] + b[2] * c[0],
            a[1] * c[1] + a[1] * c[0] + a[2] * c[1],
            a[2] * b[2] + a[2] * b[0] + a[1] * b[2],
        ]
    shape = tuple(len(r) for r in rows)
    stacked: Array = np.stack([np.broadcast_to(tree, shape) for tree in trees])
    return stacked


def best_of_grid(theta: Array, loss: Array, radius: float, first: int, later: int) -> float:
    """The largest loss on a grid over the ball, then on ever finer grids around the best chain."""
    size = len(loss)
    weights = theta.sum(axis=1)
    nominal = theta / weights[:, None]
    centres = np.zeros((size, size - 1))
    width, best = 20.0, -math.inf
    for zoom in range(50):
        points = first if zoom == 0 else later
        grids = [
            row_grid(nominal[i], weights[i], radius, centres[i], width, points) for i in range(size)
        ]
        prices = [grid[2] for grid in grids]
        if size == 2:
            total = prices[0][:, None] + prices[1]
        else:
            total = prices[0][:, None, None] + prices[1][:, None] + prices[2]
        trees = shares_by_trees([grid[1] for grid in grids])
        values = np.tensordot(loss, trees, axes=1) / trees.sum(axis=0)
        values = np.where(total <= radius, values, -math.inf)
        at = np.unravel_index(int(np.argmax(values)), values.shape)
        best = max(best, float(values[at]))
        centres = np.array([grid[0][k] for grid, k in zip(grids, at, strict=True)])
        width *= 0.8
    return best


@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_two_states(seed: int, radius: float) -> None:
    theta, loss = drawn(2, seed, 0.5 if seed % 2 else 3.0)
    span = float(np.ptp(loss))
    brute = best_of_grid(theta, loss, radius, 2001, 101)
    result = worst_case(
        loss, Estimate.from_doublets(theta), radius, method="global", tolerance=1e-6
    )
    assert result.certified
    # Grid points lie in the ball to the rounding of their divergence.
    assert brute <= result.bound + 1e-12 * span
    # The tolerance of the certificate is what the value may lack.
    assert result.value >= brute - 1e-6 * span - 1e-12 * span
    # A grid is best where it happens to come close to the boundary of the ball, which need not be
    # where the ball is best: with one stiff row the grids close in 1e-3 away from the worst case.
    assert result.value <= brute + 2e-3 * span


@pytest.mark.parametrize("radius", [1e-3, 0.03, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_three_states(seed: int, radius: float) -> None:
    theta, loss = drawn(3, seed, 0.7 if seed % 2 else 2.0)
    span = float(np.ptp(loss))
    brute = best_of_grid(theta, loss, radius, 17, 5)
    result = worst_case(
        loss, Estimate.from_doublets(theta), radius, method="global", tolerance=1e-3
    )
    assert result.certified
    assert brute <= result.bound + 1e-12 * span
    assert result.value >= brute - 1e-3 * span
    # So does the search here, from a coarser grid.
    assert result.value <= brute + 1e-3 * span


def relative_values(transition: Array, loss: Array) -> tuple[float, Array]:
    """The long-run loss and h of Poisson's equation, from one linear system in both."""
    size = len(loss)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = np.eye(size) - transition
    system[:size, size] = 1.0
    system[size, 0] = 1.0
    solution = np.linalg.solve(system, np.append(loss, 0.0))
    return float(solution[size]), solution[:size]


def slack_of_threshold(transition: Array, loss: Array, threshold: float) -> float:
    """The largest s for which some g ≥ 0 has ``Σ_j P_ij g_j + s ≤ g_i + L_i − ρ`` everywhere."""
    size = len(loss)
    found = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([transition - np.eye(size), np.ones(size)]),
        b_ub=loss - threshold,
        bounds=[(0, None)] * size + [(None, None)],
        method="highs",
    )
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize("size", [2, 3, 6, 10])
def test_the_threshold_form(size: int) -> None:
    """A chain loses ρ or more if and only if some g ≥ 0 proves it; ``max h − h`` is one."""
    rng = np.random.default_rng(size)
    for _ in range(5):
        transition = rng.dirichlet(np.full(size, 0.8), size=size) * 0.99 + 0.01 / size
        loss = rng.normal(size=size)
        value, h = relative_values(transition, loss)
        g = h.max() - h
        # With ρ the long-run loss itself, the rules hold with equality.
        assert transition @ g == pytest.approx(g + loss - value, abs=1e-10)
        # π times the rules: the slack of a threshold is what the loss exceeds it by.
        for excess in (-0.1, 0.0, 0.1):
            slack = slack_of_threshold(transition, loss, value - excess)
            assert slack == pytest.approx(excess, abs=1e-7)


@pytest.mark.parametrize(("size", "radius"), [(3, 0.1), (6, 0.01), (6, 0.2), (10, 0.05)])
def test_no_chain_of_the_ball_passes_a_threshold_above_the_bound(size: int, radius: float) -> None:
    theta, loss = drawn(size, 7, 1.0)
    chain = Estimate.from_doublets(theta)
    span = float(np.ptp(loss))
    result = worst_case(loss, chain, radius, method="global", tolerance=1e-3)
    assert result.certified
    # The linear programs are solved to 1e-7.
    assert slack_of_threshold(result.transition, loss, result.value) >= -1e-7
    assert slack_of_threshold(result.transition, loss, result.bound + 1e-6 * span) < 0
    ball = ConditionalEntropyBall(chain, radius)
    rng = np.random.default_rng(size)
    for _ in range(50):
        far = tilted(chain.transition, rng.normal(size=(size, size - 1)) * rng.choice([0.3, 1, 3]))
        rival = ball.pull_inside(far)
        assert slack_of_threshold(rival, loss, result.bound + 1e-6 * span) < 0
