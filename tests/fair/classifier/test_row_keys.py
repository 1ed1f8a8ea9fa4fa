"""Keys of rows: of their values alone, and different for different rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faircrowd.fair.classifier.row_keys import KeyedRows, row_keys

TABLE = arrays(np.float64, (7, 3), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5, -1e300, np.nan]))


@given(TABLE, st.randoms())
def test_a_key_depends_on_the_values_of_its_row_alone(table: np.ndarray, random: object) -> None:
    keys = row_keys(table)
    order = np.random.default_rng(0).permutation(7)
    np.testing.assert_array_equal(row_keys(table[order[:4]]), keys[order[:4]])
    rows = [tuple("nan" if np.isnan(x) else x + 0.0 for x in row) for row in table.tolist()]
    assert [[a == b for b in rows] for a in rows] == (keys[:, None] == keys).tolist()


@given(TABLE)
def test_a_key_does_not_depend_on_how_the_row_is_held(table: np.ndarray) -> None:
    keys = row_keys(table)
    names = ["a", "b", "c"]
    for same in (
        np.asfortranarray(table),
        table.tolist(),
        table.astype(object),
        pd.DataFrame(table, columns=names),
        pl.DataFrame(table, schema=names),
        pa.table(dict(zip(names, table.T, strict=True))),
        scipy.sparse.csr_array(table),
        scipy.sparse.csc_matrix(table),
    ):
        np.testing.assert_array_equal(row_keys(same), keys)


def test_numbers_of_other_types_and_texts() -> None:
    numbers = np.array([[1, 0], [0, 1], [3, 2]])
    np.testing.assert_array_equal(row_keys(numbers), row_keys(numbers.astype(np.float32)))
    np.testing.assert_array_equal(row_keys(numbers == 1), row_keys((numbers == 1).astype(int)))
    texts = {"who": ["ann", None, "bob", "ann"], "n": [1, 2, 3, 1]}
    keys = row_keys(pd.DataFrame(texts))
    assert keys[0] == keys[3]
    assert len(set(keys.tolist())) == 3
    np.testing.assert_array_equal(row_keys(pl.DataFrame(texts)), keys)
    np.testing.assert_array_equal(row_keys(pd.DataFrame(texts).astype({"who": "category"})), keys)
    assert len(set(row_keys(["a text", "another", "a text"]).tolist())) == 2
    assert len(set(row_keys([[["x"], {"y": 1}], [["x"], {"y": 2}]]).tolist())) == 2
    assert row_keys(np.empty((0, 3))).size == 0
    assert row_keys(np.arange(24).reshape(2, 3, 4)).size == 2


def test_keys_look_random() -> None:
    keys = row_keys(np.arange(20_000)[:, None])
    assert len(set(keys.tolist())) == 20_000
    share = np.mean(keys < 2**62)
    assert share == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 20_000))
    other = row_keys(np.arange(20_000)[:, None], random_state=1)
    assert np.mean((keys < 2**63) == (other < 2**63)) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(20_000))


def test_equal_rows_are_numbered() -> None:
    keys = np.array([5, 9, 5, 5, 2**64 - 1], dtype=np.uint64)
    ids = KeyedRows(keys).take(np.arange(5)).to_list()
    assert len(set(ids)) == 5
    assert set(ids) == set(KeyedRows(keys[[3, 4, 0, 2, 1]]).take(np.arange(5)).to_list())
    assert KeyedRows(keys).some([1, 4]) == [1, 4]
