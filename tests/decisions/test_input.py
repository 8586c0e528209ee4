"""What a decision problem refuses, and in which words; and what names do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from markovdro import (
    Assortment,
    Estimate,
    FiniteDecisions,
    LinearDecisions,
    MarkovDROError,
    Newsvendor,
    prescribe,
)


def coin() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])


def numbers() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=[10, 20])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Assortment([1.0]), "prices must have one entry for each of the 2 states, but has 1"),
        (Assortment([1.0, None]), "prices must be finite, but holds None"),
        (Assortment({"H": 1.0, "X": 2.0}), "prices must name each state once, but 'X' is no state"),
        (Assortment([1, 2], matrix=[[1, 1]]), "matrix and bound go together, but bound is missing"),
        (Assortment([1, 2], bound=3), "matrix and bound go together, but matrix is missing"),
        (Assortment([1, 2], [[1, 1, 1]], 2), "row 0 of matrix must have one entry for each of"),
        (Assortment([1, 2], [[1, math.nan]], 2), "row 0 of matrix must be finite"),
        (Assortment([1, 2], [[1, 1]], [1, 2, 3]), "bound must be one number or 1"),
        (Assortment([1, 2], [[1, 1]], math.nan), "bound must be finite, but holds nan"),
        (Assortment([1, 2], [[1, 1]], "2"), "bound must be numbers"),
        (LinearDecisions([[1.0]]), "matrix must have one row for each of the 2 states, but has 1"),
        (LinearDecisions([1.0, 2.0]), "matrix must be a matrix, but has shape"),
        (LinearDecisions([[1.0], [1.0, 2.0]]), "matrix must be numbers"),
        (LinearDecisions(np.empty((2, 0))), "equally many columns, at least one"),
        (
            LinearDecisions([[[1], [1]], [[1, 2], [3, 4]]]),
            "tables of matrix must have equally many columns",
        ),
        (
            LinearDecisions([[[1], [1]], [[1], [1]]], offset=[1, 2, 3]),
            "offset must hold one entry for each of the 2 tables of matrix, but holds 3",
        ),
        (LinearDecisions([[1], [1]], offset=[1, 2, 3]), "offset must have one entry for each of"),
        (LinearDecisions([[1], [1]], lower=2, upper=1), "lower must not be above upper, but at"),
        (LinearDecisions([[1], [1]], lower=math.inf), "lower must be finite, but holds inf"),
        (LinearDecisions([[1], [1]], upper=math.nan), "upper must be finite, but holds nan"),
        (LinearDecisions([[1], [1]], upper=[1, 2]), "upper must be one number or 1"),
        (LinearDecisions([[1], [1]], upper=True), "upper must be numbers, but holds True"),
        (LinearDecisions([[1], [1]], integer=1), "integer must be True or False, .* but holds 1"),
        (LinearDecisions([[1], [1]], integer=[True] * 3), "or 1 of them, but holds 3 of them"),
        (
            LinearDecisions([[1], [1]], rows=[[1, 2]]),
            "row 0 of rows .* for each of the 1 variables",
        ),
        (
            LinearDecisions([[1], [1]], rows=[[1]], at_least=3, at_most=2),
            "at_least must not be above at_most",
        ),
        (FiniteDecisions([]), "losses must hold at least one decision, but is empty"),
        (FiniteDecisions({}), "losses must hold at least one decision, but is empty"),
        (FiniteDecisions([[1, 2, 3]]), "the loss of decision 0 must have one entry for each"),
        (FiniteDecisions([[1, math.inf]]), "the loss of decision 0 must be finite"),
        (FiniteDecisions([[1, 2]], labels=["a", "b"]), "labels must name the 1 decisions, but"),
        (Newsvendor(price=5, cost=3), "demand is given, must be numbers"),
        (Newsvendor(price=5, cost=3, demand=[1, -2]), "demand must not be negative, but holds -2"),
        (Newsvendor(price=0, cost=3, demand=[1, 2]), "price must be above 0"),
        (Newsvendor(price=5, cost=-3, demand=[1, 2]), "cost must be above 0"),
        (Newsvendor(price=5, cost=3, salvage=3, demand=[1, 2]), "salvage must be below the cost"),
        (Newsvendor(price=2, cost=3, salvage=2.5, demand=[1, 2]), "at most the price of 2"),
        (
            Newsvendor(price=5, cost=3, demand=[1, 2], largest=-1),
            "largest must not be negative",
        ),
        ([1.0, 2.0], "problem must be a decision problem such as"),
        (None, "problem must be a decision problem such as"),
    ],
)
def test_problems(problem: Any, message: str) -> None:
    with pytest.raises(MarkovDROError, match=message):
        prescribe(problem, coin(), 0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimates": []}, "estimates must hold at least one estimate"),
        ({"estimates": [[0.4, 0.1], [0.1, 0.4]]}, "estimate must be an Estimate, but is list"),
        (
            {"estimates": [coin(), numbers()]},
            "all estimates must have the same states, but .* only one of the estimates 0 and 1",
        ),
        ({"radius": -0.1}, "radius must be at least 0"),
        ({"radius": math.nan}, "radius must be finite"),
        ({"radius": [0.1, 0.2]}, "radius must be one number or 1"),
        ({"radius": "wide"}, "radius must be numbers"),
        ({"weights": [-1.0]}, "weights must not be negative, but hold -1"),
        ({"weights": [0.5, 0.5]}, "weights must match the 1 estimates, one for each, but there"),
        ({"weights": [0.0]}, "weights must not all be zero"),
        ({"weights": [math.inf]}, "weights must be finite"),
        ({"ambiguity": "ball"}, "ambiguity must be one of conditional-entropy, entropy-rows"),
        ({"method": "simplex"}, "method must be one of"),
        ({"method": "paper", "ambiguity": "nominal"}, "method='paper' is for ambiguity="),
        ({"tolerance": 0}, "tolerance must be above 0"),
        ({"tolerance": 1}, "tolerance must be above 0 and below 1"),
        ({"time_limit": -1}, "time_limit must be at least 0"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"callback": "print"}, "callback must be a function"),
    ],
)
def test_arguments(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "problem": Assortment([1.0, 2.0]),
        "estimates": coin(),
        "radius": 0.1,
    }
    with pytest.raises(MarkovDROError, match=message):
        prescribe(**(arguments | changes))


def test_tables_name_states_and_variables() -> None:
    pd = pytest.importorskip("pandas")
    plain = LinearDecisions([[1.0, -2.0], [-1.0, 0.5]], [0.0, 3.0], rows=[[1.0, 2.0]], at_most=2.0)
    named = LinearDecisions(
        pd.DataFrame({"a": {"T": -1.0, "H": 1.0}, "b": {"T": 0.5, "H": -2.0}}),
        {"T": 3.0, "H": 0.0},
        rows=pd.DataFrame({"b": [2.0], "a": [1.0]}),
        at_most=2.0,
    )
    one, other = (prescribe(problem, coin(), 0.05) for problem in (plain, named))
    assert np.array_equal(one.x, other.x)
    assert one.value == other.value
    assert "a: 1.69" in repr(other)
    with pytest.raises(MarkovDROError, match="the rows of matrix must name each state once"):
        prescribe(LinearDecisions(pd.DataFrame({"a": {"X": 1.0, "H": 1.0}})), coin(), 0.05)
    with pytest.raises(MarkovDROError, match="must name each variable once, but 'c' is no variab"):
        prescribe(
            LinearDecisions(
                pd.DataFrame({"a": {"T": 1.0, "H": 1.0}}), rows=pd.DataFrame({"c": [1.0]})
            ),
            coin(),
            0.05,
        )


def test_polars_tables() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"H": [1.0, 0.0], "T": [0.0, 1.2]})
    assert prescribe(FiniteDecisions(table), coin(), 0.0).x == 0
    shelf = pl.DataFrame({"T": [1.0], "H": [3.0]})
    decision = prescribe(Assortment([1.0, 1.1], shelf, 3.5), coin(), 0.0)
    assert decision.x.tolist() == [0, 1]


def test_input_is_not_changed_and_results_are_locked() -> None:
    prices, matrix = np.array([1.0, 2.0]), np.array([[1.0, 1.0]])
    weights = np.array([2.0])
    decision = prescribe(Assortment(prices, matrix, 1.0), coin(), 0.1, weights=weights)
    assert prices.tolist() == [1.0, 2.0]
    assert weights.tolist() == [2.0]
    assert weights.flags.writeable
    for array in (decision.loss, decision.weights, decision.radii):
        assert not array.flags.writeable


def test_doubts_about_the_estimates_are_passed_on() -> None:
    from markovdro import count_transitions, estimate

    sparse = estimate(
        count_transitions(["H", "T", "T", "H", "T", "X"], states=["H", "T", "X"]),
        smoothing="laplace",
    )
    decision = prescribe(Assortment([1.0, 2.0, 3.0]), sparse, 0.1)
    assert any("never left" in str(w) for w in decision.warnings)
    assert "warning" in repr(decision)


def test_whole_numbers_between_fractions() -> None:
    """0.2 ≤ x ≤ 2.9 leaves 1 and 2."""
    problem = LinearDecisions([[1.0], [1.0]], lower=0.2, upper=2.9, integer=True)
    assert prescribe(problem, coin(), 0.0).x.tolist() == [1]
    turned = LinearDecisions([[-1.0], [-1.0]], lower=0.2, upper=2.9, integer=True)
    assert prescribe(turned, coin(), 0.0).x.tolist() == [2]
