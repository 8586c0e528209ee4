"""The worst case over rival sets, against convex programs written apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

from markovdro import (
    Estimate,
    MarkovDROError,
    Proof,
    Status,
    Wasserstein,
    WorstCase,
    count_transitions,
    estimate,
    stationary_law,
    worst_case,
    worst_case_batch,
    worst_case_path,
)
from markovdro.experiments import SyntheticProblem, synthetic_problem

Array = npt.NDArray[np.float64]

RIVALS = ["wasserstein", "entropy-rows", "iid-entropy", "nominal"]
RADII = [0.0, 1e-3, 0.05, 0.4, 1.0, 3.0]


def chain_with_zeros(seed: int, size: int, *, fixed: bool = True) -> Estimate:
    """Return a ring with shortcuts; with ``fixed``, what is zero stays zero."""
    rng = np.random.default_rng(seed)
    support = rng.random((size, size)) < 0.4
    support[np.arange(size), (np.arange(size) + 1) % size] = True
    theta = rng.dirichlet(np.ones(size), size=size) * support
    return Estimate.from_doublets(theta / theta.sum(), support=support if fixed else None)


def check(result: WorstCase) -> None:
    span = float(np.ptp(result.loss))
    assert result.value <= result.bound <= result.loss.max()
    assert result.certified
    law, transition = result.stationary, result.transition
    assert law @ transition == pytest.approx(law, abs=1e-12)
    assert result.value == pytest.approx(float(law @ result.loss), abs=1e-9 * span)
    assert result.divergence <= result.radius * (1 + 1e-9)
    assert (transition[~result.estimate.support] == 0).all() or "iid" in result.ambiguity


def occupation(given: Estimate, loss: Array, radius: float, cost: Array) -> float:
    """The Wasserstein worst case as one linear program in π and the transported masses.

    ``T_ijk`` is the mass that was to go from i to j and goes to k.
    """
    d = len(loss)
    mass = np.arange(d**3).reshape(d, d, d)
    law = d**3 + np.arange(d)
    equal = lil_array((d * d + d + 1, d**3 + d))
    budget = lil_array((d, d**3 + d))
    for i in range(d):
        for j in range(d):
            equal[i * d + j, mass[i, j]] = 1.0
            equal[i * d + j, law[i]] = -given.transition[i, j]
        budget[i, mass[i].ravel()] = cost.ravel()
        budget[i, law[i]] = -radius
        equal[d * d + i, mass[:, :, i].ravel()] = 1.0
        equal[d * d + i, law[i]] -= 1.0
    equal[d * d + d, law] = 1.0
    upper = np.concatenate([np.repeat(given.support[:, None, :], d, axis=1).ravel(), np.ones(d)])
    found = linprog(
        np.concatenate([np.zeros(d**3), -loss]),
        A_ub=budget.tocsr(),
        b_ub=np.zeros(d),
        A_eq=equal.tocsr(),
        b_eq=np.append(np.zeros(d * d + d), 1.0),
        bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return float(-found.fun)


def on_a_line(size: int) -> Array:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


@pytest.mark.parametrize("radius", RADII)
def test_wasserstein_is_a_linear_program(radius: float) -> None:
    """Also where nature makes states absorbing and the chain falls apart: at large radii."""
    for seed in range(5):
        given = synthetic_problem(6, 60, seed)
        cost = np.random.default_rng(seed).uniform(0.3, 2, (6, 6)) * (1 - np.eye(6))
        for ambiguity, ground in ((Wasserstein(), on_a_line(6)), (Wasserstein(cost), cost)):
            result = worst_case(given.loss, given.estimate, radius, ambiguity=ambiguity)
            check(result)
            exact = occupation(given.estimate, given.loss, radius, ground)
            assert result.value == pytest.approx(exact, abs=1e-7)
            assert result.bound >= exact - 1e-9


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("radius", RADII)
def test_wasserstein_with_zeros(radius: float, fixed: bool) -> None:
    for seed in range(8):
        chain = chain_with_zeros(seed, 6, fixed=fixed)
        loss = np.random.default_rng(seed).integers(0, 4, 6).astype(float)
        result = worst_case(loss, chain, radius, ambiguity="wasserstein")
        check(result)
        assert result.value == pytest.approx(
            occupation(chain, loss, radius, on_a_line(6)), abs=1e-7
        )


def conic(given: Estimate, loss: Array, radius: float) -> float:
    """The worst case over entropy rows: jointly convex in the doublets z_ij and π."""
    cp: Any = pytest.importorskip("cvxpy")
    d = len(loss)
    z, law = cp.Variable((d, d), nonneg=True), cp.Variable(d, nonneg=True)
    rows = [cp.sum(z, axis=1) == law, cp.sum(z, axis=0) == law, cp.sum(law) == 1]
    for i in range(d):
        seen = given.transition[i] > 0
        p = given.transition[i, seen]
        rows.append(cp.sum(cp.rel_entr(law[i] * p, z[i, seen])) <= radius * law[i])
        if not given.support[i].all():
            rows.append(z[i, ~given.support[i]] == 0)
    problem = cp.Problem(cp.Maximize(loss @ law), rows)
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    return float(problem.value)


@pytest.mark.parametrize("radius", RADII[1:])
def test_entropy_rows_are_a_conic_program(radius: float) -> None:
    for seed in range(3):
        given = synthetic_problem(5, 100, seed)
        result = worst_case(given.loss, given.estimate, radius, ambiguity="entropy-rows")
        check(result)
        exact = conic(given.estimate, given.loss, radius)
        assert result.value == pytest.approx(exact, abs=1e-6 * float(np.ptp(given.loss)))


@pytest.mark.parametrize("fixed", [True, False])
def test_entropy_rows_with_zeros(fixed: bool) -> None:
    for seed in range(3):
        chain = chain_with_zeros(seed, 5, fixed=fixed)
        loss = np.random.default_rng(seed).integers(0, 4, 5).astype(float)
        result = worst_case(loss, chain, 0.3, ambiguity="entropy-rows")
        check(result)
        assert result.value == pytest.approx(conic(chain, loss, 0.3), abs=3e-6)


@pytest.mark.parametrize("radius", RADII[1:])
def test_independent_states_are_a_conic_program(radius: float) -> None:
    cp: Any = pytest.importorskip("cvxpy")
    for seed in range(3):
        given = synthetic_problem(8, 20, seed)  # some states are not seen
        result = worst_case(given.loss, given.estimate, radius, ambiguity="iid-entropy")
        check(result)
        assert given.estimate.counts is not None
        p = given.estimate.counts.matrix.sum(axis=1) / given.estimate.counts.total
        q = cp.Variable(8, nonneg=True)
        seen = p > 0
        ball = cp.sum(cp.rel_entr(p[seen], q[seen])) <= radius
        problem = cp.Problem(cp.Maximize(given.loss @ q), [ball, cp.sum(q) == 1])
        problem.solve(solver="CLARABEL")
        assert problem.status == "optimal"
        assert result.value == pytest.approx(problem.value, abs=1e-6)
        kl = float(p[seen] @ np.log(p[seen] / result.stationary[seen]))
        assert result.divergence == pytest.approx(kl, abs=1e-9)


def test_two_states_by_hand() -> None:
    """P' = (0.8, 0.2; 0.2, 0.8), loss (0, 1): each row may move r of its mass to state 1."""
    coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    result = worst_case([0.0, 1.0], coin, 0.1, ambiguity="wasserstein")
    assert result.transition == pytest.approx(np.array([[0.7, 0.3], [0.1, 0.9]]))
    assert result.value == pytest.approx(0.75)
    # KL(0.8, 0.2 ‖ p, 1 − p) = r has its solutions where a root finder puts them.
    entropy = worst_case([0.0, 1.0], coin, 0.1, ambiguity="entropy-rows")
    for row, nominal in zip(entropy.transition, coin.transition, strict=True):
        assert nominal @ np.log(nominal / row) == pytest.approx(0.1, rel=1e-8)
        assert row[1] > nominal[1]


def test_the_sample_average_is_over_what_was_seen() -> None:
    """Smoothing is about transitions; frequencies need none. States 0 and 1 begin 3 and 1."""
    counts = count_transitions([0, 0, 0, 1, 1], states=[0, 1, 2])
    chain = estimate(counts, smoothing="laplace")
    result = worst_case([0.0, 4.0, 100.0], chain, 0.7, ambiguity="nominal")
    assert result.value == result.bound == result.nominal == 1.0
    assert result.stationary.tolist() == [0.75, 0.25, 0.0]
    assert result.proof is Proof.ESTIMATE
    assert result.status is Status.CERTIFIED
    assert result.divergence == 0
    # Without counts, the weights of the doublets are all that is known.
    given = Estimate.from_doublets([[0.4, 0.2], [0.2, 0.2]])
    assert worst_case([0.0, 1.0], given, 0, ambiguity="nominal").value == pytest.approx(0.4)


@pytest.mark.parametrize("ambiguity", RIVALS)
def test_a_rival_knows_what_it_proved(ambiguity: str) -> None:
    given = synthetic_problem(8, 300, 1)
    result = worst_case(given.loss, given.estimate, 0.05, ambiguity=ambiguity)
    check(result)
    assert result.status is Status.CERTIFIED
    assert result.ambiguity == ambiguity
    assert result.proof is (Proof.ESTIMATE if ambiguity == "nominal" else Proof.DUALITY)
    assert result.gap <= 1e-9 * float(np.ptp(result.loss))
    assert ambiguity in repr(result)


@pytest.mark.parametrize("ambiguity", RIVALS[:3])
def test_a_radius_that_allows_everything_is_trivial(ambiguity: str) -> None:
    given = synthetic_problem(6, 100, 1)
    result = worst_case(given.loss, given.estimate, 50.0, ambiguity=ambiguity)
    assert result.status is Status.TRIVIAL
    assert result.bound == result.loss.max()


@pytest.mark.parametrize("ambiguity", RIVALS)
def test_batches_and_paths_are_the_same_as_one_by_one(ambiguity: str) -> None:
    given = synthetic_problem(7, 200, 3)
    radii = [0.3, 0.0, 0.01]
    path = worst_case_path(given.loss, given.estimate, radii, ambiguity=ambiguity)
    batch = worst_case_batch(given.loss, given.estimate, radii, ambiguity=ambiguity)
    for m, radius in enumerate(radii):
        alone = worst_case(given.loss, given.estimate, radius, ambiguity=ambiguity)
        span = float(np.ptp(given.loss))
        assert path[m].value == pytest.approx(alone.value, abs=1e-10 * span)
        assert batch[m].value == alone.value
        assert batch[m].divergence == alone.divergence
    assert path.divergences.shape == (3,)


def test_a_start_and_a_callback() -> None:
    given = synthetic_problem(7, 200, 3)
    seen: list[tuple[int, float, float]] = []
    result = worst_case(
        given.loss,
        given.estimate,
        0.2,
        ambiguity="wasserstein",
        callback=lambda *now: seen.append(now),
    )
    assert [step for step, _, _ in seen] == list(range(result.iterations + 1))
    assert seen[-1][1] == pytest.approx(result.value)
    again = worst_case(given.loss, given.estimate, 0.2, ambiguity="wasserstein", start=result)
    assert again.iterations < result.iterations or result.iterations <= 1
    assert again.value == pytest.approx(result.value)
    identity = worst_case(given.loss, given.estimate, 0.2, ambiguity="wasserstein", start=np.eye(7))
    assert identity.value == pytest.approx(result.value)


def far() -> SyntheticProblem:
    return synthetic_problem(9, 300, 5)


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"time_limit": 0}, Status.TIME_LIMIT), ({"max_iterations": 0}, Status.ITERATION_LIMIT)],
)
@pytest.mark.parametrize("ambiguity", ["wasserstein", "entropy-rows"])
def test_limits_leave_a_value_that_is_reached_and_a_bound_that_is_proven(
    ambiguity: str, limits: dict[str, Any], status: Status
) -> None:
    given = far()
    result = worst_case(given.loss, given.estimate, 0.3, ambiguity=ambiguity, **limits)
    exact = worst_case(given.loss, given.estimate, 0.3, ambiguity=ambiguity)
    assert result.status is status
    assert not result.certified
    assert result.value == result.nominal
    assert result.value < exact.value <= result.bound


def test_states_that_are_left_for_ever() -> None:
    """State 2 is left for ever under P'; nature may make it absorbing, if it can be reached."""
    theta = np.array([[0.3, 0.2, 0.0], [0.2, 0.2, 0.0], [0.05, 0.05, 0.0]])
    loss = np.array([0.0, 1.0, 5.0])
    free = Estimate.from_doublets(theta / theta.sum())
    for radius in (0.1, 0.9, 3.0):
        result = worst_case(loss, free, radius, ambiguity="wasserstein")
        check(result)
        exact = occupation(free, loss, radius, on_a_line(3))
        assert result.value == pytest.approx(exact, abs=1e-8)
    closed = Estimate.from_doublets(theta / theta.sum(), support=theta > 0)
    result = worst_case(loss, closed, 0.3, ambiguity="wasserstein")
    assert result.value <= occupation(closed, loss, 0.3, on_a_line(3)) + 1e-9 <= result.bound + 1e-8


@pytest.mark.parametrize("ambiguity", RIVALS[:3])
def test_slow_chains(ambiguity: str) -> None:
    """Two groups that are exchanged once in a million steps: relative values of 1e6."""
    rng = np.random.default_rng(3)
    chain = np.full((8, 8), 1e-6 / 4)
    chain[:4, :4] = (1 - 1e-6) * rng.dirichlet(np.ones(4), size=4)
    chain[4:, 4:] = (1 - 1e-6) * rng.dirichlet(np.ones(4), size=4)
    given = Estimate.from_doublets(stationary_law(chain, method="gth")[:, None] * chain)
    loss = np.repeat([0.0, 1.0], 4) + 0.1 * rng.random(8)
    for radius in (1e-9, 1e-4, 0.1):
        check(worst_case(loss, given, radius, ambiguity=ambiguity))


def test_every_row_at_its_own_radius_is_larger_than_one_for_all() -> None:
    """Σ α_i KL_i ≤ max KL_i: the conditional-entropy ball holds the rectangular one."""
    given = synthetic_problem(8, 300, 2)
    rows = worst_case(given.loss, given.estimate, 0.02, ambiguity="entropy-rows")
    ball = worst_case(given.loss, given.estimate, 0.02)
    assert rows.value <= ball.bound + 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "paper"}, "method='paper' is for ambiguity='conditional-entropy' alone"),
        ({"ambiguity": Wasserstein}, "ambiguity must be one of .*Wasserstein"),
        ({"ambiguity": "Wasserstein"}, "ambiguity must be one of .* but is 'Wasserstein'"),
        ({"radius": -1.0}, "radius must be at least 0"),
        ({"radius": math.nan}, "radius must be finite"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    given = far()
    arguments: dict[str, Any] = {
        "loss": given.loss,
        "estimate": given.estimate,
        "radius": 0.1,
        "ambiguity": "wasserstein",
    }
    with pytest.raises(MarkovDROError, match=message):
        worst_case(**(arguments | change))
