"""What must hold for every estimate, loss and radius."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from markovdro import Estimate, stationary_law, worst_case

Array = npt.NDArray[np.float64]

seeds = st.integers(0, 10**6)
sizes = st.integers(2, 8)
radii = st.floats(-5, 1).map(lambda x: 10.0**x)
sparsities = st.sampled_from([0.05, 0.3, 1.0, 5.0])


kinds = st.sampled_from(["positive", "not seen", "impossible", "nearly apart"])


def instance(
    seed: int, size: int, sparsity: float, kind: str = "positive"
) -> tuple[Estimate, Array]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(size * size, sparsity)).reshape(size, size) + 1e-9
    loss = rng.normal(size=size)
    assume(np.ptp(loss) > 1e-3)
    support = None
    if kind in {"not seen", "impossible"}:
        # The ring keeps every state in one class.
        seen = (rng.random((size, size)) < 0.5) | np.roll(np.eye(size, dtype=bool), 1, axis=1)
        theta = np.where(seen, theta, 0.0)
        support = seen if kind == "impossible" else None
    if kind == "nearly apart":
        theta[: size // 2, size // 2 :] *= 1e-7
        theta[size // 2 :, : size // 2] *= 1e-7
    return Estimate.from_doublets(theta / theta.sum(), support=support), loss


@settings(max_examples=200)
@given(seeds, sizes, sparsities, radii, kinds)
def test_feasible_between_the_nominal_value_and_the_bound(
    seed: int, size: int, sparsity: float, radius: float, kind: str
) -> None:
    chain, loss = instance(seed, size, sparsity, kind)
    result = worst_case(loss, chain, radius)
    assert result.divergence <= radius * (1 + 1e-9)
    assert np.abs(result.transition.sum(axis=1) - 1).max() < 1e-12
    assert (result.transition >= 0).all()
    assert (result.transition[~chain.support] == 0).all()
    assert result.nominal - 1e-12 <= result.value <= result.bound
    assert result.stationarity >= 0
    law = stationary_law(result.transition, method="gth")
    assert float(law @ loss) == pytest.approx(result.value, abs=1e-9 * np.ptp(loss))


@settings(max_examples=60)
@given(seeds, sizes, sparsities, radii, st.floats(1.0, 20.0), kinds)
def test_from_the_same_chain_more_radius_loses_no_less(
    seed: int, size: int, sparsity: float, radius: float, factor: float, kind: str
) -> None:
    """A chain of the small ball lies in the large one, and is a start there."""
    chain, loss = instance(seed, size, sparsity, kind)
    small = worst_case(loss, chain, radius)
    large = worst_case(loss, chain, radius * factor, start=small)
    assert large.value >= small.value - 1e-9 * np.ptp(loss)


@settings(max_examples=60)
@given(seeds, sizes, st.sampled_from([1.0, 5.0]))
def test_a_vanishing_radius_gives_the_nominal_value(seed: int, size: int, sparsity: float) -> None:
    """For small r the shift is ``√(2r Σ π_i²/α_i Var_i(h))``, so that it shrinks like √r."""
    chain, loss = instance(seed, size, sparsity)
    nominal = float(stationary_law(chain.transition, method="gth") @ loss)
    shifts = [worst_case(loss, chain, r, starts=1).value - nominal for r in (1e-8, 1e-10)]
    assert shifts[0] >= shifts[1] >= -1e-12
    # Ten times less for a hundredth of the radius; the rest is of higher order or rounding.
    assert shifts[1] == pytest.approx(shifts[0] / 10, rel=0.05, abs=1e-8 * np.ptp(loss))


@settings(max_examples=60)
@given(seeds, st.integers(2, 6), sparsities, radii)
def test_names_of_states_mean_nothing(seed: int, size: int, sparsity: float, radius: float) -> None:
    chain, loss = instance(seed, size, sparsity)
    order = np.random.default_rng(seed).permutation(size)
    shuffled = Estimate.from_doublets(chain.doublets[np.ix_(order, order)])
    here = worst_case(loss, chain, radius, tolerance=1e-8)
    there = worst_case(loss[order], shuffled, radius, tolerance=1e-8)
    assert there.value == pytest.approx(here.value, abs=1e-6 * np.ptp(loss))


@settings(max_examples=60)
@given(seeds, sizes, sparsities, radii, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_units_of_the_loss_mean_nothing(
    seed: int, size: int, sparsity: float, radius: float, shift: float, scale: float
) -> None:
    chain, loss = instance(seed, size, sparsity)
    here = worst_case(loss, chain, radius)
    there = worst_case(shift + scale * loss, chain, radius)
    # Adding the shift rounds the losses themselves; the solver may then stop a step apart.
    assert there.value == pytest.approx(shift + scale * here.value, abs=2e-6 * scale * np.ptp(loss))


@settings(max_examples=60)
@given(seeds, sizes, sparsities, radii, kinds)
def test_no_chain_drawn_from_the_ball_loses_more_than_a_stationary_start(
    seed: int, size: int, sparsity: float, radius: float, kind: str
) -> None:
    """Random chains of the ball are weak rivals: they must not beat a search."""
    chain, loss = instance(seed, size, sparsity, kind)
    result = worst_case(loss, chain, radius)
    rng = np.random.default_rng(seed)
    from markovdro.ambiguity import ConditionalEntropyBall

    ball = ConditionalEntropyBall(chain, radius)
    for _ in range(20):
        rows = np.where(chain.support, rng.dirichlet(np.full(size, 0.3), size=size) + 1e-12, 0.0)
        drawn = ball.pull_inside(rows / rows.sum(axis=1, keepdims=True))
        law = stationary_law(drawn, method="gth")
        assert float(law @ loss) <= result.value + 1e-6 * np.ptp(loss)
