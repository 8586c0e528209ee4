"""How often each state can be visited in the long run, over a whole ambiguity set."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import radius_value, read_only
from markovdro.chains import Estimate, checked_estimate, stationary_law
from markovdro.worstcase._options import check_options
from markovdro.worstcase._problem import Problem
from markovdro.worstcase._result import Status
from markovdro.worstcase._solvers import solve_many

__all__ = ["StationaryBounds", "stationary_bounds"]

# Longer tables are cut in the middle when they are shown.
MOST_ROWS = 20


@dataclass(frozen=True, eq=False, repr=False)
class StationaryBounds:
    """The range of each state's long-run share over an ambiguity set.

    Attributes
    ----------
    lower, upper : arrays, d
        Proven: no chain of the set visits the state less, or more.
    inner_lower, inner_upper : arrays, d
        Reached: some chain of the set visits the state this little, this much.
    nominal : array, d
        The stationary law of the estimated chain.
    states : tuple
        The labels, in the order of the arrays.
    radius : float
        In nats per transition.
    status : Status
        Certified where every bound is within the tolerance of what is reached; else what
        stopped the proof of some bound.
    seconds : float
        Wall-clock time.
    """

    lower: FloatArray
    upper: FloatArray
    inner_lower: FloatArray
    inner_upper: FloatArray
    nominal: FloatArray
    states: tuple[Hashable, ...]
    radius: float
    status: Status
    seconds: float

    @property
    def gap(self) -> float:
        """The largest distance from a bound to what is reached."""
        below = float((self.inner_lower - self.lower).max())
        return max(below, float((self.upper - self.inner_upper).max()))

    def __repr__(self) -> str:
        head = f"{'state':<16}{'proven':>9}{'reached':>9}{'nominal':>9}{'reached':>9}{'proven':>9}"
        columns = (self.lower, self.inner_lower, self.nominal, self.inner_upper, self.upper)
        rows = [
            f"{str(state)[:15]:<16}" + "".join(f"{column[i]:9.4f}" for column in columns)
            for i, state in enumerate(self.states)
        ]
        if len(rows) > MOST_ROWS:
            left_out = len(rows) - MOST_ROWS
            rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [f"… {left_out} more"]
        last = f"{self.status}, radius {self.radius:.4g} nats, {self.seconds:.3g} s"
        return "\n".join([head, *rows, last])


def stationary_bounds(
    estimate: Estimate,
    radius: float,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
) -> StationaryBounds:
    """Bound the long-run share of each state over all chains near the estimated one.

    Parameters
    ----------
    estimate : Estimate
    radius : float
        r ≥ 0, in nats per transition.
    tolerance : float, optional
        How far a bound may be from a share that is reached; 1e-4 by default.
    time_limit : float, optional
        Seconds, for all states together. Bounds that are not proven by then are 0 and 1.
    threads : int, optional
        As in :func:`worst_case`.

    Returns
    -------
    StationaryBounds
        ``min π_m(P)`` and ``max π_m(P)`` over ``Σ_i α_i KL(P'_i ‖ P_i) ≤ r`` for each state m: the
        worst cases of the losses ``−e_m`` and ``e_m``, proven as by ``method="global"`` of
        :func:`worst_case`.

    Examples
    --------
    >>> from markovdro import Estimate, stationary_bounds
    >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["H", "T"])
    >>> bounds = stationary_bounds(coin, 0.01)
    >>> bounds.lower.round(3).tolist(), bounds.upper.round(3).tolist()
    ([0.361, 0.361], [0.639, 0.639])
    """
    options = check_options(
        ambiguity="conditional-entropy",
        method="global",
        tolerance=tolerance,
        time_limit=time_limit,
        threads=threads,
    )
    r = radius_value(radius)
    size = len(checked_estimate(estimate).states)
    visits = np.eye(size)
    found = solve_many([Problem(loss, estimate, r) for loss in (*visits, *(1.0 - visits))], options)
    reached = np.array([f.value for f in found])
    proven = np.array([f.value if r == 0 else f.bound for f in found])
    unproven = [f.status for f in found if f.bound - f.value > options.proof_tolerance]
    done = r == 0 or not unproven
    result = StationaryBounds(
        lower=np.maximum(1.0 - proven[size:], 0.0),
        upper=proven[:size],
        inner_lower=1.0 - reached[size:],
        inner_upper=reached[:size],
        nominal=stationary_law(estimate.transition),
        states=estimate.states,
        radius=r,
        status=Status.CERTIFIED if done else unproven[0],
        seconds=options.seconds,
    )
    for array in vars(result).values():
        if isinstance(array, np.ndarray):
            read_only(array)
    return result
