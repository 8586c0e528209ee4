"""Branch and bound over the logarithms of the stationary law: the certificate for any radius.

The target ρ is just above the best value that is known. The box that holds the ball is cut into
smaller ones until each is refuted: proven to hold no chain that loses ρ (``_relaxation``). A box
that is not yet refuted still has a bound of its own, so that the largest of these is a bound on the
worst case at any time; the box that has it is cut next.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro.ambiguity import ConditionalEntropyBall
from markovdro.worstcase._multistart import climb_from
from markovdro.worstcase._options import Options
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._region import Region
from markovdro.worstcase._result import Proof, Status
from markovdro.worstcase._threads import allowed_threads

__all__ = ["MOST_BRANCHING_STATES", "branch"]

# The relaxation of one box takes seconds beyond this many states.
MOST_BRANCHING_STATES = 200
# Boxes are bounded in groups that are long enough to be worth handing to threads.
WORK_OF_A_GROUP = 100_000.0
# A box is cut where the relaxation ended, but no nearer to its sides than this share.
SLIMMEST = 0.2
NARROWEST = 1e-9
# What sums of a few hundred terms may be off by.
LAST_DIGITS = 1e-12
# The target stays this share of the tolerance inside what is asked for.
ROUNDING_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class _Boxes:
    """A group of boxes, and where the search in each starts: one row for each box."""

    low: FloatArray
    high: FloatArray
    point: FloatArray
    tau: FloatArray
    h: FloatArray
    multiplier: FloatArray

    def halves(self, row: int, state: int) -> list[_Boxes]:
        """Cut one box in two."""
        low, high = float(self.low[row, state]), float(self.high[row, state])
        margin = SLIMMEST * (high - low)
        cut = min(max(float(self.point[row, state]), low + margin), high - margin)
        pair = []
        for side in ("high", "low"):
            arrays = {name: array[row : row + 1].copy() for name, array in vars(self).items()}
            arrays[side][0, state] = cut
            pair.append(_Boxes(**arrays))
        return pair

    @staticmethod
    def together(boxes: list[_Boxes]) -> _Boxes:
        return _Boxes(*(np.concatenate(arrays) for arrays in zip(*map(_rows, boxes), strict=True)))


def _rows(boxes: _Boxes) -> list[FloatArray]:
    return list(vars(boxes).values())


@dataclass(eq=False)
class _Search:
    """The state of one search: the best chain, the open boxes, and what has been counted."""

    region: Region
    problem: Problem
    options: Options
    found: Found
    threads: int
    pool: ThreadPoolExecutor
    nodes: int = 0
    stuck: float = 0.0
    """The largest bound of a box that is too narrow to be cut again."""
    open: list[tuple[float, int, _Boxes, int]] = field(default_factory=list)
    ticket: Iterator[int] = field(default_factory=itertools.count)
    """Boxes with equal bounds are cut in the order in which they were found."""

    @property
    def target(self) -> float:
        return self.found.value + (1.0 - ROUNDING_SHARE) * self.options.proof_tolerance

    @property
    def bound(self) -> float:
        """What is proven so far."""
        worst_open = -self.open[0][0] if self.open else 0.0
        return min(max(self.target, worst_open, self.stuck), 1.0)

    def examine(self, group: _Boxes, ceilings: FloatArray) -> None:
        """Bound a group of boxes, whose bounds are known to be no higher than the ceilings."""
        from markovdro.worstcase import _relaxation

        target = self.target
        count = len(group.low)
        excess, branches = np.empty(count), np.empty(count, dtype=np.intp)
        given = (
            self.region.estimate.doublets,
            self.region.positive,
            self.region.estimate.weights,
            self.region.radius,
            self.problem.loss - target,
        )

        def run(part: IndexArray) -> None:
            first, last = int(part[0]), int(part[-1]) + 1
            _relaxation.bound_boxes(
                *given,
                first,
                last,
                group.low,
                group.high,
                group.point,
                group.tau,
                group.h,
                group.multiplier,
                excess,
                branches,
            )

        list(self.pool.map(run, np.array_split(np.arange(count), min(count, self.threads))))
        self.nodes += count
        # f falls by at least (ρ' − ρ) Σ e^v as ρ grows, and Σ e^v ≥ 1 because Σ α v = Σ α log α.
        with np.errstate(over="ignore"):
            mass = np.maximum(np.exp(group.low).sum(axis=1), 1.0) * (1.0 - LAST_DIGITS)
        with np.errstate(invalid="ignore"):
            bounds = np.fmin(ceilings, target + np.maximum(excess, 0.0) / mass)
        for m in np.flatnonzero(excess > 0.0).tolist():
            state = int(branches[m])
            if group.high[m, state] - group.low[m, state] < NARROWEST:
                self.stuck = max(self.stuck, float(bounds[m]))
                continue
            box = _Boxes(*(array[m : m + 1].copy() for array in _rows(group)))
            heapq.heappush(self.open, (-float(bounds[m]), next(self.ticket), box, state))

    def run(self, most_nodes: int) -> Status:
        """Cut the worst boxes until none is open, or until time or boxes run out."""
        most_cuts = 2 * max(1, int(WORK_OF_A_GROUP / len(self.problem.loss) ** 3))
        rounds = 0
        while self.open and -self.open[0][0] > self.target:
            if time.perf_counter() >= self.options.deadline:
                return Status.TIME_LIMIT
            if self.nodes >= most_nodes:
                return Status.NODE_LIMIT
            cuts: list[_Boxes] = []
            ceilings: list[float] = []
            while self.open and -self.open[0][0] > self.target and len(cuts) < most_cuts:
                negative, _, parent, state = heapq.heappop(self.open)
                cuts += parent.halves(0, state)
                ceilings += [-negative] * 2
            group = _Boxes.together(cuts)
            self.examine(group, np.array(ceilings))
            rounds += 1
            # Climbs from relaxed laws come early in every search, and seldom later.
            if rounds & (rounds - 1) == 0:
                self.improve(group)
        return Status.STALLED if self.stuck > self.target else Status.CERTIFIED

    def improve(self, group: _Boxes) -> None:
        """Climb from the most promising law that the relaxations of a group have met."""
        laws = np.exp(group.point - group.point.max(axis=1, keepdims=True))
        values = laws @ self.problem.loss / laws.sum(axis=1)
        m = int(np.argmax(values))
        estimate = self.region.estimate
        # Only a start: where rounding spoiled the dual solution, there is none.
        with np.errstate(all="ignore"):
            law = np.exp(group.point[m])
            rows = estimate.doublets / (group.tau[m][:, None] + law[:, None] * group.h[m])
            rows /= rows.sum(axis=1, keepdims=True)
        if not np.isfinite(rows).all() or (rows < 0).any():
            return
        ball = ConditionalEntropyBall(estimate, self.problem.radius)
        self.found = climb_from(self.problem, self.options, self.found, ball.pull_inside(rows))


def branch(
    region: Region, problem: Problem, options: Options, found: Found, most_nodes: int
) -> Found:
    """Prove that nothing is worse than the best chain found, or find something worse.

    Returns what is best now, with a proven bound: within the tolerance (certified), or as far as
    time and the number of boxes allowed.
    """
    threads = allowed_threads(options.threads)
    box = region.box(threads, options.deadline)
    if box is None:
        out_of_time = time.perf_counter() >= options.deadline
        return found.ending(Status.TIME_LIMIT) if out_of_time else found
    weights = region.estimate.weights
    root = _Boxes(
        box[0][None].copy(),
        box[1][None].copy(),
        np.clip(region.shifted(found.stationary), *box)[None],
        weights[None].copy(),
        np.zeros((1, len(weights))),
        np.array([np.sqrt(2.0 * region.radius)]),
    )
    with ThreadPoolExecutor(threads) as pool:
        search = _Search(region, problem, options, found, threads, pool)
        search.examine(root, np.ones(1))
        status = search.run(most_nodes)
    return search.found.proven(search.bound, Proof.BRANCHING, search.nodes).ending(status)
