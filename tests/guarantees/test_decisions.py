"""The promise of a decision: fifty random assortments at three radii, against all feasible ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from markovdro import prescribe, worst_case_batch
from markovdro.experiments import synthetic_revenue

pytestmark = pytest.mark.slow

PARTS = 5


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("radius", [0.001, 0.1, 1.0])
def test_equal_to_brute_force(radius: float, part: int) -> None:
    """Ten brands, five groups, five resources: the value to 1e-6, and a decision that has it."""
    every = np.array(list(itertools.product([0.0, 1.0], repeat=10)))
    for seed in range(part, 50, PARTS):
        given = synthetic_revenue(10, 5, 300, seed)
        choices = every[(every @ given.matrix.T <= given.bound).all(axis=1)]
        total = np.zeros(len(choices))
        for weight, chain in zip(given.weights, given.estimates, strict=True):
            batch = worst_case_batch(-given.prices * choices, chain, radius, tolerance=1e-9)
            total += weight * batch.values
        decision = prescribe(
            given.assortment, given.estimates, radius, weights=given.weights, method="frank-wolfe"
        )
        best = float(total.min())
        assert decision.value == pytest.approx(best, abs=1e-6)
        assert total[(choices == decision.x).all(axis=1)].item() <= best + 1e-6
        assert best - 2e-6 <= decision.lower_bound <= decision.value


@pytest.mark.parametrize("radius", [0.005, 0.05])
def test_no_decision_is_better_and_no_chain_is_worse(radius: float) -> None:
    """Certified decisions, against certified worst cases of random other decisions."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        given = synthetic_revenue(8, 2, 300, seed)
        decision = prescribe(
            given.assortment,
            given.estimates,
            radius,
            weights=given.weights,
            method="global",
            tolerance=1e-3,
        )
        assert decision.certified
        for _ in range(30):
            x = (rng.random(8) < rng.random()).astype(float)
            if not (given.matrix @ x <= given.bound).all():
                continue
            bounds = [
                worst_case_batch(-given.prices * x, chain, radius, method="global").bounds[0]
                for chain in given.estimates
            ]
            assert given.weights @ bounds >= decision.lower_bound - 1e-9
