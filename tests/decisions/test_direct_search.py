"""The paper's Algorithm 3, on problems whose answers are known otherwise."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import (
    BlackBoxDecisions,
    Estimate,
    MarkovDROError,
    Newsvendor,
    Status,
    prescribe,
    worst_case,
)

Array = npt.NDArray[np.float64]


def coin() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])


def bowl(x: Array) -> list[float]:
    return [(x[0] - 1) ** 2 + (x[1] - 2) ** 2, (x[0] - 3) ** 2 + x[1] ** 2]


def test_a_bowl() -> None:
    """By symmetry the best point is in the middle of the two minima, where both losses are 2."""
    decision = prescribe(BlackBoxDecisions(bowl, [0.0, 0.0]), coin(), 0.05)
    assert decision.status is Status.STATIONARY
    assert decision.x == pytest.approx([2.0, 1.0], abs=0.02)
    assert decision.value == pytest.approx(2.0, abs=1e-3)
    assert decision.value >= 2.0 - 1e-9
    assert decision.lower_bound == -math.inf
    values = [p.value for p in decision.history]
    assert values == sorted(values, reverse=True)


def test_a_newsvendor_by_calling_it() -> None:
    given = Estimate.from_doublets(
        np.random.default_rng(2).dirichlet(np.ones(16)).reshape(4, 4), states=[3, 8, 15, 22]
    )
    demand = np.array(given.states)

    def loss(x: Array) -> Array:
        sold = np.minimum(x[0], demand)
        result: Array = 3 * x[0] - 7 * sold - (x[0] - sold)
        return result

    direct = prescribe(
        BlackBoxDecisions(loss, [0.0], feasible=lambda x: x[0] >= 0, step=4.0), given, 0.02
    )
    exact = prescribe(Newsvendor(price=7, cost=3, salvage=1), given, 0.02)
    assert direct.value == pytest.approx(exact.value, abs=1e-3)
    assert direct.value >= exact.lower_bound - 1e-9


def test_every_step_decreases_by_more_than_its_square() -> None:
    """The record of accepted points; between them only points that are no better by α²."""
    decision = prescribe(BlackBoxDecisions(bowl, [9.0, -7.0], step=0.5), coin(), 0.05)
    values = [p.value for p in decision.history]
    assert len(values) > 5
    assert all(before - after > 1e-12 for before, after in pairwise(values))
    assert decision.worst_cases[0].value == pytest.approx(
        worst_case(bowl(decision.x), coin(), 0.05).value, abs=1e-7
    )


def test_points_that_are_not_allowed_are_never_taken() -> None:
    seen: list[Array] = []

    def loss(x: Array) -> list[float]:
        seen.append(x)
        if x[0] < 0.5:
            return [math.nan, 0.0]
        return [x[0] ** 2 + x[1] ** 2, 2 * x[0]]

    decision = prescribe(
        BlackBoxDecisions(loss, [3.0, 1.0], feasible=lambda x: x[1] >= 0.25), coin(), 0.05
    )
    assert all(x[1] >= 0.25 for x in seen)
    assert decision.x[0] >= 0.5
    assert decision.x == pytest.approx([0.5, 0.25], abs=0.02)


def test_the_budget_and_the_seed() -> None:
    few = prescribe(BlackBoxDecisions(bowl, [50.0, 60.0], step=0.1, evaluations=5), coin(), 0.05)
    assert few.status is Status.ITERATION_LIMIT
    assert few.value < worst_case(bowl(np.array([50.0, 60.0])), coin(), 0.05).value
    assert few.evaluations <= 3 * 5 + 3
    one, same = (
        prescribe(BlackBoxDecisions(bowl, [5.0, 6.0], seed=4), coin(), 0.05) for _ in range(2)
    )
    assert np.array_equal(one.x, same.x)


def test_no_time_at_all_keeps_the_start() -> None:
    decision = prescribe(BlackBoxDecisions(bowl, [5.0, 6.0]), coin(), 0.05, time_limit=0)
    assert decision.status is Status.TIME_LIMIT
    assert decision.x.tolist() == [5.0, 6.0]
    assert decision.value >= worst_case(bowl(decision.x), coin(), 0).value


def test_functions_cannot_move_the_search() -> None:
    def loss(x: Array) -> dict[str, float]:
        result = {"T": float((x[0] - 3) ** 2), "H": float((x[0] - 1) ** 2)}
        x += 100.0
        return result

    start = np.array([0.0])
    decision = prescribe(BlackBoxDecisions(loss, start), coin(), 0.05)
    assert decision.x == pytest.approx([2.0], abs=0.01)
    assert start.tolist() == [0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": 3}, "function must be a function, but is 3"),
        ({"feasible": "x > 0"}, "feasible must be a function"),
        ({"feasible": lambda x: x[0] > 1}, "start must be an allowed decision"),
        ({"function": lambda _: [math.inf, 0.0]}, "start must be an allowed decision"),
        ({"function": lambda _: [0.0, 1.0, 2.0]}, "one entry for each of the 2 states"),
        ({"function": lambda _: "much"}, "the loss of function must be numbers"),
        ({"start": [math.nan]}, "start must be finite"),
        ({"step": 0.0}, "step must be above 0"),
        ({"least_step": -1}, "least_step must be above 0"),
        ({"grow": 0.5}, "grow must be at least 1"),
        ({"shrink": 1.0}, "shrink must be above 0 and below 1"),
        ({"evaluations": 0}, "evaluations must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"function": lambda x: [x[0] ** 2, 1.0], "start": [0.0]}
    with pytest.raises(MarkovDROError, match=message):
        prescribe(BlackBoxDecisions(**(given | changes)), coin(), 0.1)
