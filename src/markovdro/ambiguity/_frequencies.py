"""The ambiguity set of models that take observations for independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import read_only
from markovdro.chains import Estimate

__all__ = ["FrequencyBall"]


@dataclass(frozen=True, eq=False)
class FrequencyBall:
    """All laws q of independent states with ``KL(p ‖ q) ≤ r``, p being the observed frequencies."""

    estimate: Estimate
    radius: float

    def worst_law(self, loss: FloatArray) -> tuple[FloatArray, float, float]:
        """Return the law q that maximises ``q·L``, a proven bound on that, and ``KL(p ‖ q)``.

        The dual has one scalar: ``min over t ≥ max L of t − e^-r exp(Σ_i p_i log(t − L_i))``.
        """
        from markovdro.ambiguity._entropy_kernels import entropy_rows

        observed = self.estimate.frequencies
        if self.radius == 0:
            return observed, float(observed @ loss), 0.0
        law, ceiling, distance = np.empty((1, len(loss))), np.empty(1), np.empty(1)
        entropy_rows(
            observed[None, :],
            read_only(np.empty((0, 0), dtype=np.bool_)),
            loss,
            self.radius,
            np.full(1, np.nan),
            np.ones(1),
            law,
            ceiling,
            distance,
        )
        return law[0], float(ceiling[0]), float(distance[0])
