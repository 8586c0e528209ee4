"""What a search for decisions is made of: a master proposes them, nature answers.

A master knows which decisions are allowed, and the laws that nature has shown. From these it knows
for every decision, one by one or all together, what it costs at least.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.decisions._models import FiniteModel
from markovdro.decisions._nature import Answer, CostTable, Nature
from markovdro.worstcase import Status

__all__ = ["Listed", "Master", "Proposal"]


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point whose worst case is worth knowing."""

    x: Any
    """What the caller is shown, where it is a decision that is allowed."""
    loss: FloatArray
    allowed: bool = True
    """Whether it is, and not a point of a relaxation that only leads to cuts."""


class Master(Protocol):
    """Proposes decisions, and bounds all that it has not proposed."""

    @property
    def lower(self) -> float:
        """Proven: no decision has a worst case below."""
        ...

    def propose(self, level: float, deadline: float) -> Proposal | Status:
        """Return what may cost less than the level, or why there is nothing to propose.

        ``CERTIFIED`` is the answer where no decision costs less than the level.
        """
        ...

    def learn(self, answer: Answer) -> bool:
        """Take in what nature answered to the last proposal; tell if that changed anything."""
        ...


class Listed:
    """Decisions that can be listed: what each costs at least is a table, kept up to date."""

    def __init__(self, model: FiniteModel, nature: Nature) -> None:
        self.model = model
        self.costs = CostTable(nature, model.losses)

    @property
    def lower(self) -> float:
        """What the cheapest decision costs at least."""
        return float(self.costs.totals.min(initial=np.inf))

    def propose(self, level: float, deadline: float) -> Proposal | Status:
        """Return the decision that costs least as far as is known."""
        if len(self.model.losses) == 0:
            return Status.INFEASIBLE
        if self.lower >= level:
            return Status.CERTIFIED
        if time.perf_counter() >= deadline:
            return Status.TIME_LIMIT
        row = int(np.argmin(self.costs.totals))
        return Proposal(self.model.label(row), self.model.losses[row])

    def learn(self, answer: Answer) -> bool:  # noqa: ARG002
        """Raise what each decision costs at least."""
        self.costs.update()
        return True
