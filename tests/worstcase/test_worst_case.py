"""One worst case: what it reports, and how it can end."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import (
    Estimate,
    MarkovDROError,
    Status,
    conditional_entropy,
    count_transitions,
    estimate,
    stationary_law,
    worst_case,
)
from markovdro.errors import UnvisitedStatesWarning
from markovdro.experiments import SyntheticProblem, synthetic_problem

Array = npt.NDArray[np.float64]

SIZES = [2, 10, 130]  # whole solves in compiled code, and the loop over LAPACK
RADII = [1e-4, 0.01, 0.1, 1.0, 10.0]


def problem(states: int) -> SyntheticProblem:
    return synthetic_problem(states, 30 * states, seed=states)


def law_by_least_squares(transition: Array) -> Array:
    size = len(transition)
    system = np.vstack([transition.T - np.eye(size), np.ones(size)])
    law: Array = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return law


def gap_by_dual_grid(result_radius: float, chain: Estimate, law: Array, values: Array) -> float:
    """An upper bound on ``max_S Σ π_i (S_i − P_i)·h`` from the Lagrangian of the ball.

    For every λ > 0 and t_i > max h, ``Σ_i π_i t_i − λ(1 − r) + λ Σ_i α_i KL-terms`` bounds it; t_i
    solves its own equation by bisection, λ is taken on a fine grid.
    """
    nominal, alpha = chain.transition, chain.weights
    best = math.inf
    top = values.max()
    for multiplier in np.geomspace(1e-6, 1e6, 2001):
        kappa = law / (multiplier * alpha)
        low = np.full(len(law), top)
        high = top + 1 / kappa
        for _ in range(100):
            middle = (low + high) / 2
            with np.errstate(divide="ignore"):
                f = (nominal / (middle[:, None] - values)).sum(axis=1)
            low, high = np.where(f > kappa, middle, low), np.where(f > kappa, high, middle)
        entropy = (nominal * np.log(high[:, None] - values)).sum(axis=1) + np.log(kappa)
        gain = law @ (high - 1 / kappa)
        bound = gain + multiplier * (result_radius - alpha @ entropy)
        best = min(best, float(bound))
    return best - float(law @ values)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("states", SIZES)
def test_the_value_is_reached_by_a_chain_of_the_ball(states: int, radius: float) -> None:
    given = problem(states)
    result = worst_case(given.loss, given.estimate, radius)
    assert result.divergence <= radius * (1 + 1e-9)
    assert conditional_entropy(given.estimate, result.transition) == pytest.approx(
        result.divergence
    )
    assert np.abs(result.transition.sum(axis=1) - 1).max() < 1e-12
    assert (result.transition >= 0).all()
    span = float(np.ptp(given.loss))
    law = stationary_law(result.transition, method="gth")
    assert float(law @ given.loss) == pytest.approx(result.value, abs=1e-10 * span)
    assert result.stationary == pytest.approx(law, abs=1e-10)
    assert result.nominal <= result.value <= result.bound <= given.loss.max()
    assert result.gap == result.bound - result.value


@pytest.mark.parametrize("radius", [0.01, 0.1])
@pytest.mark.parametrize("states", [5, 10])
def test_the_gap_is_that_of_the_chain_returned(states: int, radius: float) -> None:
    given = problem(states)
    result = worst_case(given.loss, given.estimate, radius, method="frank-wolfe", tolerance=1e-3)
    law = law_by_least_squares(result.transition)
    fundamental = np.linalg.inv(np.eye(states) - result.transition + law[None, :])
    values = fundamental @ (given.loss - law @ given.loss)
    bound = gap_by_dual_grid(radius, given.estimate, law, values)
    span = float(np.ptp(given.loss))
    assert result.status is Status.STATIONARY
    assert result.stationarity <= 1e-3 * span
    # The grid of multipliers has steps of 1.4%, and the bound is flat to second order.
    assert result.stationarity <= bound + 1e-9 * span
    assert result.stationarity == pytest.approx(bound, abs=1e-4 * span)


@pytest.mark.parametrize("states", SIZES)
def test_radius_zero_is_the_estimated_chain_and_proven(states: int) -> None:
    given = problem(states)
    result = worst_case(given.loss, given.estimate, 0)
    assert result.status is Status.CERTIFIED
    assert result.certified
    assert result.value == result.bound == result.nominal
    assert np.array_equal(result.transition, given.estimate.transition)
    law = law_by_least_squares(given.estimate.transition)
    assert result.value == pytest.approx(float(law @ given.loss), abs=1e-9)


@pytest.mark.parametrize("states", SIZES)
def test_a_huge_radius_is_trivial_and_proven(states: int) -> None:
    given = problem(states)
    result = worst_case(given.loss, given.estimate, 10.0)
    assert result.status is Status.TRIVIAL
    assert result.certified
    assert result.value == pytest.approx(given.loss.max(), abs=1e-9 * np.ptp(given.loss))


@pytest.mark.parametrize("states", [10, 130])
def test_near_the_largest_loss_the_value_is_certified_without_being_trivial(states: int) -> None:
    given = problem(states)
    radius = 1.0
    while worst_case(given.loss, given.estimate, radius, starts=1).status is Status.TRIVIAL:
        radius *= 0.8
    result = worst_case(given.loss, given.estimate, radius, starts=1, tolerance=0.5)
    assert result.status is Status.CERTIFIED
    assert 1e-9 * np.ptp(given.loss) < result.gap <= 0.5 * np.ptp(given.loss)


@pytest.mark.parametrize("states", [10, 130])
def test_the_iteration_limit_is_told(states: int) -> None:
    given = problem(states)
    result = worst_case(
        given.loss,
        given.estimate,
        0.02,
        method="frank-wolfe",
        starts=1,
        max_iterations=1,
    )
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 1
    assert result.nominal < result.value <= result.bound


def test_the_time_limit_is_told_and_the_best_kept() -> None:
    given = problem(130)
    result = worst_case(given.loss, given.estimate, 0.02, time_limit=0)
    assert result.status is Status.TIME_LIMIT
    assert result.value == pytest.approx(result.nominal)
    assert result.bound == given.loss.max()
    assert math.isfinite(result.stationarity)


def test_time_that_runs_out_between_starts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(130)
    one = worst_case(given.loss, given.estimate, 0.03, starts=1)
    all_starts = worst_case(given.loss, given.estimate, 0.03)
    # Time passes by one second a look. The call looks once as it begins, the first climb once for
    # each step; at its first look the climb from a trap finds the time over, and keeps the trap.
    clock = iter(range(10**6))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    cut = worst_case(given.loss, given.estimate, 0.03, time_limit=one.iterations + 1)
    assert cut.status is Status.TIME_LIMIT
    assert cut.iterations == one.iterations
    assert one.value < cut.value < all_starts.value
    assert cut.divergence <= 0.03 * (1 + 1e-9)


@pytest.mark.parametrize("looped", [False, True])
def test_a_tolerance_below_rounding_stalls(looped: bool) -> None:
    """Unless the gap happens to be rounded to zero, as it is for some of twenty problems."""
    callback = (lambda *_: None) if looped else None
    stalled = 0
    for seed in range(20):
        given = synthetic_problem(10, 300, seed)
        result = worst_case(
            given.loss,
            given.estimate,
            0.01,
            method="frank-wolfe",
            starts=1,
            tolerance=1e-18,
            callback=callback,
        )
        assert result.status in {Status.STALLED, Status.STATIONARY}
        # The rest of the gap is rounding: some of the last digits of numbers up to the loss range.
        assert result.stationarity < 1e-13 * np.ptp(given.loss)
        stalled += result.status is Status.STALLED
        told = result.stationarity > 1e-18 * np.ptp(given.loss)
        assert told == (result.status is Status.STALLED)
    assert stalled > 0


def test_an_inexact_oracle_that_stops_too_early_is_told() -> None:
    given = problem(10)
    result = worst_case(given.loss, given.estimate, 0.01, method="paper", tolerance=1e-9)
    assert result.status is Status.STALLED
    assert result.stationarity > 1e-9 * np.ptp(given.loss)
    assert result.divergence <= 0.01 * (1 + 1e-9)


def test_a_constant_loss_has_nothing_to_find() -> None:
    given = problem(5)
    result = worst_case(np.full(5, 3.5), given.estimate, 0.1)
    assert result.status is Status.TRIVIAL
    assert result.value == result.bound == 3.5


@pytest.mark.parametrize("states", [10, 130])
def test_several_starts_find_no_less_than_one(states: int) -> None:
    given = problem(states)
    for radius in (0.01, 0.1, 0.3):
        one = worst_case(given.loss, given.estimate, radius, starts=1)
        four = worst_case(given.loss, given.estimate, radius)
        assert four.value >= one.value - 1e-12


def test_one_start_misses_a_large_part_where_a_trap_is_better() -> None:
    """At d = 50, T = 5000, r = 0.1 the climb from P' ends near half of the distance."""
    given = synthetic_problem(50, 5000, seed=1)
    one = worst_case(given.loss, given.estimate, 0.1, starts=1)
    best = worst_case(given.loss, given.estimate, 0.1)
    assert one.status is Status.STATIONARY
    assert one.value - one.nominal < 0.7 * (best.value - best.nominal)


def test_the_callback_sees_the_climb_in_units_of_the_loss() -> None:
    given = problem(10)
    seen: list[tuple[int, float, float]] = []
    result = worst_case(
        given.loss,
        given.estimate,
        0.05,
        method="frank-wolfe",
        starts=1,
        callback=lambda *a: seen.append(a),
    )
    steps, values, gaps = zip(*seen, strict=True)
    assert list(steps) == list(range(result.iterations + 1))
    assert values[0] == pytest.approx(result.nominal)
    assert values[-1] == pytest.approx(result.value)
    assert gaps[-1] == pytest.approx(result.stationarity, abs=1e-12)
    assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("states", [2, 5, 20, 60])
def test_the_compiled_solve_and_the_loop_agree(states: int, radius: float) -> None:
    """A callback sends the problem through the loop in Python, which is other code."""
    given = synthetic_problem(states, 40 * states, seed=3)
    compiled = worst_case(given.loss, given.estimate, radius)
    looped = worst_case(given.loss, given.estimate, radius, callback=lambda *_: None)
    span = float(np.ptp(given.loss))
    assert looped.value == pytest.approx(compiled.value, abs=1e-9 * span)
    assert looped.iterations == compiled.iterations
    assert looped.status is compiled.status


def test_a_warm_start_at_the_answer_needs_no_step() -> None:
    given = problem(10)
    cold = worst_case(given.loss, given.estimate, 0.1, starts=1)
    warm = worst_case(given.loss, given.estimate, 0.1, starts=1, start=cold)
    assert warm.value >= cold.value - 1e-12
    assert warm.iterations <= cold.iterations


@pytest.mark.parametrize("states", [10, 130])
def test_a_start_outside_the_ball_is_moved_inside(states: int) -> None:
    given = problem(states)
    far = 0.5 * given.estimate.transition + 0.5 * np.eye(states)
    result = worst_case(given.loss, given.estimate, 1e-3, starts=1, start=far)
    assert result.divergence <= 1e-3 * (1 + 1e-9)


def test_unvisited_states_are_told_in_the_result() -> None:
    chain = estimate(count_transitions([0, 1, 0, 1, 1, 0], states=[0, 1, 2]))
    result = worst_case([0.0, 1.0, 5.0], chain, 0.1)
    assert UnvisitedStatesWarning in map(type, result.warnings)
    assert "never left" in repr(result)


def test_structural_zeros_are_kept() -> None:
    """A machine that ages 0 → 1 → 2 and is renewed from any age: no other transition exists."""
    support = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 1]], dtype=bool)
    counts = [[10, 40, 0], [15, 0, 25], [25, 0, 5]]
    chain = estimate(counts, smoothing="none", support=support)
    for radius in (0.01, 0.3, 3.0):
        result = worst_case([0.0, 1.0, 4.0], chain, radius)
        assert (result.transition[~support] == 0).all()
        assert result.divergence <= radius * (1 + 1e-9)
        assert result.value > result.nominal


def test_transitions_that_were_never_seen_but_may_happen_are_used() -> None:
    """State 2 is dear and leads back to 0; a large radius pays for jumping there from state 0."""
    counts = [[10, 40, 0], [15, 0, 25], [25, 0, 0]]
    possible = np.array([[1, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=bool)
    chain = estimate(counts, smoothing="none", support=possible)
    result = worst_case([0.0, 1.0, 4.0], chain, 0.5)
    assert result.transition[0, 2] > 0.01
    seen_only = estimate(counts, smoothing="none", support=np.array(counts) > 0)
    assert worst_case([0.0, 1.0, 4.0], seen_only, 0.5).value < result.value - 0.01


def test_the_repr_is_a_readable_report() -> None:
    given = problem(10)
    shown = repr(worst_case(given.loss, given.estimate, 0.2))
    for word in ("worst case", "certified", "at most", "estimated", "radius", "steps", "boxes"):
        assert word in shown
    searched = repr(worst_case(given.loss, given.estimate, 0.2, method="frank-wolfe"))
    assert "stationary" in searched
    assert "by largest loss" in searched
    assert "boxes" not in searched


def test_results_cannot_be_changed_and_inputs_are_not() -> None:
    given = problem(5)
    loss = given.loss.copy()
    before = given.estimate.transition.copy()
    result = worst_case(loss, given.estimate, 0.1)
    assert np.array_equal(loss, given.loss)
    assert np.array_equal(given.estimate.transition, before)
    with pytest.raises(ValueError, match="read-only"):
        result.transition[0, 0] = 1.0
    with pytest.raises(AttributeError):
        result.value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": [1.0, 2.0]}, "one entry for each of the 5 states, but has 2"),
        ({"loss": [1.0, 2.0, math.nan, 4.0, 5.0]}, "finite, but holds nan at position 2"),
        ({"loss": ["a"] * 5}, "numbers"),
        ({"loss": np.ones((5, 1))}, "one-dimensional"),
        ({"radius": -0.1}, "at least 0"),
        ({"radius": math.nan}, "finite"),
        ({"radius": math.inf}, "finite"),
        ({"radius": "much"}, "numbers"),
        ({"radius": [0.1, 0.2]}, "one number"),
        ({"estimate": np.eye(5)}, "must be an Estimate, but is ndarray"),
        ({"method": "simplex"}, "method must be one of auto"),
        ({"ambiguity": "total-variation"}, "ambiguity must be one of conditional-entropy"),
        ({"starts": 0}, "starts must be at least 1"),
        ({"starts": 2.5}, "starts must be a whole number"),
        ({"starts": True}, "starts must be a whole number"),
        ({"tolerance": 0.0}, "tolerance must be above 0"),
        ({"tolerance": 1.0}, "below 1"),
        ({"time_limit": -1}, "time_limit must be at least 0"),
        ({"time_limit": math.nan}, "time_limit must be finite"),
        ({"max_iterations": -1}, "max_iterations must be at least 0"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"method": np.array(["auto", "paper"])}, r"method must be one of auto, .* is array\("),
        ({"ambiguity": np.array(["a", "b"])}, r"ambiguity must be one of cond.* is array\("),
        ({"ambiguity": None}, "ambiguity must be one of cond.* but is None"),
        ({"callback": 5}, "callback must be a function, but is 5"),
        ({"start": np.eye(4)}, "start must have the shape"),
        ({"start": np.ones((5, 5))}, "each row of start must sum to one"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    given = problem(5)
    arguments: dict[str, object] = {"loss": given.loss, "estimate": given.estimate, "radius": 0.1}
    with pytest.raises(MarkovDROError, match=message):
        worst_case(**(arguments | change))  # type: ignore[arg-type]


def test_a_start_that_the_support_excludes_is_refused() -> None:
    support = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 1]], dtype=bool)
    chain = estimate([[10, 40, 0], [15, 0, 25], [25, 0, 5]], smoothing="none", support=support)
    with pytest.raises(MarkovDROError, match="support"):
        worst_case([0, 1, 4], chain, 0.1, start=np.full((3, 3), 1 / 3))


def test_a_start_that_the_papers_method_would_not_use_is_refused() -> None:
    given = problem(5)
    with pytest.raises(MarkovDROError, match="start must be left out with method='paper'"):
        worst_case(given.loss, given.estimate, 0.1, method="paper", start=given.estimate.transition)
