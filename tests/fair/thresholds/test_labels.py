"""Labels by keys, against one comparison a task."""

import numpy as np
import pytest

from faircrowd.exact.hashing import uniforms
from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, limbs_to_numbers
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.labels import (
    Cut,
    coin_labels,
    coin_law,
    cut_labels,
    own_law,
    own_marks,
    own_totals,
    tied_at,
)
from faircrowd.fair.thresholds.scores import Key, make_key

COST = Key(False, -1.0, 1.0, 0.0)
SHIFTED = make_key(make_gain([[1.0, 0.0], [-0.5, 0.5]], 2), False)


def some(n: int, seed: int = 0, evidence: bool = False) -> Tasks:
    """Tasks of few posteriors, whole 16ths, with ties at a half."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 17, n) / 16
    group = np.append([0, 1], rng.integers(0, 2, n - 2))
    given = rng.integers(0, 3, n) if evidence else None
    return next(read_posterior(np.stack([1 - p, p], axis=1), group, evidence=given)._pieces())


def keys(tasks: Tasks, key: Key) -> np.ndarray:
    return key.one * tasks.posterior[:, 1] + key.zero * tasks.posterior[:, 0] + key.start


@pytest.mark.parametrize("key", [COST, SHIFTED], ids=["accuracy", "gains"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("n", [2, 40, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 2 * TERMS_PER_CARRY + 3])
def test_own_labels_and_their_totals(key: Key, last: bool, n: int) -> None:
    tasks = some(n)
    cost = keys(tasks, key)
    marked = (cost <= 0) if last else (cost < 0)
    assert n == 2 or (cost == 0).any()
    labels = own_marks(tasks, key, True, last)
    np.testing.assert_array_equal(labels, marked)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(own_law(tasks, key, True, last), np.stack([~marked, marked], axis=1))
    counts, gains, beliefs = own_totals(tasks, key, PROBABILITY_UNIT, True, last)
    assert counts.tolist() == [(marked & (tasks.group == a)).sum() for a in (0, 1)]
    np.testing.assert_array_equal(limbs_to_numbers(gains), [-cost[marked & (tasks.group == a)].sum() for a in (0, 1)])
    np.testing.assert_array_equal(limbs_to_numbers(beliefs), tasks.posterior.sum(axis=0))


def test_own_labels_are_judged_by_log_odds_or_by_cost() -> None:
    """A task whose log-odds and cost are of different signs."""
    p, group = np.array([0.4, 0.6]), np.array([0, 1], dtype=np.int32)
    tasks = some(2)._replace(posterior=np.stack([1 - p, p], axis=1), group=group, log_odds=np.log(p / (1 - p)))
    key = make_key(make_gain([[1.0, 0.0], [0.0, 4.0]], 2), True)
    assert own_marks(tasks, key, False, False).tolist() == [0, 1]
    assert own_marks(tasks, key, True, False).tolist() == [1, 1]
    for by_cost, wanted in ((False, [0, 1]), (True, [1, 1])):
        counts, gains, _ = own_totals(tasks, key, 2.0**50, by_cost, False)
        assert counts.tolist() == wanted
        np.testing.assert_allclose(limbs_to_numbers(gains, 2.0**50), (5 * p - 1) * wanted, atol=1e-12)


def test_tasks_at_a_key() -> None:
    tasks = some(60)
    for a in (0, 1):
        for value in (0.0, 0.5, -1.0, 0.3):
            wanted = np.flatnonzero((keys(tasks, COST) == value) & (tasks.group == a))
            np.testing.assert_array_equal(tied_at(tasks, COST, a, value), wanted)


@pytest.mark.parametrize("evidence", [False, True])
def test_labels_of_cuts(evidence: bool) -> None:
    tasks, seed = some(60, 1, evidence), 5
    cost, group = keys(tasks, COST), tasks.group
    for bounds in ((0.25, -0.5), (-0.125, 0.5)):
        rows = [np.flatnonzero((cost == bounds[a]) & (group == a)) for a in (0, 1)]
        for counts in ((0, 1), (1, 0), (rows[0].size, rows[1].size), (2, 1)):
            cuts, wanted = [], np.array([cost[i] < bounds[group[i]] for i in range(60)])
            for a in (0, 1):
                found = tasks.evidence[rows[a]] if evidence else np.zeros(rows[a].size, dtype=int)
                order = np.lexsort((tasks.hashes(rows[a], seed), -found))[: counts[a]]
                end = (int(found[order[-1]]), int(tasks.hashes(rows[a], seed)[order[-1]])) if counts[a] else None
                cuts.append(Cut(bounds[a], end))
                wanted[rows[a][order]] = True
            np.testing.assert_array_equal(cut_labels(tasks, COST, (cuts[0], cuts[1]), seed), wanted)


def test_a_coin_at_the_bound() -> None:
    tasks = some(80, 2)
    cost, group, bounds, parts = keys(tasks, COST), tasks.group, (0.25, -0.5), (0.375, 0.75)
    chance = np.array([1.0 * (c < bounds[a]) + parts[a] * (c == bounds[a]) for c, a in zip(cost, group, strict=True)])
    assert (chance == 0.375).sum() > 0
    assert (chance == 0.75).sum() > 0
    np.testing.assert_array_equal(coin_law(tasks, COST, bounds, parts), np.stack([1 - chance, chance], axis=1))
    drawn = uniforms(tasks.hashes(np.arange(80), 9)) >= 1 - chance
    np.testing.assert_array_equal(coin_labels(tasks, COST, bounds, parts, 9), drawn)
