"""The paper's Algorithm 3: directional direct search, for losses that are known only by calling.

It compares worst cases and nothing else. At every iteration a search step tries one promising
point, and a poll step the points at distance α in the directions of a positive spanning set; a
point is taken if its worst case is better by more than α². Steps grow after a success and shrink
after a failure, and points that are not allowed count as infinitely costly (extreme barrier).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import float_array, positive_number, random_generator, shown, whole_number
from markovdro.chains import loss_vector
from markovdro.decisions._cutting_planes import Goal, Outcome, Watch, conclude, note
from markovdro.decisions._models import States
from markovdro.decisions._nature import CostTable, Nature
from markovdro.errors import InputError
from markovdro.worstcase import Status

__all__ = ["BlackBoxDecisions", "BlackBoxModel", "direct_search"]


@dataclass(frozen=True, eq=False)
class BlackBoxDecisions:
    """Decisions whose loss is known only by calling a function: no bound, a local optimum at best.

    Attributes
    ----------
    function : function of n numbers
        Returns the loss in each state: d numbers, or a dict or pandas Series by state. A loss that
        is not finite counts as not allowed.
    start : n numbers
        x_0, an allowed decision.
    feasible : function of n numbers, optional
        Whether a decision is allowed. By default all are.
    step : number
        α_0, the first step, in units of x. A point must be better by α², in units of the loss.
    least_step : number
        The search ends when α falls below it.
    grow, shrink : number
        γ ≥ 1 and β in (0, 1): α becomes γα after a success, and βα after a failure.
    evaluations : int
        The budget: how many decisions may be evaluated.
    seed : int
        Of the poll directions.

    Notes
    -----
    The poll directions are an orthonormal basis, both ways, the last successful direction first: at
    the beginning the coordinates, after each failure a basis turned at random, since the worst case
    has kinks at which a fixed one would hold on. The search step doubles the last successful step.
    Where the worst case has a Lipschitz gradient, of the order of ``n² ε^-2`` evaluations bring
    that gradient below ε (Vicente, 2013, Theorem 2 and Corollary 1).

    Examples
    --------
    >>> from markovdro import BlackBoxDecisions, Estimate, prescribe
    >>> weather = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["dry", "wet"])
    >>> depth = BlackBoxDecisions(lambda x: [(x[0] - 1) ** 2, (x[0] - 3) ** 2], start=[0.0])
    >>> prescribe(depth, weather, radius=0.01).x.round(3)
    array([2.])
    """

    function: Callable[[FloatArray], Any]
    start: Any
    feasible: Callable[[FloatArray], Any] | None = None
    step: float = 1.0
    least_step: float = 1e-6
    grow: float = 2.0
    shrink: float = 0.5
    evaluations: int = 1000
    seed: int = 0

    def resolve(self, states: States) -> BlackBoxModel:
        """Check the numbers, and that the start is allowed."""
        for name in ("function", "feasible"):
            value = getattr(self, name)
            if not callable(value) and (name == "function" or value is not None):
                raise InputError(f"{name} must be a function, but is {shown(value)}.")
        grow = positive_number(self.grow, "grow")
        if grow < 1:
            raise InputError(f"grow must be at least 1, but is {grow:g}.")
        model = BlackBoxModel(
            function=self.function,
            feasible=self.feasible,
            states=states,
            start=float_array(self.start, "start", 1),
            first_loss=np.empty(0),
            step=positive_number(self.step, "step"),
            least_step=positive_number(self.least_step, "least_step"),
            grow=grow,
            shrink=positive_number(self.shrink, "shrink", below=1.0),
            evaluations=whole_number(self.evaluations, "evaluations", least=1),
            rng=random_generator(self.seed),
        )
        loss = model.loss(model.start)
        if loss is None:
            raise InputError(
                f"start must be an allowed decision with a finite loss, but {shown(self.start)} is "
                "not; the search steps from one allowed decision to the next."
            )
        return replace(model, first_loss=loss)

    def describe(self, x: Any, states: States) -> str:  # noqa: ARG002
        """Return the numbers."""
        return shown(np.asarray(x).round(6).tolist())


@dataclass(frozen=True, eq=False)
class BlackBoxModel:
    """The functions and the numbers of a direct search, checked."""

    function: Callable[[FloatArray], Any]
    feasible: Callable[[FloatArray], Any] | None
    states: States
    start: FloatArray
    first_loss: FloatArray
    """That of the start."""
    step: float
    least_step: float
    grow: float
    shrink: float
    evaluations: int
    rng: np.random.Generator

    def loss(self, x: FloatArray) -> FloatArray | None:
        """Return the loss in each state, or None where x is not allowed."""
        # The caller's functions get copies, lest they change what the search stands on.
        if self.feasible is not None and not self.feasible(x.copy()):
            return None
        given = self.function(x.copy())
        numbers = list(given.values()) if isinstance(given, Mapping) else given
        try:
            finite = bool(np.isfinite(np.asarray(numbers, dtype=np.float64)).all())
        except (TypeError, ValueError):  # the check of the vector says what is wrong
            finite = True
        return loss_vector(given, self.states, "the loss of function") if finite else None


def direct_search(
    model: BlackBoxModel, nature: Nature, goal: Goal, watch: Watch | None = None
) -> Outcome:
    """Run Algorithm 3 from the start, until the step is small, or the budget or time is used up."""
    outcome = Outcome(CostTable(nature), status=Status.STATIONARY)
    x, step, last = model.start, model.step, None
    basis = np.eye(len(x))
    nature.answer(model.first_loss, thorough=True)
    _accept(x, model.first_loss, nature, outcome, watch)
    tried = 1
    while step >= model.least_step:
        outcome.rounds += 1
        threshold = outcome.value - step**2
        success = False
        for direction, length in _directions(basis, last):
            if time.perf_counter() >= goal.deadline:
                return conclude(outcome, nature, goal, Status.TIME_LIMIT)
            point = x + step * length * direction
            loss = model.loss(point)
            # What nature has shown already may tell that a point is no better.
            if loss is None or nature.recall(loss).value >= threshold:
                continue
            if tried >= model.evaluations:
                return conclude(outcome, nature, goal, Status.ITERATION_LIMIT)
            tried += 1
            if nature.answer(loss, thorough=True).value < threshold:
                x, last, success = point, direction, True
                _accept(x, loss, nature, outcome, watch)
                break
        step *= model.grow if success else model.shrink
        if not success:
            basis = np.linalg.qr(model.rng.normal(size=basis.shape))[0]
    return conclude(outcome, nature, goal, Status.STATIONARY)


def _directions(basis: FloatArray, last: FloatArray | None) -> Iterator[tuple[FloatArray, float]]:
    """Yield the direction and length of the search step, and then a positive spanning set."""
    if last is not None:
        yield last, 2.0
        yield last, 1.0
    for unit in basis:
        yield unit, 1.0
        yield -unit, 1.0


def _accept(
    x: FloatArray, loss: FloatArray, nature: Nature, outcome: Outcome, watch: Watch | None
) -> None:
    """Take a decision as the best so far."""
    outcome.span = max(outcome.span, float(np.ptp(loss)))
    outcome.costs.add(loss)
    outcome.costs.update()
    outcome.shown.append(x)
    note(outcome, nature, watch)
