"""Tables of decisions: pruned by cuts, and right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovdro import Estimate, FiniteDecisions, Status, prescribe, worst_case_batch

Array = npt.NDArray[np.float64]


def chain(seed: int, size: int) -> Estimate:
    theta = np.random.default_rng(seed).dirichlet(np.full(size * size, 0.5)).reshape(size, size)
    theta = theta + 1e-5
    return Estimate.from_doublets(theta / theta.sum())


def coin() -> Estimate:
    return Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])


@pytest.mark.parametrize("radius", [0.0, 0.01, 0.2])
def test_the_best_of_a_table(radius: float) -> None:
    for seed in range(4):
        table = np.random.default_rng(seed).normal(size=(60, 5))
        estimates, weights = [chain(seed, 5), chain(seed + 9, 5)], [0.5, 1.5]
        total = sum(
            w * worst_case_batch(table, e, radius, tolerance=1e-9).values
            for w, e in zip(weights, estimates, strict=True)
        )
        decision = prescribe(FiniteDecisions(table), estimates, radius, weights=weights)
        assert decision.x == int(np.argmin(total))
        assert decision.value == pytest.approx(float(np.min(total)), abs=1e-7)
        assert np.array_equal(decision.loss, table[decision.x])


def test_few_rows_are_evaluated() -> None:
    """Ten thousand decisions, of which cuts leave few."""
    table = np.random.default_rng(1).normal(size=(10_000, 12))
    decision = prescribe(FiniteDecisions(table), chain(1, 12), 0.01, method="frank-wolfe")
    assert decision.status is Status.STATIONARY
    assert decision.evaluations < 100
    worst = worst_case_batch(table, chain(1, 12), 0.01, tolerance=1e-9).values
    assert decision.value == pytest.approx(float(worst.min()), abs=1e-7)


def test_labels() -> None:
    pd = pytest.importorskip("pandas")
    bets = {"heads": [-1, 1], "tails": [1, -1.2], "none": [0, 0]}
    by_label = prescribe(FiniteDecisions(bets), coin(), 0.001)
    assert by_label.x == "tails"
    frame = pd.DataFrame(bets, index=["H", "T"]).T
    assert prescribe(FiniteDecisions(frame), coin(), 0.001).x == "tails"
    assert prescribe(FiniteDecisions(frame[["T", "H"]]), coin(), 0.001).x == "tails"
    named = FiniteDecisions(list(bets.values()), labels=[(1, "h"), (2, "t"), (3, "n")])
    assert prescribe(named, coin(), 0.001).x == (2, "t")
    assert prescribe(FiniteDecisions(list(bets.values())), coin(), 0.1).x == 2
    by_state = FiniteDecisions({"a": {"T": 1.0, "H": -1.0}, "b": {"H": 2.0, "T": 2.0}})
    assert prescribe(by_state, coin(), 0.001).loss.tolist() == [-1.0, 1.0]
    assert "tails" in repr(by_label)


def test_one_decision_and_equal_decisions() -> None:
    alone = prescribe(FiniteDecisions([[1.0, 2.0]]), coin(), 0.05)
    assert alone.x == 0
    assert alone.status is Status.CERTIFIED
    twins = prescribe(FiniteDecisions([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), coin(), 0.05)
    assert twins.x in {0, 1, 2}
    assert twins.status is Status.CERTIFIED
    constant = prescribe(FiniteDecisions([[3.0, 3.0], [4.0, 0.0]]), coin(), 2.0)
    assert constant.x == 0
    assert constant.value == pytest.approx(3.0, rel=1e-15)
    assert 0 <= constant.gap <= 1e-14
    assert 0 <= constant.relative_gap <= 1e-14


def test_no_time_at_all() -> None:
    decision = prescribe(FiniteDecisions([[1.0, 2.0], [2.0, 1.0]]), coin(), 0.05, time_limit=0)
    assert decision.status is Status.TIME_LIMIT
    assert decision.x is None
    # What the estimate alone says of every decision is proven already.
    assert decision.lower_bound == pytest.approx(1.5)


tables = st.integers(0, 10_000)


@settings(max_examples=25)
@given(seed=tables, radius=st.sampled_from([0.003, 0.05, 0.3]))
def test_relabelling_states_changes_nothing(seed: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    table, base, order = rng.normal(size=(9, 4)), chain(seed, 4), rng.permutation(4)
    turned = Estimate.from_doublets(base.doublets[np.ix_(order, order)])
    plain = prescribe(FiniteDecisions(table), base, radius)
    other = prescribe(FiniteDecisions(table[:, order]), turned, radius)
    assert other.value == pytest.approx(plain.value, abs=1e-7)
    assert other.bound >= plain.lower_bound - 1e-12
    assert plain.bound >= other.lower_bound - 1e-12


@settings(max_examples=25)
@given(seed=tables, factor=st.sampled_from([1e-5, 3.0, 1e5]), shift=st.sampled_from([-7.0, 1e4]))
def test_units_of_the_loss_mean_nothing(seed: int, factor: float, shift: float) -> None:
    table = np.random.default_rng(seed).normal(size=(9, 4))
    plain = prescribe(FiniteDecisions(table), chain(seed, 4), 0.05)
    other = prescribe(FiniteDecisions(factor * table + shift), chain(seed, 4), 0.05)
    assert other.value == pytest.approx(factor * plain.value + shift, rel=1e-9, abs=1e-6 * factor)


@settings(max_examples=25)
@given(seed=tables)
def test_more_choice_never_hurts_and_a_larger_radius_never_helps(seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(12, 4))
    values: list[Any] = [
        prescribe(FiniteDecisions(table), chain(seed, 4), radius) for radius in (0.0, 0.01, 0.1)
    ]
    for smaller, larger in pairwise(values):
        assert smaller.lower_bound <= larger.bound + 1e-12
        assert smaller.value <= larger.value + 1e-7
    fewer = prescribe(FiniteDecisions(table[:6]), chain(seed, 4), 0.1)
    assert values[-1].value <= fewer.value + 1e-7
