"""What to do with transitions that were never seen: a choice that is named, never silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro._inputs import positive_number, shown
from markovdro.chains._counts import TransitionCounts
from markovdro.errors import InputError

__all__ = [
    "GhostTransition",
    "NoSmoothing",
    "PseudoCounts",
    "Smoothing",
    "ZeroPerturbation",
    "smoothing_named",
]


class Smoothing(Protocol):
    """Turns counts into doublet masses, up to a common factor."""

    def masses(self, counts: TransitionCounts, support: BoolArray) -> FloatArray:
        """Return a mass for each doublet, zero outside the support; their sum is free."""
        ...


@dataclass(frozen=True)
class ZeroPerturbation:
    """Give every doublet that was never seen the mass ε, then renormalise: the paper's way.

    Attributes
    ----------
    epsilon : float
        Mass of one unseen doublet, against a mass of one for all the data together. The paper says
        "slightly perturb" and no number; with d states up to d²·ε of mass is added, so that at
        d = 1000 the default outweighs the data ten to one.
    """

    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        positive_number(self.epsilon, "epsilon")

    def masses(self, counts: TransitionCounts, support: BoolArray) -> FloatArray:
        """``N_ij / T`` where seen, ε elsewhere."""
        seen = counts.matrix / counts.total
        return np.where(support & (counts.matrix == 0), self.epsilon, seen)


@dataclass(frozen=True)
class PseudoCounts:
    """Add a count to every doublet: the mean of a Dirichlet posterior.

    Attributes
    ----------
    count : float
        ½ is the Krichevsky-Trofimov (Jeffreys) choice, 1 Laplace's.
    """

    count: float = 0.5

    def __post_init__(self) -> None:
        positive_number(self.count, "count")

    def masses(self, counts: TransitionCounts, support: BoolArray) -> FloatArray:
        """``N_ij + count``."""
        return np.where(support, counts.matrix + self.count, 0.0)


@dataclass(frozen=True)
class GhostTransition:
    """Close each trajectory by one transition from its last state to its first.

    This is the estimator of the paper's Lemma "Solvability": its row and column sums agree, and
    its divergence from the empirical one is at most d/T. (The paper closes to ξ_1; only closing to
    the state ξ_0, where the first transition begins, balances the sums.)
    """

    def masses(self, counts: TransitionCounts, support: BoolArray) -> FloatArray:
        """``N_ij`` plus the number of trajectories that ended in i and began in j."""
        if counts.closing is None:
            raise InputError(
                "smoothing='ghost' needs the first and last state of each trajectory, and counts "
                "made by from_matrix do not hold them; use count_transitions, or another smoothing."
            )
        if (counts.closing[~support] > 0).any():
            i, j = np.argwhere(~support & (counts.closing > 0))[0]
            raise InputError(
                f"the ghost transition from {counts.states[i]!r} to {counts.states[j]!r} is "
                "outside the support; use another smoothing."
            )
        return (counts.matrix + counts.closing).astype(np.float64)


@dataclass(frozen=True)
class NoSmoothing:
    """Leave zero counts at zero. Nature may still use them where the support allows it."""

    def masses(self, counts: TransitionCounts, support: BoolArray) -> FloatArray:  # noqa: ARG002
        """``N_ij``."""
        return counts.matrix.astype(np.float64)


_NAMED: dict[str, Smoothing] = {
    "zero-perturbation": ZeroPerturbation(),
    "pseudo-counts": PseudoCounts(),
    "laplace": PseudoCounts(1.0),
    "ghost": GhostTransition(),
    "none": NoSmoothing(),
}


def smoothing_named(choice: str | Smoothing) -> Smoothing:
    """Return the smoothing that a name stands for; an object stands for itself."""
    if isinstance(choice, str):
        if choice not in _NAMED:
            raise InputError(
                f"smoothing {shown(choice)} is not known; choose one of "
                f"{', '.join(sorted(_NAMED))}, or pass an object such as ZeroPerturbation(1e-4)."
            )
        return _NAMED[choice]
    if isinstance(choice, type) or not hasattr(choice, "masses"):
        raise InputError(
            f"smoothing must be a name or a smoothing object, but is {shown(choice)}; "
            f"the names are {', '.join(sorted(_NAMED))}."
        )
    return choice
