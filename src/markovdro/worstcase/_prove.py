"""From the best chain found to a proven bound: the cheaper certificate first."""

from __future__ import annotations

import time

from markovdro.worstcase._branching import MOST_BRANCHING_STATES, branch
from markovdro.worstcase._convexity import convexity_bound
from markovdro.worstcase._multistart import Found, Problem
from markovdro.worstcase._options import Options
from markovdro.worstcase._region import Region
from markovdro.worstcase._result import Proof, Status

__all__ = ["prove"]

# What method="auto" does without a time limit, so that a call stays a matter of milliseconds.
FEW_STATES, FEW_BOXES = 30, 20_000


def prove(problem: Problem, options: Options, found: Found, region: Region) -> Found:
    """Prove a bound on the worst case, and improve on the best chain where the proof finds better.

    Convexity is tried first; where it does not meet the tolerance, boxes are branched on
    (``method="auto"``: only few of them, unless a time limit says for how long).
    """
    if problem.radius == 0 or found.status is Status.TRIVIAL:
        return found
    if found.bound - found.value <= options.proof_tolerance:
        return found.ending(Status.CERTIFIED)
    if time.perf_counter() >= options.deadline:
        return found.ending(Status.TIME_LIMIT)
    values = problem.evaluate(found.transition).values
    bound = convexity_bound(region, problem.loss, found.value, found.stationary, values)
    found = found.proven(bound, Proof.CONVEXITY, 0)
    if found.bound - found.value <= options.proof_tolerance:
        return found.ending(Status.CERTIFIED)
    states = len(problem.loss)
    most_boxes = options.most_nodes
    if options.method == "auto" and options.unlimited:
        most_boxes = min(most_boxes, FEW_BOXES // states if states <= FEW_STATES else 0)
    if states > MOST_BRANCHING_STATES or most_boxes == 0:
        return found
    if time.perf_counter() >= options.deadline:
        return found.ending(Status.TIME_LIMIT)
    return branch(region, problem, options, found, most_boxes)
