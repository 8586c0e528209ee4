"""Where numbers end: steps in the multiplier, rows that cannot gain, radii from 1e-300 to 1e300."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import Estimate, MarkovDROError, Status, estimate, worst_case
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._loop import Climb
from markovdro.worstcase._multistart import _audited, find
from markovdro.worstcase._options import Options, check_options
from markovdro.worstcase._problem import Problem

Array = npt.NDArray[np.float64]


def options(**changes: object) -> Options:
    given: dict[str, object] = {
        "ambiguity": "conditional-entropy",
        "method": "frank-wolfe",
        "starts": 1,
        "tolerance": 1e-6,
        "time_limit": None,
        "max_iterations": 1000,
        "threads": None,
    }
    return check_options(**(given | changes))


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


@pytest.mark.parametrize("radius", [1e-300, 1e-17, 300.0, 400.0, 700.0, 1e5, 1e300])
def test_the_papers_method_ends_for_any_radius(radius: float) -> None:
    coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    printed = worst_case([0, 1], coin, radius, method="paper")
    exact = worst_case([0, 1], coin, radius)
    assert printed.value == pytest.approx(exact.value, abs=1e-6)
    assert printed.divergence <= radius * (1 + 1e-9)


def test_the_papers_method_takes_zeros() -> None:
    counts = np.array([[10, 40, 0], [15, 0, 25], [25, 0, 5]])
    chain = estimate(counts, smoothing="none", support=counts > 0)
    printed = worst_case([0, 1, 4], chain, 400.0, method="paper")
    assert printed.value == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize("chain", [np.full((2, 2), math.nan), np.eye(2)])
def test_what_has_no_finite_divergence_is_pulled_to_the_centre(chain: Array) -> None:
    coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    pulled = ConditionalEntropyBall(coin, 0.1).pull_inside(chain)
    assert np.array_equal(pulled, coin.transition)


@pytest.mark.parametrize("mass", [1e-291, 5e-311])
def test_rows_without_digits_are_refused(mass: float) -> None:
    theta = [[0.4, 0.2, 0.1], [0.1, 0.2, 0.0], [mass, mass / 2, mass / 2]]
    with pytest.raises(
        MarkovDROError, match=r"the state 2 has a row of mass .* least mass of 1e-290"
    ):
        Estimate.from_doublets(theta)
    theta[2] = [1e-285, 1e-286, 1e-286]
    found = worst_case([3.0, 1.0, 0.0], Estimate.from_doublets(theta), 0.1)
    assert found.status is not Status.TIME_LIMIT
    assert found.nominal < found.value <= 3.0


@pytest.mark.parametrize("states", [3, 130])
def test_numbers_that_break_down_are_not_called_a_time_limit(states: int) -> None:
    given = synthetic_problem(states, 30 * states, seed=1)
    broken = np.full(states, math.nan)
    with np.errstate(invalid="ignore"):
        found = find(Problem(broken, given.estimate, 0.1), options())
    assert found.status is Status.STALLED
    assert np.array_equal(found.transition, given.estimate.transition)


@pytest.mark.parametrize("states", [10, 130])
def test_a_chain_that_was_pulled_inside_is_stationary_only_within_the_tolerance(
    states: int,
) -> None:
    """A start outside the ball that beats all inside is pulled in, off its stationary point."""
    given = synthetic_problem(states, 30 * states, seed=states)
    loss = (given.loss - given.loss.min()) / np.ptp(given.loss)
    problem = Problem(loss, given.estimate, 0.01)
    outside = worst_case(loss, given.estimate, 0.02, starts=1, tolerance=1e-9).transition
    found = find(problem, options(max_iterations=0, tolerance=0.5), outside)
    ball = ConditionalEntropyBall(given.estimate, 0.01)
    assert ball.divergence(found.transition) <= 0.01 * (1 + 1e-9)
    assert 0 < found.gap < 0.5
    again = find(problem, options(max_iterations=0, tolerance=found.gap / 1.5), outside)
    assert again.gap == pytest.approx(found.gap)
    assert again.status is Status.STALLED


def test_the_audit_of_the_loop_keeps_the_tolerance_too() -> None:
    given = synthetic_problem(10, 300, seed=10)
    loss = (given.loss - given.loss.min()) / np.ptp(given.loss)
    problem = Problem(loss, given.estimate, 0.01)
    outside = worst_case(loss, given.estimate, 0.02, starts=1).transition
    climbed = Climb(outside, problem.evaluate(outside), 0.0, 1, Status.STATIONARY)
    gap = _audited(problem, options(), climbed).gap
    assert _audited(problem, options(tolerance=gap * 1.1), climbed).status is Status.STATIONARY
    assert _audited(problem, options(tolerance=gap / 1.5), climbed).status is Status.STALLED
