"""Starts that lead the flow into one state, where traps are blind: zeros, and long memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import Estimate, Status, stationary_law, worst_case
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._kernels import flow_states

Array = npt.NDArray[np.float64]

KINDS = ["no way", "no way, no stay", "not seen", "nearly apart"]


def instance(kind: str, seed: int, largest: int = 8) -> tuple[Estimate, Array]:
    """A random chain with zeros, structural or only in the data, or of two loose blocks."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, largest))
    ring = np.roll(np.eye(size, dtype=bool), 1, axis=1)
    if kind == "nearly apart":
        half = size // 2
        theta = 10.0 ** rng.uniform(-9, -3) * rng.random((size, size))
        theta[:half, :half] += rng.random((half, half)) + 0.1
        theta[half:, half:] += rng.random((size - half, size - half)) + 0.1
        support = None
    else:
        possible = (rng.random((size, size)) < 0.5) | ring
        if kind == "no way, no stay":
            possible &= ~np.eye(size, dtype=bool)
        masses = rng.dirichlet(np.full(size * size, 0.5)).reshape(size, size) + 1e-6
        theta = np.where(possible, masses, 0.0)
        support = None if kind == "not seen" else possible
    return Estimate.from_doublets(theta / theta.sum(), support=support), rng.normal(size=size)


def flow(chain: Estimate, radius: float, state: int) -> Array:
    law = stationary_law(chain.transition, method="gth")
    indicator = np.eye(len(law))[state]
    return ConditionalEntropyBall(chain, radius).maximise(law, indicator)[0]


def dense(loss: Array, chain: Estimate, radius: float, rng: np.random.Generator) -> float:
    """The best of climbs from P', all traps, all flows and twenty random chains of the ball."""
    size = len(loss)
    starts = [flow(chain, radius, state) for state in range(size)]
    for _ in range(20):
        rows = np.where(chain.support, rng.dirichlet(np.full(size, 0.2), size=size) + 1e-6, 0.0)
        starts.append(rows / rows.sum(axis=1, keepdims=True))
    found = [worst_case(loss, chain, radius, starts=1, start=start).value for start in starts]
    return max(*found, worst_case(loss, chain, radius, starts=size + 1).value)


@pytest.mark.parametrize("kind", KINDS)
def test_no_dense_search_finds_more(kind: str) -> None:
    for seed in range(60):
        chain, loss = instance(kind, seed)
        for radius in (0.03, 0.1, 0.5):
            found = worst_case(loss, chain, radius)
            best = dense(loss, chain, radius, np.random.default_rng(seed))
            assert found.value >= best - 1e-5 * np.ptp(loss), (kind, seed, radius)
            assert found.status in {Status.STATIONARY, Status.CERTIFIED, Status.TRIVIAL}


@pytest.mark.parametrize("states", [30, 110])
def test_no_flow_into_a_dear_state_finds_more_in_a_larger_chain(states: int) -> None:
    """Three successors for each state; more than 100 states go through the loop over LAPACK."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        ring = np.roll(np.eye(states, dtype=bool), 1, axis=1)
        possible = (rng.random((states, states)) < 3 / states) | ring
        theta = np.where(possible, rng.gamma(0.5, size=(states, states)) + 1e-6, 0.0)
        chain = Estimate.from_doublets(theta / theta.sum(), support=possible)
        loss = rng.normal(size=states)
        found = worst_case(loss, chain, 0.5)
        for state in np.argsort(-loss)[:3]:
            start = flow(chain, 0.5, int(state))
            other = worst_case(loss, chain, 0.5, starts=1, start=start)
            assert found.value >= other.value - 1e-5 * np.ptp(loss)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5])
def test_the_compiled_solve_and_the_loop_take_the_same_flows(kind: str, radius: float) -> None:
    for seed in range(15):
        chain, loss = instance(kind, seed)
        compiled = worst_case(loss, chain, radius)
        looped = worst_case(loss, chain, radius, callback=lambda *_: None)
        assert looped.value == pytest.approx(compiled.value, abs=2e-6 * np.ptp(loss))


def test_flows_are_tried_where_the_chain_has_zeros_or_a_long_memory_only() -> None:
    given = synthetic_problem(10, 300, 1)
    short, long = np.linspace(0, 2, 10), np.linspace(0, 200, 10)
    positive = given.estimate.transition
    closed = positive.copy()
    closed[2, 3] = 0.0
    nearly = positive.copy()
    nearly[2, 3] = 1e-7
    loss = np.array([3.0, 9, 1, 7, 0, 2, 8, 8, 5, 4])
    dearest = [1, 6, 7, 3, 8, 9, 0, 5, 2, 4]
    assert flow_states(positive, short, loss, 4).size == 0
    assert flow_states(positive, long, loss, 4).tolist() == dearest[:3]
    assert flow_states(nearly, short, loss, 4).tolist() == dearest[:3]
    assert flow_states(closed, short, loss, 4).tolist() == dearest
    assert flow_states(closed, short, loss, 1).size == 0


def test_large_chains_with_zeros_take_few_flows() -> None:
    size = 500
    ring = np.roll(np.eye(size), 1, axis=1)
    found = flow_states(ring, np.zeros(size), np.arange(float(size)), 4)
    assert found.tolist() == [499, 498, 497]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_warm_start_more_radius_loses_no_less(kind: str) -> None:
    for seed in range(40):
        chain, loss = instance(kind, 1000 + seed)
        values = [worst_case(loss, chain, radius).value for radius in np.geomspace(1e-3, 2, 15)]
        # Each stops at a gap of 1e-6 of the range.
        assert (np.diff(values) >= -1e-5 * np.ptp(loss)).all(), (kind, seed)
