"""The frame with one row per group: rates, errors and their counts."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit import by_group, equal_opportunity_difference
from faircrowd.audit.metrics.by_group import column_values, style_of
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary
from strategies import examples

ROW = st.tuples(
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["x", "y", "z", None]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([1, 2, 3]),
    st.integers(1, 8),
)


@given(st.lists(ROW, min_size=1, max_size=25), st.booleans())
@settings(max_examples=examples(40))
def test_every_number_is_that_of_its_rows(rows: list[tuple[Any, ...]], weighted: bool) -> None:
    label, truth, group, stratum, weight = map(list, zip(*rows, strict=True))
    found = by_group(
        label,
        sensitive_features=group,
        y_true=truth,
        control_features=stratum,
        sample_weight=weight if weighted else None,
    ).to_dict("records")
    cells = sorted({(row[3], row[2]) for row in rows})
    assert [(line["stratum"], line["group"]) for line in found] == cells
    for line, (s, a) in zip(found, cells, strict=True):
        here = [(row[0], row[1], row[4] if weighted else 1) for row in rows if (row[3], row[2]) == (s, a)]
        known = [row for row in here if row[1] is not None]
        assert (line["count"], line["known"], line["unknown"]) == (len(here), len(known), len(here) - len(known))
        assert line.get("weight") == (sum(row[2] for row in here) if weighted else None)
        np.testing.assert_equal(line["accuracy"], share(known, lambda row: row[0] == row[1]))
        for k in {*label, *(t for t in truth if t is not None)}:
            of_class = [row for row in known if row[1] == k]
            assert line[f"rate_{k}"] == share(here, lambda row, k=k: row[0] == k)
            assert line[f"true_{k}"] == len(of_class)
            np.testing.assert_equal(line[f"recall_{k}"], share(of_class, lambda row, k=k: row[0] == k))


def share(rows: list[tuple[Any, ...]], wanted: Any) -> float:
    return sum(row[2] for row in rows if wanted(row)) / sum(row[2] for row in rows) if rows else math.nan


def test_binary_labels_have_true_and_false_positive_rates() -> None:
    frame = by_group([1, 0, 1, 1, 0], sensitive_features=list("aaabb"), y_true=[1, 1, 0, 1, math.nan])
    np.testing.assert_equal(
        frame.to_dict("list"),
        {
            "group": ["a", "b"],
            "count": [3, 2],
            "rate_0": [1 / 3, 0.5],
            "rate_1": [2 / 3, 0.5],
            "known": [3, 1],
            "unknown": [0, 1],
            "accuracy": [1 / 3, 1.0],
            "positives": [2, 1],
            "tpr": [0.5, 1.0],
            "negatives": [1, 0],
            "fpr": [1.0, math.nan],
        },
    )


def test_rates_agree_with_the_metrics() -> None:
    rng = np.random.default_rng(1)
    truth, label, group = (rng.integers(0, n, 300) for n in (2, 2, 3))
    tpr = by_group(label, sensitive_features=group, y_true=truth)["tpr"]
    assert equal_opportunity_difference(truth, label, sensitive_features=group) == tpr.max() - tpr.min()


@pytest.mark.parametrize(
    ("make", "kind"),
    [(pd.Series, pd.DataFrame), (pl.Series, pl.DataFrame), (pa.array, pa.Table), (list, pd.DataFrame)],
)
def test_the_frame_is_of_the_kind_of_the_input(make: Any, kind: type) -> None:
    given = {"sensitive_features": make([2, 2, 1]), "y_true": [0, None, 1]}
    for frame in (by_group(make([0, 1, 1]), **given), by_group([0, 1, 1], **given)):
        assert isinstance(frame, kind)
        assert list(frame["group"].to_pylist() if kind is pa.Table else frame["group"]) == [1, 2]
        assert list(frame["known"].to_pylist() if kind is pa.Table else frame["known"]) == [1, 1]


def test_mixed_and_repeated_names_stay_apart() -> None:
    frame = by_group(["t", 1, "1"], sensitive_features=[1, "1", 1], control_features=["u", "u", "v"])
    assert frame["stratum"].tolist() == ["u", "u", "v"]
    assert frame["group"].tolist() == ["1", "'1'", "1"]
    assert {"rate_1", "rate_'1'", "rate_t"} <= set(frame.columns)


def test_no_truth_known_and_labels_only_in_the_truth() -> None:
    frame = by_group([1, 0], sensitive_features=["a", "b"], y_true=[None, None])
    assert frame["unknown"].tolist() == [1, 1]
    assert frame["accuracy"].isna().all()
    frame = by_group(["x", "x"], sensitive_features=["a", "b"], y_true=["w", "y"])
    assert [name for name in frame.columns if name.startswith("rate")] == ["rate_w", "rate_x", "rate_y"]
    assert frame["rate_w"].tolist() == [0, 0]
    assert frame["true_w"].tolist() == [1, 0]


def test_rows_without_weight_have_no_rate() -> None:
    frame = by_group([1, 0, 1], sensitive_features=list("aab"), control_features=[1, 2, 1], sample_weight=[1, 0, 1])
    np.testing.assert_equal(frame["rate_1"].tolist(), [1.0, 1.0, math.nan])
    assert frame["count"].tolist() == [1, 1, 1]


def test_strata_are_checked() -> None:
    with pytest.raises(InputError, match="control_features has 1 rows and y_pred has 2"):
        by_group([0, 1], sensitive_features=["a", "b"], control_features=[1])
    with pytest.raises(InputError, match="control_features is missing in 1 of 2 rows"):
        by_group([0, 1], sensitive_features=["a", "b"], control_features=[1, None])
    label = pd.Series([0, 1], index=["t", "u"])
    expected = by_group(label, sensitive_features=["a", "b"], control_features=label)
    assert by_group(label, sensitive_features=["a", "b"], control_features=label[::-1]).equals(expected)
    with pytest.raises(InputError, match="control_features and y_pred have an index each"):
        by_group(label, sensitive_features=["a", "b"], control_features=label.reset_index(drop=True))


def test_kinds_of_frames_and_of_values() -> None:
    for inputs, kind in (
        ([1, pd.Series([1])], pd.DataFrame),
        ([pl.Series([1]), pd.Series([1])], pl.DataFrame),
        ([None, pa.chunked_array([[1]])], pa.Table),
        ([[1], None], pd.DataFrame),
    ):
        assert isinstance(style_of(*inputs).columns({"x": [1]}), kind)
    assert column_values(Vocabulary.of(["a", "b"])) == ["a", "b"]
    assert column_values(Vocabulary.of([3, 4]), np.array([1, 0, 1])) == [4, 3, 4]
    frame = by_group([1, 0, 0], sensitive_features=list("aab"), y_true=[1, 1, 0], sample_weight=[1, 2, 4])
    np.testing.assert_equal(
        frame.to_dict("list"),
        {
            "group": ["a", "b"],
            "count": [2, 1],
            "weight": [3.0, 4.0],
            "rate_0": [2 / 3, 1.0],
            "rate_1": [1 / 3, 0.0],
            "known": [2, 1],
            "unknown": [0, 0],
            "accuracy": [1 / 3, 1.0],
            "positives": [2, 0],
            "tpr": [1 / 3, np.nan],
            "negatives": [0, 1],
            "fpr": [np.nan, 0.0],
        },
    )
