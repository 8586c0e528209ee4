"""What the solver must reach, each as a ratio within one run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import median

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from benchmarks import decisions
from benchmarks.measure import Limit, at_least, at_most, timed
from benchmarks.rivals import RIVALS
from markovdro import count_transitions, worst_case, worst_case_batch
from markovdro.ambiguity import restricted_support
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._kernels import trap_exits, trap_values


def against_one_factorisation() -> Iterator[Limit]:
    size = 1000
    given = synthetic_problem(size, 5000, seed=1)
    system = np.eye(size) - given.estimate.transition + 1 / size

    def factorise() -> None:
        factors = lu_factor(system, check_finite=False)
        lu_solve(factors, given.loss, check_finite=False)
        lu_solve(factors, given.loss, trans=1, check_finite=False)

    for radius in (0.01, 0.1, 1.0):
        lu = timed(factorise)
        found = worst_case(given.loss, given.estimate, radius, starts=1)
        ours = timed(partial(worst_case, given.loss, given.estimate, radius, starts=1))
        gap = min(found.stationarity, found.gap) / float(np.ptp(given.loss))
        ratio = ours / lu
        yield Limit(
            f"d = {size}, r = {radius:g}, one start, gap {gap:.0e} ({found.status}): time over "
            "one LU with two solves",
            f"{ratio:.1f}×",
            "≤ 20×, gap ≤ 1e-6",
            ratio <= 20 and gap <= 1e-6,
        )


def against_small_solves() -> Iterator[Limit]:
    problems = [synthetic_problem(10, 300, seed) for seed in range(1000)]
    systems = np.array([np.eye(10) - p.estimate.transition + 0.1 for p in problems])
    losses = np.array([p.loss for p in problems])
    chains = [p.estimate for p in problems]
    ours = timed(lambda: worst_case_batch(losses, chains, 0.1, starts=1))
    four = timed(lambda: worst_case_batch(losses, chains, 0.1))
    one_by_one = timed(
        lambda: [np.linalg.solve(a, b) for a, b in zip(systems, losses, strict=True)]
    )
    stacked = timed(partial(np.linalg.solve, systems, losses[:, :, None]))
    claim = "d = 10, r = 0.1, batch of 1000, {}: time over 1000 numpy.linalg.solve, {}"
    yield at_most(claim.format("one start", "one by one"), ours / one_by_one, 60)
    yield at_most(claim.format("one start", "in one call"), ours / stacked, 60)
    yield at_most(claim.format("four starts", "one by one"), four / one_by_one, 60)


def against_other_methods() -> Iterator[Limit]:
    for seed in (1, 2, 3):
        given = synthetic_problem(100, 5000, seed)
        tolerance = 0.01 / float(np.ptp(given.loss))
        solve = partial(
            worst_case,
            given.loss,
            given.estimate,
            0.1,
            method="frank-wolfe",
            starts=1,
            tolerance=tolerance,
        )
        ours = timed(solve)
        paper = RIVALS["paper (Algorithms 1, 2)"](given, 0.1, tolerance, 600.0)
        ipopt = RIVALS["IPOPT, exact derivatives"](given, 0.1, tolerance, 600.0)
        claim = f"d = 100, r = 0.1, seed {seed}, gap 0.01, one start: {{}} over our time"
        yield at_least(claim.format("the paper's method"), paper.seconds / ours, 100)
        yield at_least(claim.format("IPOPT"), ipopt.seconds / ours, 100)


def default_starts() -> Iterator[Limit]:
    for size in (50, 100, 200):
        ratios, worst = [], np.inf
        for seed in range(5):
            given = synthetic_problem(size, 5000, seed)
            chain, loss = given.estimate, given.loss
            default = worst_case(loss, chain, 0.1)
            nominal = worst_case(loss, chain, 0)
            support = restricted_support(chain)
            exits = trap_exits(chain.transition, chain.weights, support, 0.1)
            best = int(np.argmax(trap_values(exits, nominal.value, nominal.stationary, loss)))
            trap = chain.transition.copy()
            trap[best] *= exits[best]
            trap[best, best] += 1 - exits[best]
            climbed = worst_case(loss, chain, 0.1, starts=1, start=trap)
            span = float(np.ptp(loss))
            worst = min(worst, (default.value - climbed.value) / span)
            one = timed(partial(worst_case, loss, chain, 0.1, starts=1))
            four = timed(partial(worst_case, loss, chain, 0.1))
            ratios.append(four / one)
        yield at_most(
            f"d = {size}, r = 0.1: default over one start (median of 5)", median(ratios), 4
        )
        yield Limit(
            f"d = {size}, r = 0.1: least (default − climb from the best trap)/range, of 5",
            f"{worst:.1e}",
            "≥ −1e-6",
            worst >= -1e-6,
        )


FIRST_CALL = """
began = time.perf_counter()
from markovdro import Estimate, worst_case
chain = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
worst_case([0.0, 1.0], chain, 0.1)
print(time.perf_counter() - began)
"""

LARGEST = """
from benchmarks.memory import peak_megabytes
from markovdro import worst_case
from markovdro.experiments import synthetic_problem
given = synthetic_problem(2000, 5000, 1)
print(worst_case(given.loss, given.estimate, 0.01, starts=1).status)
print(worst_case(given.loss, given.estimate, 0.01).status)
print(peak_megabytes())
"""


def _last_line(code: str, cache: str | None = None) -> float:
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(found.stdout.split()[-1])


def first_call() -> Iterator[Limit]:
    with tempfile.TemporaryDirectory() as cache:
        cold = _last_line(FIRST_CALL, cache)
        warm = median(_last_line(FIRST_CALL, cache) for _ in range(3))
    imported = median(
        _last_line(
            "import time; t = time.perf_counter(); import markovdro; print(time.perf_counter() - t)"
        )
        for _ in range(5)
    )
    yield Limit("import markovdro", f"{imported:.2f} s", "≤ 0.25 s", imported <= 0.25)
    claim = "first worst_case of a process, import and compiler included, {} cache"
    yield Limit(claim.format("warm"), f"{warm:.2f} s", "≤ 1 s", warm <= 1)
    yield Limit(claim.format("cold"), f"{cold:.1f} s", "≤ 15 s", cold <= 15)


def memory() -> Iterator[Limit]:
    peak = _last_line(LARGEST)
    yield Limit("d = 2000: peak memory of the process", f"{peak:.0f} MB", "≤ 2048 MB", peak <= 2048)


def counting() -> Iterator[Limit]:
    labels = np.random.default_rng(1).integers(0, 100, 10_000_001)
    for name, log in (("an array", labels), ("a list", labels.tolist())):
        seconds = timed(partial(count_transitions, log), repeats=3)
        claim = f"10 million integer transitions counted, from {name}"
        yield Limit(claim, f"{seconds:.2f} s", "≤ 1 s", seconds <= 1)


def against_ipopt() -> Iterator[Limit]:
    for size, length, radius in ((10, 300, 0.01), (10, 300, 0.1), (20, 1000, 0.1), (50, 5000, 0.1)):
        given = synthetic_problem(size, length, seed=5)
        ours = worst_case(
            given.loss, given.estimate, radius, method="frank-wolfe", starts=1, tolerance=1e-10
        )
        theirs = RIVALS["IPOPT, exact derivatives"](given, radius, 1e-10, 300.0)
        apart = abs(ours.value - theirs.value) / float(np.ptp(given.loss))
        yield Limit(
            f"d = {size}, r = {radius:g}, both from P': distance to IPOPT's value, over the range",
            f"{apart:.0e}",
            "≤ 1e-7",
            apart <= 1e-7,
        )


def certificates() -> Iterator[Limit]:
    """Chains that no limit was tuned on: their seeds begin at 100."""
    log20 = float(np.log(20.0))
    for size, length, radius, tolerance, seconds, most, least in (
        (10, 300, 0.01, 1e-3, 30.0, 20, 20),
        (10, 300, 0.06, 1e-3, 30.0, 20, 20),
        (10, 300, 0.2, 1e-3, 30.0, 20, 19),
        (20, 1000, 0.01, 1e-2, 10.0, 10, 10),
        (30, 5000, 0.01, 1e-2, 120.0, 10, 5),
    ):
        found = [
            worst_case(
                given.loss,
                given.estimate,
                radius,
                method="global",
                tolerance=tolerance,
                time_limit=seconds,
            )
            for given in (synthetic_problem(size, length, 100 + m) for m in range(most))
        ]
        certified = sum(f.certified for f in found)
        took = sorted(f.seconds for f in found)
        yield Limit(
            f"d = {size}, T = {length}, r = {radius:g}: certified to {tolerance:g} of the range "
            f"within {seconds:g} s (median {median(took):.2g} s, most {took[-1]:.2g} s)",
            f"{certified} of {most}",
            f"≥ {least}",
            certified >= least,
        )
    for size, length, radius, seconds, share in (
        (50, 5000, 0.001, 5.0, 0.06),
        (100, 20_000, log20 / 20_000, 10.0, 0.03),
        (200, 20_000, log20 / 20_000, 120.0, 0.1),
        (500, 20_000, log20 / 20_000, 120.0, 0.1),
    ):
        given = synthetic_problem(size, length, 100)
        result = worst_case(given.loss, given.estimate, radius, method="global", time_limit=seconds)
        part = result.gap / (result.value - result.nominal)
        yield Limit(
            f"d = {size}, T = {length}, r = {radius:.2g}: gap of the bound, over the shift "
            f"({result.proof}, {result.seconds:.2g} s)",
            f"{part:.1e}",
            f"≤ {share:g} in {seconds:g} s",
            part <= share and result.seconds <= seconds,
        )


GROUPS = (
    counting,
    against_one_factorisation,
    against_small_solves,
    against_other_methods,
    against_ipopt,
    default_starts,
    certificates,
    first_call,
    memory,
    *decisions.GROUPS,
)
