"""Decision problems with their numbers checked and in the order of the states."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovdro._arrays import BoolArray, FloatArray

__all__ = ["FiniteModel", "LinearModel", "States"]

States = Sequence[Hashable]

# All decisions of so few that they can be listed, with their losses, in so many numbers.
MOST_LISTED, MOST_NUMBERS = 20_000, 4_000_000
# A row of constraints may be off by this share of its terms.
ROW_TOLERANCE = 1e-9

Present = Callable[[FloatArray], Any]
"""From the numbers of a decision to what the caller is shown of it."""


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """One loss vector for each decision."""

    losses: FloatArray
    """decisions × states"""
    label: Callable[[int], Any]
    """From the number of a decision to what the caller is shown of it."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """``L(x, i) = max_p (A_pi·x + b_pi)`` over x with bounds, integers and rows of constraints."""

    matrix: FloatArray
    """pieces × states × variables"""
    offset: FloatArray
    """pieces × states"""
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    rows: FloatArray
    at_least: FloatArray
    at_most: FloatArray
    present: Present

    def __post_init__(self) -> None:
        """Bring the bounds of integers to integers."""
        for name, whole in (("lower", np.ceil), ("upper", np.floor)):
            bounds = getattr(self, name)
            object.__setattr__(self, name, np.where(self.integer, whole(bounds), bounds))

    def loss(self, x: FloatArray) -> FloatArray:
        """Return the loss in each state."""
        loss: FloatArray = (self.matrix @ x + self.offset).max(axis=0)
        return loss

    def allows(self, x: FloatArray) -> bool:
        """Whether x keeps its bounds and rows, up to rounding; its integers are not looked at."""
        inside = (x >= self.lower - ROW_TOLERANCE) & (x <= self.upper + ROW_TOLERANCE)
        return bool(inside.all() and self._keep_rows(x[None])[0])

    def _keep_rows(self, points: FloatArray) -> BoolArray:
        levels = points @ self.rows.T
        slack = ROW_TOLERANCE * (1.0 + np.abs(points) @ np.abs(self.rows.T))
        inside = (levels >= self.at_least - slack) & (levels <= self.at_most + slack)
        kept: BoolArray = np.all(inside, axis=1)
        return kept

    def listed(self) -> FiniteModel | None:
        """Return all decisions one by one, where they are integer and few."""
        width = np.maximum(self.upper - self.lower + 1.0, 0.0)
        count = float(np.prod(width)) if self.integer.all() else math.inf
        if not count <= min(MOST_LISTED, MOST_NUMBERS / self.matrix[0].shape[0]):
            return None
        grid = np.indices(tuple(int(size) for size in width)).reshape(len(width), -1).T
        points = self.lower + grid[self._keep_rows(self.lower + grid)]
        losses = np.max(
            [points @ a.T + b for a, b in zip(self.matrix, self.offset, strict=True)], axis=0
        )
        return FiniteModel(losses, lambda row: self.present(points[row]))

    def directions(self) -> LinearModel | None:
        """Return the problem of directions in which x may go for ever; None where there are none.

        Along a direction u the loss grows like ``max_p A_pi·u``, so that the worst case falls
        without end if and only if this problem has a negative value.
        """
        free_below, free_above = np.isinf(self.lower), np.isinf(self.upper)
        if not (free_below | free_above).any():
            return None
        return LinearModel(
            self.matrix,
            np.zeros_like(self.offset),
            np.where(free_below, -1.0, 0.0),
            np.where(free_above, 1.0, 0.0),
            np.zeros_like(self.integer),
            self.rows,
            np.where(np.isinf(self.at_least), -np.inf, 0.0),
            np.where(np.isinf(self.at_most), np.inf, 0.0),
            self.present,
        )
