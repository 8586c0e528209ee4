"""Names decide which state a number belongs to; position does only where there are none."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

from markovdro import (
    Estimate,
    TransitionCounts,
    conditional_entropy,
    count_transitions,
    estimate,
    relative_values,
    simulate,
    stationary_law,
    worst_case,
    worst_case_batch,
    worst_case_path,
)
from markovdro.errors import DataError, InputError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

# A machine was up on 40 days of 60; the states are sorted: down, up.
DAYS = 6 * ["up", "up", "up", "down", "down", "up", "up", "up", "up", "down"]
MACHINE = estimate(count_transitions(DAYS), smoothing="pseudo-counts")
BY_POSITION = worst_case([900, 0], MACHINE, 0.05).value

NAMED_LOSSES = [
    {"up": 0, "down": 900},
    {"down": 900, "up": 0},
    collections.OrderedDict(up=0, down=900.0),
    pd.Series({"up": 0, "down": 900}),
    pd.Series([0, 900], index=["up", "down"], dtype="Int64"),
    pd.Series([900, 0], index=pd.CategoricalIndex(["down", "up"])),
]
PLAIN_LOSSES = [
    [900, 0],
    (900, 0),
    np.array([900, 0]),
    pd.Series([900, 0]),
    pl.Series([900, 0]),
    pd.Index([900, 0]),
]


@pytest.mark.parametrize("loss", NAMED_LOSSES + PLAIN_LOSSES, ids=repr)
def test_a_loss_goes_to_the_state_that_it_names(loss: Any) -> None:
    assert round(BY_POSITION, 1) == 445.5
    found = worst_case(loss, MACHINE, 0.05)
    assert found.value == BY_POSITION
    assert found.loss.tolist() == [900, 0]
    for batch in (
        worst_case_batch(loss, MACHINE, 0.05),
        worst_case_batch([loss, loss], MACHINE, 0.05),
        worst_case_path(loss, MACHINE, [0.05]),
    ):
        assert batch.losses.tolist() == [[900, 0]] * len(batch)
        assert batch.values[0] == pytest.approx(BY_POSITION, rel=1e-5)


@pytest.mark.parametrize(
    "losses",
    [
        pd.DataFrame({"up": [0, 1], "down": [900, 2]}),
        pd.DataFrame({"up": [0, 1], "down": [900, 2]}, index=["today", "tomorrow"]),
        pd.DataFrame([[900, 0], [2, 1]]),
        pl.DataFrame({"up": [0, 1], "down": [900, 2]}),
        pl.DataFrame([[900, 2], [0, 1]]),
        [{"up": 0, "down": 900}, pd.Series([1, 2], index=["up", "down"])],
        [[900, 0], {"up": 1, "down": 2}],
        (loss for loss in ([900, 0], [2, 1])),
    ],
    ids=type,
)
def test_a_table_of_losses_has_one_in_each_row(losses: Any) -> None:
    batch = worst_case_batch(losses, MACHINE, 0.05)
    assert batch.losses.tolist() == [[900, 0], [2, 1]]


def test_one_named_loss_fits_estimates_in_different_orders() -> None:
    turned = estimate(count_transitions(DAYS, states=["up", "down"]), smoothing="pseudo-counts")
    batch = worst_case_batch({"up": 0, "down": 900}, [MACHINE, turned], 0.05)
    assert batch.losses.tolist() == [[900, 0], [0, 900]]
    assert batch.values == pytest.approx([BY_POSITION] * 2)


def test_an_iterator_of_numbers_is_one_loss() -> None:
    assert worst_case_batch(iter([900, 0]), MACHINE, 0.05).losses.tolist() == [[900, 0]]


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (
            {"up": 0},
            r"loss must name each state once, but 'down' is missing; correct the names, or",
        ),
        ({"up": 0, "off": 9}, "once, but 'off' is no state and 'down' is missing; correct"),
        ({"up": 0, "down": 9, "off": 5}, "each state once, but 'off' is no state; correct"),
        ({0: 0, 1: 900}, "once, but 0 is no state and 'down' is missing"),
        ({}, "once, but 'down' is missing"),
        (
            pd.Series([0, 9, 9], index=["up", "down", "up"]),
            "each state once, but some are repeated",
        ),
        (pd.Series([0, 9, 9], index=[7, 8, 9])[1:], "each state once, but 8 is no state"),
        (pd.Series({"up": 0, "down": None}), "loss must be finite, but holds nan at position 1"),
        ({"up": 0, "down": None}, "loss must be finite, but holds None at position 1"),
        ({"up": 0, "down": "dear"}, "loss must be numbers"),
        (pd.Series([1, 2, 3]), "loss must have one entry for each of the 2 states, but has 3"),
        (pd.DataFrame({"up": [0], "down": [900]}), r"one-dimensional, but has shape \(1, 2\)"),
    ],
)
def test_names_that_are_not_the_states_are_refused(loss: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        worst_case(loss, MACHINE, 0.05)


def test_default_numbers_and_the_same_states_in_another_order_could_mean_both() -> None:
    chain = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=[1, 0])
    message = "loss must have names that were set, because the default numbers are the states in an"
    with pytest.raises(InputError, match=message):
        worst_case(pd.Series([5, 7]), chain, 0.1)
    # These numbers were set, and are names.
    assert worst_case({0: 5, 1: 7}, chain, 0.1).loss.tolist() == [7, 5]
    assert worst_case(pd.Series([7, 5], index=[1, 0]), chain, 0.1).loss.tolist() == [7, 5]
    assert worst_case([5, 7], chain, 0.1).loss.tolist() == [5, 7]


def test_dates_name_states_in_each_of_their_types() -> None:
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "datetime64[ns]")
    chain = estimate(count_transitions(days))
    for index in (pd.to_datetime(days[:2])[::-1], days[:2][::-1], list(days[:2][::-1])):
        assert worst_case(pd.Series([2, 1], index=index), chain, 0.1).loss.tolist() == [1, 2]


def test_relative_values_take_names_from_the_table() -> None:
    table = pd.DataFrame([[0.1, 0.9], [0.7, 0.3]], index=["x", "y"], columns=["y", "x"])
    plain = [[0.9, 0.1], [0.3, 0.7]]
    expected = relative_values(plain, [0, 1])
    for loss in ([0, 1], {"y": 1, "x": 0}, pd.Series({"y": 1, "x": 0})):
        assert relative_values(table, loss).tolist() == expected.tolist()
    assert relative_values(plain, {1: 1, 0: 0}).tolist() == expected.tolist()
    with pytest.raises(InputError, match="loss must name each state once, but 'y' is no state and"):
        relative_values(plain, {"y": 1, "x": 0})


# From x to x 1, x to y 2, y to x 3, y to y 4.
COUNTS = [[1, 2], [3, 4]]
NAMED_COUNTS = [
    pd.DataFrame(COUNTS, index=["x", "y"], columns=["x", "y"]),
    pd.DataFrame([[2, 1], [4, 3]], index=["x", "y"], columns=["y", "x"]),
    pd.DataFrame(COUNTS, columns=["x", "y"]),
    pd.DataFrame(COUNTS, index=["x", "y"]),
    pl.DataFrame({"x": [1, 3], "y": [2, 4]}),
]


@pytest.mark.parametrize("table", NAMED_COUNTS)
def test_a_table_of_counts_names_its_states(table: Any) -> None:
    counts = TransitionCounts.from_matrix(table)
    assert counts.states == ("x", "y")
    assert counts.matrix.tolist() == COUNTS
    assert estimate(table).states == ("x", "y")
    theta = Estimate.from_doublets(table / 10)
    assert theta.states == ("x", "y")
    np.testing.assert_allclose(theta.doublets, np.array(COUNTS) / 10, rtol=1e-15)
    rows = [[1 / 3, 2 / 3], [3 / 7, 4 / 7]]
    assert conditional_entropy(table / 10, rows) == pytest.approx(0, abs=1e-15)
    assert TransitionCounts.from_matrix(table, states=["x", "y"]).matrix.tolist() == COUNTS


@pytest.mark.parametrize("table", NAMED_COUNTS[:2])
def test_given_states_order_a_table_that_names_rows_and_columns(table: Any) -> None:
    counts = TransitionCounts.from_matrix(table, states=["y", "x"])
    assert counts.states == ("y", "x")
    assert counts.matrix.tolist() == [[4, 3], [2, 1]]
    theta = Estimate.from_doublets(table / 10, states=["y", "x"])
    np.testing.assert_allclose(theta.doublets, [[0.4, 0.3], [0.2, 0.1]], rtol=1e-15)


@pytest.mark.parametrize("table", NAMED_COUNTS[2:])
def test_names_of_one_axis_say_nothing_of_the_other(table: Any) -> None:
    message = "only the (rows|columns) of counts are named, and not in the order of the states"
    with pytest.raises(DataError, match=message):
        TransitionCounts.from_matrix(table, states=["y", "x"])


@pytest.mark.parametrize("table", [pd.DataFrame(COUNTS), pl.DataFrame([[1, 3], [2, 4]])])
def test_tables_without_names_are_taken_by_position(table: Any) -> None:
    assert TransitionCounts.from_matrix(table).states == (0, 1)
    counts = TransitionCounts.from_matrix(table, states=["y", "x"])
    assert counts.states == ("y", "x")
    assert counts.matrix.tolist() == COUNTS


def test_a_table_that_pandas_counted_is_what_we_count() -> None:
    log = [3, 1, 2, 2, 1, 3, 3, 1, 1, 2, 3]
    table = pd.crosstab(pd.Series(log[:-1]), pd.Series(log[1:]))
    counted = TransitionCounts.from_matrix(table[[2, 3, 1]])
    assert counted.states == (1, 2, 3)
    assert counted.matrix.tolist() == count_transitions(log).matrix.tolist()


@pytest.mark.parametrize(
    ("table", "states", "message"),
    [
        (
            pd.DataFrame(COUNTS, index=["x", "y"], columns=["x", "z"]),
            None,
            "the columns of counts must name each state once, but 'z' is no state and 'y' is miss",
        ),
        (
            NAMED_COUNTS[0],
            ["a", "b"],
            "the rows of counts must name each state once, but 'x' is no state and 'a' is missing",
        ),
        (NAMED_COUNTS[0], ["x"], "states must name the 2 rows of counts, but there are 1"),
        (
            pd.DataFrame(COUNTS, index=["x", "x"], columns=["x", "y"]),
            None,
            "each state must be given once, but 'x' is repeated",
        ),
        (
            pd.DataFrame([[1, 2, 0], [3, 4, 0]], index=["x", "y"], columns=["x", "y", "z"]),
            None,
            r"counts must be a square matrix, but has shape \(2, 3\)",
        ),
        (
            pd.DataFrame(COUNTS),
            [1, 0],
            "the rows of counts must have names that were set, because the default numbers are",
        ),
        (
            pd.DataFrame({"x": [1, None], "y": [2, 3]}, dtype="Int64"),
            None,
            r"counts must be finite, but holds (<NA>|nan) at position \(1, 0\); remove missing",
        ),
    ],
)
def test_tables_whose_names_do_not_fit_are_refused(table: Any, states: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TransitionCounts.from_matrix(table, states=states)


def test_chains_that_are_tables_name_their_states() -> None:
    table = pd.DataFrame([[0.1, 0.9], [0.7, 0.3]], index=["x", "y"], columns=["y", "x"])
    np.testing.assert_allclose(stationary_law(table), [0.75, 0.25], rtol=1e-14)
    walk = simulate(table, 5, seed=1)
    assert walk.tolist() == ["xy"[state] for state in simulate([[0.9, 0.1], [0.3, 0.7]], 5, seed=1)]
    assert simulate(table, 2, seed=1, start="y", states=["y", "x"])[0] == "y"
    chain = Estimate.from_doublets([[0.4, 0.1], [0.1, 0.4]], states=["y", "x"])
    # In the order y, x the rows are 0.7, 0.3 and 0.1, 0.9.
    turned = [[0.7, 0.3], [0.1, 0.9]]
    assert conditional_entropy(chain, table) == conditional_entropy(chain, turned)
    by_name = worst_case([0, 1], chain, 0.01, start=table, starts=1)
    assert by_name.value == worst_case([0, 1], chain, 0.01, start=turned, starts=1).value


def test_a_support_that_is_a_table_goes_by_its_names() -> None:
    support = pd.DataFrame(
        [[True, False], [True, True]], index=["up", "down"], columns=["down", "up"]
    )
    counts = TransitionCounts.from_matrix([[5, 5], [5, 0]], states=["down", "up"])
    # From up to up is impossible; the states are down, up.
    assert estimate(counts, support=support).support.tolist() == [[True, True], [True, False]]
    with pytest.raises(InputError, match="the rows of support must name each state once"):
        estimate(COUNTS, support=support)
