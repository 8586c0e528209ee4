"""Between the losses of the caller, in any unit, and those of the solvers, between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.worstcase._options import Options
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._result import Proof, WorstCaseBatch

__all__ = ["Losses", "collect"]


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses in rows, and the same scaled to [0, 1]; equal losses become 1."""

    given: FloatArray
    low: FloatArray
    span: FloatArray
    scaled: FloatArray

    @classmethod
    def of(cls, given: FloatArray) -> Losses:
        high, span = given.max(axis=1), np.ptp(given, axis=1)
        span[span == 0] = 1.0
        low = high - span
        return cls(given, low, span, (given - low[:, None]) / span[:, None])


def collect(
    losses: Losses, problems: list[Problem], found: list[Found], options: Options
) -> WorstCaseBatch:
    """Bring the results back to the units of the losses, with the bound that is proven."""
    highest = losses.given.max(axis=1)
    radii = np.array([p.radius for p in problems])
    nominals = np.minimum(losses.low + losses.span * np.array([f.nominal for f in found]), highest)
    # Rounding must not bring a bound below what it stands for.
    last_digits = 4.0 * np.finfo(float).eps * (np.abs(losses.low) + losses.span)
    bounds = losses.low + losses.span * np.array([f.bound for f in found]) + last_digits
    bounds = np.minimum(bounds, highest)
    values = losses.low + losses.span * np.array([f.value for f in found])
    proofs = tuple(
        f.proof if p.radius else Proof.ESTIMATE for f, p in zip(found, problems, strict=True)
    )
    one_chain = np.array([proof is Proof.ESTIMATE for proof in proofs])
    bounds = np.where(one_chain, nominals, bounds)
    batch = WorstCaseBatch(
        values=np.minimum(values, bounds),
        bounds=bounds,
        stationarities=losses.span * np.maximum([f.gap for f in found], 0.0),
        statuses=tuple(f.status for f in found),
        proofs=proofs,
        transitions=np.array([f.transition for f in found]),
        stationaries=np.array([f.stationary for f in found]),
        nominals=nominals,
        divergences=np.array([f.distance for f in found]),
        radii=radii,
        iterations=np.array([f.iterations for f in found]),
        nodes=np.array([f.nodes for f in found]),
        losses=np.broadcast_to(losses.given, (len(found), losses.given.shape[1])),
        estimates=tuple(p.estimate for p in problems),
        tolerance=options.proof_tolerance,
        method=options.method,
        ambiguity=options.ambiguity.name,
        seconds=options.seconds,
    )
    for array in vars(batch).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return batch
