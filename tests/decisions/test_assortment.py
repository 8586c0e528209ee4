"""Assortments against all feasible ones, by table and by tree."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import (
    Assortment,
    Decision,
    Estimate,
    Progress,
    Status,
    prescribe,
    worst_case,
    worst_case_batch,
)
from markovdro.decisions import _models
from markovdro.experiments import RevenueProblem, synthetic_revenue

Array = npt.NDArray[np.float64]

AMBIGUITIES = ["conditional-entropy", "wasserstein", "entropy-rows", "iid-entropy", "nominal"]


def feasible(given: RevenueProblem) -> Array:
    every = np.array(list(itertools.product([0.0, 1.0], repeat=len(given.prices))))
    kept: Array = every[(every @ given.matrix.T <= given.bound).all(axis=1)]
    return kept


def brute_force(
    given: RevenueProblem, radius: float, ambiguity: str = "conditional-entropy"
) -> tuple[Array, Array]:
    """The worst case of every feasible assortment, each by itself."""
    choices = feasible(given)
    total = np.zeros(len(choices))
    for weight, chain in zip(given.weights, given.estimates, strict=True):
        batch = worst_case_batch(
            -given.prices * choices, chain, radius, tolerance=1e-9, ambiguity=ambiguity
        )
        total += weight * batch.values
    return choices, total


def check(decision: Decision, given: RevenueProblem) -> None:
    """What holds of every decision, whatever it was asked."""
    x = decision.x
    assert set(np.unique(x)) <= {0, 1}
    assert (given.matrix @ x <= given.bound + 1e-9).all()
    assert np.array_equal(decision.loss, -given.prices * x)
    assert decision.lower_bound <= decision.value <= decision.bound
    assert decision.gap == decision.bound - decision.lower_bound
    cases = decision.worst_cases
    assert len(cases) == len(given.estimates)
    span = float(np.ptp(decision.loss)) + 1e-300
    assert decision.value == pytest.approx(
        sum(w * c.value for w, c in zip(given.weights, cases, strict=True)), abs=1e-7 * span
    )
    assert decision.nominal == pytest.approx(
        sum(w * c.nominal for w, c in zip(given.weights, cases, strict=True)), abs=1e-12 * span
    )
    for case, chain in zip(cases, given.estimates, strict=True):
        assert np.array_equal(case.loss, decision.loss)
        assert case.estimate is chain
    last = decision.history[-1]
    assert [p.evaluations for p in decision.history] == sorted(
        p.evaluations for p in decision.history
    )
    assert last.lower_bound <= decision.lower_bound + 1e-12
    assert decision.evaluations >= last.evaluations


@pytest.fixture(params=["table", "tree"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All decisions in a table, or by branch and cut, as more than can be listed are."""
    if request.param == "tree":
        monkeypatch.setattr(_models, "MOST_LISTED", 0)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("radius", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_brute_force(seed: int, radius: float) -> None:
    given = synthetic_revenue(8, 3, 300, seed)
    choices, values = brute_force(given, radius)
    decision = prescribe(
        given.assortment, given.estimates, radius, weights=given.weights, method="frank-wolfe"
    )
    check(decision, given)
    assert decision.value == pytest.approx(values.min(), abs=1e-6)
    assert values[(choices == decision.x).all(axis=1)].item() <= values.min() + 1e-6
    assert decision.lower_bound >= values.min() - 2e-6
    assert decision.status is (
        Status.CERTIFIED if all(c.certified for c in decision.worst_cases) else Status.STATIONARY
    )


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("ambiguity", AMBIGUITIES[1:])
def test_rivals_equal_brute_force(ambiguity: str) -> None:
    for seed, radius in itertools.product(range(2), (0.01, 0.3)):
        given = synthetic_revenue(7, 2, 100, seed)
        _, values = brute_force(given, radius, ambiguity)
        decision = prescribe(
            given.assortment, given.estimates, radius, weights=given.weights, ambiguity=ambiguity
        )
        check(decision, given)
        assert decision.value == pytest.approx(values.min(), abs=1e-7)
        assert decision.lower_bound == pytest.approx(values.min(), abs=1e-6)
        assert decision.bound == pytest.approx(values.min(), abs=1e-6)
        assert decision.status is Status.CERTIFIED


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("radius", [0.003, 0.05, 0.3])
def test_certified_on_both_sides(radius: float) -> None:
    """Value and lower bound bracket what the certified worst cases of all assortments come to."""
    given = synthetic_revenue(6, 2, 300, 4)
    certified = [
        [
            worst_case(-given.prices * x, chain, radius, method="global", tolerance=1e-6)
            for chain in given.estimates
        ]
        for x in feasible(given)
    ]
    assert all(case.certified for cases in certified for case in cases)
    lows = [
        sum(w * c.value for w, c in zip(given.weights, cases, strict=True)) for cases in certified
    ]
    highs = [
        sum(w * c.bound for w, c in zip(given.weights, cases, strict=True)) for cases in certified
    ]
    decision = prescribe(
        given.assortment,
        given.estimates,
        radius,
        weights=given.weights,
        method="global",
        tolerance=1e-4,
    )
    check(decision, given)
    assert decision.status is Status.CERTIFIED
    assert decision.relative_gap <= 1e-4
    assert decision.lower_bound <= min(highs) + 1e-12
    assert decision.bound >= min(lows) - 1e-12


def test_a_tree_of_many_brands_is_the_same_as_a_coarse_one_and_proven() -> None:
    given = synthetic_revenue(30, 3, 2000, 1)
    fine, coarse = (
        prescribe(
            given.assortment, given.estimates, 0.005, weights=given.weights, tolerance=tolerance
        )
        for tolerance in (1e-4, 0.02)
    )
    for decision, tolerance in ((fine, 1e-4), (coarse, 0.02)):
        check(decision, given)
        assert decision.status is Status.CERTIFIED
        assert decision.relative_gap <= tolerance
    assert coarse.lower_bound <= fine.bound
    assert fine.lower_bound <= coarse.bound
    assert fine.value <= coarse.value + 1e-12
    assert coarse.iterations <= fine.iterations


def two_brands() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["A", "B"])


def test_without_limits_everything_is_offered() -> None:
    decision = prescribe(Assortment([1.0, 2.0]), two_brands(), 0.05)
    assert decision.x.tolist() == [1, 1]
    assert "offer A, B" in repr(decision)
    nothing = prescribe(Assortment([-1.0, -2.0]), two_brands(), 0.05)
    assert nothing.x.tolist() == [0, 0]
    assert nothing.value == nothing.bound == nothing.lower_bound == 0
    assert "offer nothing" in repr(nothing)


def test_names_decide() -> None:
    pd = pytest.importorskip("pandas")
    prices = {"B": 3.0, "A": 2.0}
    shelf = pd.DataFrame([[5.0, 1.0]], columns=["B", "A"])
    decision = prescribe(Assortment(prices, shelf, 4.0), two_brands(), 0.01)
    assert decision.x.tolist() == [1, 0]
    assert decision.loss.tolist() == [-2.0, 0.0]


def test_groups_may_have_their_states_in_any_order() -> None:
    given = synthetic_revenue(6, 2, 200, 3)
    turned: list[Estimate] = []
    for chain in given.estimates:
        order = np.random.default_rng(len(turned)).permutation(6)
        turned.append(
            Estimate.from_doublets(
                chain.doublets[np.ix_(order, order)], states=[chain.states[i] for i in order]
            )
        )
    plain = prescribe(
        given.assortment, given.estimates, [0.01, 0.1], weights=given.weights, tolerance=1e-5
    )
    # The first estimate says in which order prices and columns come.
    names = list(range(6))
    shelf = Assortment(
        dict(zip(names, given.prices, strict=True)),
        [dict(zip(names, row, strict=True)) for row in given.matrix],
        given.bound,
    )
    other = prescribe(shelf, turned, [0.01, 0.1], weights=given.weights, tolerance=1e-5)
    assert other.value == pytest.approx(plain.value, abs=1e-7)
    offered = {state for state, chosen in zip(other.states, other.x, strict=True) if chosen}
    assert offered == {state for state, chosen in zip(plain.states, plain.x, strict=True) if chosen}
    assert other.worst_cases[1].states == turned[1].states


def test_weights_and_radii() -> None:
    given = synthetic_revenue(6, 2, 200, 3)
    even = prescribe(given.assortment, given.estimates, 0.05)
    assert even.weights.tolist() == [0.5, 0.5]
    sizes = prescribe(given.assortment, given.estimates, 0.05, weights=[300.0, 300.0])
    assert sizes.value == pytest.approx(600 * even.value)
    assert np.array_equal(sizes.x, even.x)
    alone = prescribe(given.assortment, given.estimates, 0.05, weights=[1.0, 0.0])
    assert alone.value == pytest.approx(
        prescribe(given.assortment, given.estimates[0], 0.05).value, abs=1e-9
    )
    both = prescribe(given.assortment, given.estimates, [0.0, 0.05])
    assert both.radii.tolist() == [0.0, 0.05]
    assert both.worst_cases[0].value == both.worst_cases[0].nominal
    assert even.lower_bound >= both.lower_bound


def test_the_callback_sees_the_bounds_close_in() -> None:
    given = synthetic_revenue(8, 3, 300, 1)
    seen: list[Progress] = []
    decision = prescribe(
        given.assortment,
        given.estimates,
        0.1,
        weights=given.weights,
        method="frank-wolfe",
        callback=seen.append,
    )
    assert tuple(seen) == decision.history
    lows = [p.lower_bound for p in seen]
    assert lows == sorted(lows)
    assert all(p.lower_bound <= p.value for p in seen)


def test_the_paper_method_is_slower_and_no_better() -> None:
    given = synthetic_revenue(4, 1, 100, 1)
    paper = prescribe(given.assortment, given.estimates, 0.05, method="paper", tolerance=1e-2)
    check_value = prescribe(given.assortment, given.estimates, 0.05, tolerance=1e-2)
    assert paper.method == "paper"
    # It underestimates worst cases by up to its own gap.
    assert paper.value <= check_value.bound
    assert paper.value == pytest.approx(check_value.value, abs=0.05)
