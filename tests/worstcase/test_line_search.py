"""The search along a segment, where slopes differ by many orders of magnitude."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.problems import PROBLEMS

from markovdro import Estimate, Status, worst_case
from markovdro.worstcase._kernels import improves, next_fraction, settles

Array = npt.NDArray[np.float64]

# Three states that are left once in 10^5 steps.
STICKY = np.array(
    [
        [0.99999288, 9.6e-7, 6.16e-6],
        [3.44e-7, 0.601234, 0.398765656],
        [1.22e-6, 0.48715, 0.51284878],
    ]
)


class Ratio:
    """A sum of ``b t/(t + τ)`` and a line: what a long-run loss is along a segment."""

    def __init__(self, heights: Array, scales: Array, line: float) -> None:
        self.heights, self.scales, self.line = heights, scales, line

    def value(self, t: float) -> float:
        return float((self.heights * t / (t + self.scales)).sum() + self.line * t)

    def slope(self, t: float) -> float:
        return float((self.heights * self.scales / (t + self.scales) ** 2).sum() + self.line)


def search(loss: Ratio) -> tuple[int, float]:
    """Search as the solver does; return the number of trials and the best fraction."""
    gap = loss.slope(0.0)
    low, high = (0.0, 0.0, gap), None
    best, best_fraction, fraction = 0.0, 0.0, 1.0
    for trial in range(40):
        value, slope = loss.value(fraction), loss.slope(fraction)
        if value > best:
            best, best_fraction = value, fraction
        if improves(value, fraction, gap, 0.7) and settles(slope, fraction, gap, trial):
            break
        if slope > 0 and value >= low[1]:
            low = fraction, value, slope
        else:
            high = fraction, value, slope
        if high is None:
            break
        fraction = next_fraction(*low, *high)
    return trial + 1, best_fraction


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_one_ratio_and_a_line_are_maximised_at_once(scale: float) -> None:
    """The model is exact there: ``b τ/(t + τ)² = c`` at ``t = √(bτ/c) − τ``."""
    line = 0.1 / (1.0 + scale)
    loss = Ratio(np.array([0.1]), np.array([scale]), -line)
    best = np.sqrt(0.1 * scale / line) - scale
    found = next_fraction(0.0, 0.0, loss.slope(0.0), 1.0, loss.value(1.0), loss.slope(1.0))
    # Steps below a millionth of the bracket take a second trial.
    assert found == pytest.approx(max(best, 1e-6), rel=1e-6)


def test_equal_curvature_gives_the_parabola() -> None:
    # t(1 − t) has slopes 1 and −1, and its maximum in the middle.
    assert next_fraction(0.0, 0.0, 1.0, 1.0, 0.0, -1.0) == pytest.approx(0.5)
    # And t(1.2 − t), slopes 1.2 and −0.8.
    assert next_fraction(0.0, 0.0, 1.2, 1.0, 0.2, -0.8) == pytest.approx(0.6)


def test_a_bracket_that_no_concave_function_fits_is_cut() -> None:
    for high in [(1.0, -0.5, 0.3), (1.0, -5.0, -0.1), (1.0, np.nan, np.nan), (1.0, 5.0, -0.1)]:
        found = next_fraction(0.0, 0.0, 1.0, *high)
        assert 0 < found <= 0.1


def test_steps_of_a_hundred_millionth_are_reached_in_a_few_trials() -> None:
    rng = np.random.default_rng(0)
    grid = np.geomspace(1e-12, 1, 500)
    tiny = 0
    for _ in range(3000):
        parts = int(rng.integers(1, 4))
        scales = 10.0 ** rng.uniform(-10, 1, parts)
        heights = rng.normal(size=parts) * 10.0 ** rng.uniform(-4, 0, parts)
        line = float(rng.normal() * 10.0 ** rng.uniform(-3, 0))
        values = np.array([Ratio(heights, scales, line).value(t) for t in grid])
        unit = 0.3 / np.abs(values).max()
        loss = Ratio(heights * unit, scales, line * unit)
        if loss.slope(0.0) <= 0:
            continue
        trials, fraction = search(loss)
        assert trials <= 14
        assert fraction > 0
        tiny += fraction < 1e-8
    assert tiny > 10


@pytest.mark.parametrize("looped", [False, True])
def test_a_chain_that_nearly_falls_apart_is_climbed_to_the_end(looped: bool) -> None:
    rows = STICKY / STICKY.sum(axis=1, keepdims=True)
    weights = np.array([0.1311, 0.3894, 0.4795])
    chain = Estimate.from_doublets(weights[:, None] * rows)
    callback = (lambda *_: None) if looped else None
    found = worst_case([-1.68, -1.81, 0.026], chain, 0.06, callback=callback)
    assert found.status is Status.STATIONARY
    # What 40 restarts of a general solver (SLSQP) reach; the old search ended at −0.60964.
    assert found.value >= -0.604988 - 1e-6


@pytest.mark.parametrize("states", [40, 120])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_are_rarely_exchanged_are_climbed_to_the_end(states: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    half = states // 2
    theta = 10.0 ** rng.uniform(-8, -5) * rng.random((states, states))
    theta[:half, :half] += rng.random((half, half)) + 0.1
    theta[half:, half:] += rng.random((half, half)) + 0.1
    chain, loss = Estimate.from_doublets(theta / theta.sum()), rng.normal(size=states)
    for radius in (1e-3, 0.03, 1.0):
        found = worst_case(loss, chain, radius, starts=1)
        assert found.status in {Status.STATIONARY, Status.CERTIFIED, Status.TRIVIAL}


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_a_queue_that_fills_up_is_seen_from_where_it_is(radius: float, looped: bool) -> None:
    """From the empty queue, 10^33 steps away, no relative value of the full one has a digit."""
    given = PROBLEMS["queue-60"].build()
    callback = (lambda *_: None) if looped else None
    found = worst_case(given.loss, given.estimate, radius, starts=1, callback=callback)
    assert found.status is Status.TRIVIAL
    assert found.divergence <= radius * (1 + 1e-9)
