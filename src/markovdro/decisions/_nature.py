"""Nature: what the chains and their ambiguity sets answer to a loss.

The worst case of a decision with losses L is ``Σ_k w_k max π·L`` over the stationary laws π of the
k-th set. Every such law that was ever met, for whatever loss, bounds the worst case of every
decision from below. So all of them are kept.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro.ambiguity import ConditionalEntropyBall, FrequencyBall
from markovdro.chains import Estimate, stationary_law
from markovdro.worstcase import (
    Found,
    Losses,
    Options,
    Problem,
    Region,
    WorstCase,
    climb_once,
    collect,
    solve,
)

__all__ = ["Answer", "CostTable", "Nature"]

# Chains that searches can begin from are kept for each group, in so many numbers.
MEMORY = 2_000_000
# Gaps at which a search stops: where a decision may be the best, and where one more law will do.
FINE, COARSE = 1e-9, 1e-6
# A law is new if it costs this share of the loss range more than all before it.
NEWS = 1e-12


@dataclass(frozen=True, eq=False)
class Answer:
    """The costliest laws for one loss, of those that are known."""

    values: FloatArray
    """Their long-run loss, for each chain."""
    laws: IndexArray
    """Which of each chain's laws they are."""
    value: float
    """The weighted sum."""


class _Group:
    """One chain: its set, the laws of it that were met, and the chains that have them."""

    def __init__(self, problem: Problem, order: IndexArray) -> None:
        self.problem, self.order = problem, order
        self.count = 0
        self.region: Region | None = None
        ball = problem.ball
        if isinstance(ball, FrequencyBall):
            first = ball.estimate.frequencies
        else:
            first = stationary_law(problem.estimate.transition)
        if isinstance(ball, ConditionalEntropyBall):
            self.region = Region(problem.estimate, problem.radius)
        self._laws = np.empty((16, len(first)))
        self._chains: deque[FloatArray] = deque(maxlen=max(1, MEMORY // len(first) ** 2))
        self.keep(first, problem.estimate.transition)

    @property
    def laws(self) -> FloatArray:
        """Known laws, in the order of the states of the first estimate."""
        return self._laws[: self.count]

    def keep(self, law: FloatArray, transition: FloatArray) -> None:
        """Remember a law, given in the order of this chain's own states."""
        if self.count == len(self._laws):
            self._laws = np.concatenate([self._laws, np.empty_like(self._laws)])
        self._laws[self.count, self.order] = law
        self._chains.append(transition)
        self.count += 1

    def nearest_chain(self, costs: FloatArray) -> FloatArray:
        """Return the costliest of the chains of the last laws, given what each law costs."""
        return self._chains[int(np.argmax(costs[-len(self._chains) :]))]


class Nature:
    """The adversary of a decision: one group for each chain.

    Parameters
    ----------
    chains, radii, weights : one for each chain
        All chains have the states of the first, in any order.
    options : Options
        Of the worst cases; those of the decision that is returned are found, and proven, by them.
    """

    def __init__(
        self,
        chains: list[Estimate],
        radii: list[float],
        weights: FloatArray,
        options: Options,
    ) -> None:
        self.weights = weights
        place = {state: number for number, state in enumerate(chains[0].states)}
        self.groups = [
            _Group(
                Problem(np.zeros(len(place)), chain, radius, options.ambiguity),
                np.array([place[state] for state in chain.states], dtype=np.intp),
            )
            for chain, radius in zip(chains, radii, strict=True)
        ]
        self.evaluations = 0
        """How many worst-case problems were solved."""
        self._begins_anew = options.method == "paper"
        fine = options if self._begins_anew else replace(options, tolerance=FINE)
        self._judging = fine
        self._searching = fine if self._begins_anew else replace(fine, method="frank-wolfe")
        self._glancing = replace(self._searching, tolerance=COARSE)

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def recall(self, loss: FloatArray) -> Answer:
        """Return the costliest of the known laws."""
        costs = [group.laws @ loss for group in self.groups]
        laws = np.array([int(np.argmax(cost)) for cost in costs])
        values = np.array([cost[law] for cost, law in zip(costs, laws, strict=True)])
        return Answer(values, laws, float(self.weights @ values))

    def answer(self, loss: FloatArray, *, thorough: bool = False) -> Answer:
        """Search for costlier laws: from the nearest chain, or thoroughly from several starts."""
        span = float(np.ptp(loss))
        if span == 0:
            return self.recall(loss)
        for group in self.groups:
            costs = group.laws @ loss
            found = self._search(group, loss, group.nearest_chain(costs), thorough=thorough)
            self._learn(group, found, loss, float(costs.max()), span)
        return self.recall(loss)

    def judge(self, loss: FloatArray, leeway: float | None = None) -> tuple[WorstCase, ...]:
        """Find, and prove as far as the options ask, the worst case of each chain.

        ``leeway`` is how far the weighted sum of the bounds may be above the value.
        """
        options, results = self._judging, []
        span = float(np.ptp(loss))
        if leeway is not None:
            tolerance = leeway / max(self.total_weight * span, 1e-300)
            options = replace(options, proof_tolerance=min(max(tolerance, FINE), 1.0))
        for group in self.groups:
            costs = group.laws @ loss
            own = Losses.of(loss[group.order][None])
            problem = replace(group.problem, loss=own.scaled[0])
            warm = None if self._begins_anew else group.nearest_chain(costs)
            found = solve(problem, options, warm=warm, region=group.region)
            self.evaluations += 1
            self._learn(group, found, loss, float(costs.max()), span)
            results.append(collect(own, [problem], [found], options)[0])
        return tuple(results)

    def _search(
        self, group: _Group, loss: FloatArray, start: FloatArray, *, thorough: bool
    ) -> Found:
        own = loss[group.order]
        high, span = own.max(), np.ptp(own)
        problem = replace(group.problem, loss=(own - (high - span)) / span)
        self.evaluations += 1
        if self._begins_anew:
            return solve(problem, self._searching)
        if thorough or group.region is None:
            return solve(problem, self._searching, warm=start)
        return climb_once(problem, self._glancing, start)

    def _learn(
        self, group: _Group, found: Found, loss: FloatArray, known: float, span: float
    ) -> None:
        cost = float(found.stationary @ loss[group.order])
        if cost > known + NEWS * span:
            group.keep(found.stationary, found.transition)


class CostTable:
    """What decisions cost at least, by all laws that nature has shown so far."""

    def __init__(self, nature: Nature, losses: FloatArray | None = None) -> None:
        self._nature = nature
        states = nature.groups[0].laws.shape[1]
        self._losses: FloatArray = np.empty((0, states)) if losses is None else losses
        self._count = len(self._losses)
        self._costs = np.full((self._count, len(nature.groups)), -np.inf)
        self._seen = [0] * len(nature.groups)
        self.update()

    @property
    def weights(self) -> FloatArray:
        """One for each chain."""
        return self._nature.weights

    @property
    def losses(self) -> FloatArray:
        """One row for each decision."""
        return self._losses[: self._count]

    @property
    def totals(self) -> FloatArray:
        """The weighted sums over the chains."""
        totals: FloatArray = self._costs[: self._count] @ self._nature.weights
        return totals

    def add(self, loss: FloatArray) -> None:
        """Add a decision."""
        if self._count == len(self._losses):
            more = np.empty((max(16, self._count), len(loss) + self._costs.shape[1]))
            self._losses = np.concatenate([self._losses, more[:, : len(loss)]])
            self._costs = np.concatenate([self._costs, more[:, len(loss) :]])
        self._losses[self._count] = loss
        groups = enumerate(self._nature.groups)
        self._costs[self._count] = [
            (group.laws[: self._seen[k]] @ loss).max(initial=-np.inf) for k, group in groups
        ]
        self._count += 1

    def update(self) -> bool:
        """Take in new laws; tell if there were any."""
        changed = False
        for k, group in enumerate(self._nature.groups):
            fresh = group.laws[self._seen[k] :]
            if len(fresh):
                changed = True
                costs = self._costs[: self._count, k]
                np.maximum(costs, (self.losses @ fresh.T).max(axis=1), out=costs)
            self._seen[k] = group.count
        return changed
