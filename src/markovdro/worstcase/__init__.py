"""The search for the worst case over an ambiguity set."""

from markovdro.worstcase._result import Status, WorstCase, WorstCaseBatch
from markovdro.worstcase._solve import worst_case, worst_case_batch, worst_case_path

__all__ = [
    "Status",
    "WorstCase",
    "WorstCaseBatch",
    "worst_case",
    "worst_case_batch",
    "worst_case_path",
]
