"""Proven ranges of long-run shares, against closed forms and random chains of the ball."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from markovdro import (
    Estimate,
    MarkovDROError,
    Status,
    stationary_bounds,
    stationary_law,
    worst_case,
)
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem

Array = npt.NDArray[np.float64]


def drawn(seed: int, size: int, concentration: float = 1.0) -> Array:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(size * size, concentration)).reshape(size, size) + 0.001
    normalised: Array = theta / theta.sum()
    return normalised


def cost_of_share(theta: Array, share: float) -> float:
    """The least divergence at which two states have the law ``(share, 1 − share)``.

    ``P_01 = s (1 − share)`` and ``P_10 = s share``: one scalar s is left.
    """
    weights = theta.sum(axis=1)
    out, back = theta[0, 1] / weights[0], theta[1, 0] / weights[1]

    def entropy(p: float, q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    def cost(log_s: float) -> float:
        s = math.exp(log_s)
        return float(
            weights[0] * entropy(out, s * (1 - share)) + weights[1] * entropy(back, s * share)
        )

    most = -math.log(max(share, 1 - share)) - 1e-12
    found = minimize_scalar(
        cost, bounds=(most - 20, most), method="bounded", options={"xatol": 1e-9}
    )
    return float(found.fun)


@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_two_states_in_closed_form(seed: int, radius: float) -> None:
    theta = drawn(seed, 2, 3.0)
    chain = Estimate.from_doublets(theta)
    nominal = float(stationary_law(chain.transition)[0])
    # The cost falls to zero at P' and rises on both sides.
    least = brentq(lambda x: cost_of_share(theta, x) - radius, 1e-9, nominal, xtol=1e-12)
    most = brentq(lambda x: cost_of_share(theta, x) - radius, nominal, 1 - 1e-9, xtol=1e-12)
    found = stationary_bounds(chain, radius, tolerance=1e-6)
    assert found.status is Status.CERTIFIED
    expected = np.array([[least, 1 - most], [most, 1 - least]])
    # The closed form is good to the tolerance of its scalar search, squared.
    assert (found.lower <= expected[0] + 1e-9).all()
    assert (found.upper >= expected[1] - 1e-9).all()
    assert found.lower == pytest.approx(expected[0], abs=1.1e-6)
    assert found.upper == pytest.approx(expected[1], abs=1.1e-6)
    assert (found.inner_lower >= expected[0] - 1e-9).all()
    assert (found.inner_upper <= expected[1] + 1e-9).all()


def test_a_symmetric_chain_has_symmetric_ranges() -> None:
    chain = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    found = stationary_bounds(chain, 0.02, tolerance=1e-6)
    assert found.lower[0] == pytest.approx(found.lower[1], abs=2e-6)
    # What one state has, the other lacks.
    assert found.lower + found.upper[::-1] == pytest.approx(np.ones(2), abs=4e-6)
    circle = np.full((4, 4), 0.01) + 0.2 * np.roll(np.eye(4), 1, axis=1)
    ring = stationary_bounds(Estimate.from_doublets(circle / circle.sum()), 0.02, tolerance=1e-6)
    assert ring.nominal == pytest.approx(np.full(4, 0.25))
    assert np.ptp(ring.lower) < 4e-6
    assert np.ptp(ring.upper) < 4e-6


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(2, 7),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.floats(-5, -0.5).map(lambda x: 10.0**x),
)
def test_ranges_hold_the_laws_of_the_ball(
    seed: int, size: int, concentration: float, radius: float
) -> None:
    chain = Estimate.from_doublets(drawn(seed, size, concentration))
    found = stationary_bounds(chain, radius, tolerance=1e-2, time_limit=5)
    assert (found.lower >= 0).all()
    assert (found.upper <= 1).all()
    ordered = [found.lower, found.inner_lower, found.nominal, found.inner_upper, found.upper]
    for below, above in pairwise(ordered):
        # The law of P' comes from another elimination than the search.
        assert (below <= above + 1e-12).all()
    assert found.lower.sum() <= 1 <= found.upper.sum()
    # What the others take at least, no state can have; proven with the tolerance to spare.
    assert (found.inner_upper <= 1 - found.lower.sum() + found.lower + 1e-12).all()
    shortfall = max(
        (found.inner_lower - found.lower).max(), (found.upper - found.inner_upper).max()
    )
    assert found.gap == pytest.approx(float(shortfall), abs=1e-15)
    if found.status is Status.CERTIFIED:
        assert found.gap <= 1e-2 + 1e-12
    ball = ConditionalEntropyBall(chain, radius)
    rng = np.random.default_rng(seed)
    for share in (0.05, 0.3, 1.0) * 5:
        rival = ball.pull_inside(
            (1 - share) * chain.transition
            + share * rng.dirichlet(np.full(size, 0.3), size=size)
            + 1e-12
        )
        law = stationary_law(rival / rival.sum(axis=1, keepdims=True), method="gth")
        assert (law >= found.lower - 1e-12).all()
        assert (law <= found.upper + 1e-12).all()


@pytest.mark.parametrize("states", [10, 20])
def test_ranges_are_the_worst_cases_of_visits(states: int) -> None:
    given_ = synthetic_problem(states, 50 * states, seed=1)
    found = stationary_bounds(given_.estimate, 0.002, tolerance=1e-3)
    assert found.status is Status.CERTIFIED
    for m in (0, states - 1):
        visits = np.zeros(states)
        visits[m] = 1.0
        most = worst_case(visits, given_.estimate, 0.002, method="frank-wolfe", starts=states)
        least = worst_case(-visits, given_.estimate, 0.002, method="frank-wolfe", starts=states)
        assert most.value <= found.upper[m] <= most.value + 2e-3
        assert -least.value >= found.lower[m] >= -least.value - 2e-3


def test_a_smaller_ball_has_no_wider_ranges() -> None:
    chain = synthetic_problem(6, 300, seed=2).estimate
    ranges = [stationary_bounds(chain, r, tolerance=1e-3) for r in (0.0, 1e-4, 1e-2, 0.1)]
    for small, large in pairwise(ranges):
        # Each bound may exceed the truth by the tolerance.
        assert (small.upper <= large.upper + 1e-3).all()
        assert (small.lower >= large.lower - 1e-3).all()
        assert (small.inner_upper <= large.upper).all()
        assert (small.inner_lower >= large.lower).all()
    # They say something: neither 0 nor 1.
    assert (ranges[-1].lower > 0).all()
    assert (ranges[-1].upper < 1).all()


def test_radius_zero_is_the_law_of_the_estimate() -> None:
    chain = synthetic_problem(6, 300, seed=2).estimate
    found = stationary_bounds(chain, 0)
    assert found.status is Status.CERTIFIED
    law = np.linalg.matrix_power(chain.transition, 4096)[0]
    for array in (found.lower, found.upper, found.inner_lower, found.inner_upper, found.nominal):
        assert array == pytest.approx(law, abs=1e-12)
    assert found.gap <= 1e-15


def test_no_time_at_all() -> None:
    chain = synthetic_problem(30, 1500, seed=2).estimate
    found = stationary_bounds(chain, 0.1, time_limit=0)
    assert found.status is Status.TIME_LIMIT
    assert (found.lower == 0).all()
    assert (found.upper == 1).all()
    assert (found.inner_lower <= found.nominal + 1e-12).all()
    assert (found.inner_upper >= found.nominal - 1e-12).all()


def test_little_time_proves_some_and_the_rest_is_told() -> None:
    chain = synthetic_problem(25, 1000, seed=2).estimate
    stationary_bounds(synthetic_problem(3, 50, seed=2).estimate, 0.1, tolerance=0.1)  # compiles
    found = stationary_bounds(chain, 0.1, tolerance=1e-5, time_limit=0.3)
    assert found.status is Status.TIME_LIMIT
    # Single relaxations are not interrupted, and the machine may be busy.
    assert found.seconds < 10
    assert (found.lower <= found.inner_lower).all()
    assert (found.upper >= found.inner_upper).all()


def test_the_number_of_threads_changes_no_digit() -> None:
    chain = synthetic_problem(10, 300, seed=2).estimate
    one, two = (stationary_bounds(chain, 0.03, tolerance=1e-2, threads=t) for t in (1, 2))
    assert np.array_equal(one.lower, two.lower)
    assert np.array_equal(one.upper, two.upper)


def test_labels_and_the_table() -> None:
    coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["heads", "tails"])
    found = stationary_bounds(coin, 0.01)
    assert found.states == ("heads", "tails")
    assert found.radius == 0.01
    shown = repr(found).splitlines()
    assert shown[0].split() == ["state", "proven", "reached", "nominal", "reached", "proven"]
    assert shown[1].split()[:2] == ["heads", f"{found.lower[0]:.4f}"]
    assert shown[1].split()[3] == "0.5000"
    assert shown[-1].startswith("certified, radius 0.01 nats")
    assert len(shown) == 4


@pytest.mark.parametrize(("states", "lines"), [(20, 20), (21, 21), (25, 21)])
def test_long_tables_are_cut_in_the_middle(states: int, lines: int) -> None:
    chain = synthetic_problem(states, 50 * states, seed=1).estimate
    shown = repr(stationary_bounds(chain, 1e-4)).splitlines()
    assert len(shown) == lines + 2
    cut = [line for line in shown if "more" in line]
    assert cut == ([f"… {states - 20} more"] if states > 20 else [])
    assert shown[-2].split()[0] == str(states - 1)


def test_results_cannot_be_changed() -> None:
    found = stationary_bounds(Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]]), 0.01)
    for array in (found.lower, found.upper, found.inner_lower, found.inner_upper, found.nominal):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5
    with pytest.raises(AttributeError):
        found.radius = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": -0.1}, "radius must be at least 0"),
        ({"radius": math.nan}, "finite"),
        ({"radius": "much"}, "numbers"),
        ({"estimate": np.eye(2)}, "must be an Estimate, but is ndarray"),
        ({"estimate": None}, "must be an Estimate, but is NoneType"),
        ({"tolerance": 0.0}, "tolerance must be above 0"),
        ({"time_limit": -1}, "time_limit must be at least 0"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "estimate": Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]]),
        "radius": 0.1,
    }
    with pytest.raises(MarkovDROError, match=message):
        stationary_bounds(**(arguments | change))  # type: ignore[arg-type]
