"""The paper's synthetic brand-switching chains (Section "Numerical Experiments")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.chains import Estimate, count_transitions, estimate, simulate
from markovdro.decisions import Assortment

__all__ = [
    "RevenueProblem",
    "SyntheticProblem",
    "synthetic_loss",
    "synthetic_problem",
    "synthetic_revenue",
    "synthetic_transition",
]


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


@dataclass(frozen=True, eq=False)
class RevenueProblem:
    """The paper's revenue problem: brands to offer to several groups of customers."""

    transitions: list[FloatArray]
    """The true chains, one for each group."""
    estimates: list[Estimate]
    weights: FloatArray
    prices: FloatArray
    matrix: FloatArray
    bound: FloatArray

    @property
    def assortment(self) -> Assortment:
        """The decision problem."""
        return Assortment(self.prices, self.matrix, self.bound)


def synthetic_revenue(
    states: int, groups: int, transitions: int, seed: int, *, room: float = 1.0
) -> RevenueProblem:
    """Draw groups of customers, a trajectory of each, prices, and five resources.

    Prices are uniform on 1, …, 10 and weights on the simplex, as in the paper, which leaves the
    resources open: offering a brand takes 8 to 25 of each, and there are 70 to 100 times ``room``.
    """
    rng = np.random.default_rng(seed)
    chains = [synthetic_transition(states, rng) for _ in range(groups)]
    logs = [simulate(chain, transitions, seed=rng) for chain in chains]
    return RevenueProblem(
        chains,
        [estimate(count_transitions(log, states=range(states))) for log in logs],
        rng.dirichlet(np.ones(groups)),
        rng.integers(1, 11, size=states).astype(np.float64),
        rng.uniform(8.0, 25.0, size=(5, states)),
        room * rng.uniform(70.0, 100.0, size=5),
    )
