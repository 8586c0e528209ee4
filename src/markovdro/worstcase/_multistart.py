"""The starts of the search, and the faster of two ways to climb from each of them.

Frank-Wolfe stops at stationary points, and from P' alone it misses about half of the worst case
as soon as nature does better by making one costly state sticky. So it is started from P', and from
the best **traps**: chains that spend the whole budget on one row, to slow the exit from its state
down. One factorisation gives the value of every trap. Where P' has zeros, or remembers for long,
traps miss ways into costly states; then also from **flows**, the chains of the ball that lead most
into one state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from markovdro._arrays import FloatArray
from markovdro.ambiguity import ConditionalEntropyBall, restricted_support
from markovdro.chains import LongRun
from markovdro.errors import InputError
from markovdro.worstcase._loop import Climb, Oracle, Watch, climb
from markovdro.worstcase._options import TRIVIAL, Options
from markovdro.worstcase._problem import COMPILED_STATES, Found, Problem
from markovdro.worstcase._result import Status
from markovdro.worstcase._threads import allowed_threads, blas_threads

__all__ = ["climb_from", "climb_once", "find", "find_many", "unsolved"]

# Below this many states a problem is over before another thread has the interpreter's lock.
WORTH_A_THREAD = 25


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
    if _fits_compiled(problem, options):
        # No BLAS in sight: limiting it would take as long as the search.
        return _find(problem, options, warm, watch)
    with blas_threads(options.threads):
        return _find(problem, options, warm, watch)


def climb_once(
    problem: Problem, options: Options, start: FloatArray, nominal: float = math.nan
) -> Found:
    """Climb from one chain of the ball, and no other."""
    ended = _audited(problem, options, _climb(problem, options, start))
    return _found(problem, options, nominal, ended, ended.iterations)


def climb_from(problem: Problem, options: Options, found: Found, start: FloatArray) -> Found:
    """Climb from one more chain of the ball; return the better of its end and what was found."""
    better = climb_once(problem, options, start, found.nominal)
    steps = found.iterations + better.iterations
    if better.value <= found.value:
        return replace(found, iterations=steps)
    return replace(
        better, iterations=steps, bound=found.bound, proof=found.proof, nodes=found.nodes
    )


def find_many(problems: list[Problem], options: Options) -> list[Found]:
    """Solve many problems, several threads taking those of few states."""

    def run(problem: Problem) -> Found:
        late = time.perf_counter() >= options.deadline
        return unsolved(problem) if late else find(problem, options)

    threads = allowed_threads(options.threads) if len(problems) > 1 else 1
    states = len(problems[0].loss)
    if threads == 1 or states < WORTH_A_THREAD or not _fits_compiled(problems[0], options):
        return [run(problem) for problem in problems]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, problems))


def _fits_compiled(problem: Problem, options: Options) -> bool:
    return len(problem.loss) <= COMPILED_STATES and options.method != "paper"


def unsolved(problem: Problem, known: FloatArray | None = None) -> Found:
    """Return a chain of the ball that is known, or the estimated one, which lies in every ball."""
    centre = problem.evaluate(problem.estimate.transition)
    chain = problem.estimate.transition if known is None else known
    here = centre if known is None else problem.evaluate(known)
    ended = Climb(chain, here, np.inf, 0, Status.TIME_LIMIT)
    return _as_found(centre.value, ended, 0)


def _found(
    problem: Problem, options: Options, nominal: float, best: Climb, iterations: int
) -> Found:
    """Report the best climb, and say more than it could where its value meets a known bound."""
    value, status = best.long_run.value, best.status
    if 1.0 - value <= TRIVIAL:
        status = Status.TRIVIAL
    elif problem.radius == 0 or 1.0 - value <= options.tolerance:
        status = Status.CERTIFIED
    return _as_found(nominal, replace(best, status=status), iterations)


def _as_found(nominal: float, best: Climb, iterations: int) -> Found:
    run = best.long_run
    return Found(
        nominal,
        run.value,
        best.gap,
        best.status,
        iterations,
        best.transition,
        run.stationary,
        run.values,
    )


def _find(
    problem: Problem, options: Options, warm: FloatArray | None, watch: Watch | None
) -> Found:
    centre = problem.evaluate(problem.estimate.transition)
    known = Climb(problem.estimate.transition, centre, 0.0, 0, Status.CERTIFIED)
    if problem.radius == 0:
        return _found(problem, options, centre.value, known, 0)
    climbs = list(_climbs(problem, options, centre, warm, watch))
    sound = [c for c in climbs if math.isfinite(c.long_run.value)]
    # Where every climb broke down, what is left is P'.
    broken = replace(known, gap=math.inf, status=Status.STALLED)
    best = _audited(problem, options, max(sound, key=lambda c: c.long_run.value, default=broken))
    if climbs[-1].status is Status.TIME_LIMIT:
        best = replace(best, status=Status.TIME_LIMIT)
    return _found(problem, options, centre.value, best, sum(c.iterations for c in climbs))


def _climbs(
    problem: Problem,
    options: Options,
    centre: LongRun,
    warm: FloatArray | None,
    watch: Watch | None,
) -> Iterator[Climb]:
    """Climb from one start after another, until the largest loss is reached or time is out."""
    from markovdro.worstcase._kernels import promises

    best = -math.inf
    for start, known, promised in _starts(problem, options, centre, warm):
        if promised not in {None, math.inf} and not promises(promised, centre.value, best):
            continue
        rival = best if promised is None else -math.inf
        ended = _climb(problem, options, start, known, centre.value, rival, watch)
        yield ended
        best = max(best, ended.long_run.value)
        if ended.status is Status.TIME_LIMIT or 1.0 - ended.long_run.value <= options.tolerance:
            return


def _climb(
    problem: Problem,
    options: Options,
    start: FloatArray,
    known: LongRun | None = None,
    centre: float = 0.0,
    rival: float = -math.inf,
    watch: Watch | None = None,
) -> Climb:
    """Climb from one start, in compiled code where the chain is small and nobody watches.

    The climb ends early where a few steps do not bring it near the value of its rival.
    """
    from markovdro.worstcase import _kernels

    if watch is not None or not _fits_compiled(problem, options):
        return climb(
            start,
            problem.evaluate,
            _oracle(problem, options),
            known=known,
            tolerance=options.tolerance,
            most_iterations=options.most_iterations,
            deadline=options.deadline,
            hopeful=lambda value: _kernels.promises(value, centre, rival),
            watch=watch,
        )
    estimate = problem.estimate
    transition = np.array(start)
    stationary, values = np.empty_like(problem.loss), np.empty_like(problem.loss)
    value, gap, steps, reason = _kernels.climb(
        estimate.transition,
        estimate.weights,
        restricted_support(estimate),
        problem.mass,
        problem.loss,
        problem.radius,
        options.tolerance,
        options.most_iterations,
        centre,
        rival,
        transition,
        stationary,
        values,
    )
    reasons = {
        _kernels.STATIONARY: Status.STATIONARY,
        _kernels.AT_TOP: Status.CERTIFIED,
        _kernels.ITERATIONS_OUT: Status.ITERATION_LIMIT,
        _kernels.STALLED: Status.STALLED,
    }
    return Climb(transition, LongRun(value, stationary, values), gap, steps, reasons[reason])


def _starts(
    problem: Problem, options: Options, centre: LongRun, warm: FloatArray | None
) -> Iterator[tuple[FloatArray, LongRun | None, float | None]]:
    """Yield the starts, what is known already of their long run, and the value that they promise.

    The caller's start and P' are always worth a climb. What a flow promises shows on the way.
    """
    from markovdro.worstcase._kernels import (
        best_trap,
        flow_states,
        trap_exits,
        trap_values,
    )

    estimate, nominal = problem.estimate, problem.estimate.transition
    plain: list[tuple[FloatArray, LongRun | None, float]] = [(nominal, centre, np.inf)]
    if warm is not None:
        plain.insert(0, (warm, None, np.inf))
    if options.method == "paper" or options.starts == 1:
        yield from plain
        return
    exits = trap_exits(nominal, estimate.weights, restricted_support(estimate), problem.radius)
    values = trap_values(exits, centre.value, centre.stationary, problem.loss)
    state, left = best_trap(values, np.inf), options.starts - 1
    if state >= 0 and values[state] >= 1.0 - TRIVIAL:
        # A trap that has the largest loss leaves nothing to search for.
        left = 1
    else:
        yield from plain
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
    from markovdro.ambiguity._rows import divergence

    estimate = problem.estimate
    distance = divergence(estimate.transition, estimate.weights, ended.transition)
    if distance <= problem.radius * (1.0 + 1e-10) and options.method != "paper":
        return ended
    ball = ConditionalEntropyBall(estimate, problem.radius)
    transition = ball.pull_inside(ended.transition)
    long_run = problem.evaluate(transition)
    _, gap = ball.maximise(long_run.stationary, long_run.values)
    status = ended.status
    if status in {Status.STATIONARY, Status.CERTIFIED} and gap > options.tolerance:
        top = 1.0 - long_run.value <= options.tolerance
        status = Status.CERTIFIED if top else Status.STALLED
    return replace(ended, transition=transition, long_run=long_run, gap=gap, status=status)
