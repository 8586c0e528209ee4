"""Decisions whose worst case is best: problems, the search for a decision, and its proof."""

from markovdro.decisions._convex import ConvexDecisions
from markovdro.decisions._direct_search import BlackBoxDecisions
from markovdro.decisions._prescribe import prescribe
from markovdro.decisions._problems import (
    Assortment,
    FiniteDecisions,
    LinearDecisions,
    Newsvendor,
)
from markovdro.decisions._result import Decision, Progress

__all__ = [
    "Assortment",
    "BlackBoxDecisions",
    "ConvexDecisions",
    "Decision",
    "FiniteDecisions",
    "LinearDecisions",
    "Newsvendor",
    "Progress",
    "prescribe",
]
