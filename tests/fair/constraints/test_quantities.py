"""Comparisons: the level, by how much it misses its limit, and that the worst level is the one that is reported."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd import make_fair
from faircrowd.constraints import Difference, Range, RateRatio, Ratio


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5), st.floats(0, 1))
def test_level_and_excess_are_beyond_the_limit_together(values: list[float], limit: float) -> None:
    at = np.array(values)
    for comparison in (Difference([], limit), Ratio([], limit), Range([], high=limit), Range([], low=limit)):
        miss, excess = comparison.miss(at), comparison.excess(at)
        if max(abs(miss), abs(excess)) > 1e-9:
            assert (miss > 1e-12) == (excess > 1e-12) or abs(excess) < 1e-9


def test_the_reported_ratio_is_the_smallest_of_all_labels() -> None:
    """A rare label that one group does not get has ratio 0, although its rates hardly differ."""
    posterior = np.repeat(np.eye(3), [40, 50, 10], axis=0) * 0.8 + 0.2 / 3
    groups = pd.Series(["a"] * 10 + ["b"] * 30 + ["a"] * 30 + ["b"] * 20 + ["a"] * 10)
    found = make_fair(posterior, groups.to_numpy(), constraints=[RateRatio(0.0)])
    assert found.certificate.constraints[0].level == 0.0
    counts = pd.crosstab(groups, np.repeat([0, 1, 2], [40, 50, 10])).to_numpy()
    rates = counts / counts.sum(axis=1, keepdims=True)
    least = (rates.min(axis=0) / rates.max(axis=0)).min()
    assert found.certificate.constraints[0].level_before == pytest.approx(least)
