"""Branch and cut: linear decisions, with or without integers, by one tree of linear relaxations.

Every node is a box of x. Its relaxation is cut where nature's answer to the relaxed x costs more
than the laws in the model; laws that were met elsewhere are looked through first. When cuts hardly
raise the bound of a node any more, it is cut in two at a variable that should be an integer. The
node with the smallest bound comes next, and what none of its decisions can go below, none can.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro.decisions._cutting_planes import Goal, search
from markovdro.decisions._linear_program import LinearProgram, Relaxed
from markovdro.decisions._masters import Proposal
from markovdro.decisions._models import LinearModel
from markovdro.decisions._nature import Answer, Nature
from markovdro.worstcase import Status

__all__ = ["Tree"]

# What is this close to an integer is one.
INTEGRAL = 1e-7
# Nature is asked so often at the root, and at other nodes, before they are branched on …
ROOT_ROUNDS, NODE_ROUNDS = 60, 3
# … but not where her answer costs less than this share of the loss range more than the model.
SMALL = 1e-3
# Laws that were met elsewhere are added to a node so often at most.
RECALLS = 10
# A model and an answer that differ by less than this share of the largest coefficient agree.
AGREE = 4e-9
# A relaxed x is rounded at each of the first nodes, and then at one of some.
FIRST_NODES, SOME = 200, 20
# Without any decision after so many nodes, HiGHS is asked for one; and later again.
PATIENCE = 100
# A direction in which the worst case falls by less than this share of its loss range is level.
NO_FALL = 1e-7


@dataclass(eq=False)
class _Node:
    """A box of decisions, and what none of them can cost less than."""

    lower: FloatArray
    upper: FloatArray
    bound: float = -np.inf
    settled: float = -np.inf
    """What its best decision costs by all known laws, once the model agrees."""
    rounds: int = 0
    """How often nature has yet to be asked before it is branched on."""
    recalls: int = RECALLS
    rounded: bool = False


@dataclass(frozen=True, eq=False)
class _Pending:
    """The last proposal: an exact optimum of a node, a relaxed one, or something else."""

    kind: Literal["exact", "relaxed", "rounded"]
    node: _Node
    relaxed: Relaxed | None
    loss: FloatArray


class Tree:
    """The master of linear decisions."""

    def __init__(self, model: LinearModel, nature: Nature) -> None:
        self.model, self.nature = model, nature
        self.program = LinearProgram(model, nature)
        self.learn_all()
        self._ticket = itertools.count()
        self._open: list[tuple[float, int, _Node]] = []
        self._settled: list[_Node] = []
        self._agree = AGREE * self.program.scale
        self._leave(_Node(model.lower, model.upper))
        self._node: _Node | None = None
        self._pending: _Pending | None = None
        self._nodes, self._help_at = 0, PATIENCE
        self._found = self._escaped = False

    @property
    def lower(self) -> float:
        """Proven: no decision has a worst case below."""
        bounds = [node.bound for node in self._settled]
        bounds += [self._open[0][0]] if self._open else []
        bounds += [self._node.bound] if self._node is not None else []
        return min(bounds, default=np.inf)

    def propose(self, level: float, deadline: float) -> Proposal | Status:
        """Return an integer x, or a relaxed one, that may cost less than the level."""
        while True:
            if time.perf_counter() >= deadline:
                return Status.TIME_LIMIT
            if self._node is None:
                self._reopen(level)
                if not self._open or self._open[0][0] >= level:
                    return Status.CERTIFIED if self._found else Status.INFEASIBLE
                self._enter(heapq.heappop(self._open)[2])
            if self._node is not None:
                outcome = self._advance(self._node, level, deadline)
                if outcome is not None:
                    return outcome

    def learn(self, answer: Answer) -> bool:
        """Add the laws that the model lacks, and see whether the node is done."""
        pending = self._pending
        if pending is None or pending.relaxed is None or pending.kind == "rounded":
            return True
        node = pending.node
        added = self._cut(answer, pending.relaxed)
        if pending.kind == "exact" and not added:
            # The relaxation is exact at its optimum: nothing in this box costs less.
            node.settled = answer.value
            self._settled.append(node)
            self._node = None
        elif self._missing(answer, pending.relaxed) <= SMALL * self._span(pending.loss):
            node.rounds = 0
        return True

    def learn_all(self) -> None:
        """Add every law that is known."""
        for k, group in enumerate(self.nature.groups):
            for law in range(group.count):
                self.program.add(k, law)

    def _span(self, loss: FloatArray) -> float:
        """Return the loss range, weighted as the worst cases are."""
        return float(np.ptp(loss)) * self.nature.total_weight

    def _enter(self, node: _Node) -> None:
        self._nodes += 1
        node.rounds = ROOT_ROUNDS if self._nodes == 1 else NODE_ROUNDS
        node.recalls = RECALLS
        node.rounded = self._nodes > FIRST_NODES and self._nodes % SOME > 0
        self._node = node
        self.program.tidy()

    def _leave(self, node: _Node) -> None:
        """Put a node on the heap: to be looked into, or because nothing in it is below the level.

        (The level rises where a decision turns out worse than was thought.)
        """
        heapq.heappush(self._open, (node.bound, next(self._ticket), node))
        self._node = None

    def _reopen(self, level: float) -> None:
        """Look again into boxes whose best decision turned out to cost less than the level."""
        for node in [node for node in self._settled if node.settled < level]:
            self._settled.remove(node)
            self._leave(node)

    def _missing(self, answer: Answer, relaxed: Relaxed) -> float:
        """Return how much more an answer costs than the model."""
        return float(self.nature.weights @ np.maximum(answer.values - relaxed.thetas, 0.0))

    def _cut(self, answer: Answer, relaxed: Relaxed) -> bool:
        """Add the laws of an answer that cost more than the model; tell if any is new to it."""
        added = False
        for k in np.flatnonzero(answer.values - relaxed.thetas > self._agree).tolist():
            added |= self.program.add(k, int(answer.laws[k]))
        return added

    def _advance(self, node: _Node, level: float, deadline: float) -> Proposal | Status | None:
        """Solve a node once more; None where that changed the node, or left it."""
        relaxed = self.program.solve(node.lower, node.upper, deadline)
        if relaxed is Status.INFEASIBLE:
            self._node = None
            return None
        if relaxed is Status.UNBOUNDED:
            return self._escape(node, deadline)
        if isinstance(relaxed, Status):
            return relaxed
        node.bound = max(node.bound, relaxed.bound)
        if node.bound >= level:
            self._leave(node)
            return None
        return None if self._recall(node, relaxed) else self._look(node, relaxed, deadline)

    def _recall(self, node: _Node, relaxed: Relaxed) -> bool:
        """Add laws that are known from elsewhere; tell if the node is to be solved again."""
        if not node.recalls:
            return False
        node.recalls -= 1
        loss = self.model.loss(relaxed.x)
        known = self.nature.recall(loss)
        if self._missing(known, relaxed) <= SMALL * self._span(loss):
            return False
        return self._cut(known, relaxed)

    def _look(self, node: _Node, relaxed: Relaxed, deadline: float) -> Proposal | None:
        """Ask nature about the optimum of a node, or round it, or branch on it."""
        fractional = self._fractional(relaxed.x)
        if not fractional.size:
            return self._propose(relaxed.x, "exact", node, relaxed)
        if node.rounds:
            node.rounds -= 1
            return self._propose(relaxed.x, "relaxed", node, relaxed)
        if not node.rounded:
            node.rounded = True
            x = self._round(relaxed.x, fractional, deadline)
            if x is not None:
                return self._propose(x, "rounded", node, relaxed)
        self._branch(node, relaxed.x, fractional)
        return None

    def _escape(self, node: _Node, deadline: float) -> Proposal | Status | None:
        """Find out whether the worst case falls without end, or only the model of it so far.

        The directions in which x may go for ever are a decision problem of their own. The laws that
        stop the fall in each of them are cuts here, too.
        """
        if not self._found:
            x = self.program.some_decision(deadline)
            return x if isinstance(x, Status) else self._propose(x, "rounded", node, None)
        directions = self.model.directions()
        if self._escaped or directions is None:
            return Status.UNBOUNDED if self._escaped else Status.STALLED
        fall = search(Tree(directions, self.nature), self.nature, Goal(NO_FALL, deadline))
        if fall.value < -NO_FALL * fall.span:
            self._escaped = True
            return Status.UNBOUNDED
        before = self.program.size
        self.learn_all()
        return None if self.program.size > before else Status.STALLED

    def _propose(
        self,
        x: FloatArray,
        kind: Literal["exact", "relaxed", "rounded"],
        node: _Node,
        relaxed: Relaxed | None,
    ) -> Proposal:
        if kind != "relaxed":
            x = np.where(self.model.integer, np.round(x), x)
            self._found = True
        loss = self.model.loss(x)
        self._pending = _Pending(kind, node, relaxed, loss)
        return Proposal(self.model.present(x), loss, kind != "relaxed")

    def _fractional(self, x: FloatArray) -> IndexArray:
        off = np.abs(x - np.round(x)) > INTEGRAL
        return np.flatnonzero(self.model.integer & off)

    def _round(self, x: FloatArray, fractional: IndexArray, deadline: float) -> FloatArray | None:
        """Return a decision near a relaxed x, if there is an obvious one.

        All integers are rounded down, then up again one by one, the nearest first, as rows allow.
        """
        if not self._found and self._nodes >= self._help_at:
            self._help_at *= 10
            some = self.program.some_decision(deadline)
            return None if isinstance(some, Status) else some
        down = x.copy()
        down[fractional] = np.floor(x[fractional])
        if not self.model.allows(down):
            nearest = np.where(self.model.integer, np.round(x), x)
            return nearest if self.model.allows(nearest) else None
        for j in fractional[np.argsort(-(x - down)[fractional])].tolist():
            down[j] += 1.0
            if not self.model.allows(down):
                down[j] -= 1.0
        return down

    def _branch(self, node: _Node, x: FloatArray, fractional: IndexArray) -> None:
        """Cut a box in two at the variable that is furthest from an integer.

        While no decision is known, the half that holds the nearest integer is entered at once.
        """
        distance = np.abs(x[fractional] - np.floor(x[fractional]) - 0.5)
        j = int(fractional[np.argmin(distance)])
        halves = []
        for side in ("upper", "lower"):
            half = _Node(node.lower.copy(), node.upper.copy(), node.bound)
            getattr(half, side)[j] = np.floor(x[j]) + (side == "lower")
            halves.append(half)
        if self._found:
            self._leave(halves[0])
            self._leave(halves[1])
            return
        nearer = int(x[j] - np.floor(x[j]) > 0.5)
        self._leave(halves[1 - nearer])
        self._enter(halves[nearer])
