"""Convex decisions that are written in cvxpy.

The master is the program ``min Σ_k w_k θ_k`` with ``θ_k ≥ Π_k ℓ``, ``ℓ ≥ L(x)`` and the caller's
constraints. The laws in Π_k are a parameter with room for more, so that cvxpy compiles the program
only when the room is used up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovdro._inputs import entries_of, shown
from markovdro.decisions._masters import Proposal
from markovdro.decisions._models import States
from markovdro.decisions._nature import Answer, Nature
from markovdro.errors import InputError, MissingExtraError
from markovdro.worstcase import Status

__all__ = ["ConvexDecisions", "ConvexMaster", "ConvexModel"]

# What an optimum may be off by, as a share of its size and of the loss range: that of Clarabel,
# which stops at 1e-8, and that of solvers whose tolerance is not known here.
CLARABEL, OTHERS = 1e-7, 1e-4
FIRST_ROOM = 8
STATUSES = {
    "optimal": None,
    "optimal_inaccurate": None,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "infeasible_or_unbounded": Status.UNBOUNDED,
}
# Unbounded programs are solved in boxes of these sizes, until the optimum is inside.
BOXES = (1e3, 1e6, 1e9)


@dataclass(frozen=True, eq=False)
class ConvexDecisions:
    """Decisions with a loss that is convex in x, and constraints, both written in cvxpy.

    Attributes
    ----------
    loss : cvxpy expression of d entries, d scalar ones, or a dict of scalar ones by state
        ``L(x, i)``, convex by cvxpy's rules in its variables.
    constraints : list of cvxpy constraints
    solver : str, optional
        A solver that cvxpy knows. By default Clarabel, or what cvxpy chooses where there are
        integers. Bounds are proven to the accuracy of the solver, taken as 1e-7 of the loss range
        for Clarabel and as 1e-4 for others.

    Examples
    --------
    A share x of the budget goes to a fund that gains 10% or loses 8%, at quadratic costs:

    >>> import cvxpy as cp
    >>> from markovdro import ConvexDecisions, Estimate, prescribe
    >>> x = cp.Variable(name="share")
    >>> market = Estimate.from_doublets([[0.5, 0.1], [0.1, 0.3]], states=["bull", "bear"])
    >>> fund = ConvexDecisions(
    ...     [-0.10 * x + 0.02 * x**2, 0.08 * x + 0.02 * x**2], [x >= 0, x <= 1]
    ... )
    >>> round(float(prescribe(fund, market, radius=0.0).x), 3)
    0.7
    >>> round(float(prescribe(fund, market, radius=0.005).x), 3)
    0.256
    """

    loss: Any
    constraints: Sequence[Any] = ()
    solver: str | None = None

    def resolve(self, states: States) -> ConvexModel:
        """Check that the loss is convex and has one entry for each state."""
        try:
            import cvxpy
        except ImportError:
            raise MissingExtraError(
                "ConvexDecisions needs cvxpy, which is not installed; "
                "run pip install 'markovdro[convex]'."
            ) from None
        loss = self._expression(cvxpy, states)
        constraints = list(self.constraints)
        for number, constraint in enumerate(constraints):
            if not hasattr(constraint, "is_dcp") or not constraint.is_dcp():
                raise InputError(
                    f"constraint {number} must be a convex constraint by the rules of cvxpy (DCP), "
                    f"but is {shown(constraint)}."
                )
        if not (loss.is_convex() and loss.is_real()):
            # A stack of expressions is asked one by one; a vector has one curvature for all.
            parts = loss.args if len(loss.args) == len(states) else ()
            curved = zip(states, parts, strict=False)
            where = [f" in the state {s!r}" for s, part in curved if not part.is_convex()]
            raise InputError(
                "the loss must be convex by the rules of cvxpy (DCP), but is "
                f"{loss.curvature.lower()}{where[0] if where else ''}; rewrite it, for instance as "
                "a maximum of convex expressions."
            )
        unset = [p for e in (loss, *constraints) for p in e.parameters() if p.value is None]
        if unset:
            raise InputError(f"the parameter {unset[0].name()} must have a value.")
        variables = {v.id: v for e in (loss, *constraints) for v in e.variables()}
        if not variables:
            raise InputError("the loss must depend on at least one cvxpy variable.")
        whole = any(v.attributes["integer"] or v.attributes["boolean"] for v in variables.values())
        solver = self.solver or (None if whole else "CLARABEL")
        accuracy = CLARABEL if solver == "CLARABEL" else OTHERS
        return ConvexModel(loss, constraints, list(variables.values()), solver, accuracy)

    def _expression(self, cvxpy: Any, states: States) -> Any:
        given = self.loss
        if isinstance(given, Mapping):
            missing = set(states).symmetric_difference(given)
            if missing:
                raise InputError(
                    "loss must name each state once, but "
                    f"{shown(missing.pop())} is a name or a state only."
                )
            given = [given[state] for state in states]
        if not isinstance(given, cvxpy.Expression):
            try:
                given = cvxpy.hstack(entries_of(given))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"loss must be a cvxpy expression, or {len(states)} of them, but is "
                    f"{shown(self.loss)} ({error})."
                ) from None
        if given.shape != (len(states),):
            raise InputError(
                f"loss must have one entry for each of the {len(states)} states, but has the shape "
                f"{given.shape}."
            )
        return given

    def describe(self, x: Any, states: States) -> str:  # noqa: ARG002
        """Return the values of the variables."""
        parts = x if isinstance(x, dict) else {"": x}
        named = (f"{name} {np.round(value, 6).tolist()}" for name, value in parts.items())
        return ", ".join(part.strip() for part in named)


@dataclass(frozen=True, eq=False)
class ConvexModel:
    """A convex loss and constraints, checked."""

    loss: Any
    constraints: list[Any]
    variables: list[Any]
    solver: str | None
    accuracy: float
    """What an optimum may be off by, as a share of its size and of the loss range."""

    def point(self) -> Any:
        """Return where the variables are now: the value of the only one, or a dict by name."""
        values = {v.name(): np.array(v.value) for v in self.variables}
        return values if len(values) > 1 else next(iter(values.values()))

    def restore(self, x: Any) -> None:
        """Set the variables to a point, as cvxpy does after it has solved a problem."""
        for variable in self.variables:
            variable.value = x[variable.name()] if isinstance(x, dict) else x


class ConvexMaster:
    """The master of convex decisions."""

    def __init__(self, model: ConvexModel, nature: Nature) -> None:
        self.model, self.nature = model, nature
        self.lower = -np.inf
        self._room = FIRST_ROOM
        self._known = [0] * len(nature.groups)
        self._shift, self._scale, self._scaled = 0.0, 1.0, False
        self._boxes = iter(BOXES)
        self._box: float | None = None
        self._endless = False
        self._build()

    def propose(self, level: float, deadline: float) -> Proposal | Status:
        """Return the optimum of the program."""
        if self.lower >= level:
            return Status.CERTIFIED
        if time.perf_counter() >= deadline:
            return Status.TIME_LIMIT
        if self._endless:
            return Status.UNBOUNDED
        status = self._solve()
        while self._needs_room(status) and self._enlarge():
            status = self._solve()
        if status is not None:
            return status
        loss = np.asarray(self.model.loss.value, dtype=np.float64).ravel()
        return Proposal(self.model.point(), loss)

    def learn(self, answer: Answer) -> bool:  # noqa: ARG002
        """Add all new laws; without any, look past the box, if there is one."""
        if self._fill():
            return True
        if self._box is None:
            return False
        if self._at_border():
            self._endless = not self._enlarge()
        else:
            self._box, self._boxes = None, iter(())
            self._build()
        return True

    def _build(self) -> None:
        """Write the program, with room for so many laws of each chain."""
        import cvxpy as cp

        chains, states = len(self.nature.groups), self.nature.groups[0].laws.shape[1]
        costs, losses = cp.Variable(chains), cp.Variable(states)
        self._laws = [cp.Parameter((self._room, states), nonneg=True) for _ in range(chains)]
        rows = [costs[k] >= laws @ losses for k, laws in enumerate(self._laws)]
        rows.append(losses >= (self.model.loss - self._shift) / self._scale)
        if self._box is not None:
            rows += [cp.norm_inf(cp.vec(v, order="F")) <= self._box for v in self.model.variables]
        objective = cp.Minimize(self.nature.weights @ costs)
        self._program = cp.Problem(objective, [*rows, *self.model.constraints])
        self._known = [0] * chains
        self._fill()

    def _fill(self) -> bool:
        """Write the laws that are known into the program; tell if any is new."""
        counts = [group.count for group in self.nature.groups]
        if counts == self._known:
            return False
        if max(counts) > self._room:
            while max(counts) > self._room:
                self._room *= 2
            self._build()
            return True
        for laws, group in zip(self._laws, self.nature.groups, strict=True):
            rows = np.minimum(np.arange(self._room), group.count - 1)
            laws.value = group.laws[rows]
        self._known = counts
        return True

    def _solve(self) -> Status | None:
        """Solve the program, and bound all decisions by its optimum; say why there is none."""
        import cvxpy as cp

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate optimum proves nothing, see below
            try:
                self._program.solve(solver=self.model.solver)
            except cp.error.SolverError as error:
                if self._box is not None:
                    return Status.UNBOUNDED  # at the border of the last box, and no number beyond
                if self.lower == -np.inf:
                    raise InputError(f"cvxpy cannot solve the problem: {error}") from None
                return Status.STALLED
        found: str = self._program.status
        if found == cp.OPTIMAL and not self._at_border() and self._rescale():
            return self._solve()
        if found == cp.OPTIMAL and self._box is None:
            optimum, weight = float(self._program.value), self.nature.total_weight
            proven = optimum - self.model.accuracy * (abs(optimum) + weight)
            self.lower = max(self.lower, weight * self._shift + self._scale * proven)
        return STATUSES.get(found, Status.STALLED)

    def _needs_room(self, status: Status | None) -> bool:
        """Whether a (larger) box may hold an optimum where there seems to be none."""
        boxed = self._box is not None
        return status is (Status.INFEASIBLE if boxed else Status.UNBOUNDED)

    def _rescale(self) -> bool:
        """Bring the losses to a range of one, once; tell if the program was written again."""
        loss = np.asarray(self.model.loss.value, dtype=np.float64)
        spread = float(np.ptp(loss))
        if self._scaled or spread == 0:
            return False
        self._scaled, self._shift, self._scale = True, float(loss.mean()), spread
        self._build()
        return True

    def _at_border(self) -> bool:
        """Whether the last optimum is where it is because of the box around it."""
        if self._box is None:
            return False
        return any(np.abs(v.value).max() > 0.9 * self._box for v in self.model.variables)

    def _enlarge(self) -> bool:
        """Put a larger box around the variables; tell if there is one."""
        box = next(self._boxes, None)
        if box is None:
            return False
        self._box = box
        self._build()
        return True
