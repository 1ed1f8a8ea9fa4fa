"""Columns as codes: which values are equal, what is refused and with which message, and how rows are counted."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from faircrowd._checks import LARGEST
from faircrowd.audit.metrics.sample import (
    _positive,
    check_length,
    pair_codes,
    read_features,
    read_labels,
    read_sample,
    read_weights,
    shared_classes,
    tally,
)
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary


def coded(found: tuple[np.ndarray, Vocabulary]) -> tuple[list[int], list[Any]]:
    return found[0].tolist(), found[1].to_list()


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        (["b", "a", "b"], [1, 0, 1], ["a", "b"]),
        ([1, True, 0, 1.0], [1, 1, 0, 1], [0, 1]),
        (np.array([2, 1.0, False], dtype=object), [2, 1, 0], [0, 1, 2]),
        (np.array([[2], [1]]), [1, 0], [1, 2]),
        (pd.DataFrame({"y": ["b", "a"]}), [1, 0], ["a", "b"]),
        (pl.DataFrame({"y": [3, 2]}), [1, 0], [2, 3]),
        (pa.array(["b", "a"]), [1, 0], ["a", "b"]),
        (range(2), [0, 1], [0, 1]),
    ],
)
def test_labels_are_coded(values: Any, codes: list[int], classes: list[Any]) -> None:
    assert coded(read_labels(values, "y")) == (codes, classes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "y is empty; give one label per row"),
        (["a", None, None], "y is missing in 2 of 3 rows, first in row 1; fill it in, or leave these rows out"),
        (np.zeros((2, 2)), r"y must be one column with one value per row; got shape \(2, 2\)"),
        (np.zeros((1, 1, 1)), r"got shape \(1, 1, 1\)"),
        (5, "y must be one column with one value per row; got 5"),
        ("ab", "got 'ab'"),
        (pd.DataFrame({"a": [1], "b": [2]}), "got 2 columns"),
    ],
)
def test_labels_that_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(values, "y")


def test_true_labels_may_be_missing() -> None:
    assert coded(read_labels(["a", None], "y", allow_missing=True)) == ([0, -1], ["a"])


@pytest.mark.parametrize(
    "features",
    [
        {"x": ["b", "a", "b"], "y": [2, 2, 1]},
        pd.DataFrame({"x": ["b", "a", "b"], "y": [2, 2, 1]}),
        np.array([["b", 2], ["a", 2], ["b", 1]], dtype=object),
    ],
    ids=["dict", "frame", "array"],
)
def test_several_features_are_pairs(features: Any) -> None:
    assert coded(read_features(features, "groups", 3)) == ([2, 0, 1], [("a", 2), ("b", 1), ("b", 2)])


def test_features_that_are_refused() -> None:
    assert coded(read_features(["b", "a"], "groups", 2)) == ([1, 0], ["a", "b"])
    assert coded(read_features({"x": ["b", "a"]}, "groups", 2)) == ([1, 0], ["a", "b"])
    with pytest.raises(InputError, match=r"groups\['x'\] must be one column with one value per row; got 5"):
        read_features({"x": 5}, "groups", 2)
    with pytest.raises(InputError, match=r"groups has no column\."):
        read_features({}, "groups", 2)
    with pytest.raises(InputError, match="groups has 2 rows and y_pred has 1,000; they are matched by row"):
        read_features({"x": ["a", "b"]}, "groups", 1000)
    with pytest.raises(InputError, match="groups is missing in 1 of 2 rows, first in row 1"):
        read_features({"x": ["a", "b"], "y": [1, None]}, "groups", 2)
    with pytest.raises(InputError, match="groups must be a column with one value per row; got 5"):
        check_length(5, "groups", 2)


def test_pairs_are_numbered_in_order() -> None:
    pair, left, right = pair_codes(np.array([2, 0, 2, 1], dtype=np.int32), np.array([1, 2, 0, 2], dtype=np.int32), 3)
    assert (pair.tolist(), left.tolist(), right.tolist()) == ([3, 0, 2, 1], [0, 1, 2, 2], [2, 2, 0, 1])


def test_weights() -> None:
    assert read_weights(None, 3) is None
    assert read_weights([0, 1, LARGEST], 3).tolist() == [0, 1, LARGEST]
    assert read_weights(np.array([[1], [2]]), 2).tolist() == [1, 2]
    for bad in (-0.5, np.nan, np.inf, 2 * LARGEST):
        with pytest.raises(InputError, match=re.escape(f"sample_weight holds {bad} in row 1; weights are numbers")):
            read_weights([1, bad, bad], 3)
    for bad in (["x", "y"], [{}, {}], [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match="sample_weight must be one number per row"):
            read_weights(bad, 2)
    with pytest.raises(InputError, match="All of sample_weight is 0; some row must count"):
        read_weights([0, 0], 2)
    with pytest.raises(InputError, match="sample_weight has 1 rows and y_pred has 2"):
        read_weights([1], 2)


def test_tallies() -> None:
    first, second = np.array([0, 2, 2, 0]), np.array([1, 0, 0, 1])
    assert tally((first, 3), (second, 2)).tolist() == [[0, 2], [0, 0], [2, 0]]
    assert tally((first, 3), (second, 2), weights=np.array([1, 2, 0.5, 4])).tolist() == [[0, 5], [0, 0], [2.5, 0]]
    assert tally((first, 4)).tolist() == [2, 0, 2, 0]


def test_classes_of_labels_and_truths() -> None:
    classes, own, theirs = shared_classes(Vocabulary.of(["b", "d"]), Vocabulary.of(["a", "b", "c"]))
    assert (classes.to_list(), own.tolist(), theirs.tolist()) == (["a", "b", "c", "d"], [1, 3], [0, 1, 2])
    classes, own, theirs = shared_classes(Vocabulary.of([0, 1]), Vocabulary.of(["1"]))
    assert (classes.to_list(), own.tolist(), theirs.tolist()) == ([0, 1], [0, 1], [1])


@pytest.mark.parametrize(
    ("values", "classes", "positive"),
    [
        ([0], [0, 1], 1),
        ([-1], [-1, 1], 1),
        ([False], [False, True], 1),
        ([1], [1], 0),
        ([0, 1], [0, 1], 1),
        ([1, 2], [1, 2], 0),
        ([0, 1, 2], [0, 1, 2], None),
        ([2], [2], None),
        (["no", "yes"], ["no", "yes"], None),
    ],
)
def test_the_class_1_of_binary_labels(values: list[Any], classes: list[Any], positive: int | None) -> None:
    found, place = _positive(Vocabulary.of(values))
    assert (found.to_list(), place) == (classes, positive)


def test_a_sample_is_read() -> None:
    sample = read_sample(["b", "a"], ["x", "y"], y_true=["c", None], sample_weight=[1, 2], allow_missing_truth=True)
    assert sample.classes.to_list() == ["a", "b", "c"]
    assert (sample.label.tolist(), sample.truth.tolist(), sample.weights.tolist()) == ([1, 0], [2, -1], [1, 2])
    with pytest.raises(InputError, match="y_true is missing in 1 of 2 rows"):
        read_sample(["b", "a"], ["x", "y"], y_true=["c", None])
    with pytest.raises(InputError, match="All rows of group 'y' have weight 0; leave them out"):
        read_sample(["b", "a", "a"], ["x", "y", "y"], sample_weight=[1, 0, 0])
