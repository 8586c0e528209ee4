"""IPOPT with exact derivatives, from the same start and from the answer."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.rivals import ipopt

from markovdro import worst_case
from markovdro.experiments import synthetic_problem

pytest.importorskip("casadi")


@pytest.mark.parametrize(
    ("states", "transitions", "radius"),
    [
        (2, 100, 0.05),
        (5, 200, 0.01),
        (10, 300, 1e-3),
        (10, 300, 0.01),
        (10, 300, 0.1),
        (20, 1000, 0.01),
        (20, 1000, 0.1),
        (50, 5000, 0.1),
        (110, 5000, 0.01),
    ],
)
def test_from_the_estimate_both_reach_the_same_stationary_point(
    states: int, transitions: int, radius: float
) -> None:
    given = synthetic_problem(states, transitions, seed=5)
    ours = worst_case(
        given.loss,
        given.estimate,
        radius,
        method="frank-wolfe",
        starts=1,
        tolerance=1e-10,
        max_iterations=10_000,
    )
    theirs = ipopt(given, radius, 1e-10, 300.0)
    assert theirs.status == "Solve_Succeeded"
    assert ours.value == pytest.approx(theirs.value, abs=1e-7 * np.ptp(given.loss))


@pytest.mark.parametrize("radius", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_started_at_our_best_ipopt_finds_nothing_better(seed: int, radius: float) -> None:
    given = synthetic_problem(10, 300, seed)
    ours = worst_case(given.loss, given.estimate, radius, method="frank-wolfe", tolerance=1e-9)
    theirs = ipopt(given, radius, 1e-10, 60.0, start=ours.transition)
    assert theirs.value <= ours.value + 1e-7 * np.ptp(given.loss)
