"""Compiled search for the worst case: line search, starts, and whole climbs over small chains.

Losses are scaled to [0, 1] here, so that 1 is a bound on every value and gaps are fractions of the
loss range. A climb over few states does not come back to the interpreter; the loop over large
chains (``_loop``) takes the same steps by the same rules, and calls the helpers below.
"""

from __future__ import annotations

import math

import numpy as np

from markovdro._arrays import BoolArray, FloatArray, IndexArray
from markovdro._compiled import compiled
from markovdro.ambiguity._rows import linear_maximum
from markovdro.chains._elimination import anchor_state, eliminate

__all__ = [
    "AT_TOP",
    "BRIEF",
    "ITERATIONS_OUT",
    "RARE",
    "STALLED",
    "STATIONARY",
    "best_trap",
    "climb",
    "flow_states",
    "improves",
    "next_fraction",
    "promises",
    "settles",
    "slope_along",
    "trap_exits",
    "trap_values",
]

STATIONARY, AT_TOP, ITERATIONS_OUT, STALLED = 0, 1, 2, 3

# A step must win this share of what the gap promises.
SUFFICIENT = 0.1
# A line search may stop once the slope has fallen to this share of the slope at its start …
FLAT = 0.5
# … or after this many trials that rose enough; without a rise it goes on to the larger number.
PATIENCE, MOST_TRIALS = 4, 40
CUT, LEAST_CUT = 0.1, 1e-6
# Relative values are counted from a visit to the anchor. Where that is this much rarer than to the
# likeliest state, their differences drown in the time it takes, and they are computed again.
RARE = 1e-5
# Traps that raise the nominal value less than this share of what has been reached are not climbed.
# (Over 300 synthetic problems at d = 5 to 100, no winning trap rose less than 0.76 of it.)
PROMISING = 0.5
# The value of a flow start says little of where it leads, its value after this many steps much: of
# 144 flows that won, 143 had by then reached PROMISING.
BRIEF = 3
# Flow starts are climbed where P' has transitions rarer than this (the least that a perturbation of
# 1e-5 leaves), or where a state is felt for longer than this many steps. (Over 1700 synthetic
# problems, which are neither, none of them won.)
SELDOM, LONG_MEMORY = 1e-5, 6.0
# Where P' has zeros, a flow into any state may win; so many are tried for each start asked for,
# over the number of states. Without zeros it is one, into one of the dearest.
FLOW_EFFORT = 400
# Exits smaller than e^-80 change no digit of the value, but would soon underflow.
LOWEST_LOG_EXIT = -80.0


@compiled
def improves(rise: float, fraction: float, gap: float, room: float) -> bool:
    """Armijo's rule, where the promise of the gap is cut to the room that is left below 1."""
    return rise >= SUFFICIENT * fraction * min(gap, room)


@compiled
def settles(slope: float, fraction: float, gap: float, trial: int) -> bool:
    """Tell whether a step that improves is also near enough to the best on its segment."""
    return trial >= PATIENCE or (slope >= -FLAT * gap and (fraction == 1.0 or slope <= FLAT * gap))


@compiled
def next_fraction(
    low: float,
    low_value: float,
    low_slope: float,
    high: float,
    high_value: float,
    high_slope: float,
) -> float:
    """Return the next trial inside a bracket whose lower end still rises.

    Where one row of a chain changes, the long-run loss is a ratio of linear functions, whose slope
    may fall by many orders of magnitude over a tiny part of the segment. So the model through
    both values and slopes is ``B s/(s + τ) − C s``: of one curvature, a parabola in the limit.
    ``ratio`` compares the distances of the chord from both tangents. Where the data are not those
    of a concave function the model says nothing, and the step is cut by a large factor.
    """
    width = high - low
    rise = high_value - low_value
    ratio = (low_slope * width - rise) / (rise - high_slope * width)
    at = low + CUT * width
    if high_slope < 0.0 < ratio:
        steep, flat = low_slope / ratio, ratio * high_slope
        root = math.sqrt(ratio * (low_slope - high_slope) / (steep - flat))
        model = low + width * (low_slope + steep) / ((steep - flat) * (root + 1.0))
        if low < model < high:
            at = min(max(model, low + LEAST_CUT * width), high - 0.1 * width)
    return at


@compiled
def trap_exits(
    nominal: FloatArray, weights: FloatArray, support: BoolArray, radius: float
) -> FloatArray:
    """Return, for each state k, the factor by which the whole budget can slow its exit down.

    The row becomes ``u·P'_k + (1 − u)·e_k`` with the least u whose entropy is within r/α_k:
    ``p log(p/(1 − (1 − p)u)) − (1 − p) log u``, ``p = P'_kk``. In ``v = log u`` this is convex and
    decreasing, and Newton's method from the left converges without overshooting. The factor
    is 1 where the state may not stay.
    """
    size = len(weights)
    exits = np.empty(size)
    for k in range(size):
        exits[k] = 1.0
        p = nominal[k, k]
        if p >= 1.0 or (support.size > 0 and not support[k, k]):
            continue
        budget = radius / weights[k] * (1.0 - 1e-10)
        known = p * math.log(p) if p > 0.0 else 0.0
        v = max(-(budget - known) / (1.0 - p), LOWEST_LOG_EXIT)
        for _ in range(100):
            u = math.exp(v)
            stay = 1.0 - (1.0 - p) * u
            entropy = known - (1.0 - p) * v - (p * math.log(stay) if p > 0.0 else 0.0)
            if entropy - budget <= 1e-11 * budget:
                break
            slope = (1.0 - p) * (p * u / stay - 1.0)
            v -= (entropy - budget) / min(slope, -1e-300)
        exits[k] = math.exp(min(v, 0.0))
    return exits


@compiled
def trap_values(
    exits: FloatArray, value: float, stationary: FloatArray, loss: FloatArray
) -> FloatArray:
    """Return the long-run loss of every trap, from the stationary law of P' alone.

    Slowing the exit of state k down by u multiplies its unnormalised probability by 1/u.
    """
    traps = np.empty(len(exits))
    for k in range(len(exits)):
        added = stationary[k] * (1.0 / exits[k] - 1.0)
        traps[k] = (value + added * loss[k]) / (1.0 + added)
    return traps


@compiled
def best_trap(traps: FloatArray, below: float) -> int:
    """Return the state of the best trap that is worse than ``below`` (−1: there is none)."""
    best = -1
    for k in range(len(traps)):
        if traps[k] < below and (best < 0 or traps[k] > traps[best]):
            best = k
    return best


@compiled
def promises(reached: float, centre: float, best: float) -> bool:
    """Tell whether a climb that is at this value could end above the best value found so far."""
    return reached - centre >= PROMISING * (best - centre)


@compiled
def flow_states(
    nominal: FloatArray, values: FloatArray, loss: FloatArray, starts: int
) -> IndexArray:
    """Return the states k to start from chains that maximise the flow into, the dearest first.

    Traps are blind where a state may not stay, or where the way to a costly state is (almost)
    closed in P'. There, and only there, these starts win. They are fewer the larger the chain,
    since each takes some factorisations.
    """
    size = len(loss)
    rarest, low, high = math.inf, math.inf, -math.inf
    for i in range(size):
        low, high = min(low, values[i]), max(high, values[i])
        for j in range(size):
            rarest = min(rarest, nominal[i, j])
    each = 0
    if rarest == 0.0:
        each = max(1, FLOW_EFFORT // size)
    elif rarest < SELDOM or high - low > LONG_MEMORY:
        each = 1
    count = min(size, (starts - 1) * each)
    states = np.empty(count, dtype=np.int64)
    taken = np.zeros(size, dtype=np.bool_)
    for m in range(count):
        dearest = -1
        for k in range(size):
            if not taken[k] and (dearest < 0 or loss[k] > loss[dearest]):
                dearest = k
        taken[dearest] = True
        states[m] = dearest
    return states


@compiled
def _copy(source: FloatArray, destination: FloatArray) -> None:
    """Copy entry by entry: slice assignment would take seconds more to compile."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            destination[i, j] = source[i, j]


@compiled
def _copy_vector(source: FloatArray, destination: FloatArray) -> None:
    for i in range(len(source)):
        destination[i] = source[i]


@compiled
def _mix(origin: FloatArray, target: FloatArray, fraction: float, mixture: FloatArray) -> None:
    """Write ``origin + fraction·(target − origin)``; the mixture may be the origin itself.

    The whole step is a copy: the difference would lose the small entries of the target.
    """
    if fraction == 1.0:
        _copy(target, mixture)
        return
    for i in range(len(origin)):
        for j in range(len(origin)):
            mixture[i, j] = origin[i, j] + fraction * (target[i, j] - origin[i, j])


@compiled
def _evaluate(
    transition: FloatArray,
    loss: FloatArray,
    mass: FloatArray,
    work: FloatArray,
    stationary: FloatArray,
    values: FloatArray,
) -> float:
    """Return the value of a chain, and write π and h."""
    anchor = anchor_state(transition, mass)
    value = math.nan
    for _ in range(2):
        value = eliminate(transition, loss, anchor, work, stationary, values)
        likely = anchor
        for i in range(len(stationary)):
            likely = i if stationary[i] > stationary[likely] else likely
        if not stationary[anchor] < RARE * stationary[likely]:
            break
        anchor = likely
    return value


@compiled
def slope_along(
    transition: FloatArray,
    target: FloatArray,
    stationary: FloatArray,
    values: FloatArray,
) -> float:
    """Return the derivative ``Σ_i π_i (S_i − P_i)·h`` along a segment, where π and h belong."""
    total = 0.0
    for i in range(len(values)):
        row = 0.0
        for j in range(len(values)):
            row += (target[i, j] - transition[i, j]) * values[j]
        total += stationary[i] * row
    return total


@compiled
def _search_segment(
    transition: FloatArray,
    target: FloatArray,
    loss: FloatArray,
    mass: FloatArray,
    value: float,
    gap: float,
    work: FloatArray,
    trial_point: FloatArray,
    stationary: FloatArray,
    values: FloatArray,
) -> float:
    """Move the point along its segment to the target; return the value there (or the old one)."""
    size = len(loss)
    trial_stationary, trial_values = np.empty(size), np.empty(size)
    best, best_fraction = value, 0.0
    low, low_value, low_slope = 0.0, value, gap
    high, high_value, high_slope = math.nan, math.nan, math.nan
    fraction = 1.0
    for trial in range(MOST_TRIALS):
        _mix(transition, target, fraction, trial_point)
        reached = _evaluate(trial_point, loss, mass, work, trial_stationary, trial_values)
        slope = slope_along(transition, target, trial_stationary, trial_values)
        if reached > best:
            best, best_fraction = reached, fraction
            _copy_vector(trial_stationary, stationary)
            _copy_vector(trial_values, values)
        if improves(reached - value, fraction, gap, 1.0 - value) and settles(
            slope, fraction, gap, trial
        ):
            break
        if slope > 0.0 and reached >= low_value:
            low, low_value, low_slope = fraction, reached, slope
        else:
            high, high_value, high_slope = fraction, reached, slope
        if math.isnan(high):
            break
        fraction = next_fraction(low, low_value, low_slope, high, high_value, high_slope)
    _mix(transition, target, best_fraction, transition)
    return best


@compiled
def climb(
    nominal: FloatArray,
    weights: FloatArray,
    support: BoolArray,
    mass: FloatArray,
    loss: FloatArray,
    radius: float,
    tolerance: float,
    most_iterations: int,
    centre: float,
    rival: float,
    transition: FloatArray,
    stationary: FloatArray,
    values: FloatArray,
) -> tuple[float, float, int, int]:
    """Frank-Wolfe from the given chain, which it overwrites.

    A climb that a few steps have not brought near the value of its rival ends there.
    Returns the value, the gap there, the number of steps, and why it stopped.
    """
    size = len(loss)
    work, target, trial = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    slack = np.empty(size)
    log_multiplier = math.nan
    value = _evaluate(transition, loss, mass, work, stationary, values)
    iterations = 0
    while True:
        log_multiplier, gap = linear_maximum(
            nominal,
            weights,
            support,
            stationary,
            values,
            radius,
            log_multiplier,
            slack,
            target,
        )
        if gap <= tolerance:
            return value, gap, iterations, STATIONARY
        if 1.0 - value <= tolerance:
            return value, gap, iterations, AT_TOP
        hopeless = iterations == BRIEF and not promises(value, centre, rival)
        if iterations >= most_iterations or hopeless:
            return value, gap, iterations, ITERATIONS_OUT
        reached = _search_segment(
            transition, target, loss, mass, value, gap, work, trial, stationary, values
        )
        if reached <= value:
            return value, gap, iterations, STALLED
        value = reached
        iterations += 1
