"""The search for the worst case over an ambiguity set."""

from markovdro.worstcase._result import Proof, Status, WorstCase, WorstCaseBatch
from markovdro.worstcase._solve import worst_case, worst_case_batch, worst_case_path
from markovdro.worstcase._stationary_bounds import StationaryBounds, stationary_bounds

__all__ = [
    "Proof",
    "StationaryBounds",
    "Status",
    "WorstCase",
    "WorstCaseBatch",
    "stationary_bounds",
    "worst_case",
    "worst_case_batch",
    "worst_case_path",
]
