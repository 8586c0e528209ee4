"""The ambiguity sets that a caller can choose, by name or as objects.

A choice knows nothing of data; :meth:`around` an estimate it becomes a ball, which solves its own
linear problem exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro._inputs import read_only, shown, square_matrix
from markovdro.ambiguity._conditional_entropy import ConditionalEntropyBall
from markovdro.ambiguity._frequencies import FrequencyBall
from markovdro.ambiguity._row_balls import EntropyRowBall, RowBall, WassersteinRowBall
from markovdro.chains import Estimate, align_table
from markovdro.errors import InputError

__all__ = [
    "Ambiguity",
    "Ball",
    "ConditionalEntropy",
    "EntropyRows",
    "IidEntropy",
    "Nominal",
    "Wasserstein",
    "ambiguity_named",
]

Ball = ConditionalEntropyBall | FrequencyBall | RowBall


class Ambiguity(Protocol):
    """A choice of ambiguity set."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def around(self, estimate: Estimate, radius: float) -> Ball:
        """Return the set of a radius around an estimate."""
        ...


@dataclass(frozen=True)
class ConditionalEntropy:
    """All chains with ``Σ_i α_i KL(P'_i ‖ P_i) ≤ r``: the paper's set."""

    name: ClassVar[str] = "conditional-entropy"

    def around(self, estimate: Estimate, radius: float) -> ConditionalEntropyBall:
        """Return the ball."""
        return ConditionalEntropyBall(estimate, radius)


@dataclass(frozen=True)
class EntropyRows:
    """All chains with ``KL(P'_i ‖ P_i) ≤ r`` for every row i."""

    name: ClassVar[str] = "entropy-rows"

    def around(self, estimate: Estimate, radius: float) -> EntropyRowBall:
        """Return the ball."""
        return EntropyRowBall(estimate, radius)


@dataclass(frozen=True)
class IidEntropy:
    """All laws q of independent states with ``KL(p ‖ q) ≤ r`` around the observed frequencies p."""

    name: ClassVar[str] = "iid-entropy"

    def around(self, estimate: Estimate, radius: float) -> FrequencyBall:
        """Return the ball."""
        return FrequencyBall(estimate, radius)


@dataclass(frozen=True)
class Nominal:
    """The observed frequencies alone: sample average approximation, whatever the radius."""

    name: ClassVar[str] = "nominal"

    def around(self, estimate: Estimate, radius: float) -> FrequencyBall:  # noqa: ARG002
        """Return the one law."""
        return FrequencyBall(estimate, 0.0)


@dataclass(frozen=True, eq=False)
class Wasserstein:
    """All chains whose rows are within a 1-Wasserstein distance r of those of P'.

    ``W(P'_i, P_i) = min Σ_jk c_jk T_jk`` over transport plans T with these two marginals, for every
    row i. (The set of Derman and Mannor, 2020, which the paper compares with.)

    Attributes
    ----------
    cost : d × d numbers, optional
        Ground cost c_jk of moving a unit of mass from state j to state k: zero on the diagonal and
        positive elsewhere. Any metric of the states; ``|j − k|``, the distance of their positions,
        by default. The names of a table decide which state a row or a column belongs to.

    Examples
    --------
    >>> from markovdro import Estimate, Wasserstein, worst_case
    >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    >>> worst_case([0.0, 1.0], coin, 0.1, ambiguity=Wasserstein([[0, 2], [2, 0]])).value
    0.625
    """

    cost: Any = None
    name: ClassVar[str] = "wasserstein"

    def around(self, estimate: Estimate, radius: float) -> WassersteinRowBall:
        """Return the ball."""
        size = len(estimate.states)
        if self.cost is None:
            return WassersteinRowBall(estimate, radius, *_distances_of_positions(size))
        cost = square_matrix(align_table(self.cost, estimate.states, "cost")[0], "cost")
        if cost.shape != (size, size):
            raise InputError(
                f"cost must have the shape {(size, size)} of the estimate, but has {cost.shape}."
            )
        free = (cost == 0) != np.eye(size, dtype=bool)
        if free.any():
            j, k = (int(place) for place in np.argwhere(free)[0])
            raise InputError(
                "cost must be zero on the diagonal and positive elsewhere, "
                f"but entry ({j}, {k}) is {cost[j, k]:g}."
            )
        return WassersteinRowBall(estimate, radius, *_with_nearest_first(cost))


def _with_nearest_first(cost: FloatArray) -> tuple[FloatArray, IndexArray]:
    return read_only(cost), read_only(np.argsort(cost, axis=1, kind="stable"))


@lru_cache(maxsize=4)
def _distances_of_positions(size: int) -> tuple[FloatArray, IndexArray]:
    places = np.arange(size, dtype=np.float64)
    return _with_nearest_first(np.abs(places[:, None] - places))


_NAMED: dict[str, Ambiguity] = {
    choice.name: choice
    for choice in (ConditionalEntropy(), EntropyRows(), IidEntropy(), Nominal(), Wasserstein())
}


def ambiguity_named(choice: Any) -> Ambiguity:
    """Return the set that a name stands for; an object stands for itself."""
    if isinstance(choice, str) and choice in _NAMED:
        return _NAMED[choice]
    if isinstance(choice, str | type) or not hasattr(choice, "around"):
        raise InputError(
            f"ambiguity must be one of {', '.join(_NAMED)}, or an object such as "
            f"Wasserstein(cost=matrix), but is {shown(choice)}."
        )
    ambiguity: Ambiguity = choice
    return ambiguity
