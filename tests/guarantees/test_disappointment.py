"""The promise of the worst case, held against truth by seeded simulation."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, chi2

from markovdro import (
    conditional_entropy,
    count_transitions,
    estimate,
    simulate,
    stationary_law,
    worst_case_batch,
)
from markovdro.chains import Estimate

pytestmark = pytest.mark.slow

Array = npt.NDArray[np.float64]

RUNS = 1000
CHAINS = {
    "mixes fast": np.random.default_rng(1).dirichlet(np.full(4, 3.0), size=4),
    "nearly independent": np.tile([0.4, 0.3, 0.2, 0.1], (4, 1)) * 0.9 + 0.025,
    "sticky": 0.6 * np.eye(4) + 0.4 * np.random.default_rng(2).dirichlet(np.full(4, 3.0), size=4),
}
LOSS = np.array([0.0, 1.0, 2.0, 5.0])


def estimates(chain: Array, transitions: int) -> list[Estimate]:
    rng = np.random.default_rng(transitions)
    return [
        estimate(count_transitions(simulate(chain, transitions, seed=rng), states=range(4)))
        for _ in range(RUNS)
    ]


@pytest.mark.parametrize("transitions", [300, 1000])
@pytest.mark.parametrize("name", CHAINS)
def test_where_the_truth_is_in_the_ball_nobody_is_disappointed(name: str, transitions: int) -> None:
    chain = CHAINS[name]
    truth = float(stationary_law(chain) @ LOSS)
    drawn = estimates(chain, transitions)
    radius = math.log(20) / transitions
    batch = worst_case_batch(LOSS, drawn, radius)
    inside = np.array([conditional_entropy(e, chain) <= radius for e in drawn])
    assert (batch.values[inside] >= truth - 1e-6 * np.ptp(LOSS)).all()
    # The rate rule r = log(1/β)/T: no more than β of all runs disappoint, as far as 1000 can tell.
    disappointed = int((batch.values < truth).sum())
    assert disappointed <= binom.ppf(0.999, RUNS, 0.05)
    # Without a radius it would be about half.
    unprotected = int((batch.nominals < truth).sum())
    assert unprotected >= binom.ppf(0.001, RUNS, 0.3)


@pytest.mark.parametrize("name", CHAINS)
def test_the_divergence_of_the_truth_has_its_asymptotic_law(name: str) -> None:
    """``2 T D_c(θ̂‖θ)`` is asymptotically chi-square with d(d − 1) degrees of freedom."""
    transitions = 5000
    drawn = estimates(CHAINS[name], transitions)
    statistic = np.array([2 * transitions * conditional_entropy(e, CHAINS[name]) for e in drawn])
    for level in (0.5, 0.95):
        beyond = int((statistic > chi2.ppf(level, 12)).sum())
        assert binom.ppf(0.0005, RUNS, 1 - level) <= beyond <= binom.ppf(0.9995, RUNS, 1 - level)
