"""Texts that are plain integers: by their bytes, and by the pattern."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faircrowd.errors import FileError
from faircrowd.votes.readers.shared import PLAIN_INTEGER, plain_integers

CELLS = st.none() | st.integers(-(10**18), 10**18).map(str) | st.text(alphabet="0123-+ x.", max_size=20)


@given(chunks=st.lists(st.lists(CELLS, max_size=5), max_size=3), kind=st.sampled_from([pa.string(), pa.large_string()]))
@example([["1", "0"], ["07"]], pa.string())
@example([["1"], ["-0"]], pa.string())
@example([["1"], [""]], pa.string())
@example([["9" * 18], ["-" + "9" * 18]], pa.string())
@example([["9" * 19]], pa.string())
@example([[None], ["5", None]], pa.string())
@example([[None]], pa.string())
def test_integers_as_by_the_pattern(chunks: list[list[str | None]], kind: pa.DataType) -> None:
    column = pa.chunked_array(chunks, type=kind)
    cells = [cell for chunk in chunks for cell in chunk]
    known = [cell for cell in cells if cell is not None]
    found = plain_integers(Path("votes.csv"), "task", column)
    if known and all(re.fullmatch(PLAIN_INTEGER, cell) for cell in known):
        assert found.type == pa.int64()
        assert found.to_pylist() == [None if cell is None else int(cell) for cell in cells]
    else:
        assert found.type == kind
        assert found.to_pylist() == cells


@pytest.mark.parametrize("texts", [["7", "70"], ["7", "07"], ["x", "7"]])
def test_a_dictionary_and_a_part_of_a_column(texts: list[str]) -> None:
    expected = plain_integers(Path("v.csv"), "task", pa.chunked_array([texts]))
    whole = pa.array(["x", *texts, "0\0"])
    for column in (pa.chunked_array([whole.slice(1, 2)]), pa.chunked_array([texts]).dictionary_encode()):
        found = plain_integers(Path("v.csv"), "task", column)
        assert found.type == expected.type
        assert found.to_pylist() == expected.to_pylist()


def test_nul_in_a_later_chunk() -> None:
    with pytest.raises(FileError, match=r"v\.csv: column 'task' holds NUL bytes"):
        plain_integers(Path("v.csv"), "task", pa.chunked_array([["1", "2"], ["3", "4\0"]]))


def test_many_chunks_keep_their_order() -> None:
    numbers = np.arange(10_000) * 7
    texts = pa.array(numbers.astype(str))
    column = pa.chunked_array([texts.slice(i, 100) for i in range(0, len(texts), 100)])
    np.testing.assert_array_equal(plain_integers(Path("v.csv"), "task", column).to_numpy(), numbers)
