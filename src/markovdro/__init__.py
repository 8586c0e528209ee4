"""Decisions under serially dependent data: robust optimization over Markov chains."""

from markovdro.ambiguity import Wasserstein, conditional_entropy
from markovdro.chains import (
    Estimate,
    GhostTransition,
    NoSmoothing,
    PseudoCounts,
    TransitionCounts,
    ZeroPerturbation,
    count_transitions,
    estimate,
    relative_values,
    simulate,
    stationary_law,
)
from markovdro.errors import MarkovDROError, MarkovDROWarning
from markovdro.worstcase import (
    Proof,
    StationaryBounds,
    Status,
    WorstCase,
    WorstCaseBatch,
    stationary_bounds,
    worst_case,
    worst_case_batch,
    worst_case_path,
)

__all__ = [
    "Estimate",
    "GhostTransition",
    "MarkovDROError",
    "MarkovDROWarning",
    "NoSmoothing",
    "Proof",
    "PseudoCounts",
    "StationaryBounds",
    "Status",
    "TransitionCounts",
    "Wasserstein",
    "WorstCase",
    "WorstCaseBatch",
    "ZeroPerturbation",
    "conditional_entropy",
    "count_transitions",
    "estimate",
    "relative_values",
    "simulate",
    "stationary_bounds",
    "stationary_law",
    "worst_case",
    "worst_case_batch",
    "worst_case_path",
]
