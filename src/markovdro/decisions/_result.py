"""What a decision problem returns."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.decisions._problems import DecisionProblem
from markovdro.errors import MarkovDROWarning
from markovdro.worstcase import Proof, Status, WorstCase

__all__ = ["Decision", "Progress"]


class Progress(NamedTuple):
    """Where a search stood."""

    evaluations: int
    """Worst-case problems that had been solved."""
    value: float
    """The best worst case that had been found."""
    lower_bound: float
    """What no decision could go below, as far as it had been proven."""


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """A decision whose worst case is best, as far as that was found, and what is proven of it.

    Attributes
    ----------
    x
        The decision: an array of 0 and 1 (:class:`Assortment`), of numbers
        (:class:`LinearDecisions`, :class:`BlackBoxDecisions`), a number (:class:`Newsvendor`), a
        label (:class:`FiniteDecisions`), the value of the variable or a dict of them by name
        (:class:`ConvexDecisions`). None where no decision is known.
    value : float
        ``Σ_k w_k`` times the worst case of x over the k-th ambiguity set, as far as it was found:
        it is reached by known chains. In units of the loss.
    bound : float
        Proven: no chains of the sets cost x more.
    lower_bound : float
        Proven: no decision has a worst case below. (Minus infinity where nothing is known.)
    status : Status
    worst_cases : tuple of WorstCase
        Of x, one for each chain.
    nominal : float
        What x costs under the estimated chains.
    weights, radii : arrays
        One for each chain.
    loss : array
        ``L(x, i)``, in the order of the states of the first estimate.
    states : tuple
    history : tuple of Progress
        From the first decision that was found to the end, where something changed.
    problem
        What was asked.
    iterations : int
        Rounds of the search.
    evaluations : int
        Worst-case problems that were solved.
    method, ambiguity : str
    seconds : float
        Wall-clock time.
    """

    x: Any
    value: float
    bound: float
    lower_bound: float
    status: Status
    worst_cases: tuple[WorstCase, ...]
    nominal: float
    weights: FloatArray
    radii: FloatArray
    loss: FloatArray
    states: tuple[Hashable, ...]
    history: tuple[Progress, ...]
    problem: DecisionProblem
    iterations: int
    evaluations: int
    method: str
    ambiguity: str
    seconds: float

    @property
    def gap(self) -> float:
        """How much a better decision could save at most: ``bound − lower_bound``, proven."""
        return self.bound - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap as a share of ``|value|``."""
        return self.gap / abs(self.value) if self.value else float(np.inf if self.gap else 0.0)

    @property
    def certified(self) -> bool:
        """Whether the decision is proven to be best, to within the tolerance."""
        return self.status is Status.CERTIFIED

    @property
    def warnings(self) -> tuple[MarkovDROWarning, ...]:
        """What makes the estimates behind it doubtful."""
        return tuple(warning for case in self.worst_cases for warning in case.warnings)

    def __repr__(self) -> str:
        if self.x is None:
            return f"no decision  ({self.status})"
        known = f"between {self.lower_bound:.6g} and {self.bound:.6g}"
        unproven = any(case.proof is Proof.LARGEST_LOSS for case in self.worst_cases)
        searched = ", from above by the largest loss" if unproven and self.gap else ""
        lines = [
            f"decision     {self.problem.describe(self.x, self.states)}  ({self.status})",
            f"worst case   {self.value:.6g}",
            f"best proven  {known}{searched}",
            f"estimated    {self.nominal:.6g}",
            f"radius       {_range(self.radii)} ({self.ambiguity})",
            f"method       {self.method}, {self.iterations} rounds, "
            f"{self.evaluations} worst cases, {self.seconds:.3g} s",
        ]
        lines += [f"warning      {warning}" for warning in dict.fromkeys(map(str, self.warnings))]
        return "\n".join(lines)


def _range(numbers: FloatArray) -> str:
    low, high = float(numbers.min()), float(numbers.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
