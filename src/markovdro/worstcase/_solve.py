"""The worst long-run loss over an ambiguity set: one, many, or along a path of radii."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import entries_of, radius_value, shown, transition_matrix
from markovdro.ambiguity import Ambiguity, ConditionalEntropy, ConditionalEntropyBall
from markovdro.chains import (
    Estimate,
    align_table,
    checked_estimate,
    loss_vector,
    separate_losses,
)
from markovdro.errors import InputError
from markovdro.worstcase._options import (
    DEFAULT_STARTS,
    MOST_ITERATIONS,
    MOST_NODES,
    check_options,
)
from markovdro.worstcase._problem import Found, Problem
from markovdro.worstcase._result import WorstCase, WorstCaseBatch
from markovdro.worstcase._solvers import solve, solve_many
from markovdro.worstcase._units import Losses, collect

T = TypeVar("T")

__all__ = ["worst_case", "worst_case_batch", "worst_case_path"]


def worst_case(
    loss: Any,
    estimate: Estimate,
    radius: float,
    *,
    ambiguity: str | Ambiguity = "conditional-entropy",
    method: str = "auto",
    starts: int = DEFAULT_STARTS,
    tolerance: float | None = None,
    time_limit: float | None = None,
    start: Any = None,
    max_iterations: int = MOST_ITERATIONS,
    max_nodes: int = MOST_NODES,
    threads: int | None = None,
    callback: Callable[[int, float, float], None] | None = None,
) -> WorstCase:
    """Find the worst long-run expected loss over all chains near the estimated one.

    Parameters
    ----------
    loss : d numbers, or a dict or pandas Series by state
        ``L_i``, the loss of the decision in state i. Any unit.
    estimate : Estimate
        The chain at the centre: P', its row weights α and the transitions that are possible.
    radius : float
        r ≥ 0, in nats per transition; for the Wasserstein set, in units of the ground cost.
    ambiguity : name or object
        "conditional-entropy": all P with ``Σ_i α_i KL(P'_i ‖ P_i) ≤ r``, the paper's set.
        "entropy-rows": all P with ``KL(P'_i ‖ P_i) ≤ r`` for every i.
        "wasserstein": all P with every row within a 1-Wasserstein distance r of that of P', at the
        ground cost ``|i − j|``; :class:`Wasserstein` takes another.
        "iid-entropy": all laws π of independent states with ``KL(p ‖ π) ≤ r``, p being the observed
        frequencies. "nominal": these frequencies alone, sample average approximation.
    method : "auto", "global", "frank-wolfe" or "paper"
        "global" searches by Frank-Wolfe with the exact oracle, then proves that nothing is worse:
        by convexity where the radius is small enough, else by branch and bound (at most 200
        states). "auto" is the same, but without a time limit it branches only on chains of at
        most 30 states, and briefly. "frank-wolfe" only searches; "paper" runs the paper's
        Algorithms 1 and 2 as printed, from one start, for comparison. All this is about the
        conditional entropy; the other sets have solvers of their own, which find the global worst
        case and prove it, whatever the method.
    starts : int
        How many starts: P' first, then the best traps (chains that spend all of r on making one
        state sticky). The value reported is the best of all. With ``method="frank-wolfe"``,
        ``starts=1`` is the paper's Algorithm 1, which can miss half of the worst case.
    tolerance : float, optional
        As a fraction of the loss range: how far the bound may be from the value of a certified
        worst case (1e-4 by default), or the Frank-Wolfe gap at which a mere search stops (1e-6).
    time_limit : float, optional
        Seconds. Checked between steps of the search (between problems, for chains of at most 100
        states) and between boxes.
    start : WorstCase or d × d matrix, optional
        One more start, tried first; it is moved into the ball where it lies outside.
    max_iterations : int
        Largest number of Frank-Wolfe steps from each start.
    max_nodes : int
        Largest number of boxes that the proof examines.
    threads : int, optional
        Threads for BLAS and for branch and bound. By default as many as the caller lets BLAS use.
        No number depends on it.
    callback : function, optional
        Called at each step with its number, the value and the Frank-Wolfe gap, in units of the
        loss. Each start begins again at 0.

    Returns
    -------
    WorstCase
        ``max { Σ_i L_i π_i(P) }`` over the ambiguity set, as far as it was found, with the chain
        that has it, and a proven upper bound.

    Notes
    -----
    The gradient of the long-run loss is ``π_i h_j`` (stationary law times relative value), so that
    a step costs one factorisation and one exact linear problem over the ball. The value is reached
    by ``transition``, which lies in the ball; ``bound`` is proven, rounding included, however the
    call ends. Unless ``certified``, a chain of the ball may lose more than the value, up to the
    bound. The proofs are written down in ``docs/certificate.md``.

    Examples
    --------
    A machine was down on 2 of 10 days. How often could it be down in the long run?

    >>> from markovdro import count_transitions, estimate, worst_case
    >>> days = ["up", "up", "up", "down", "up", "up", "up", "up", "down", "up"]
    >>> chain = estimate(count_transitions(days, states=["up", "down"]), smoothing="laplace")
    >>> result = worst_case([0.0, 1.0], chain, radius=0.05)
    >>> round(result.nominal, 3), round(result.value, 3)
    (0.308, 0.457)
    """
    options = check_options(
        ambiguity=ambiguity,
        method=method,
        starts=starts,
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        max_nodes=max_nodes,
        threads=threads,
    )
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function, but is {shown(callback)}.")
    chain = checked_estimate(estimate)
    losses = Losses.of(loss_vector(loss, chain.states)[None, :])
    r = radius_value(radius)
    warm = None if start is None else _warm_start(start, chain, r, options.ambiguity)
    low, span = float(losses.low[0]), float(losses.span[0])

    def watch(step: int, value: float, gap: float) -> None:
        if callback is not None:
            callback(step, low + span * value, span * gap)

    problem = Problem(losses.scaled[0], chain, r, options.ambiguity)
    found = solve(problem, options, warm=warm, watch=None if callback is None else watch)
    return collect(losses, [problem], [found], options)[0]


def worst_case_batch(
    losses: Any,
    estimates: Estimate | Sequence[Estimate],
    radii: Any,
    *,
    ambiguity: str | Ambiguity = "conditional-entropy",
    method: str = "frank-wolfe",
    starts: int = DEFAULT_STARTS,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int = MOST_ITERATIONS,
    max_nodes: int = MOST_NODES,
    threads: int | None = None,
) -> WorstCaseBatch:
    """Solve many worst-case problems in one call.

    Parameters
    ----------
    losses : d numbers, or n × d, or dicts or pandas Series by state
    estimates : Estimate, or n of them over equally many states
    radii : number, or n of them
        Each of the three is given once for all problems, or once for each.
    threads : int, optional
        Problems of 25 to 100 states are shared out to this many threads; by default to as many
        as BLAS may use. (Smaller ones are over before a second thread could help.)
    method : "frank-wolfe", "auto", "global" or "paper"
        As in :func:`worst_case`; without a word, the batch only searches.
    ambiguity, starts, tolerance, time_limit, max_iterations, max_nodes
        As in :func:`worst_case`. Problems that the time limit left untouched report the estimated
        chain, with the status "time limit".

    Returns
    -------
    WorstCaseBatch

    Examples
    --------
    >>> from markovdro import Estimate, worst_case_batch
    >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    >>> worst_case_batch([0.0, 1.0], coin, [0.0, 0.01, 0.1]).values.round(3).tolist()
    [0.5, 0.639, 0.882]
    """
    options = check_options(
        ambiguity=ambiguity,
        method=method,
        starts=starts,
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        max_nodes=max_nodes,
        threads=threads,
    )
    table, problems = _line_up(losses, estimates, radii, options.ambiguity)
    return collect(table, problems, solve_many(problems, options), options)


def worst_case_path(
    loss: Any,
    estimate: Estimate,
    radii: Any,
    *,
    ambiguity: str | Ambiguity = "conditional-entropy",
    method: str = "frank-wolfe",
    starts: int = DEFAULT_STARTS,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int = MOST_ITERATIONS,
    max_nodes: int = MOST_NODES,
    threads: int | None = None,
) -> WorstCaseBatch:
    """Follow the worst case over a grid of radii.

    The radii are solved from the smallest to the largest, each from the worst chain of the one
    before as well as from the usual starts, so that the values never fall as the radius grows.

    Parameters
    ----------
    loss, estimate : as in :func:`worst_case`
    radii : numbers
        In any order, in which the results come back.
    method : "frank-wolfe", "auto", "global" or "paper"
        As in :func:`worst_case`; without a word, the path only searches.
    ambiguity, starts, tolerance, time_limit, max_iterations, max_nodes, threads
        As in :func:`worst_case`. The time limit is for the whole path. Radii that it leaves
        untouched report the worst chain of the radius before, or the estimated one, with the
        status "time limit".

    Returns
    -------
    WorstCaseBatch

    Examples
    --------
    >>> from markovdro import Estimate, worst_case_path
    >>> coin = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
    >>> worst_case_path([0.0, 1.0], coin, [0.1, 0.01]).values.round(3).tolist()
    [0.882, 0.639]
    """
    options = check_options(
        ambiguity=ambiguity,
        method=method,
        starts=starts,
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        max_nodes=max_nodes,
        threads=threads,
    )
    losses, problems = _line_up(
        loss_vector(loss, checked_estimate(estimate).states), estimate, radii, options.ambiguity
    )
    found: dict[int, Found] = {}
    warm: FloatArray | None = None
    for m in np.argsort([p.radius for p in problems], kind="stable").tolist():
        problem = problems[m]
        found[m] = solve(problem, options, warm=warm, most_urgent=True)
        # The paper's method begins at the estimated chain, always.
        warm = None if options.method == "paper" else found[m].transition
    return collect(losses, problems, [found[m] for m in range(len(problems))], options)


def _warm_start(start: Any, chain: Estimate, radius: float, ambiguity: Ambiguity) -> FloatArray:
    given = start.transition if isinstance(start, WorstCase) else start
    matrix = transition_matrix(align_table(given, chain.states, "start")[0], "start")
    if matrix.shape != chain.transition.shape:
        raise InputError(
            f"start must have the shape {chain.transition.shape} of the estimate, "
            f"but has {matrix.shape}."
        )
    if (matrix[~chain.support] > 0).any():
        raise InputError("start uses a transition that the support of the estimate excludes.")
    if isinstance(ambiguity, ConditionalEntropy):
        return ConditionalEntropyBall(chain, radius).pull_inside(matrix)
    # Only its relative values are used: a share of P' leaves it with one closed class.
    return matrix + 1e-3 * (chain.transition - matrix)


def _line_up(
    losses: Any, estimates: Any, radii: Any, ambiguity: Ambiguity
) -> tuple[Losses, list[Problem]]:
    """Line up losses, estimates and radii, each given once or once for each problem."""
    chains = [checked_estimate(value) for value in entries_of(estimates)]
    size = len(chains[0].states) if chains else 0
    if any(len(e.states) != size for e in chains):
        raise InputError("all estimates of a batch must have equally many states.")
    rows = separate_losses(losses)
    values = [radius_value(value, f"radius {m}") for m, value in enumerate(entries_of(radii))]
    lengths = {"estimates": len(chains), "losses": len(rows), "radii": len(values)}
    for name, length in lengths.items():
        if length == 0:
            raise InputError(f"{name} must hold at least one entry, but is empty.")
    count = max(lengths.values())
    for name, length in lengths.items():
        if length not in {1, count}:
            raise InputError(
                f"losses, estimates and radii must each be given once or {count} times, "
                f"but there are {length} {name}."
            )
    # One loss is one vector, unless the estimates have their states in different orders.
    states = chains[0].states
    once = len(rows) == 1 and all(e.states is states or e.states == states for e in chains)
    times = 1 if once else count
    pairs = zip(_repeated(rows, times), _repeated(chains, times)[:times], strict=True)
    table = Losses.of(
        np.array(
            [
                loss_vector(row, chain.states, f"loss {m % len(rows)}")
                for m, (row, chain) in enumerate(pairs)
            ]
        )
    )
    return table, [
        Problem(loss, chain, radius, ambiguity)
        for loss, chain, radius in zip(
            _repeated(list(table.scaled), count),
            _repeated(chains, count),
            _repeated(values, count),
            strict=True,
        )
    ]


def _repeated(things: list[T], count: int) -> list[T]:
    return things * count if len(things) == 1 else things
