"""Problems to compare solvers on, each registered once by a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from markovdro import count_transitions, estimate, simulate
from markovdro.experiments import SyntheticProblem, synthetic_problem


@dataclass(frozen=True)
class Problem:
    """A problem that is built when it is needed."""

    name: str
    states: int
    positive: bool
    """Whether every entry of P' is positive, as some rivals need."""
    build: Callable[[], SyntheticProblem]


PROBLEMS: dict[str, Problem] = {}


def register(name: str, states: int, *, positive: bool = True) -> Callable[..., None]:
    def add(build: Callable[[], SyntheticProblem]) -> None:
        PROBLEMS[name] = Problem(name, states, positive, build)

    return add


for size, length in ((10, 300), (20, 1000), *((d, 5000) for d in (50, 100, 200, 500, 1000, 2000))):
    register(f"synthetic-{size}", size)(
        lambda size=size, length=length: synthetic_problem(size, length, seed=1)
    )


@register("queue-60", 60, positive=False)
def queue() -> SyntheticProblem:
    """Customers waiting, up to 59: one more, one fewer or the same; the loss is the length."""
    size, up, down = 60, 0.3, 0.35
    chain = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, down), -1)
    chain += np.diag(1 - chain.sum(axis=1))
    counts = count_transitions(simulate(chain, 20_000, seed=1), states=range(size))
    support = chain > 0
    masses = estimate(counts, smoothing="pseudo-counts", support=support)
    return SyntheticProblem(chain, masses, np.arange(size, dtype=float))


@register("machine-12", 12, positive=False)
def machine() -> SyntheticProblem:
    """A machine that ages and is renewed by a failure; the loss is a failure's cost by age."""
    size = 12
    fail = np.linspace(0.02, 0.5, size)
    chain = np.diag(1 - fail[:-1], 1)
    chain[:, 0] += fail
    chain[-1, -1] += 1 - fail[-1]
    counts = count_transitions(simulate(chain, 3000, seed=2), states=range(size))
    masses = estimate(counts, smoothing="pseudo-counts", support=chain > 0)
    return SyntheticProblem(chain, masses, fail * 1000.0)


@register("sticky-30", 30)
def sticky() -> SyntheticProblem:
    """Two groups of states that are rarely exchanged: a slow chain, nearly falling apart."""
    rng = np.random.default_rng(3)
    size, half = 30, 15
    chain = np.full((size, size), 1e-4 / half)
    chain[:half, :half] = (1 - 1e-4) * rng.dirichlet(np.ones(half), size=half)
    chain[half:, half:] = (1 - 1e-4) * rng.dirichlet(np.ones(half), size=half)
    counts = count_transitions(simulate(chain, 50_000, seed=3), states=range(size))
    loss = np.repeat([0.0, 1.0], half) + 0.1 * rng.random(size)
    return SyntheticProblem(chain, estimate(counts), loss)
