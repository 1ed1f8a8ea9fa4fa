"""Two classes, two groups: what flipping labels costs, counted over all tasks.

A *price* is what flipping a task's label costs a unit of gap: in the group that must fall, minus the cost times the
group's share; in the group that must rise, the cost times the share. Prices are numbers in the order of integers
(:func:`place_of`), so that one of a given rank is found by counting in ever finer bins.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import TERMS_PER_CARRY, carry, to_units
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.thresholds.scores import Key, cost_of, key_of

__all__ = ["Prices", "count_prices", "number_at", "place_of", "price_at", "runs_between", "total_of", "totals_beside"]


class Prices(NamedTuple):
    """How prices follow from keys.

    Attributes
    ----------
    key : Key
    shares : pair of float
    up : int
        The group whose rate must fall.
    """

    key: Key
    shares: tuple[float, float]
    up: int


def count_prices(tasks: Tasks, prices: Prices, low: int, shift: int, bins: int) -> tuple[NDArray[np.int64], ...]:
    """Count, a group, the prices below ``low``, in each bin of ``2**shift`` places from there, and above."""
    counts = np.zeros((2, bins + 2), dtype=np.int64)
    _count_prices(tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(shift), counts)
    return (counts,)


def totals_beside(tasks: Tasks, prices: Prices, low: int, high: int, unit: float) -> tuple[NDArray[np.int64], ...]:
    """Sum, a group, number and gain of the tasks whose price is below ``low``, and of those above ``high``."""
    totals = np.zeros((2, 2, 3), dtype=np.int64)
    _totals_beside(tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(high), unit, totals)
    return (totals,)


def runs_between(tasks: Tasks, prices: Prices, low: int, high: int) -> tuple[NDArray[Any], ...]:
    """Return key, group and number of the tasks whose price is from ``low`` to ``high``, a row a key and group."""
    given = (tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(high))
    n = _find_prices(*given, np.empty(0), np.empty(0, dtype=np.int32))  # counted first, so that little is held
    keys, group = np.empty(n), np.empty(n, dtype=np.int32)
    _find_prices(*given, keys, group)
    runs = [np.unique(keys[group == a], return_counts=True) for a in (0, 1)]
    groups = np.repeat(np.array([0, 1], dtype=np.int32), [found.size for found, _ in runs])
    return np.concatenate([found for found, _ in runs]), groups, np.concatenate([counts for _, counts in runs])


@numba.njit(cache=True, nogil=True)
def total_of(costs: Any, unit: float, limbs: Any) -> None:
    """Add what tasks of these costs gain to a pair of integers."""
    sums = np.zeros(1, np.int64)
    for start in range(0, costs.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, costs.size)):
            sums[0] += to_units(-costs[i], unit)
        carry(sums, limbs)


@numba.njit(cache=True, nogil=True)
def price_at(cost: float, share: float, falls: bool) -> Any:
    """Return the cost of a unit of gap if this task's label is flipped, in the group that must fall or rise."""
    return 0.0 - share * cost if falls else share * cost + 0.0


@numba.njit(cache=True, nogil=True)
def place_of(number: float) -> Any:
    """Return an integer; integers are in the order of the numbers (-0.0 must not occur)."""
    bits = np.float64(number).view(np.uint64)
    top = np.uint64(1) << np.uint64(63)
    return bits ^ top if bits < top else ~bits


def number_at(place: int) -> float:
    """Return the number of a place; beyond the numbers, infinity."""
    if place <= int(place_of(-np.inf)):
        return -math.inf
    if place >= int(place_of(np.inf)):
        return math.inf
    bits = np.uint64(place)
    top = np.uint64(1) << np.uint64(63)
    return float((bits ^ top if bits >= top else ~bits).view(np.float64))


@numba.njit(cache=True, nogil=True)
def _price(posterior: Any, log_odds: Any, group: Any, prices: Any, i: int) -> Any:
    cost = cost_of(prices.key, key_of(prices.key, posterior, log_odds, i))
    return price_at(cost, prices.shares[group[i]], group[i] == prices.up)


@numba.njit(cache=True, nogil=True)
def _count_prices(posterior: Any, log_odds: Any, group: Any, prices: Any, low: Any, shift: Any, counts: Any) -> None:
    most = np.uint64(counts.shape[1] - 2)
    for i in range(group.size):
        place = place_of(_price(posterior, log_odds, group, prices, i))
        at = np.uint64(0)
        if place >= low:
            at = min((place - low) >> shift, most) + np.uint64(1)
        counts[group[i], at] += 1


@numba.njit(cache=True, nogil=True)
def _totals_beside(
    posterior: Any, log_odds: Any, group: Any, prices: Any, low: Any, high: Any, unit: float, totals: Any
) -> None:
    sums, limbs = np.zeros(4, np.int64), np.zeros((4, 2), np.int64)
    for start in range(0, group.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, group.size)):
            cost = cost_of(prices.key, key_of(prices.key, posterior, log_odds, i))
            place = place_of(price_at(cost, prices.shares[group[i]], group[i] == prices.up))
            if place < low or place > high:
                above = 0 if place < low else 1
                totals[group[i], above, 0] += 1
                sums[2 * group[i] + above] += to_units(-cost, unit)
        carry(sums, limbs)
    totals[:, :, 1:] += limbs.reshape(2, 2, 2)


@numba.njit(cache=True, nogil=True)
def _find_prices(
    posterior: Any, log_odds: Any, group: Any, prices: Any, low: Any, high: Any, keys: Any, groups: Any
) -> Any:
    n = 0
    for i in range(group.size):
        place = place_of(_price(posterior, log_odds, group, prices, i))
        if low <= place <= high:
            if keys.size:
                keys[n] = key_of(prices.key, posterior, log_odds, i)
                groups[n] = group[i]
            n += 1
    return n
