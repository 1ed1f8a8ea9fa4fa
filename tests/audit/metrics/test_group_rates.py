"""Rates of groups, their differences and ratios, and groups without rows."""

import numpy as np
import pytest

from faircrowd.audit import equal_opportunity_difference, equalized_odds_difference
from faircrowd.audit.metrics.group_rates import Shares, differences, divide, ratios
from faircrowd.errors import DataWarning


def test_differences_and_ratios_of_rates() -> None:
    part, total = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]]), np.array([[4.0, 4.0, 2.0], [4.0, 4.0, 0.0]])
    assert divide(part, total, 9.0).tolist() == [[0.25, 0, 1], [0.75, 0, 9]]
    named, binary = Shares(part, total, False), Shares(part, total, True)
    np.testing.assert_array_equal(named.by_group(), [[0.25, 0, 1], [0.75, 0, np.nan]])
    np.testing.assert_array_equal(binary.by_group(), [[0.25, 0, 1], [0.75, 0, 0]])
    assert named.overall().tolist() == [0.5, 0, 1]
    assert differences(named, "between_groups").tolist() == [0.5, 0, 0]
    assert differences(binary, "between_groups").tolist() == [0.5, 0, 1]
    assert differences(named, "to_overall").tolist() == [0.25, 0, 0]
    np.testing.assert_array_equal(ratios(named, "between_groups"), [1 / 3, np.nan, 1])
    np.testing.assert_array_equal(ratios(binary, "between_groups"), [1 / 3, np.nan, 0])
    np.testing.assert_array_equal(ratios(named, "to_overall"), [0.5, np.nan, 1])
    assert Shares(np.zeros((2, 1)), np.zeros((2, 1)), False).overall().tolist() == [0]


def test_groups_without_rows_of_a_true_class_are_counted() -> None:
    truth, group = ["y", "n", "m", "n", "n"], ["a", "a", "a", "b", "c"]
    words = r"Group 'b' has no row of true label 'm' \(and 3 more such pairs\); its rate is left out"
    with pytest.warns(DataWarning, match=words):
        assert equal_opportunity_difference(truth, truth, sensitive_features=group) == 0
    with pytest.warns(DataWarning, match="Group 'b' has no row of true label 1; its rate counts as 0, as in fairlearn"):
        assert equalized_odds_difference([1, 0, 0], [1, 0, 0], sensitive_features=["a", "a", "b"]) == 1
    assert equalized_odds_difference([1, 1], [1, 1], sensitive_features=["a", "b"]) == 0
