"""Stretches of sorted tasks, against all tasks sorted."""

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.exact.sums import to_units
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds import sorted_stretch
from faircrowd.fair.thresholds.flip_cost import PriceFormula
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, cost_unit, costs_of_keys, sort_keys
from faircrowd.fair.thresholds.sorted_stretch import SortedStretch, sort_all_tasks, sort_near_thresholds
from faircrowd.fair.thresholds.window import solve_in_window, unconstrained_totals
from faircrowd.fair.whole_tasks.allowance import TO_THE_LETTER
from strategies import examples

COST, LOG_ODDS = SortKeyFormula(False, -1.0, 1.0, 0.0), SortKeyFormula(True, -1.0, 1.0, 0.0)
SEEDS = st.integers(0, 2**32 - 1)


def some(n: int, seed: int, order: str, steps: int | None, formula: SortKeyFormula = COST) -> Problem:
    """Return tasks of two groups of any sizes, in an order that may mislead a sample."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(int)
    group[:2] = 0, 1
    p = rng.beta(1 + 2 * group, 3 - 2 * group) if seed % 3 else rng.beta(3 - 2 * group, 1 + 2 * group)
    p = p if steps is None else np.round(p * steps) / steps
    if order == "sorted":
        rows = np.argsort(p)
        p, group = p[rows], group[rows]
    if order == "misleading":  # every eighth task of each group, and so the sample, is among its best
        for a in (0, 1):
            rows = np.flatnonzero(group == a)
            best = np.sort(p[rows])[::-1]
            sampled = rows[::8]
            p[sampled], p[np.setdiff1d(rows, sampled)] = best[: sampled.size], rng.permutation(best[sampled.size :])
    logs = np.log(np.clip(np.stack([1 - p, p], axis=1), 1e-12, 1)) if formula.is_log_odds else None
    return read_posterior(np.stack([1 - p, p], axis=1), group, log_posterior=logs)


def asked(problem: Problem, formula: SortKeyFormula, epsilon: float) -> tuple[Any, ...]:
    own = unconstrained_totals(problem, formula, by_cost=False)
    shares = problem.sizes / problem.sizes.sum()
    prices = PriceFormula(formula, (float(shares[0]), float(shares[1])), int(own.signed_gap > 0))
    return problem, prices, own.counts, abs(own.signed_gap) - epsilon


@pytest.mark.parametrize("formula", [COST, LOG_ODDS], ids=["costs", "log-odds"])
@given(st.integers(200, 3000), st.sampled_from(["any", "sorted", "misleading"]), st.sampled_from([None, 7, 200]), SEEDS)
@settings(max_examples=examples(40))
def test_stretches_are_parts_of_all_tasks_with_the_same_thresholds(
    formula: SortKeyFormula, n: int, order: str, steps: int | None, seed: int
) -> None:
    problem = some(n, seed, order, steps, formula)
    given = asked(problem, formula, 0.02)
    if given[3] <= 0:  # nothing to close
        return
    everything = sort_all_tasks(*given)
    with patch.multiple(sorted_stretch, _FEW_TASKS=0, _SAMPLE=256, _MOST_OF_GROUP=0.9):
        found = sort_near_thresholds(*given, np.full(2, 5.0))
    keys, unit = problem.emit(sort_keys, formula), cost_unit(formula)
    for a, (stretch, whole) in enumerate(zip(found, everything, strict=True)):
        of_group = np.sort(keys[problem.group == a])
        assert (whole.keys.tolist(), whole.before) == (of_group.tolist(), (0, 0, 0))
        assert whole.is_from_first
        assert whole.is_to_last
        first = stretch.before[0]
        assert stretch.threshold_cost == whole.threshold_cost
        assert stretch.keys.tolist() == of_group[first : first + stretch.keys.size].tolist()
        assert stretch.costs.tolist() == costs_of_keys(formula, stretch.keys).tolist()
        gained = sum(int(to_units(-cost, unit)) for cost in costs_of_keys(formula, of_group[:first]).tolist())
        assert stretch.before[1] * 2**26 + stretch.before[2] == gained
        assert stretch.n_tasks == of_group.size


def test_most_tasks_are_not_sorted() -> None:
    given = asked(some(60_000, 1, "any", None), COST, 0.02)
    for stretch in sort_near_thresholds(*given, np.full(2, 100.0)):
        assert not stretch.is_from_first
        assert not stretch.is_to_last
        at = np.searchsorted(stretch.costs, stretch.threshold_cost)
        assert 100 <= at <= stretch.costs.size - 100
        assert stretch.costs.size < 0.25 * stretch.n_tasks


@pytest.mark.parametrize("turns", [2, 3, 4, 6])
def test_groups_may_come_in_turns(turns: int) -> None:
    """Every second task, or another part of them, is of one group alone."""
    p = np.random.default_rng(turns).random(120_000)
    group = (np.arange(p.size) % turns > 0).astype(int)
    problem = read_posterior(np.stack([1 - p, p], axis=1), group)
    prices = PriceFormula(COST, tuple((problem.sizes / p.size).tolist()), 1)
    own_counts = problem.tally(problem.own).tasks.sum(axis=1)[:, 1]
    for step in range(2, 13):
        zero, one = sorted_stretch._sample_keys(next(problem._pieces(p.size)), COST, step)
        assert abs(one.size / (zero.size + one.size) - group.mean()) < 0.02
    for stretch in sort_near_thresholds(problem, prices, own_counts, 0.05, np.full(2, 100.0)):
        assert stretch.costs.size < 0.25 * stretch.n_tasks


def test_few_or_mostly_equal_tasks_are_sorted_all() -> None:
    few, equal = some(5000, 1, "any", None), some(60_000, 1, "any", 5)
    for problem in (few, equal):
        for stretch in sort_near_thresholds(*asked(problem, COST, 0.02), np.full(2, 10.0)):
            assert stretch.keys.size == stretch.n_tasks


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_bad_guess_changes_nothing(deterministic: bool) -> None:
    """Stretches that miss the thresholds, or are narrower than the window, are replaced by all tasks."""
    problem = some(4000, 1, "any", None)
    own = unconstrained_totals(problem, COST, by_cost=False)
    asked_for = (problem, COST, own, 0.02, TO_THE_LETTER if deterministic else ())
    expected = solve_in_window(*asked_for)
    exact = [stretch.threshold_cost for stretch in sort_all_tasks(*asked(problem, COST, 0.02))]
    for guess in (
        [(-math.inf, -0.9)] * 2,
        [(0.9, math.inf)] * 2,
        [(-1.0, -0.99), (0.99, 1.0)],
        [(at - 1e-3, at + 1e-3) for at in exact],
        [(exact[0] - 0.2, exact[0] + 0.2), (exact[1] + 1e-9, 1.0)],
        [(exact[0] - 1.0, exact[0] - 1e-9), (exact[1] - 0.2, exact[1] + 0.2)],
        [(2.0, 3.0), (2.0, 3.0)],
    ):
        with (
            patch.object(sorted_stretch, "_FEW_TASKS", 0),
            patch.object(sorted_stretch, "_guess_bounds", return_value=guess),
        ):
            found = solve_in_window(*asked_for)
        assert (found.relaxed, found.counts, found.excess) == (expected.relaxed, expected.counts, expected.excess)
        for a in (0, 1):
            np.testing.assert_array_equal(found.keys[a], expected.keys[a])


def test_a_threshold_must_lie_inside_its_stretch() -> None:
    costs = np.array([0.1, 0.2, 0.3])
    for at, before, n_tasks, holds in (
        *((0.2, 5, 20, True), (0.1, 5, 20, False), (0.3, 5, 20, False), (0.05, 5, 20, False), (0.4, 5, 20, False)),
        *((0.05, 0, 20, True), (0.1, 0, 20, True), (0.3, 5, 8, True), (0.9, 5, 8, True), (math.inf, 0, 3, False)),
    ):
        assert sorted_stretch._holds_threshold(SortedStretch(costs, costs, (before, 0, 0), n_tasks, at)) is holds
    assert not sorted_stretch._holds_threshold(SortedStretch(costs[:0], costs[:0], (0, 0, 0), 3, 0.2))
