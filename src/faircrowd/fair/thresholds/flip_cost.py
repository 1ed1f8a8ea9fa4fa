"""The price of a flip, which is its cost per unit of gap, and flips in the order of their prices.

Group rates are brought together by flipping labels: from 1 to 0 in the *falling* group, whose rate is too high, from 0
to 1 in the *rising* group. The *price* of a flip is the cost of label 1 times the group's share, with a minus sign in
the falling group. Two kinds of functions find the price at which the gap reaches epsilon:

- of two sorted groups (:func:`price_to_close_gap`, :func:`flip_path`), by binary search;
- of tasks in any order, wherever they are stored (:func:`count_prices`, :func:`totals_outside_prices`,
  :func:`runs_between_prices`), by counting. Prices are mapped to integers in the same order
  (:func:`float_to_ordinal`), and counted in ever finer bins of these.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.exact.sums import TERMS_PER_CARRY, carry, to_units
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, cost_of_key, key_of_task
from faircrowd.fair.thresholds.sorted_group import (
    SortedGroup,
    cost_at_rank,
    new_value_cache,
    rate_at_count,
    value_at_count,
)
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "PriceFormula",
    "add_gains",
    "count_prices",
    "flip_path",
    "flip_price",
    "float_to_ordinal",
    "ordinal_to_float",
    "price_to_close_gap",
    "runs_between_prices",
    "totals_outside_prices",
]


# Two sorted groups.

_FALLING, _RISING = np.True_, np.False_
_INCLUSIVE, _EXCLUSIVE = np.True_, np.False_
"""For Python's own ``True`` and ``False``, numba would compile a kernel of its own each."""


@kernel
def price_to_close_gap(falling: SortedGroup, rising: SortedGroup, needed: float) -> tuple[float, int, int, int, int]:
    """Find the lowest price at which flips close ``needed`` of the gap.

    Returns
    -------
    price : float
        Infinite if all flips together do not close as much.
    below_falling, at_falling, below_rising, at_rising : int
        The number of flips below this price and at it, in each group.
    """
    price = np.inf
    for group, other, is_falling in ((falling, rising, _FALLING), (rising, falling, _RISING)):
        # Flips of this group, and how many of either are at or below the prices of those: the bounds close in together.
        low, high, most, least_others = 0, _n_flips(group, is_falling), _n_flips(group, is_falling), 0
        n_flips, most_others = high, _n_flips(other, not is_falling)
        while low < high:
            middle = (low + high) // 2
            at = _price_of_flip(group, is_falling, middle)
            own = _count_flips(group, is_falling, at, _INCLUSIVE, middle + 1, most)
            others = _count_flips(other, not is_falling, at, _INCLUSIVE, least_others, most_others)
            counts = (own, others) if is_falling else (others, own)
            if _gap_closed(falling, rising, counts[0], counts[1]) >= needed:
                high, most, most_others = middle, own, others
            else:
                low, least_others = own, others
        if low < n_flips:
            price = min(price, _price_of_flip(group, is_falling, low))
    f, r = _n_flips(falling, _FALLING), _n_flips(rising, _RISING)
    below_falling = _count_flips(falling, _FALLING, price, _EXCLUSIVE, 0, f)
    below_rising = _count_flips(rising, _RISING, price, _EXCLUSIVE, 0, r)
    at_falling = _count_flips(falling, _FALLING, price, _INCLUSIVE, below_falling, f) - below_falling
    at_rising = _count_flips(rising, _RISING, price, _INCLUSIVE, below_rising, r) - below_rising
    return price, below_falling, at_falling, below_rising, at_rising


@inner_kernel
def _gap_closed(falling: SortedGroup, rising: SortedGroup, n_falling: int, n_rising: int) -> float:
    """Return by how much so many flips of each group close the gap."""
    fallen = rate_at_count(falling, falling.own_count) - rate_at_count(falling, falling.own_count - n_falling)
    return fallen + (rate_at_count(rising, rising.own_count + n_rising) - rate_at_count(rising, rising.own_count))


@inner_kernel
def _n_flips(group: SortedGroup, is_falling: np.bool_ | bool) -> int:
    return group.own_count if is_falling else group.n_tasks - group.own_count


@inner_kernel
def _price_of_flip(group: SortedGroup, is_falling: np.bool_ | bool, flip: int) -> float:
    """Return the price of a flip of a group; flip 0 is the cheapest."""
    if is_falling:
        return -group.share * cost_at_rank(group, group.own_count - 1 - flip)
    return group.share * cost_at_rank(group, group.own_count + flip)


@inner_kernel
def _count_flips(
    group: SortedGroup, is_falling: np.bool_ | bool, price: float, inclusive: np.bool_, low: int, high: int
) -> int:
    """Count the flips of a group below a price, or at or below it if ``inclusive``; the count is between two bounds.

    The binary search has the form of the one in ``first_count_with_rate``. It is repeated because numba does not reuse
    its cache on disk for kernels that take a function as an argument.
    """
    while low < high:
        middle = (low + high) // 2
        found = _price_of_flip(group, is_falling, middle)
        if found < price or (inclusive and found == price):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def flip_path(
    falling: SortedGroup, rising: SortedGroup, gap: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Flip labels in the order of their prices until there is no gap.

    Return the gap, the value, the number of changed labels and the share of tasks with label 1 after each flip.
    Invariant: the labels flipped so far are the cheapest ones, so gap and value are a point of the frontier.
    """
    most = falling.own_count + rising.costs.size - rising.own_count + 1
    gaps, values, changed, label_1 = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    f, r, n = falling.own_count, rising.own_count, 0
    cache_f, cache_r = new_value_cache(), new_value_cache()
    rate_f, rate_r = rate_at_count(falling, f), rate_at_count(rising, r)
    value_f, value_r = value_at_count(falling, f, cache_f), value_at_count(rising, r, cache_r)
    gaps[0], values[0], changed[0] = gap, value_f + value_r, 0.0
    label_1[0] = falling.share * rate_f + rising.share * rate_r
    while gaps[n] > 0.0:  # so the rate of the falling group is above 0: it has labels to flip
        price_f = -falling.share * falling.costs[f - 1]
        price_r = rising.share * rising.costs[r] if r < rising.costs.size else np.inf
        if price_f < price_r or (price_f == price_r and falling.share <= rising.share):
            f -= 1
            rate_f, value_f = rate_at_count(falling, f), value_at_count(falling, f, cache_f)
        else:
            r += 1
            rate_r, value_r = rate_at_count(rising, r), value_at_count(rising, r, cache_r)
        n += 1
        gaps[n] = rate_f - rate_r
        values[n] = value_f + value_r
        changed[n] = n
        label_1[n] = falling.share * rate_f + rising.share * rate_r
    if gaps[n] < 0.0:  # only a fraction of the last flip is needed
        part = gaps[n - 1] / (gaps[n - 1] - gaps[n])
        values[n] = values[n - 1] + part * (values[n] - values[n - 1])
        label_1[n] = label_1[n - 1] + part * (label_1[n] - label_1[n - 1])
        changed[n] = changed[n - 1] + part
        gaps[n] = 0.0
    return gaps[: n + 1], values[: n + 1], changed[: n + 1], label_1[: n + 1]


# Tasks in any order.


class PriceFormula(NamedTuple):
    """How the price of a task's flip follows from its sort key and group.

    Attributes
    ----------
    key_formula : SortKeyFormula
    shares : pair of float
        Share of each group in all tasks.
    falling_group : int
        The group whose rate must fall.
    """

    key_formula: SortKeyFormula
    shares: tuple[float, float]
    falling_group: int


@kernel
def flip_price(cost: float, share: float, is_falling: bool) -> float:
    """Return the price of a flip; never -0.0, whose bits are not in the order of numbers."""
    return 0.0 - share * cost if is_falling else share * cost + 0.0


@kernel
def float_to_ordinal(number: float) -> np.uint64:
    """Return an integer for a number, such that integers are in the order of numbers (except for -0.0)."""
    bits = np.float64(number).view(np.uint64)
    sign_bit = np.uint64(1) << np.uint64(63)
    return bits ^ sign_bit if bits < sign_bit else ~bits


def ordinal_to_float(ordinal: int) -> float:
    """Return the number of an integer; infinity for integers that stand for no number."""
    if ordinal <= int(float_to_ordinal(-np.inf)):
        return -math.inf
    if ordinal >= int(float_to_ordinal(np.inf)):
        return math.inf
    bits = np.uint64(ordinal)
    sign_bit = np.uint64(1) << np.uint64(63)
    return float((bits ^ sign_bit if bits >= sign_bit else ~bits).view(np.float64))


def count_prices(
    tasks: Tasks, prices: PriceFormula, low: int, shift: int, n_bins: int
) -> tuple[NDArray[np.int64], ...]:
    """Count per group the prices below ordinal ``low``, in each bin of ``2**shift`` ordinals from there, and above."""
    counts = np.zeros((2, n_bins + 2), dtype=np.int64)
    _count_prices(tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(shift), counts)
    return (counts,)


def totals_outside_prices(
    tasks: Tasks, prices: PriceFormula, low: int, high: int, unit: float
) -> tuple[NDArray[np.int64], ...]:
    """Sum, per group, the number and gain of the tasks with prices below ordinal ``low``, and above ``high``.

    The result has shape (2, 2, 3): group, below or above, and number and gain as limbs.
    """
    totals = np.zeros((2, 2, 3), dtype=np.int64)
    _add_totals(tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(high), unit, totals)
    return (totals,)


def runs_between_prices(tasks: Tasks, prices: PriceFormula, low: int, high: int) -> tuple[NDArray[Any], ...]:
    """Return sort key, group and number of tasks of each run of equal tasks with prices from ``low`` to ``high``."""
    given = (tasks.posterior, tasks.log_odds, tasks.group, prices, np.uint64(low), np.uint64(high))
    n = _find_tasks(*given, np.empty(0), np.empty(0, dtype=np.int32))  # counted first, to allocate no more than needed
    keys, group = np.empty(n), np.empty(n, dtype=np.int32)
    _find_tasks(*given, keys, group)
    runs = [np.unique(keys[group == a], return_counts=True) for a in (0, 1)]
    groups = np.repeat(np.array([0, 1], dtype=np.int32), [found.size for found, _ in runs])
    return np.concatenate([found for found, _ in runs]), groups, np.concatenate([counts for _, counts in runs])


@kernel
def add_gains(costs: NDArray[np.float64], unit: float, limbs: NDArray[np.int64]) -> None:
    """Add the gains of tasks with these costs to limbs of shape (1, 2)."""
    sums = np.zeros(1, np.int64)
    for start in range(0, costs.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, costs.size)):
            sums[0] += to_units(-costs[i], unit)
        carry(sums, limbs)


@inner_kernel
def _price_of_task(
    posterior: NDArray[np.float64], log_odds: NDArray[np.float64], group: Codes, prices: PriceFormula, i: int
) -> float:
    cost = cost_of_key(prices.key_formula, key_of_task(prices.key_formula, posterior, log_odds, i))
    return flip_price(cost, prices.shares[group[i]], group[i] == prices.falling_group)


@kernel
def _count_prices(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    prices: PriceFormula,
    low: np.uint64,
    shift: np.uint64,
    counts: NDArray[np.int64],
) -> None:
    n_bins = np.uint64(counts.shape[1] - 2)
    for i in range(group.size):
        ordinal = float_to_ordinal(_price_of_task(posterior, log_odds, group, prices, i))
        at = np.uint64(0)
        if ordinal >= low:
            at = min((ordinal - low) >> shift, n_bins) + np.uint64(1)
        counts[group[i], at] += 1


@kernel
def _add_totals(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    prices: PriceFormula,
    low: np.uint64,
    high: np.uint64,
    unit: float,
    totals: NDArray[np.int64],
) -> None:
    sums, limbs = np.zeros(4, np.int64), np.zeros((4, 2), np.int64)
    for start in range(0, group.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, group.size)):
            cost = cost_of_key(prices.key_formula, key_of_task(prices.key_formula, posterior, log_odds, i))
            price = flip_price(cost, prices.shares[group[i]], group[i] == prices.falling_group)
            ordinal = float_to_ordinal(price)
            if ordinal < low or ordinal > high:
                above = 0 if ordinal < low else 1
                totals[group[i], above, 0] += 1
                sums[2 * group[i] + above] += to_units(-cost, unit)
        carry(sums, limbs)
    totals[:, :, 1:] += limbs.reshape(2, 2, 2)


@kernel
def _find_tasks(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    prices: PriceFormula,
    low: np.uint64,
    high: np.uint64,
    keys: NDArray[np.float64],
    groups: Codes,
) -> int:
    """Write sort key and group of the tasks between two prices, if there is room for them, and return their number."""
    n = 0
    for i in range(group.size):
        ordinal = float_to_ordinal(_price_of_task(posterior, log_odds, group, prices, i))
        if low <= ordinal <= high:
            if keys.size:
                keys[n] = key_of_task(prices.key_formula, posterior, log_odds, i)
                groups[n] = group[i]
            n += 1
    return n
