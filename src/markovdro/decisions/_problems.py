"""Decision problems, as a caller describes them.

A problem says what each decision costs in each state, and which decisions are allowed. It knows
nothing of chains: the states come with the estimates, and ``resolve`` puts the numbers in their
order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._inputs import entries_of, float_array, limits, positive_number, shown
from markovdro.chains import (
    loss_vector,
    named_vector,
    names_of_axes,
    rows_by_state,
    separate_losses,
)
from markovdro.decisions._models import FiniteModel, LinearModel, States
from markovdro.errors import InputError

__all__ = ["Assortment", "DecisionProblem", "FiniteDecisions", "LinearDecisions", "Newsvendor"]

# Longer lists of what is offered are cut.
MOST_SHOWN = 12


class DecisionProblem(Protocol):
    """What :func:`~markovdro.prescribe` takes."""

    def resolve(self, states: States) -> Any:
        """Return the problem with its numbers checked, and in the order of the states."""
        ...

    def describe(self, x: Any, states: States) -> str:
        """Return a decision in words, on one line."""
        ...


@dataclass(frozen=True, eq=False)
class Assortment:
    """Which of the states to offer: the paper's revenue problem.

    The loss is minus the price of the state where it is offered, ``L(x, i) = −prices_i x_i``, with
    x binary and ``matrix·x ≤ bound``.

    Attributes
    ----------
    prices : d numbers, or a dict or pandas Series by state
    matrix : m × d numbers, optional
        Resources that offering a state takes: shelf space, budget, ones for "at most so many". The
        columns of a table may be named by state.
    bound : number, or m numbers, optional
        What there is of each resource.

    Examples
    --------
    >>> from markovdro import Assortment, Estimate, prescribe
    >>> brands = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["A", "B"])
    >>> shelf = Assortment({"A": 2.0, "B": 3.0}, matrix=[[1, 1]], bound=1)
    >>> prescribe(shelf, brands, radius=0.01).x
    array([0, 1])
    """

    prices: Any
    matrix: Any = None
    bound: Any = None

    def resolve(self, states: States) -> LinearModel:
        """Check the numbers, and put them in the order of the states."""
        if (self.matrix is None) != (self.bound is None):
            missing = "matrix" if self.matrix is None else "bound"
            raise InputError(f"matrix and bound go together, but {missing} is missing.")
        size = len(states)
        prices = loss_vector(self.prices, states, "prices")
        rows = _rows(self.matrix, states, "matrix", each="state")
        return LinearModel(
            matrix=-np.diag(prices)[None],
            offset=np.zeros((1, size)),
            lower=np.zeros(size),
            upper=np.ones(size),
            integer=np.ones(size, dtype=bool),
            rows=rows,
            at_least=np.full(len(rows), -np.inf),
            at_most=limits(self.bound, "bound", len(rows), below=False),
            present=_as_integers,
        )

    def describe(self, x: Any, states: States) -> str:
        """Name the states that are offered."""
        offered = [str(state) for state, chosen in zip(states, x, strict=True) if chosen]
        more = [f"and {len(offered) - MOST_SHOWN} more"] if len(offered) > MOST_SHOWN else []
        return "offer " + (", ".join(offered[:MOST_SHOWN] + more) or "nothing")


@dataclass(frozen=True, eq=False)
class LinearDecisions:
    """Decisions x whose loss in state i is ``L(x, i) = A_i·x + b_i``, or the largest of several.

    Attributes
    ----------
    matrix : d × n numbers, or a list of such tables
        A: one row for each state, one column for each variable. Several tables make the loss
        convex and piecewise linear, ``L(x, i) = max_p (A_pi·x + b_pi)``. The names of a table
        decide which state a row belongs to, and are the names of the variables.
    offset : number or d numbers by state, or a list of those for a list of tables
        b.
    lower, upper : number, or n numbers
        Bounds of the variables, ``-inf`` and ``inf`` for none; x is nonnegative by default.
    integer : True or False, or n of them
        Which variables are integers.
    rows : m × n numbers, optional
        Constraints ``at_least ≤ rows·x ≤ at_most``. Columns may be named by variable.
    at_least, at_most : number, or m numbers, optional

    Examples
    --------
    A unit of capacity costs 1, and a unit of demand (2 or 5) that is not met costs 3:

    >>> from markovdro import Estimate, LinearDecisions, prescribe
    >>> demand = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=[2, 5])
    >>> enough, short = [[1], [1]], [[-2], [-2]]
    >>> capacity = LinearDecisions([enough, short], offset=[0, [6, 15]])
    >>> prescribe(capacity, demand, radius=0.01).x.round(6)
    array([5.])
    """

    matrix: Any
    offset: Any = 0.0
    lower: Any = 0.0
    upper: Any = np.inf
    integer: Any = False
    rows: Any = None
    at_least: Any = None
    at_most: Any = None

    def resolve(self, states: States) -> LinearModel:
        """Check the numbers, and put them in the order of the states."""
        several = _holds_tables(self.matrix)
        tables = list(self.matrix) if several else [self.matrix]
        offsets = entries_of(self.offset) if several else [self.offset]
        if len(offsets) == 1:
            offsets *= len(tables)
        if len(offsets) != len(tables):
            raise InputError(
                f"offset must hold one entry for each of the {len(tables)} tables of matrix, but "
                f"holds {len(offsets)}."
            )
        pieces = [rows_by_state(table, states, "matrix") for table in tables]
        size = pieces[0].shape[1]
        if size == 0 or any(piece.shape[1] != size for piece in pieces):
            raise InputError("the tables of matrix must have equally many columns, at least one.")
        rows = _rows(self.rows, self._names(tables[0], size), "rows", each="variable")
        model = LinearModel(
            matrix=np.array(pieces),
            offset=np.array([_by_state(offset, states, "offset") for offset in offsets]),
            lower=limits(self.lower, "lower", size, below=True),
            upper=limits(self.upper, "upper", size, below=False),
            integer=_flags(self.integer, "integer", size),
            rows=rows,
            at_least=limits(self.at_least, "at_least", len(rows), below=True),
            at_most=limits(self.at_most, "at_most", len(rows), below=False),
            present=_as_integers if np.all(_flags(self.integer, "integer", size)) else np.array,
        )
        _in_order(model.lower, model.upper, "lower", "upper")
        _in_order(model.at_least, model.at_most, "at_least", "at_most")
        return model

    @staticmethod
    def _names(table: Any, size: int) -> Sequence[Hashable]:
        return names_of_axes(table)[1] or range(size)

    def describe(self, x: Any, states: States) -> str:  # noqa: ARG002
        """Return the variables that are not zero."""
        table = self.matrix[0] if _holds_tables(self.matrix) else self.matrix
        named = zip(self._names(table, len(x)), x, strict=True)
        parts = [f"{name}: {value:.6g}" for name, value in named if value]
        more = [f"{len(parts) - MOST_SHOWN} more"] if len(parts) > MOST_SHOWN else []
        return ", ".join(parts[:MOST_SHOWN] + more) or "all variables zero"


@dataclass(frozen=True, eq=False)
class Newsvendor:
    """How much to order before the demand is known.

    An order of q costs ``cost·q``; what is sold brings the price, what is left the salvage value:
    ``L(q, i) = cost·q − price·min(q, D_i) − salvage·max(q − D_i, 0)``.

    Attributes
    ----------
    price, cost : number
        For one unit; both positive.
    salvage : number
        For one unit; below the cost, and negative where it costs to be rid of it.
    demand : d numbers by state, optional
        D. By default the states are the demands themselves.
    largest : number
        The largest order.
    integer : bool
        Whether only whole units can be ordered.

    Examples
    --------
    >>> from markovdro import Estimate, Newsvendor, prescribe
    >>> demand = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=[20, 50])
    >>> round(prescribe(Newsvendor(price=5, cost=2), demand, radius=0.0).x, 6)
    50.0
    >>> round(prescribe(Newsvendor(price=5, cost=2), demand, radius=0.1).x, 6)
    20.0
    """

    price: float
    cost: float
    salvage: float = 0.0
    demand: Any = None
    largest: float = np.inf
    integer: bool = False

    def resolve(self, states: States) -> LinearModel:
        """Check the numbers, and put them in the order of the states."""
        price, cost = positive_number(self.price, "price"), positive_number(self.cost, "cost")
        salvage = float(float_array(self.salvage, "salvage", 0))
        if not salvage < cost or not salvage <= price:
            raise InputError(
                f"salvage must be below the cost of {cost:g} and at most the price of {price:g}, "
                f"but is {salvage:g}; an order without end would cost nothing."
            )
        largest = limits(self.largest, "largest", 1, below=False)
        if largest[0] < 0:
            raise InputError(f"largest must not be negative, but is {largest[0]:g}.")
        demand = self._demand(states)
        size = len(states)
        return LinearModel(
            matrix=np.array([np.full((size, 1), cost - price), np.full((size, 1), cost - salvage)]),
            offset=np.array([np.zeros(size), -(price - salvage) * demand]),
            lower=np.zeros(1),
            upper=largest,
            integer=_flags(self.integer, "integer", 1),
            rows=np.empty((0, 1)),
            at_least=np.empty(0),
            at_most=np.empty(0),
            present=_as_number,
        )

    def _demand(self, states: States) -> FloatArray:
        if self.demand is None:
            numbers = "the demands, which are the states unless demand is given,"
            demand = float_array(list(states), numbers, 1)
        else:
            demand = loss_vector(self.demand, states, "demand")
        if (demand < 0).any():
            raise InputError(f"demand must not be negative, but holds {demand.min():g}.")
        return demand

    def describe(self, x: Any, states: States) -> str:  # noqa: ARG002
        """Return the order."""
        return f"order {x:.6g}"


@dataclass(frozen=True, eq=False)
class FiniteDecisions:
    """A table of losses: one row for each decision, one column for each state.

    Attributes
    ----------
    losses : m × d numbers, or a dict of loss vectors by label
        The names of the columns of a table decide which state they belong to; those of its rows are
        the labels.
    labels : m things, optional
        What the decisions are called; 0, 1, … by default.

    Examples
    --------
    >>> from markovdro import Estimate, FiniteDecisions, prescribe
    >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])
    >>> bets = FiniteDecisions({"heads": [-1, 1], "tails": [1, -1.2], "none": [0, 0]})
    >>> prescribe(bets, coin, radius=0.001).x, prescribe(bets, coin, radius=0.1).x
    ('tails', 'none')
    """

    losses: Any
    labels: Any = None

    def resolve(self, states: States) -> FiniteModel:
        """Check the numbers, and put them in the order of the states."""
        table, labels = self.losses, self.labels
        if isinstance(table, Mapping):
            names: list[Any] | None = list(table)
            table = list(table.values())
            rows = table
        else:
            names = names_of_axes(table)[0]
            rows = separate_losses(table)
        labels = names if labels is None else entries_of(labels)
        if len(rows) == 0:
            raise InputError("losses must hold at least one decision, but is empty.")
        if labels is not None and len(labels) != len(rows):
            raise InputError(
                f"labels must name the {len(rows)} decisions, but there are {len(labels)}."
            )
        given = range(len(rows)) if labels is None else labels
        losses = [
            loss_vector(row, states, f"the loss of decision {shown(label)}")
            for row, label in zip(rows, given, strict=True)
        ]
        return FiniteModel(np.array(losses), given.__getitem__)

    def describe(self, x: Any, states: States) -> str:  # noqa: ARG002
        """Return the label."""
        return str(x)


def _holds_tables(matrix: Any) -> bool:
    """Whether this is several tables of two axes, and not one."""
    if hasattr(matrix, "columns") or (getattr(matrix, "ndim", 3) == 2):
        return False
    try:
        return any(np.ndim(entry) == 2 for entry in entries_of(matrix))
    except ValueError:  # ragged rows: the check of the table says what is wrong
        return False


def _rows(rows: Any, names: Sequence[Hashable], name: str, *, each: str) -> FloatArray:
    """One row of coefficients for each constraint."""
    if rows is None:
        return np.empty((0, len(names)))
    vectors = [
        named_vector(row, names, f"row {m} of {name}", each=each)
        for m, row in enumerate(separate_losses(rows))
    ]
    return np.array(vectors).reshape(-1, len(names))


def _by_state(value: Any, states: States, name: str) -> FloatArray:
    """One number for all states, or one for each."""
    if np.ndim(value) == 0 and not isinstance(value, Mapping):
        return np.full(len(states), float(float_array(value, name, 0)))
    return loss_vector(value, states, name)


def _flags(value: Any, name: str, size: int) -> BoolArray:
    flags = entries_of(value)
    wrong = [flag for flag in flags if not isinstance(flag, bool | np.bool_)]
    if wrong or len(flags) not in {1, size}:
        found = shown(wrong[0]) if wrong else f"{len(flags)} of them"
        raise InputError(f"{name} must be True or False, or {size} of them, but holds {found}.")
    return np.array(flags, dtype=bool) | np.zeros(size, dtype=bool)


def _in_order(low: FloatArray, high: FloatArray, below: str, above: str) -> None:
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        j = int(wrong[0])
        raise InputError(
            f"{below} must not be above {above}, but at position {j} they are {low[j]:g} and "
            f"{high[j]:g}."
        )


def _as_integers(x: FloatArray) -> Any:
    return np.round(x).astype(np.int64)


def _as_number(x: FloatArray) -> Any:
    return float(x[0])
