"""The best pair of counts of labels 1, against all pairs; and its bound, against exact fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.thresholds import integer
from faircrowd.fair.thresholds.integer import (
    best_integer_counts,
)
from faircrowd.fair.thresholds.sorted_group import (
    SortedGroup,
    make_sorted_group,
    make_window_group,
    new_value_cache,
    value_at_count,
)
from faircrowd.fair.tolerances import SLACK
from inner_kernels import from_python

_bound = from_python(integer._bound)
_counts_around_best_rate = from_python(integer._counts_around_best_rate)
_counts_with_known_bound = from_python(integer._counts_with_known_bound)

UNIT = 2.0**50


def group_of(costs: Any, total: int, own_count: int | None = None, weights: Any = None) -> SortedGroup:
    costs = np.array(costs, dtype=float)
    return make_sorted_group(costs, weights, int(np.sum(costs < 0)) if own_count is None else own_count, float(total))


def window_of(group: SortedGroup, first: int, last: int) -> SortedGroup:
    """Return a window of the tasks between two ranks, each in its own run."""
    gained = -int(sum(Fraction(cost) for cost in group.costs[:first].tolist()) * int(UNIT))
    before = first, gained >> 26, gained & (2**26 - 1)
    given = group.costs[first:last], np.ones(last - first, dtype=np.int64), before
    return make_window_group(
        *given, own_count=group.own_count, n_tasks=group.n_tasks, total_weight=group.total_weight, unit=UNIT
    )


def best_of_all(zero: SortedGroup, one: SortedGroup, epsilon: float) -> tuple[int, int]:
    """Return the best of all pairs of counts.

    Of equal pairs, the one with the fewest changes, then the one nearest to the own count of group 1.
    """
    i, j = (part.ravel() for part in np.mgrid[: zero.n_tasks + 1, : one.n_tasks + 1])
    value = (
        np.append(0.0, np.cumsum(zero.costs))[i] + np.append(0.0, np.cumsum(one.costs))[j]
    )  # costs have few bits, so their sums are exact
    moved = abs(j - one.own_count)
    order = np.lexsort((j, moved, abs(i - zero.own_count) + moved, value))
    best = order[(abs(i / zero.n_tasks - j / one.n_tasks) <= epsilon + SLACK)[order]][0]
    return int(i[best]), int(j[best])


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 4), (5, 5), (7, 3), (4, 9), (12, 8)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("steps", [2, 64], ids=["tied", "untied"])
def test_the_best_of_all_pairs(sizes: tuple[int, int], epsilon: float, steps: int) -> None:
    rng = np.random.default_rng(steps)
    for turn in range(6):
        costs = [np.sort(rng.integers(-steps, steps + 1, n) - a * (turn % 3)) / 256 for a, n in enumerate(sizes)]
        groups = [group_of(part, sum(sizes), int(np.sum(part <= 0)) if turn % 2 else None) for part in costs]
        assert best_integer_counts(*groups, epsilon) == best_of_all(*groups, epsilon)
        windows = [window_of(group, 0, group.n_tasks) for group in groups]
        assert best_integer_counts(*windows, epsilon) == best_of_all(*groups, epsilon)


def test_the_best_of_all_pairs_over_many_blocks() -> None:
    rng = np.random.default_rng(5)
    for n_zero, n_one, epsilon in ((130, 130, 0.0), (150, 67, 0.004), (67, 131, 0.0)):
        zero = group_of(np.sort(rng.integers(-40, 90, n_zero)) / 256, n_zero + n_one)
        one = group_of(np.sort(rng.integers(-90, 40, n_one)) / 256, n_zero + n_one)
        assert best_integer_counts(zero, one, epsilon) == best_of_all(zero, one, epsilon)


def test_of_equal_pairs_the_one_with_the_fewest_changes() -> None:
    """All flips have the same price, so every rate is equally good: the smaller group changes."""
    for n_zero, n_one, expected in ((4, 8, (4, 8)), (8, 4, (0, 0)), (4, 4, (4, 4))):
        zero = group_of(np.full(n_zero, n_one / 64), n_zero + n_one)
        one = group_of(np.full(n_one, -n_zero / 64), n_zero + n_one)
        assert best_integer_counts(zero, one, 0.0) == best_of_all(zero, one, 0.0) == expected


def rising_costs(n: int, first: int) -> list[float]:
    return [(2 * rank - 2 * first + 1) / 256 for rank in range(n)]


def test_a_window_must_hold_the_next_counts_on_either_side() -> None:
    """Ten tasks each, own counts 2 and 8, no gap allowed: five each are best, four and six are worse."""
    zero, one = group_of(rising_costs(10, 2), 20), group_of(rising_costs(10, 8), 20)
    assert best_integer_counts(zero, one, 0.0) == (5, 5)
    for first in range(7):
        for last in range(max(first + 1, 4), 11):
            found = best_integer_counts(zero, window_of(one, first, last), 0.0)
            assert found == ((5, 5) if first <= 4 and last >= 6 else (-1, -1))


def test_windows_of_both_groups_are_wide_enough_or_reported_too_narrow() -> None:
    zero, one = group_of(rising_costs(10, 2), 20), group_of(rising_costs(10, 8), 20)
    for first in range(6):
        for last in range(5, 11):
            found = best_integer_counts(window_of(zero, first, last), window_of(one, 4, 6), 0.0)
            assert found == ((5, 5) if first <= 3 and last >= 6 else (-1, -1))


def groups_with_windows() -> list[tuple[SortedGroup, SortedGroup, float]]:
    zero, one = group_of(rising_costs(7, 2), 12), group_of(rising_costs(5, 4), 12)
    weighted = group_of(rising_costs(7, 2), 30, weights=np.array([1.0, 2.0, 4.0, 1e-20, 4.0, 2.0, 3.0]))
    last = group_of(
        rising_costs(4, 3), 9, weights=np.array([1.0, 1.0, 2.0, 1e-20])
    )  # the last task hardly weighs: the rate is 1 without it
    windows = [window_of(zero, first, last) for first in (0, 1, 3) for last in (4, 6, 7)]
    narrow = [window_of(one, 0, 4), window_of(one, 1, 5)]
    return [
        (left, right, epsilon)
        for left in (zero, weighted, last, *windows)
        for right in (one, *narrow)
        for epsilon in (0.0, 0.3)
    ]


def test_counts_of_group_0_around_its_best_rate() -> None:
    """The best rate is the own rate of group 0, moved as far as the rate of group 1 requires."""
    for zero, one, epsilon in groups_with_windows():
        rates = zero.rates.tolist() if zero.rates.size else [count / zero.n_tasks for count in range(zero.n_tasks + 1)]
        for count in range(one.n_tasks + 1):
            low, high = count / one.n_tasks - epsilon - SLACK, count / one.n_tasks + epsilon + SLACK
            rate = float(np.clip(rates[zero.own_count], max(low, 0.0), min(high, 1.0)))
            before, after, part = _counts_around_best_rate(zero, one, epsilon, count)
            assert after == before + 1
            assert rates[before] <= rate <= rates[after]
            assert rate < rates[after] or after == zero.n_tasks
            assert (1 - part) * rates[before] + part * rates[after] == pytest.approx(rate, abs=1e-15)
            assert 0 <= part <= 1


def test_counts_whose_bound_is_known() -> None:
    for zero, one, epsilon in groups_with_windows():
        held = (zero.run_starts[0], zero.run_starts[-1]) if zero.run_starts.size else (0, zero.n_tasks)
        asked = range(one.run_starts[0], one.run_starts[-1] + 1) if one.run_starts.size else range(one.n_tasks + 1)
        around = {count: _counts_around_best_rate(zero, one, epsilon, count) for count in asked}
        known = [count for count, (before, after, _) in around.items() if held[0] <= before and after <= held[1]]
        least, most = _counts_with_known_bound(zero, one, epsilon)
        assert list(range(least, most + 1)) == known


def test_the_bound_is_the_value_with_a_fractional_count_of_group_0() -> None:
    zero, one = group_of(rising_costs(150, 30), 217), group_of(rising_costs(67, 60), 217)
    caches = new_value_cache(), new_value_cache(), new_value_cache()
    values = [np.append(0.0, -np.cumsum(group.costs)) / 217 for group in (zero, one)]
    for epsilon in (0.0, 0.013):
        for count in range(68):
            low, high = max(count / 67 - epsilon, 0), min(count / 67 + epsilon, 1)
            at = float(np.clip(30 / 150, low, high)) * 150
            expected = values[1][count] + np.interp(at, range(151), values[0])
            assert _bound(zero, one, epsilon, count, caches) == pytest.approx(expected, abs=1e-12)
    assert value_at_count(one, 67, caches[1]) == values[1][67]
