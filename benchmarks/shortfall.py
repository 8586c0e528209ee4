"""``python -m benchmarks.shortfall`` prints how far Frank-Wolfe alone stays below the worst case.

The worst case is the certified one, so that the shortfall is known and not a comparison of two
searches. A problem counts where its certificate closed within the time limit.
"""

from __future__ import annotations

import sys

import numpy as np

from markovdro import Status, worst_case
from markovdro.experiments import synthetic_problem

SIZES = ((5, 150), (10, 300), (20, 1000))
RADII = (0.01, 0.03, 0.06, 0.1, 0.2, 0.5)
SEEDS = 20
TOLERANCE = 1e-3
TIME_LIMIT = 10.0


def shortfalls(
    states: int, transitions: int, radius: float, starts: int
) -> tuple[int, list[float]]:
    """Return how many problems were certified, and the shares of the shift that were missed."""
    certified, missed = 0, []
    for seed in range(SEEDS):
        given = synthetic_problem(states, transitions, seed)
        proven = worst_case(
            given.loss,
            given.estimate,
            radius,
            method="global",
            tolerance=TOLERANCE,
            time_limit=TIME_LIMIT,
        )
        if proven.status not in {Status.CERTIFIED, Status.TRIVIAL}:
            continue
        certified += 1
        searched = worst_case(
            given.loss, given.estimate, radius, method="frank-wolfe", starts=starts
        )
        # Short by more than the certificate could leave open.
        if proven.value - searched.value > TOLERANCE * float(np.ptp(given.loss)):
            shift = proven.value - proven.nominal
            missed.append((proven.value - searched.value) / shift)
    return certified, missed


def main() -> None:
    print("| d | T | r | certified | short, from P' alone | by (median, most) | short, default |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for states, transitions in SIZES:
        for radius in RADII:
            certified, alone = shortfalls(states, transitions, radius, 1)
            _, default = shortfalls(states, transitions, radius, 4)
            by = f"{np.median(alone):.0%}, {max(alone):.0%}" if alone else "–"
            least = f"{len(default)}" + (f" (by {max(default):.1%})" if default else "")
            print(
                f"| {states} | {transitions} | {radius:g} | {certified} of {SEEDS} | "
                f"{len(alone)} | {by} | {least} |"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
