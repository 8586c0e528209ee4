"""Labels of every kind are counted alike, and data that cannot be counted is refused by name."""

from __future__ import annotations

import datetime as dt
import enum
from collections import namedtuple
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from markovdro import MarkovDROError, count_transitions
from markovdro.errors import DataError

# Every trajectory below is first, second, second, first: one transition each of first → second,
# second → second and second → first.
HAND_COUNT = [[0, 1], [1, 1]]


class Mood(enum.Enum):
    CALM = 1
    WILD = 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0, 1),
        (-5, 1_000_000_000),
        (2**63 - 2, 2**63 - 1),
        (2**63, 2**63 + 1),
        (-(2**80), 2**80),
        (0.25, 0.5),
        (1, 1.5),
        ("a", "b"),
        (b"a", b"b"),
        (False, True),
        ((0, 1), (1, 0)),
        ((0, ("x",)), (1, ("x",))),
        (frozenset({1}), frozenset({1, 2})),
        (Fraction(1, 3), Fraction(1, 2)),
        (Decimal("0.1"), Decimal("0.2")),
        (dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
        (np.int8(-1), np.int8(5)),
        (np.str_("a"), np.str_("b")),
    ],
    ids=repr,
)
def test_labels_may_be_any_hashable_thing(first: Hashable, second: Hashable) -> None:
    # Inside a list of trajectories there is no doubt that a tuple is a label.
    counts = count_transitions([[first, second, second, first]])
    assert counts.states == (first, second)
    assert counts.matrix.tolist() == HAND_COUNT


def test_labels_that_cannot_be_sorted_keep_the_order_of_appearance() -> None:
    counts = count_transitions(["b", 1, ("x",), Mood.WILD, 1, "a"])
    # b→1, 1→(x,), (x,)→WILD, WILD→1, 1→a
    assert counts.states == ("b", 1, ("x",), Mood.WILD, "a")
    assert counts.matrix.tolist() == [
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 1],
        [0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_members_of_an_enumeration_keep_the_order_of_appearance() -> None:
    counts = count_transitions([Mood.WILD, Mood.CALM, Mood.CALM, Mood.WILD])
    assert counts.states == (Mood.WILD, Mood.CALM)
    assert counts.matrix.tolist() == HAND_COUNT


def test_numbers_and_their_text_are_different_labels() -> None:
    counts = count_transitions([1, "1", "1", 1])
    assert counts.states == (1, "1")
    assert counts.matrix.tolist() == HAND_COUNT


def test_numbers_do_not_become_text_where_trajectories_differ_in_kind() -> None:
    counts = count_transitions([np.array([1, 2]), np.array(["1", "2"])])
    # 1→2 and "1"→"2"
    assert counts.states == (1, 2, "1", "2")
    assert counts.matrix.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_truth_is_one_as_in_a_dictionary() -> None:
    # Python holds True == 1, so that they are one state.
    counts = count_transitions([True, 2, 2, 1])
    assert counts.states == (1, 2)
    assert counts.matrix.tolist() == HAND_COUNT


PAIRS = [(0, 1), (1, 0), (1, 0), (0, 1)]


@pytest.mark.parametrize(
    "data",
    [[(0, 1, 0), (1, 0)], [(0, 1), (1, 0)], ((0, 1), (1, 0)), [(0, 1, 0)], [("up", "down")] * 9],
)
def test_a_list_of_tuples_could_be_labels_or_trajectories(data: Any) -> None:
    message = (
        r"holds only tuples, such as \((0, 1|'up').*which could be labels or trajectories; pass"
    )
    with pytest.raises(DataError, match=message) as caught:
        count_transitions(data)
    assert r"[list(data)] to take each tuple as a label" in str(caught.value)
    assert r"list(map(list, data)) to take each as a trajectory" in str(caught.value)


def test_each_remedy_for_a_list_of_tuples_does_what_it_says() -> None:
    for data in (PAIRS, tuple(PAIRS)):
        labels = count_transitions([list(data)])
        assert labels.states == ((0, 1), (1, 0))
        assert labels.matrix.tolist() == HAND_COUNT
        # 0→1 and 1→0, twice each, and no seam.
        trajectories = count_transitions(list(map(list, data)))
        assert trajectories.matrix.tolist() == [[0, 2], [2, 0]]
        assert trajectories.trajectories == 4


def test_tuples_are_labels_where_nothing_else_is_possible() -> None:
    objects = np.empty(4, dtype=object)
    objects[:] = PAIRS
    states = ((1, 0), (0, 1))
    for counts in (
        count_transitions(objects),
        count_transitions(pair for pair in PAIRS),
        count_transitions([PAIRS]),
        count_transitions(PAIRS, states=states),
    ):
        assert set(counts.states) == set(states)
        assert counts.matrix.sum() == 3
    assert count_transitions(PAIRS, states=states).states == states
    # Beside a label that is no sequence, a tuple can be no trajectory.
    assert count_transitions([(0, 1), "x", (0, 1)]).states == ((0, 1), "x")
    # A tuple with named fields is a record.
    point = namedtuple("point", ["x", "y"])
    assert count_transitions([point(0, 1), point(1, 0)]).states == (point(0, 1), point(1, 0))


def test_states_that_are_no_tuples_leave_a_list_of_tuples_open() -> None:
    with pytest.raises(DataError, match="could be labels or trajectories"):
        count_transitions([(0, 1, 0), (1, 0)], states=[0, 1])


def test_lists_ranges_and_iterators_in_a_list_are_trajectories() -> None:
    for data in (
        [[0, 1, 2], [0, 1]],
        ([0, 1, 2], [0, 1]),
        [range(3), range(2)],
        [iter([0, 1, 2]), (label for label in (0, 1))],
        [range(3), np.arange(2)],
    ):
        counts = count_transitions(data)
        # 0→1 twice, 1→2 once; the seam 2→0 is not a transition.
        assert counts.matrix.tolist() == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]
        assert counts.trajectories == 2


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (np.uint8, 0, 2**8 - 1),
        (np.int8, -(2**7), 2**7 - 1),
        (np.uint16, 0, 2**16 - 1),
        (np.int16, -(2**15), 2**15 - 1),
        (np.uint32, 0, 2**32 - 1),
        (np.int32, -(2**31), 2**31 - 1),
        (np.uint64, 0, 2**64 - 1),
        (np.int64, -(2**63), 2**63 - 1),
        (np.uint64, 2**64 - 2, 2**64 - 1),
        (np.uint64, 2**63 - 1, 2**63),
        (np.uint64, 2**62 - 1, 2**62),
        (np.int64, 2**63 - 2, 2**63 - 1),
        (np.int64, -(2**63), -(2**63) + 1),
    ],
)
def test_integers_at_the_ends_of_their_range_do_not_overflow(
    dtype: type[np.integer[Any]], low: int, high: int
) -> None:
    counts = count_transitions(np.array([low, high, high, low], dtype=dtype))
    assert counts.states == (low, high)
    assert all(type(state) is int for state in counts.states)
    assert counts.matrix.tolist() == HAND_COUNT


def test_many_short_integers_of_wide_spread_do_not_overflow() -> None:
    # 1000 times -128, 127, 0: -128→127 and 127→0 1000 times each, 0→-128 999 times.
    counts = count_transitions(np.tile(np.array([-128, 127, 0], dtype=np.int8), 1000))
    assert counts.states == (-128, 0, 127)
    assert counts.matrix.tolist() == [[0, 0, 1000], [999, 0, 0], [0, 1000, 0]]


def test_trajectories_of_different_integer_kinds_are_one_kind() -> None:
    trajectories = [np.array([255, 0], dtype=np.uint8), np.array([-1, 0], dtype=np.int8)]
    counts = count_transitions(trajectories)
    assert counts.states == (-1, 0, 255)
    assert counts.matrix.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "trajectory",
    [
        [-1, 2**63, 2**63 + 1, -1],
        [0.5, 2**53, 2**53 + 1, 0.5],
        [np.array([2**63, 2**63 + 1], dtype=np.uint64), np.array([-1, -2])],
        [np.array([2**53, 2**53 + 1]), np.array([0.5, 1.5])],
    ],
)
def test_large_integers_that_differ_stay_different(trajectory: list[Any]) -> None:
    # As doubles 2^63 and 2^63 + 1 are one number, and so are 2^53 and 2^53 + 1.
    flat = {
        label
        for item in trajectory
        for label in (item.tolist() if isinstance(item, np.ndarray) else [item])
    }
    counts = count_transitions(trajectory)
    assert set(counts.states) == flat


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_of_numpy_stay_dates(unit: str) -> None:
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-02", "2020-01-01"], f"datetime64[{unit}]")
    counts = count_transitions(days)
    assert [str(state)[:10] for state in counts.states] == ["2020-01-01", "2020-01-02"]
    assert counts.matrix.tolist() == HAND_COUNT


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_of_numpy_are_found_among_the_given_states(unit: str) -> None:
    days = np.array(["2020-01-02", "2020-01-01", "2020-01-01", "2020-01-02"], f"datetime64[{unit}]")
    kinds: list[Any] = [np.unique(days)[::-1], list(np.unique(days)[::-1]), days[:2].tolist()]
    for states in kinds[: 2 if unit == "ns" else 3]:
        for trajectory in (days, list(days)):
            counts = count_transitions(trajectory, states=states)
            assert [str(state)[:10] for state in counts.states] == ["2020-01-02", "2020-01-01"]
            assert counts.matrix.tolist() == HAND_COUNT


def test_spans_and_fractions_of_a_microsecond_are_found_among_the_given_states() -> None:
    spans = np.array([1, 2001, 2001, 1], "timedelta64[ns]")
    moments = np.array([1000, 1001, 1001, 1000], "datetime64[ns]")
    for labels in (spans, moments):
        kinds: list[Any] = [np.unique(labels), list(np.unique(labels))]
        for states in kinds:
            assert count_transitions(labels, states=states).matrix.tolist() == HAND_COUNT


def test_dates_and_other_labels_stay_dates_in_one_data_set() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
    counts = count_transitions([days, ["x", "x"]])
    assert [str(state)[:10] for state in counts.states] == ["2020-01-01", "2020-01-02", "x"]


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "object array": lambda labels: np.array(labels, dtype=object),
    "generator": lambda labels: (label for label in labels),
    "iterator": iter,
    "strided array": lambda labels: np.repeat(np.array(labels), 2)[::2],
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("labels", [[3, 7, 7, 3], ["x", "y", "y", "x"], [0.5, 1.5, 1.5, 0.5]])
def test_containers_are_counted_alike(container: str, labels: list[Any]) -> None:
    counts = count_transitions(CONTAINERS[container](labels))
    assert counts.states == (labels[0], labels[1])
    assert counts.matrix.tolist() == HAND_COUNT


def test_a_range_is_a_trajectory() -> None:
    assert count_transitions(range(3)).matrix.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ([3, 7, 7, 3], "int64"),
        ([3, 7, 7, 3], "uint8"),
        ([3, 7, 7, 3], "Int64"),
        ([0.5, 1.5, 1.5, 0.5], "float64"),
        ([False, True, True, False], "bool"),
        ([False, True, True, False], "boolean"),
        (["x", "y", "y", "x"], "object"),
        (["x", "y", "y", "x"], "string"),
        (["x", "y", "y", "x"], "category"),
        ([3, 7, 7, 3], "category"),
    ],
)
def test_pandas_series_are_counted_alike(labels: list[Any], dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(labels, dtype=dtype, index=[9, 8, 7, 6])
    counts = count_transitions(series)
    assert counts.states == (labels[0], labels[1])
    assert counts.matrix.tolist() == HAND_COUNT
    assert series.tolist() == labels


def test_pandas_dates_stay_dates() -> None:
    pd = pytest.importorskip("pandas")
    days = ["2020-01-01", "2020-01-02", "2020-01-02", "2020-01-01"]
    for series in (
        pd.Series(pd.to_datetime(days)).astype("datetime64[ns]"),
        pd.Series(pd.to_datetime(days).tz_localize("UTC")),
    ):
        counts = count_transitions(series)
        assert [str(state)[:10] for state in counts.states] == days[:2]
        assert counts.matrix.tolist() == HAND_COUNT


def test_a_list_of_pandas_timestamps_is_one_trajectory() -> None:
    pd = pytest.importorskip("pandas")
    first, second = pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")
    counts = count_transitions([first, second, second, first])
    assert counts.states == (first, second)
    assert counts.matrix.tolist() == HAND_COUNT


def test_several_pandas_series_are_several_trajectories() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"who": ["p", "p", "q", "q", "q"], "state": ["x", "y", "x", "x", "y"]})
    counts = count_transitions([group for _, group in table.groupby("who")["state"]])
    # x→y; then x→x, x→y. The seam y→x is not a transition.
    assert counts.matrix.tolist() == [[1, 2], [0, 0]]
    assert counts.trajectories == 2


@pytest.mark.parametrize("labels", [[3, 7, 7, 3], ["x", "y", "y", "x"], [False, True, True, False]])
def test_polars_series_are_counted_alike(labels: list[Any]) -> None:
    pl = pytest.importorskip("polars")
    counts = count_transitions(pl.Series(labels))
    assert counts.states == (labels[0], labels[1])
    assert counts.matrix.tolist() == HAND_COUNT


def test_polars_categories_dates_and_short_integers_are_counted_alike() -> None:
    pl = pytest.importorskip("polars")
    words = pl.Series(["x", "y", "y", "x"])
    for dtype in (pl.Categorical, pl.Enum(["x", "y"])):
        assert count_transitions(words.cast(dtype)).states == ("x", "y")
    numbers = pl.Series([0, 255, 255, 0], dtype=pl.UInt8)
    assert count_transitions(numbers).states == (0, 255)
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    dates = count_transitions(pl.Series([days[0], days[1], days[1], days[0]]))
    assert dates.states == tuple(days)
    assert dates.matrix.tolist() == HAND_COUNT
    several = count_transitions([words, words[:1], words[1:]])
    # x→y, y→y, y→x, and once more y→y, y→x.
    assert several.matrix.tolist() == [[0, 1], [2, 2]]


LEVELS = ["low", "mid", "high"]


def ordered_words(library: str, words: list[str], levels: list[str]) -> Any:
    if library == "pandas":
        pd = pytest.importorskip("pandas")
        return pd.Series(pd.Categorical(words, categories=levels, ordered=True))
    pl = pytest.importorskip("polars")
    return pl.Series(words, dtype=pl.Enum(levels))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ordered_categories_keep_their_order(library: str) -> None:
    words = ["low", "high", "high", "low"]
    for data in (
        ordered_words(library, words, LEVELS),
        [ordered_words(library, words, LEVELS), ordered_words(library, ["low"], LEVELS)],
    ):
        # Sorted as text "high" would be first; "mid" was not found.
        counts = count_transitions(data)
        assert counts.states == ("low", "high")
        assert counts.matrix.tolist() == HAND_COUNT
    one = ordered_words(library, words, LEVELS)
    assert count_transitions(one, states=["high", "low"]).states == ("high", "low")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_orders_of_categories_that_disagree_are_refused(library: str) -> None:
    one = ordered_words(library, ["low", "high"], LEVELS)
    other = ordered_words(library, ["low", "high"], LEVELS[::-1])
    message = "order their categories differently; give one order through the argument states"
    with pytest.raises(DataError, match=message):
        count_transitions([one, other])
    assert count_transitions([one, other], states=LEVELS).matrix[0, 2] == 2
    message = "the label 'none' is not among the ordered categories of the others; give the order"
    with pytest.raises(DataError, match=message):
        count_transitions([one, ["none", "low"]])


def test_states_may_be_a_series() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for states in (pd.Series(["y", "x"]), pl.Series(["y", "x"])):
        assert count_transitions(["x", "y"], states=states).states == ("y", "x")


NO_TRANSITION = "no transition to count: a trajectory must hold at least two observations"


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        ([], NO_TRANSITION),
        ([[], []], NO_TRANSITION),
        (np.array([]), NO_TRANSITION),
        (["H"], NO_TRANSITION),
        ([["H"], ["T"]], NO_TRANSITION),
        (["H", "H", "H"], "the trajectory never leaves the one state 'H'; give every possible"),
        ([1, None, 2], "the trajectory holds None at position 1; remove missing observations"),
        (["a", None], "the trajectory holds None at position 1"),
        ([1.0, float("nan")], "the trajectory holds nan at position 1"),
        (["a", float("nan")], "the trajectory holds nan at position 1"),
        ([1, np.float32("nan"), 2], "the trajectory holds nan at position 1"),
        (np.array([np.nan, 1.0, 2.0]), "the trajectory holds nan at position 0"),
        ([1, 2, float("inf")], "the trajectory holds inf at position 2"),
        (["a", -float("inf")], "the trajectory holds -inf at position 1"),
        ([Decimal(1), Decimal("NaN")], "the trajectory holds NaN at position 1"),
        ([Decimal(1), Decimal("Infinity")], "the trajectory holds Infinity at position 1"),
        (np.array([1, complex("nan"), 1]), r"the trajectory holds .*nan.* at position 1"),
        (
            np.array(["2020-01-01", "NaT"], "datetime64[D]"),
            "the trajectory holds NaT at position 1",
        ),
        ([np.datetime64("2020-01-01"), np.datetime64("NaT")], "the trajectory holds NaT at"),
        ([[1, 2], [2, None]], "trajectory 1 holds None at position 1"),
        ("HTTH", r"but is the text 'HTTH'; pass list\(text\) to take each character"),
        (b"HTTH", "but is the text b'HTTH'"),
        (["HT", ["H", "T"]], "the list mixes trajectories and labels: entry 0 is 'HT'"),
        ([[1, 2], 3], "the list mixes trajectories and labels: entry 1 is 3"),
        ([[1, 2], "HT"], "the list mixes trajectories and labels: entry 1 is 'HT'"),
        (np.zeros((2, 3)), r"must be one-dimensional, but has shape \(2, 3\); pass list\(array\)"),
        (np.array(3), r"must be one-dimensional, but has shape \(\)"),
        ([np.zeros((2, 2))], r"must be one-dimensional, but has shape \(2, 2\)"),
        ([{1}, {2}], "labels must be hashable, but unhashable type: 'set'"),
        ([[[1], [2]]], "labels must be hashable, but unhashable type: 'list'"),
        (3, r"must be a sequence of labels, but is 3 \(int\)"),
        (None, r"must be a sequence of labels, but is None \(NoneType\)"),
        (np.arange(20_001), "holds 20001 distinct labels, more than the 20000 states"),
        (list(map(str, range(20_001))), "holds 20001 distinct labels, more than the 20000 states"),
    ],
)
def test_data_that_cannot_be_counted_is_refused(trajectory: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        count_transitions(trajectory)
    assert isinstance(caught.value, MarkovDROError)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([1, 2], "the label 3 is not among the given states; add it to states, or remove it"),
        ([1, 2, 3, 1], "each state must be given once, but 1 is repeated"),
        ([1, 2, 3, 1.0], "each state must be given once, but 1 is repeated"),
        ([1, 2, 3, float("nan")], "states must not hold missing values"),
        ([1, 2, 3, None], "states must not hold missing values"),
        ([1, 2, 3, [4]], "states must be hashable, but unhashable type: 'list'"),
        ([], "the label 1 is not among the given states"),
        (3, r"states must be a sequence of labels, but is 3 \(int\)"),
        ("abc", "states must be a sequence of labels, but is the text 'abc'"),
        ({1, 2, 3}, "states must be in order, but is a set; pass a list"),
        (frozenset({1, 2, 3}), "states must be in order, but is a frozenset; pass a list"),
        ({1: "a", 2: "b", 3: "c"}, "states must be in order, but is a dict; pass a list"),
        (np.ones((3, 1)), r"states must be one-dimensional, but has shape \(3, 1\)"),
        (range(20_001), "the argument states holds 20001 distinct labels, more than the 20000"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), "states must not hold missing values"),
    ],
)
def test_states_that_break_a_rule_are_refused(states: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        count_transitions([1, 2, 3], states=states)


def test_one_given_state_is_refused() -> None:
    with pytest.raises(DataError, match="never leaves the one state 1; give every possible state"):
        count_transitions([1, 1], states=[1])


def test_hidden_entries_of_a_masked_array_are_missing() -> None:
    masked: npt.NDArray[Any] = np.ma.array([1, 2, 1, 3], mask=[False, False, False, True])
    with pytest.raises(DataError, match="position 3; remove missing observations"):
        count_transitions(masked)


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", "boolean", "object"])
def test_missing_values_of_pandas_are_refused(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    values = {"Int64": [1, None, 2], "boolean": [True, None, False]}.get(dtype, ["a", None, "b"])
    with pytest.raises(DataError, match=r"holds (nan|<NA>|None) at position 1; remove missing"):
        count_transitions(pd.Series(values, dtype=dtype))


def test_missing_dates_of_pandas_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="holds NaT at position 1; remove missing"):
        count_transitions(pd.Series(pd.to_datetime(["2020-01-01", None])))


@pytest.mark.parametrize("name", ["NA", "NaT"])
def test_missing_marks_of_pandas_in_a_list_are_refused(name: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match=r"holds (<NA>|NaT) at position 1; remove missing"):
        count_transitions(["a", getattr(pd, name), "b"])


def test_missing_values_of_polars_are_refused() -> None:
    pl = pytest.importorskip("polars")
    for values in ([3, None, 3], ["x", None, "y"]):
        with pytest.raises(DataError, match=r"holds (nan|None) at position 1; remove missing"):
            count_transitions(pl.Series(values))


def test_a_table_is_refused_with_its_columns() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"time": [1, 2], "state": ["a", "b"]}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns)):
        for data in (table, [table]):
            with pytest.raises(DataError, match=r"table with columns \['time', 'state'\]; pass"):
                count_transitions(data)
