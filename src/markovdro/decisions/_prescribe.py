"""The decision whose worst case is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import entries_of, float_array, radius_value, read_only, shown
from markovdro.ambiguity import Ambiguity
from markovdro.chains import Estimate, checked_estimate
from markovdro.decisions._convex import ConvexMaster, ConvexModel
from markovdro.decisions._cutting_planes import LEAST_GAP, Goal, Outcome, search
from markovdro.decisions._direct_search import BlackBoxModel, direct_search
from markovdro.decisions._masters import Listed, Master
from markovdro.decisions._models import FiniteModel, LinearModel
from markovdro.decisions._nature import Nature
from markovdro.decisions._problems import DecisionProblem
from markovdro.decisions._result import Decision, Progress
from markovdro.decisions._tree import Tree
from markovdro.errors import InputError
from markovdro.worstcase import Options, Status, check_options

__all__ = ["prescribe"]

Model = FiniteModel | LinearModel | ConvexModel | BlackBoxModel

# A search for a decision can be followed almost to its end.
SEARCH_GAP = 1e-7
# Of a time limit, this share is for the search; the rest is for the proof of what it found.
SEARCH_SHARE = 0.8
# Of a tolerance, this share is for the search as well.
SEARCH_TOLERANCE = 0.5
# The last digits of bounds are those of HiGHS: a search that ended this near its goal has met it.
SLACK = 1.01


def prescribe(
    problem: DecisionProblem,
    estimates: Estimate | Sequence[Estimate],
    radius: Any,
    *,
    weights: Any = None,
    ambiguity: str | Ambiguity = "conditional-entropy",
    method: str = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> Decision:
    """Find the decision whose worst case is best, and prove that no other is better.

    Parameters
    ----------
    problem : Assortment, LinearDecisions, FiniteDecisions, ConvexDecisions, BlackBoxDecisions, …
        The losses ``L(x, i)`` of the decisions x in the states i, and which x are allowed.
    estimates : Estimate, or n of them with the same states
        One chain, or one for each of several groups (segments of customers, say), which
        nature moves independently of each other.
    radius : number, or n of them
        As in :func:`worst_case`, for all chains or for each.
    weights : n numbers, optional
        ``w_k``: shares of the groups, or their sizes. By default all groups weigh 1/n.
    ambiguity, method : as in :func:`worst_case`
        With "auto" and "global" the worst case of the decision is proven. "frank-wolfe" and
        "paper" only search for it: the lower bound is proven, the bound is the largest loss.
    tolerance : float, optional
        How far the lower bound may be below the bound of a certified decision, as a share of
        ``|value|``. By default the lower bound comes to 1e-7 of the value, and the bound is proven
        to 1e-4 of the loss range, as in :func:`worst_case`.
    time_limit : float, optional
        Seconds. A fifth of it is kept for the proof of the best decision that was found.
    threads : int, optional
        As in :func:`worst_case`.
    callback : function, optional
        Called with a :class:`Progress` whenever the value or the lower bound has changed.

    Returns
    -------
    Decision
        ``min over x of Σ_k w_k max π·L(x)``, the maxima over the stationary laws π of the k-th
        ambiguity set (the paper's problem "Markov DRO"), with proven bounds on both sides, however
        the call ends.

    Notes
    -----
    Where ``L(x, i)`` is convex in x, so is the worst case, and every stationary law π of a set
    gives a valid cut ``Σ_i π_i L(x, i)``. Cutting planes thus close in on the best decision from
    below, and the proven worst case of a decision from above. ``docs/decisions.md`` says more.

    Examples
    --------
    >>> from markovdro import Assortment, count_transitions, estimate, prescribe
    >>> bought = ["A", "A", "B", "A", "A", "C", "B", "A", "A", "B", "C", "A", "A", "A"]
    >>> brands = estimate(count_transitions(bought), smoothing="pseudo-counts")
    >>> shelf = Assortment([3.0, 4.0, 5.0], matrix=[[1, 1, 1]], bound=2)
    >>> prescribe(shelf, brands, radius=0.01)
    decision     offer A, B  (certified)
    worst case   -2.47694
    best proven  between -2.47694 and -2.47694
    estimated    -2.65714
    radius       0.01 (conditional-entropy)
    method       auto, ... rounds, ... worst cases, ... s
    """
    options = check_options(
        ambiguity=ambiguity,
        method=method,
        tolerance=tolerance,
        time_limit=time_limit,
        threads=threads,
    )
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function, but is {shown(callback)}.")
    chains = _chains(estimates)
    if not hasattr(problem, "resolve"):
        raise InputError(
            "problem must be a decision problem such as Assortment(prices), but is "
            f"{shown(problem)}."
        )
    model: Model = problem.resolve(chains[0].states)
    nature = Nature(chains, _radii(radius, len(chains)), _weights(weights, len(chains)), options)
    goal = Goal(
        least=_least_gap(model),
        gap=SEARCH_GAP if tolerance is None else SEARCH_TOLERANCE * options.proof_tolerance,
        proof=None if tolerance is None else (1 - SEARCH_TOLERANCE) * options.proof_tolerance,
        deadline=options.began + SEARCH_SHARE * (options.deadline - options.began),
    )
    if isinstance(model, BlackBoxModel):
        outcome = direct_search(model, nature, goal, callback)
    else:
        outcome = search(_master(model, nature), nature, goal, callback)
    if isinstance(model, ConvexModel) and outcome.shown:
        model.restore(outcome.shown[outcome.best])
    return _decision(problem, chains, nature, outcome, goal, options)


def _master(model: FiniteModel | LinearModel | ConvexModel, nature: Nature) -> Master:
    if isinstance(model, ConvexModel):
        return ConvexMaster(model, nature)
    if isinstance(model, LinearModel):
        listed = model.listed()
        return Tree(model, nature) if listed is None else Listed(listed, nature)
    return Listed(model, nature)


def _least_gap(model: Model) -> float:
    """Return what a master and nature can agree on, as a share of the loss range."""
    return 10.0 * model.accuracy if isinstance(model, ConvexModel) else LEAST_GAP


def _chains(estimates: Any) -> list[Estimate]:
    chains = [checked_estimate(value) for value in entries_of(estimates)]
    if not chains:
        raise InputError("estimates must hold at least one estimate, but is empty.")
    states = set(chains[0].states)
    for number, chain in enumerate(chains):
        other = states.symmetric_difference(chain.states)
        if other:
            raise InputError(
                f"all estimates must have the same states, but {shown(other.pop())} is a state of "
                f"only one of the estimates 0 and {number}; count all groups with the same "
                "states=[…]."
            )
    return chains


def _radii(radius: Any, count: int) -> list[float]:
    radii = [radius_value(value, "radius") for value in entries_of(radius)]
    if len(radii) not in {1, count}:
        raise InputError(
            f"radius must be one number or {count}, one for each estimate, but there are "
            f"{len(radii)}."
        )
    return radii * count if len(radii) == 1 else radii


def _weights(weights: Any, count: int) -> FloatArray:
    if weights is None:
        return np.full(count, 1.0 / count)
    given = float_array(weights, "weights", 1)
    if len(given) != count:
        raise InputError(
            f"weights must match the {count} estimates, one for each, but there are {len(given)}."
        )
    if (given < 0).any():
        raise InputError(f"weights must not be negative, but hold {given.min():g}.")
    if not given.any():
        raise InputError("weights must not all be zero.")
    return given


def _decision(
    problem: DecisionProblem,
    chains: list[Estimate],
    nature: Nature,
    outcome: Outcome,
    goal: Goal,
    options: Options,
) -> Decision:
    known = bool(outcome.shown)
    cases = outcome.worst_cases
    value = outcome.value
    lower = outcome.lower if outcome.status is Status.INFEASIBLE else min(outcome.lower, value)
    return Decision(
        x=outcome.shown[outcome.best] if known else None,
        value=value,
        bound=max(outcome.bound, value) if known else np.inf,
        lower_bound=-np.inf if outcome.status is Status.UNBOUNDED else lower,
        status=_status(outcome, lower, goal),
        worst_cases=cases,
        nominal=float(sum(w * c.nominal for w, c in zip(nature.weights, cases, strict=False))),
        weights=read_only(nature.weights),
        radii=read_only(np.array([group.problem.radius for group in nature.groups])),
        loss=read_only(outcome.loss.copy() if known else np.empty(0)),
        states=chains[0].states,
        history=tuple(outcome.history),
        problem=problem,
        iterations=outcome.rounds,
        evaluations=nature.evaluations,
        method=options.method,
        ambiguity=options.ambiguity.name,
        seconds=options.seconds,
    )


def _status(outcome: Outcome, lower: float, goal: Goal) -> Status:
    """Say why the search ended, and what that is worth."""
    if not outcome.shown or outcome.status is Status.UNBOUNDED:
        return outcome.status
    if outcome.value - lower > SLACK * (outcome.value - goal.level(outcome.value, outcome.span)):
        return Status.STALLED if outcome.status is Status.CERTIFIED else outcome.status
    unproven = [case.status for case in outcome.worst_cases if not case.certified]
    return unproven[0] if unproven else Status.CERTIFIED
