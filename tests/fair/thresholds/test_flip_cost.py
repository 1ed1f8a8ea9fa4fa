"""Prices of flips, and flips in the order of their prices, against sorted lists."""

import math

import numpy as np
import pytest

from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, limbs_to_numbers
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.flip_cost import (
    PriceFormula,
    add_gains,
    count_prices,
    flip_path,
    flip_price,
    float_to_ordinal,
    ordinal_to_float,
    price_to_close_gap,
    runs_between_prices,
    totals_outside_prices,
)
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, sort_key_formula, sort_keys
from faircrowd.fair.thresholds.sorted_group import SortedGroup, make_sorted_group

NUMBERS = [-math.inf, -1e308, -2.5, -1.0, -5e-324, 0.0, 5e-324, 1e-9, 1.0, np.nextafter(1.0, 2.0), 7.0, math.inf]
COST = SortKeyFormula(False, -1.0, 1.0, 0.0)
COSTS = {
    "untied": ([-0.875, -0.625, -0.25, -0.125], [-0.5, -0.375, 0.0625, 0.1875, 0.3125, 0.4375, 0.6875, 0.75]),
    "tied": ([-0.5, -0.5, -0.5, -0.25], [-0.5, -0.25, -0.25, 0.25, 0.25, 0.25, 0.25, 0.5]),
    "alike": ([-0.25] * 4, [0.25] * 4),
    "few": ([-0.5], [0.25]),
    "smaller group rises": ([-0.5, -0.25, -0.25, -0.25, -0.125, -0.125, 0.25, 0.5], [0.25, 0.5]),
}


# Two sorted groups.


def groups_of(name: str) -> tuple[SortedGroup, SortedGroup]:
    falling, rising = (np.array(costs) for costs in COSTS[name])
    total = float(falling.size + rising.size)
    return tuple(make_sorted_group(costs, None, int(np.sum(costs < 0)), total) for costs in (falling, rising))


def flips_of(falling: SortedGroup, rising: SortedGroup) -> list[tuple[float, float, float]]:
    """Return the price of each flip, cheapest first, and the rates that it takes and gives.

    Of flips with equal prices, those of the smaller group come first.
    """
    down = [
        (-falling.share * cost, falling.share, 1 / falling.n_tasks, 0.0)
        for cost in falling.costs[: falling.own_count].tolist()
    ]
    up = [
        (rising.share * cost, rising.share + 1e-9, 0.0, 1 / rising.n_tasks)
        for cost in rising.costs[rising.own_count :].tolist()
    ]
    return [(price, fall, rise) for price, _, fall, rise in sorted(down + up)]


@pytest.mark.parametrize("name", COSTS)
def test_the_price_is_the_price_of_the_last_flip_needed(name: str) -> None:
    falling, rising = groups_of(name)
    flips = flips_of(falling, rising)
    closed = np.cumsum([fall + rise for _, fall, rise in flips])
    needs = [0.0, 1e-6, *closed.tolist(), *(closed - 1e-6).tolist(), *(closed[:-1] + 1e-6).tolist()]
    for need in needs:
        price = flips[int(np.searchsorted(closed, need))][0]
        below = [(fall > 0, rise > 0) for cost, fall, rise in flips if cost < price]
        at = [(fall > 0, rise > 0) for cost, fall, rise in flips if cost == price]
        expected = price, *(sum(each[a] for each in some) for a in (0, 1) for some in (below, at))
        assert price_to_close_gap(falling, rising, need) == expected


def test_the_price_is_infinite_if_all_flips_do_not_close_the_gap() -> None:
    falling, rising = groups_of("untied")
    assert price_to_close_gap(falling, rising, 2.0) == (math.inf, 4, 0, 6, 0)


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_path_flips_the_cheapest_label_next_until_there_is_no_gap(name: str, weighted: bool) -> None:
    falling, rising = groups_of(name)
    if weighted:  # rates are then looked up in a table, and costs have other prices
        falling = make_sorted_group(
            falling.costs, np.full(falling.n_tasks, 3.0), falling.own_count, 3.0 * falling.n_tasks + rising.n_tasks
        )
        rising = make_sorted_group(rising.costs, np.full(rising.n_tasks, 1.0), rising.own_count, falling.total_weight)
    rates = [falling.own_count / falling.n_tasks, rising.own_count / rising.n_tasks]
    value = sum(
        -float(group.costs[: group.own_count].sum()) * group.share / group.n_tasks for group in (falling, rising)
    )
    share = falling.share * rates[0] + rising.share * rates[1]
    points = [(rates[0] - rates[1], value, 0.0, share)]
    for number, (price, fall, rise) in enumerate(flips_of(falling, rising), start=1):
        gap, value, _, share = points[-1]
        if gap <= 1e-12:
            break
        part = min(1.0, gap / (fall + rise))
        step = part * (fall + rise)
        points.append(
            (
                gap - step,
                value - price * step,
                number - 1 + part,
                share - part * (falling.share * fall - rising.share * rise),
            )
        )
    found = np.stack(flip_path(falling, rising, points[0][0]), axis=1)
    assert found.tolist() == [pytest.approx(point, abs=1e-12) for point in points]
    assert found[-1, 0] == 0.0


def test_a_path_without_a_gap_has_one_point() -> None:
    group = make_sorted_group(np.array([-0.5, 0.5]), None, 1, 4.0)
    assert [part.tolist() for part in flip_path(group, group, 0.0)] == [[0.0], [0.25], [0.0], [0.5]]


def test_a_rate_that_rounds_above_one_exceeds_the_rate_of_all_tasks() -> None:
    """The other group has no labels left to flip."""
    falling = make_sorted_group(np.array([-0.5, 0.75]), np.ones(2), 1, 4.0)._replace(
        rates=np.array([0.0, 1 + 2.0**-52, 1.0])
    )
    rising = make_sorted_group(np.array([0.125, 0.125]), np.ones(2), 0, 4.0)
    gaps, _, changed, _ = flip_path(falling, rising, float(falling.rates[1]))
    assert gaps.tolist() == [1 + 2.0**-52, 0.5 + 2.0**-52, 2.0**-52, 0.0]
    assert changed.tolist() == pytest.approx([0, 1, 2, 2])


# Tasks in any order.


def test_ordinals_are_in_the_order_of_numbers() -> None:
    ordinals = [int(float_to_ordinal(number)) for number in NUMBERS]
    assert ordinals == sorted(set(ordinals))
    assert [ordinal_to_float(ordinal) for ordinal in ordinals] == NUMBERS
    assert int(float_to_ordinal(np.nextafter(1.0, 2.0))) - int(float_to_ordinal(1.0)) == 1
    assert int(float_to_ordinal(5e-324)) - int(float_to_ordinal(0.0)) == 1


def test_ordinals_beyond_those_of_numbers_are_infinity() -> None:
    for number, beyond in ((-math.inf, -1), (math.inf, 1)):
        ordinal = int(float_to_ordinal(number))
        assert ordinal_to_float(ordinal) == ordinal_to_float(ordinal + beyond) == number
        assert ordinal_to_float(ordinal - beyond) == -beyond * -np.finfo(float).max
    assert ordinal_to_float(0) == -math.inf
    assert ordinal_to_float(2**64 - 1) == math.inf


def test_a_price_is_the_cost_of_a_unit_of_gap() -> None:
    assert float(flip_price(0.5, 0.25, True)) == -0.125
    assert float(flip_price(0.5, 0.25, False)) == 0.125
    for is_falling in (True, False):
        for cost in (0.0, -0.0):
            assert math.copysign(1.0, float(flip_price(cost, 0.5, is_falling))) == 1.0


def some(n: int) -> tuple[Tasks, PriceFormula, np.ndarray]:
    """Return tasks with few distinct posteriors, and their prices."""
    rng = np.random.default_rng(n)
    p, group = rng.integers(0, 17, n) / 16, np.append([0, 1], rng.integers(0, 2, n - 2))
    tasks = next(read_posterior(np.stack([1 - p, p], axis=1), group)._pieces())
    prices = PriceFormula(COST, (0.25, 0.75), 1)
    price = np.where(group == 1, -0.75 * (1 - 2 * p), 0.25 * (1 - 2 * p)) + 0.0
    return tasks, prices, price


@pytest.mark.parametrize("falling_group", [0, 1])
def test_prices_are_counted_in_bins(falling_group: int) -> None:
    tasks, prices, price = some(90)
    prices = prices._replace(falling_group=falling_group)
    price = price if falling_group else -price + 0.0
    ordinals = [int(float_to_ordinal(value)) for value in price]
    low, shift, bins = int(float_to_ordinal(-0.125)), 53, 6
    (counts,) = count_prices(tasks, prices, low, shift, bins)
    wanted = np.zeros((2, bins + 2), dtype=int)
    for a, ordinal in zip(tasks.group, ordinals, strict=True):
        wanted[a, 0 if ordinal < low else min((ordinal - low) // 2**shift, bins) + 1] += 1
    assert (wanted.sum(axis=0)[[0, 1, -1]] > 0).all()
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("n", [40, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 2 * TERMS_PER_CARRY + 5])
def test_totals_outside_and_runs_between_prices(n: int) -> None:
    tasks, prices, price = some(n)
    cost = 1 - 2 * tasks.posterior[:, 1]
    low, high = -0.1875, 0.09375  # both are prices of tasks
    (totals,) = totals_outside_prices(
        tasks, prices, int(float_to_ordinal(low)), int(float_to_ordinal(high)), PROBABILITY_UNIT
    )
    for a in (0, 1):
        for above, outside in enumerate((price < low, price > high)):
            chosen = outside & (tasks.group == a)
            assert totals[a, above, 0] == chosen.sum()
            assert limbs_to_numbers(totals[a, above, 1:]) == -cost[chosen].sum()
    keys, groups, counts = runs_between_prices(tasks, prices, int(float_to_ordinal(low)), int(float_to_ordinal(high)))
    between = (low <= price) & (price <= high)
    assert (price == low).any()
    assert (price == high).any()
    wanted = [
        (value, a, int((between & (tasks.group == a) & (cost == value)).sum()))
        for a in (0, 1)
        for value in np.unique(cost[between & (tasks.group == a)])
    ]
    assert list(zip(keys.tolist(), groups.tolist(), counts.tolist(), strict=True)) == wanted


def test_keys_between_prices_are_log_odds_where_they_are_known() -> None:
    tasks, _, _ = some(30)
    p = np.linspace(0.05, 0.95, 30)
    tasks = tasks._replace(posterior=np.stack([1 - p, p], axis=1), log_odds=np.log(p / (1 - p)))
    formula = sort_key_formula(make_gain("accuracy", 2), True)
    low, high = int(float_to_ordinal(-0.1)), int(float_to_ordinal(0.1))
    keys, groups, counts = runs_between_prices(tasks, PriceFormula(formula, (0.5, 0.5), 0), low, high)
    inside = np.abs(1 - 2 * p) * 0.5 <= 0.1
    for a in (0, 1):
        assert sorted(keys[groups == a]) == sorted(sort_keys(tasks, formula)[inside & (tasks.group == a)])
    assert counts.tolist() == [1] * inside.sum()


def test_no_runs_where_no_price_lies_between() -> None:
    tasks, prices, _ = some(9)
    keys, groups, counts = runs_between_prices(tasks, prices, int(float_to_ordinal(5.0)), int(float_to_ordinal(6.0)))
    assert keys.size == groups.size == counts.size == 0


@pytest.mark.parametrize("n", [0, 1, 50, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 3 * TERMS_PER_CARRY])
def test_gains_are_added_to_limbs(n: int) -> None:
    costs = np.random.default_rng(n).integers(-64, 65, n) / 64
    limbs = np.array([[1, 2]])
    add_gains(costs, PROBABILITY_UNIT, limbs)
    assert limbs_to_numbers(limbs[0] - [1, 2]) == -costs.sum()
