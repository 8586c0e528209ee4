"""Simulated trajectories follow their chain, and repeat with their seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markovdro import MarkovDROError, count_transitions, simulate
from markovdro.errors import InputError, ReducibleChainError

CHAIN = np.array([[0.7, 0.2, 0.1], [0.3, 0.0, 0.7], [0.5, 0.5, 0.0]])
COIN = [[0.5, 0.5], [0.5, 0.5]]

# Five standard deviations of a share of n draws: one in a million chances to fail, and seeded.
DEVIATIONS = 5.0


class EdgeGenerator(np.random.Generator):
    """Draws the least and the largest uniform number in turn."""

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        draws = np.zeros(size)
        draws[1::2] = 1 - 2.0**-53
        return draws


def test_the_same_seed_gives_the_same_trajectory() -> None:
    first = simulate(CHAIN, 200, seed=7)
    assert np.array_equal(simulate(CHAIN, 200, seed=7), first)
    assert not np.array_equal(simulate(CHAIN, 200, seed=8), first)


def test_a_generator_is_taken_as_a_seed_and_moves_on() -> None:
    rng = np.random.default_rng(7)
    first, second = simulate(CHAIN, 200, seed=rng), simulate(CHAIN, 200, seed=rng)
    assert np.array_equal(first, simulate(CHAIN, 200, seed=7))
    assert not np.array_equal(first, second)


def test_the_global_random_state_is_left_alone() -> None:
    before = np.random.get_state(legacy=True)  # noqa: NPY002
    simulate(CHAIN, 50, seed=1)
    assert repr(np.random.get_state(legacy=True)) == repr(before)  # noqa: NPY002


@pytest.mark.parametrize("transitions", [1, 2, 100])
def test_a_trajectory_holds_one_observation_more_than_transitions(transitions: int) -> None:
    path = simulate(CHAIN, transitions, seed=0)
    assert path.shape == (transitions + 1,)
    assert set(path.tolist()) <= {0, 1, 2}
    assert count_transitions(path, states=range(3)).total == transitions


def test_a_number_of_transitions_may_be_a_numpy_integer() -> None:
    assert simulate(CHAIN, np.int32(3), seed=0).size == 4  # type: ignore[arg-type]


def test_a_chain_without_choice_is_followed() -> None:
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert simulate(cycle, 5, seed=3, start=1).tolist() == [1, 2, 0, 1, 2, 0]


def test_labels_and_start() -> None:
    path = simulate([[0, 1], [1, 0]], 3, seed=1, start="off", states=["on", "off"])
    assert path.tolist() == ["off", "on", "off", "on"]


@pytest.mark.parametrize("labels", [[("a", 1), ("b", 2)], ["x", 5], [10, 20], ["n", 0.5]])
def test_labels_come_back_as_they_are(labels: list[Any]) -> None:
    path = simulate([[0, 1], [1, 0]], 2, seed=1, start=labels[1], states=labels)
    assert path.tolist() == [labels[1], labels[0], labels[1]]


def test_every_start_is_honoured() -> None:
    for seed in range(20):
        assert simulate(CHAIN, 1, seed=seed, start=seed % 3)[0] == seed % 3


def test_impossible_transitions_are_never_drawn() -> None:
    counts = count_transitions(simulate(CHAIN, 50_000, seed=5), states=range(3)).matrix
    assert (counts[CHAIN == 0] == 0).all()
    assert (counts[CHAIN > 0] > 0).all()


@pytest.mark.parametrize(
    "row",
    [
        [0.1] * 10 + [0.0],  # ten times 0.1 sums to less than one
        [0.0] + [0.1] * 10,
        [0.0, 1 / 3, 0.0, 1 / 3, 1 / 3, 0.0, 0.0],
        [0.7, 0.1, 0.1, 0.1, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
    ],
)
def test_impossible_transitions_are_not_drawn_at_the_edges_either(row: list[float]) -> None:
    chain = np.tile(row, (len(row), 1))
    path = simulate(chain, 20, seed=EdgeGenerator(np.random.PCG64(0)), start=0)
    assert all(row[state] > 0 for state in path[1:])
    # The least number draws the first possible state, the largest the last.
    possible = np.flatnonzero(row)
    assert set(path[1::2].tolist()) == {possible[0]}
    assert set(path[2::2].tolist()) == {possible[-1]}


def test_transient_states_are_not_drawn_as_a_start() -> None:
    chain = [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    assert all(simulate(chain, 1, seed=seed)[0] != 0 for seed in range(100))


def test_frequencies_of_transitions_are_near_the_chain() -> None:
    counts = count_transitions(simulate(CHAIN, 100_000, seed=11), states=range(3)).matrix
    departures = counts.sum(axis=1, keepdims=True)
    tolerance = DEVIATIONS * np.sqrt(CHAIN * (1 - CHAIN) / departures)
    assert (np.abs(counts / departures - CHAIN) <= tolerance).all()


def test_the_start_is_drawn_from_the_stationary_law() -> None:
    draws = 4000
    rng = np.random.default_rng(13)
    starts = [int(simulate(CHAIN, 1, seed=rng)[0]) for _ in range(draws)]
    share = np.bincount(starts, minlength=3) / draws
    # π_1 = π_0/5 + π_2/2 and π_2 = π_0/10 + 7 π_1/10, so that π is in proportion 65 : 25 : 24.
    law = np.array([65, 25, 24]) / 114
    assert (np.abs(share - law) <= DEVIATIONS * np.sqrt(law * (1 - law) / draws)).all()


def test_a_chain_of_several_classes_needs_a_start() -> None:
    apart = [[1, 0], [0, 1]]
    assert simulate(apart, 3, seed=1, start=1).tolist() == [1, 1, 1, 1]
    with pytest.raises(ReducibleChainError, match="2 closed classes"):
        simulate(apart, 3, seed=1)


def test_a_chain_that_almost_falls_apart_can_be_simulated() -> None:
    link = 1e-20
    chain = np.array(
        [[0.5, 0.5, 0, 0], [0.25, 0.75, link, 0], [0, 0, 0.5, 0.5], [0, link, 0.5, 0.5]]
    )
    assert simulate(chain, 3, seed=1).size == 4


def test_inputs_are_not_changed() -> None:
    chain, states = CHAIN.copy(), ["a", "b", "c"]
    simulate(chain, 10, seed=1, states=states)
    assert np.array_equal(chain, CHAIN)
    assert states == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("transitions", "message"),
    [
        (0, "transitions must be at least 1, but is 0"),
        (-3, "transitions must be at least 1, but is -3"),
        (2.5, r"transitions must be a whole number, but is 2\.5"),
        (True, "transitions must be a whole number, but is True"),
        ("ten", "transitions must be a whole number, but is 'ten'"),
        (None, "transitions must be a whole number, but is None"),
        (10**30, "transitions must be at most 10000000000, but is 10000"),
        pytest.param(
            -(10**5000), "transitions must be at least 1, but is a very large int", id="huge"
        ),
    ],
)
def test_a_bad_number_of_transitions_is_refused(transitions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        simulate(COIN, transitions, seed=1)
    assert isinstance(caught.value, MarkovDROError)


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        (
            [[0.5, 0.6], [0.5, 0.5]],
            r"each row of transition must sum to one, but row 0 sums to 1\.1",
        ),
        ([[1.5, -0.5], [0.5, 0.5]], r"must not be negative, but entry \(0, 1\) is -0\.5"),
        ([[0.5, 0.5]], r"transition must be a square matrix, but has shape \(1, 2\)"),
        ([[0.5, float("nan")], [1, 0]], "transition must be finite, but holds nan"),
        ("HT", "transition must be numbers"),
    ],
)
def test_a_bad_transition_matrix_is_refused(chain: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(chain, 3, seed=1, start=0)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (["a"], "states must name the 2 rows of transition, but there are 1"),
        (["a", "b", "c"], "states must name the 2 rows of transition, but there are 3"),
        (["a", "a"], "each state must be given once, but 'a' is repeated"),
        (["a", None], "states must not hold missing values"),
        (["a", ["b"]], "states must be hashable"),
        (3, "states"),
    ],
)
def test_bad_states_are_refused(states: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(COIN, 3, seed=1, states=states)


@pytest.mark.parametrize("start", [2, "a", -1, 0.5, [0], np.array([0, 1]), np.array([0])])
def test_an_unknown_start_is_refused(start: Any) -> None:
    with pytest.raises(InputError, match="start must be one of the states, but is"):
        simulate(COIN, 3, seed=1, start=start)


@pytest.mark.parametrize("seed", [-1, 1.5, "lucky"])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InputError, match="seed"):
        simulate(COIN, 3, seed=seed)
