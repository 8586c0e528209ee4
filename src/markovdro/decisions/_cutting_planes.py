"""The search for a decision: a master proposes, nature answers, until they agree.

The master's lower bound holds for all decisions, because every law that nature has shown is one
that she can choose. The best decision so far is judged once nothing may be better: its worst case
is searched for from all starts, and proven. Where that finds a worse law, the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.decisions._masters import Master, Proposal
from markovdro.decisions._nature import CostTable, Nature
from markovdro.decisions._result import Progress
from markovdro.worstcase import Status, WorstCase

__all__ = ["LEAST_GAP", "Goal", "Outcome", "Watch", "conclude", "note", "search"]

Watch = Callable[[Progress], None]

# No gap is asked for below this share of the loss range: nature and a master agree on no more.
LEAST_GAP = 1e-8


@dataclass(frozen=True)
class Goal:
    """When a search may end."""

    gap: float
    """How far the lower bound may be below the value, as a share of its size."""
    deadline: float = np.inf
    """When to look no further, and judge the best decision."""
    least: float = LEAST_GAP
    """How far it may be in any case, as a share of the loss range."""
    proof: float | None = None
    """How close the worst case of a decision is to be proven, as a share of the value."""

    def level(self, value: float, span: float) -> float:
        """Return what a decision must cost less than, to be worth looking for."""
        return value - max(self.gap * abs(value), self.least * span)

    def leeway(self, value: float) -> float | None:
        """Return how far the proven bound of a decision may be above its value."""
        return None if self.proof is None else self.proof * abs(value)


@dataclass(eq=False)
class Outcome:
    """What a search has found, while it goes on and when it ends."""

    costs: CostTable
    """Of the decisions that were proposed, by all that nature has shown."""
    shown: list[Any] = field(default_factory=list)
    """These decisions, as the caller sees them."""
    status: Status = Status.TIME_LIMIT
    lower: float = -np.inf
    rounds: int = 0
    span: float = 0.0
    """The largest loss range of a decision that was proposed."""
    worst_cases: tuple[WorstCase, ...] = ()
    """Of the best decision, once it has been judged."""
    history: list[Progress] = field(default_factory=list)

    @property
    def best(self) -> int:
        """Which of the decisions costs least."""
        return int(np.argmin(self.costs.totals))

    @property
    def value(self) -> float:
        """What it costs; infinity where there is none."""
        return float(self.costs.totals.min(initial=np.inf))

    @property
    def loss(self) -> FloatArray:
        """Its loss in each state."""
        loss: FloatArray = self.costs.losses[self.best]
        return loss

    @property
    def bound(self) -> float:
        """Proven: the best decision costs no more."""
        weights = self.costs.weights
        return float(sum(w * c.bound for w, c in zip(weights, self.worst_cases, strict=True)))


def search(master: Master, nature: Nature, goal: Goal, watch: Watch | None = None) -> Outcome:
    """Look for the decision with the best worst case, until the goal is reached or time is out."""
    outcome = Outcome(CostTable(nature))
    judged: dict[int, tuple[WorstCase, ...]] = {}
    while True:
        level = goal.level(outcome.value, outcome.span) if outcome.shown else np.inf
        proposal = master.propose(level, goal.deadline)
        outcome.lower = max(outcome.lower, master.lower)
        if isinstance(proposal, Status):
            outcome.status = proposal
            if not outcome.shown or outcome.best in judged:
                break
            judged[outcome.best] = nature.judge(outcome.loss, goal.leeway(outcome.value))
            outcome.costs.update()
        else:
            outcome.rounds += 1
            if not _consider(proposal, master, nature, outcome):
                outcome.status = Status.STALLED
                break
        note(outcome, nature, watch)
    if not outcome.shown:
        return outcome
    if outcome.best not in judged:
        return conclude(outcome, nature, goal, outcome.status)
    outcome.worst_cases = judged[outcome.best]
    return outcome


def conclude(outcome: Outcome, nature: Nature, goal: Goal, status: Status) -> Outcome:
    """Judge the best decision, and end with a status."""
    outcome.status = status
    outcome.worst_cases = nature.judge(outcome.loss, goal.leeway(outcome.value))
    outcome.costs.update()
    return outcome


def _consider(proposal: Proposal, master: Master, nature: Nature, outcome: Outcome) -> bool:
    """Let nature answer, thoroughly if this may be the best; tell if the master is any wiser."""
    answer = nature.answer(proposal.loss)
    outcome.span = max(outcome.span, float(np.ptp(proposal.loss)))
    if proposal.allowed:
        if answer.value < outcome.value:
            answer = nature.answer(proposal.loss, thorough=True)
        outcome.costs.add(proposal.loss)
        outcome.shown.append(proposal.x)
    outcome.costs.update()
    return master.learn(answer)


def note(outcome: Outcome, nature: Nature, watch: Watch | None) -> None:
    """Keep what has changed, and tell who watches."""
    now = Progress(nature.evaluations, outcome.value, min(outcome.lower, outcome.value))
    if not outcome.history or outcome.history[-1][1:] != now[1:]:
        outcome.history.append(now)
        if watch is not None:
            watch(now)
