"""One worst-case problem, and what a solver knows of it when it stops."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.ambiguity import Ambiguity, Ball, ConditionalEntropy
from markovdro.chains import Estimate, LongRun, eliminated, factorised
from markovdro.worstcase._result import Proof, Status

__all__ = ["COMPILED_STATES", "Found", "Problem"]

CONDITIONAL_ENTROPY = ConditionalEntropy()

# Up to this many states a whole problem is solved without returning to the interpreter. Beyond,
# LAPACK's factorisation beats state reduction by more than the interpreter costs.
COMPILED_STATES = 100


@dataclass(frozen=True, eq=False)
class Problem:
    """One worst-case problem, its loss scaled to [0, 1]."""

    loss: FloatArray
    estimate: Estimate
    radius: float
    ambiguity: Ambiguity = CONDITIONAL_ENTROPY

    @property
    def ball(self) -> Ball:
        """The ambiguity set; each call makes a new one, because a ball belongs to one solver."""
        return self.ambiguity.around(self.estimate, self.radius)

    @property
    def mass(self) -> FloatArray:
        """α on the states that are visited for ever: it chooses the anchor of linear systems."""
        return np.where(self.estimate.recurrent, self.estimate.weights, 0.0)

    def evaluate(self, transition: FloatArray, mass: FloatArray | None = None) -> LongRun:
        """Return the long-run loss of a chain, by the faster of the two eliminations.

        ``mass`` is positive on (some of) the states that the chain visits for ever; by default it
        is that of P'.
        """
        from markovdro.worstcase._kernels import RARE

        run = eliminated if len(self.loss) <= COMPILED_STATES else factorised
        found = run(transition, self.loss, self.mass if mass is None else mass)
        # The anchor, from which relative values count, is the state (or among those) of value 0.
        if found.stationary[found.values == 0].max(initial=0.0) < RARE * found.stationary.max():
            likely = found.stationary == found.stationary.max()
            found = run(transition, self.loss, likely.astype(np.float64))
        return found


@dataclass(frozen=True, eq=False)
class Found:
    """The best chain that was found, in the scaled loss, and what is proven of it."""

    nominal: float
    value: float
    gap: float
    status: Status
    iterations: int
    transition: FloatArray
    stationary: FloatArray
    values: FloatArray
    bound: float = 1.0
    proof: Proof = Proof.LARGEST_LOSS
    nodes: int = 0
    distance: float = 0.0
    """From the estimate, in units of the radius."""

    def proven(self, bound: float, proof: Proof, nodes: int = 0) -> Found:
        """Lower the bound, if this one is lower."""
        if bound >= self.bound:
            return replace(self, nodes=nodes)
        return replace(self, bound=max(bound, self.value), proof=proof, nodes=nodes)

    def ending(self, status: Status) -> Found:
        return replace(self, status=status)
