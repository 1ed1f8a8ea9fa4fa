"""Columns to codes and back: every value as it came, in an order that rows do not decide."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.errors import InputError
from faircrowd.votes.encode import encode, keep_used
from faircrowd.votes.frames import array_of
from faircrowd.votes.vocabulary import Vocabulary, as_objects, distinct_names
from strategies import KINDS, pools

UTC = dt.UTC


def objects(*values: Any) -> np.ndarray:
    return as_objects(values)


def series(values: Any) -> Any:
    """What a frame's column of these values is encoded from."""
    return array_of(nw.from_native(values, series_only=True))


def dictionary(indices: list[Any], values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(values))


# name: (column, codes, values in canonical order)
COLUMNS: dict[str, tuple[Any, list[int], list[Any]]] = {
    "small ints": (np.array([3, 1, 3, 2]), [2, 0, 2, 1], [1, 2, 3]),
    "negative ints": (np.array([-3, 5, -7]), [1, 2, 0], [-7, -3, 5]),
    "spread ints": (np.array([10**15, -(10**15)]), [1, 0], [-(10**15), 10**15]),
    "int64 ends": (np.array([2**63 - 1, -(2**63)]), [1, 0], [-(2**63), 2**63 - 1]),
    "int64 top": (np.array([2**63 - 1, 2**63 - 2]), [1, 0], [2**63 - 2, 2**63 - 1]),
    "int8": (np.array([127, -128], dtype=np.int8), [1, 0], [-128, 127]),
    "uint64 small": (np.array([5, 3], dtype=np.uint64), [1, 0], [3, 5]),
    "uint64 top": (np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64), [1, 0], [2**64 - 2, 2**64 - 1]),
    "uint64 both": (np.array([2**64 - 1, 0], dtype=np.uint64), [1, 0], [0, 2**64 - 1]),
    "big-endian ints": (np.array([2, 1], dtype=">i8"), [1, 0], [1, 2]),
    "big-endian floats": (np.array([2.5, 1], dtype=">f8"), [1, 0], [1.0, 2.5]),
    "strided ints": (np.arange(6)[::-2], [2, 1, 0], [1, 3, 5]),
    "huge ints": (objects(2**70, -(2**70), 5), [2, 0, 1], [-(2**70), 5, 2**70]),
    "object ints": (objects(7, None, -1), [1, -1, 0], [-1, 7]),
    "numpy scalars": (objects(np.int64(1), 1, np.str_("a"), "a", np.bool_(True)), [1, 1, 2, 2, 0], [True, 1, "a"]),
    "floats": (np.array([2.5, np.nan, -1.0]), [1, -1, 0], [-1.0, 2.5]),
    "float16": (np.array([2.5, np.nan], dtype=np.float16), [0, -1], [2.5]),
    "infinite": (np.array([np.inf, -np.inf]), [1, 0], [-np.inf, np.inf]),
    "complex": (np.array([2j, 1]), [1, 0], [1 + 0j, 2j]),
    "bools": (np.array([True, False, True]), [1, 0, 1], [False, True]),
    "object bools": (objects(True, None), [0, -1], [True]),
    "texts": (objects("b", None, "a", "é", "Z"), [2, -1, 1, 3, 0], ["Z", "a", "b", "é"]),
    "texts and NaN": (objects("b", float("nan"), pd.NA, pd.NaT), [0, -1, -1, -1], ["b"]),
    "numpy texts": (np.array(["b", "a"]), [1, 0], ["a", "b"]),
    "numpy bytes": (np.array([b"b", b"a"]), [1, 0], [b"a", b"b"]),
    "empty text": (objects("", "a"), [0, 1], ["", "a"]),
    "text nan": (objects("nan", "None"), [1, 0], ["None", "nan"]),
    "mixed": (objects("1", 1, True, 1.0, 2, None), [4, 2, 0, 1, 3, -1], [True, 1.0, 1, 2, "1"]),
    "mixed sizes": (objects(10**400, 2, -(10**400), "x"), [2, 1, 0, 3], [-(10**400), 2, 10**400, "x"]),
    "tuples": (objects((1, "b"), (1, "a")), [1, 0], [(1, "a"), (1, "b")]),
    "unlike tuples": (objects((1, "b"), ("a", 1)), [1, 0], [("a", 1), (1, "b")]),
    "sets": (objects(frozenset("b"), frozenset("a")), [1, 0], [frozenset("a"), frozenset("b")]),
    "decimals": (objects(Decimal("1.5"), Decimal("NaN"), Decimal("1.2")), [1, -1, 0], [Decimal("1.2"), Decimal("1.5")]),
    "fractions": (objects(Fraction(1, 2), Fraction(1, 3)), [1, 0], [Fraction(1, 3), Fraction(1, 2)]),
    "dates": (
        pa.array([dt.date(2021, 1, 1), None, dt.date(2020, 1, 1)]),
        [1, -1, 0],
        [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
    ),
    "times": (
        np.array(["2021", "NaT", "2020"], dtype="M8[s]"),
        [1, -1, 0],
        [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)],
    ),
    "spans": (np.array([2, 1], dtype="m8[s]"), [1, 0], [dt.timedelta(seconds=1), dt.timedelta(seconds=2)]),
    "aware and naive": (
        objects(dt.datetime(2020, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1)),
        [1, 0],
        [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=UTC)],
    ),
    "arrow nulls": (pa.nulls(2), [-1, -1], []),
    "arrow ints": (pa.array([3, None, 1]), [1, -1, 0], [1, 3]),
    "arrow bools": (pa.array([True, None, False]), [1, -1, 0], [False, True]),
    "arrow bytes": (pa.array([b"b", None, b"a"]), [1, -1, 0], [b"a", b"b"]),
    "arrow half floats": (pa.array([np.float16(1)]), [0], [1.0]),
    "arrow string views": (pa.array(["b", None, "a"], pa.string_view()), [1, -1, 0], ["a", "b"]),
    "arrow byte views": (pa.array([b"b", None, b"a"], pa.binary_view()), [1, -1, 0], [b"a", b"b"]),
    "arrow runs": (pa.RunEndEncodedArray.from_arrays([2, 3], ["b", "a"]), [1, 1, 0], ["a", "b"]),
    "chunks": (pa.chunked_array([["b"], [], ["a", None]]), [1, 0, -1], ["a", "b"]),
    "chunks of ints, a range that ends within one": (
        pa.chunked_array([[4, 3], [5], [3, 4]]),
        [1, 0, 2, 0, 1],
        [3, 4, 5],
    ),
    "chunks of ints": (pa.chunked_array([[5], [3, 4]]), [2, 0, 1], [3, 4, 5]),
    "no chunks": (pa.chunked_array([], pa.string()), [], []),
    "no chunks of a dictionary": (pa.chunked_array([], pa.dictionary(pa.int32(), pa.string())), [], []),
    "dictionary": (dictionary([0, None, 1], ["b", "a"], pa.int8()), [1, -1, 0], ["a", "b"]),
    "unsigned dictionary": (dictionary([0, None, 1], ["b", "a"], pa.uint32()), [1, -1, 0], ["a", "b"]),
    "unused values": (dictionary([2], ["b", "a", "c"], pa.int32()), [0], ["c"]),
    "repeated values": (dictionary([0, 1, 2], ["b", "a", "b"], pa.int32()), [1, 0, 1], ["a", "b"]),
    "null among values": (dictionary([0, 1], ["b", None], pa.int32()), [0, -1], ["b"]),
    "NaN among values": (dictionary([0, 1], [2.5, float("nan")], pa.int32()), [0, -1], [2.5]),
    "unlike dictionaries": (
        pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]),
        [1, 0, 2, 1],
        ["a", "b", "c"],
    ),
    "empty ints": (np.array([], dtype=int), [], []),
    "empty objects": (objects(), [], []),
    "no value": (objects(None, float("nan")), [-1, -1], []),
    "pandas text": (series(pd.Series(["b", None, "a"])), [1, -1, 0], ["a", "b"]),
    "pandas Int64": (series(pd.Series([2, None, 1], dtype="Int64")), [1, -1, 0], [1, 2]),
    "pandas boolean": (series(pd.Series([True, None], dtype="boolean")), [0, -1], [True]),
    "pandas category": (series(pd.Series(pd.Categorical(["b", None, "a"], list("zba")))), [1, -1, 0], ["a", "b"]),
    "pandas category of ints": (series(pd.Series(pd.Categorical([3, 1], [3, 2, 1]))), [1, 0], [1, 3]),
    "pandas mixed category": (series(pd.Series(pd.Categorical(["a", 3]))), [1, 0], [3, "a"]),
    "pandas period": (
        series(pd.Series(pd.PeriodIndex(["2021", "2020"], freq="Y"))),
        [1, 0],
        [pd.Period("2020", "Y"), pd.Period("2021", "Y")],
    ),
    "pandas interval": (series(pd.Series(pd.interval_range(0, 1))), [0], [pd.Interval(0, 1)]),
    "pandas sparse": (series(pd.Series(pd.arrays.SparseArray([1, 0]))), [1, 0], [0, 1]),
    "polars text": (series(pl.Series(["b", None, "a"])), [1, -1, 0], ["a", "b"]),
    "polars category": (series(pl.Series(["b", None, "a"], dtype=pl.Categorical)), [1, -1, 0], ["a", "b"]),
    "polars enum": (series(pl.Series(["b", None, "a"], dtype=pl.Enum(["z", "b", "a"]))), [1, -1, 0], ["a", "b"]),
    "polars objects": (series(pl.Series([("b",), "a", 1], dtype=pl.Object)), [2, 1, 0], [1, "a", ("b",)]),
    "polars Int128": (series(pl.Series([2**100, 1], dtype=pl.Int128)), [1, 0], [1, 2**100]),
    "polars NaN": (series(pl.Series([2.5, float("nan"), None])), [0, -1, -1], [2.5]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_and_values(name: str) -> None:
    column, codes, values = COLUMNS[name]
    found, vocabulary = encode(column)
    assert found.dtype == np.int32
    assert found.tolist() == codes
    assert vocabulary.to_list() == values
    assert [type(value) for value in vocabulary.to_list()] == [type(value) for value in values]


@given(st.sampled_from(KINDS).flatmap(lambda kind: pools(kind, 6)), st.data())
def test_values_come_back_and_rows_have_no_say(pool: list[Any], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.sampled_from([*pool, None]), min_size=1, max_size=20))
    codes, vocabulary = encode(as_objects(rows))
    values = vocabulary.to_list()
    back = [None if code < 0 else values[code] for code in codes]
    assert [(type(value), value) for value in back] == [(type(value), value) for value in rows]
    again, same = encode(as_objects(rows[::-1]))
    assert [(type(value), value) for value in same.to_list()] == [(type(value), value) for value in values]
    assert again.tolist() == codes[::-1].tolist()


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=50), st.sampled_from(["i2", "i4", "i8", "f8"]))
def test_ranges_and_arrow_agree(numbers: list[int], kind: str) -> None:
    by_range = encode(np.array(numbers, dtype="i8"))
    far = encode(np.array([*numbers, 10**15], dtype="i8"))  # too wide a range for a table
    other = encode(np.array(numbers, dtype=kind))
    by_hand = sorted(set(numbers))
    assert by_range[0].tolist() == [by_hand.index(number) for number in numbers]
    assert by_range[1].to_list() == by_hand
    assert far[0][:-1].tolist() == by_range[0].tolist()
    assert far[1].to_list() == [*by_hand, 10**15]
    assert other[0].tolist() == by_range[0].tolist()


@pytest.mark.parametrize("rows", [[0.0, -0.0], [-0.0, 0.0]])
@pytest.mark.parametrize("make", [np.array, lambda rows: objects(*rows), lambda rows: objects("a", *rows)])
def test_zero_has_one_sign(rows: list[float], make: Any) -> None:
    value = encode(make(rows))[1].to_list()[0]
    assert repr(value) == "0.0"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (objects([1], [2]), "hashable values .*list"),
        (objects({"a": 1}, 2), "hashable values .*dict"),
        (objects(np.arange(2), np.arange(3)), "holds arrays"),
        (pa.array([[1], [2]]), r"nested values \(list"),
        (pa.array([{"a": 1}]), r"nested values \(struct"),
        (objects("\ud800", "a"), r"half a character, '\\ud800'"),
        (objects("\ud800", 1), r"half a character, '\\ud800'"),
    ],
)
def test_what_cannot_be_encoded(column: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(column)


def test_keep_used() -> None:
    codes, vocabulary, dropped = keep_used(np.array([2, 0, 2], dtype=np.int32), Vocabulary.of(["a", "b", "c"]))
    assert codes.tolist() == [1, 0, 1]
    assert vocabulary.to_list() == ["a", "c"]
    assert dropped.tolist() == [1]


STAMP = dt.datetime(2020, 1, 1)
BIG = 2**53

# name: (values of the vocabulary, values looked up, codes)
LOOKUPS: dict[str, tuple[Any, Any, list[int]]] = {
    "same type": (pa.array(["a", "b"]), pa.array(["b", "c", None]), [1, -1, -1]),
    "large text": (pa.array(["a", "b"]), pa.array(["b"], pa.large_string()), [1]),
    "text views": (pa.array(["a"]), pa.array(["a"], pa.string_view()), [0]),
    "chunks": (pa.array(["a", "b"]), pa.chunked_array([["b"], ["a"]]), [1, 0]),
    "no chunks": (pa.array([1]), pa.chunked_array([], pa.string()), []),
    "integers and texts": (pa.array([1, 2]), pa.array(["2", "02", " 2", "x", None]), [1, -1, -1, -1, -1]),
    "texts and integers": (pa.array(["1", "02"]), pa.array([1, 2]), [0, -1]),
    "widths": (pa.array([BIG, BIG + 1]), pa.array([5], pa.int32()), [-1]),
    "large integers": (pa.array([BIG, BIG + 1]), pa.array([BIG + 1, 2**64 - 1], pa.uint64()), [1, -1]),
    "unsigned and negative": (pa.array([1, 2**64 - 1], pa.uint64()), pa.array([-1, 1]), [-1, 0]),
    "integers and floats": (
        pa.array([3, BIG, BIG + 1]),
        pa.array([3.0, 2.5, float(BIG), np.nan, np.inf]),
        [0, -1, 1, -1, -1],
    ),
    "floats and integers": (pa.array([1.0, 2.5, 1e300]), pa.array([1, 2]), [0, -1]),
    "floats and texts": (pa.array([1.0, 2.5]), pa.array(["1", "1.0", "2.5", "2.50"]), [0, 0, 1, -1]),
    "texts and floats": (pa.array(["1", "2.0", "2.5"]), pa.array([1.0, 2.0, 2.5]), [0, 1, 2]),
    "bools and texts": (pa.array([False, True]), pa.array(["True", "true", "False", "1"]), [1, 1, 0, -1]),
    "texts and bools": (pa.array(["False", "True"]), pa.array([True, False, None]), [1, 0, -1]),
    "lower texts and bools": (pa.array(["false", "true"]), pa.array([True]), [1]),
    "bools and integers": (pa.array([False, True]), pa.array([0, 1]), [-1, -1]),
    "units of time": (pa.array([STAMP], pa.timestamp("ns")), pa.array([STAMP], pa.timestamp("s")), [0]),
    "time and text": (pa.array([STAMP]), pa.array(["2020-01-01 00:00:00", "2020"]), [0, -1]),
    "day and text": (pa.array([STAMP.date()]), pa.array(["2020-01-01"]), [0]),
    "bytes and text": (pa.array([b"a", b"\xff"]), pa.array(["a"]), [-1]),
    "dictionary": (pa.array(["a", "b"]), pa.array(["b", None, "a"]).dictionary_encode(), [1, -1, 0]),
    "unsigned dictionary": (pa.array(["a", "b"]), dictionary([1, None], ["a", "b"], pa.uint32()), [1, -1]),
    "dictionary of another type": (pa.array([1, 2]), pa.array(["2", "1"]).dictionary_encode(), [1, 0]),
    "nulls": (pa.array([1]), pa.nulls(2), [-1, -1]),
    "nothing": (pa.array([], pa.string()), pa.array(["a"]), [-1]),
    "missing is no text": (objects("None", "nan", "<NA>", 1), objects(None, float("nan"), pd.NA, 1), [-1, -1, -1, 3]),
    "mixed, exact first": (objects(1, "1", "a"), objects("1", 1, np.int64(1), "a", 1.0), [1, 0, 0, 2, 0]),
    "mixed and chunks": (objects("a", 1), pa.chunked_array([pa.array(["1", "a"]).dictionary_encode()]), [1, 0]),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_code_of(name: str) -> None:
    own, other, codes = LOOKUPS[name]
    found = Vocabulary(own).code_of(other)
    assert found.dtype == np.int32
    assert found.tolist() == codes


@given(st.sampled_from(KINDS).flatmap(lambda kind: pools(kind, 8)))
def test_a_vocabulary_finds_itself(pool: list[Any]) -> None:
    vocabulary = encode(as_objects(pool))[1]
    assert vocabulary.code_of(vocabulary.values).tolist() == list(range(len(pool)))
    assert vocabulary.code_of(as_objects(vocabulary.to_list())).tolist() == list(range(len(pool)))


def test_lookup_of_what_has_no_hash() -> None:
    with pytest.raises(InputError, match="hashable"):
        Vocabulary(objects("a", 1)).code_of(objects(["a"]))


def test_distinct_names() -> None:
    assert distinct_names([1, "1", "task", "'1'"], taken=["task"]) == ["1", "'1'", "'task'", "'1'_"]
    assert distinct_names([("a", "b & c"), ("a & b", "c")], text=" & ".join) == ["('a', 'b & c')", "('a & b', 'c')"]


def test_a_vocabulary_shows_its_first_values() -> None:
    assert repr(Vocabulary.of(list("abcde"))) == "Vocabulary(5: 'a', 'b', 'c', 'd', …)"


KINDS_OF_INTEGERS = (pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64())


@given(st.data(), st.sampled_from(KINDS_OF_INTEGERS), st.booleans())
def test_integers_are_found_as_a_table_would_find_them(data: Any, kind: pa.DataType, is_range: bool) -> None:
    low, high = (int(bound) for bound in (np.iinfo(str(kind)).min, np.iinfo(str(kind)).max))
    numbers = st.integers(low, high) | st.integers(max(low, -3), 3) | st.sampled_from([low, high])
    if is_range:
        first = data.draw(numbers)
        own = list(range(first, min(first + data.draw(st.integers(1, 300)), high + 1)))
    else:
        own = sorted(data.draw(st.sets(numbers, min_size=1)))
    other = data.draw(st.lists(st.none() | numbers | st.sampled_from(own)))
    expected = [own.index(value) if value in own else -1 for value in other]
    assert Vocabulary(pa.array(own, kind)).code_of(pa.array(other, kind)).tolist() == expected
    turned = Vocabulary(pa.array(own[::-1], kind)).code_of(pa.array(other, kind))
    assert turned.tolist() == [len(own) - 1 - place if place >= 0 else -1 for place in expected]
