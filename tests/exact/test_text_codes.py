"""Long columns of texts: the same codes as those of Arrow's dictionaries, whatever the chunks and the order of rows."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.exact.text_codes import encode_texts, text_memory
from faircrowd.votes import encode as encoding
from faircrowd.votes.encode import encode

TEXTS = st.text(alphabet="ab0\0é\U0001f600", max_size=12)


def shuffled(texts: list[str], seed: int = 0) -> list[str]:
    return [texts[i] for i in np.random.default_rng(seed).permutation(len(texts))]


def check(texts: list[str]) -> None:
    """Compare codes and vocabulary with those of Python."""
    codes, values = encode_texts(pa.array(texts))
    place = {text: code for code, text in enumerate(sorted(set(texts), key=str.encode))}
    assert values.to_pylist() == list(place)
    np.testing.assert_array_equal(codes, [place[text] for text in texts])
    assert codes.dtype == np.int32


@given(
    chunks=st.lists(st.lists(st.none() | TEXTS, max_size=9), max_size=4),
    kind=st.sampled_from([pa.string(), pa.large_string()]),
    skipped=st.integers(0, 3),
)
def test_as_by_arrow(chunks: list[list[str | None]], kind: pa.DataType, skipped: int) -> None:
    column = pa.chunked_array([pa.array(chunk, kind).slice(skipped) for chunk in chunks], type=kind)
    codes, values = encode_texts(column)
    expected, known = encode(column)  # so few rows are encoded by Arrow
    np.testing.assert_array_equal(codes, expected)
    assert values.to_pylist() == known.to_list()
    assert values.type == known.values.type == kind


@pytest.mark.parametrize(
    "texts",
    [
        [f"task-{i:08d}" for i in range(30_000)],
        [str(i) for i in range(30_000)],
        [f"{i % 3}/a path that many share/{i}" for i in range(30_000)],
        [f"{i * 2654435761 % 2**32:08x}-{i}" for i in range(30_000)],
        ["x" * i for i in range(2_000)],
        ["", "\0", "\0\0", "a", "a\0", "a\0b"] * 3,
    ],
    ids=["padded", "numbers", "many begin alike", "hashes", "one begins the other", "NUL"],
)
def test_many_texts(texts: list[str]) -> None:
    check(shuffled(texts + texts[::2]))


def test_long_texts() -> None:
    check(["a" * 3_000_000, "b", "a" * 3_000_000, "a" * 2_999_999 + "b"])


def test_chunks_and_order_of_rows_do_not_matter() -> None:
    texts = [f"w{i}" for i in range(5_000)] * 3
    codes, values = encode_texts(pa.array(texts))
    order = np.random.default_rng(1).permutation(len(texts))
    moved = pa.array(texts).take(pa.array(order))
    pieces = pa.chunked_array([moved[:17], moved[17:17], moved[17:9_000], moved[9_000:]])
    again, same = encode_texts(pieces)
    np.testing.assert_array_equal(again, codes[order])
    assert same.equals(values)


def test_long_columns_are_encoded_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(encoding, "encode_texts", lambda column: called.append(len(column)) or encode_texts(column))
    texts = [None if i % 7 == 0 else f"t{i % 70_001}" for i in range(encoding._MANY_ROWS)]
    codes, vocabulary = encode(pa.array(texts))
    by_objects, same = encode(np.array(texts, dtype=object))  # as frames of pandas hold them
    assert called == [len(texts)] * 2
    monkeypatch.setattr(encoding, "_MANY_ROWS", len(texts) + 1)
    expected, known = encode(pa.array(texts))
    assert len(called) == 2
    for found, values in ((codes, vocabulary), (by_objects, same)):
        np.testing.assert_array_equal(found, expected)
        assert values.to_list() == known.to_list()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_memory_of_texts(kind: pa.DataType) -> None:
    characters, bounds = text_memory(pa.array(["ab", "", "cde", "f"], kind).slice(1, 2))
    assert [bytes(characters[i:j]) for i, j in pairwise(bounds)] == [b"", b"cde"]
    for texts in ([], ["", ""]):
        characters, bounds = text_memory(pa.array(texts, kind))
        assert not np.diff(bounds).any()
        assert bounds.size == len(texts) + 1
