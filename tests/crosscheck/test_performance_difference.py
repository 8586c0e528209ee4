"""The same worst cases, proven by other mathematics: the performance-difference identity.

For any two chains ``c(P) − c(Q) = Σ_i π_i(P) (P_i − Q_i)·h_Q``. If every chain of the ball has
``Lo ≤ π(P) ≤ Hi``, then for each μ ≥ 0 and each reference chain Q

    c(P) ≤ c(Q) + μ r + Σ_i max_{w ∈ {Lo_i, Hi_i}} max_S [ w (S − Q_i)·h_Q − μ α_i KL(P'_i ‖ S) ],

because a gain counts at most Hi_i times, and a loss at least Lo_i times. The boxes come from the
bound itself with the losses ±e_m, from [0, 1] on. All of it is numpy, and any multiplier of a row
gives a bound, so that nothing has to be solved exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import Estimate, stationary_bounds, worst_case, worst_case_batch
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.experiments import synthetic_problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """Chains Q, one for each loss: their long-run losses, h, and ``Q_i·h``."""

    value: Array
    h: Array
    mean: Array


def long_run(transitions: Array, losses: Array) -> tuple[Array, Array, Array]:
    """Long-run losses, stationary laws and relative values of n chains by dense solves."""
    count, size = losses.shape
    system = np.eye(size) - transitions + 1.0 / size
    law = np.linalg.solve(np.swapaxes(system, 1, 2), np.full((count, size, 1), 1.0 / size))[..., 0]
    value = (law * losses).sum(axis=1)
    h = np.linalg.solve(system, (losses - value[:, None])[..., None])[..., 0]
    return value, law, h


def referring(transitions: Array, losses: Array) -> Reference:
    value, _, h = long_run(transitions, losses)
    return Reference(value, h, np.einsum("nij,nj->ni", transitions, h))


def best_rows(nominal: Array, scaled: Array, price: Array) -> Array:
    """``max_S S·g − p KL(P' ‖ S)`` from above, for g (…, d) and prices p (…), by its dual.

    ``t − p + p Σ_j P'_j log(p/(t − g_j))`` is a bound for every t > max g, least where
    ``Σ_j P'_j/(t − g_j) = 1/p``: Newton on the reciprocal of that sum, which rises from the left.
    """
    top = scaled.argmax(axis=-1)[..., None]
    distance = np.take_along_axis(scaled, top, axis=-1) - scaled
    start = price * np.take_along_axis(np.broadcast_to(nominal, scaled.shape), top, axis=-1)[..., 0]
    s = start
    for _ in range(8):
        inverse = 1.0 / (s[..., None] + distance)
        first = (nominal * inverse).sum(axis=-1)
        second = (nominal * inverse * inverse).sum(axis=-1)
        s = np.maximum(s + (price - 1.0 / first) * first * first / second, start)
    logs = (nominal * np.log(price[..., None] / (s[..., None] + distance))).sum(axis=-1)
    bound: Array = scaled.max(axis=-1) + s - price + price * logs
    return bound


def bound_at(
    chain: Estimate, radius: float, reference: Reference, low: Array, high: Array, price: Array
) -> Array:
    """The bound of each loss, at a multiplier for each."""
    total = reference.value + price * radius
    row_price = price[:, None] * chain.weights
    gain = np.full(row_price.shape, -np.inf)
    for weight in (low, high):
        scaled = weight[:, None] * reference.h[:, None, :]
        rows = best_rows(chain.transition, scaled, row_price) - weight * reference.mean
        gain = np.maximum(gain, rows)
    bound: Array = total + gain.sum(axis=1)
    return bound


def bound(chain: Estimate, radius: float, reference: Reference, low: Array, high: Array) -> Array:
    """The least bound over multipliers: a grid of logarithms, then a finer one around the best."""
    count = len(reference.value)
    best, at = np.full(count, np.inf), np.zeros(count)
    centre, offsets = np.zeros(count), np.linspace(-12, 3, 16)
    for _ in range(3):
        for offset in offsets:
            log_price = centre + offset
            found = bound_at(chain, radius, reference, low, high, np.exp(log_price))
            better = found < best
            best, at = np.where(better, found, best), np.where(better, log_price, at)
        centre, offsets = at.copy(), np.linspace(-1, 1, 7) * (offsets[1] - offsets[0])
    return best


def boxes(chain: Estimate, radius: float, rounds: int = 8) -> tuple[Array, Array]:
    """Ranges of the stationary law over the ball, shrunk from [0, 1]."""
    size = len(chain.weights)
    losses = np.vstack([np.eye(size), -np.eye(size)])
    # Any chains serve as references; those that go far in each direction serve best.
    far = worst_case_batch(losses, chain, radius).transitions
    reference = referring(far, losses)
    low, high = np.zeros(size), np.ones(size)
    for _ in range(rounds):
        proven = bound(chain, radius, reference, low, high)
        low, high = np.maximum(low, -proven[size:]), np.minimum(high, proven[:size])
    return low, high


CASES = [
    (10, 300, 0.003, 1, 1.1),
    (10, 300, 0.003, 2, 1.1),
    (20, 1000, 0.003, 0, 1.2),
    (50, 5000, 0.001, 1, 1.15),
]


@pytest.mark.parametrize(("states", "transitions", "radius", "seed", "looseness"), CASES)
def test_two_proofs_of_one_worst_case(
    states: int, transitions: int, radius: float, seed: int, looseness: float
) -> None:
    given = synthetic_problem(states, transitions, seed)
    chain, loss = given.estimate, given.loss
    span = float(np.ptp(loss))
    low, high = boxes(chain, radius)
    # They are boxes of something: the mass of a law fits in.
    assert (low > 0).all()
    assert low.sum() < 1 < high.sum()

    ours = worst_case(loss, chain, radius, method="global")
    reference = referring(ours.transition[None], loss[None])
    other = float(bound(chain, radius, reference, low, high)[0])
    rounding = 1e-11 * span
    assert ours.value <= other + rounding
    assert ours.certified
    assert ours.bound <= other
    # It is a proof of its own, not the largest loss.
    assert other - ours.nominal <= looseness * (ours.value - ours.nominal)

    ranges = stationary_bounds(chain, radius, tolerance=1e-3, time_limit=20)
    assert (ranges.inner_lower >= low - 1e-11).all()
    assert (ranges.inner_upper <= high + 1e-11).all()
    # What the bounds of ours may lack is the tolerance.
    assert (ranges.lower >= low - 1e-3).all()
    assert (ranges.upper <= high + 1e-3).all()


@pytest.mark.parametrize("size", [2, 5, 30])
def test_the_identity(size: int) -> None:
    rng = np.random.default_rng(size)
    chains = rng.dirichlet(np.full(size, 0.5), size=(2, size)) * 0.99 + 0.01 / size
    loss = rng.normal(size=size)
    value, law, h = long_run(chains, np.tile(loss, (2, 1)))
    assert law[0] @ chains[0] == pytest.approx(law[0], abs=1e-12)
    difference = float(law[0] @ (chains[0] - chains[1]) @ h[1])
    assert value[0] - value[1] == pytest.approx(difference, abs=1e-10)


def test_chains_of_the_ball_stay_in_the_boxes() -> None:
    given = synthetic_problem(10, 300, 3)
    chain = given.estimate
    low, high = boxes(chain, 0.003)
    ball = ConditionalEntropyBall(chain, 0.003)
    rng = np.random.default_rng(0)
    size = len(low)
    drawn = np.array(
        [
            ball.pull_inside(
                0.5 * chain.transition + 0.5 * rng.dirichlet(np.full(size, 0.5), size=size)
            )
            for _ in range(200)
        ]
    )
    _, law, _ = long_run(drawn, np.zeros((200, size)))
    assert (law >= low).all()
    assert (law <= high).all()
