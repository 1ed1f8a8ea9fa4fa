"""The best pair of whole counts, against all pairs; and what it rests on, against fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from faircrowd.fair.thresholds.integer import _bound, _known_counts, _split_at, best_counts
from faircrowd.fair.thresholds.sorted_group import Side, make_side, make_window, new_cache, value_of
from faircrowd.fair.tolerances import SLACK

UNIT = 2.0**50


def side_of(costs: Any, total: int, own: int | None = None, weights: Any = None) -> Side:
    costs = np.array(costs, dtype=float)
    return make_side(costs, weights, int(np.sum(costs < 0)) if own is None else own, float(total))


def window_of(side: Side, first: int, last: int) -> Side:
    """Hold the tasks from one rank to another, each in a run of its own."""
    gained = -int(sum(Fraction(cost) for cost in side.costs[:first].tolist()) * int(UNIT))
    before = first, gained >> 26, gained & (2**26 - 1)
    given = side.costs[first:last], np.ones(last - first, dtype=np.int64), before
    return make_window(*given, own=side.own, n=side.n, total=side.total, unit=UNIT)


def best_of_all(zero: Side, one: Side, epsilon: float) -> tuple[int, int]:
    """Of all pairs of counts: the best, of equals that of fewest changes, then nearest to the own count of group 1."""

    i, j = (part.ravel() for part in np.mgrid[: zero.n + 1, : one.n + 1])
    value = np.append(0.0, np.cumsum(zero.costs))[i] + np.append(0.0, np.cumsum(one.costs))[j]  # of few bits: exact
    moved = abs(j - one.own)
    order = np.lexsort((j, moved, abs(i - zero.own) + moved, value))
    best = order[(abs(i / zero.n - j / one.n) <= epsilon + SLACK)[order]][0]
    return int(i[best]), int(j[best])


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 4), (5, 5), (7, 3), (4, 9), (12, 8)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("steps", [2, 64], ids=["tied", "untied"])
def test_the_best_of_all_pairs(sizes: tuple[int, int], epsilon: float, steps: int) -> None:
    rng = np.random.default_rng(steps)
    for turn in range(6):
        costs = [np.sort(rng.integers(-steps, steps + 1, n) - a * (turn % 3)) / 256 for a, n in enumerate(sizes)]
        sides = [side_of(part, sum(sizes), int(np.sum(part <= 0)) if turn % 2 else None) for part in costs]
        assert best_counts(*sides, epsilon) == best_of_all(*sides, epsilon)
        whole = [window_of(side, 0, side.n) for side in sides]
        assert best_counts(*whole, epsilon) == best_of_all(*sides, epsilon)


def test_the_best_of_all_pairs_over_many_blocks() -> None:
    rng = np.random.default_rng(5)
    for n_zero, n_one, epsilon in ((130, 130, 0.0), (150, 67, 0.004), (67, 131, 0.0)):
        zero = side_of(np.sort(rng.integers(-40, 90, n_zero)) / 256, n_zero + n_one)
        one = side_of(np.sort(rng.integers(-90, 40, n_one)) / 256, n_zero + n_one)
        assert best_counts(zero, one, epsilon) == best_of_all(zero, one, epsilon)


def test_of_equal_pairs_that_of_fewest_changes() -> None:
    """All flips cost as much a unit of gap, so that every rate is as good: the smaller group changes."""
    for n_zero, n_one, expected in ((4, 8, (4, 8)), (8, 4, (0, 0)), (4, 4, (4, 4))):
        zero = side_of(np.full(n_zero, n_one / 64), n_zero + n_one)
        one = side_of(np.full(n_one, -n_zero / 64), n_zero + n_one)
        assert best_counts(zero, one, 0.0) == best_of_all(zero, one, 0.0) == expected


def rising(n: int, first: int) -> list[float]:
    return [(2 * rank - 2 * first + 1) / 256 for rank in range(n)]


def test_a_window_must_hold_the_next_counts_on_either_side() -> None:
    """Ten tasks each, own counts 2 and 8, no gap allowed: five each are best, four and six are worse."""
    zero, one = side_of(rising(10, 2), 20), side_of(rising(10, 8), 20)
    assert best_counts(zero, one, 0.0) == (5, 5)
    for first in range(7):
        for last in range(max(first + 1, 4), 11):
            found = best_counts(zero, window_of(one, first, last), 0.0)
            assert found == ((5, 5) if first <= 4 and last >= 6 else (-1, -1))


def test_windows_of_both_groups_are_wide_enough_or_say_so() -> None:
    zero, one = side_of(rising(10, 2), 20), side_of(rising(10, 8), 20)
    for first in range(6):
        for last in range(5, 11):
            found = best_counts(window_of(zero, first, last), window_of(one, 4, 6), 0.0)
            assert found == ((5, 5) if first <= 3 and last >= 6 else (-1, -1))


def sides_with_windows() -> list[tuple[Side, Side, float]]:
    zero, one = side_of(rising(7, 2), 12), side_of(rising(5, 4), 12)
    weighted = side_of(rising(7, 2), 30, weights=np.array([1.0, 2.0, 4.0, 1e-20, 4.0, 2.0, 3.0]))
    last = side_of(rising(4, 3), 9, weights=np.array([1.0, 1.0, 2.0, 1e-20]))  # without it the rate is 1 as well
    windows = [window_of(zero, first, last) for first in (0, 1, 3) for last in (4, 6, 7)]
    narrow = [window_of(one, 0, 4), window_of(one, 1, 5)]
    return [
        (left, right, epsilon)
        for left in (zero, weighted, last, *windows)
        for right in (one, *narrow)
        for epsilon in (0.0, 0.3)
    ]


def test_where_group_0_is_split() -> None:
    """Between the counts on both sides of its own rate, moved as far as the rate of group 1 asks."""
    for zero, one, epsilon in sides_with_windows():
        rates = zero.rates.tolist() if zero.rates.size else [count / zero.n for count in range(zero.n + 1)]
        for count in range(one.n + 1):
            low, high = count / one.n - epsilon - SLACK, count / one.n + epsilon + SLACK
            rate = float(np.clip(rates[zero.own], max(low, 0.0), min(high, 1.0)))
            before, after, part = _split_at(zero, one, epsilon, count)
            assert after == before + 1
            assert rates[before] <= rate <= rates[after]
            assert rate < rates[after] or after == zero.n
            assert (1 - part) * rates[before] + part * rates[after] == pytest.approx(rate, abs=1e-15)
            assert 0 <= part <= 1


def test_counts_whose_bound_is_known() -> None:
    for zero, one, epsilon in sides_with_windows():
        held = (zero.starts[0], zero.starts[-1]) if zero.starts.size else (0, zero.n)
        asked = range(one.starts[0], one.starts[-1] + 1) if one.starts.size else range(one.n + 1)
        splits = {count: _split_at(zero, one, epsilon, count) for count in asked}
        known = [count for count, (before, after, _) in splits.items() if held[0] <= before and after <= held[1]]
        least, most = _known_counts(zero, one, epsilon)
        assert list(range(least, most + 1)) == known


def test_the_bound_is_the_value_with_group_0_split() -> None:
    zero, one = side_of(rising(150, 30), 217), side_of(rising(67, 60), 217)
    near = new_cache(), new_cache(), new_cache()
    values = [np.append(0.0, -np.cumsum(side.costs)) / 217 for side in (zero, one)]
    for epsilon in (0.0, 0.013):
        for count in range(68):
            low, high = max(count / 67 - epsilon, 0), min(count / 67 + epsilon, 1)
            at = float(np.clip(30 / 150, low, high)) * 150
            expected = values[1][count] + np.interp(at, range(151), values[0])
            assert _bound(zero, one, epsilon, count, near) == pytest.approx(expected, abs=1e-12)
    assert value_of(one, 67, near[1]) == values[1][67]
