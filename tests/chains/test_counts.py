"""Transition counts: trajectories short enough to count by hand, and a plain dictionary count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from markovdro import MarkovDROError, TransitionCounts, count_transitions
from markovdro.errors import DataError

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)


def test_one_trajectory_counted_by_hand() -> None:
    counts = count_transitions(["H", "T", "T", "H", "T"])
    # H→T twice, T→T once, T→H once.
    assert counts.states == ("H", "T")
    assert counts.matrix.tolist() == [[0, 2], [1, 1]]
    assert counts.matrix.dtype == np.int64
    assert counts.total == 4
    assert counts.trajectories == 1


def test_rows_are_where_a_transition_begins() -> None:
    # 0→1 and 1→2: never 1→0.
    assert count_transitions([0, 1, 2]).matrix.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_no_transition_is_counted_across_the_seam() -> None:
    counts = count_transitions([[0, 1], [2, 0, 2]])
    # 0→1, then 2→0 and 0→2; the seam 1→2 is not a transition.
    assert counts.matrix.tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert counts.total == 3
    assert counts.trajectories == 2


def test_closing_pairs_the_end_of_each_trajectory_with_its_own_beginning() -> None:
    counts = count_transitions([[0, 1], [2, 0, 2], [0, 0, 1]])
    # Ends 1 of a beginning 0 (twice), and 2 of a beginning 2.
    assert counts.closing is not None
    assert counts.closing.tolist() == [[0, 0, 0], [2, 0, 0], [0, 0, 1]]


def test_initial_final_and_visits_counted_by_hand() -> None:
    counts = count_transitions([["a", "b", "b"], ["c", "a"]])
    assert counts.initial is not None
    assert counts.final is not None
    assert counts.initial.tolist() == [1, 0, 1]  # a and c
    assert counts.final.tolist() == [1, 1, 0]  # b and a
    assert counts.visits.tolist() == [2, 2, 1]  # a twice, b twice, c once


def test_a_trajectory_of_one_observation_counts_as_a_visit_only() -> None:
    counts = count_transitions([[0, 1, 0], [2], [1]])
    # 0→1 and 1→0 from the first; the others hold no transition.
    assert counts.matrix.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert counts.trajectories == 3
    assert counts.visits.tolist() == [2, 2, 1]
    assert counts.unvisited == (2,)
    assert counts.closing is not None
    assert counts.closing.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_an_empty_trajectory_among_several_counts_for_nothing() -> None:
    counts = count_transitions([[], [0, 1], np.array([], dtype=np.int64), [1, 0]])
    assert counts.matrix.tolist() == [[0, 1], [1, 0]]
    assert counts.trajectories == 2


def test_a_state_seen_only_at_the_end_is_unvisited() -> None:
    counts = count_transitions(["a", "b", "a", "c"])
    assert counts.unvisited == ("c",)
    assert counts.visits.tolist() == [2, 1, 1]


def test_given_states_fix_the_order_and_may_hold_more_than_the_data() -> None:
    counts = count_transitions(["lo", "hi", "hi"], states=["none", "lo", "hi"])
    # lo→hi, hi→hi
    assert counts.states == ("none", "lo", "hi")
    assert counts.matrix.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert counts.unvisited == ("none",)


def test_given_states_allow_a_trajectory_that_never_moves() -> None:
    assert count_transitions([7, 7, 7], states=[7, 8]).matrix.tolist() == [[2, 0], [0, 0]]


def test_states_may_be_an_array() -> None:
    states: Any = np.array([2, 1], dtype=np.int8)
    counts = count_transitions([1, 2, 2], states=states)
    assert counts.states == (2, 1)
    assert counts.matrix.tolist() == [[1, 0], [1, 0]]


def test_inputs_are_not_changed() -> None:
    arrays = [np.array([2, 0, 1, 1]), np.array([0, 2])]
    before = [array.copy() for array in arrays]
    words: npt.NDArray[Any] = np.array(["b", "a", "b"], dtype=object)
    states = [2, 1, 0]
    count_transitions(arrays, states=states)
    count_transitions(arrays[0])
    count_transitions(words)
    assert all(np.array_equal(array, old) for array, old in zip(arrays, before, strict=True))
    assert all(array.flags.writeable for array in (*arrays, words))
    assert words.tolist() == ["b", "a", "b"]
    assert states == [2, 1, 0]


def test_a_read_only_array_can_be_counted() -> None:
    array = np.array([1, 0, 1])
    array.setflags(write=False)
    assert count_transitions(array).matrix.tolist() == [[0, 1], [1, 0]]


def test_results_are_read_only() -> None:
    counts = count_transitions([0, 1, 0])
    assert counts.closing is not None
    for array in (counts.matrix, counts.closing, TransitionCounts.from_matrix([[1, 2]] * 2).matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 5
    with pytest.raises(AttributeError):
        counts.states = ()  # type: ignore[misc]


def test_repr_says_what_was_counted() -> None:
    assert repr(count_transitions([0, 1, 0])) == (
        "TransitionCounts(2 transitions from 1 trajectory, 2 states)"
    )
    assert repr(count_transitions([[0, 1], [0, 2]])) == (
        "TransitionCounts(2 transitions from 2 trajectories, 3 states, 2 never left)"
    )
    assert repr(TransitionCounts.from_matrix([[1, 2], [3, 4]])) == (
        "TransitionCounts(10 transitions, 2 states)"
    )


same_kind = st.one_of(
    st.lists(st.integers(-3, 3), unique=True, min_size=2, max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=2, max_size=5),
    st.lists(st.integers(0, 2**64 - 1), unique=True, min_size=2, max_size=5),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, min_size=2, max_size=5),
    st.lists(st.text(max_size=3), unique=True, min_size=2, max_size=5),
    st.lists(st.binary(max_size=2), unique=True, min_size=2, max_size=5),
)
mixed_kinds: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.integers(-(2**70), 2**70), st.text(max_size=2), st.tuples(st.booleans(), st.integers())
    ),
    min_size=1,
    max_size=4,
).map(lambda labels: ["text", *labels])
alphabets = st.one_of(same_kind, mixed_kinds)


@st.composite
def several_trajectories(draw: st.DrawFn) -> list[list[Hashable]]:
    label = st.sampled_from(draw(alphabets))
    return draw(st.lists(st.lists(label, max_size=12), min_size=1, max_size=4))


@PROPERTY
@given(several_trajectories())
def test_counts_are_what_a_dictionary_counts(trajectories: list[list[Hashable]]) -> None:
    pairs = Counter(pair for t in trajectories for pair in pairwise(t))
    seen = {label for t in trajectories for label in t}
    assume(pairs)
    assume(len(seen) > 1)
    counts = count_transitions(trajectories)
    assert set(counts.states) == seen
    assert len(counts.states) == len(seen)
    for i, a in enumerate(counts.states):
        for j, b in enumerate(counts.states):
            assert counts.matrix[i, j] == pairs[a, b]
    closing = Counter((t[-1], t[0]) for t in trajectories if t)
    assert counts.closing is not None
    for i, a in enumerate(counts.states):
        for j, b in enumerate(counts.states):
            assert counts.closing[i, j] == closing[a, b]


@PROPERTY
@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.permutations(range(5)))
def test_giving_the_states_in_another_order_permutes_the_counts(
    trajectory: list[int], order: list[int]
) -> None:
    plain = count_transitions(trajectory, states=range(5)).matrix
    assert np.array_equal(
        count_transitions(trajectory, states=order).matrix, plain[np.ix_(order, order)]
    )


@PROPERTY
@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_arrivals_and_departures_differ_by_the_ends_only(trajectory: list[int]) -> None:
    counts = count_transitions(trajectory, states=range(5))
    assert counts.initial is not None
    assert counts.final is not None
    arrivals, departures = counts.matrix.sum(axis=0), counts.matrix.sum(axis=1)
    assert np.array_equal(arrivals + counts.initial, departures + counts.final)
    assert counts.visits.tolist() == [trajectory.count(state) for state in range(5)]


class TestFromMatrix:
    def test_takes_counts_and_labels(self) -> None:
        counts = TransitionCounts.from_matrix([[3.0, 1.0], [1.0, 0.0]], states=["up", "down"])
        assert counts.matrix.tolist() == [[3, 1], [1, 0]]
        assert counts.matrix.dtype == np.int64
        assert counts.states == ("up", "down")
        assert counts.total == 5

    def test_numbers_the_states_by_default(self) -> None:
        assert TransitionCounts.from_matrix([[1, 2], [3, 4]]).states == (0, 1)

    def test_knows_nothing_of_trajectories(self) -> None:
        counts = TransitionCounts.from_matrix([[1, 2], [3, 4]])
        assert counts.closing is None
        assert counts.trajectories is None
        assert counts.initial is None
        assert counts.final is None

    def test_visits_are_the_larger_of_departures_and_arrivals(self) -> None:
        # Departures 2 and 1, arrivals 0 and 3.
        assert TransitionCounts.from_matrix([[0, 2], [0, 1]]).visits.tolist() == [2, 3]

    def test_copies_its_argument(self) -> None:
        matrix = np.array([[1, 2], [3, 4]])
        counts = TransitionCounts.from_matrix(matrix)
        matrix[0, 0] = 9
        assert counts.matrix[0, 0] == 1

    def test_takes_a_pandas_table(self) -> None:
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame([[1, 2], [3, 4]])
        assert TransitionCounts.from_matrix(table).matrix.tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[1, -1], [0, 1]], r"counts must not be negative, but entry \(0, 1\) is -1"),
            ([[1, 1], [0.5, 1]], r"counts must be whole numbers, but entry \(1, 0\) is 0\.5"),
            ([[1, 2, 3], [1, 2, 3]], r"counts must be a square matrix, but has shape \(2, 3\)"),
            ([1, 2], r"counts must be a matrix, but has shape \(2,\)"),
            ([[1, np.nan], [0, 1]], r"counts must be finite, but holds nan at position \(0, 1\)"),
            ([[1, 0], [np.inf, 1]], r"counts must be finite, but holds inf at position \(1, 0\)"),
            ([[1, None], [0, 1]], r"counts must be finite, but holds None at position \(0, 1\)"),
            ("HT", r"counts must be numbers, but holds something else \(str\)"),
            ([["a", "b"], ["c", "d"]], "counts must be numbers, but holds something else"),
            ([[1, 2], [3]], "counts must be numbers, but holds something else"),
            ([[1e300, 1], [1, 1]], r"counts must be below 2\^53, but the largest is 1e\+300"),
            (np.array([[1j, 2], [3, 4]]), "counts must be numbers"),
        ],
    )
    def test_refuses_what_is_not_a_matrix_of_counts(self, matrix: Any, message: str) -> None:
        with pytest.raises(DataError, match=message) as caught:
            TransitionCounts.from_matrix(matrix)
        assert isinstance(caught.value, MarkovDROError)

    def test_never_rounds_a_count(self) -> None:
        # 2^53 + 1 is not a double; it is beyond the limit that the message of from_matrix gives.
        with pytest.raises(DataError, match=r"counts must be below 2\^53"):
            TransitionCounts.from_matrix(np.array([[2**53 + 1, 1], [1, 1]]))

    @pytest.mark.parametrize(
        ("states", "message"),
        [
            (["a"], "states must name the 2 rows of counts, but there are 1"),
            (["a", "a"], "each state must be given once, but 'a' is repeated"),
            (["a", None], "states must not hold missing values"),
            (["a", ["b"]], "states must be hashable, but unhashable type: 'list'"),
        ],
    )
    def test_refuses_wrong_states(self, states: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            TransitionCounts.from_matrix([[1, 2], [3, 4]], states=states)
