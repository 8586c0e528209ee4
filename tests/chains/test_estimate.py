"""The estimated chain: its parts fit together, and what it cannot know is said or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovdro import (
    Estimate,
    MarkovDROError,
    MarkovDROWarning,
    PseudoCounts,
    TransitionCounts,
    count_transitions,
    estimate,
)
from markovdro.errors import (
    DataError,
    HeavySmoothingWarning,
    InputError,
    ReducibleChainError,
    UnvisitedStateError,
    UnvisitedStatesWarning,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
EPS = np.finfo(np.float64).eps
SMOOTHINGS = ("zero-perturbation", "pseudo-counts", "laplace", "ghost", "none")

# H→T twice, T→T once, T→H once.
COIN = count_transitions(["H", "T", "T", "H", "T"])


def test_an_estimate_keeps_what_it_was_made_from() -> None:
    chain = estimate(COIN, smoothing="laplace")
    assert chain.states == ("H", "T")
    assert chain.transitions_seen == 4
    assert chain.counts is COIN
    assert chain.smoothing == PseudoCounts(1.0)


def test_a_plain_matrix_of_counts_is_enough() -> None:
    chain = estimate([[1, 1], [3, 0]], smoothing="none")
    assert chain.doublets.tolist() == [[0.2, 0.2], [0.6, 0.0]]
    assert chain.weights.tolist() == [0.4, 0.6]
    assert chain.transition.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert chain.states == (0, 1)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_the_arrays_of_an_estimate_are_read_only(smoothing: str) -> None:
    chain = estimate(COIN, smoothing=smoothing)
    arrays = (chain.doublets, chain.weights, chain.transition, chain.support, chain.recurrent)
    for array in arrays:
        assert not array.flags.writeable


def test_arguments_are_copied() -> None:
    support = np.ones((2, 2), dtype=bool)
    matrix = np.array([[1, 1], [3, 1]])
    doublets = np.array([[0.25, 0.25], [0.25, 0.25]])
    chain = estimate(matrix, support=support)
    given = Estimate.from_doublets(doublets, support=support)
    for array in (support, matrix, doublets):
        assert array.flags.writeable
        array[0, 0] = 0
    assert chain.support.all()
    assert given.support.all()
    assert given.doublets[0, 0] == 0.25
    assert chain.counts is not None
    assert chain.counts.matrix[0, 0] == 1


count_matrices = st.integers(2, 5).flatmap(
    lambda d: st.lists(
        st.lists(st.integers(0, 30), min_size=d, max_size=d), min_size=d, max_size=d
    ).filter(lambda rows: any(map(any, rows)))
)


@PROPERTY
@given(count_matrices, st.sampled_from(["zero-perturbation", "pseudo-counts", "laplace"]))
def test_doublets_weights_and_rows_fit_together(matrix: list[list[int]], name: str) -> None:
    chain = estimate(matrix, smoothing=name)
    size = len(matrix)
    # Sums of at most d² rounded numbers.
    rounding = size**2 * EPS
    assert chain.doublets.sum() == pytest.approx(1, rel=rounding)
    np.testing.assert_allclose(chain.weights, chain.doublets.sum(axis=1), rtol=rounding)
    np.testing.assert_allclose(chain.transition.sum(axis=1), np.ones(size), rtol=rounding)
    rebuilt = chain.weights[:, None] * chain.transition
    np.testing.assert_allclose(rebuilt, chain.doublets, rtol=rounding)


@PROPERTY
@given(count_matrices, st.sampled_from(["zero-perturbation", "laplace"]), st.randoms())
def test_relabelling_the_states_changes_nothing_else(
    matrix: list[list[int]], name: str, random: Any
) -> None:
    order = list(range(len(matrix)))
    random.shuffle(order)
    mixed = np.ix_(order, order)
    plain, moved = (
        estimate(matrix, smoothing=name),
        estimate(np.array(matrix)[mixed], smoothing=name),
    )
    rounding = len(matrix) ** 2 * EPS
    np.testing.assert_allclose(moved.doublets, plain.doublets[mixed], rtol=rounding)
    np.testing.assert_allclose(moved.transition, plain.transition[mixed], rtol=rounding)


class TestSmoothingMass:
    """The total variation distance from N/T = [[0, 4/8], [2/8, 2/8]] of the coin above."""

    @pytest.mark.parametrize(
        ("smoothing", "mass"),
        [
            ("none", 0.0),
            ("pseudo-counts", 1 / 12),  # H→H goes from 0 to 0.5/6; all others fall, or stay
            ("laplace", 1 / 8),  # H→H goes from 0 to 1/8
            ("ghost", 3 / 20),  # T→H goes from 1/4 to 2/5
        ],
    )
    def test_by_hand(self, smoothing: str, mass: float) -> None:
        assert estimate(COIN, smoothing=smoothing).smoothing_mass == pytest.approx(
            mass, abs=4 * EPS
        )

    def test_is_zero_where_no_counts_are_known(self) -> None:
        assert Estimate.from_doublets([[0.25, 0.25], [0.25, 0.25]]).smoothing_mass == 0


class TestWarnings:
    def test_a_well_visited_chain_has_none(self) -> None:
        chain = estimate([[50, 50], [50, 50]])
        assert chain.warnings == ()
        assert repr(chain) == "Estimate(2 states, 200 transitions, ZeroPerturbation(epsilon=1e-05))"

    def test_unvisited_states_are_named(self) -> None:
        counts = count_transitions(["a", "b", "a", "c"])
        (warning,) = estimate(counts).warnings
        assert isinstance(warning, UnvisitedStatesWarning)
        assert isinstance(warning, MarkovDROWarning)
        assert "1 of 3 states were never left ('c')" in str(warning)

    def test_many_unvisited_states_are_abridged(self) -> None:
        counts = count_transitions([0, 1, 0], states=range(7))
        (warning,) = estimate(counts).warnings
        assert "5 of 7 states were never left (2, 3, 4 and 2 more)" in str(warning)

    def test_smoothing_above_a_tenth_is_heavy(self) -> None:
        # One eighth, against one twelfth for half a count.
        chain = estimate(COIN, smoothing="laplace")
        (warning,) = chain.warnings
        assert isinstance(warning, HeavySmoothingWarning)
        assert "12% of the doublet mass comes from the smoothing" in str(warning)
        assert "(4 transitions for 4 doublets)" in str(warning)
        assert repr(chain).endswith("1 warning(s))")
        assert estimate(COIN, smoothing="pseudo-counts").warnings == ()

    def test_the_default_perturbation_is_heavy_for_many_states(self) -> None:
        # 200² zeros of mass 1e-5 weigh 0.4 against 1.
        counts = count_transitions([0, 1, 0], states=range(200))
        kinds = [type(warning) for warning in estimate(counts).warnings]
        assert kinds == [UnvisitedStatesWarning, HeavySmoothingWarning]

    def test_none_is_raised(self) -> None:
        # Python warnings are errors here: an estimate only carries its doubts.
        assert len(estimate([[1, 0], [0, 0]], smoothing="laplace").warnings) == 2


class TestUnvisitedStates:
    counts = count_transitions(["a", "b", "a", "c"])

    def test_are_refused_without_smoothing(self) -> None:
        with pytest.raises(UnvisitedStateError, match="the state 'c' was never left") as caught:
            estimate(self.counts, smoothing="none")
        assert "smoothing='pseudo-counts'" in str(caught.value)
        assert isinstance(caught.value, MarkovDROError)

    def test_are_refused_where_the_ghost_does_not_reach_them(self) -> None:
        counts = count_transitions(["a", "b", "a"], states=["a", "b", "c"])
        with pytest.raises(UnvisitedStateError, match="the state 'c' was never left"):
            estimate(counts, smoothing="ghost")

    def test_only_the_states_without_a_row_are_blamed(self) -> None:
        # 2 was never left either, but the ghost closes the trajectory from 2 to 0.
        counts = count_transitions([0, 1, 0, 2], states=range(4))
        with pytest.raises(UnvisitedStateError, match="the state 3 was never left, and this smoo"):
            estimate(counts, smoothing="ghost")
        counts = count_transitions([0, 1, 0, 2], states=range(5))
        with pytest.raises(UnvisitedStateError, match="the states 3, 4 were never left, and this"):
            estimate(counts, smoothing="ghost")

    def test_the_last_state_gets_its_row_from_the_ghost(self) -> None:
        chain = estimate(self.counts, smoothing="ghost")
        assert chain.transition[2].tolist() == [1.0, 0.0, 0.0]
        assert isinstance(chain.warnings[0], UnvisitedStatesWarning)

    def test_are_refused_where_the_support_leaves_them_nothing(self) -> None:
        support = [[True, True, True], [True, True, True], [False, False, False]]
        with pytest.raises(UnvisitedStateError, match="the state 'c' was never left"):
            estimate(self.counts, smoothing="pseudo-counts", support=support)

    def test_get_a_uniform_row_from_smoothing(self) -> None:
        for name in ("zero-perturbation", "pseudo-counts", "laplace"):
            row = estimate(self.counts, smoothing=name).transition[2]
            np.testing.assert_allclose(row, np.full(3, 1 / 3), rtol=4 * EPS)


class TestReducibleChains:
    def test_two_closed_classes_are_refused_and_named(self) -> None:
        counts = count_transitions([["a", "b", "a", "b", "a"], ["c", "d", "c"]])
        with pytest.raises(ReducibleChainError, match="2 closed classes") as caught:
            estimate(counts, smoothing="none")
        assert "one holds 'a', another 'c'" in str(caught.value)
        assert "smoothing='pseudo-counts'" in str(caught.value)
        assert isinstance(caught.value, MarkovDROError)

    def test_smoothing_joins_the_classes(self) -> None:
        counts = count_transitions([["a", "b", "a"], ["c", "d", "c"]])
        assert estimate(counts).recurrent.all()

    def test_one_closed_class_with_transient_states_is_kept(self) -> None:
        # 0→1, 1→2, 2→1: state 0 is never seen again.
        chain = estimate(count_transitions([0, 1, 2, 1]), smoothing="none")
        assert chain.recurrent.tolist() == [False, True, True]

    def test_a_structural_zero_can_make_a_state_transient(self) -> None:
        support = [[True, True], [False, True]]
        chain = estimate(count_transitions([0, 0, 1, 1]), smoothing="laplace", support=support)
        assert chain.recurrent.tolist() == [False, True]
        assert chain.transition[1].tolist() == [0.0, 1.0]


class TestBadInput:
    @pytest.mark.parametrize(
        ("counts", "message"),
        [
            ([[0, 0], [0, 0]], "all counts are zero: there is no transition to estimate from"),
            ([[3]], "a chain must have at least two states, but there is one"),
            ([[1, -1], [1, 1]], r"counts must not be negative, but entry \(0, 1\) is -1"),
            ([[1, 2, 3], [1, 2, 3]], "counts must be a square matrix"),
            ([0, 1, 1], r"counts must be a matrix, but has shape \(3,\)"),
            ("HTH", "counts must be numbers"),
            (None, "counts must be a matrix"),
        ],
    )
    def test_counts(self, counts: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            estimate(counts)

    def test_no_transition_at_all(self) -> None:
        with pytest.raises(DataError, match="all counts are zero"):
            estimate(TransitionCounts.from_matrix([[0, 0], [0, 0]]), smoothing="laplace")

    @pytest.mark.parametrize(
        ("support", "message"),
        [
            ([[1, 1]], r"support must have the shape \(2, 2\) of the counts, but has \(1, 2\)"),
            (True, r"support must be a matrix, but has shape \(\)"),
            ([[True, True], [True]], "support must be True or False everywhere, but holds some"),
            ([[True, float("nan")], [True, True]], "support must be finite, but holds nan at"),
            (
                [["True", "True"], ["True", "False"]],
                r"support must be True or False everywhere, but holds something else \(list\)",
            ),
            ([[1, 0.5], [1, 1]], r"support must be True or False everywhere, but holds 0\.5"),
            (
                [[True, False], [True, True]],
                "the data holds a transition from 'H' to 'T', which the support calls impossible",
            ),
        ],
    )
    def test_support(self, support: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            estimate(COIN, support=support)


class TestFromDoublets:
    def test_by_hand(self) -> None:
        chain = Estimate.from_doublets([[0.3, 0.1], [0.15, 0.45]], transitions_seen=40)
        np.testing.assert_allclose(chain.weights, [0.4, 0.6], rtol=4 * EPS)
        np.testing.assert_allclose(chain.transition, [[0.75, 0.25], [0.25, 0.75]], rtol=4 * EPS)
        assert chain.states == (0, 1)
        assert chain.transitions_seen == 40
        assert chain.counts is None
        assert chain.smoothing is None
        assert chain.warnings == ()
        assert repr(chain) == "Estimate(2 states, 40 transitions)"

    def test_agrees_with_estimate_on_the_same_distribution(self) -> None:
        counted = estimate([[1, 1], [3, 0]], smoothing="none")
        given = Estimate.from_doublets([[0.2, 0.2], [0.6, 0.0]], states=["a", "b"])
        np.testing.assert_allclose(given.transition, counted.transition, rtol=4 * EPS)
        assert given.states == ("a", "b")
        assert given.transitions_seen is None

    def test_support_is_kept(self) -> None:
        support = [[True, True], [True, False]]
        chain = Estimate.from_doublets([[0.2, 0.4], [0.4, 0.0]], support=support)
        assert chain.support.tolist() == support

    @pytest.mark.parametrize(
        ("doublets", "message"),
        [
            ([[0.5, 0.5]], r"doublets must be a square matrix, but has shape \(1, 2\)"),
            ([0.5, 0.5], r"doublets must be a matrix, but has shape \(2,\)"),
            ([[-0.5, 0.5], [0.5, 0.5]], r"must not be negative, but entry \(0, 0\) is -0\.5"),
            ([[0.5, 0.4], [0.1, 0.1]], r"doublets must sum to one, but sum to 1\.1; divide by"),
            ([[0.5, np.nan], [0.5, 0]], r"must be finite, but holds nan at position \(0, 1\)"),
            ([[0.5, 0], [0.5, np.inf]], r"must be finite, but holds inf at position \(1, 1\)"),
            ([["a", "b"], ["c", "d"]], "doublets must be numbers"),
            ([[1.0]], "a chain must have at least two states, but there is one"),
            ([[0.5, 0.5], [0, 0]], "the state 1 has an empty row in the doublet distribution"),
            (np.zeros((0, 0)), r"doublets must be a square matrix, but has shape \(0, 0\)"),
        ],
    )
    def test_refuses_what_is_not_a_distribution(self, doublets: Any, message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            Estimate.from_doublets(doublets)
        assert isinstance(caught.value, MarkovDROError)

    def test_an_empty_row_is_an_unvisited_state(self) -> None:
        with pytest.raises(UnvisitedStateError, match="the state 'b' has an empty row"):
            Estimate.from_doublets([[0.5, 0.5], [0, 0]], states=["a", "b"])

    def test_refuses_a_reducible_chain(self) -> None:
        with pytest.raises(ReducibleChainError, match="2 closed classes"):
            Estimate.from_doublets([[0.5, 0], [0, 0.5]])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"states": ["a"]}, "states must name the 2 rows of doublets, but there are 1"),
            ({"states": ["a", "a"]}, "each state must be given once, but 'a' is repeated"),
            ({"states": ["a", None]}, "states must not hold missing values"),
            ({"states": 3}, "states"),
            ({"support": [[1, 1]]}, r"support must have the shape \(2, 2\)"),
            ({"support": [[1, 0], [1, 1]]}, "from 0 to 1, which the support calls impossible"),
            ({"transitions_seen": 0}, "transitions_seen must be above 0, but is 0"),
            ({"transitions_seen": -5}, "transitions_seen must be above 0, but is -5"),
            ({"transitions_seen": float("nan")}, "transitions_seen must be finite"),
            ({"transitions_seen": "many"}, "transitions_seen must be numbers"),
        ],
    )
    def test_refuses_bad_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            Estimate.from_doublets([[0.25, 0.25], [0.25, 0.25]], **options)
