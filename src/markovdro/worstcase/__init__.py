"""The search for the worst case over an ambiguity set."""

from markovdro.worstcase._multistart import climb_once
from markovdro.worstcase._options import Options, check_options
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._region import Region
from markovdro.worstcase._result import Proof, Status, WorstCase, WorstCaseBatch
from markovdro.worstcase._solve import worst_case, worst_case_batch, worst_case_path
from markovdro.worstcase._solvers import solve
from markovdro.worstcase._stationary_bounds import StationaryBounds, stationary_bounds
from markovdro.worstcase._units import Losses, collect

__all__ = [
    "Found",
    "Losses",
    "Options",
    "Problem",
    "Proof",
    "Region",
    "StationaryBounds",
    "Status",
    "WorstCase",
    "WorstCaseBatch",
    "check_options",
    "climb_once",
    "collect",
    "solve",
    "stationary_bounds",
    "worst_case",
    "worst_case_batch",
    "worst_case_path",
]
