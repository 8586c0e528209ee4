"""The best rows of sets that choose every row on its own, against programs written apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog, minimize_scalar

from markovdro import Estimate, MarkovDROError, Wasserstein, worst_case
from markovdro.ambiguity import BestRows, ambiguity_named

Array = npt.NDArray[np.float64]

RADII = [1e-8, 1e-3, 0.05, 0.4, 2.0, 30.0]


def chain(seed: int, size: int, *, zeros: bool = False) -> Estimate:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(size), size=size) / size
    support = np.ones((size, size), dtype=bool)
    if zeros:
        support = rng.random((size, size)) < 0.6
        support[np.arange(size), (np.arange(size) + 1) % size] = True
        theta *= support
        theta[0] *= np.where(np.arange(size) == size - 1, 0.0, 1.0)  # possible, but not seen
    return Estimate.from_doublets(theta / theta.sum(), support=support)


def best_rows(given: Estimate, radius: float, name: str, values: Array) -> BestRows:
    ball = ambiguity_named(name).around(given, radius)
    return ball.best_rows(values)  # type: ignore[union-attr]


def transport(row: Array, values: Array, cost: Array, radius: float, allowed: Array) -> float:
    """``max S·h`` over transport plans with the marginal p, as a linear program."""
    size = len(row)
    found = linprog(
        -np.tile(values, size),
        A_ub=cost.reshape(1, -1),
        b_ub=[radius],
        A_eq=np.kron(np.eye(size), np.ones(size)),
        b_eq=row,
        bounds=[(0.0, None if ok else 0.0) for ok in np.tile(allowed, size)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return float(-found.fun)


def distances(size: int) -> Array:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


def check_rows(given: Estimate, radius: float, values: Array, rows: BestRows) -> None:
    span = float(np.ptp(values))
    assert np.abs(rows.transition.sum(axis=1) - 1).max() < 1e-12
    assert (rows.transition >= 0).all()
    assert (rows.transition[~given.support] == 0).all()
    assert (rows.distances <= radius * (1 + 1e-9)).all()
    reached = rows.transition @ values
    assert (rows.ceilings >= reached).all()
    assert (rows.ceilings - reached <= 1e-9 * span).all()


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("radius", RADII)
def test_wasserstein_rows_solve_their_transport_programs(radius: float, zeros: bool) -> None:
    for seed in range(4):
        given = chain(seed, 7, zeros=zeros)
        rng = np.random.default_rng(seed)
        # Equal values and values on a line make frontiers degenerate.
        for values in (rng.normal(size=7), np.round(rng.normal(size=7)), np.arange(7.0)):
            rows = best_rows(given, radius, "wasserstein", values)
            check_rows(given, radius, values, rows)
            for i in range(7):
                exact = transport(
                    given.transition[i], values, distances(7), radius, given.support[i]
                )
                assert rows.ceilings[i] == pytest.approx(exact, abs=1e-9)


def test_any_ground_cost() -> None:
    rng = np.random.default_rng(5)
    given = chain(1, 6)
    cost = rng.uniform(0.1, 3.0, (6, 6)) * (1 - np.eye(6))
    values = rng.normal(size=6)
    rows = Wasserstein(cost).around(given, 0.3).best_rows(values)
    check_rows(given, 0.3, values, rows)
    for i in range(6):
        exact = transport(given.transition[i], values, cost, 0.3, given.support[i])
        assert rows.ceilings[i] == pytest.approx(exact, abs=1e-9)


def test_what_wasserstein_rows_spend_is_their_distance() -> None:
    """On a line, W is the area between the distribution functions."""
    given = chain(3, 9)
    values = np.random.default_rng(3).normal(size=9)
    for radius in RADII:
        rows = best_rows(given, radius, "wasserstein", values)
        area = np.abs((rows.transition - given.transition).cumsum(axis=1)).sum(axis=1)
        assert rows.distances == pytest.approx(area, abs=1e-12)


def entropy_dual(row: Array, values: Array, radius: float, allowed: Array) -> float:
    """``min_t t − e^-r exp(Σ p log(t − h))`` over t above the best state allowed, in log t."""
    top = values[allowed].max()

    def dual(x: float) -> float:
        t = np.exp(x)
        logs = np.log(np.maximum(t + top - values[allowed], 1e-300))
        return float(top + t - np.exp(row[allowed] @ logs - radius))

    # The dual is convex in t, and t = e^x; a grid finds the valley, a minimiser its floor.
    grid = np.linspace(-40, 25, 400)
    best = grid[int(np.argmin([dual(x) for x in grid]))]
    found = minimize_scalar(
        dual, bounds=(best - 0.5, best + 0.5), method="bounded", options={"xatol": 1e-12}
    )
    return float(min(found.fun, top))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("radius", RADII[1:5])
def test_entropy_rows_meet_their_dual(radius: float, zeros: bool) -> None:
    for seed in range(4):
        given = chain(seed, 7, zeros=zeros)
        rng = np.random.default_rng(seed)
        for values in (rng.normal(size=7), np.round(rng.normal(size=7))):
            rows = best_rows(given, radius, "entropy-rows", values)
            check_rows(given, radius, values, rows)
            for i in range(7):
                exact = entropy_dual(given.transition[i], values, radius, given.support[i])
                assert rows.ceilings[i] == pytest.approx(exact, abs=1e-8)
                p, s = given.transition[i], rows.transition[i]
                seen = p > 0
                kl = float(p[seen] @ np.log(p[seen] / s[seen]))
                assert rows.distances[i] == pytest.approx(kl, abs=1e-11)


@pytest.mark.parametrize("name", ["wasserstein", "entropy-rows"])
def test_nothing_to_gain_and_nothing_to_spend(name: str) -> None:
    given = chain(0, 5)
    flat = best_rows(given, 0.3, name, np.full(5, 2.0))
    assert flat.ceilings == pytest.approx(2.0)
    still = best_rows(given, 0.0, name, np.arange(5.0))
    assert np.array_equal(still.transition, given.transition)
    assert (still.distances == 0).all()


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.ones((3, 3)), r"zero on the diagonal and positive elsewhere, but entry \(0, 0\) is 1"),
        (np.zeros((3, 3)), r"entry \(0, 1\) is 0"),
        (np.ones((2, 2)) - np.eye(2), r"cost must have the shape \(3, 3\).* \(2, 2\)"),
        ([[0, 1, 2], [1, 0, np.inf], [2, 1, 0]], r"cost must be finite, but holds inf"),
        (-np.ones((3, 3)), r"cost must not be negative"),
        ("far", "cost must be numbers"),
    ],
)
def test_bad_ground_costs(cost: object, message: str) -> None:
    with pytest.raises(MarkovDROError, match=message):
        worst_case([0.0, 1.0, 2.0], chain(0, 3), 0.1, ambiguity=Wasserstein(cost))
