"""Linear decisions against one large program, in which nature's problem is written out as its dual.

For Wasserstein sets nature's problem is linear, so that the whole choice is one (mixed-integer)
linear program, which scipy solves without any code of this library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

from markovdro import (
    Decision,
    Estimate,
    LinearDecisions,
    Newsvendor,
    Status,
    prescribe,
    worst_case,
)
from markovdro.decisions import _models
from markovdro.decisions._linear_program import LinearProgram
from markovdro.decisions._nature import Nature
from markovdro.worstcase import check_options

Array = npt.NDArray[np.float64]


def chain(seed: int, size: int) -> Estimate:
    theta = np.random.default_rng(seed).dirichlet(np.ones(size * size)).reshape(size, size)
    return Estimate.from_doublets(theta)


def coin() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])


def whole_program(
    problem: LinearDecisions, estimates: list[Estimate], radius: float, weights: Array
) -> tuple[float, Array]:
    """``min Σ w_k ρ_k`` with ``ρ_k + h_i ≥ L(x, i) + min_λ λr + Σ_j P'_ij φ_ij``, by scipy.

    ``φ_ij ≥ h_m − λ_i |j − m|`` for every m. Only lower bounds of zero and plain arrays here.
    """
    pieces = np.array(problem.matrix, dtype=float)
    pieces = pieces if pieces.ndim == 3 else pieces[None]
    d, n = pieces.shape[1:]
    offsets = np.broadcast_to(np.array(problem.offset, dtype=float), (len(pieces), d))
    each = 1 + d + d + d * d
    size = n + each * len(estimates)
    rows: list[Array] = []
    level: list[float] = []
    for k, estimate in enumerate(estimates):
        rho = n + k * each
        h, lam, phi = rho + 1, rho + 1 + d, rho + 1 + 2 * d
        for i in range(d):
            for a, b in zip(pieces, offsets, strict=True):
                row = np.zeros(size)
                row[:n] -= a[i]
                row[rho], row[h + i], row[lam + i] = 1.0, 1.0, -radius
                row[phi + i * d : phi + (i + 1) * d] = -estimate.transition[i]
                rows.append(row)
                level.append(float(b[i]))
            for j in range(d):
                for m in range(d):
                    row = np.zeros(size)
                    row[phi + i * d + j], row[h + m], row[lam + i] = 1.0, -1.0, abs(j - m)
                    rows.append(row)
                    level.append(0.0)
    matrix = lil_array(np.array(rows))
    constraints = [LinearConstraint(matrix.tocsr(), np.array(level), np.inf)]
    if problem.rows is not None:
        given = np.zeros((len(problem.rows), size))
        given[:, :n] = problem.rows
        low = -np.inf if problem.at_least is None else problem.at_least
        high = np.inf if problem.at_most is None else problem.at_most
        constraints.append(LinearConstraint(given, low, high))
    lower, upper, cost = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size)
    lower[:n] = problem.lower
    upper[:n] = problem.upper
    for k, weight in enumerate(weights):
        cost[n + k * each] = weight
        lower[n + k * each + 1 + d : n + k * each + 1 + 2 * d] = 0.0
    whole = np.zeros(size)
    whole[:n] = np.broadcast_to(np.array(problem.integer, dtype=float), n)
    found = milp(
        cost,
        constraints=constraints,
        bounds=Bounds(lower, upper),
        integrality=whole,
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0
    return float(found.fun), found.x[:n]


def random_problem(seed: int, **changes: Any) -> LinearDecisions:
    rng = np.random.default_rng(seed)
    d, n, m = 4, 5, 3
    values: dict[str, Any] = {
        "matrix": rng.normal(size=(d, n)),
        "offset": rng.normal(size=d),
        "upper": 4.0,
        "rows": rng.uniform(0, 1, (m, n)),
        "at_least": np.array([1.0, 0.5, -np.inf]),
        "at_most": np.array([5.0, np.inf, 6.0]),
    }
    return LinearDecisions(**(values | changes))


def two_pieces(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"matrix": list(rng.normal(size=(2, 4, 5))), "offset": list(rng.normal(size=(2, 4)))}


SHAPES: dict[str, dict[str, Any]] = {
    "continuous": {},
    "integer": {"integer": True},
    "mixed": {"integer": [True, False, True, False, False]},
}


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.7])
def test_one_large_program(shape: str, pieces: int, radius: float) -> None:
    for seed in range(3):
        problem = random_problem(seed, **SHAPES[shape], **(two_pieces(seed) if pieces > 1 else {}))
        estimates, weights = [chain(seed, 4), chain(seed + 50, 4)], np.array([0.3, 0.9])
        exact, _ = whole_program(problem, estimates, radius, weights)
        decision = prescribe(
            problem, estimates, radius, weights=weights, ambiguity="wasserstein", tolerance=1e-6
        )
        assert decision.status is Status.CERTIFIED
        assert decision.value == pytest.approx(exact, abs=1e-5)
        assert decision.lower_bound <= exact + 1e-7
        assert decision.bound >= exact - 1e-7
        check_constraints(problem, decision)


def check_constraints(problem: LinearDecisions, decision: Decision) -> None:
    x = np.asarray(decision.x, dtype=float)
    levels = np.asarray(problem.rows) @ x
    assert (levels >= np.asarray(problem.at_least) - 1e-7).all()
    assert (levels <= np.asarray(problem.at_most) + 1e-7).all()
    assert (x >= -1e-9).all()
    assert (x <= 4 + 1e-9).all()
    whole = np.broadcast_to(np.asarray(problem.integer), x.shape)
    assert np.abs(x - np.round(x))[whole].max(initial=0.0) == 0.0


@pytest.mark.parametrize("radius", [0.01, 0.2])
def test_a_tree_and_a_table_agree(radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        problem = random_problem(seed, integer=True, lower=-1.5, upper=1.9)
        listed = prescribe(problem, chain(seed, 4), radius, tolerance=1e-5)
        with monkeypatch.context() as patch:
            patch.setattr(_models, "MOST_LISTED", 0)
            branched = prescribe(problem, chain(seed, 4), radius, tolerance=1e-5)
        for decision in (listed, branched):
            assert decision.status is Status.CERTIFIED
            assert set(np.unique(decision.x)) <= {-1, 0, 1}
        assert branched.value == pytest.approx(listed.value, rel=1e-5)
        assert branched.lower_bound <= listed.bound
        assert listed.lower_bound <= branched.bound


def test_a_continuous_choice_by_a_fine_grid() -> None:
    """Two variables and conditional entropy: the worst case on a grid, then on a finer one."""
    rng = np.random.default_rng(4)
    matrix, given = rng.normal(size=(3, 2)), chain(3, 3)
    problem = LinearDecisions(matrix, lower=-1.0, upper=1.0)
    decision = prescribe(problem, given, 0.05, tolerance=1e-4)
    assert decision.status is Status.CERTIFIED

    def value(x: Array) -> float:
        return worst_case(matrix @ x, given, 0.05, method="global", tolerance=1e-6).value

    centre, width = np.zeros(2), 1.0
    for _ in range(6):
        points = [
            np.clip(centre + width * np.array([a, b]), -1, 1)
            for a in np.linspace(-1, 1, 7)
            for b in np.linspace(-1, 1, 7)
        ]
        centre = min(points, key=value)
        width /= 3
    assert decision.lower_bound <= value(centre) + 1e-6
    assert decision.value == pytest.approx(value(centre), abs=1e-3)


def test_bounds_of_relaxations_hold_whatever_the_multipliers() -> None:
    """Random multipliers in place of those of HiGHS: no allowed x costs less than the bound."""
    rng = np.random.default_rng(0)
    options = check_options(
        ambiguity="wasserstein", method="auto", tolerance=None, time_limit=None, threads=None
    )
    for seed in range(10):
        problem = random_problem(seed, **(two_pieces(seed) if seed % 2 else {}))
        nature = Nature([chain(seed, 4)] * 2, [0.1, 0.3], np.array([0.5, 2.0]), options)
        model = problem.resolve(range(4))
        for _ in range(5):
            nature.answer(rng.normal(size=4))
        program = LinearProgram(model, nature)
        for k, group in enumerate(nature.groups):
            for law in range(group.count):
                program.add(k, law)
        solved = program.solve(model.lower, model.upper, math.inf)
        assert not isinstance(solved, Status)
        points = [x for x in rng.uniform(0, 4, (4000, 5)) if model.allows(x)]
        assert len(points) > 20
        costs = [nature.recall(model.loss(x)).value for x in points]
        assert solved.bound <= min(costs)
        # At the optimum, the bound is what the relaxation costs.
        assert solved.bound == pytest.approx(float(nature.weights @ solved.thetas), abs=1e-7)
        for _ in range(20):
            program._duals = program._duals + rng.normal(size=program._duals.shape)
            assert program._bound(solved.x, model.lower, model.upper) <= min(costs) + 1e-9


def test_rows_come_and_go_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that do not bind are taken out at every node; the answer stays the same."""
    from markovdro.decisions import _linear_program
    from markovdro.experiments import synthetic_revenue

    given = synthetic_revenue(12, 3, 300, 2)
    monkeypatch.setattr(_models, "MOST_LISTED", 0)
    kept = prescribe(given.assortment, given.estimates, 0.3, weights=given.weights)
    monkeypatch.setattr(_linear_program, "MOST_ROWS", 2)
    tidied = prescribe(given.assortment, given.estimates, 0.3, weights=given.weights)
    assert np.array_equal(kept.x, tidied.x)
    assert tidied.value == pytest.approx(kept.value, abs=1e-8)
    assert tidied.lower_bound == pytest.approx(kept.lower_bound, abs=1e-6)


def test_units_mean_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_models, "MOST_LISTED", 0)
    problem = random_problem(1, integer=True)
    plain = prescribe(problem, chain(1, 4), 0.1, tolerance=1e-6)
    for factor, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e4), (1e-3, -5.0)):
        scaled = random_problem(
            1,
            integer=True,
            matrix=factor * np.asarray(problem.matrix),
            offset=factor * np.asarray(problem.offset) + shift,
        )
        decision = prescribe(scaled, chain(1, 4), 0.1)
        assert decision.value == pytest.approx(factor * plain.value + shift, rel=1e-6)
        assert np.array_equal(decision.x, plain.x)


def test_infeasible() -> None:
    for integer in (True, False):
        decision = prescribe(
            LinearDecisions([[1.0], [2.0]], rows=[[1.0]], at_least=3.0, upper=2.0, integer=integer),
            coin(),
            0.1,
        )
        assert decision.status is Status.INFEASIBLE
        assert decision.x is None
        assert decision.worst_cases == ()
        assert decision.value == decision.bound == decision.lower_bound == math.inf
        assert decision.history == ()
        assert repr(decision) == "no decision  (infeasible)"


def test_infeasible_only_in_integers() -> None:
    """2x + 2y = 3, in a box too large to be listed, and without any box."""
    for upper in (1e4, math.inf):
        odd = LinearDecisions(
            [[1.0, 2.0], [0.0, 1.0]],
            rows=[[2.0, 2.0]],
            at_least=3.0,
            at_most=3.0,
            integer=True,
            upper=upper,
        )
        assert prescribe(odd, coin(), 0.1).status is Status.INFEASIBLE


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("method", ["auto", "frank-wolfe"])
def test_unbounded(method: str, integer: bool) -> None:
    falling = LinearDecisions(
        [[-1.0, 0.3], [-0.1, 0.3]], rows=[[1.0, -5.0]], at_most=4.0, integer=integer
    )
    decision = prescribe(falling, coin(), 0.05, method=method)
    assert decision.status is Status.UNBOUNDED
    assert decision.lower_bound == -math.inf
    # What was found is kept: an allowed decision with its own worst case.
    assert decision.x is not None
    assert decision.value == pytest.approx(
        worst_case(decision.loss, coin(), 0.05, method="frank-wolfe").value, abs=1e-6
    )


def test_what_falls_under_the_estimate_alone_is_bounded() -> None:
    """A bet on the likelier side gains without end, until nature may turn the coin."""
    theta = np.array([[0.5, 0.1], [0.1, 0.3]])
    biased = Estimate.from_doublets(theta, states=["H", "T"])
    bet = LinearDecisions([[-1.0], [1.0]], lower=-math.inf)
    assert prescribe(bet, biased, 0.0).status is Status.UNBOUNDED
    assert prescribe(bet, biased, 0.0001).status is Status.UNBOUNDED
    robust = prescribe(bet, biased, 0.05)
    assert robust.status is Status.CERTIFIED
    assert robust.value == pytest.approx(0.0, abs=1e-9)
    assert robust.x == pytest.approx([0.0], abs=1e-9)
    assert robust.lower_bound == pytest.approx(0.0, abs=1e-7)


def test_no_time_at_all() -> None:
    large = random_problem(1, integer=True, upper=1e4)
    decision = prescribe(large, chain(1, 4), 0.1, time_limit=0)
    assert decision.status is Status.TIME_LIMIT
    assert decision.x is None
    assert decision.lower_bound == -math.inf


def test_little_time_keeps_the_best_and_what_is_proven() -> None:
    from markovdro.experiments import synthetic_revenue

    given = synthetic_revenue(50, 5, 2000, 1)
    prescribe(given.assortment, given.estimates, 0.01, tolerance=0.5)  # compiles
    short = prescribe(
        given.assortment, given.estimates, 0.01, weights=given.weights, time_limit=0.5
    )
    assert short.status is Status.TIME_LIMIT
    assert short.x is not None
    assert (given.matrix @ short.x <= given.bound + 1e-9).all()
    assert short.lower_bound <= short.value <= short.bound
    assert -math.inf < short.lower_bound
    assert short.seconds < 10
    assert len(short.worst_cases) == 5


def test_the_help_of_highs_where_rounding_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equality over many integers: no relaxed x can be rounded to it, nor dived to in time."""
    from markovdro.decisions import _tree

    monkeypatch.setattr(_tree, "PATIENCE", 1)
    rng = np.random.default_rng(8)
    size = 14
    weights = rng.integers(50, 150, size).astype(float)
    target = float(weights[[1, 4, 6, 9]].sum())
    problem = LinearDecisions(
        rng.normal(size=(2, size)),
        rows=weights[None],
        at_least=target,
        at_most=target,
        upper=3.0,
        integer=True,
    )
    decision = prescribe(problem, coin(), 0.05, tolerance=0.05)
    assert decision.status is Status.CERTIFIED
    assert weights @ decision.x == target


def test_newsvendor_with_states_as_demand() -> None:
    given = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=[20, 50])
    order = prescribe(Newsvendor(price=5, cost=2, salvage=0.5), given, 0.0)
    assert order.x == pytest.approx(50.0)
    # 50 ordered: sold 20 or 50 at 5, the rest at 0.5, half of the time each.
    assert order.value == pytest.approx(100 - 0.5 * (5 * 20 + 0.5 * 30) - 0.5 * 5 * 50)
    assert isinstance(order.x, float)
    assert "order 50" in repr(order)
    capped = prescribe(Newsvendor(price=5, cost=2, largest=33.5, integer=True), given, 0.0)
    assert capped.x == 33.0
    other = prescribe(
        Newsvendor(price=5, cost=2, demand={"wet": 5.0, "dry": 9.0}),
        Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["dry", "wet"]),
        0.0,
    )
    assert other.loss == pytest.approx([2 * 9 - 5 * 9, 2 * 9 - 5 * 5])


@pytest.mark.parametrize("radius", [0.003, 0.03])
def test_newsvendor_against_a_bracketing_search(radius: float) -> None:
    """The worst case is convex in the order: golden sections of certified worst cases."""
    from scipy.optimize import minimize_scalar

    given = chain(2, 6)
    demand = np.array([3.0, 8.0, 10.0, 15.0, 22.0, 30.0])
    problem = Newsvendor(price=7, cost=3, salvage=1, demand=demand)

    def value(order: float) -> float:
        sold = np.minimum(order, demand)
        loss = 3 * order - 7 * sold - 1 * (order - sold)
        return worst_case(loss, given, radius, method="global", tolerance=1e-7).bound

    found = minimize_scalar(value, bounds=(0, 30), method="bounded", options={"xatol": 1e-7})
    decision = prescribe(problem, given, radius, tolerance=1e-6)
    assert decision.status is Status.CERTIFIED
    assert decision.value == pytest.approx(float(found.fun), abs=2e-5)
    assert decision.lower_bound <= float(found.fun) + 1e-7
