"""Many worst cases in one call."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markovdro import MarkovDROError, Status, worst_case, worst_case_batch, worst_case_path
from markovdro.experiments import SyntheticProblem, synthetic_problem

PROBLEMS = [synthetic_problem(8, 400, seed) for seed in range(40)]
LARGE = synthetic_problem(120, 3000, 1)


def test_a_batch_is_the_same_as_one_by_one() -> None:
    batch = worst_case_batch(
        [p.loss for p in PROBLEMS], [p.estimate for p in PROBLEMS], np.geomspace(1e-3, 1, 40)
    )
    assert len(batch) == 40
    for given, radius, found in zip(PROBLEMS, np.geomspace(1e-3, 1, 40), batch, strict=True):
        alone = worst_case(given.loss, given.estimate, radius, method="frank-wolfe")
        assert found.value == alone.value
        assert found.status is alone.status
        assert found.divergence == alone.divergence
        assert np.array_equal(found.transition, alone.transition)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_no_number(threads: int) -> None:
    arguments = ([p.loss for p in PROBLEMS], [p.estimate for p in PROBLEMS], 0.1)
    batch = worst_case_batch(*arguments, threads=threads)
    assert np.array_equal(batch.values, worst_case_batch(*arguments).values)


def test_one_loss_one_estimate_many_radii() -> None:
    radii = [0.0, 0.1, 0.01]
    batch = worst_case_batch(PROBLEMS[0].loss, PROBLEMS[0].estimate, radii)
    assert batch.radii.tolist() == radii
    assert batch.values[0] == batch.nominals[0]
    assert batch.values[1] > batch.values[2] > batch.values[0]
    assert "3 worst cases" in repr(batch)


def test_many_losses_one_estimate() -> None:
    losses = np.eye(8)
    batch = worst_case_batch(losses, PROBLEMS[0].estimate, 0.05)
    # The worst case of the indicator of a state is the largest probability that it can get.
    assert batch.nominals.sum() == pytest.approx(1.0)
    assert (batch.values > batch.nominals).all()
    assert np.array_equal(batch[3].loss, losses[3])
    assert batch[-1].value == batch.values[7]
    with pytest.raises(IndexError, match="none at 8"):
        batch[8]
    with pytest.raises(TypeError, match="integer"):
        batch["first"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "part", [slice(0, 2), slice(1, None, 3), slice(None, None, -1), slice(3, 3)], ids=str
)
def test_a_slice_of_a_batch_is_a_batch(part: slice) -> None:
    batch = worst_case_batch(np.eye(8), PROBLEMS[0].estimate, 0.05)
    some = batch[part]
    assert len(some) == len(range(8)[part])
    assert some.seconds == pytest.approx(batch.seconds * len(some) / 8)
    assert repr(some).startswith(f"WorstCaseBatch({len(some)} worst cases")
    for found, m in zip(some, range(8)[part], strict=True):
        assert found.value == batch.values[m]
        assert found.status is batch.statuses[m]
        assert np.array_equal(found.loss, np.eye(8)[m])
        assert np.array_equal(found.transition, batch.transitions[m])
        assert found.estimate is PROBLEMS[0].estimate
        assert not found.transition.flags.writeable


def test_large_chains_come_in_batches_too() -> None:
    batch = worst_case_batch(LARGE.loss, LARGE.estimate, [0.01, 0.02], starts=1)
    for radius, found in zip([0.01, 0.02], batch, strict=True):
        assert found.value == worst_case(LARGE.loss, LARGE.estimate, radius, starts=1).value


@pytest.mark.parametrize("given", [PROBLEMS[0], LARGE])
def test_what_the_time_limit_leaves_is_the_estimated_chain(given: object) -> None:
    problem = PROBLEMS[0] if given is PROBLEMS[0] else LARGE
    batch = worst_case_batch(problem.loss, problem.estimate, [0.1] * 100, time_limit=0)
    assert batch.statuses[-1] is Status.TIME_LIMIT
    assert batch.values[-1] == pytest.approx(batch.nominals[-1])
    assert np.array_equal(batch.transitions[-1], problem.estimate.transition)
    assert batch.bounds[-1] == problem.loss.max()


@pytest.mark.parametrize("given", [PROBLEMS[3], LARGE])
def test_a_path_never_falls(given: object) -> None:
    problem = PROBLEMS[3] if given is PROBLEMS[3] else LARGE
    radii = np.geomspace(1e-4, 1, 13)
    path = worst_case_path(problem.loss, problem.estimate, radii)
    assert (np.diff(path.values) >= -1e-12).all()
    for radius, found in zip(radii, path, strict=True):
        alone = worst_case(problem.loss, problem.estimate, radius, method="frank-wolfe")
        # Both stop at a gap of 1e-6 of the range, the path possibly from a better start.
        assert found.value >= alone.value - 1e-6 * np.ptp(problem.loss)
        assert found.divergence <= radius * (1 + 1e-9)


def test_a_path_of_the_papers_method_begins_each_radius_at_the_estimate() -> None:
    radii = [0.01, 0.05]
    path = worst_case_path(PROBLEMS[0].loss, PROBLEMS[0].estimate, radii, method="paper")
    for radius, found in zip(radii, path, strict=True):
        alone = worst_case(PROBLEMS[0].loss, PROBLEMS[0].estimate, radius, method="paper")
        assert found.value == alone.value


def test_a_path_comes_back_in_the_order_of_its_radii() -> None:
    forward = worst_case_path(PROBLEMS[0].loss, PROBLEMS[0].estimate, [0.01, 0.1, 0.3])
    backward = worst_case_path(PROBLEMS[0].loss, PROBLEMS[0].estimate, [0.3, 0.1, 0.01])
    assert np.array_equal(forward.values, backward.values[::-1])


@pytest.mark.parametrize("given", [PROBLEMS[3], LARGE])
def test_a_path_without_time_is_the_estimated_chain(given: SyntheticProblem) -> None:
    path = worst_case_path(given.loss, given.estimate, [0.1, 0.01], time_limit=0)
    assert set(path.statuses) == {Status.TIME_LIMIT}
    for found in path:
        assert found.value == found.nominal
        assert np.array_equal(found.transition, given.estimate.transition)
        assert found.bound == given.loss.max()


def test_a_path_that_runs_out_of_time_keeps_the_last_worst_chain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = PROBLEMS[3]
    radii = [0.3, 0.01, 0.1, 0.03]
    whole = worst_case_path(given.loss, given.estimate, radii)
    # One second a look: as the call begins, and before each radius; the third finds it over.
    clock = iter(range(10**6))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    cut = worst_case_path(given.loss, given.estimate, radii, time_limit=3)
    late = Status.TIME_LIMIT
    assert [s is late for s in cut.statuses] == [True, False, True, False]
    assert cut.values[[1, 3]].tolist() == whole.values[[1, 3]].tolist()
    assert cut.values[[0, 2]] == pytest.approx(whole.values[[3, 3]], abs=1e-12)
    assert np.array_equal(cut.transitions[0], whole.transitions[3])
    assert cut.nominals == pytest.approx(whole.nominals)


@pytest.mark.parametrize(
    ("losses", "estimates", "radii", "message"),
    [
        (
            np.eye(8),
            PROBLEMS[0].estimate,
            [0.1, 0.2],
            "given once or 8 times, but there are 2 radii",
        ),
        (np.eye(7), PROBLEMS[0].estimate, 0.1, "loss 0 must have one entry for each of the 8"),
        ([0.0] * 8, [], 0.1, "estimates must hold at least one"),
        ([0.0] * 8, [PROBLEMS[0].estimate, LARGE.estimate], 0.1, "equally many states"),
        ([0.0] * 8, PROBLEMS[0].estimate, [0.1, -1.0], "radius 1 must be at least 0"),
        ([0.0] * 8, PROBLEMS[0].estimate, [0.1, math.nan], "radius 1 must be finite"),
        ([[0.0] * 8, [0.0] * 5], PROBLEMS[0].estimate, 0.1, "loss 1 must have one entry"),
        ([0.0] * 8, "chain", 0.1, "must be an Estimate"),
        ([0.0] * 8, PROBLEMS[0].estimate, [], "radii must hold at least one"),
        ([], PROBLEMS[0].estimate, 0.1, "losses must hold at least one"),
        (None, PROBLEMS[0].estimate, 0.1, r"loss 0 must be one-dimensional, but has shape \(\)"),
        (5, PROBLEMS[0].estimate, 0.1, r"loss 0 must be one-dimensional, but has shape \(\)"),
        ("free", PROBLEMS[0].estimate, 0.1, "loss 0 must be numbers"),
        ([[[1], [1, 2]]], PROBLEMS[0].estimate, 0.1, "loss 0 must be numbers"),
        ([0.0] * 8, None, 0.1, "estimate must be an Estimate, but is NoneType; make one by"),
        ([0.0] * 8, 5, 0.1, "estimate must be an Estimate, but is int; make one by"),
        ([0.0] * 8, [PROBLEMS[0].estimate, 5], 0.1, "estimate must be an Estimate, but is int"),
        ([0.0] * 8, PROBLEMS[0].estimate, None, "radius 0 must be finite, but holds None"),
        ([0.0] * 8, PROBLEMS[0].estimate, {0.1, 0.2}, "radius 0 must be numbers"),
        ([0.0] * 8, PROBLEMS[0].estimate, [[0.1], [0.1, 0.2]], "radius 0 must be one number"),
    ],
)
def test_bad_input(losses: object, estimates: object, radii: object, message: str) -> None:
    with pytest.raises(MarkovDROError, match=message):
        worst_case_batch(losses, estimates, radii)  # type: ignore[arg-type]


def test_radii_that_are_no_list_of_numbers_are_refused_on_a_path_too() -> None:
    with pytest.raises(MarkovDROError, match=r"radius 0 must be one number, but has shape \(1,\)"):
        worst_case_path(PROBLEMS[0].loss, PROBLEMS[0].estimate, [[0.1], [0.1, 0.2]])
