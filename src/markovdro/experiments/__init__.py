"""The paper's experiments, as configurations that anyone can repeat."""

from markovdro.experiments._synthetic import (
    SyntheticProblem,
    synthetic_loss,
    synthetic_problem,
    synthetic_transition,
)

__all__ = [
    "SyntheticProblem",
    "synthetic_loss",
    "synthetic_problem",
    "synthetic_transition",
]
