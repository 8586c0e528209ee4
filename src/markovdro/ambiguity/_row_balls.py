"""Ambiguity sets that choose every row of the chain on its own (rectangular sets)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from markovdro._arrays import BoolArray, FloatArray, IndexArray
from markovdro.ambiguity._conditional_entropy import restricted_support
from markovdro.chains import Estimate

__all__ = ["BestRows", "EntropyRowBall", "RowBall", "WassersteinRowBall"]

ROUNDING = 2.3e-16


class BestRows(NamedTuple):
    """The best rows of a set for some values h of the states."""

    transition: FloatArray
    """The rows S_i that maximise ``S_i·h``."""
    ceilings: FloatArray
    """Proven: no row of the set has a larger ``S_i·h``."""
    distances: FloatArray
    """How far each row is from that of P', in units of the radius."""


class RowBall(Protocol):
    """A set of chains, each row within a radius of the row of P'."""

    estimate: Estimate
    radius: float

    def best_rows(self, values: FloatArray) -> BestRows:
        """Maximise ``S_i·h`` for every row, exactly, and prove it."""
        ...


@dataclass(eq=False)
class EntropyRowBall:
    """All chains with ``KL(P'_i ‖ P_i) ≤ r`` for every row i, on the support.

    It keeps the multipliers and slacks of its last rows, from which the next ones start; it
    belongs to one solver at a time.
    """

    estimate: Estimate
    radius: float
    _log_multipliers: FloatArray = field(init=False, repr=False)
    _slacks: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.estimate.weights)
        self._log_multipliers, self._slacks = np.full(size, np.nan), np.ones(size)

    def best_rows(self, values: FloatArray) -> BestRows:
        """``S_ij = P'_ij/(y_i + κ_i g_j)``, one scalar equation for each row."""
        from markovdro.ambiguity._entropy_kernels import entropy_rows

        nominal = self.estimate.transition
        if self.radius == 0:
            return BestRows(nominal, nominal @ values, np.zeros(len(values)))
        target, ceilings = np.empty_like(nominal), np.empty_like(values)
        distances = np.empty_like(values)
        entropy_rows(
            nominal,
            restricted_support(self.estimate),
            values,
            self.radius,
            self._log_multipliers,
            self._slacks,
            target,
            ceilings,
            distances,
        )
        return BestRows(target, ceilings, distances)


@dataclass(eq=False)
class WassersteinRowBall:
    """All chains with rows within a 1-Wasserstein distance r of those of P', on the support."""

    estimate: Estimate
    radius: float
    cost: FloatArray
    """Ground cost c_jk of moving a unit of mass from state j to state k."""
    order: IndexArray
    """For each state, all states from the nearest, itself, on."""

    def best_rows(self, values: FloatArray) -> BestRows:
        """Move the mass of every row along the steepest pieces of the frontiers."""
        from markovdro.ambiguity._transport_kernels import frontiers, move_rows

        nominal = self.estimate.transition
        size = len(values)
        target, spent = np.empty_like(nominal), np.empty_like(values)
        source, goal = np.empty((2, size * size), dtype=np.intp)
        price, slope = np.empty((2, size * size))
        for allowed, rows in self._rows_by_support:
            count = frontiers(self.cost, self.order, values, allowed, source, goal, price, slope)
            ranked = np.argsort(-slope[:count], kind="stable")
            move_rows(nominal, rows, self.radius, source, goal, price, ranked, target, spent)
        # Each row solves its own dual, up to the rounding of sums.
        widest = np.abs(values).max() + np.ptp(values)
        ceilings = target @ values + ROUNDING * 4.0 * (size + 10.0) * widest
        return BestRows(target, ceilings, spent)

    @cached_property
    def _rows_by_support(self) -> list[tuple[BoolArray, IndexArray]]:
        """Rows that may use the same states share their frontiers."""
        patterns, which = np.unique(self.estimate.support, axis=0, return_inverse=True)
        return [(patterns[m], np.flatnonzero(which.ravel() == m)) for m in range(len(patterns))]
