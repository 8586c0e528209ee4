"""Convex decisions in cvxpy, against linear ones and against a general minimiser."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize, minimize_scalar

from markovdro import (
    ConvexDecisions,
    Estimate,
    LinearDecisions,
    MarkovDROError,
    Newsvendor,
    Status,
    count_transitions,
    estimate,
    prescribe,
    simulate,
    worst_case,
)

cp: Any = pytest.importorskip("cvxpy")

Array = npt.NDArray[np.float64]


def coin() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])


def chain(seed: int, size: int) -> Estimate:
    theta = np.random.default_rng(seed).dirichlet(np.ones(size * size)).reshape(size, size)
    return Estimate.from_doublets(theta)


@pytest.mark.parametrize("radius", [0.0, 0.01, 0.2])
def test_linear_decisions_written_in_cvxpy(radius: float) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        matrix, offset = rng.normal(size=(4, 3)), rng.normal(size=4)
        x = cp.Variable(3)
        convex = ConvexDecisions(matrix @ x + offset, [x >= 0, cp.sum(x) <= 2])
        linear = LinearDecisions(matrix, offset, rows=np.ones((1, 3)), at_most=2.0)
        one = prescribe(convex, chain(seed, 4), radius)
        other = prescribe(linear, chain(seed, 4), radius)
        assert one.value == pytest.approx(other.value, abs=1e-5)
        assert one.lower_bound <= other.bound + 1e-9
        assert one.status is Status.CERTIFIED
        # As after any problem in cvxpy, the variables hold the answer.
        assert np.array_equal(x.value, one.x)


def test_a_newsvendor_written_in_cvxpy() -> None:
    given = Estimate.from_doublets(chain(2, 5).doublets, states=[2, 3, 5, 8, 13])
    q = cp.Variable(name="order")
    demand = np.array(given.states)
    sold = cp.minimum(q, demand)
    loss = 3 * q - 7 * sold - cp.pos(q - demand)
    built_in = prescribe(Newsvendor(price=7, cost=3, salvage=1), given, 0.02)
    # −7 min(q, D) − (q − D)+ is convex, but not by the rules: it is the larger of two lines.
    with pytest.raises(MarkovDROError, match=r"must be convex .* but is unknown"):
        prescribe(ConvexDecisions(loss), given, 0.02)
    lines = cp.maximum(-4 * q, 2 * q - 6 * demand)
    written = prescribe(ConvexDecisions(lines, [q >= 0]), given, 0.02)
    assert written.value == pytest.approx(built_in.value, abs=1e-5)


def test_a_quadratic_portfolio_against_a_general_minimiser() -> None:
    """Regimes, three assets on the simplex; scipy minimises certified worst cases."""
    chain_of_regimes = [[0.95, 0.04, 0.01], [0.10, 0.85, 0.05], [0.05, 0.15, 0.80]]
    log = simulate(chain_of_regimes, 1500, seed=3)
    given = estimate(count_transitions(log, states=range(3)), smoothing="pseudo-counts")
    gains = np.array([[0.08, 0.03, 0.02], [0.02, 0.03, 0.02], [-0.30, -0.02, 0.015]])
    risks = [np.diag([0.04, 0.005, 0.0001]) * f for f in (1.0, 2.0, 6.0)]
    x = cp.Variable(3, name="shares")
    loss = [-gains[i] @ x + 2 * cp.quad_form(x, risks[i]) for i in range(3)]
    decision = prescribe(
        ConvexDecisions(loss, [x >= 0, cp.sum(x) == 1]), given, 0.005, tolerance=1e-3
    )
    assert decision.status is Status.CERTIFIED

    def value(free: Array) -> float:
        shares = np.append(free, 1 - free.sum())
        if (shares < 0).any():
            return 1.0
        losses = [-gains[i] @ shares + 2 * shares @ risks[i] @ shares for i in range(3)]
        return worst_case(losses, given, 0.005, method="global", tolerance=1e-6).bound

    found = minimize(
        value, [0.1, 0.4], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}
    )
    assert decision.lower_bound <= float(found.fun) + 1e-9
    assert decision.value == pytest.approx(float(found.fun), abs=2e-5)


def test_several_variables_come_back_by_name() -> None:
    a, b = cp.Variable(name="a"), cp.Variable(2, name="b")
    decision = prescribe(
        ConvexDecisions({"T": cp.sum_squares(b - 1) + a, "H": cp.square(a - 2)}), coin(), 0.01
    )
    assert set(decision.x) == {"a", "b"}
    assert decision.x["b"] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert decision.loss[0] == pytest.approx((decision.x["a"] - 2) ** 2, abs=1e-9)
    assert "a " in repr(decision)
    assert "b [" in repr(decision)


@pytest.mark.parametrize("ambiguity", ["wasserstein", "entropy-rows", "iid-entropy", "nominal"])
def test_rival_sets(ambiguity: str) -> None:
    x = cp.Variable()
    problem = ConvexDecisions([cp.square(x - 1), 2 * cp.square(x - 3)])
    decision = prescribe(problem, coin(), 0.1, ambiguity=ambiguity)
    assert decision.status is Status.CERTIFIED

    def value(y: float) -> float:
        return worst_case([(y - 1) ** 2, 2 * (y - 3) ** 2], coin(), 0.1, ambiguity=ambiguity).value

    best = minimize_scalar(value, bounds=(0, 4), method="bounded", options={"xatol": 1e-9}).fun
    assert decision.value == pytest.approx(float(best), abs=1e-5)
    assert decision.lower_bound <= best + 1e-12


def test_integers_are_proven_as_far_as_their_solver_goes() -> None:
    x = cp.Variable(2, integer=True)
    problem = ConvexDecisions([cp.abs(x[0] - 2.4) + x[1], cp.abs(x[1] - 3.3)], [x >= 0, x <= 9])
    decision = prescribe(problem, coin(), 0.05, tolerance=1e-2)
    losses = {
        (a, b): worst_case([abs(a - 2.4) + b, abs(b - 3.3)], coin(), 0.05).value
        for a in range(5)
        for b in range(6)
    }
    assert decision.value == pytest.approx(min(losses.values()), abs=1e-6)
    assert decision.lower_bound <= min(losses.values()) + 1e-9
    assert decision.status is Status.CERTIFIED


def test_infeasible() -> None:
    x = cp.Variable()
    decision = prescribe(ConvexDecisions([x, -x], [x >= 2, x <= 1]), coin(), 0.05)
    assert decision.status is Status.INFEASIBLE
    assert decision.x is None


def test_unbounded_and_bounded_after_all() -> None:
    x = cp.Variable()
    falling = prescribe(ConvexDecisions([-x, -0.1 * x], [x >= 0]), coin(), 0.05)
    assert falling.status is Status.UNBOUNDED
    assert falling.lower_bound == -math.inf
    # The estimate leans to T, so that a bet on it falls for ever, until nature turns the coin.
    biased = Estimate.from_doublets([[0.3, 0.1], [0.1, 0.5]])
    bet = prescribe(ConvexDecisions([x, -x]), biased, 0.05)
    assert bet.status is Status.CERTIFIED
    assert bet.value == pytest.approx(0.0, abs=1e-6)
    far = prescribe(ConvexDecisions([x, -x], [x >= 5000]), biased, 0.05)
    assert far.status is Status.CERTIFIED
    assert float(far.x) == pytest.approx(5000)


def test_no_time_at_all() -> None:
    x = cp.Variable()
    decision = prescribe(ConvexDecisions([cp.square(x), x**2 - x]), coin(), 0.1, time_limit=0)
    assert decision.status is Status.TIME_LIMIT
    assert decision.x is None


def test_more_laws_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from markovdro.decisions import _convex

    rng = np.random.default_rng(1)
    matrix, x = rng.normal(size=(6, 4)), cp.Variable(4)
    problem = ConvexDecisions(matrix @ x + cp.sum_squares(x), [])
    plain = prescribe(problem, chain(1, 6), 0.2)
    monkeypatch.setattr(_convex, "FIRST_ROOM", 1)
    assert prescribe(problem, chain(1, 6), 0.2).value == pytest.approx(plain.value, abs=1e-7)
    assert plain.iterations > 2


@pytest.mark.parametrize(
    ("loss", "constraints", "message"),
    [
        (lambda x: [x, -cp.square(x)], [], r"must be convex .* in the state 'T'"),
        (lambda x: [x, x, x], [], r"one entry for each of the 2 states, but has the shape \(3,\)"),
        (lambda x: {"H": x}, [], "must name each state once, but 'T'"),
        (lambda _: "x", [], "must be a cvxpy expression, or 2 of them"),
        (lambda x: [x, x], [True], "constraint 0 must be a convex constraint"),
        (lambda x: [x, x], [lambda x: cp.square(x) >= 1], "constraint 0 must be a convex"),
        (lambda x: [x, cp.Parameter(name="size") * x], [], "parameter size must have a value"),
        (lambda _: [1.0, 2.0], [], "must depend on at least one cvxpy variable"),
    ],
)
def test_bad_input(loss: Any, constraints: list[Any], message: str) -> None:
    x = cp.Variable()
    given = [c(x) if callable(c) else c for c in constraints]
    with pytest.raises(MarkovDROError, match=message):
        prescribe(ConvexDecisions(loss(x), given), coin(), 0.1)


def test_a_solver_that_is_not_there() -> None:
    x = cp.Variable()
    with pytest.raises(MarkovDROError, match="cvxpy cannot solve the problem"):
        prescribe(ConvexDecisions([x**2, x], solver="NOSUCH"), coin(), 0.1)


def test_without_cvxpy_the_message_names_the_command() -> None:
    code = """
import sys
sys.modules["cvxpy"] = None
from markovdro import ConvexDecisions, Estimate, MissingExtraError, prescribe
try:
    prescribe(ConvexDecisions([1.0, 2.0]), Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]]), 0.1)
except MissingExtraError as error:
    print(error)
"""
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'markovdro[convex]'" in found.stdout
