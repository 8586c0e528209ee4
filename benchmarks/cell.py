"""One cell of the table, in a process of its own, so that its peak memory is its own.

``python -m benchmarks.cell PROBLEM RADIUS RIVAL TOLERANCE TIME_LIMIT`` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from statistics import median

import numpy as np

from benchmarks.memory import peak_megabytes
from benchmarks.problems import PROBLEMS
from benchmarks.rivals import RIVALS
from markovdro import relative_values, stationary_law
from markovdro.ambiguity import ConditionalEntropyBall

REPEATS = 5
QUICK = 1.0  # a cell that takes less than this many seconds is repeated


def main(name: str, radius: float, rival: str, tolerance: float, time_limit: float) -> None:
    problem = PROBLEMS[name].build()
    solve = RIVALS[rival]
    span = float(np.ptp(problem.loss))
    if rival.startswith("markovdro"):
        solve(problem, radius, tolerance, time_limit)  # compiles or loads the kernels
    answer = solve(problem, radius, tolerance, time_limit)
    seconds = [answer.seconds]
    while seconds[0] < QUICK and len(seconds) < REPEATS:
        seconds.append(solve(problem, radius, tolerance, time_limit).seconds)
    ball = ConditionalEntropyBall(problem.estimate, radius)
    inside = ball.pull_inside(answer.transition)
    law = stationary_law(inside, method="gth")
    _, gap = ball.maximise(law, relative_values(inside, problem.loss, method="gth"))
    nominal = float(stationary_law(problem.estimate.transition) @ problem.loss)
    report = {
        "seconds": median(seconds),
        "nominal": nominal,
        "value": float(law @ problem.loss),
        "gap": max(gap, 0.0) / span,
        "peak": peak_megabytes(),
        "status": answer.status,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    _, chosen, r, method, accuracy, limit = sys.argv
    main(chosen, float(r), method, float(accuracy), float(limit))
