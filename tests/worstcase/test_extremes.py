"""Where numbers end: steps in the multiplier, and rows that cannot gain."""

from __future__ import annotations

import numpy as np
import pytest

from markovdro import Estimate
from markovdro.ambiguity import ConditionalEntropyBall


def test_a_multiplier_between_two_phases_of_a_row_is_found() -> None:
    """Row 2 gives its best state 2e-5: over a small change of λ it moves there all at once."""
    rows = np.array(
        [
            [0.027907774, 0.396850394, 0.571546212, 0.003695620],
            [0.074429702, 0.042941854, 0.882626721, 1.723e-6],
            [1.7891e-5, 0.278890669, 0.707688277, 0.013403163],
            [0.156684407, 0.746649702, 0.052533486, 0.044132405],
        ]
    )
    rows /= rows.sum(axis=1, keepdims=True)
    weights = np.array([0.06260438, 0.12408845, 0.18542401, 0.62788316])
    ball = ConditionalEntropyBall(Estimate.from_doublets(weights[:, None] * rows), 0.00569076)
    law = np.array([0.011226, 0.16589826, 0.81527729, 0.00759846])
    target, _ = ball.maximise(law, np.array([1.0337632, 0.04714716, 0.0, 0.7136133]))
    assert ball.divergence(target) == pytest.approx(ball.radius, rel=1e-6)
    assert ball.divergence(target) <= ball.radius


def test_every_maximiser_lies_in_the_ball() -> None:
    """Rows with one successor spend nothing until the multiplier is small enough to leave it."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 5))
        seen = rng.random((size, size)) < 0.4
        seen |= np.roll(np.eye(size, dtype=bool), 1, axis=1)
        theta = np.where(seen, rng.dirichlet(np.full(size * size, 0.3)).reshape(size, size), 0.0)
        theta[seen] += 1e-7
        chain = Estimate.from_doublets(theta / theta.sum())
        ball = ConditionalEntropyBall(chain, 10.0 ** rng.uniform(-4, 1))
        law = rng.dirichlet(np.full(size, 0.02)) + 1e-300
        values = rng.normal(size=size) * 10.0 ** rng.uniform(-6, 6)
        target, gain = ball.maximise(law, values)
        assert ball.divergence(target) <= ball.radius
        assert gain == pytest.approx(
            float(law @ (target @ values - values)), abs=1e-6 * np.ptp(values)
        )
        if ball.divergence(target) < ball.radius * (1 - 1e-6):
            # What is left unspent could buy nothing.
            free = float(law @ (values.max() - values))
            assert gain == pytest.approx(free, abs=1e-8 * np.ptp(values))


def test_the_gain_is_counted_from_the_chain_even_where_no_row_of_the_estimate_gains() -> None:
    support = np.array([[False, True], [True, True]])
    chain = Estimate.from_doublets(
        [[0.0, 0.5], [0.5, 0.0]], support=support & ~np.eye(2, dtype=bool)
    )
    target, gain = ConditionalEntropyBall(chain, 0.1).maximise(
        np.array([0.9, 0.1]), np.array([0, 1.0])
    )
    assert np.array_equal(target, chain.transition)
    assert gain == pytest.approx(0.9 * 1.0 - 0.1 * 1.0)
