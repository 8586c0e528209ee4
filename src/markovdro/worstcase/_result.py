"""What a worst-case problem returns."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, overload

import numpy as np

from markovdro._arrays import CountArray, FloatArray
from markovdro.chains import Estimate
from markovdro.errors import MarkovDROWarning

__all__ = ["Proof", "Status", "WorstCase", "WorstCaseBatch"]


class Status(StrEnum):
    """Why a solver stopped, and what its value is worth."""

    CERTIFIED = "certified"
    """No chain of the ambiguity set loses more, to within the tolerance: this is proven."""
    TRIVIAL = "trivial"
    """The value is the largest loss, to 1e-9 of the loss range: the radius allows everything."""
    STATIONARY = "stationary"
    """No small change of the chain loses more. A larger loss elsewhere is not excluded."""
    TIME_LIMIT = "time limit"
    """Time ran out; the value is reached, the bound proven."""
    NODE_LIMIT = "node limit"
    """The boxes allowed for the proof ran out; the value is reached, the bound proven."""
    ITERATION_LIMIT = "iteration limit"
    """Iterations ran out; the value is reached, the bound proven."""
    STALLED = "stalled"
    """No better step was found before the tolerance was met: rounding, or an inexact oracle."""
    INFEASIBLE = "infeasible"
    """No decision keeps all constraints."""
    UNBOUNDED = "unbounded"
    """There are decisions with a worst case as low as one likes, as far as it was found."""


class Proof(StrEnum):
    """What proves the bound of a worst case."""

    ESTIMATE = "estimate"
    """The set holds one chain."""
    LARGEST_LOSS = "largest loss"
    """No chain loses more than the largest loss of a state."""
    CONVEXITY = "convexity"
    """In the logarithm of the stationary law, the problem is concave over the whole ball."""
    BRANCHING = "branch and bound"
    """Boxes of stationary laws, each refuted or bounded by a convex relaxation."""
    DUALITY = "duality"
    """A solution of the dual problem: for sets whose worst case is a convex problem."""


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase:
    """The largest long-run loss found over an ambiguity set, the chain that has it, and a bound.

    Attributes
    ----------
    value : float
        ``π·L`` of the chain ``transition``, which lies in the ambiguity set. In units of the loss.
    bound : float
        Proven: no chain of the ambiguity set loses more.
    proof : Proof
        What proves it.
    stationarity : float
        The Frank-Wolfe gap ``max_S Σ_ij π_i h_j (S − P)_ij`` at ``transition``: by how much the
        linearised loss could still rise. Zero at a stationary point, which need not be the global
        worst case.
    status : Status
    transition, stationary : arrays
        The worst chain found, and its stationary law π.
    nominal : float
        The long-run loss ``π·L`` of the estimated chain P' itself. For sets of independent states,
        ``p·L`` of the observed frequencies p.
    divergence : float
        How far ``transition`` is from the estimate, in units of the radius and at most that:
        ``Σ_i α_i KL(P'_i ‖ P_i)`` for the conditional-entropy ball, the largest distance of a row
        for sets that choose every row on its own, ``KL(p ‖ π)`` for independent states.
    radius : float
        In nats per transition; for the Wasserstein set, in units of the ground cost.
    tolerance : float
        What was asked for, as a fraction of the loss range.
    loss : array
    estimate : Estimate
    method, ambiguity : str
    iterations : int
        Frank-Wolfe steps, over all starts.
    nodes : int
        Boxes that the proof examined.
    seconds : float
        Wall-clock time.
    """

    value: float
    bound: float
    proof: Proof
    stationarity: float
    status: Status
    transition: FloatArray
    stationary: FloatArray
    nominal: float
    divergence: float
    radius: float
    tolerance: float
    loss: FloatArray
    estimate: Estimate
    method: str
    ambiguity: str
    iterations: int
    nodes: int
    seconds: float

    @property
    def gap(self) -> float:
        """How far the value can be from the truth: ``bound − value``, never negative."""
        return self.bound - self.value

    @property
    def certified(self) -> bool:
        """Whether the gap is within the tolerance, so that the worst case is proven global."""
        return self.gap <= self.tolerance * float(np.ptp(self.loss))

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The labels, in the order of the arrays."""
        return self.estimate.states

    @property
    def warnings(self) -> tuple[MarkovDROWarning, ...]:
        """What makes the estimate behind it doubtful."""
        return self.estimate.warnings

    def __repr__(self) -> str:
        lines = [
            f"worst case   {self.value:.6g}  ({self.status})",
            f"proven       at most {self.bound:.6g}, by {self.proof}",
            f"estimated    {self.nominal:.6g}",
            f"radius       {self.radius:.4g}, {self.divergence:.4g} used ({self.ambiguity})",
            f"method       {self.method}, {self._work()}, {self.seconds:.3g} s",
        ]
        lines += [f"warning      {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _work(self) -> str:
        boxes = f", {self.nodes} boxes" if self.nodes else ""
        return f"{self.iterations} steps{boxes}"


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseBatch:
    """Many worst cases that were solved in one call.

    ``batch[m]`` is the m-th as a :class:`WorstCase`, and a slice is a batch again; the arrays hold
    one entry for each.

    Attributes
    ----------
    values, bounds, stationarities, nominals, divergences, radii : arrays, n
        As in :class:`WorstCase`.
    statuses : tuple of Status
    proofs : tuple of Proof
    transitions : array, n × d × d
    stationaries : array, n × d
    iterations, nodes : arrays of integers, n
    losses : array, n × d
    estimates : tuple of Estimate
    seconds : float
        Wall-clock time of the whole call.
    """

    values: FloatArray
    bounds: FloatArray
    stationarities: FloatArray
    statuses: tuple[Status, ...]
    proofs: tuple[Proof, ...]
    transitions: FloatArray
    stationaries: FloatArray
    nominals: FloatArray
    divergences: FloatArray
    radii: FloatArray
    iterations: CountArray
    nodes: CountArray
    losses: FloatArray
    estimates: tuple[Estimate, ...]
    tolerance: float
    method: str
    ambiguity: str
    seconds: float

    def __len__(self) -> int:
        return len(self.statuses)

    def __iter__(self) -> Iterator[WorstCase]:
        return (self[m] for m in range(len(self)))

    @overload
    def __getitem__(self, m: int) -> WorstCase: ...

    @overload
    def __getitem__(self, m: slice) -> WorstCaseBatch: ...

    def __getitem__(self, m: int | slice) -> WorstCase | WorstCaseBatch:
        if isinstance(m, slice):
            # Every array and tuple holds one entry for each problem.
            parts: dict[str, Any] = {
                name: part[m]
                for name, part in vars(self).items()
                if isinstance(part, np.ndarray | tuple)
            }
            share = len(parts["statuses"]) / max(len(self), 1)
            return replace(self, **parts, seconds=self.seconds * share)
        m = operator.index(m)
        if not -len(self) <= m < len(self):
            raise IndexError(f"there are {len(self)} worst cases; there is none at {m}")
        return WorstCase(
            value=float(self.values[m]),
            bound=float(self.bounds[m]),
            proof=self.proofs[m],
            stationarity=float(self.stationarities[m]),
            status=self.statuses[m],
            transition=self.transitions[m],
            stationary=self.stationaries[m],
            nominal=float(self.nominals[m]),
            divergence=float(self.divergences[m]),
            radius=float(self.radii[m]),
            tolerance=self.tolerance,
            loss=self.losses[m],
            estimate=self.estimates[m],
            method=self.method,
            ambiguity=self.ambiguity,
            iterations=int(self.iterations[m]),
            nodes=int(self.nodes[m]),
            seconds=self.seconds / len(self),
        )

    def __repr__(self) -> str:
        counted = {status: self.statuses.count(status) for status in dict.fromkeys(self.statuses)}
        shown = ", ".join(f"{count} {status}" for status, count in counted.items())
        return f"WorstCaseBatch({len(self)} worst cases: {shown}; {self.seconds:.3g} s)"
