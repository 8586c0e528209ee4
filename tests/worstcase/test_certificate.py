"""The proven bound: how a proof can end, and what it must not depend on."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovdro import (
    Estimate,
    MarkovDROError,
    Proof,
    Status,
    WorstCase,
    conditional_entropy,
    estimate,
    stationary_law,
    worst_case,
    worst_case_batch,
    worst_case_path,
)
from markovdro.experiments import SyntheticProblem, synthetic_problem
from markovdro.worstcase._region import Region

Array = npt.NDArray[np.float64]


def hard() -> SyntheticProblem:
    """Twenty states at a radius where thousands of boxes are needed."""
    return synthetic_problem(20, 1000, seed=5)


def law_by_least_squares(transition: Array) -> Array:
    size = len(transition)
    system = np.vstack([transition.T - np.eye(size), np.ones(size)])
    law: Array = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return law


def check(result: WorstCase) -> None:
    """What holds however a proof ends."""
    span = float(np.ptp(result.loss))
    assert result.nominal - 1e-12 * span <= result.value <= result.bound <= result.loss.max()
    assert result.gap == result.bound - result.value
    assert result.certified == (result.gap <= result.tolerance * span)
    reached = float(law_by_least_squares(result.transition) @ result.loss)
    assert result.value == pytest.approx(reached, abs=1e-9 * span + 1e-14 * abs(reached))
    # The multiplier of the ball is solved to 1e-10 of the radius; P' itself is 0 to rounding.
    distance = conditional_entropy(result.estimate, result.transition)
    assert distance <= result.radius * (1 + 1e-9) + 1e-30
    assert np.abs(result.transition.sum(axis=1) - 1).max() < 1e-12
    if result.proof is Proof.CONVEXITY:
        assert result.nodes == 0
    if result.proof is Proof.BRANCHING:
        assert result.nodes > 0
    if result.proof is Proof.LARGEST_LOSS:
        assert result.bound == result.loss.max()
    if result.status in {Status.TIME_LIMIT, Status.NODE_LIMIT}:
        assert not result.certified
    if result.status in {Status.CERTIFIED, Status.TRIVIAL}:
        assert result.certified


@pytest.mark.parametrize("method", ["auto", "global"])
def test_certified_by_convexity(method: str) -> None:
    given = synthetic_problem(20, 1000, seed=0)
    result = worst_case(given.loss, given.estimate, 0.003, method=method)
    check(result)
    assert result.status is Status.CERTIFIED
    assert result.proof is Proof.CONVEXITY
    assert result.value > result.nominal


@pytest.mark.parametrize("method", ["auto", "global"])
def test_certified_by_branch_and_bound(method: str) -> None:
    given = synthetic_problem(10, 300, seed=1)
    result = worst_case(given.loss, given.estimate, 0.2, method=method)
    check(result)
    assert result.status is Status.CERTIFIED
    assert result.proof is Proof.BRANCHING
    assert result.nodes > 1


@pytest.mark.parametrize("method", ["auto", "global"])
@pytest.mark.parametrize("states", [10, 130])
def test_trivial(method: str, states: int) -> None:
    given = synthetic_problem(states, 30 * states, seed=1)
    result = worst_case(given.loss, given.estimate, 10.0, method=method)
    check(result)
    assert result.status is Status.TRIVIAL
    assert result.proof is Proof.LARGEST_LOSS
    assert result.nodes == 0


@pytest.mark.parametrize("method", ["auto", "global"])
def test_radius_zero(method: str) -> None:
    given = synthetic_problem(10, 300, seed=1)
    result = worst_case(given.loss, given.estimate, 0.0, method=method)
    check(result)
    assert result.status is Status.CERTIFIED
    assert result.proof is Proof.ESTIMATE
    assert result.gap == 0
    law = law_by_least_squares(given.estimate.transition)
    assert result.value == pytest.approx(float(law @ given.loss), abs=1e-10)


def test_a_constant_loss_is_trivial() -> None:
    given = synthetic_problem(5, 300, seed=1)
    result = worst_case(np.full(5, -2.5), given.estimate, 0.1, method="global")
    check(result)
    assert result.status is Status.TRIVIAL
    assert result.value == result.bound == -2.5


@pytest.mark.parametrize("method", ["auto", "global"])
@pytest.mark.parametrize("radius", [0.003, 0.1])
def test_no_time_at_all(method: str, radius: float) -> None:
    given = hard()
    result = worst_case(given.loss, given.estimate, radius, method=method, time_limit=0)
    check(result)
    assert result.status is Status.TIME_LIMIT
    assert result.proof is Proof.LARGEST_LOSS


@pytest.mark.parametrize("states", [30, 60, 130])
def test_little_time_leaves_a_proven_bound(states: int) -> None:
    given = synthetic_problem(states, 50 * states, seed=1)
    small = synthetic_problem(5, 300, seed=1)
    worst_case(small.loss, small.estimate, 0.2, method="global", max_nodes=1)  # compiles
    limit = 0.2
    result = worst_case(
        given.loss, given.estimate, 0.05, method="global", time_limit=limit, tolerance=1e-6
    )
    check(result)
    assert result.status is Status.TIME_LIMIT
    # The relaxation of one group of boxes is not interrupted; the machine may be busy.
    assert result.seconds < limit + 10.0


def test_more_time_proves_no_less() -> None:
    given = synthetic_problem(40, 2000, seed=1)
    bounds = []
    for limit in (0.05, 0.5, 3.0):
        result = worst_case(given.loss, given.estimate, 0.01, time_limit=limit)
        check(result)
        bounds.append(result.bound)
    # The target follows the value, which may improve; the order of the search does not change.
    assert bounds[2] <= bounds[1] + 1e-9 <= bounds[0] + 2e-9
    assert bounds[2] < given.loss.max()


@pytest.mark.parametrize("nodes", [1, 20, 200])
def test_the_node_limit(nodes: int) -> None:
    given = hard()
    result = worst_case(given.loss, given.estimate, 0.1, method="global", max_nodes=nodes)
    check(result)
    assert result.status is Status.NODE_LIMIT
    # Boxes come in groups, and one group may cross the limit.
    assert result.nodes <= nodes + 2 * 100_000 / 20**3
    again = worst_case(given.loss, given.estimate, 0.1, method="global", max_nodes=20 * nodes)
    assert again.bound <= result.bound
    assert again.value >= result.value


@pytest.mark.parametrize(
    ("seed", "size", "radius"), [(8035, 3, 0.05), (316466, 3, 0.05), (499972, 4, 2.0)]
)
def test_few_states_that_all_meet_are_certified_within_a_few_boxes(
    seed: int, size: int, radius: float
) -> None:
    theta, loss = instance(seed, size, 2.0)
    result = worst_case(
        loss, Estimate.from_doublets(theta), radius, method="global", max_nodes=2000
    )
    check(result)
    assert result.status is Status.CERTIFIED


def test_no_node_at_all_leaves_the_bound_of_convexity() -> None:
    given = synthetic_problem(20, 1000, seed=2)
    proven = worst_case(given.loss, given.estimate, 0.003, method="global", max_nodes=0)
    assert proven.proof is Proof.CONVEXITY
    assert proven.certified
    far = worst_case(hard().loss, hard().estimate, 0.1, method="global", max_nodes=0)
    check(far)
    assert far.nodes == 0
    assert not far.certified


def test_auto_branches_on_many_states_only_if_it_is_told_how_long() -> None:
    given = synthetic_problem(40, 2000, seed=1)
    quick = worst_case(given.loss, given.estimate, 0.03)
    check(quick)
    assert quick.nodes == 0
    assert quick.status is Status.STATIONARY
    timed = worst_case(given.loss, given.estimate, 0.03, time_limit=1.0)
    check(timed)
    assert timed.nodes > 0
    assert timed.proof is Proof.BRANCHING
    assert timed.bound < quick.bound


def test_auto_proves_small_radii_of_many_states() -> None:
    given = synthetic_problem(130, 60_000, seed=1)
    result = worst_case(given.loss, given.estimate, math.log(20) / 60_000)
    check(result)
    assert result.status is Status.CERTIFIED
    assert result.proof is Proof.CONVEXITY


def test_a_proof_finds_what_the_climbs_missed() -> None:
    given = hard()
    climbed = worst_case(given.loss, given.estimate, 0.1, method="frank-wolfe", starts=1)
    assert climbed.status is Status.STATIONARY
    assert climbed.proof is Proof.LARGEST_LOSS
    proven = worst_case(given.loss, given.estimate, 0.1, method="global", starts=1)
    check(proven)
    assert proven.status is Status.CERTIFIED
    assert climbed.value < -0.85
    assert proven.value > -0.66


def test_no_method_that_only_climbs_claims_a_proof() -> None:
    given = synthetic_problem(10, 300, seed=1)
    for method in ("frank-wolfe", "paper"):
        result = worst_case(given.loss, given.estimate, 0.05, method=method, max_iterations=20)
        check(result)
        assert result.proof is Proof.LARGEST_LOSS
        assert result.nodes == 0
        assert result.status is not Status.CERTIFIED


@pytest.mark.parametrize(("states", "radius"), [(10, 0.03), (10, 0.2), (20, 0.01)])
def test_a_larger_tolerance_never_costs_more_boxes(states: int, radius: float) -> None:
    for seed in range(3):
        given = synthetic_problem(states, 50 * states, seed)
        results = [
            worst_case(given.loss, given.estimate, radius, method="global", tolerance=tolerance)
            for tolerance in (1e-1, 1e-2, 1e-3, 1e-4)
        ]
        for result in results:
            check(result)
            assert result.status is Status.CERTIFIED
        nodes = [result.nodes for result in results]
        assert nodes == sorted(nodes)
        # All bracket the same worst case.
        assert max(result.value for result in results) <= min(result.bound for result in results)


@pytest.mark.parametrize(("states", "radius"), [(10, 0.2), (20, 0.1), (30, 0.01)])
def test_the_number_of_threads_changes_no_digit(states: int, radius: float) -> None:
    given = synthetic_problem(states, 50 * states, seed=5)
    one, two = (
        worst_case(
            given.loss, given.estimate, radius, method="global", max_nodes=2000, threads=threads
        )
        for threads in (1, 2)
    )
    assert (one.value, one.bound, one.nodes) == (two.value, two.bound, two.nodes)
    assert one.status is two.status
    assert one.proof is two.proof
    assert np.array_equal(one.transition, two.transition)


def instance(seed: int, size: int, sparsity: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(size * size, sparsity)).reshape(size, size) + 1e-7
    return theta / theta.sum(), rng.permutation(size) + rng.random(size)


seeds, sizes = st.integers(0, 10**6), st.integers(2, 6)
sparsities = st.sampled_from([0.1, 0.5, 2.0])
radii = st.floats(-4, 0).map(lambda x: 10.0**x)


@settings(max_examples=40)
@given(seeds, sizes, sparsities, radii)
def test_names_of_states_mean_nothing(seed: int, size: int, sparsity: float, radius: float) -> None:
    theta, loss = instance(seed, size, sparsity)
    order = np.random.default_rng(seed).permutation(size)
    here = worst_case(loss, Estimate.from_doublets(theta), radius, method="global", max_nodes=1000)
    shuffled = Estimate.from_doublets(theta[np.ix_(order, order)])
    there = worst_case(loss[order], shuffled, radius, method="global", max_nodes=1000)
    check(here)
    check(there)
    # Both intervals hold the worst case, so that each value is below the other's bound.
    rounding = 1e-12 * np.ptp(loss)
    assert here.value <= there.bound + rounding
    assert there.value <= here.bound + rounding


@settings(max_examples=40)
@given(seeds, sizes, sparsities, radii, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_units_of_the_loss_mean_nothing(
    seed: int, size: int, sparsity: float, radius: float, shift: float, scale: float
) -> None:
    theta, loss = instance(seed, size, sparsity)
    chain = Estimate.from_doublets(theta)
    here = worst_case(loss, chain, radius, method="global", max_nodes=1000)
    there = worst_case(shift + scale * loss, chain, radius, method="global", max_nodes=1000)
    check(there)
    # Adding the shift rounds the losses themselves.
    rounding = 1e-12 * scale * float(np.ptp(loss)) + 1e-15 * abs(shift)
    assert shift + scale * here.value <= there.bound + rounding
    assert there.value <= shift + scale * here.bound + rounding
    assert there.tolerance == here.tolerance


@settings(max_examples=25)
@given(seeds, sizes, sparsities)
def test_worst_case_and_bound_rise_with_the_radius(seed: int, size: int, sparsity: float) -> None:
    theta, loss = instance(seed, size, sparsity)
    chain = Estimate.from_doublets(theta)
    span = float(np.ptp(loss))
    results = [
        worst_case(loss, chain, r, method="global", max_nodes=1000)
        for r in (0, 1e-4, 3e-3, 0.05, 0.4, 2)
    ]
    for small, large in pairwise(results):
        check(large)
        # What a chain of the small ball reaches, no bound of the large one may fall below.
        assert small.value <= large.bound + 1e-12 * span
        if large.certified:
            assert small.value <= large.value + large.tolerance * span
        if small.certified:
            assert small.bound <= large.bound + small.tolerance * span


@settings(max_examples=40)
@given(seeds, sizes, radii)
def test_chains_with_zeros(seed: int, size: int, radius: float) -> None:
    """Transitions that were never seen, allowed or excluded: excluding them cannot lose more."""
    rng = np.random.default_rng(seed)
    theta, loss = instance(seed, size, 1.0)
    unseen = rng.random((size, size)) < 0.4
    unseen[np.arange(size), (np.arange(size) + 1) % size] = False
    theta[unseen] = 0.0
    theta /= theta.sum()
    free, kept = (
        worst_case(
            loss,
            Estimate.from_doublets(theta, support=support),
            radius,
            method="global",
            max_nodes=1000,
        )
        for support in (None, theta > 0)
    )
    check(free)
    check(kept)
    assert (kept.transition[unseen] == 0).all()
    assert kept.value <= free.bound + 1e-12 * np.ptp(loss)


def test_zeros_are_proven_too() -> None:
    """A machine that ages 0 → 1 → 2 and is renewed from any age."""
    support = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 1]], dtype=bool)
    counts = [[10, 40, 0], [15, 0, 25], [25, 0, 5]]
    for allowed in (support, np.ones((3, 3), dtype=bool)):
        chain = estimate(counts, smoothing="none", support=allowed)
        for radius in (1e-3, 0.01, 0.1):
            result = worst_case([0.0, 1.0, 4.0], chain, radius, method="global")
            check(result)
            assert result.certified


def test_states_that_are_left_for_ever_still_get_an_honest_bound() -> None:
    """State 0 is never entered again: nature may enter it for free or not at all."""
    theta = np.array([[0.1, 0.1, 0.0], [0.0, 0.3, 0.1], [0.0, 0.1, 0.3]])
    for support in (None, theta > 0):
        chain = Estimate.from_doublets(theta, support=support)
        for radius in (1e-3, 0.1):
            for loss in ([5.0, 0.0, 1.0], [0.0, 1.0, 2.0], [-1.0, 0.0, 1.0]):
                result = worst_case(loss, chain, radius, method="global")
                law = stationary_law(result.transition, method="gth")
                assert result.value == pytest.approx(float(law @ loss), abs=1e-9)
                assert result.value <= result.bound <= max(loss)


def test_a_start_of_the_callers_is_kept() -> None:
    given = hard()
    best = worst_case(given.loss, given.estimate, 0.1, method="global")
    warm = worst_case(given.loss, given.estimate, 0.1, method="global", starts=1, start=best)
    check(warm)
    assert warm.value >= best.value - 1e-9
    assert warm.certified


def test_batches_and_paths_prove_the_same() -> None:
    given = synthetic_problem(10, 300, seed=1)
    radii = [0.0, 0.003, 0.05, 0.2, 10.0]
    batch = worst_case_batch(given.loss, given.estimate, radii, method="global")
    path = worst_case_path(given.loss, given.estimate, radii, method="global")
    for radius, one, along in zip(radii, batch, path, strict=True):
        alone = worst_case(given.loss, given.estimate, radius, method="global")
        for result in (one, along):
            check(result)
            assert result.certified
        assert one.proof is alone.proof
        assert one.nodes == alone.nodes
        assert one.value == pytest.approx(alone.value, abs=1e-12)
        assert one.bound == pytest.approx(alone.bound, abs=1e-12)
        # The path has more starts, so that it may find more.
        assert along.value <= alone.bound
        assert alone.value <= along.bound
    assert batch.proofs[0] is Proof.ESTIMATE
    assert batch.proofs[1] is Proof.CONVEXITY
    assert batch.proofs[3] is Proof.BRANCHING
    assert batch.proofs[4] is Proof.LARGEST_LOSS
    assert batch.nodes.tolist() == [result.nodes for result in batch]


def test_a_batch_without_time_is_told() -> None:
    given = hard()
    batch = worst_case_batch(given.loss, given.estimate, [0.1, 0.2], method="global", time_limit=0)
    assert set(batch.statuses) == {Status.TIME_LIMIT}
    assert (batch.bounds == given.loss.max()).all()
    assert (batch.values <= batch.bounds).all()


def test_the_report_says_what_proves_the_bound() -> None:
    given = synthetic_problem(10, 300, seed=1)
    branched = repr(worst_case(given.loss, given.estimate, 0.2, method="global"))
    assert "by branch and bound" in branched
    assert "boxes" in branched
    convex = repr(worst_case(given.loss, given.estimate, 0.003, method="global"))
    assert "by convexity" in convex
    assert "boxes" not in convex
    assert "(certified)" in convex


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_nodes": -1}, "max_nodes must be at least 0"),
        ({"max_nodes": 1.5}, "max_nodes must be a whole number"),
        ({"max_nodes": None}, "max_nodes must be a whole number"),
        ({"tolerance": -1e-3}, "tolerance must be above 0"),
        ({"time_limit": "long"}, "time_limit must hold numbers|numbers"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    given = synthetic_problem(5, 100, seed=1)
    arguments: dict[str, object] = {
        "loss": given.loss,
        "estimate": given.estimate,
        "radius": 0.1,
        "method": "global",
    }
    with pytest.raises(MarkovDROError, match=message):
        worst_case(**(arguments | change))  # type: ignore[arg-type]


def test_searches_on_the_same_ball_do_not_spoil_its_box() -> None:
    """Opposed losses in one batch: the box that the first search shrinks is not the second's."""
    theta = np.array(
        [
            [0.005275334789849207, 0.0435976587449147, 0.17703643882222506, 0.001658581646691674],
            [0.07941535872646953, 0.25358794321212036, 0.07327958271969427, 0.0031692517344618512],
            [0.13979101224418355, 0.11117740858553751, 0.10359974305532456, 0.001766179758778363],
            [0.0030863082431783376, 0.0010891258501734748, 0.002418579046580076, 5.15e-05],
        ]
    )
    chain, radius = Estimate.from_doublets(theta / theta.sum()), 0.025869269604754535
    loss = np.array([0.0, 0.6327274755112471, 0.06834365962541089, 1.0])
    batch = worst_case_batch(
        [1.0 - loss, loss], chain, radius, method="global", starts=1, threads=1
    )
    # A chain of the ball that loses 0.529 is known, far above where a search from P' alone stops.
    assert batch.values[1] > 0.52
    for together, one in zip(batch, (1.0 - loss, loss), strict=True):
        alone = worst_case(one, chain, radius, method="global", starts=1, threads=1)
        assert together.value == alone.value
        assert together.bound == alone.bound
        assert together.nodes == alone.nodes


def test_the_box_of_a_ball_is_locked() -> None:
    problem = synthetic_problem(5, 200, seed=1)
    box = Region(problem.estimate, 0.1).box(1, np.inf)
    assert box is not None
    with pytest.raises(ValueError, match="read-only"):
        box[0][0] = 0.0
