"""Impact ratios: against a pandas computation, and what is unknown, small, or no score."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit import impact_table
from faircrowd.errors import InputError, OptionError
from strategies import examples

ROW = st.tuples(st.sampled_from(["hire", "no", "later"]), st.sampled_from(["f", "m", None]), st.sampled_from("abc"))


@given(st.lists(ROW, min_size=1, max_size=40))
@settings(max_examples=examples(60), deadline=None)
def test_rates_and_ratios_are_those_of_pandas(rows: list[tuple[str, str | None, str]]) -> None:
    frame = pd.DataFrame([*rows, ("hire", "f", "a")], columns=["label", "sex", "race"])
    found = impact_table(frame["label"], sensitive_features=frame[["sex", "race"]], selected="hire")
    hit = frame["label"] == "hire"
    both = (frame["sex"] + " & " + frame["race"]).rename("sex * race")
    expected = []
    for column in (frame["sex"], frame["race"], both):
        rate = hit.groupby(column).mean()
        number = column.value_counts()
        ratio = rate / rate.max() if rate.max() else rate * np.nan
        expected += [
            (column.name, name, number[name], rate[name], ratio[name], number[name] / number.sum() < 0.02)
            for name in rate.index
        ]
        assert found.unknown[str(column.name)] == column.isna().sum()
    assert len(found.rows) == len(expected)
    for row, (attribute, category, number_of, rate_of, ratio_of, small) in zip(found.rows, expected, strict=True):
        assert (row.attribute, row.category, row.number, row.is_small) == (attribute, category, number_of, small)
        assert row.rate == pytest.approx(rate_of)
        assert (np.nan if row.ratio is None else row.ratio) == pytest.approx(ratio_of, nan_ok=True)
    assert found.total == len(frame)


def test_small_categories_are_marked_and_may_be_left_out() -> None:
    labels = [1] * 50 + [0] * 50 + [1] * 40 + [0] * 60 + [1] * 2
    groups = pd.Series(["a"] * 100 + ["b"] * 100 + ["tiny"] * 2, name="race")
    kept = impact_table(labels, sensitive_features=groups, selected=1)
    assert [(row.category, row.ratio, row.is_small) for row in kept.rows] == [
        ("a", 0.5, False),
        ("b", 0.4, False),
        ("tiny", 1.0, True),
    ]
    left = impact_table(labels, sensitive_features=groups, selected="1", leave_out_small=True)
    assert [(row.category, row.number, row.rate, row.ratio) for row in left.rows] == [
        ("a", 100, 0.5, 1.0),
        ("b", 100, 0.4, 0.8),
        ("tiny", 2, 1.0, None),
    ]
    table = left.table().to_pandas()
    assert table["note"].tolist() == [
        "",
        "",
        "less than 2% of the data, left out of the ratios",
        "not known, in none of the rates",
    ]
    assert table["number"].sum() == left.total == 202


def test_scores_above_the_median_of_all_count() -> None:
    found = impact_table([1.0, 2.0, 3.0, 4.0, 5.0], sensitive_features=["a", "a", "b", "b", "b"])
    assert found.rule == "scores above the median, 3"
    assert [(row.number, row.selected) for row in found.rows] == [(2, 0), (3, 2)]
    with pytest.raises(InputError, match="must be numbers; name the label that counts as selected"):
        impact_table(["x", "y"], sensitive_features=["a", "b"])


def test_nobody_selected_has_no_ratio_and_a_wrong_label_is_told() -> None:
    found = impact_table([1, 0, 0], sensitive_features=pd.DataFrame({"sex": [None, "f", "m"]}), selected=1)
    assert [row.ratio for row in found.rows] == [None, None]
    assert found.to_dict()["unknown"] == {"sex": 1}
    with pytest.raises(OptionError, match=r"'hired' is not one of the labels, 'hire', 'no'\. Did you mean 'hire'"):
        impact_table(["hire", "no"], sensitive_features=["a", "b"], selected="hired")
