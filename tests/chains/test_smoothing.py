"""Each smoothing by hand on two states, and the properties that the paper claims for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from markovdro import (
    GhostTransition,
    MarkovDROError,
    NoSmoothing,
    PseudoCounts,
    TransitionCounts,
    ZeroPerturbation,
    count_transitions,
    estimate,
)
from markovdro.errors import InputError

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)
EPS = np.finfo(np.float64).eps

# H→T twice, T→T once, T→H once; begins in H and ends in T.
COIN = count_transitions(["H", "T", "T", "H", "T"])

# Each entry is one rounded sum and one rounded quotient of a few numbers.
ROUNDING = 8 * EPS


def conditional_divergence(empirical: Any, other: Any) -> float:
    """The paper's D_c(θ'‖θ), straight from its definition, with 0·log 0 = 0."""
    divergence = 0.0
    for row, other_row in zip(np.asarray(empirical), np.asarray(other), strict=True):
        for mass, other_mass in zip(row, other_row, strict=True):
            if mass > 0:
                divergence += mass * np.log((mass / row.sum()) / (other_mass / other_row.sum()))
    return divergence


class TestByHand:
    def test_zero_perturbation(self) -> None:
        # N/T = [[0, 1/2], [1/4, 1/4]]; the one zero becomes 0.01, then all are divided by 1.01.
        chain = estimate(COIN, smoothing=ZeroPerturbation(0.01))
        expected = np.array([[0.01, 0.5], [0.25, 0.25]]) / 1.01
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)
        np.testing.assert_allclose(chain.weights, [0.51 / 1.01, 0.5 / 1.01], rtol=ROUNDING)
        rows = [[1 / 51, 50 / 51], [0.5, 0.5]]
        np.testing.assert_allclose(chain.transition, rows, rtol=ROUNDING)

    def test_zero_perturbation_adds_a_hundred_thousandth_by_default(self) -> None:
        for chain in (estimate(COIN), estimate(COIN, smoothing="zero-perturbation")):
            assert chain.smoothing == ZeroPerturbation(1e-5)
            assert chain.doublets[0, 0] == pytest.approx(1e-5 / (1 + 1e-5), rel=ROUNDING)

    def test_pseudo_counts(self) -> None:
        # One half is added to each of 0, 2, 1, 1: six in all.
        chain = estimate(COIN, smoothing="pseudo-counts")
        expected = np.array([[0.5, 2.5], [1.5, 1.5]]) / 6
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)
        np.testing.assert_allclose(chain.transition, [[1 / 6, 5 / 6], [0.5, 0.5]], rtol=ROUNDING)

    def test_laplace_adds_one(self) -> None:
        chain = estimate(COIN, smoothing="laplace")
        assert chain.doublets.tolist() == [[1 / 8, 3 / 8], [2 / 8, 2 / 8]]

    def test_pseudo_counts_of_another_size(self) -> None:
        chain = estimate(COIN, smoothing=PseudoCounts(3.0))
        assert chain.doublets.tolist() == [[3 / 16, 5 / 16], [4 / 16, 4 / 16]]

    def test_ghost_closes_from_the_last_state_to_the_first(self) -> None:
        # The last state is T and the first H: one more T→H makes [[0, 2], [2, 1]].
        chain = estimate(COIN, smoothing="ghost")
        expected = np.array([[0, 2], [2, 1]]) / 5
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)

    def test_ghost_closes_each_trajectory(self) -> None:
        counts = count_transitions([[0, 1], [1, 2, 0]])
        # 0→1, 1→2, 2→0, and the ghosts 1→0 and 0→1.
        chain = estimate(counts, smoothing=GhostTransition())
        expected = np.array([[0, 2, 0], [1, 0, 1], [1, 0, 0]]) / 5
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)

    def test_no_smoothing_is_the_empirical_distribution(self) -> None:
        chain = estimate(COIN, smoothing="none")
        assert chain.doublets.tolist() == [[0.0, 0.5], [0.25, 0.25]]
        assert chain.transition.tolist() == [[0.0, 1.0], [0.5, 0.5]]

    def test_names_stand_for_objects(self) -> None:
        named = {
            "zero-perturbation": ZeroPerturbation(1e-5),
            "pseudo-counts": PseudoCounts(0.5),
            "laplace": PseudoCounts(1.0),
            "ghost": GhostTransition(),
            "none": NoSmoothing(),
        }
        for name, smoothing in named.items():
            assert estimate(COIN, smoothing=name).smoothing == smoothing


class TestSupport:
    """On three states where 0→0 and 2→2 cannot happen; 2→1 was never seen."""

    counts = count_transitions([0, 1, 1, 2, 0, 2, 0, 1, 0])
    # 0→1 twice, 0→2 once, 1→0 once, 1→1 once, 1→2 once, 2→0 twice: T = 8.
    support = ((False, True, True), (True, True, True), (True, True, False))

    def test_zero_perturbation_leaves_structural_zeros(self) -> None:
        chain = estimate(self.counts, smoothing=ZeroPerturbation(0.02), support=self.support)
        expected = np.array([[0, 2 / 8, 1 / 8], [1 / 8, 1 / 8, 1 / 8], [2 / 8, 0.02, 0]]) / 1.02
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)
        assert (chain.doublets[~np.array(self.support)] == 0).all()

    def test_pseudo_counts_leave_structural_zeros(self) -> None:
        chain = estimate(self.counts, smoothing="laplace", support=self.support)
        expected = np.array([[0, 3, 2], [2, 2, 2], [3, 1, 0]]) / 15
        np.testing.assert_allclose(chain.doublets, expected, rtol=ROUNDING)

    def test_a_ghost_inside_the_support_is_kept(self) -> None:
        support = np.ones((3, 3), dtype=bool)
        support[2, 2] = False
        chain = estimate(self.counts, smoothing="ghost", support=support)
        assert chain.doublets[0, 0] == pytest.approx(1 / 9, rel=ROUNDING)  # ends in 0, begins in 0

    def test_a_ghost_outside_the_support_is_refused(self) -> None:
        message = "the ghost transition from 0 to 0 is outside the support; use another smoothing"
        with pytest.raises(InputError, match=message):
            estimate(self.counts, smoothing="ghost", support=self.support)

    def test_the_mask_is_kept_in_the_estimate(self) -> None:
        chain = estimate(self.counts, support=self.support)
        assert chain.support.tolist() == [list(row) for row in self.support]
        assert estimate(self.counts).support.all()


walks = st.lists(st.integers(0, 5), min_size=2, max_size=60)


@PROPERTY
@given(walks)
def test_the_ghost_estimate_is_balanced(trajectory: list[int]) -> None:
    assume(len(set(trajectory)) > 1)
    chain = estimate(count_transitions(trajectory), smoothing="ghost")
    size = len(chain.states)
    # Sums of size numbers that add up to at most one.
    tolerance = size * EPS
    np.testing.assert_allclose(chain.weights, chain.doublets.sum(axis=0), rtol=0, atol=tolerance)


@PROPERTY
@given(st.lists(walks, min_size=1, max_size=3))
def test_the_ghost_estimate_of_several_trajectories_is_balanced(
    trajectories: list[list[int]],
) -> None:
    states = sorted({label for t in trajectories for label in t})
    assume(len(states) > 1)
    masses = GhostTransition().masses(
        count_transitions(trajectories), np.ones((len(states), len(states)), dtype=bool)
    )
    assert np.array_equal(masses.sum(axis=0), masses.sum(axis=1))  # whole numbers: exact


@PROPERTY
@given(walks)
def test_the_ghost_estimate_is_feasible_from_the_radius_of_the_lemma_on(
    trajectory: list[int],
) -> None:
    """The paper's Lemma "Solvability": D_c(N/T ‖ ghost) ≤ d/T."""
    assume(len(set(trajectory)) > 1)
    counts = count_transitions(trajectory)
    chain = estimate(counts, smoothing="ghost")
    divergence = conditional_divergence(counts.matrix / counts.total, chain.doublets)
    rounding = len(trajectory) * 10 * EPS
    assert -rounding <= divergence <= len(counts.states) / counts.total + rounding
    # Only the row of the last state changes, so that even 1/T is enough.
    assert divergence <= 1 / counts.total + rounding


@PROPERTY
@given(walks, st.sampled_from(["zero-perturbation", "pseudo-counts", "laplace"]))
def test_smoothed_masses_are_positive_everywhere(trajectory: list[int], name: str) -> None:
    chain = estimate(count_transitions(trajectory, states=range(6)), smoothing=name)
    assert (chain.doublets > 0).all()
    assert chain.doublets.sum() == pytest.approx(1, rel=36 * EPS)


@PROPERTY
@given(walks)
def test_smoothing_less_and_less_tends_to_the_data(trajectory: list[int]) -> None:
    counts = count_transitions(trajectory, states=range(6))
    empirical = counts.matrix / counts.total
    for tiny in (1e-6, 1e-9):
        # At most 36 masses of this size are added, to a total of at least one.
        for smoothing in (ZeroPerturbation(tiny), PseudoCounts(tiny)):
            chain = estimate(counts, smoothing=smoothing)
            assert np.abs(chain.doublets - empirical).max() <= 36 * tiny


def test_ghost_needs_to_know_the_trajectories() -> None:
    counts = TransitionCounts.from_matrix([[1, 2], [2, 1]])
    with pytest.raises(InputError, match="'ghost' needs the first and last state of each traject"):
        estimate(counts, smoothing="ghost")


@pytest.mark.parametrize("smoothing", [ZeroPerturbation, PseudoCounts])
@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "must be above 0, but is 0"),
        (-0.5, r"must be above 0, but is -0\.5"),
        (float("nan"), "must be finite, but holds nan"),
        (float("inf"), "must be finite, but holds inf"),
        ("half", r"must be numbers, but holds something else \(str\)"),
        ([1, 2], r"must be one number, but has shape \(2,\)"),
    ],
)
def test_the_size_of_a_smoothing_must_be_positive(smoothing: Any, size: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        smoothing(size)
    assert isinstance(caught.value, MarkovDROError)


@pytest.mark.parametrize(
    ("smoothing", "message"),
    [
        ("jelly", "smoothing 'jelly' is not known; choose one of ghost, laplace, none, pseudo"),
        (3, "smoothing must be a name or a smoothing object, but is 3"),
        (None, "smoothing must be a name or a smoothing object, but is None"),
        (GhostTransition, "smoothing must be a name or a smoothing object, but is <class"),
    ],
)
def test_an_unknown_smoothing_is_refused(smoothing: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimate(COIN, smoothing=smoothing)


def test_a_smoothing_of_the_users_own_is_used() -> None:
    class AddRow:
        def masses(
            self, counts: TransitionCounts, support: npt.NDArray[np.bool_]
        ) -> npt.NDArray[np.float64]:
            added = np.array([[1.0, 1.0], [0.0, 0.0]])
            masses: npt.NDArray[np.float64] = counts.matrix + added * support
            return masses

    chain = estimate(COIN, smoothing=AddRow())
    np.testing.assert_allclose(chain.doublets, np.array([[1, 3], [1, 1]]) / 6, rtol=ROUNDING)


def test_smoothing_does_not_change_the_counts() -> None:
    before = COIN.matrix.copy()
    for name in ("zero-perturbation", "pseudo-counts", "laplace", "ghost", "none"):
        estimate(COIN, smoothing=name)
    assert np.array_equal(COIN.matrix, before)
