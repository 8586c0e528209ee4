"""The rivals of the benchmark, on chains small enough for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.problems import PROBLEMS
from benchmarks.rivals import RIVALS

from markovdro import conditional_entropy, worst_case
from markovdro.experiments import synthetic_problem

pytest.importorskip("casadi")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("rival", [name for name in RIVALS if not name.startswith("markovdro")])
@pytest.mark.parametrize("radius", [0.01, 0.1])
def test_every_rival_reaches_our_stationary_point(rival: str, radius: float) -> None:
    given = synthetic_problem(3, 200, seed=4)
    ours = worst_case(given.loss, given.estimate, radius, starts=1, tolerance=1e-9)
    answer = RIVALS[rival](given, radius, 1e-8, 30.0)
    span = float(np.ptp(given.loss))
    # IPOPT and trust-constr leave constraints by up to 1e-8; gradient descent is inexact.
    assert conditional_entropy(given.estimate, answer.transition) <= radius + 1e-6
    assert answer.value == pytest.approx(ours.value, abs=1e-2 * span if "paper" in rival else 1e-5)
    assert answer.value <= ours.value + 1e-6 * span


@pytest.mark.parametrize("name", [n for n, p in PROBLEMS.items() if p.states <= 100])
def test_every_problem_is_what_it_says(name: str) -> None:
    problem = PROBLEMS[name]
    given = problem.build()
    assert given.estimate.transition.shape == (problem.states, problem.states)
    assert given.loss.shape == (problem.states,)
    assert bool((given.estimate.transition > 0).all()) == problem.positive
    result = worst_case(given.loss, given.estimate, 0.01)
    assert result.value > result.nominal
    assert result.divergence <= 0.01 * (1 + 1e-9)


def test_a_cell_of_the_table_reports_what_it_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.cell", "synthetic-10", "0.1", "markovdro"]
    found = subprocess.run(  # noqa: S603
        [*command, "1e-6", "10"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    report = json.loads(found.stdout)
    assert report["status"] == "stationary"
    assert 0 <= report["gap"] <= 1e-6
    assert report["value"] > report["nominal"]
    assert report["peak"] > 0
    assert report["seconds"] > 0
