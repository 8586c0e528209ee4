"""The paper's synthetic brand-switching chains (Section "Numerical Experiments")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.chains import Estimate, count_transitions, estimate, simulate

__all__ = ["SyntheticProblem", "synthetic_loss", "synthetic_problem", "synthetic_transition"]


def synthetic_transition(states: int, rng: np.random.Generator) -> FloatArray:
    """Draw a chain as the paper does.

    Entries uniform on [0, 1], two of them at random raised to 4 and 5, rows normalised.
    """
    matrix = rng.random((states, states))
    four, five = rng.choice(states * states, size=2, replace=False)
    matrix.flat[four], matrix.flat[five] = 4.0, 5.0
    normalised: FloatArray = matrix / matrix.sum(axis=1, keepdims=True)
    return normalised


def synthetic_loss(states: int, rng: np.random.Generator) -> FloatArray:
    """Draw the loss of a random assortment: minus the price of each brand that is offered.

    Prices are uniform on 1, …, 10, and each brand is offered with probability ½; an assortment
    that offers nothing or everything at one price, whose loss is constant, is drawn again.
    """
    while True:
        prices = rng.integers(1, 11, size=states)
        offered = rng.integers(0, 2, size=states)
        loss = -(prices * offered).astype(np.float64)
        if np.ptp(loss) > 0:
            return loss


@dataclass(frozen=True, eq=False)
class SyntheticProblem:
    """A true chain, what was estimated from one of its trajectories, and a loss."""

    transition: FloatArray
    estimate: Estimate
    loss: FloatArray


def synthetic_problem(states: int, transitions: int, seed: int) -> SyntheticProblem:
    """Draw a chain, simulate it, estimate it with the paper's zero perturbation, draw a loss."""
    rng = np.random.default_rng(seed)
    transition = synthetic_transition(states, rng)
    trajectory = simulate(transition, transitions, seed=rng)
    counts = count_transitions(trajectory, states=range(states))
    return SyntheticProblem(transition, estimate(counts), synthetic_loss(states, rng))
