"""The paper's experiments, as configurations that anyone can repeat."""

from markovdro.experiments._synthetic import (
    RevenueProblem,
    SyntheticProblem,
    synthetic_loss,
    synthetic_problem,
    synthetic_revenue,
    synthetic_transition,
)

__all__ = [
    "RevenueProblem",
    "SyntheticProblem",
    "synthetic_loss",
    "synthetic_problem",
    "synthetic_revenue",
    "synthetic_transition",
]
