"""Sort keys of tasks, against the formula of their costs."""

import math

import numpy as np
import pytest

from faircrowd.fair.objective import Gain, f1_gain, make_gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.sort_keys import (
    SortKeyFormula,
    cost_of_key,
    cost_unit,
    costs_of_keys,
    key_of_task,
    sort_key_formula,
    sort_keys,
    sort_keys_by_group,
)

P = np.array([0.2, 0.9, 0.5, 0.0, 1.0, 0.25, 0.75])
GROUP = [0, 1, 1, 0, 1, 0, 0]
GAINS = np.array([[2.0, -1.0], [-3.0, 1.5]])


def some(logs: bool = True) -> Tasks:
    posterior = np.stack([1 - P, P], axis=1)
    with np.errstate(divide="ignore"):
        given = np.log(posterior) if logs else None
    return next(read_posterior(posterior, GROUP, log_posterior=given)._pieces())


@pytest.mark.parametrize(
    "gain", [make_gain("accuracy", 2), f1_gain(0.25), make_gain(GAINS, 2), Gain("gains", GAINS, np.array([0.5, 3.0]))]
)
def test_the_cost_is_what_label_1_loses(gain: Gain) -> None:
    tasks, posterior = some(), np.stack([1 - P, P], axis=1)
    gained = gain.of(posterior)
    wanted = gained[:, 0] - gained[:, 1]
    for has_odds in (False, True):
        formula = sort_key_formula(gain, has_odds)
        assert formula.is_log_odds is has_odds
        keys = sort_keys(tasks, formula)
        np.testing.assert_allclose(costs_of_keys(formula, keys), wanted, rtol=0, atol=1e-12)
        assert [float(cost_of_key(formula, key)) for key in keys] == costs_of_keys(formula, keys).tolist()
        assert [float(key_of_task(formula, tasks.posterior, tasks.log_odds, i)) for i in range(P.size)] == keys.tolist()
        if has_odds:
            with np.errstate(divide="ignore"):
                np.testing.assert_allclose(keys, np.log(1 - P) - np.log(P), rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_allclose(keys, wanted, rtol=0, atol=1e-12)
        parts = sort_keys_by_group(tasks, formula)
        for a in (0, 1):
            assert sorted(parts[a]) == sorted(keys[np.array(GROUP) == a])


def test_log_odds_are_not_used_where_the_unlikely_label_gains_more() -> None:
    for gains in ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]):
        formula = sort_key_formula(make_gain(gains, 2), True)
        assert formula.is_log_odds is False
        np.testing.assert_allclose(sort_keys(some(), formula), P * (gains[1][0] - gains[1][1]) - (1 - P))


@pytest.mark.parametrize("members", [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0]])
def test_keys_by_group_if_a_group_is_empty_or_last(members: list[int]) -> None:
    p, formula = np.array([0.1, 0.4, 0.8]), SortKeyFormula(False, -1.0, 1.0, 0.0)
    group = np.array(members, dtype=np.int32)
    none = np.empty(0)
    tasks = some()._replace(posterior=np.stack([1 - p, p], axis=1), group=group, own=group, log_odds=none)
    zero, one = sort_keys_by_group(tasks, formula)
    assert sorted(zero) == sorted((1 - 2 * p)[group == 0])
    assert sorted(one) == sorted((1 - 2 * p)[group == 1])


def test_the_cost_of_infinite_log_odds_is_finite() -> None:
    formula = SortKeyFormula(True, -1.0, 1.0, 0.0)
    for key, cost in ((-math.inf, -1.0), (math.inf, 1.0), (-699.0, -1.0), (0.0, 0.0)):
        assert float(cost_of_key(formula, key)) == cost
    steep = SortKeyFormula(True, 1e300, 0.0, 0.0)  # a slope at which the smallest probabilities are visible
    for key, odds in ((690.0, 690.0), (700.0, 700.0), (701.0, 700.0), (math.inf, 700.0)):
        assert float(cost_of_key(steep, key)) == pytest.approx(1e300 * math.exp(-odds), rel=1e-12)


@pytest.mark.parametrize(
    ("formula", "largest"),
    [
        (SortKeyFormula(False, -1.0, 1.0, 0.0), 1.0),
        (SortKeyFormula(False, -5.0, 1.0, 0.0), 5.0),
        (SortKeyFormula(True, 0.5, -3.0, 0.0), 3.0),
        (SortKeyFormula(True, -2.0, 0.0, 0.25), 2.25),
        (SortKeyFormula(True, -2.0, 0.0, -1.75), 3.75),
        (SortKeyFormula(True, -3.5, 0.0, 1.75), 5.25),
    ],
)
def test_the_unit_holds_the_largest_cost_in_52_bits(formula: SortKeyFormula, largest: float) -> None:
    assert 2**51 < largest * cost_unit(formula) <= 2**52
