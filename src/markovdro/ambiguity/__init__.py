"""Ambiguity sets: each knows its distance and solves its own linear problem exactly."""

from markovdro.ambiguity._conditional_entropy import (
    ConditionalEntropyBall,
    conditional_entropy,
    restricted_support,
)
from markovdro.ambiguity._frequencies import FrequencyBall
from markovdro.ambiguity._row_balls import BestRows, RowBall
from markovdro.ambiguity._sets import (
    Ambiguity,
    Ball,
    ConditionalEntropy,
    Wasserstein,
    ambiguity_named,
)

__all__ = [
    "Ambiguity",
    "Ball",
    "BestRows",
    "ConditionalEntropy",
    "ConditionalEntropyBall",
    "FrequencyBall",
    "RowBall",
    "Wasserstein",
    "ambiguity_named",
    "conditional_entropy",
    "restricted_support",
]
