"""From trajectories to an estimated chain, and what a chain does in the long run."""

from markovdro.chains._alignment import (
    align_table,
    loss_vector,
    named_vector,
    names_of_axes,
    rows_by_state,
    separate_losses,
)
from markovdro.chains._counts import TransitionCounts, count_transitions
from markovdro.chains._estimate import Estimate, checked_estimate, estimate
from markovdro.chains._simulation import simulate
from markovdro.chains._smoothing import (
    GhostTransition,
    NoSmoothing,
    PseudoCounts,
    Smoothing,
    ZeroPerturbation,
)
from markovdro.chains._stationary import (
    LongRun,
    eliminated,
    factorised,
    relative_values,
    stationary_law,
)
from markovdro.chains._structure import closed_classes

__all__ = [
    "Estimate",
    "GhostTransition",
    "LongRun",
    "NoSmoothing",
    "PseudoCounts",
    "Smoothing",
    "TransitionCounts",
    "ZeroPerturbation",
    "align_table",
    "checked_estimate",
    "closed_classes",
    "count_transitions",
    "eliminated",
    "estimate",
    "factorised",
    "loss_vector",
    "named_vector",
    "names_of_axes",
    "relative_values",
    "rows_by_state",
    "separate_losses",
    "simulate",
    "stationary_law",
]
