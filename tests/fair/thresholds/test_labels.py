"""Labels by sort keys, against one comparison per task."""

import numpy as np
import pytest

from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, limbs_to_numbers
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.labels import (
    Threshold,
    add_unconstrained,
    randomized_probabilities,
    rows_at_key,
    threshold_labels,
    unconstrained_labels,
    unconstrained_probabilities,
)
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, sort_key_formula

COST = SortKeyFormula(False, -1.0, 1.0, 0.0)
SHIFTED = sort_key_formula(make_gain([[1.0, 0.0], [-0.5, 0.5]], 2), False)


def some(n: int, seed: int = 0, evidence: bool = False) -> Tasks:
    """Return tasks with few distinct posteriors, multiples of 1/16, with ties at 1/2."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 17, n) / 16
    group = np.append([0, 1], rng.integers(0, 2, n - 2))
    given = rng.integers(0, 3, n) if evidence else None
    return next(read_posterior(np.stack([1 - p, p], axis=1), group, evidence=given)._pieces())


def keys(tasks: Tasks, formula: SortKeyFormula) -> np.ndarray:
    return formula.slope_1 * tasks.posterior[:, 1] + formula.slope_0 * tasks.posterior[:, 0] + formula.intercept


@pytest.mark.parametrize("formula", [COST, SHIFTED], ids=["accuracy", "gains"])
@pytest.mark.parametrize("ties_to_1", [False, True])
@pytest.mark.parametrize("n", [2, 40, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 2 * TERMS_PER_CARRY + 3])
def test_unconstrained_labels_and_their_totals(formula: SortKeyFormula, ties_to_1: bool, n: int) -> None:
    tasks = some(n)
    cost = keys(tasks, formula)
    label_1 = (cost <= 0) if ties_to_1 else (cost < 0)
    assert n == 2 or (cost == 0).any()
    labels = unconstrained_labels(tasks, formula, True, ties_to_1)
    np.testing.assert_array_equal(labels, label_1)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(
        unconstrained_probabilities(tasks, formula, True, ties_to_1), np.stack([~label_1, label_1], axis=1)
    )
    counts, gains, posterior = add_unconstrained(tasks, formula, PROBABILITY_UNIT, True, ties_to_1)
    assert counts.tolist() == [(label_1 & (tasks.group == a)).sum() for a in (0, 1)]
    np.testing.assert_array_equal(limbs_to_numbers(gains), [-cost[label_1 & (tasks.group == a)].sum() for a in (0, 1)])
    np.testing.assert_array_equal(limbs_to_numbers(posterior), tasks.posterior.sum(axis=0))


def test_unconstrained_labels_go_by_log_odds_or_by_cost() -> None:
    """The log-odds and the cost of a task have different signs."""
    p, group = np.array([0.4, 0.6]), np.array([0, 1], dtype=np.int32)
    tasks = some(2)._replace(posterior=np.stack([1 - p, p], axis=1), group=group, log_odds=np.log(p / (1 - p)))
    formula = sort_key_formula(make_gain([[1.0, 0.0], [0.0, 4.0]], 2), True)
    assert unconstrained_labels(tasks, formula, False, False).tolist() == [0, 1]
    assert unconstrained_labels(tasks, formula, True, False).tolist() == [1, 1]
    for by_cost, wanted in ((False, [0, 1]), (True, [1, 1])):
        counts, gains, _ = add_unconstrained(tasks, formula, 2.0**50, by_cost, False)
        assert counts.tolist() == wanted
        np.testing.assert_allclose(limbs_to_numbers(gains, 2.0**50), (5 * p - 1) * wanted, atol=1e-12)


def test_tasks_at_a_key() -> None:
    tasks = some(60)
    for a in (0, 1):
        for value in (0.0, 0.5, -1.0, 0.3):
            wanted = np.flatnonzero((keys(tasks, COST) == value) & (tasks.group == a))
            np.testing.assert_array_equal(rows_at_key(tasks, COST, a, value), wanted)


@pytest.mark.parametrize("evidence", [False, True])
def test_labels_by_thresholds(evidence: bool) -> None:
    tasks, seed = some(60, 1, evidence), 5
    cost, group = keys(tasks, COST), tasks.group
    for threshold_keys in ((0.25, -0.5), (-0.125, 0.5)):
        rows = [np.flatnonzero((cost == threshold_keys[a]) & (group == a)) for a in (0, 1)]
        for counts in ((0, 1), (1, 0), (rows[0].size, rows[1].size), (2, 1)):
            thresholds, wanted = [], np.array([cost[i] < threshold_keys[group[i]] for i in range(60)])
            for a in (0, 1):
                found = tasks.evidence[rows[a]] if evidence else np.zeros(rows[a].size, dtype=int)
                order = np.lexsort((tasks.hashes(rows[a], seed), -found))[: counts[a]]
                end = (int(found[order[-1]]), int(tasks.hashes(rows[a], seed)[order[-1]])) if counts[a] else None
                thresholds.append(Threshold(threshold_keys[a], end))
                wanted[rows[a][order]] = True
            np.testing.assert_array_equal(threshold_labels(tasks, COST, (thresholds[0], thresholds[1]), seed), wanted)


def test_probabilities_at_the_threshold() -> None:
    tasks = some(80, 2)
    cost, group, threshold_keys, fractions = keys(tasks, COST), tasks.group, (0.25, -0.5), (0.375, 0.75)
    probability = np.array(
        [
            1.0 * (c < threshold_keys[a]) + fractions[a] * (c == threshold_keys[a])
            for c, a in zip(cost, group, strict=True)
        ]
    )
    assert (probability == 0.375).sum() > 0
    assert (probability == 0.75).sum() > 0
    np.testing.assert_array_equal(
        randomized_probabilities(tasks, COST, threshold_keys, fractions),
        np.stack([1 - probability, probability], axis=1),
    )
