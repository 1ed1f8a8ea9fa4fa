"""Prices of flips, against sorted lists."""

import math

import numpy as np
import pytest

from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, limbs_to_numbers
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds.flip_cost import (
    Prices,
    count_prices,
    number_at,
    place_of,
    price_at,
    runs_between,
    total_of,
    totals_beside,
)
from faircrowd.fair.thresholds.scores import Key, keys_of, make_key

NUMBERS = [-math.inf, -1e308, -2.5, -1.0, -5e-324, 0.0, 5e-324, 1e-9, 1.0, np.nextafter(1.0, 2.0), 7.0, math.inf]
COST = Key(False, -1.0, 1.0, 0.0)


def test_places_are_in_the_order_of_numbers() -> None:
    places = [int(place_of(number)) for number in NUMBERS]
    assert places == sorted(set(places))
    assert [number_at(place) for place in places] == NUMBERS
    assert int(place_of(np.nextafter(1.0, 2.0))) - int(place_of(1.0)) == 1
    assert int(place_of(5e-324)) - int(place_of(0.0)) == 1


def test_beyond_the_numbers_is_infinity() -> None:
    for number, beyond in ((-math.inf, -1), (math.inf, 1)):
        place = int(place_of(number))
        assert number_at(place) == number_at(place + beyond) == number
        assert number_at(place - beyond) == -beyond * -np.finfo(float).max
    assert number_at(0) == -math.inf
    assert number_at(2**64 - 1) == math.inf


def test_a_price_is_what_a_unit_of_gap_costs() -> None:
    assert float(price_at(0.5, 0.25, True)) == -0.125
    assert float(price_at(0.5, 0.25, False)) == 0.125
    for falls in (True, False):
        for cost in (0.0, -0.0):
            assert math.copysign(1.0, float(price_at(cost, 0.5, falls))) == 1.0


def some(n: int) -> tuple[Tasks, Prices, np.ndarray]:
    """Tasks of few posteriors, and the prices of them."""
    rng = np.random.default_rng(n)
    p, group = rng.integers(0, 17, n) / 16, np.append([0, 1], rng.integers(0, 2, n - 2))
    tasks = next(read_posterior(np.stack([1 - p, p], axis=1), group)._pieces())
    prices = Prices(COST, (0.25, 0.75), 1)
    price = np.where(group == 1, -0.75 * (1 - 2 * p), 0.25 * (1 - 2 * p)) + 0.0
    return tasks, prices, price


@pytest.mark.parametrize("up", [0, 1])
def test_prices_are_counted_in_bins(up: int) -> None:
    tasks, prices, price = some(90)
    prices = prices._replace(up=up)
    price = price if up else -price + 0.0
    places = [int(place_of(value)) for value in price]
    low, shift, bins = int(place_of(-0.125)), 53, 6
    (counts,) = count_prices(tasks, prices, low, shift, bins)
    wanted = np.zeros((2, bins + 2), dtype=int)
    for a, place in zip(tasks.group, places, strict=True):
        wanted[a, 0 if place < low else min((place - low) // 2**shift, bins) + 1] += 1
    assert (wanted.sum(axis=0)[[0, 1, -1]] > 0).all()
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("n", [40, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 2 * TERMS_PER_CARRY + 5])
def test_totals_beside_and_runs_between(n: int) -> None:
    tasks, prices, price = some(n)
    cost = 1 - 2 * tasks.posterior[:, 1]
    low, high = -0.1875, 0.09375  # both are prices of tasks
    (totals,) = totals_beside(tasks, prices, int(place_of(low)), int(place_of(high)), PROBABILITY_UNIT)
    for a in (0, 1):
        for side, beside in enumerate((price < low, price > high)):
            chosen = beside & (tasks.group == a)
            assert totals[a, side, 0] == chosen.sum()
            assert limbs_to_numbers(totals[a, side, 1:]) == -cost[chosen].sum()
    keys, groups, counts = runs_between(tasks, prices, int(place_of(low)), int(place_of(high)))
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
    key = make_key(make_gain("accuracy", 2), True)
    low, high = int(place_of(-0.1)), int(place_of(0.1))
    keys, groups, counts = runs_between(tasks, Prices(key, (0.5, 0.5), 0), low, high)
    inside = np.abs(1 - 2 * p) * 0.5 <= 0.1
    for a in (0, 1):
        assert sorted(keys[groups == a]) == sorted(keys_of(tasks, key)[inside & (tasks.group == a)])
    assert counts.tolist() == [1] * inside.sum()


def test_no_price_is_between() -> None:
    tasks, prices, _ = some(9)
    keys, groups, counts = runs_between(tasks, prices, int(place_of(5.0)), int(place_of(6.0)))
    assert keys.size == groups.size == counts.size == 0


@pytest.mark.parametrize("n", [0, 1, 50, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 3 * TERMS_PER_CARRY])
def test_the_total_of_costs(n: int) -> None:
    costs = np.random.default_rng(n).integers(-64, 65, n) / 64
    limbs = np.array([[1, 2]])
    total_of(costs, PROBABILITY_UNIT, limbs)
    assert limbs_to_numbers(limbs[0] - [1, 2]) == -costs.sum()
