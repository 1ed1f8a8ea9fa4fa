"""Metrics between groups: equal to fairlearn's on binary labels, and the properties of their forms for any labels."""

import importlib
import math
import os
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faircrowd import audit
from faircrowd.errors import DataWarning, InputError, OptionError
from faircrowd.fair.gap import gap_of
from strategies import examples

METHODS = ("between_groups", "to_overall")
NAMES = [
    f"{kind}_{form}"
    for kind in ("demographic_parity", "equal_opportunity", "equalized_odds")
    for form in ("difference", "ratio")
]


@pytest.fixture(scope="module")
def fairlearn() -> ModuleType:
    """The real package; if CI is set, its absence is a failure, not a skip."""
    if os.environ.get("CI"):
        return importlib.import_module("fairlearn.metrics")
    return pytest.importorskip("fairlearn.metrics")


def value(home: Any, name: str, *given: Any, **options: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rates without rows
        return float(getattr(home, name)(*given, **options))


@st.composite
def samples(draw: st.DrawFn, pools: Any, max_rows: int = 14, n_groups: int = 3) -> pd.DataFrame:
    """Draw rows: truth, label, two features and a weight of quarters, whose sums are exact."""
    pool = draw(pools)
    label = st.sampled_from(pool)
    feature = st.integers(0, draw(st.integers(0, n_groups - 1)))
    row = st.tuples(label, label, feature, feature, st.integers(1, 8).map(lambda n: n / 4))
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    return pd.DataFrame(rows, columns=["truth", "label", "a", "b", "weight"])


BINARY = st.sampled_from([[0, 1], [-1, 1], [False, True], [0.0, 1.0]])
CLASSES = st.sampled_from([["x", "y", "z"], ["no", "yes"], [0, 1, 2], [3, 4, 5, 6], ["only"]])


@pytest.mark.parametrize("name", NAMES)
@given(
    rows=samples(BINARY),
    method=st.sampled_from(METHODS),
    weighted=st.booleans(),
    both=st.booleans(),
    agg=st.sampled_from(["worst_case", "mean"]),
)
@settings(max_examples=examples(25))
def test_binary_labels_give_fairlearns_value(
    fairlearn: ModuleType, name: str, rows: pd.DataFrame, method: str, weighted: bool, both: bool, agg: str
) -> None:
    options = {
        "sensitive_features": rows[["a", "b"]] if both else rows["a"],
        "method": method,
        "sample_weight": rows["weight"] if weighted else None,
    }
    if name.startswith("equalized"):
        options["agg"] = agg
    theirs = value(fairlearn, name, rows["truth"], rows["label"], **options)
    ours = value(audit, name, rows["truth"], rows["label"], **options)
    np.testing.assert_equal(ours, theirs)


@given(rows=samples(st.one_of(BINARY, CLASSES)), weighted=st.booleans(), data=st.data())
@settings(max_examples=examples(25))
def test_selection_rate_is_fairlearns(
    fairlearn: ModuleType, rows: pd.DataFrame, weighted: bool, data: st.DataObject
) -> None:
    options = {"pos_label": data.draw(st.sampled_from(list(rows["label"])))}
    options["sample_weight"] = rows["weight"] if weighted else None
    assert audit.selection_rate(rows["truth"], rows["label"], **options) == fairlearn.selection_rate(
        rows["truth"], rows["label"], **options
    )


def test_two_labels_of_which_one_is_1_are_binary(fairlearn: ModuleType) -> None:
    given = [2, 1, 2, 2], [1, 2, 2, 1]
    group = ["a", "a", "a", "b"]
    for name in NAMES[:2]:
        assert value(audit, name, *given, sensitive_features=group) == value(
            fairlearn, name, *given, sensitive_features=group
        )


# Labels that are not binary, against the definitions written out.


def is_binary(labels: set[Any]) -> bool:
    return labels == {0} or (len(labels) <= 2 and 1 in labels)


def spread(rows: list[tuple[Any, ...]], wanted: list[tuple[Any, Any]], method: str, ratio: bool) -> list[float]:
    """The difference or ratio of each rate: of a label among rows of a true class (None: among all rows)."""
    found = []
    for true, label in wanted:

        def rate(among: list[tuple[Any, ...]], label: Any = label) -> float:
            return sum(row[4] for row in among if row[1] == label) / sum(row[4] for row in among)

        there = [row for row in rows if true is None or row[0] == true]
        if not there:
            continue
        by_group = [rate([row for row in there if row[2] == a]) for a in sorted({row[2] for row in there})]
        low, high, base = min(by_group), max(by_group), rate(there)
        if not ratio:
            found.append(high - low if method == "between_groups" else max(abs(r - base) for r in by_group))
        elif high > 0:
            compared = [(low, high)] if method == "between_groups" else [(min(r, base), max(r, base)) for r in by_group]
            found.append(min(less / more for less, more in compared))
    return found


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(50))
@given(rows=samples(CLASSES), agg=st.sampled_from(["worst_case", "mean"]))
def test_any_labels_follow_the_definitions(method: str, rows: pd.DataFrame, agg: str) -> None:
    labels = {*rows["label"]}
    pool = labels | {*rows["truth"]}
    assume(not is_binary(pool))
    cells = {
        "demographic_parity": [(None, k) for k in labels],
        "equal_opportunity": [(k, k) for k in pool],
        "equalized_odds": [(j, k) for j in pool for k in pool],
    }
    if is_binary(labels):  # as parity sees them
        del cells["demographic_parity"]
    for kind, wanted in cells.items():
        options: dict[str, Any] = {"sensitive_features": rows["a"], "method": method, "sample_weight": rows["weight"]}
        if kind == "equalized_odds":
            options["agg"] = agg
        mean = kind == "equalized_odds" and agg == "mean"
        for form, worst in (("difference", max), ("ratio", min)):
            expected = spread(list(rows.itertuples(index=False)), wanted, method, form == "ratio")
            found = value(audit, f"{kind}_{form}", rows["truth"], rows["label"], **options)
            if not expected:
                assert math.isnan(found)
            else:
                assert found == pytest.approx(np.mean(expected) if mean else worst(expected), abs=1e-12)


@given(rows=samples(st.one_of(BINARY, CLASSES)))
@settings(max_examples=examples(40))
def test_parity_difference_is_the_gap_of_the_certificate(rows: pd.DataFrame) -> None:
    rates = pd.crosstab(rows["a"], rows["label"], normalize="index").to_numpy()
    found = audit.demographic_parity_difference(None, rows["label"], sensitive_features=rows["a"])
    assert found == pytest.approx(gap_of(rates), abs=1e-15)


@given(rows=samples(st.one_of(BINARY, CLASSES)), data=st.data())
@settings(max_examples=examples(25))
def test_order_of_rows_and_names_of_groups_do_not_matter(rows: pd.DataFrame, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = rows.iloc[order].reset_index(drop=True)
    for name in NAMES:
        first, second = (
            value(audit, name, part["truth"], part["label"], sensitive_features=groups, sample_weight=part["weight"])
            for part, groups in ((rows, rows["a"]), (shuffled, [f"g{9 - a}" for a in shuffled["a"]]))
        )
        np.testing.assert_equal(first, second)


@given(rows=samples(st.just(["no", "yes"])))
@settings(max_examples=examples(25))
def test_two_labels_of_any_name_have_the_gap_of_0_and_1(rows: pd.DataFrame) -> None:
    coded = (rows["label"] == "yes").astype(int)
    for method in METHODS:
        named, numbered = (
            audit.demographic_parity_difference(None, labels, sensitive_features=rows["a"], method=method)
            for labels in (rows["label"], coded)
        )
        assert named == pytest.approx(numbered, abs=1e-15)


def test_one_group_has_no_gap() -> None:
    given = [1, 0, 1, 1], [1, 1, 0, 1]
    for name in NAMES:
        for method in METHODS:
            found = getattr(audit, name)(*given, sensitive_features=["a"] * 4, method=method)
            assert found == (0.0 if name.endswith("difference") else 1.0)


# What is accepted, and what is refused.

KINDS = {
    "list": list,
    "tuple": tuple,
    "array": lambda values: np.array(values),
    "objects": lambda values: np.array(values, dtype=object),
    "column": lambda values: np.array(values)[:, None],
    "pandas": lambda values: pd.Series(values, index=range(50, 50 + len(values))),
    "category": lambda values: pd.Series(values, dtype="category"),
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "index": pd.Index,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:3], values[3:]]),
    "pandas frame": lambda values: pd.DataFrame({"y": values}),
    "polars frame": lambda values: pl.DataFrame({"y": values}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (False, True), ("x", "yes", "z")])
def test_any_kind_of_column_is_accepted(kind: str, labels: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(0)
    y_true, y_pred = ([labels[k] for k in rng.integers(0, len(labels), 60)] for _ in range(2))
    group = [f"g{a}" for a in rng.integers(0, 3, 60)]
    make = KINDS[kind]
    for name in NAMES:
        plain = getattr(audit, name)(y_true, y_pred, sensitive_features=group)
        assert getattr(audit, name)(make(y_true), make(y_pred), sensitive_features=make(group)) == plain
        assert getattr(audit, name)(y_true, make(y_pred), sensitive_features=group) == plain
    assert audit.selection_rate(None, make(y_pred), pos_label=labels[1]) == y_pred.count(labels[1]) / 60


@pytest.mark.parametrize(
    "truth",
    [[True, False, True], [1.0, 0.0, 1.0], ["1", "0", "1"], np.array([1, 0, 1], dtype=object), [True, 0.0, 1]],
    ids=["bools", "floats", "text", "objects", "mixed numbers"],
)
def test_labels_and_truths_of_different_types_are_one_set_of_classes(truth: Any) -> None:
    assert (
        audit.equalized_odds_difference(truth, [1, 0, 1], sensitive_features=["a", "a", "a"], method="to_overall") == 0
    )
    frame = audit.by_group([1, 0, 1], sensitive_features=["a", "a", "a"], y_true=truth)
    assert frame["accuracy"].tolist() == [1.0]
    assert {"rate_0", "rate_1"} == {name for name in frame.columns if name.startswith("rate_")}


@pytest.mark.parametrize(
    "features",
    [
        np.array([["l", "1"], ["l", "2"], ["r", "1"], ["r", "2"]]),
        pd.DataFrame({"side": list("llrr"), "n": [1, 2, 1, 2]}),
        pl.DataFrame({"side": list("llrr"), "n": [1, 2, 1, 2]}),
        {"side": list("llrr"), "n": np.array([1, 2, 1, 2])},
        [("l", 1), ("l", 2), ("r", 1), ("r", 2)],
    ],
    ids=["array", "pandas", "polars", "dict", "tuples"],
)
def test_several_features_are_intersected(features: Any) -> None:
    # Each feature alone has equal rates; their intersections do not.
    assert audit.demographic_parity_difference(None, [1, 0, 0, 1], sensitive_features=features) == 1.0
    assert audit.demographic_parity_difference(None, [1, 0, 0, 1], sensitive_features=list("llrr")) == 0.0
    names = audit.by_group(np.array([1, 0, 0, 1]), sensitive_features=features)["group"]
    assert list(names) == ["l & 1", "l & 2", "r & 1", "r & 2"]


def test_three_features_are_intersected() -> None:
    rng = np.random.default_rng(3)
    features = pd.DataFrame({name: rng.integers(0, 3, 200) for name in "abc"})
    labels = pd.Series(rng.integers(0, 2, 200))
    rates = labels.groupby([features[name] for name in "abc"]).mean()
    found = audit.demographic_parity_difference(None, labels, sensitive_features=features)
    assert found == pytest.approx(rates.max() - rates.min(), abs=1e-15)


def test_rows_are_matched_by_index_where_both_have_one_and_else_by_position() -> None:
    label = pd.Series([1, 1, 0, 0], index=list("wxyz"))
    moved = pd.Series(["a", "b", "a", "b"], index=list("zxyw"))  # a: 0 and 0, b: 1 and 1
    assert audit.demographic_parity_difference(None, label, sensitive_features=moved) == 1.0
    assert audit.demographic_parity_difference(None, label, sensitive_features=moved.to_numpy()) == 0.0
    assert audit.demographic_parity_difference(None, label.to_numpy(), sensitive_features=moved) == 0.0
    levels = pd.MultiIndex.from_product([[0, 1], [2, 3]])
    for index in (range(4), levels, list("wwxy")):
        others = moved.set_axis(index)
        with pytest.raises(InputError, match="have an index each"):
            audit.demographic_parity_difference(None, label, sensitive_features=others)
        with pytest.raises(InputError, match="have an index each"):
            audit.demographic_parity_difference(None, others, sensitive_features=label)


def test_a_group_without_positives_gives_a_warning() -> None:
    group = ["a", "a", "b", "b"]
    with pytest.warns(DataWarning, match="Group 'b' has no row of true label 1; its rate counts as 0, as in fairlearn"):
        assert audit.equal_opportunity_difference([1, 0, 0, 0], [1, 0, 0, 0], sensitive_features=group) == 1.0
    with pytest.warns(DataWarning, match="Group 'b' has no row of true label 'yes'; its rate is left out"):
        found = audit.equal_opportunity_difference(
            ["yes", "no", "no", "no"], ["yes", "no", "no", "no"], sensitive_features=group
        )
    assert found == 0.0


def test_labels_that_are_all_0_or_all_1() -> None:
    group = ["a", "b", "b"]
    for labels in ([0, 0, 0], [False] * 3, [-1, -1, -1]):
        assert audit.demographic_parity_difference(None, labels, sensitive_features=group) == 0.0
        assert math.isnan(audit.demographic_parity_ratio(None, labels, sensitive_features=group))
        assert audit.selection_rate(None, labels) == 0.0
    assert audit.demographic_parity_ratio(None, [1, 1, 1], sensitive_features=group) == 1.0
    assert audit.equalized_odds_difference([1, 1, 1], [1, 1, 1], sensitive_features=group) == 0.0


GOOD = {"y_true": [1, 0, 1], "y_pred": [1, 0, 0], "sensitive_features": ["a", "b", "b"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": [1, None, 0]}, "y_pred is missing in 1 of 3 rows, first in row 1"),
        ({"y_pred": [1, math.nan, 0]}, "y_pred is missing in 1 of 3 rows"),
        ({"y_true": pl.Series([None, 0, 1])}, "y_true is missing in 1 of 3 rows, first in row 0"),
        ({"y_true": [1, 0]}, "y_true has 2 rows and y_pred has 3"),
        ({"y_true": None}, "give y_true"),
        ({"y_pred": []}, "y_pred is empty"),
        ({"y_pred": np.eye(3)}, r"y_pred must be one column with one value per row; got shape \(3, 3\)"),
        ({"y_pred": pd.DataFrame(np.eye(3), columns=list("abc"))}, "got 3 columns"),
        ({"y_pred": "110"}, "y_pred must be one column with one value per row; got '110'"),
        ({"sensitive_features": ["a", "b"]}, "sensitive_features has 2 rows and y_pred has 3"),
        ({"sensitive_features": ["a", None, "b"]}, "sensitive_features is missing in 1 of 3 rows, first in row 1"),
        ({"sensitive_features": pd.DataFrame({"a": [1, 2, np.nan], "b": [1, 2, 3]})}, "missing in 1 of 3"),
        ({"sensitive_features": {}}, "sensitive_features has no column"),
        ({"sensitive_features": {"t1": "a", "t2": "b"}}, r"sensitive_features\['t1'\] must be one column"),
        ({"sensitive_features": 5}, "sensitive_features must be one column with one value per row; got 5"),
        ({"sample_weight": [1, 2]}, "sample_weight has 2 rows and y_pred has 3"),
        ({"sample_weight": [1, -2, 1]}, "sample_weight holds -2.0 in row 1"),
        ({"sample_weight": [1, math.nan, 1]}, "sample_weight holds nan in row 1"),
        ({"sample_weight": ["x", "y", "z"]}, "sample_weight must be one number per row"),
        ({"sample_weight": 2.0}, "sample_weight must be a column"),
        ({"sample_weight": [0, 0, 0]}, "All of sample_weight is 0"),
        ({"sample_weight": [0, 1, 1]}, "All rows of group 'a' have weight 0"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    options = {**GOOD, **change}
    with pytest.raises(InputError, match=message):
        audit.equalized_odds_difference(options.pop("y_true"), options.pop("y_pred"), **options)


def test_true_labels_of_parity_are_only_counted() -> None:
    options = {"sensitive_features": ["a", "b", "b"]}
    assert audit.demographic_parity_difference([None, math.nan, "?"], [1, 0, 0], **options) == 1.0
    with pytest.raises(InputError, match="y_true has 2 rows and y_pred has 3"):
        audit.demographic_parity_ratio([0, 1], [1, 0, 0], **options)
    with pytest.raises(InputError, match="y_true has 1 rows"):
        audit.selection_rate([0], [1, 0, 0])


def test_bad_options_are_named() -> None:
    for name in NAMES:
        with pytest.raises(OptionError, match="method='to_all' is not known"):
            getattr(audit, name)([1, 0], [1, 0], sensitive_features=["a", "a"], method="to_all")
    for name in NAMES[4:]:
        with pytest.raises(OptionError, match="agg='worst' is not known"):
            getattr(audit, name)([1, 0], [1, 0], sensitive_features=["a", "a"], agg="worst")
    with pytest.raises(InputError, match="No label is 1; name one with pos_label=: 'no', 'yes'"):
        audit.selection_rate(None, ["no", "yes"])
