"""Never a value above a bound: ten thousand random small chains against dense multi-start."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import Estimate, Proof, worst_case
from markovdro.ambiguity import ConditionalEntropyBall

pytestmark = pytest.mark.slow

Array = npt.NDArray[np.float64]

PARTS, EACH = 20, 500
RANDOM_STARTS = 6


def doublets(rng: np.random.Generator, size: int) -> Array:
    """Dirichlet doublets of every sparsity; some rows tiny, some states sticky, some zeros."""
    concentration = 10.0 ** rng.uniform(-1.5, 1)
    theta = rng.dirichlet(np.full(size * size, concentration)).reshape(size, size)
    theta += 10.0 ** rng.uniform(-12, -4)
    if rng.random() < 0.2:
        theta[rng.integers(size)] *= 10.0 ** rng.uniform(-9, -1)
    if rng.random() < 0.2:
        theta[np.diag_indices(size)] *= 10.0 ** rng.uniform(0, 4, size)
    if rng.random() < 0.3:
        unseen = rng.random((size, size)) < 0.4
        # A cycle through all states stays, so that there is one closed class.
        unseen[np.arange(size), (np.arange(size) + 1) % size] = False
        theta[unseen] = 0.0
    normalised: Array = theta / theta.sum()
    return normalised


def losses(rng: np.random.Generator, size: int) -> Array:
    kind = rng.integers(3)
    if kind == 0:
        return rng.normal(size=size)
    if kind == 1:
        return rng.integers(0, 3, size).astype(np.float64)
    drawn: Array = rng.random(size) ** 6
    return drawn


def dense(rng: np.random.Generator, loss: Array, chain: Estimate, radius: float) -> float:
    """The best of Frank-Wolfe from P', from every trap, and from random chains of the ball."""
    size = len(loss)
    best = worst_case(loss, chain, radius, method="frank-wolfe", starts=size + 1).value
    ball = ConditionalEntropyBall(chain, radius)
    for share in rng.uniform(0.1, 1.0, RANDOM_STARTS):
        drawn = rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-1, 1)), size=size) + 1e-12
        drawn = np.where(chain.support, drawn, 0.0)
        drawn /= drawn.sum(axis=1, keepdims=True)
        start = ball.pull_inside((1 - share) * chain.transition + share * drawn)
        climbed = worst_case(loss, chain, radius, method="frank-wolfe", starts=1, start=start)
        best = max(best, climbed.value)
    return best


@pytest.mark.parametrize("part", range(PARTS))
def test_no_chain_loses_more_than_the_bound(part: int) -> None:
    rng = np.random.default_rng([part, 20_000])
    certified, proofs = 0, set()
    for number in range(EACH):
        size = int(rng.integers(2, 7))
        theta, loss = doublets(rng, size), losses(rng, size)
        radius = 10.0 ** rng.uniform(-4, 0.5)
        structural = rng.random() < 0.3
        chain = Estimate.from_doublets(theta, support=theta > 0 if structural else None)
        result = worst_case(
            loss,
            chain,
            radius,
            method="global",
            tolerance=10.0 ** rng.uniform(-6, -2),
            max_nodes=int(rng.choice([3, 30, 300])),
            threads=1,
        )
        rival = dense(rng, loss, chain, radius)
        # Only rounding, of the value that a chain reaches.
        excess = max(rival, result.value) - result.bound
        assert excess <= 1e-12 * np.ptp(loss), (part, number)
        assert result.value <= result.bound <= loss.max()
        assert result.divergence <= radius * (1 + 1e-9)
        certified += result.certified
        proofs.add(result.proof)
    # The test is not empty: every proof occurs, and much is certified within few boxes.
    assert certified > EACH / 3
    assert proofs >= {Proof.CONVEXITY, Proof.BRANCHING, Proof.LARGEST_LOSS}
