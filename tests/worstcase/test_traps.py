"""Traps: their budget, their value, and the rule that skips the hopeless ones."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import stationary_law, worst_case
from markovdro.experiments import synthetic_problem
from markovdro.worstcase._kernels import best_trap, trap_exits, trap_values

Array = npt.NDArray[np.float64]
EVERYWHERE = np.empty((0, 0), dtype=bool)


def trap(nominal: Array, state: int, exit_factor: float) -> Array:
    chain = nominal.copy()
    chain[state] = exit_factor * nominal[state]
    chain[state, state] += 1 - exit_factor
    return chain


@pytest.mark.parametrize("radius", [1e-5, 0.01, 0.1, 1.0])
def test_a_trap_spends_the_whole_budget_on_its_row(radius: float) -> None:
    chain = synthetic_problem(12, 500, 4).estimate
    exits = trap_exits(chain.transition, chain.weights, EVERYWHERE, radius)
    for state, factor in enumerate(exits):
        row, before = trap(chain.transition, state, factor)[state], chain.transition[state]
        entropy = float((before * np.log(before / row)).sum())
        if factor > 2 * math.exp(-80):  # the least exit that is used
            assert chain.weights[state] * entropy == pytest.approx(radius, rel=1e-6)
        assert chain.weights[state] * entropy <= radius


@pytest.mark.parametrize("radius", [1e-3, 0.1])
def test_one_stationary_law_gives_the_value_of_every_trap(radius: float) -> None:
    given = synthetic_problem(12, 500, 4)
    nominal, loss = given.estimate.transition, given.loss
    exits = trap_exits(nominal, given.estimate.weights, EVERYWHERE, radius)
    law = stationary_law(nominal)
    found = trap_values(exits, float(law @ loss), law, loss)
    for state in range(12):
        direct = float(stationary_law(trap(nominal, state, exits[state]), method="gth") @ loss)
        assert found[state] == pytest.approx(direct, abs=1e-9)


def test_states_that_may_not_stay_are_no_traps() -> None:
    support = np.array([[False, True], [True, True]])
    nominal = np.array([[0.0, 1.0], [0.5, 0.5]])
    exits = trap_exits(nominal, np.array([1 / 3, 2 / 3]), support, 0.1)
    assert exits[0] == 1.0
    assert exits[1] < 1.0
    # A transition that may happen but was not seen is a trap of exit e^{−r/α}.
    free = trap_exits(nominal, np.array([1 / 3, 2 / 3]), EVERYWHERE, 0.1)
    assert free[0] == pytest.approx(math.exp(-0.3), rel=1e-8)


def test_traps_are_taken_from_the_best_down() -> None:
    values = np.array([0.1, 0.9, 0.4, 0.9])
    first = best_trap(values, math.inf)
    assert values[first] == 0.9
    assert best_trap(values, 0.9) == 2
    assert best_trap(values, 0.1) == -1


@pytest.mark.parametrize(("states", "transitions"), [(10, 300), (20, 1000), (50, 5000)])
@pytest.mark.parametrize("radius", [0.03, 0.1, 0.3])
def test_no_skipped_trap_would_have_been_better(
    states: int, transitions: int, radius: float
) -> None:
    """Climb from every trap, one by one, and compare with what the default reports."""
    for seed in range(4):
        given = synthetic_problem(states, transitions, 500 + seed)
        chain, loss = given.estimate, given.loss
        default = worst_case(loss, chain, radius)
        exits = trap_exits(chain.transition, chain.weights, EVERYWHERE, radius)
        dense = max(
            worst_case(
                loss, chain, radius, starts=1, start=trap(chain.transition, k, exits[k])
            ).value
            for k in range(states)
        )
        assert default.value >= dense - 1e-5 * np.ptp(loss)
