"""The starts of the search, and the faster of two ways to climb from each of them.

Frank-Wolfe stops at stationary points, and from P' alone it misses about half of the worst case
as soon as nature does better by making one costly state sticky. So it is started from P', and from
the best **traps**: chains that spend the whole budget on one row, to slow the exit from its state
down. One factorisation gives the value of every trap. Where P' has zeros, or remembers for long,
traps miss ways into costly states; then also from **flows**, the chains of the ball that lead most
into one state.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro.ambiguity import ConditionalEntropyBall, restricted_support
from markovdro.chains import Estimate, LongRun, eliminated, factorised
from markovdro.errors import InputError
from markovdro.worstcase._loop import Climb, Oracle, Watch, climb
from markovdro.worstcase._options import Options
from markovdro.worstcase._result import Status
from markovdro.worstcase._threads import allowed_threads, blas_threads

__all__ = ["COMPILED_STATES", "Found", "Problem", "find", "find_many", "unsolved"]

# Up to this many states a whole problem is solved without returning to the interpreter. Beyond,
# LAPACK's factorisation beats state reduction by more than the interpreter costs.
COMPILED_STATES = 100

# Small problems that one thread takes at a time; fewer are not worth a second thread.
PROBLEMS_PER_TASK = 16

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem:
    """One worst-case problem, its loss scaled to [0, 1]."""

    loss: FloatArray
    estimate: Estimate
    radius: float

    def evaluate(self, transition: FloatArray) -> LongRun:
        """Return the long-run loss of a chain, by the faster of the two eliminations."""
        from markovdro.worstcase._kernels import RARE

        run = eliminated if len(self.loss) <= COMPILED_STATES else factorised
        found = run(transition, self.loss, _mass(self.estimate))
        likely = found.stationary == found.stationary.max()
        # The anchor, from which relative values count, is the state (or among those) of value 0.
        if found.stationary[found.values == 0].max(initial=0.0) < RARE * found.stationary.max():
            found = run(transition, self.loss, likely.astype(np.float64))
        return found


@dataclass(frozen=True, eq=False)
class Found:
    """The best of all starts, in the scaled loss."""

    nominal: float
    value: float
    gap: float
    status: Status
    iterations: int
    transition: FloatArray
    stationary: FloatArray


def find(
    problem: Problem,
    options: Options,
    warm: FloatArray | None = None,
    watch: Watch | None = None,
) -> Found:
    """Solve one problem; ``warm`` is a start of the caller's, inside the ball."""
    if warm is not None and options.method == "paper":
        raise InputError(
            "start must be left out with method='paper', which begins at the estimated chain; "
            "or use method='frank-wolfe'."
        )
    if _fits_compiled(problem, options) and watch is None:
        return _find_compiled([problem], options, warm)[0]
    with blas_threads(options.threads):
        return _find_by_loop(problem, options, warm, watch)


def find_many(problems: list[Problem], options: Options) -> list[Found]:
    """Solve many problems over equally many states."""
    if _fits_compiled(problems[0], options):
        return _find_compiled(problems, options)
    return [
        find(problem, options) if time.perf_counter() < options.deadline else unsolved(problem)
        for problem in problems
    ]


def _fits_compiled(problem: Problem, options: Options) -> bool:
    return len(problem.loss) <= COMPILED_STATES and options.method == "frank-wolfe"


def _mass(estimate: Estimate) -> FloatArray:
    """Return α on the states that are visited for ever: it chooses the anchor of linear systems."""
    return np.where(estimate.recurrent, estimate.weights, 0.0)


def unsolved(problem: Problem, known: FloatArray | None = None) -> Found:
    """Return a chain of the ball that is known, or the estimated one, which lies in every ball."""
    centre = problem.evaluate(problem.estimate.transition)
    chain = problem.estimate.transition if known is None else known
    here = centre if known is None else problem.evaluate(known)
    return Found(centre.value, here.value, np.inf, Status.TIME_LIMIT, 0, chain, here.stationary)


def _status(value: float, status: Status, problem: Problem, options: Options) -> Status:
    """Say more than the search could where the value meets a bound that is known beforehand."""
    from markovdro.worstcase._kernels import TRIVIAL

    if 1.0 - value <= TRIVIAL:
        return Status.TRIVIAL
    if problem.radius == 0 or 1.0 - value <= options.tolerance:
        return Status.CERTIFIED
    return status


def _find_compiled(
    problems: list[Problem], options: Options, warm: FloatArray | None = None
) -> list[Found]:
    """Solve problems of few states in compiled code, several threads taking tasks of them."""
    from markovdro.worstcase import _kernels

    count, size = len(problems), len(problems[0].loss)
    estimates, estimate_of = _distinct([p.estimate for p in problems])
    losses, loss_of = _distinct([p.loss for p in problems])
    open_everywhere = all(e.support.all() for e in estimates)
    supports = np.array([e.support[:0, :0] if open_everywhere else e.support for e in estimates])
    given = (
        np.array([e.transition for e in estimates]),
        np.array([e.weights for e in estimates]),
        supports,
        np.array([_mass(e) for e in estimates]),
        np.array(losses),
        np.array([p.radius for p in problems]),
        np.column_stack([estimate_of, loss_of]),
        np.empty((0, 0)) if warm is None else warm,
        options.starts,
        options.tolerance,
        options.most_iterations,
    )
    transitions, stationaries = np.empty((count, size, size)), np.empty((count, size))
    numbers = np.full((count, 5), float(_kernels.UNSOLVED))

    def run(first: int) -> None:
        if first == 0 or time.perf_counter() < options.deadline:
            last = min(first + PROBLEMS_PER_TASK, count)
            _kernels.solve_many(*given, first, last, transitions, stationaries, numbers)

    tasks = range(0, count, PROBLEMS_PER_TASK)
    threads = allowed_threads(options.threads) if len(tasks) > 1 else 1
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, tasks))
    else:
        for first in tasks:
            run(first)

    reasons = {
        _kernels.STATIONARY: Status.STATIONARY,
        _kernels.AT_TOP: Status.CERTIFIED,
        _kernels.ITERATIONS_OUT: Status.ITERATION_LIMIT,
        _kernels.STALLED: Status.STALLED,
    }
    found = []
    for m, problem in enumerate(problems):
        nominal, value, gap, steps, reason = numbers[m].tolist()
        if reason == _kernels.UNSOLVED:
            found.append(unsolved(problem))
            continue
        status = _status(value, reasons[int(reason)], problem, options)
        found.append(
            Found(nominal, value, gap, status, int(steps), transitions[m], stationaries[m])
        )
    return found


def _distinct(things: list[T]) -> tuple[list[T], IndexArray]:
    """Return the distinct objects, and for each entry the number of its object."""
    number: dict[int, int] = {}
    places = [number.setdefault(id(thing), len(number)) for thing in things]
    return list({id(thing): thing for thing in things}.values()), np.array(places, dtype=np.intp)


def _find_by_loop(
    problem: Problem, options: Options, warm: FloatArray | None, watch: Watch | None
) -> Found:
    """Solve one problem by the loop: a large chain, the paper's oracle, or a watched climb."""
    centre = problem.evaluate(problem.estimate.transition)
    if problem.radius == 0:
        climbs = [Climb(problem.estimate.transition, centre, 0.0, 0, Status.CERTIFIED)]
    else:
        climbs = list(_climbs(problem, options, centre, warm, watch))
    best = max(climbs, key=lambda c: c.long_run.value)
    best = _audited(problem, options, best)
    status = best.status
    if climbs[-1].status is Status.TIME_LIMIT:
        status = Status.TIME_LIMIT
    return Found(
        centre.value,
        best.long_run.value,
        best.gap,
        _status(best.long_run.value, status, problem, options),
        sum(c.iterations for c in climbs),
        best.transition,
        best.long_run.stationary,
    )


def _climbs(
    problem: Problem,
    options: Options,
    centre: LongRun,
    warm: FloatArray | None,
    watch: Watch | None,
) -> Iterator[Climb]:
    """Climb from one start after another, until the largest loss is reached or time is out."""
    from markovdro.worstcase._kernels import promises

    best = -np.inf

    def hopeful(value: float) -> bool:
        return promises(value, centre.value, best)

    for start, known, promised in _starts(problem, options, centre, warm):
        if promised not in {None, np.inf} and not hopeful(promised):
            continue
        ended = climb(
            start,
            problem.evaluate,
            _oracle(problem, options),
            known=known,
            tolerance=options.tolerance,
            most_iterations=options.most_iterations,
            deadline=options.deadline,
            hopeful=hopeful if promised is None else None,
            watch=watch,
        )
        yield ended
        best = max(best, ended.long_run.value)
        if ended.status is Status.TIME_LIMIT or 1.0 - ended.long_run.value <= options.tolerance:
            return


def _starts(
    problem: Problem, options: Options, centre: LongRun, warm: FloatArray | None
) -> Iterator[tuple[FloatArray, LongRun | None, float | None]]:
    """Yield the starts, what is known already of their long run, and the value that they promise.

    The caller's start and P' are always worth a climb. What a flow promises shows on the way.
    """
    from markovdro.worstcase._kernels import (
        TRIVIAL,
        best_trap,
        flow_states,
        trap_exits,
        trap_values,
    )

    estimate, nominal = problem.estimate, problem.estimate.transition
    if options.method == "paper":
        yield nominal, centre, np.inf
        return
    exits = trap_exits(nominal, estimate.weights, restricted_support(estimate), problem.radius)
    values = trap_values(exits, centre.value, centre.stationary, problem.loss)
    state, left = best_trap(values, np.inf), options.starts - 1
    if left and state >= 0 and values[state] >= 1.0 - TRIVIAL:
        # A trap that has the largest loss leaves nothing to search for.
        left = 1
    else:
        if warm is not None:
            yield warm, None, np.inf
        yield nominal, centre, np.inf
    while left and state >= 0:
        start = nominal.copy()
        start[state] *= exits[state]
        start[state, state] += 1.0 - exits[state]
        yield start, None, values[state]
        state, left = best_trap(values, values[state]), left - 1
    for k in flow_states(nominal, centre.values, problem.loss, options.starts):
        ball = ConditionalEntropyBall(estimate, problem.radius)
        yield ball.maximise(centre.stationary, np.eye(1, len(nominal), k)[0])[0], None, None


def _oracle(problem: Problem, options: Options) -> Oracle:
    ball = ConditionalEntropyBall(problem.estimate, problem.radius)
    if options.method == "paper":
        from markovdro.worstcase._paper import PaperOracle

        return PaperOracle(ball)
    return ball.maximise


def _audited(problem: Problem, options: Options, ended: Climb) -> Climb:
    """Correct a chain that rounding left outside the ball, and the gap of an inexact oracle."""
    ball = ConditionalEntropyBall(problem.estimate, problem.radius)
    outside = ball.divergence(ended.transition) > problem.radius * (1.0 + 1e-10)
    if not outside and options.method != "paper":
        return ended
    transition = ball.pull_inside(ended.transition)
    long_run = problem.evaluate(transition)
    _, gap = ball.maximise(long_run.stationary, long_run.values)
    status = ended.status
    if status in {Status.STATIONARY, Status.CERTIFIED} and gap > options.tolerance:
        top = 1.0 - long_run.value <= options.tolerance
        status = Status.CERTIFIED if top else Status.STALLED
    return replace(ended, transition=transition, long_run=long_run, gap=gap, status=status)
