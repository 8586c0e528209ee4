"""What decisions must reach, against brute force, general solvers and the clock."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from functools import partial
from statistics import median

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import lil_array

from benchmarks.measure import Limit, at_least, timed
from markovdro import (
    Estimate,
    Newsvendor,
    count_transitions,
    estimate,
    prescribe,
    simulate,
    worst_case,
    worst_case_batch,
)
from markovdro.experiments import RevenueProblem, synthetic_problem, synthetic_revenue

FloatArray = npt.NDArray[np.float64]


def feasible(given: RevenueProblem) -> FloatArray:
    every = np.array(list(itertools.product([0.0, 1.0], repeat=len(given.prices))))
    kept: FloatArray = every[(every @ given.matrix.T <= given.bound).all(axis=1)]
    return kept


def evaluate_all(given: RevenueProblem, choices: FloatArray, radius: float, method: str) -> None:
    for chain in given.estimates:
        worst_case_batch(-given.prices * choices, chain, radius, method=method)


def against_all_assortments() -> Iterator[Limit]:
    for method, instances in (("frank-wolfe", 20), ("auto", 5)):
        ratios, took = [], []
        for seed in range(100, 100 + instances):
            given = synthetic_revenue(10, 5, 300, seed)
            choose = partial(
                prescribe,
                given.assortment,
                given.estimates,
                0.1,
                weights=given.weights,
                method=method,
            )
            ours = timed(choose, repeats=3)
            choices = feasible(given)
            began = time.perf_counter()
            evaluate_all(given, choices, 0.1, method)
            ratios.append((time.perf_counter() - began) / ours)
            took.append(ours)
        yield at_least(
            f"choice of 10 brands, 5 groups, r = 0.1, {method}: every feasible assortment "
            f"evaluated, over our time (median of {instances}, ours {1000 * median(took):.0f} ms)",
            median(ratios),
            20,
        )


def large_assortments() -> Iterator[Limit]:
    for room in (1.0, 5.0):
        found = [
            prescribe(
                given.assortment,
                given.estimates,
                0.01,
                weights=given.weights,
                tolerance=0.01,
                time_limit=60.0,
            )
            for given in (synthetic_revenue(50, 5, 2000, 100 + m, room=room) for m in range(10))
        ]
        took = sorted(d.seconds for d in found)
        closed = sum(d.certified and d.relative_gap <= 0.01 for d in found)
        yield Limit(
            f"choice of 50 brands, 5 groups, T = 2000, r = 0.01, resources times {room:g}: "
            f"proven to 1% within 60 s (median {median(took):.1f} s, most {took[-1]:.1f} s)",
            f"{closed} of 10",
            "= 10",
            closed == 10,
        )


def demand(states: int) -> Estimate:
    level = np.arange(states)
    mean = 0.5 * states + 0.8 * (level - 0.5 * states)
    chain = np.exp(-0.5 * ((level - mean[:, None]) / (0.06 * states)) ** 2) + 1e-6
    chain /= chain.sum(axis=1, keepdims=True)
    log = simulate(chain, 25 * states, seed=1)
    return estimate(count_transitions(log, states=range(states)), smoothing="pseudo-counts")


def newsvendor() -> Iterator[Limit]:
    given, stall = demand(200), Newsvendor(price=5, cost=3, salvage=1)
    for radius in (0.001, 0.01, 0.1):
        seconds = timed(partial(prescribe, stall, given, radius), repeats=3)
        yield Limit(
            f"newsvendor over 200 demand states, r = {radius:g}",
            f"{seconds:.2f} s",
            "≤ 2 s",
            seconds <= 2,
        )


def transport_program(given: Estimate, loss: FloatArray, radius: float) -> float:
    """The Wasserstein worst case as one linear program, solved by HiGHS through scipy."""
    d = len(loss)
    mass, law = np.arange(d**3).reshape(d, d, d), d**3 + np.arange(d)
    cost = np.abs(np.subtract.outer(np.arange(d), np.arange(d))).astype(float)
    equal, budget = lil_array((d * d + d + 1, d**3 + d)), lil_array((d, d**3 + d))
    for i in range(d):
        for j in range(d):
            equal[i * d + j, mass[i, j]] = 1.0
            equal[i * d + j, law[i]] = -given.transition[i, j]
        budget[i, mass[i].ravel()] = cost.ravel()
        budget[i, law[i]] = -radius
        equal[d * d + i, mass[:, :, i].ravel()] = 1.0
        equal[d * d + i, law[i]] -= 1.0
    equal[d * d + d, law] = 1.0
    columns = {"A_eq": equal.tocsr(), "A_ub": budget.tocsr()}
    levels = {"b_eq": np.append(np.zeros(d * d + d), 1.0), "b_ub": np.zeros(d)}
    began = time.perf_counter()
    linprog(np.concatenate([np.zeros(d**3), -loss]), **columns, **levels, method="highs")
    return time.perf_counter() - began


def against_a_linear_program() -> Iterator[Limit]:
    for size in (10, 30):
        given = synthetic_problem(size, 300, seed=100)
        solve = partial(worst_case, given.loss, given.estimate, 0.1, ambiguity="wasserstein")
        theirs = transport_program(given.estimate, given.loss, 0.1)
        yield at_least(
            f"d = {size}, Wasserstein, r = 0.1: a linear program in HiGHS over our time",
            theirs / timed(solve),
            20,
        )


GROUPS = (against_all_assortments, large_assortments, newsvendor, against_a_linear_program)
