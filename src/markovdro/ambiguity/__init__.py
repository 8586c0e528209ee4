"""Ambiguity sets: each knows its divergence and solves its own linear problem exactly."""

from markovdro.ambiguity._conditional_entropy import (
    ConditionalEntropyBall,
    conditional_entropy,
    restricted_support,
)

__all__ = ["ConditionalEntropyBall", "conditional_entropy", "restricted_support"]
