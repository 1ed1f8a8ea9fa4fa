"""Gaps within strata."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit import conditional_gaps, demographic_parity_difference
from faircrowd.errors import InputError
from strategies import examples

ROW = st.tuples(st.sampled_from(["x", "y", "z"]), st.integers(0, 2), st.integers(0, 3))


def test_labels_fair_at_every_point_have_a_gap() -> None:
    """The paper's example: P(X=1) is 3/4 in one group and 1/4 in the other; the rate is .8 at X=1 and .2 at X=0."""
    counts = {(1, 1): (24, 6), (1, 0): (2, 8), (0, 1): (8, 2), (0, 0): (6, 24)}  # (group, X): ones, zeros
    rows = [(y, a, x) for (a, x), (ones, zeros) in counts.items() for y in [1] * ones + [0] * zeros]
    label, group, x = np.array(rows).T
    found = conditional_gaps(label, sensitive_features=group, control_features=x)
    assert found.strata["gap"].tolist() == [0.0, 0.0]
    assert (found.mean, found.largest) == (0.0, 0.0)
    assert found.gap == pytest.approx(0.3, abs=1e-15)
    assert demographic_parity_difference(None, label, sensitive_features=group) == pytest.approx(0.3, abs=1e-15)
    assert (found.compared, found.silent) == (80, 0)


def test_labels_without_a_gap_are_unfair_at_every_point() -> None:
    found = conditional_gaps(
        [1, 1, 0, 0, 0, 0, 1, 1], sensitive_features=list("aaaabbbb"), control_features=[1, 1, 2, 2, 1, 1, 2, 2]
    )
    assert (found.gap, found.mean, found.largest) == (0.0, 1.0, 1.0)


@given(st.lists(ROW, min_size=1, max_size=30))
@settings(max_examples=examples(60))
def test_every_stratum_has_the_gap_of_its_rows(rows: list[tuple[Any, ...]]) -> None:
    label, group, stratum = map(list, zip(*rows, strict=True))
    found = conditional_gaps(label, sensitive_features=group, control_features=stratum)
    assert found.gap == demographic_parity_difference(None, label, sensitive_features=group)
    assert found.strata["stratum"].tolist() == sorted(set(stratum))
    total = 0.0
    for line in found.strata.to_dict("records"):
        here = [row for row in rows if row[2] == line["stratum"]]
        labels, groups = [row[0] for row in here], [row[1] for row in here]
        assert (line["count"], line["groups"]) == (len(here), len(set(groups)))
        assert line["smallest"] == min(map(groups.count, groups))
        if line["groups"] == 1:
            assert math.isnan(line["gap"])
            assert line["note"] == "says nothing"
        else:
            assert line["gap"] == demographic_parity_difference(None, labels, sensitive_features=groups)
            assert line["note"] == "compared"
            total += line["gap"] * len(here)
    told = found.strata[found.strata["groups"] > 1]
    assert (found.compared, found.silent) == (told["count"].sum(), len(rows) - told["count"].sum())
    assert found.mean == pytest.approx(total / found.compared if found.compared else math.nan, nan_ok=True)
    np.testing.assert_equal(found.largest, told["gap"].max() if len(told) else math.nan)


def test_strata_that_say_nothing_do_not_count() -> None:
    found = conditional_gaps(
        [1, 0, 1, 1], sensitive_features=["a", "b", "a", "a"], control_features=["both", "both", "one", "one"]
    )
    assert (found.mean, found.largest, found.compared, found.silent) == (1.0, 1.0, 2, 2)
    alone = conditional_gaps([1, 0], sensitive_features=["a", "b"], control_features=[1, 2])
    assert math.isnan(alone.mean)
    assert math.isnan(alone.largest)
    assert alone.silent == 2


def test_several_control_features_are_intersected_and_the_frame_is_of_their_kind() -> None:
    strata = {"age": [1, 1, 2, 2], "town": ["x", "y", "x", "x"]}
    found = conditional_gaps([1, 0, 1, 0], sensitive_features=list("abab"), control_features=pl.DataFrame(strata))
    assert isinstance(found.strata, pl.DataFrame)
    assert found.strata["stratum"].to_list() == ["1 & x", "1 & y", "2 & x"]
    assert found.largest == 1.0
    same = conditional_gaps([1, 0, 1, 0], sensitive_features=list("abab"), control_features=pd.DataFrame(strata))
    assert isinstance(same.strata, pd.DataFrame)
    assert same.strata.to_dict("list").keys() == found.strata.to_dict(as_series=False).keys()


def test_missing_strata_are_refused() -> None:
    with pytest.raises(InputError, match="control_features is missing in 1 of 2 rows, first in row 0"):
        conditional_gaps([1, 0], sensitive_features=["a", "b"], control_features=[None, 1])
