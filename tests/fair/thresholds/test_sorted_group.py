"""The sorted groups of a two-class problem, against counts and sums done the slow way."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.thresholds.sorted_group import (
    BLOCK,
    Side,
    bare_side,
    cost_at,
    count_at,
    first_known,
    last_known,
    make_side,
    make_window,
    new_cache,
    rank_of,
    rate_of,
    value_of,
)

UNIT = 2.0**40


def some_costs(n: int, seed: int = 0) -> Any:
    """Rising costs of few bits: their sums, over a power of two, are exact."""
    return np.sort(np.random.default_rng(seed).integers(-512, 512, n)) / 1024


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_sums_of_gains(n: int, weighted: bool) -> None:
    costs = some_costs(n)
    weights = np.random.default_rng(1).integers(1, 8, n).astype(float) if weighted else None
    side = make_side(costs, weights, 1, 256.0)
    gains = -costs * (1.0 if weights is None else weights)
    expected = np.append(0.0, np.cumsum(gains)) / 256.0
    forward, backward = new_cache(), new_cache()
    for count in range(n + 1):
        assert value_of(side, count, new_cache()) == expected[count]
        assert value_of(side, count, forward) == expected[count]
        assert value_of(side, n - count, backward) == expected[n - count]
    assert side.sums.tolist() == expected[::BLOCK].tolist()


def test_a_value_that_is_the_number_of_a_block_is_not_taken_for_it() -> None:
    side, cache = make_side(np.full(200, -1.0), None, 0, float(BLOCK)), new_cache()
    for count in (3, 66, 130, 70, 1):
        assert value_of(side, count, cache) == count / BLOCK


@pytest.mark.parametrize(("n", "tiny"), [(63, 2.0**-54), (64 * 60, 2.0**-60)])
def test_long_sums_keep_their_digits(n: int, tiny: float) -> None:
    costs = np.full(n, -tiny)
    costs[0] = -1.0
    found = value_of(make_side(costs, None, 0, 1.0), n, new_cache())
    assert found == pytest.approx(math.fsum(-costs), abs=2.0**-52, rel=0)


def test_a_side_of_equal_weights_stores_no_rates() -> None:
    side = make_side(np.array([-0.5, 0.0, 0.25]), None, 2, 12.0)
    assert [side.weights.size, side.rates.size, side.starts.size, side.high.size, side.low.size] == [0] * 5
    assert (side.own, side.share, side.total, side.n, side.unit) == (2, 0.25, 12.0, 3, 1.0)
    assert [rate_of(side, count) for count in range(4)] == [0.0, 1 / 3, 2 / 3, 1.0]
    assert (first_known(side), last_known(side)) == (0, 3)


def test_rates_of_weights_end_at_one() -> None:
    weights = np.full(10, 0.1)  # their sum in order is below that in pairs
    weights[-1] = 1e-20
    side = make_side(some_costs(10), weights, 4, 1.8)
    assert side.rates.tolist() == [0.0, *(np.cumsum(weights)[:-1] / weights.sum()).tolist(), 1.0]
    assert side.weights.tolist() == weights.tolist()
    assert side.share == pytest.approx(0.5)
    assert [rate_of(side, count) for count in (0, 3, 10)] == [0.0, side.rates[3], 1.0]


def test_a_bare_side_knows_all_but_values() -> None:
    costs = some_costs(10)
    whole, bare = make_side(costs, None, 4, 40.0), bare_side(costs, 4, 40.0)
    for name in set(Side._fields) - {"sums"}:
        np.testing.assert_array_equal(getattr(bare, name), getattr(whole, name))
    assert not bare.sums.size


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 997])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_below_a_rate(n: int, weighted: bool) -> None:
    side = make_side(np.zeros(n), np.random.default_rng(n).uniform(0.1, 1, n) if weighted else None, 0, float(n))
    rates = np.array([rate_of(side, count) for count in range(n + 1)])
    some = rates[np.unique(np.linspace(0, n, 40).astype(int))]
    asked = np.concatenate(
        [some, np.nextafter(some, 2), np.nextafter(some, -1), some + 0.3 / n, [-1.1, -0.4, 1.2, 2.1]]
    )
    for rate in asked.tolist():
        assert count_at(side, rate, False) == np.sum(rates < rate)
        assert count_at(side, rate, True) == np.sum(rates <= rate)


class Runs:
    """A window in the middle of a group of runs, and the same group task by task."""

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
        self.side = make_window(self.costs, self.counts, before, own=4, n=self.all.size, total=1024.0, unit=UNIT)


@pytest.mark.parametrize(("first", "last"), [(0, 6), (1, 5), (2, 3), (4, 6)])
def test_a_window_agrees_with_the_whole_group(first: int, last: int) -> None:
    runs = Runs(first, last)
    side, n = runs.side, runs.all.size
    assert (first_known(side), last_known(side)) == (runs.first, runs.last)
    assert (side.own, side.n, side.share, side.total, side.unit) == (4, n, n / 1024, 1024.0, UNIT)
    assert [side.weights.size, side.rates.size, side.sums.size] == [0, 0, 0]
    assert side.starts.tolist() == [runs.first, *(runs.first + np.cumsum(runs.counts)).tolist()]
    cache = new_cache()
    for count in range(runs.first, runs.last + 1):
        assert value_of(side, count, cache) == runs.sums[count] / UNIT / 1024
        assert rate_of(side, count) == count / n
    for rank in range(n):
        inside = -math.inf if rank < runs.first else (math.inf if rank >= runs.last else runs.all[rank])
        assert cost_at(side, rank) == inside
    assert cost_at(side, n) == math.inf
    for cost in runs.costs.tolist():
        assert rank_of(side, cost, False) == np.sum(runs.all < cost)
        assert rank_of(side, cost, True) == np.sum(runs.all <= cost)
        assert rank_of(side, math.nextafter(cost, 1), False) == np.sum(runs.all <= cost)


def test_ranks_and_costs_of_a_group_task_by_task() -> None:
    costs = np.array([-1.0, -0.5, -0.5, 0.0, 0.5])
    side = make_side(costs, None, 3, 5.0)
    assert [cost_at(side, rank) for rank in range(5)] == costs.tolist()
    assert [rank_of(side, cost, False) for cost in (-2.0, -1.0, -0.5, 0.2, 0.5, 1.0)] == [0, 0, 1, 4, 4, 5]
    assert [rank_of(side, cost, True) for cost in (-2.0, -1.0, -0.5, 0.2, 0.5, 1.0)] == [0, 1, 3, 4, 5, 5]
