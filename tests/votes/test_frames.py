"""Results come back in the kind of frame, and with the types, that the votes came in."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import faircrowd as fc

TASKS, WORKERS = [2, 1, 1], ["a", "a", "b"]


def fitted(frame: Any, truth: Any = None) -> Any:
    return fc.MajorityVote().fit(frame) if truth is None else fc.DawidSkene(n_iter=0).fit(frame, truth)


LABELS: dict[str, Any] = {
    "text": pd.Series(["y", "x", "x"]),
    "objects": pd.Series(["y", "x", None], dtype=object),
    "text of arrow": pd.Series(["y", "x", "x"], dtype="string[pyarrow]"),
    "int8": pd.Series([2, 1, 1], dtype="int8"),
    "Int64": pd.Series([2, 1, None], dtype="Int64"),
    "big-endian": pd.Series(np.array([2, 1, 1], dtype=">i4")),
    "float32": pd.Series([2.5, 1, np.nan], dtype="float32"),
    "bool": pd.Series([True, False, False]),
    "boolean": pd.Series([True, False, None], dtype="boolean"),
    "times": pd.Series(pd.to_datetime(["2021", "2020", "2020"])),
    "times with a zone": pd.Series(pd.to_datetime(["2021", "2020", "2020"], utc=True)),
    "spans": pd.Series(pd.to_timedelta([2, 1, 1], unit="s")),
    "mixed": pd.Series(["y", 1, 1], dtype=object),
    "tuples": pd.Series([("y", 1), ("x", 2), ("x", 2)]),
    "decimals": pd.Series([Decimal(2), Decimal(1), Decimal(1)]),
    "huge": pd.Series([2**70, 1, 1], dtype=object),
    "dates": pd.Series([dt.date(2021, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 1)]),
}


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("role", ["task", "label"])
def test_pandas_types_come_back(name: str, role: str) -> None:
    column = LABELS[name]
    other = {"task": TASKS} if role == "label" else {"label": ["u", "v", "v"]}
    model = fitted(pd.DataFrame({role: column, "worker": WORKERS, **other}))
    values = model.labels_ if role == "label" else model.labels_.index
    assert values.dtype == column.dtype
    top, first = column.iloc[0], column.iloc[1]
    assert values.tolist() == ([first, top] if role == "label" or name != "mixed" else [1, "y"])
    assert model.labels_.name == "agg_label"
    assert (model.probas_.index.name, model.probas_.columns.name) == ("task", "label")
    index = model.probas_.index if role == "task" else model.probas_.columns
    assert index.tolist() == sorted([first, top], key=lambda value: (type(value).__name__, value))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.Categorical(["y", "x", "x"], ["z", "y", "x"]), str),
        (pd.Categorical([2, 1, 1]), int),
        (pd.Categorical(["y", 1, 1]), object),
        (pd.PeriodIndex(["2021", "2020", "2020"], freq="Y"), pd.Period),
        (pd.IntervalIndex.from_breaks([0, 1, 2, 3]), pd.Interval),
        (pd.arrays.SparseArray([1, 0, 0]), int),
        (np.array([2, 1, 1], dtype=np.float16), float),
        (np.array([2j, 1, 1]), complex),
    ],
)
def test_pandas_types_that_arrow_lacks(labels: Any, kind: type) -> None:
    frame = pd.DataFrame({"task": TASKS, "worker": WORKERS, "label": labels})
    found = fitted(frame).labels_.tolist()
    assert found == frame["label"].tolist()[1::-1]
    assert all(isinstance(value, kind | np.generic) for value in found)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["y", "x", "x"], ["x", "y"]),
        ([2, 1, 1], ["1", "2"]),
        ([True, False, False], ["False", "True"]),
        (["task", "agg_label", "agg_label"], ["agg_label", "'task'"]),
        ([dt.date(2021, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 1)], ["2020-01-01", "2021-01-01"]),
    ],
)
def test_frames_without_an_index(make: Any, labels: list[Any], names: list[str]) -> None:
    model = fitted(make({"task": TASKS, "worker": WORKERS, "label": labels}))
    found = model.labels_
    assert isinstance(found, pl.DataFrame | pa.Table)
    assert (
        found.to_pydict()
        if isinstance(found, pa.Table)
        else found.to_dict(as_series=False)
        == {
            "task": [1, 2],
            "agg_label": labels[1::-1],
        }
    )
    probas = model.probas_.to_pydict() if isinstance(found, pa.Table) else model.probas_.to_dict(as_series=False)
    assert probas == {"task": [1, 2], names[0]: [1.0, 0.0], names[1]: [0.0, 1.0]}


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series(["y", "x", "x"], dtype=pl.Categorical),
        pl.Series(["y", "x", "x"], dtype=pl.Enum(["y", "x"])),
        pl.Series(["y", 1, 1], dtype=pl.Object),
        pl.Series([2**100, 1, 1], dtype=pl.Int128),
    ],
)
def test_polars_types_that_arrow_lacks(labels: pl.Series) -> None:
    found = fitted(pl.DataFrame({"task": TASKS, "worker": WORKERS, "label": labels})).labels_
    assert list(map(str, found["agg_label"].to_list())) == list(map(str, labels.to_list()[1::-1]))


@pytest.mark.filterwarnings("ignore::faircrowd.errors.ConvergenceWarning")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_true_label_of_another_type(make: Any) -> None:
    model = fitted(make({"task": TASKS, "worker": WORKERS, "label": [2, 1, 1]}), {1: "new", 2: "2"})
    names = model.probas_.column_names if isinstance(model.probas_, pa.Table) else list(model.probas_.columns)
    assert [str(name) for name in names if name != "task"] == ["1", "2", "new"]
    labels = model.labels_["agg_label"].to_pylist() if isinstance(model.labels_, pa.Table) else None
    found = labels or list(model.labels_ if isinstance(model.labels_, pd.Series) else model.labels_["agg_label"])
    assert list(map(str, found)) == ["new", "2"]
