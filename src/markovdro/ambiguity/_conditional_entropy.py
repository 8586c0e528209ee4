"""The ball of conditional relative entropy around an estimated chain: the paper's ambiguity set."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._inputs import doublet_matrix, radius_value, read_only, transition_matrix
from markovdro.chains import Estimate, align_table
from markovdro.errors import InputError

__all__ = ["ConditionalEntropyBall", "conditional_entropy"]

# Rounding alone may ask for a second or third pull towards the centre.
MOST_PULLS = 100


def conditional_entropy(doublets: Any, transition: Any) -> float:
    """Return the conditional relative entropy ``D_c`` of a doublet distribution against a chain.

    Parameters
    ----------
    doublets : Estimate, or d × d nonnegative numbers summing to one
        θ', usually an estimate.
    transition : d × d, rows summing to one
        P, the chain it is measured against.

    Returns
    -------
    float
        ``D_c(θ'‖P) = Σ_i α_i KL(P'_i ‖ P_i)`` in nats per transition, with ``α_i = Σ_j θ'_ij`` and
        ``P'_ij = θ'_ij/α_i``; infinite where a transition of θ' is impossible under P. (The
        paper's Definition "Conditional relative entropy"; it depends on θ only through P_θ.)

    Examples
    --------
    The paper's two coins, at ε = 0.2, where it is ``ε(1 − 2ε) log((1 − ε)/ε)``:

    >>> from markovdro import conditional_entropy
    >>> second = [[0.04, 0.16], [0.16, 0.64]]
    >>> round(conditional_entropy(second, [[0.8, 0.2], [0.2, 0.8]]), 6)
    0.166355
    """
    from markovdro.ambiguity._rows import divergence

    states: Sequence[Hashable] | None
    if isinstance(doublets, Estimate):
        nominal, weights, states = doublets.transition, doublets.weights, doublets.states
    else:
        numbers, states = align_table(doublets, None, "doublets")
        nominal, weights = _rows_and_weights(numbers)
    matrix = transition_matrix(align_table(transition, states, "transition")[0])
    if matrix.shape != nominal.shape:
        raise InputError(
            f"transition must have the shape {nominal.shape} of the doublets, "
            f"but has {matrix.shape}."
        )
    return divergence(nominal, weights, matrix)


def _rows_and_weights(doublets: Any) -> tuple[FloatArray, FloatArray]:
    """Split θ' into P' and α; a state of no mass gets any row, since its weight is zero."""
    theta = doublet_matrix(doublets)
    weights = theta.sum(axis=1)
    rows = np.where(weights[:, None] > 0, theta, 1.0 / len(theta))
    return rows / rows.sum(axis=1, keepdims=True), weights


@dataclass(eq=False)
class ConditionalEntropyBall:
    """All chains P with ``Σ_i α_i KL(P'_i ‖ P_i) ≤ r`` that use only supported transitions.

    The ball keeps the multiplier and the slacks of its last linear problem, from which the next
    one starts; it belongs to one solver at a time.
    """

    estimate: Estimate
    radius: float
    _log_multiplier: float = field(default=math.nan, init=False, repr=False)
    _slack: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.radius = radius_value(self.radius)
        self._slack = np.ones(len(self.estimate.weights))

    def divergence(self, transition: FloatArray) -> float:
        """Return the conditional relative entropy of P' against a chain, in nats."""
        from markovdro.ambiguity._rows import divergence

        return divergence(self.estimate.transition, self.estimate.weights, transition)

    def maximise(self, stationary: FloatArray, values: FloatArray) -> tuple[FloatArray, float]:
        """Solve ``max Σ_ij π_i h_j S_ij`` over the ball, exactly.

        This is the paper's oracle subproblem for the gradient ``π_i h_j`` of the long-run loss.

        Returns
        -------
        transition : array
            The maximiser S.
        gain : float
            ``Σ_i π_i (S_i·h − h_i)``: the Frank-Wolfe gap, for the π and h of a chain.
        """
        from markovdro.ambiguity._rows import linear_maximum

        target = np.empty_like(self.estimate.transition)
        if self.radius == 0:
            target[:] = self.estimate.transition
            return target, float(stationary @ (target @ values - values))
        self._log_multiplier, gain = linear_maximum(
            self.estimate.transition,
            self.estimate.weights,
            restricted_support(self.estimate),
            stationary,
            values,
            self.radius,
            self._log_multiplier,
            self._slack,
            target,
        )
        return target, gain

    def dual(
        self, stationary: FloatArray, values: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return what proves that the linear problem is solved.

        Returns
        -------
        multiplier : float
            λ of the constraint, by how much the maximum grows for each nat.
        tau, h : arrays
            The maximiser is ``S_ij = θ'_ij/(τ_i + π_i h_j)``, both nonnegative.
        """
        self.maximise(stationary, values)
        multiplier = math.exp(self._log_multiplier)
        tau: FloatArray = self.estimate.weights * self._slack
        return multiplier, tau, (values.max() - values) / multiplier

    def pull_inside(self, transition: FloatArray) -> FloatArray:
        """Move a chain towards P' until it lies in the ball.

        The divergence is convex and zero at P', so that a step of ``r/D`` is enough but for
        rounding. A chain at no finite divergence becomes P'.
        """
        centre = self.estimate.transition
        for _ in range(MOST_PULLS):
            distance = self.divergence(transition)
            if distance <= self.radius:
                return transition
            if not math.isfinite(distance):
                break
            share = self.radius / distance * (1 - 1e-12)
            transition = centre + share * (transition - centre)
        return centre


def restricted_support(estimate: Estimate) -> BoolArray:
    """Return the support as the kernels take it: empty where every transition is allowed."""
    if estimate.support.all():
        return read_only(np.empty((0, 0), dtype=np.bool_))
    return estimate.support
