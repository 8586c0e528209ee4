"""How bad could the downtime of a machine get, given one year of its log?

A machine is up, degraded or down each day. One year was observed. The question is not what
downtime costs on average in that year, but what it could cost in the long run if the machine is not
quite the chain that the year suggests.
"""

from __future__ import annotations

import math

from markovdro import count_transitions, estimate, simulate, worst_case

STATES = ["up", "degraded", "down"]
TRUE_CHAIN = [[0.92, 0.07, 0.01], [0.30, 0.55, 0.15], [0.60, 0.00, 0.40]]
COST_PER_DAY = [0.0, 120.0, 900.0]
CONFIDENCE = 0.95


def main() -> None:
    log = simulate(TRUE_CHAIN, 365, seed=7, start="up", states=STATES)
    counts = count_transitions(log, states=STATES)
    chain = estimate(counts, smoothing="pseudo-counts")
    radius = math.log(1 / (1 - CONFIDENCE)) / counts.total
    result = worst_case(COST_PER_DAY, chain, radius)
    print(counts)
    print()
    print(result)
    print()
    print("share of days    estimated    worst case")
    for state, nominal, worst in zip(
        STATES, worst_case(COST_PER_DAY, chain, 0).stationary, result.stationary, strict=True
    ):
        print(f"{state:<16} {nominal:>9.3f} {worst:>13.3f}")
    print()
    print(
        f"In the year at hand a day cost {result.nominal:.0f} on average; with {CONFIDENCE:.0%} "
        f"confidence (asymptotic rate), it costs at most {result.value:.0f} in the long run."
    )


if __name__ == "__main__":
    main()
