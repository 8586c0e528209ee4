"""Numbers of every kind are read alike, and what is no number is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from markovdro import (
    Estimate,
    PseudoCounts,
    TransitionCounts,
    ZeroPerturbation,
    conditional_entropy,
    estimate,
    relative_values,
    stationary_law,
    worst_case,
    worst_case_batch,
    worst_case_path,
)
from markovdro.errors import DataError, InputError

COIN = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]])
HALF = np.full((2, 2), 0.5)
QUARTER = np.full((2, 2), 0.25)

# Where numbers come in, as a function of the first of them; the others fit.
VECTORS: dict[str, Callable[[Any], object]] = {
    "loss": lambda loss: worst_case(loss, COIN, 0.1),
    "loss 1": lambda loss: worst_case_batch([[0, 1], loss], COIN, 0.1),
    "loss of a path": lambda loss: worst_case_path(loss, COIN, [0.1]),
    "loss of a chain": lambda loss: relative_values(HALF, loss),
}
MATRICES: dict[str, tuple[Callable[[Any], object], Any]] = {
    "counts": (TransitionCounts.from_matrix, [[1, 2], [3, 4]]),
    "doublets": (Estimate.from_doublets, QUARTER),
    "doublets to measure": (lambda theta: conditional_entropy(theta, HALF), QUARTER),
    "transition": (stationary_law, HALF),
    "transition to measure": (lambda chain: conditional_entropy(QUARTER, chain), HALF),
    "start": (lambda chain: worst_case([0, 1], COIN, 0.1, start=chain), HALF),
    "support": (lambda support: estimate([[1, 1], [1, 1]], support=support), np.ones((2, 2))),
}
NUMBERS: dict[str, Callable[[Any], object]] = {
    "radius": lambda radius: worst_case([0, 1], COIN, radius),
    "radius 1": lambda radius: worst_case_batch([0, 1], COIN, [0.1, radius]),
    "time_limit": lambda seconds: worst_case([0, 1], COIN, 0.1, time_limit=seconds),
    "tolerance": lambda tolerance: worst_case([0, 1], COIN, 0.1, tolerance=tolerance),
    "epsilon": ZeroPerturbation,
    "count": PseudoCounts,
    "transitions_seen": lambda seen: Estimate.from_doublets(QUARTER, transitions_seen=seen),
}


@pytest.mark.parametrize("where", VECTORS)
def test_masked_losses_are_refused(where: str) -> None:
    hidden: Any = np.ma.array([0.0, 1.0], mask=[False, True])
    with pytest.raises(InputError, match="must not hide entries, but is masked; fill the hidden"):
        VECTORS[where](hidden)
    VECTORS[where](np.ma.array([0.0, 1.0]))


@pytest.mark.parametrize("where", MATRICES)
def test_masked_matrices_are_refused(where: str) -> None:
    call, matrix = MATRICES[where]
    name = where.partition(" ")[0]
    hidden: Any = np.ma.array(matrix, mask=[[False, False], [True, False]])
    for value in (hidden, list(hidden), [np.array(matrix)[0], hidden[1]]):
        with pytest.raises(InputError, match=f"{name} must not hide entries, but is"):
            call(value)
    call(np.ma.array(matrix, mask=False))


@pytest.mark.parametrize("where", NUMBERS)
def test_masked_numbers_are_refused(where: str) -> None:
    with pytest.raises(InputError, match=f"{where} must not hide entries, but is masked"):
        NUMBERS[where](np.ma.masked)


@pytest.mark.parametrize("where", VECTORS)
def test_integers_beyond_the_doubles_are_refused_as_losses(where: str) -> None:
    message = "must be finite, but the number at position 1 is beyond the largest double"
    for first in (0, 0.5):
        with pytest.raises(InputError, match=message):
            VECTORS[where]([first, 10**400])


@pytest.mark.parametrize("where", MATRICES)
def test_integers_beyond_the_doubles_are_refused_in_matrices(where: str) -> None:
    message = r"must be finite, but the number at position \(1, 0\) is beyond the largest double"
    with pytest.raises(InputError, match=message):
        MATRICES[where][0]([[0, 1], [10**400, 0]])


@pytest.mark.parametrize("where", NUMBERS)
def test_integers_beyond_the_doubles_are_refused(where: str) -> None:
    for huge in (10**400, 10**5000):
        with pytest.raises(InputError, match=f"{where} must be finite, but the number is beyond"):
            NUMBERS[where](huge)


@pytest.mark.parametrize("option", ["starts", "max_iterations", "threads"])
def test_whole_numbers_beyond_the_integers_are_refused(option: str) -> None:
    for huge, shown in ((10**30, "10{30}"), (10**5000, "a very large int")):
        with pytest.raises(InputError, match=f"{option} must be at most .*, but is {shown}"):
            worst_case([0, 1], COIN, 0.1, **{option: huge})  # type: ignore[arg-type]


@pytest.mark.parametrize("where", NUMBERS)
def test_truth_is_no_number(where: str) -> None:
    for truth in (True, np.True_, np.array(True), np.array(True, dtype=object)):
        with pytest.raises(InputError, match=f"{where} must be a number, but is True"):
            NUMBERS[where](truth)


def test_truth_is_one_in_an_indicator() -> None:
    by_number = worst_case([0, 1], COIN, 0.1)
    for indicator in ([False, True], np.array([False, True]), [0, True]):
        assert worst_case(indicator, COIN, 0.1).value == by_number.value


@pytest.mark.parametrize("text", ["1", b"1", np.str_("1"), np.datetime64("2020-01-01"), 1j])
def test_objects_that_are_no_numbers_are_refused(text: Any) -> None:
    objects = np.array([0, text], dtype=object)
    for call in VECTORS.values():
        with pytest.raises(
            InputError, match=r"must be numbers, but holds something else \(ndarray"
        ):
            call(objects)
    for call in NUMBERS.values():
        with pytest.raises(InputError, match="must be numbers, but holds something else"):
            call(np.array(text, dtype=object))


def test_objects_that_are_numbers_are_read() -> None:
    for one in (1, 1.0, Fraction(1), Decimal(1), np.float32(1), 2**70 // 2**70):
        assert worst_case(np.array([0, one], dtype=object), COIN, 0.1).loss.tolist() == [0, 1]
        assert worst_case([0, one], COIN, 0.1).loss.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("missing", "shown"),
    [(None, "None"), (float("nan"), "nan"), (Decimal("NaN"), "NaN"), (Decimal("inf"), "Infinity")],
)
def test_missing_values_are_shown_as_they_are(missing: Any, shown: str) -> None:
    with pytest.raises(InputError, match=f"but holds {shown} at position 1; remove missing"):
        worst_case(np.array([0, missing], dtype=object), COIN, 0.1)
    with pytest.raises(InputError, match=f"radius must be finite, but holds {shown}; remove"):
        worst_case([0, 1], COIN, missing)


def test_missing_values_of_pandas_tables_are_named() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame([[1, None], [3, 4]], dtype="Int64")
    with pytest.raises(DataError, match=r"holds (<NA>|nan) at position \(0, 1\); remove missing"):
        TransitionCounts.from_matrix(table)


@pytest.mark.parametrize(
    "counts",
    [
        [[1, -1], [1, 1]],
        [[1, np.nan], [1, 1]],
        [[1, None], [1, 1]],
        [[1, "a"], [1, 1]],
        [[1, 0.5], [1, 1]],
        [[1, 10**400], [1, 1]],
        [[1, 1]],
        [1, 1],
        "HTH",
        np.empty((0, 0)),
    ],
)
def test_counts_that_cannot_be_used_are_data_errors(counts: Any) -> None:
    for call in (TransitionCounts.from_matrix, estimate):
        with pytest.raises(DataError, match="counts must"):
            call(counts)


@pytest.mark.parametrize("where", VECTORS)
@pytest.mark.parametrize("loss", [[-1e308, 1e308], [0, 1e308], [0, -2e300]])
def test_losses_too_large_to_compute_with_are_refused(where: str, loss: list[float]) -> None:
    message = r"must lie between -1e\+300 and 1e\+300, but holds (-2e\+300|-?1e\+308); give it in"
    with pytest.raises(InputError, match=message):
        VECTORS[where](loss)


def test_large_losses_are_computed_with() -> None:
    found = worst_case([-1e300, 1e300], COIN, 0.1)
    assert found.value == pytest.approx(1e300 * worst_case([-1, 1], COIN, 0.1).value)
    # (I − P)h = L − π·L for the coin that is tossed anew.
    assert relative_values(HALF, [-1e300, 1e300]).tolist() == pytest.approx([-1e300, 1e300])


def test_sums_beyond_the_doubles_are_not_one() -> None:
    with pytest.raises(InputError, match="row 0 sums to inf"):
        stationary_law([[1e308, 1e308], [0, 1]])
    with pytest.raises(InputError, match="doublets must sum to one, but sum to inf"):
        Estimate.from_doublets([[1e308, 1e308], [0, 1]])


@pytest.mark.parametrize("precision", [np.float16, np.float32])
@pytest.mark.parametrize("states", [2, 5, 40, 300])
def test_chains_in_short_precision_are_read(precision: Any, states: int) -> None:
    rng = np.random.default_rng(states)
    for _ in range(20):
        chain = rng.random((states, states)).astype(precision)
        chain /= chain.sum(axis=1, keepdims=True)
        law = stationary_law(chain)
        wide = chain.astype(np.float64)
        exact = stationary_law(wide / wide.sum(axis=1, keepdims=True))
        # The same renormalisation, of the same numbers.
        np.testing.assert_allclose(law, exact, rtol=1e-12)
        if precision is np.float32:
            theta = Estimate.from_doublets((chain / np.float32(states)).astype(precision))
            assert theta.doublets.sum() == pytest.approx(1, abs=1e-12)
            assert conditional_entropy(chain / np.float32(states), chain) < 1e-6


def test_short_precision_excuses_rounding_only() -> None:
    chain = np.array([[0.5, 0.5], [0.5, 0.50001]], dtype=np.float32)
    with pytest.raises(InputError, match=r"row 1 sums to 1\.0000"):
        stationary_law(chain)
    with pytest.raises(InputError, match=r"doublets must sum to one, but sum to 1\.0000"):
        Estimate.from_doublets(chain / 2)
    # The same numbers as doubles were not rounded.
    rounded = np.array([[0.5, 0.5], [0.1, 0.9 + 1e-7]])
    stationary_law(rounded.astype(np.float32))
    with pytest.raises(InputError, match=r"row 1 sums to 1\.0000001"):
        stationary_law(rounded)
