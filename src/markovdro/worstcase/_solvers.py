"""Which solver a problem goes to: each kind of ambiguity set has one of its own."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.ambiguity import ConditionalEntropy, ConditionalEntropyBall, FrequencyBall
from markovdro.worstcase._loop import Watch
from markovdro.worstcase._multistart import find, find_many, unsolved
from markovdro.worstcase._options import TRIVIAL, Options
from markovdro.worstcase._policy_iteration import iterate_policies
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._prove import meets, prove
from markovdro.worstcase._region import Region
from markovdro.worstcase._result import Proof, Status

__all__ = ["solve", "solve_many"]


def solve(
    problem: Problem,
    options: Options,
    *,
    warm: FloatArray | None = None,
    watch: Watch | None = None,
    region: Region | None = None,
    most_urgent: bool = False,
) -> Found:
    """Search for the worst case, and prove it as far as the options ask for.

    ``warm`` is a chain to begin from, ``region`` what is known of the ball whatever the loss. Where
    time is out already, the most urgent call returns what it was given.
    """
    ball = problem.ball
    if isinstance(ball, ConditionalEntropyBall):
        if most_urgent and time.perf_counter() >= options.deadline:
            found = unsolved(problem, warm)
        else:
            found = _proven(problem, options, find(problem, options, warm, watch), region)
        return replace(found, distance=ball.divergence(found.transition))
    if isinstance(ball, FrequencyBall):
        return _concluded(_closed_form(problem, ball), options)
    return _concluded(iterate_policies(problem, options, ball, warm, watch), options)


def solve_many(problems: list[Problem], options: Options) -> list[Found]:
    """Solve many problems; those on the same ball share what is known of it whatever the loss."""
    if not isinstance(options.ambiguity, ConditionalEntropy):
        return [solve(problem, options) for problem in problems]
    regions: dict[tuple[int, float], Region] = {}
    solved = []
    for problem, best in zip(problems, find_many(problems, options), strict=True):
        key = id(problem.estimate), problem.radius
        region = regions.setdefault(key, Region(problem.estimate, problem.radius))
        found = _proven(problem, options, best, region)
        ball = ConditionalEntropyBall(problem.estimate, problem.radius)
        solved.append(replace(found, distance=ball.divergence(found.transition)))
    return solved


def _proven(problem: Problem, options: Options, found: Found, region: Region | None) -> Found:
    if not options.proves:
        return found
    return prove(problem, options, found, region or Region(problem.estimate, problem.radius))


def _closed_form(problem: Problem, ball: FrequencyBall) -> Found:
    """Find the worst law; as a chain, it draws every state from the same law."""
    law, ceiling, distance = ball.worst_law(problem.loss)
    value = float(law @ problem.loss)
    found = Found(
        nominal=float(ball.estimate.frequencies @ problem.loss),
        value=value,
        gap=max(ceiling - value, 0.0),
        status=Status.STALLED,
        iterations=0,
        transition=np.tile(law, (len(law), 1)),
        stationary=law,
        values=problem.loss - value,
        distance=distance,
    )
    return found.proven(ceiling, Proof.DUALITY if ball.radius else Proof.ESTIMATE)


def _concluded(found: Found, options: Options) -> Found:
    """Say that a worst case is proven, where it is."""
    if 1.0 - found.value <= TRIVIAL:
        return found.ending(Status.TRIVIAL)
    return found.ending(Status.CERTIFIED) if meets(found, options) else found
