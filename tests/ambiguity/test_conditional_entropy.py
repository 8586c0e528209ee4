"""The paper's facts about the conditional relative entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markovdro import Estimate, MarkovDROError, conditional_entropy
from markovdro.ambiguity import ConditionalEntropyBall


def rows(matrix: list[list[float]] | np.ndarray) -> np.ndarray:
    array = np.asarray(matrix, dtype=float)
    normalised: np.ndarray = array / array.sum(axis=1, keepdims=True)
    return normalised


def balanced(seed: int, size: int) -> np.ndarray:
    """A doublet distribution of a stationary chain: row sums equal column sums."""
    rng = np.random.default_rng(seed)
    matrix = rows(rng.random((size, size)) + 0.01)
    values, vectors = np.linalg.eig(matrix.T)
    law = np.real(vectors[:, np.argmax(values.real)])
    doublets: np.ndarray = (law / law.sum())[:, None] * matrix
    return doublets


def by_definition(theta: np.ndarray, transition: np.ndarray) -> float:
    total = 0.0
    for i in range(len(theta)):
        for j in range(len(theta)):
            if theta[i, j] > 0:
                total += theta[i, j] * math.log(theta[i, j] / theta[i].sum() / transition[i, j])
    return total


seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 6)


@given(seeds, seeds, sizes)
def test_equals_its_definition(first: int, second: int, size: int) -> None:
    theta, chain = balanced(first, size), rows(balanced(second, size))
    assert conditional_entropy(theta, chain) == pytest.approx(
        by_definition(theta, chain), rel=1e-9, abs=1e-14
    )


@given(seeds, seeds, sizes)
def test_property_i_it_is_never_negative(first: int, second: int, size: int) -> None:
    rng = np.random.default_rng(first)
    anything = rng.dirichlet(np.full(size * size, 0.3)).reshape(size, size)
    assert conditional_entropy(anything / anything.sum(), rows(balanced(second, size))) >= 0.0


@given(seeds, seeds, sizes)
def test_property_ii_it_vanishes_only_at_the_same_model(first: int, second: int, size: int) -> None:
    theta, other = balanced(first, size), balanced(second, size)
    assert conditional_entropy(theta, rows(theta)) <= 1e-15
    if np.abs(theta - other).max() > 1e-6:
        assert conditional_entropy(theta, rows(other)) > 1e-14


@given(seeds, seeds, seeds, sizes, st.floats(0, 1))
def test_property_iii_it_is_convex_in_its_first_argument(
    first: int, second: int, third: int, size: int, share: float
) -> None:
    a, b, chain = balanced(first, size), balanced(second, size), rows(balanced(third, size))
    mixture = conditional_entropy(share * a + (1 - share) * b, chain)
    chord = share * conditional_entropy(a, chain) + (1 - share) * conditional_entropy(b, chain)
    assert mixture <= chord + 1e-13


@given(seeds, seeds, sizes)
def test_property_iv_it_is_jointly_continuous(first: int, second: int, size: int) -> None:
    theta, chain = balanced(first, size), balanced(second, size)
    here = conditional_entropy(theta, rows(chain))
    step = 1e-9
    shift = balanced(first ^ 1, size)
    there = conditional_entropy(
        (1 - step) * theta + step * shift, rows((1 - step) * chain + step * shift)
    )
    # The entries are at least 0.01/(6·1.01)/6 or so: a Lipschitz constant of 1e4 is generous.
    assert abs(here - there) < 1e4 * step


@pytest.mark.parametrize("eps", [0.01, 0.1, 0.2, 0.45, 0.8])
def test_the_two_coins_of_the_paper(eps: float) -> None:
    second = [[eps**2, eps * (1 - eps)], [eps * (1 - eps), (1 - eps) ** 2]]
    first = [[1 - eps, eps], [eps, 1 - eps]]
    assert conditional_entropy(second, first) == pytest.approx(
        eps * (1 - 2 * eps) * math.log((1 - eps) / eps), rel=1e-12
    )


def test_the_coins_are_not_told_apart_at_a_half() -> None:
    assert conditional_entropy([[0.25, 0.25], [0.25, 0.25]], [[0.5, 0.5], [0.5, 0.5]]) == 0.0


def test_the_ball_is_not_convex_in_the_doublets() -> None:
    """Remark "Nonconvexity": f(θ_1), f(θ_2) ≤ 1.6, but f of their midpoint is above."""
    theta = np.array([[0.2, 0.375], [0.375, 0.05]])
    one = np.array([[0.9, 0.045], [0.045, 0.01]])
    two = np.array([[0.01, 0.045], [0.045, 0.9]])
    own = float((theta * np.log(rows(theta))).sum())

    def f(model: np.ndarray) -> float:
        return conditional_entropy(theta, rows(model)) - own

    assert f(one) <= f(two) <= 1.6
    assert f((one + two) / 2) > 1.6


def test_the_ball_is_convex_in_the_transition_matrix() -> None:
    theta = balanced(1, 4)
    one, two = rows(balanced(2, 4)), rows(balanced(3, 4))
    middle = conditional_entropy(theta, (one + two) / 2)
    chord = (conditional_entropy(theta, one) + conditional_entropy(theta, two)) / 2
    assert middle < chord


def test_an_unbalanced_distribution_is_at_zero_from_many_models() -> None:
    """Remark "Identity of indiscernibles": θ' = I/2 is at distance zero from every diagonal θ."""
    assert conditional_entropy([[0.5, 0.0], [0.0, 0.5]], np.eye(2)) == 0.0


def test_an_impossible_transition_is_infinitely_far() -> None:
    assert conditional_entropy([[0.25, 0.25], [0.25, 0.25]], [[1, 0], [0.5, 0.5]]) == math.inf


def test_a_zero_of_the_estimate_costs_what_the_rest_of_the_row_loses() -> None:
    # The second row keeps 0.9 of its only transition: −0.5 log 0.9.
    theta = [[0.25, 0.25], [0.5, 0.0]]
    found = conditional_entropy(theta, [[0.5, 0.5], [0.9, 0.1]])
    assert found == pytest.approx(-0.5 * math.log(0.9), rel=1e-14)


def test_small_distances_keep_their_digits() -> None:
    theta = balanced(5, 5)
    step = 1e-9 * np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    near = rows(theta) + step
    # To second order KL = Σ p δ²/2 with δ = step/p.
    expected = float((theta.sum(axis=1)[:, None] * step**2 / rows(theta) / 2).sum())
    estimate = Estimate.from_doublets(theta)
    found = ConditionalEntropyBall(estimate, 1.0).divergence(near)
    # Rounding leaves about 1e-16/1e-9 of each δ.
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("share", [0.0, 1.0, 3.0, 1e6])
def test_pulling_inside_ends_inside(share: float) -> None:
    estimate = Estimate.from_doublets(balanced(8, 5))
    ball = ConditionalEntropyBall(estimate, 1e-3)
    outside = rows(estimate.transition + share * np.eye(5))
    pulled = ball.pull_inside(outside)
    assert ball.divergence(pulled) <= ball.radius
    assert np.abs(pulled.sum(axis=1) - 1).max() < 1e-14
    if ball.divergence(outside) <= ball.radius:
        assert pulled is outside


def test_pulling_inside_from_infinitely_far_gives_the_centre() -> None:
    estimate = Estimate.from_doublets(balanced(8, 3))
    pulled = ConditionalEntropyBall(estimate, 0.1).pull_inside(np.eye(3))
    assert np.array_equal(pulled, estimate.transition)


@pytest.mark.parametrize(
    ("doublets", "transition", "message"),
    [
        ([[0.5, 0.5]], [[1.0]], "square"),
        (np.empty((0, 0)), np.eye(2), r"doublets must be a square matrix, but has shape \(0, 0\)"),
        ([[0.5, 0.5], [0.5, 0.5]], np.eye(2), "sum to 2"),
        ([[1.5, -0.5], [0.0, 0.0]], np.eye(2), r"entry \(0, 1\) is -0.5"),
        ([[0.25, 0.25], [0.25, 0.25]], np.eye(3), "shape"),
        ([[0.25, 0.25], [0.25, 0.25]], [[0.5, 0.4], [0.5, 0.5]], "row 0 sums to 0.9"),
        ([[0.25, 0.25], [0.25, 0.25]], [[1.5, -0.5], [0.5, 0.5]], "negative"),
        ([[0.25, 0.25], [0.25, np.nan]], np.eye(2), "finite"),
        ([["a", "b"], ["c", "d"]], np.eye(2), "numbers"),
    ],
)
def test_bad_input(doublets: object, transition: object, message: str) -> None:
    with pytest.raises(MarkovDROError, match=message):
        conditional_entropy(doublets, transition)
