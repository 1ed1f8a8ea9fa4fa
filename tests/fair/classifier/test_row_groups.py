"""Sensitive features in every form that users have them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from faircrowd.errors import InputError, MissingColumnError
from faircrowd.fair.classifier.row_groups import columns_of, read_row_groups, some_groups

SEX, AGE = ["f", "m", "f"], [30, 40, 50]
X = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    "given",
    [
        SEX,
        tuple(SEX),
        np.array(SEX),
        np.array(SEX)[:, None],
        pd.Series(SEX, index=[7, 8, 9]),
        pd.Series(SEX[::-1], index=[9, 8, 7]),
        pd.Series(SEX, index=[7, 8, 9], dtype="category"),
        pl.Series(SEX),
        pa.chunked_array([SEX]),
        {"sex": SEX},
        pl.DataFrame({"sex": SEX}),
        pa.table({"sex": SEX}),
    ],
)
def test_one_column(given: Any) -> None:
    assert read_row_groups(X, given, by_column=False).tolist() == SEX


def test_one_column_has_the_name_that_constraints_give_it() -> None:
    def names(given: Any, wanted: tuple[str, ...]) -> list[str]:
        return list(read_row_groups(X, given, by_column=True, names=wanted))

    assert names(SEX, ("sex",)) == ["sex"]
    assert names(SEX, ()) == ["group"]
    assert names(pl.Series("gender", SEX), ("sex",)) == ["gender"]
    assert names(np.array([SEX, SEX]).T, ()) == ["0", "1"]


@pytest.mark.parametrize(
    "given",
    [
        [list(row) for row in zip(SEX, AGE, strict=True)],
        pd.DataFrame({"sex": SEX, "age": AGE}, index=[7, 8, 9]),
        pl.DataFrame({"sex": SEX, "age": AGE}),
        {"sex": SEX, "age": np.array(AGE)},
    ],
)
def test_several_columns_are_intersected_or_named(given: Any) -> None:
    assert read_row_groups(X, given, by_column=False).tolist() == [list(row) for row in zip(SEX, AGE, strict=True)]
    named = read_row_groups(X, given, by_column=True)
    assert isinstance(named, dict)
    assert [column.tolist() for column in named.values()] == [SEX, AGE]
    assert {name: column.tolist() for name, column in some_groups(named, np.array([2])).items()} == {
        name: [values[2]] for name, values in zip(named, (SEX, AGE), strict=True)
    }


def test_probabilities_of_groups_stay_columns() -> None:
    table = np.array([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_array_equal(read_row_groups(X, table, by_column=False), table)
    frame = pl.DataFrame(table, schema=["a", "b"])
    assert list(read_row_groups(X, frame, by_column=False, names=["race"])) == ["race=a", "race=b"]
    named = frame.rename({"a": "race=a", "b": "race=b"})
    assert list(read_row_groups(X, named, by_column=False)) == ["race=a", "race=b"]


def test_rows_that_cannot_be_matched_are_refused() -> None:
    for given, message in (
        (pd.Series(SEX), "rows of X are not found in that of sensitive_features"),
        (SEX[:2], "has 2 rows .* and X has 3"),
        ({"sex": SEX, "age": AGE[:1]}, r"has 1 rows \(column 'age'\)"),
        (7, "got int"),
        (pd.DataFrame({1: SEX, "1": SEX}, index=[7, 8, 9]), "names have the same text"),
    ):
        with pytest.raises(InputError, match=message):
            read_row_groups(X, given, by_column=False)


def test_names_of_columns_are_no_groups() -> None:
    frame = pd.DataFrame({"sex": SEX, "age": AGE})
    for names in (["sex"], ["sex", "age"]):
        with pytest.raises(InputError, match=r"columns? of X; name columns of X by .*sensitive_columns=\['sex'"):
            read_row_groups(frame, names, by_column=False)


def test_columns_of_features() -> None:
    frame = pd.DataFrame({"sex": SEX, "age": AGE})
    assert [c.tolist() for c in columns_of(frame, ["age", "sex"]).values()] == [AGE, SEX]
    assert columns_of(scipy.sparse.csr_array([[0, 2], [3, 0]]), 1)["1"].tolist() == [2, 0]
    assert columns_of([[0, 2], [3, 0]], [0])["0"].tolist() == [0, 3]
    with pytest.raises(MissingColumnError, match="names 2, but X is an array of 2 columns"):
        columns_of(np.zeros((3, 2)), 2)
