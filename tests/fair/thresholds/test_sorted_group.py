"""Sorted groups: rates, values and counts, against counts and sums done the slow way."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.objective import f1_gain, make_gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds import sorted_group
from faircrowd.fair.thresholds.sorted_group import (
    BLOCK_SIZE,
    SortedGroup,
    count_below_cost,
    make_sorted_group,
    make_sorted_group_without_values,
    make_window_group,
    new_value_cache,
    rate_at_count,
    sort_groups,
    value_at_count,
)
from inner_kernels import from_python

cost_at_rank = from_python(sorted_group.cost_at_rank)
first_count_with_rate = from_python(sorted_group.first_count_with_rate)
largest_known_count = from_python(sorted_group.largest_known_count)
least_known_count = from_python(sorted_group.least_known_count)

UNIT = 2.0**40
P = np.array([0.5, 0.875, 0.125, 0.5, 0.75, 0.25, 1.0, 0.5, 0.0])
GROUP = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1])
WEIGHTS = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
EVIDENCE = np.array([1, 5, 5, 5, 5, 5, 5, 2, 5])
GAINS = [[1.0, -0.5], [-2.0, 0.5]]


def problem_of(*, weighted: bool = False, odds: bool = False, ties: str = "first") -> Problem:
    posterior = np.stack([1 - P, P], axis=1)
    with np.errstate(divide="ignore"):
        logs = np.log(posterior) if odds else None
    weights = WEIGHTS if weighted else None
    return read_posterior(posterior, GROUP, sample_weight=weights, log_posterior=logs, evidence=EVIDENCE, ties=ties)


def some_costs(n: int, seed: int = 0) -> Any:
    """Return ascending costs with few bits: their sums, over a power of two, are exact."""
    return np.sort(np.random.default_rng(seed).integers(-512, 512, n)) / 1024


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_sums_of_gains(n: int, weighted: bool) -> None:
    costs = some_costs(n)
    weights = np.random.default_rng(1).integers(1, 8, n).astype(float) if weighted else None
    group = make_sorted_group(costs, weights, 1, 256.0)
    gains = -costs * (1.0 if weights is None else weights)
    expected = np.append(0.0, np.cumsum(gains)) / 256.0
    forward, backward = new_value_cache(), new_value_cache()
    for count in range(n + 1):
        assert value_at_count(group, count, new_value_cache()) == expected[count]
        assert value_at_count(group, count, forward) == expected[count]
        assert value_at_count(group, n - count, backward) == expected[n - count]
    assert group.block_values.tolist() == expected[::BLOCK_SIZE].tolist()


def test_values_equal_to_the_number_of_a_block_do_not_confuse_the_cache() -> None:
    group, cache = make_sorted_group(np.full(200, -1.0), None, 0, float(BLOCK_SIZE)), new_value_cache()
    for count in (3, 66, 130, 70, 1):
        assert value_at_count(group, count, cache) == count / BLOCK_SIZE


@pytest.mark.parametrize(("n", "tiny"), [(63, 2.0**-54), (64 * 60, 2.0**-60)])
def test_long_sums_keep_their_digits(n: int, tiny: float) -> None:
    costs = np.full(n, -tiny)
    costs[0] = -1.0
    found = value_at_count(make_sorted_group(costs, None, 0, 1.0), n, new_value_cache())
    assert found == pytest.approx(math.fsum(-costs), abs=2.0**-52, rel=0)


def test_a_group_of_equal_weights_stores_no_rates() -> None:
    group = make_sorted_group(np.array([-0.5, 0.0, 0.25]), None, 2, 12.0)
    for unused in (group.weights, group.rates, group.run_starts, group.gain_high, group.gain_low):
        assert unused.size == 0
    assert (group.own_count, group.share, group.total_weight, group.n_tasks, group.unit) == (2, 0.25, 12.0, 3, 1.0)
    assert [rate_at_count(group, count) for count in range(4)] == [0.0, 1 / 3, 2 / 3, 1.0]
    assert (least_known_count(group), largest_known_count(group)) == (0, 3)


def test_rates_of_weights_end_at_one() -> None:
    weights = np.full(10, 0.1)  # their sum in order is less than their sum in pairs
    weights[-1] = 1e-20
    group = make_sorted_group(some_costs(10), weights, 4, 1.8)
    assert group.rates.tolist() == [0.0, *(np.cumsum(weights)[:-1] / weights.sum()).tolist(), 1.0]
    assert group.weights.tolist() == weights.tolist()
    assert group.share == pytest.approx(0.5)
    assert [rate_at_count(group, count) for count in (0, 3, 10)] == [0.0, group.rates[3], 1.0]


def test_a_group_without_values_has_all_other_fields() -> None:
    costs = some_costs(10)
    full, without = make_sorted_group(costs, None, 4, 40.0), make_sorted_group_without_values(costs, 4, 40.0)
    for name in set(SortedGroup._fields) - {"block_values"}:
        np.testing.assert_array_equal(getattr(without, name), getattr(full, name))
    assert not without.block_values.size


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 997])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_count_with_a_rate(n: int, weighted: bool) -> None:
    group = make_sorted_group(
        np.zeros(n), np.random.default_rng(n).uniform(0.1, 1, n) if weighted else None, 0, float(n)
    )
    rates = np.array([rate_at_count(group, count) for count in range(n + 1)])
    some = rates[np.unique(np.linspace(0, n, 40).astype(int))]
    asked = np.concatenate(
        [some, np.nextafter(some, 2), np.nextafter(some, -1), some + 0.3 / n, [-1.1, -0.4, 1.2, 2.1]]
    )
    for rate in asked.tolist():
        assert first_count_with_rate(group, rate, False) == np.sum(rates < rate)
        assert first_count_with_rate(group, rate, True) == np.sum(rates <= rate)


class Runs:
    """A window in the middle of a group that consists of runs, and the same group task by task."""

    def __init__(self, first: int, last: int) -> None:
        self.costs = np.array([-0.75, -0.5 - 3 / UNIT, -1 / UNIT, 0.0, 2 / UNIT, 0.625])
        counts = np.array([300, 2, 5, 1, 400, 3])
        self.all = np.repeat(self.costs, counts)
        units = [-int(Fraction(cost) * int(UNIT)) for cost in self.all.tolist()]
        self.sums = [sum(units[:count]) for count in range(self.all.size + 1)]
        skipped = int(counts[:first].sum())
        gain = self.sums[skipped]
        before = skipped, gain >> 26, gain & (2**26 - 1)
        self.costs, self.counts = self.costs[first:last], counts[first:last]
        self.first, self.last = skipped, skipped + int(self.counts.sum())
        self.group = make_window_group(
            self.costs, self.counts, before, own_count=4, n_tasks=self.all.size, total_weight=1024.0, unit=UNIT
        )


@pytest.mark.parametrize(("first", "last"), [(0, 6), (1, 5), (2, 3), (4, 6)])
def test_a_window_agrees_with_the_whole_group(first: int, last: int) -> None:
    runs = Runs(first, last)
    group, n = runs.group, runs.all.size
    assert (least_known_count(group), largest_known_count(group)) == (runs.first, runs.last)
    assert (group.own_count, group.n_tasks, group.share, group.total_weight, group.unit) == (
        4,
        n,
        n / 1024,
        1024.0,
        UNIT,
    )
    assert [group.weights.size, group.rates.size, group.block_values.size] == [0, 0, 0]
    assert group.run_starts.tolist() == [runs.first, *(runs.first + np.cumsum(runs.counts)).tolist()]
    cache = new_value_cache()
    for count in range(runs.first, runs.last + 1):
        assert value_at_count(group, count, cache) == runs.sums[count] / UNIT / 1024
        assert rate_at_count(group, count) == count / n
    for rank in range(n):
        inside = -math.inf if rank < runs.first else (math.inf if rank >= runs.last else runs.all[rank])
        assert cost_at_rank(group, rank) == inside
    assert cost_at_rank(group, n) == math.inf
    for cost in runs.costs.tolist():
        assert count_below_cost(group, cost, False) == np.sum(runs.all < cost)
        assert count_below_cost(group, cost, True) == np.sum(runs.all <= cost)
        assert count_below_cost(group, math.nextafter(cost, 1), False) == np.sum(runs.all <= cost)


def test_ranks_and_costs_of_a_group_task_by_task() -> None:
    costs = np.array([-1.0, -0.5, -0.5, 0.0, 0.5])
    group = make_sorted_group(costs, None, 3, 5.0)
    assert [cost_at_rank(group, rank) for rank in range(5)] == costs.tolist()
    assert [count_below_cost(group, cost, False) for cost in (-2.0, -1.0, -0.5, 0.2, 0.5, 1.0)] == [0, 0, 1, 4, 4, 5]
    assert [count_below_cost(group, cost, True) for cost in (-2.0, -1.0, -0.5, 0.2, 0.5, 1.0)] == [0, 1, 3, 4, 5, 5]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("odds", [False, True])
@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("objective", ["accuracy", GAINS, "f1"], ids=["accuracy", "gains", "f1"])
def test_sorted_groups_hold_costs_in_order(weighted: bool, odds: bool, ties: str, objective: Any) -> None:
    gain = f1_gain(1.0) if objective == "f1" else make_gain(objective, 2)
    found = sort_groups(problem_of(weighted=weighted, odds=odds, ties=ties), gain, 3)
    gains = np.stack([1 - P, P], axis=1) @ gain.matrix + gain.offset
    cost = gains[:, 0] - gains[:, 1]
    weights = WEIGHTS if weighted else np.ones(P.size)
    assert found.base == pytest.approx(np.average(gains[:, 0], weights=weights), abs=1e-12)
    for a, group in enumerate(found.groups):
        costs = np.sort(cost[a == GROUP])
        np.testing.assert_allclose(group.costs, costs, atol=1e-12)
        assert group.own_count == np.sum(costs <= 0 if ties == "last" else costs < 0)
        assert group.total_weight == weights.sum()
        assert group.share == pytest.approx(weights[a == GROUP].sum() / weights.sum())
        assert group.weights.size == (group.n_tasks if weighted else 0)
        if found.order is None:
            assert not weighted
            continue
        rows = found.order[a]
        assert sorted(rows) == np.flatnonzero(a == GROUP).tolist()
        np.testing.assert_array_equal(group.weights, weights[rows])
        np.testing.assert_allclose(cost[rows], costs, atol=1e-12)
    if found.order is not None:  # of the two tasks at 0.5 the one with more votes is first
        assert found.order[0].tolist().index(7) + 1 == found.order[0].tolist().index(0)


def test_equal_tasks_are_in_the_order_of_a_seeded_hash() -> None:
    p = np.full(40, 0.75)
    problem = read_posterior(np.stack([1 - p, p], axis=1), np.arange(40) % 2, sample_weight=np.arange(40) % 3 + 1.0)
    orders = [sort_groups(problem, make_gain("accuracy", 2), seed).order for seed in (0, 0, 1)]
    first, again, other = (order[0].tolist() for order in orders if order is not None)
    assert first == again != other
    assert sorted(first) == list(range(0, 40, 2))
