"""The linear relaxation of a decision problem, as a live model in HiGHS.

    min  Σ_k w_k θ_k    with    θ_k ≥ π·L(x)  for the laws π of chain k that have been added,

over the x that keep their bounds and rows. Where the loss is the largest of several pieces, ``ℓ_i``
stands for ``L(x, i)`` and has a row for each piece. Rows of laws are added and taken out while the
model lives, so that each solution starts from the last basis.

Its optimum is not taken on trust. The multipliers of the rows say how much each law weighs, and any
such weights give a bound that is computed here, by minimising each variable on its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.decisions._models import LinearModel
from markovdro.decisions._nature import Nature
from markovdro.worstcase import Status

__all__ = ["LinearProgram", "Relaxed"]

TOLERANCE = 1e-9
# Rows that do not bind are taken out where there are more of them than this for each chain.
MOST_ROWS = 30
# A reduced cost of a variable without a bound counts as zero below this.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Relaxed:
    """An optimum of the relaxation."""

    x: FloatArray
    thetas: FloatArray
    """What each chain costs, by the laws in the model."""
    bound: float
    """Proven: no x within the bounds given has a smaller worst case."""


class LinearProgram:
    """The live model. Losses are shifted and scaled, so that HiGHS sees numbers near one."""

    def __init__(self, model: LinearModel, nature: Nature) -> None:
        import highspy

        self._highs_module: Any = highspy
        self.model, self.nature = model, nature
        self.shift: float = float(model.offset.mean())
        entries = max(np.abs(model.matrix).max(), np.abs(model.offset - self.shift).max())
        self.scale: float = float(entries) or 1.0
        self._matrix = model.matrix / self.scale
        self._offset = (model.offset - self.shift) / self.scale
        self._pieces: int = model.matrix.shape[0]
        self._states: int = model.matrix.shape[1]
        self._variables: int = model.matrix.shape[2]
        self._cuts: list[tuple[int, int]] = []
        """Chain and law of each row that was added and is still there."""
        self._duals = np.empty(0)
        self._highs = self._build()

    def _build(self) -> Any:
        highspy, model = self._highs_module, self.model
        highs = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("parallel", "off"),
            ("presolve", "off"),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
        ):
            highs.setOptionValue(name, value)
        chains = len(self.nature.groups)
        epigraph = self._states if self._pieces > 1 else 0
        free = np.full(epigraph + chains, np.inf)
        highs.addVars(
            self._variables + epigraph + chains,
            np.concatenate([model.lower, -free]),
            np.concatenate([model.upper, free]),
        )
        self._first_theta = self._variables + epigraph
        columns = np.arange(self._first_theta, self._first_theta + chains, dtype=np.int32)
        highs.changeColsCost(chains, columns, self.nature.weights)
        self._fixed_rows = len(model.rows) + epigraph * self._pieces
        variables = np.arange(self._variables, dtype=np.int32)
        for row, low, high in zip(model.rows, model.at_least, model.at_most, strict=True):
            highs.addRow(low, high, len(row), variables, row)
        if epigraph:
            for p in range(self._pieces):
                for i in range(epigraph):
                    index = np.append(variables, np.int32(self._variables + i))
                    entries = np.append(-self._matrix[p, i], 1.0)
                    highs.addRow(self._offset[p, i], np.inf, len(index), index, entries)
        return highs

    def add(self, chain: int, law: int) -> bool:
        """Add the row of a law that nature has shown; False where it is there."""
        if (chain, law) in self._cuts:
            return False
        shares = self.nature.groups[chain].laws[law]
        if self._pieces > 1:
            first, coefficients, level = self._variables, -shares, 0.0
        else:
            first, coefficients = 0, -(shares @ self._matrix[0])
            level = float(shares @ self._offset[0])
        index = np.append(np.arange(first, first + len(coefficients)), self._first_theta + chain)
        entries = np.append(coefficients, 1.0)
        self._highs.addRow(level, np.inf, len(index), index.astype(np.int32), entries)
        self._cuts.append((chain, law))
        return True

    @property
    def size(self) -> int:
        """How many laws the model knows."""
        return len(self._cuts)

    def solve(self, lower: FloatArray, upper: FloatArray, deadline: float) -> Relaxed | Status:
        """Solve within tighter bounds of x, or say why there is no optimum."""
        highs = self._highs
        variables = np.arange(self._variables, dtype=np.int32)
        highs.changeColsBounds(self._variables, variables, lower, upper)
        left = deadline - time.perf_counter()
        highs.setOptionValue("time_limit", min(highs.getRunTime() + max(left, 0.0), 1e300))
        highs.run()
        status = self._status()
        if status is not None:
            return status
        solution = highs.getSolution()
        columns = np.array(solution.col_value)
        self._duals = np.array(solution.row_dual)
        x = np.clip(columns[: self._variables], lower, upper)
        thetas = self.shift + self.scale * columns[self._first_theta :]
        return Relaxed(x, thetas, self._bound(x, lower, upper))

    def _status(self) -> Status | None:
        """Return why the last run has no optimum, if it has none."""
        kinds = self._highs_module.HighsModelStatus
        known = {
            kinds.kOptimal: None,
            kinds.kInfeasible: Status.INFEASIBLE,
            kinds.kUnbounded: Status.UNBOUNDED,
            kinds.kTimeLimit: Status.TIME_LIMIT,
        }
        found = self._highs.getModelStatus()
        if found not in known:
            # A basis that numbers have spoiled, or one of two answers: once more, from nothing.
            self._highs.clearSolver()
            self._highs.run()
            found = self._highs.getModelStatus()
        return known.get(found, Status.STALLED)

    def some_decision(self, deadline: float) -> FloatArray | Status:
        """Return any x that keeps all constraints, by HiGHS's own search, or why there is none."""
        highspy, model = self._highs_module, self.model
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        for name in ("primal_feasibility_tolerance", "mip_feasibility_tolerance"):
            highs.setOptionValue(name, TOLERANCE)
        size = self._variables
        highs.addVars(size, model.lower, model.upper)
        whole = np.flatnonzero(model.integer).astype(np.int32)
        kinds = np.full(len(whole), highspy.HighsVarType.kInteger.value, dtype=np.uint8)
        highs.changeColsIntegrality(len(whole), whole, kinds)
        variables = np.arange(size, dtype=np.int32)
        for row, low, high in zip(model.rows, model.at_least, model.at_most, strict=True):
            highs.addRow(low, high, size, variables, row)
        highs.setOptionValue("time_limit", min(max(deadline - time.perf_counter(), 0.0), 1e300))
        highs.run()
        found = highs.getModelStatus()
        if found == highspy.HighsModelStatus.kOptimal:
            x = np.array(highs.getSolution().col_value)
            return np.where(model.integer, np.round(x), x)
        if found == highspy.HighsModelStatus.kInfeasible:
            return Status.INFEASIBLE
        return Status.TIME_LIMIT

    def tidy(self) -> None:
        """Take out rows that did not bind in the last optimum, where there are many."""
        if len(self._cuts) <= MOST_ROWS * len(self.nature.groups):
            return
        # Rows that came after the last optimum have no multiplier yet, and stay.
        idle = np.flatnonzero(np.abs(self._duals[self._fixed_rows :]) <= NOTHING)
        rows = (idle + self._fixed_rows).astype(np.int32)
        self._highs.deleteRows(len(rows), rows)
        self._duals = np.delete(self._duals, rows)
        gone = set(idle.tolist())
        self._cuts = [cut for row, cut in enumerate(self._cuts) if row not in gone]

    def _bound(self, x: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
        """Return a bound from the multipliers of the rows, whatever they are.

        Nature mixes the laws of each chain by their multipliers; against that mixture, and with a
        price on every row of constraints, each variable is best at one of its ends.
        """
        weight = np.maximum(self._duals[self._fixed_rows :], 0.0)
        mixture = np.zeros(self._states)
        for k, group in enumerate(self.nature.groups):
            rows = [row for row, (chain, _) in enumerate(self._cuts) if chain == k]
            total = float(weight[rows].sum())
            if total <= 0.0:
                if self.nature.weights[k] > 0.0:
                    return -np.inf
                continue
            laws = group.laws[[self._cuts[row][1] for row in rows]]
            mixture += self.nature.weights[k] * (weight[rows] / total) @ laws
        shares = self._shares_of_pieces(mixture, x)
        prices = self._duals[: len(self.model.rows)]
        above = np.where(np.isfinite(self.model.at_least), np.maximum(prices, 0.0), 0.0)
        below = np.where(np.isfinite(self.model.at_most), np.maximum(-prices, 0.0), 0.0)
        terms = [
            shares * self._offset,
            above * np.where(above > 0, self.model.at_least, 0.0),
            -below * np.where(below > 0, self.model.at_most, 0.0),
        ]
        slopes = np.einsum("pi,pij->j", shares, self._matrix) - (above - below) @ self.model.rows
        end = np.where(slopes > 0, lower, upper)
        slopes = np.where(np.isinf(end) & (np.abs(slopes) <= NOTHING), 0.0, slopes)
        terms.append(slopes * np.where(slopes != 0, end, 0.0))
        every = np.concatenate([term.ravel() for term in terms])
        terms_size = float(np.abs(every).sum())
        bound = float(every.sum()) - 1e-15 * (self._states + self._variables) * terms_size
        return self.shift * self.nature.total_weight + self.scale * bound

    def _shares_of_pieces(self, mixture: FloatArray, x: FloatArray) -> FloatArray:
        """Share the weight of each state out to its pieces, as the multipliers do."""
        if self._pieces == 1:
            return mixture[None]
        first = len(self.model.rows)
        share = np.maximum(self._duals[first : self._fixed_rows], 0.0)
        share = share.reshape(self._pieces, self._states)
        largest = np.argmax(self.model.matrix @ x + self.model.offset, axis=0)
        share[largest, np.arange(self._states)] += np.where(share.sum(axis=0) > 0, 0.0, 1.0)
        result: FloatArray = share / share.sum(axis=0) * mixture
        return result
