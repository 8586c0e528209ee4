"""Bounds where floating point has the most to lose: no chain may exceed one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import Estimate, stationary_bounds, stationary_law, worst_case, worst_case_batch
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._convexity import convexity_bound
from markovdro.worstcase._problem import Problem
from markovdro.worstcase._region import Region

Array = npt.NDArray[np.float64]

RADII = [1e-6, 1e-3, 0.03, 0.3, 3.0]


def normalised(theta: Array) -> Array:
    result: Array = theta / theta.sum()
    return result


def plain(seed: int, size: int = 5) -> Array:
    rng = np.random.default_rng(seed)
    return normalised(rng.dirichlet(np.ones(size * size)).reshape(size, size) + 1e-4)


def tiny_rows(seed: int) -> Array:
    """One state in a thousand millions is this rare, another one in ten thousand."""
    theta = plain(seed)
    theta[1] *= 1e-9 / theta[1].sum()
    theta[3] *= 1e-4 / theta[3].sum()
    return normalised(theta)


def tiny_entries(seed: int) -> Array:
    theta = plain(seed)
    rng = np.random.default_rng(seed)
    tiny = rng.random(theta.shape) < 0.4
    tiny[np.arange(5), (np.arange(5) + 1) % 5] = False
    return normalised(np.where(tiny, 1e-12 * theta.sum(axis=1, keepdims=True), theta))


def zeros(seed: int) -> Array:
    theta = plain(seed)
    rng = np.random.default_rng(seed)
    unseen = rng.random(theta.shape) < 0.4
    unseen[np.arange(5), (np.arange(5) + 1) % 5] = False
    return normalised(np.where(unseen, 0.0, theta))


def sticky(seed: int) -> Array:
    theta = plain(seed)
    stay = np.array([0.999999, 0.99, 0.5, 0.9999, 0.9])
    weights = theta.sum(axis=1)
    leaves = theta / weights[:, None] * (1 - stay)[:, None]
    return normalised(weights[:, None] * (leaves + np.diag(stay)))


def nearly_apart(seed: int) -> Array:
    """Two groups of states that hardly ever meet."""
    theta = plain(seed)
    theta[:2, 2:] *= 1e-7
    theta[2:, :2] *= 1e-7
    return normalised(theta)


def nearly_periodic(seed: int) -> Array:
    return normalised(np.roll(np.eye(5), 1, axis=1) + 1e-8 * plain(seed))


CHAINS = {
    "plain": plain,
    "tiny rows": tiny_rows,
    "tiny entries": tiny_entries,
    "zeros": zeros,
    "sticky": sticky,
    "nearly apart": nearly_apart,
    "nearly periodic": nearly_periodic,
}

LOSSES = {
    "near-ties": np.array([1.0, 1.0 - 1e-12, 0.3, 0.3 + 1e-12, 0.0]),
    "all nearly tied": 1.0 + 1e-12 * np.array([0.0, 3.0, 1.0, 2.0, 5.0]),
    "repeated": np.array([2.0, 0.0, 2.0, 1.0, 0.0]),
    "one of them": np.array([0.0, 0.0, 0.0, 1.0, 0.0]),
    "all but one": np.array([1.0, 1.0, 1.0, 0.0, 1.0]),
    "far below": np.array([0.0, -1e-9, -1e-3, -1e6, -1.0]),
}


def dense(loss: Array, chain: Estimate, radius: float) -> float:
    """The best of Frank-Wolfe from P', from all traps, and from random chains of the ball."""
    size = len(loss)
    rng = np.random.default_rng(0)
    found = worst_case(loss, chain, radius, method="frank-wolfe", starts=size + 1).value
    ball = ConditionalEntropyBall(chain, radius)
    for concentration in (0.2, 1.0, 5.0):
        drawn = rng.dirichlet(np.full(size, concentration), size=size) + 1e-9
        drawn = np.where(chain.support, drawn, 0.0)
        start = ball.pull_inside(
            0.5 * chain.transition + 0.5 * drawn / drawn.sum(axis=1, keepdims=True)
        )
        climbed = worst_case(loss, chain, radius, method="frank-wolfe", starts=1, start=start)
        found = max(found, climbed.value)
    return found


def hold(loss: Array, chain: Estimate, radius: float, rival: float) -> None:
    """The bound against the best rival, to the rounding of the loss itself."""
    span = float(np.ptp(loss))
    rounding = 1e-12 * span + 1e-15 * float(np.abs(loss).max())
    for tolerance, nodes in ((1e-4, 60), (1e-9, 200)):
        result = worst_case(
            loss, chain, radius, method="global", tolerance=tolerance, max_nodes=nodes
        )
        assert np.isfinite([result.value, result.bound]).all()
        assert rival <= result.bound + rounding
        assert result.value <= result.bound <= loss.max()
        assert result.divergence <= radius * (1 + 1e-9)
        assert result.certified == (result.gap <= tolerance * span)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", CHAINS)
def test_no_chain_exceeds_the_bound(name: str, loss: str, radius: float) -> None:
    given = LOSSES[loss]
    chain = Estimate.from_doublets(CHAINS[name](3))
    hold(given, chain, radius, dense(given, chain, radius))


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("seed", range(4))
def test_structural_zeros(seed: int, radius: float) -> None:
    theta = zeros(seed)
    chain = Estimate.from_doublets(theta, support=theta > 0)
    for loss in (LOSSES["near-ties"], LOSSES["repeated"]):
        hold(loss, chain, radius, dense(loss, chain, radius))


@pytest.mark.parametrize("radius", [1e-3, 0.1])
@pytest.mark.parametrize("name", CHAINS)
def test_extreme_units_of_the_loss(name: str, radius: float) -> None:
    chain = Estimate.from_doublets(CHAINS[name](4))
    loss = np.array([0.7, 0.1, 1.0, 0.4, 0.0])
    rival = dense(loss, chain, radius)
    plain_ = worst_case(loss, chain, radius, method="global", max_nodes=60)
    for scale, shift in ((1e-200, 0.0), (1e200, 0.0), (1.0, 1e9), (-1.0, -1e9), (1e-9, 1.0)):
        given = abs(scale) * loss + shift
        hold(given, chain, radius, abs(scale) * rival + shift)
        result = worst_case(given, chain, radius, method="global", max_nodes=60)
        # The loss itself is rounded where it is shifted; a search that ends elsewhere is within
        # the bounds of both.
        rounding = 1e-12 * abs(scale) + 4e-16 * abs(shift)
        assert abs(scale) * plain_.value + shift <= result.bound + rounding
        assert result.value <= abs(scale) * plain_.bound + shift + rounding


@pytest.mark.parametrize("name", CHAINS)
def test_stationary_bounds_too(name: str) -> None:
    chain = Estimate.from_doublets(CHAINS[name](5))
    for radius in (1e-5, 1e-2):
        found = stationary_bounds(chain, radius, tolerance=1e-2, time_limit=1.0)
        for m in range(5):
            visits = np.eye(5)[m]
            assert dense(visits, chain, radius) <= found.upper[m] + 1e-12
            assert -dense(-visits, chain, radius) >= found.lower[m] - 1e-12


@pytest.mark.parametrize("radius", [1e-300, 1e-30, 1e-14, 1e-10])
def test_radii_that_hardly_exist(radius: float) -> None:
    for seed in range(3):
        chain = Estimate.from_doublets(plain(seed))
        loss = LOSSES["repeated"]
        result = worst_case(loss, chain, radius, method="global")
        assert result.nominal <= result.value + 1e-15
        assert result.value <= result.bound
        assert result.certified
        # The shift is at most about √(2r Σ π_i²/α_i Var_i(h)).
        assert result.bound - result.nominal <= 100 * np.sqrt(radius) + 1e-4 * 2


def test_two_states_that_are_nearly_one() -> None:
    for small in (1e-4, 1e-8, 1e-12):
        theta = normalised(np.array([[1.0, small], [small, small]]))
        chain = Estimate.from_doublets(theta)
        for radius in RADII:
            for loss in (np.array([0.0, 1.0]), np.array([1.0, 0.0])):
                hold(loss, chain, radius, dense(loss, chain, radius))


# What follows asks the parts of the proofs for bounds where no good chain helps them: a wrong proof
# around the true worst case has no chain that could contradict it.


def chains_of_the_ball(chain: Estimate, radius: float, seed: int) -> Array:
    """Worst cases in many directions, and random chains on the boundary or inside."""
    size = len(chain.weights)
    rng = np.random.default_rng(seed)
    directions = np.vstack([np.eye(size), -np.eye(size), rng.normal(size=(20, size))])
    far = worst_case_batch(directions, chain, radius).transitions
    ball = ConditionalEntropyBall(chain, radius)
    drawn = [
        ball.pull_inside(
            (1 - share) * chain.transition + share * rng.dirichlet(np.full(size, 0.5), size=size)
        )
        for share in (0.1, 0.5, 0.9) * 5
    ]
    return np.concatenate([far, np.array(drawn)])


def shifted_laws(chain: Estimate, transitions: Array) -> Array:
    """``v = log π`` with ``Σ_i α_i v_i = Σ_i α_i log α_i``."""
    weights = chain.weights
    logs = np.log([stationary_law(p, method="gth") for p in transitions])
    shifted: Array = logs - (logs @ weights)[:, None] + float(weights @ np.log(weights))
    return shifted


@pytest.mark.parametrize("radius", [1e-5, 1e-3, 3e-3, 0.01, 0.03, 0.3])
@pytest.mark.parametrize("name", CHAINS)
def test_the_laws_of_the_ball_lie_in_its_ellipsoid_and_box(name: str, radius: float) -> None:
    for seed in range(3):
        chain = Estimate.from_doublets(CHAINS[name](seed))
        region = Region(chain, radius)
        laws = shifted_laws(chain, chains_of_the_ball(chain, radius, seed))
        if region.ellipsoid is not None and region.centre is not None:
            away = laws - region.centre
            spans = np.abs(away[:, :, None] - away[:, None, :]).max(axis=0)
            assert (spans <= region.ellipsoid.spans + 1e-9).all()
            assert (np.abs(away).max(axis=0) <= region.ellipsoid.reach + 1e-9).all()
        box = region.box(1, np.inf)
        if box is not None:
            assert (laws >= box[0] - 1e-9).all()
            assert (laws <= box[1] + 1e-9).all()
        if name == "plain":
            assert box is not None
            assert region.ellipsoid is not None or radius > 1e-4


@pytest.mark.parametrize("radius", [1e-4, 1e-3, 0.01, 0.03])
@pytest.mark.parametrize("name", ["plain", "sticky", "tiny entries"])
def test_the_bound_of_convexity_holds_from_any_chain(name: str, radius: float) -> None:
    informative = 0
    for seed in range(6):
        chain = Estimate.from_doublets(CHAINS[name](seed))
        region = Region(chain, radius)
        loss = np.random.default_rng(seed).permutation(np.array([0.0, 0.1, 0.5, 0.9, 1.0]))
        best = dense(loss, chain, radius)
        problem = Problem(loss, chain, radius)
        for transition in chains_of_the_ball(chain, radius, seed)[::4]:
            run = problem.evaluate(transition)
            bound = convexity_bound(region, loss, run.value, run.stationary, run.values)
            assert bound >= best - 1e-12
            informative += bound < 1.0
    if name == "plain" and radius <= 1e-4:
        assert informative > 10


def test_the_bound_of_convexity_holds_from_local_optima() -> None:
    """At a stationary point that is not the worst, only what exponentials bend is in the way."""
    tried = 0
    for seed in range(12):
        given = synthetic_problem(20, 1000, seed)
        loss = (given.loss - given.loss.min()) / np.ptp(given.loss)
        chain, radius = given.estimate, 0.15
        region = Region(chain, radius)
        problem = Problem(loss, chain, radius)
        alone, best = (
            worst_case(loss, chain, radius, method="frank-wolfe", starts=starts)
            for starts in (1, 4)
        )
        if region.ellipsoid is None or best.value - alone.value < 1e-3:
            continue
        tried += 1
        run = problem.evaluate(alone.transition)
        bound = convexity_bound(region, loss, run.value, run.stationary, run.values)
        assert bound >= best.value
    assert tried >= 3


@pytest.mark.parametrize("radius", [1e-3, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("name", ["plain", "sticky", "tiny entries", "zeros", "nearly periodic"])
def test_the_bounds_of_boxes_hold_for_the_chains_in_them(name: str, radius: float) -> None:
    """Boxes that are drawn around laws of the ball, at targets that many of these exceed."""
    from markovdro.worstcase._relaxation import bound_boxes

    rng = np.random.default_rng(7)
    held = useful = 0
    for seed in range(4):
        chain = Estimate.from_doublets(CHAINS[name](seed))
        size = len(chain.weights)
        region = Region(chain, radius)
        laws = shifted_laws(chain, chains_of_the_ball(chain, radius, seed))
        count = 60
        # Sides of all lengths, through pairs of laws: mixtures of a pair lie in the ball too.
        pairs = laws[rng.integers(len(laws), size=(count, 2))]
        margin = 10.0 ** rng.uniform(-3, 0.7, (count, 1))
        lows, highs = pairs.min(axis=1) - margin, pairs.max(axis=1) + margin
        before = lows.copy(), highs.copy()
        loss = rng.random(size)
        shares = np.exp(laws) / np.exp(laws).sum(axis=1, keepdims=True)
        target = float(np.quantile(shares @ loss, rng.uniform(0.2, 0.9)))
        surplus = loss - target
        bounds, branches = np.empty(count), np.empty(count, dtype=np.intp)
        bound_boxes(
            chain.doublets,
            region.positive,
            chain.weights,
            radius,
            surplus,
            0,
            count,
            lows,
            highs,
            pairs[:, 0].copy(),
            np.tile(chain.weights, (count, 1)),
            np.zeros((count, size)),
            np.full(count, np.sqrt(2 * radius)),
            bounds,
            branches,
        )
        # R is convex in v, but only along the gauge, which mixtures keep.
        mixed = rng.random((count, 20, 1))
        inside = np.concatenate(
            [
                mixed * pairs[:, :1] + (1 - mixed) * pairs[:, 1:],
                np.broadcast_to(laws, (count, *laws.shape)),
            ],
            axis=1,
        )
        level = np.exp(inside) @ surplus
        allowance = 1e-12 * (np.exp(inside) @ np.abs(surplus))
        within = ((inside >= before[0][:, None]) & (inside <= before[1][:, None])).all(axis=2)
        assert (level <= np.maximum(bounds, 0.0)[:, None] + allowance)[within].all()
        # Shrinking a box may only cut off what is below the target.
        cut = ((inside < lows[:, None] - 1e-12) | (inside > highs[:, None] + 1e-12)).any(axis=2)
        assert (level <= allowance)[within & cut].all()
        held += int((within & (level > allowance)).sum())
        useful += int(np.isfinite(bounds).sum())
    assert held > 100
    assert useful > 100
