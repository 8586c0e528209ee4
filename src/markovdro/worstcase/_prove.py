"""From the best chain found to a proven bound: the cheaper certificate first."""

from __future__ import annotations

import time

from markovdro.worstcase._branching import MOST_BRANCHING_STATES, branch
from markovdro.worstcase._convexity import convexity_bound
from markovdro.worstcase._options import Options
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._region import Region
from markovdro.worstcase._result import Proof, Status
from markovdro.worstcase._threads import blas_threads

__all__ = ["meets", "prove"]

# What method="auto" does without a time limit, so that a call stays a matter of milliseconds.
FEW_STATES, FEW_BOXES = 30, 20_000


def prove(problem: Problem, options: Options, found: Found, region: Region) -> Found:
    """Prove a bound on the worst case, and improve on the best chain where the proof finds better.

    Convexity is tried first; where it does not meet the tolerance, boxes are branched on.
    """
    if problem.radius == 0 or found.status is Status.TRIVIAL:
        return found
    if not meets(found, options) and time.perf_counter() < options.deadline:
        with blas_threads(options.threads):
            bound = convexity_bound(
                region, problem.loss, found.value, found.stationary, found.values
            )
        found = found.proven(bound, Proof.CONVEXITY, 0)
    if meets(found, options):
        return found.ending(Status.CERTIFIED)
    if time.perf_counter() >= options.deadline:
        return found.ending(Status.TIME_LIMIT)
    boxes = _boxes_allowed(len(problem.loss), options)
    if not boxes:
        return found
    branched = branch(region, problem, options, found, boxes)
    if branched.status is Status.NODE_LIMIT and boxes < options.most_nodes:
        # The limit was not the caller's: what ended the search says more.
        return branched.ending(found.status)
    return branched


def meets(found: Found, options: Options) -> bool:
    """Whether the bound is as close to the value as was asked for."""
    return found.bound - found.value <= options.proof_tolerance


def _boxes_allowed(states: int, options: Options) -> int:
    """Without a time limit, ``method="auto"`` branches little, and on few states only."""
    if states > MOST_BRANCHING_STATES:
        return 0
    if options.method == "auto" and options.unlimited:
        few = FEW_BOXES // states if states <= FEW_STATES else 0
        return min(options.most_nodes, few)
    return options.most_nodes
