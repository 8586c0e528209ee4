"""Stationary law and relative values against answers that come another way.

The other ways: closed forms, exact rational arithmetic, singular vectors, powers of the matrix, the
deviation matrix, and central differences.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovdro import MarkovDROError, relative_values, stationary_law
from markovdro.chains import eliminated, factorised
from markovdro.chains._stationary import Method
from markovdro.errors import InputError, ReducibleChainError

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
EPS = float(np.finfo(np.float64).eps)
METHODS: tuple[Method, ...] = ("lu", "gth")
Array = npt.NDArray[np.float64]

both_methods = pytest.mark.parametrize("method", METHODS)
seeds = pytest.mark.parametrize("seed", range(5))


def random_chain(seed: int, size: int) -> tuple[Array, Array]:
    """Return rows drawn uniformly from the simplex, and a loss."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(size), size=size), rng.normal(size=size)


def deviation_matrix(transition: Array, stationary: Array) -> Array:
    """``(I − P + 1π)⁻¹ − 1π``, which takes L to h."""
    ones = np.ones((len(stationary), 1)) * stationary
    deviation: Array = np.linalg.inv(np.eye(len(stationary)) - transition + ones) - ones
    return deviation


def rounding(transition: Array) -> float:
    """Ten times what rounding can do to a linear system of this condition."""
    size = len(transition)
    system = np.eye(size) - transition + np.ones((size, size)) / size
    return float(10 * size * EPS * np.linalg.cond(system))


def null_vector(transition: Array) -> Array:
    """Return the stationary law as the singular vector of ``Pᵀ − I`` for the singular value 0."""
    vector = np.linalg.svd(transition.T - np.eye(len(transition)))[2][-1]
    law: Array = vector / vector.sum()
    return law


def solve_exactly(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination on fractions."""
    size = len(right)
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(size):
        pivot = next(i for i in range(k, size) if table[i][k] != 0)
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(size):
            if i != k:
                factor = table[i][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


def exact_long_run(transition: Array, loss: Array) -> tuple[list[Fraction], list[Fraction]]:
    """π and h in rational arithmetic, from the entries off the diagonal, which fix the chain."""
    size = len(transition)
    generator = [[Fraction(float(entry)) for entry in row] for row in transition]
    for i, row in enumerate(generator):
        row[i] = -(sum(row, Fraction(0)) - row[i])
    columns = [list(column) for column in zip(*generator, strict=True)]
    zeros = [Fraction(0)] * (size - 1)
    law = solve_exactly([[Fraction(1)] * size, *columns[1:]], [Fraction(1), *zeros])
    losses = [Fraction(float(entry)) for entry in loss]
    mean = sum((p * entry for p, entry in zip(law, losses, strict=True)), Fraction(0))
    negative = [[-entry for entry in row] for row in generator[1:]]
    centred = [entry - mean for entry in losses[1:]]
    return law, solve_exactly([law, *negative], [Fraction(0), *centred])


def relative_error(found: Array, exact: list[Fraction]) -> float:
    """Return the largest relative error of an entry."""
    pairs = zip(found, exact, strict=True)
    return float(max(abs(Fraction(float(a)) / b - 1) for a, b in pairs))


def two_pairs(link: float) -> Array:
    """Two pairs of states: 0 and 1, 2 and 3, with links of this size from one pair to the other."""
    return np.array(
        [
            [0.5 - link, 0.5, link, 0.0],
            [0.25, 0.75, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.5],
            [2 * link, 0.0, 0.5, 0.5 - 2 * link],
        ]
    )


class TestClosedForms:
    @both_methods
    @pytest.mark.parametrize(("p", "q"), [(0.1, 0.3), (1.0, 1.0), (0.5, 0.5), (1e-3, 1.0)])
    def test_two_states(self, method: Method, p: float, q: float) -> None:
        chain = np.array([[1 - p, p], [q, 1 - q]])
        law, losses = np.array([q, p]) / (p + q), np.array([2.0, -1.0])
        np.testing.assert_allclose(stationary_law(chain, method=method), law, rtol=16 * EPS)
        # The difference of h is (L_0 − L_1)/(p + q), and π·h = 0.
        difference = 3.0 / (p + q)
        values = np.array([law[1] * difference, -law[0] * difference])
        found = relative_values(chain, losses, method=method)
        np.testing.assert_allclose(found, values, rtol=0, atol=16 * EPS * difference)

    @both_methods
    def test_a_doubly_stochastic_chain_is_uniform(self, method: Method) -> None:
        chain = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
        law = stationary_law(chain, method=method)
        np.testing.assert_allclose(law, np.full(3, 1 / 3), rtol=16 * EPS)

    @both_methods
    def test_birth_and_death(self, method: Method) -> None:
        # Detailed balance: π_{i+1} = 2 π_i.
        chain = np.diag(np.full(9, 0.5), 1) + np.diag(np.full(9, 0.25), -1)
        chain += np.diag(1 - chain.sum(axis=1))
        law = 2.0 ** np.arange(10)
        found = stationary_law(chain, method=method)
        np.testing.assert_allclose(found, law / law.sum(), rtol=rounding(chain))

    @both_methods
    def test_a_cycle_has_period_three_and_is_uniform(self, method: Method) -> None:
        cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
        law = stationary_law(cycle, method=method)
        np.testing.assert_allclose(law, np.full(3, 1 / 3), rtol=16 * EPS)

    @both_methods
    def test_a_reflected_walk_of_period_two(self, method: Method) -> None:
        walk = [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]]
        law = stationary_law(walk, method=method)
        np.testing.assert_allclose(law, [0.25, 0.5, 0.25], rtol=16 * EPS)
        # h_0 − h_1 = 1 − 1/4, h_2 − h_1 = −1/4, and h_0/4 + h_1/2 + h_2/4 = 0.
        values = relative_values(walk, [1, 0, 0], method=method)
        np.testing.assert_allclose(values, [0.625, -0.125, -0.375], rtol=0, atol=16 * EPS)

    @both_methods
    def test_one_state(self, method: Method) -> None:
        assert stationary_law([[1]], method=method).tolist() == [1.0]
        assert relative_values([[1]], [5.0], method=method).tolist() == [0.0]

    @both_methods
    def test_a_transient_state_has_no_share(self, method: Method) -> None:
        chain = [[0.5, 0.25, 0.25], [0.0, 0.9, 0.1], [0.0, 0.3, 0.7]]
        law = stationary_law(chain, method=method)
        assert law[0] == 0.0
        np.testing.assert_allclose(law[1:], [0.75, 0.25], rtol=64 * EPS)
        # With L = e_0: c = 0, h_1 = h_2 = 0 and h_0 = 1/(1 − 0.5), the expected number of visits.
        values = relative_values(chain, [1, 0, 0], method=method)
        np.testing.assert_allclose(values, [2, 0, 0], rtol=0, atol=64 * EPS)

    @both_methods
    def test_a_transient_state_that_is_hard_to_leave_has_no_share(self, method: Method) -> None:
        chain = [[0.5, 0.5, 0], [0.25, 0.75, 0], [1e-9, 0, 1 - 1e-9]]
        law = stationary_law(chain, method=method)
        assert law[2] == 0.0
        np.testing.assert_allclose(law[:2], [1 / 3, 2 / 3], rtol=64 * EPS)

    @both_methods
    def test_an_absorbing_state_takes_all(self, method: Method) -> None:
        chain = [[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0, 1]]
        assert stationary_law(chain, method=method).tolist() == [0.0, 0.0, 1.0]


class TestOracles:
    @both_methods
    @seeds
    def test_stationary_law_is_the_null_vector(self, method: Method, seed: int) -> None:
        chain, _ = random_chain(seed, 3 + 4 * seed)
        law = stationary_law(chain, method=method)
        np.testing.assert_allclose(law, null_vector(chain), rtol=0, atol=rounding(chain))

    @both_methods
    @seeds
    def test_stationary_law_is_the_limit_of_powers(self, method: Method, seed: int) -> None:
        chain, _ = random_chain(seed, 6)
        # Mixing with I/2 keeps π, and the second eigenvalue below 0.95: 0.95^1024 < 1e-22.
        power = np.linalg.matrix_power((chain + np.eye(6)) / 2, 1024)
        second = np.sort(np.abs(np.linalg.eigvals((chain + np.eye(6)) / 2)))[-2]
        assert second < 0.95
        law = stationary_law(chain, method=method)
        # Each of ten squarings doubles the relative error of row sums: 2^10·d rounded operations.
        np.testing.assert_allclose(law, power[0], rtol=0, atol=1024 * 6 * EPS)

    @both_methods
    @seeds
    def test_relative_values_come_from_the_deviation_matrix(
        self, method: Method, seed: int
    ) -> None:
        chain, loss = random_chain(seed, 3 + 4 * seed)
        expected = deviation_matrix(chain, null_vector(chain)) @ loss
        found = relative_values(chain, loss, method=method)
        tolerance = rounding(chain) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)

    @both_methods
    @seeds
    def test_random_chains_against_exact_arithmetic(self, method: Method, seed: int) -> None:
        chain, loss = random_chain(seed, 5)
        law, values = exact_long_run(chain, loss)
        tolerance = rounding(chain)
        assert relative_error(stationary_law(chain, method=method), law) < tolerance
        expected = np.array(values, dtype=float)
        found = relative_values(chain, loss, method=method)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)

    @seeds
    def test_the_two_methods_agree_on_many_states(self, seed: int) -> None:
        chain, loss = random_chain(seed, 120)
        mass = np.ones(120)
        one, other = factorised(chain, loss, mass), eliminated(chain, loss, mass)
        tolerance = rounding(chain)
        np.testing.assert_allclose(one.stationary, other.stationary, rtol=0, atol=tolerance)
        assert one.value == pytest.approx(other.value, abs=tolerance * np.abs(loss).max())
        shift = one.values - other.values
        spread = np.ptp(other.values)
        np.testing.assert_allclose(shift, shift[0], rtol=0, atol=tolerance * spread)

    @pytest.mark.parametrize("solve", [factorised, eliminated])
    @seeds
    def test_the_value_is_the_mean_loss(self, solve: Any, seed: int) -> None:
        chain, loss = random_chain(seed, 8)
        found = solve(chain, loss, np.ones(8))
        mean = float(null_vector(chain) @ loss)
        assert found.value == pytest.approx(mean, abs=rounding(chain) * np.abs(loss).max())


masses = st.integers(1, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.lists(st.floats(0.01, 1), min_size=d, max_size=d), min_size=d, max_size=d),
        st.lists(st.floats(-10, 10), min_size=d, max_size=d),
    )
)

# Any two of these rows share more than a hundredth of their mass, so that no relative value exceeds
# 100 times the spread of the loss, which is at most twice its size.
LARGEST_TIME = 200


@PROPERTY
@given(masses, st.sampled_from(METHODS))
def test_both_equations_hold(drawn: tuple[list[list[float]], list[float]], method: Method) -> None:
    chain, loss = np.array(drawn[0]), np.array(drawn[1])
    chain /= chain.sum(axis=1, keepdims=True)
    law = stationary_law(chain, method=method)
    values = relative_values(chain, loss, method=method)
    assert (law > 0).all()
    tolerance = rounding(chain)
    assert law.sum() == pytest.approx(1, abs=tolerance)
    np.testing.assert_allclose(law @ chain, law, rtol=0, atol=tolerance)
    scale = max(1.0, np.abs(loss).max(), np.abs(values).max())
    residual = values - chain @ values - (loss - law @ loss)
    np.testing.assert_allclose(residual, 0, rtol=0, atol=tolerance * scale)
    assert abs(law @ values) <= tolerance * scale


@PROPERTY
@given(masses, st.sampled_from(METHODS), st.floats(-5, 5), st.floats(0.1, 5))
def test_shifting_and_scaling_the_loss_scales_the_relative_values(
    drawn: tuple[list[list[float]], list[float]], method: Method, shift: float, scale: float
) -> None:
    chain, loss = np.array(drawn[0]), np.array(drawn[1])
    chain /= chain.sum(axis=1, keepdims=True)
    plain = relative_values(chain, loss, method=method)
    moved = relative_values(chain, scale * loss + shift, method=method)
    size = scale * np.abs(loss).max() + abs(shift)
    atol = LARGEST_TIME * rounding(chain) * size
    np.testing.assert_allclose(moved, scale * plain, rtol=0, atol=atol)


@PROPERTY
@given(masses, st.sampled_from(METHODS), st.randoms())
def test_relabelling_the_states_relabels_the_answers(
    drawn: tuple[list[list[float]], list[float]], method: Method, random: Any
) -> None:
    chain, loss = np.array(drawn[0]), np.array(drawn[1])
    chain /= chain.sum(axis=1, keepdims=True)
    order = list(range(len(loss)))
    random.shuffle(order)
    mixed = chain[np.ix_(order, order)]
    tolerance = rounding(chain)
    law = stationary_law(chain, method=method)
    np.testing.assert_allclose(
        stationary_law(mixed, method=method), law[order], rtol=0, atol=tolerance
    )
    values = relative_values(chain, loss, method=method)
    np.testing.assert_allclose(
        relative_values(mixed, loss[order], method=method),
        values[order],
        rtol=0,
        atol=LARGEST_TIME * tolerance * np.abs(loss).max(),
    )


class TestNearlyReducible:
    """Elimination without subtractions keeps every digit; one in 1e12 must be right there."""

    @pytest.mark.parametrize("seed", range(10))
    def test_elimination_is_exact_where_exits_are_twelve_orders_apart(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        size = 5
        chain = 10.0 ** -rng.uniform(0, 12, (size, size)) / size
        np.fill_diagonal(chain, 0)
        chain += np.diag(1 - chain.sum(axis=1))
        law, _ = exact_long_run(chain, np.zeros(size))
        assert relative_error(stationary_law(chain, method="gth"), law) < 1e-12

    @pytest.mark.parametrize("link", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-18, 1e-100])
    def test_elimination_is_exact_on_two_pairs_that_almost_fall_apart(self, link: float) -> None:
        chain, loss = two_pairs(link), np.array([0.0, 1.0, 2.0, 3.0])
        law, values = exact_long_run(chain, loss)
        assert relative_error(stationary_law(chain, method="gth"), law) < 1e-12
        found = relative_values(chain, loss, method="gth")
        # h is of the size 1/link, as are the times that its rounding errors multiply.
        scale = max(abs(value) for value in values)
        pairs = zip(found, values, strict=True)
        assert max(abs(Fraction(float(a)) - b) for a, b in pairs) < scale * Fraction(1, 10**12)

    @pytest.mark.parametrize("link", [1e-3, 1e-6, 1e-9])
    def test_factorisation_loses_what_the_gap_says(self, link: float) -> None:
        law, _ = exact_long_run(two_pairs(link), np.zeros(4))
        error = relative_error(stationary_law(two_pairs(link), method="lu"), law)
        assert error < 10 * 4 * EPS / link

    @both_methods
    def test_slow_states_keep_their_digits(self, method: Method) -> None:
        # Slowing state i down by s_i divides its stationary probability by s_i, exactly.
        base = np.array([[0.2, 0.5, 0.3], [0.4, 0.1, 0.5], [0.3, 0.6, 0.1]])
        slowness = np.array([1.0, 1e-6, 1e-12])
        chain = np.eye(3) + slowness[:, None] * (base - np.eye(3))
        # The entries off the diagonal, not 1 − P_kk, say how slow a state is.
        expected, _ = exact_long_run(base, np.zeros(3))
        law = np.array(expected, dtype=float) / slowness
        found = stationary_law(chain, method=method)
        np.testing.assert_allclose(found, law / law.sum(), rtol=1e-12)

    @pytest.mark.parametrize("link", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-20])
    def test_where_the_factorisation_cancels_state_reduction_takes_over(self, link: float) -> None:
        # At most five of sixteen digits are lost before it does; three are left for the solves.
        accurate = stationary_law(two_pairs(link), method="gth")
        np.testing.assert_allclose(
            stationary_law(two_pairs(link), method="lu"), accurate, rtol=1e-8
        )


class TestDerivatives:
    @both_methods
    @seeds
    def test_the_gradient_of_the_mean_loss_is_rank_one(self, method: Method, seed: int) -> None:
        """``∂(π·L)/∂P_ij = π_i h_j`` along every direction that keeps the row sums."""
        size, step = 5, 1e-4
        chain, loss = random_chain(seed, size)
        chain = 0.9 * chain + 0.1 / size  # entries above 0.02: steps stay inside
        law = stationary_law(chain, method=method)
        values = relative_values(chain, loss, method=method)
        deviation = deviation_matrix(chain, null_vector(chain))
        for i in range(size):
            for j in range(size - 1):
                direction = np.zeros((size, size))
                direction[i, j], direction[i, j + 1] = 1.0, -1.0
                up = stationary_law(chain + step * direction, method=method) @ loss
                down = stationary_law(chain - step * direction, method=method) @ loss
                slope = law[i] * (values[j] - values[j + 1])
                # π·L is c + ta/(1 − tb) in t, so that the central difference is a/(1 − t²b²).
                b = deviation[j, i] - deviation[j + 1, i]
                cut = 2 * abs(slope) * (step * b) ** 2
                noise = rounding(chain) * np.abs(loss).sum() / step
                assert (up - down) / (2 * step) == pytest.approx(slope, abs=cut + noise)

    @both_methods
    @pytest.mark.parametrize(
        ("p", "q", "loss"),
        [(0.5, 0.5, (1.0, 0.0)), (0.2, 0.4, (-1.0, 2.0)), (0.6, 0.3, (0.0, 5.0))],
    )
    def test_the_mean_loss_is_neither_convex_nor_concave(
        self, method: Method, p: float, q: float, loss: tuple[float, float]
    ) -> None:
        """The paper's remark: for two states the Hessian in (P_11, P_21) has this determinant."""

        def mean(first: float, second: float) -> float:
            chain = [[first, 1 - first], [second, 1 - second]]
            return float(stationary_law(chain, method=method) @ np.array(loss))

        step = 1e-4
        centre = mean(p, q)
        along_p = (mean(p + step, q) - 2 * centre + mean(p - step, q)) / step**2
        along_q = (mean(p, q + step) - 2 * centre + mean(p, q - step)) / step**2
        corners = mean(p + step, q + step) + mean(p - step, q - step)
        corners -= mean(p + step, q - step) + mean(p - step, q + step)
        across = corners / (4 * step**2)
        determinant = along_p * along_q - across**2
        difference = loss[0] - loss[1]
        # With s = 1 − p + q ≥ 0.7: fourth derivatives below 300|ΔL| cut off 300·step²/12 < 1e-6,
        # and rounding adds 16 ε/step² < 1e-6, to second derivatives below 10|ΔL|.
        tolerance = 4 * 10 * 2e-6 * difference**2
        assert determinant == pytest.approx(-(difference**2) / (1 - p + q) ** 4, abs=tolerance)
        assert determinant < 0


class TestInputs:
    @both_methods
    def test_are_not_changed(self, method: Method) -> None:
        chain, loss = random_chain(1, 4)
        fortran = np.asfortranarray(chain)
        before, before_loss = chain.copy(), loss.copy()
        relative_values(chain, loss, method=method)
        relative_values(fortran, loss, method=method)
        assert np.array_equal(chain, before)
        assert np.array_equal(fortran, before)
        assert np.array_equal(loss, before_loss)

    @pytest.mark.parametrize("solve", [factorised, eliminated])
    def test_of_the_kernels_are_not_changed(self, solve: Any) -> None:
        chain, loss = random_chain(2, 4)
        before, before_loss = chain.copy(), loss.copy()
        solve(chain, loss, np.ones(4))
        assert np.array_equal(chain, before)
        assert np.array_equal(loss, before_loss)

    def test_may_be_tables_and_series(self) -> None:
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame([[0.9, 0.1], [0.3, 0.7]])
        np.testing.assert_allclose(stationary_law(table), [0.75, 0.25], rtol=16 * EPS)
        values = relative_values(table, pd.Series([0.0, 1.0]))
        np.testing.assert_allclose(values, [-0.625, 1.875], rtol=16 * EPS)

    def test_rows_rounded_to_nine_digits_are_renormalised(self) -> None:
        rows = [[0.333333333, 0.666666666], [0.5, 0.5]]
        # [1/3, 2/3] once divided by its sum: π = (3/7, 4/7).
        np.testing.assert_allclose(stationary_law(rows), [3 / 7, 4 / 7], rtol=16 * EPS)

    @pytest.mark.parametrize(
        ("chain", "message"),
        [
            ([[0.5, 0.6], [0.5, 0.5]], r"row 0 sums to 1\.1; divide each row by its sum"),
            ([[0.5, 0.5], [0.5, 0.5000001]], "row 1 sums to 1.0000001"),
            ([[1.5, -0.5], [0.5, 0.5]], r"must not be negative, but entry \(0, 1\) is -0\.5"),
            ([[0.5, 0.5]], r"transition must be a square matrix, but has shape \(1, 2\)"),
            (np.zeros((0, 0)), r"transition must be a square matrix, but has shape \(0, 0\)"),
            ([0.5, 0.5], r"transition must be a matrix, but has shape \(2,\)"),
            ([[0.5, float("nan")], [1, 0]], r"finite, but holds nan at position \(0, 1\)"),
            ([[0.5, 0.5], [float("inf"), 0]], r"finite, but holds inf at position \(1, 0\)"),
            ("P", r"transition must be numbers, but holds something else \(str\)"),
        ],
    )
    def test_that_are_no_transition_matrix_are_refused(self, chain: Any, message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            stationary_law(chain)
        assert isinstance(caught.value, MarkovDROError)
        with pytest.raises(InputError, match=message):
            relative_values(chain, [1, 2])

    @pytest.mark.parametrize(
        ("loss", "message"),
        [
            ([1], "loss must have one entry for each of the 2 states, but has 1"),
            ([1, 2, 3], "loss must have one entry for each of the 2 states, but has 3"),
            ([1, float("nan")], "loss must be finite, but holds nan at position 1"),
            ([float("inf"), 0], "loss must be finite, but holds inf at position 0"),
            ([1, None], "loss must be finite, but holds None at position 1"),
            ([[1, 2]], r"loss must be one-dimensional, but has shape \(1, 2\)"),
            (["a", "b"], "loss must be numbers"),
        ],
    )
    def test_that_are_no_loss_are_refused(self, loss: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            relative_values([[0.5, 0.5], [0.5, 0.5]], loss)

    @both_methods
    def test_of_several_closed_classes_are_refused(self, method: Method) -> None:
        chain = [[1, 0, 0], [0.2, 0.3, 0.5], [0, 0, 1]]
        with pytest.raises(ReducibleChainError, match="2 closed classes") as caught:
            stationary_law(chain, method=method)
        assert "one holds 0, another 2" in str(caught.value)
        with pytest.raises(ReducibleChainError, match="not unique"):
            relative_values(chain, [1, 2, 3], method=method)

    @both_methods
    def test_whose_relative_values_overflow_are_refused(self, method: Method) -> None:
        # Each state lasts 1e200 steps, in which a loss of 1e200 adds up to 1e400.
        sticky = [[1, 1e-200], [1e-200, 1]]
        with pytest.raises(InputError, match=r"values are beyond .* the loss reaches 1e\+200"):
            relative_values(sticky, [0, 1e200], method=method)

    def test_whose_method_is_no_text_are_refused(self) -> None:
        method: Any = np.array(["lu", "gth"])
        with pytest.raises(InputError, match=r"method must be one of lu, gth, but is array\("):
            stationary_law([[0.5, 0.5], [0.5, 0.5]], method=method)

    def test_of_an_unknown_method_are_refused(self) -> None:
        with pytest.raises(InputError, match="method must be one of lu, gth, but is 'qr'"):
            stationary_law([[0.5, 0.5], [0.5, 0.5]], method="qr")  # type: ignore[arg-type]
