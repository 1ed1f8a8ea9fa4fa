"""The tasks of each group around its threshold, sorted; all others are only counted and added up.

To find two thresholds it is enough to sort the tasks near them. Where these lie is guessed from a sample of each group.
The guess is then checked: the price of the thresholds is computed from the stretches that were sorted, and is the price
of all tasks if it lies inside both of them. If it does not, all tasks are sorted.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd._threads import map_in_threads
from faircrowd.exact.sums import TERMS_PER_CARRY, carry, to_units
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.fair.thresholds.flip_cost import PriceFormula, price_to_close_gap
from faircrowd.fair.thresholds.sort_keys import (
    SortKeyFormula,
    cost_of_key,
    cost_unit,
    costs_of_keys,
    sort_keys_by_group,
)
from faircrowd.fair.thresholds.sorted_group import SortedGroup, make_sorted_group_without_values

__all__ = ["SortedStretch", "sort_all_tasks", "sort_near_thresholds"]

_FEW_TASKS = 1 << 15
"""This many tasks are sorted at once as fast as some of them are selected."""

_SAMPLE = 1 << 13
"""Size of the sample of each group, at least."""

_SCATTER = 0x9E3779B1
"""The golden ratio as a part of 2**32: the parts of its multiples are spread evenly."""

_MOST_OF_GROUP = 0.25
"""A stretch that is a larger part of its group takes memory and saves little: many tasks are equal, or margins wide."""

_Bounds = tuple[float, float]


class SortedStretch(NamedTuple):
    """Tasks of a group that are neighbours in its order.

    Attributes
    ----------
    keys, costs : ndarray
        Sort key and cost of each, in ascending order.
    before : tuple of int
        The number of tasks before the first of these, and their gain as limbs.
    n_tasks : int
        Number of tasks of the group.
    threshold_cost : float
        The cost at which the labels of the group change.
    """

    keys: NDArray[np.float64]
    costs: NDArray[np.float64]
    before: tuple[int, int, int]
    n_tasks: int
    threshold_cost: float

    @property
    def is_from_first(self) -> bool:
        """Whether no task of the group is before these."""
        return self.before[0] == 0

    @property
    def is_to_last(self) -> bool:
        """Whether no task of the group is after these."""
        return self.before[0] + self.keys.size == self.n_tasks


def sort_near_thresholds(
    tasks: Population,
    prices: PriceFormula,
    own_counts: NDArray[np.int64],
    needed: float,
    margins: NDArray[np.float64],
) -> list[SortedStretch]:
    """Sort the tasks of each group around its threshold.

    Parameters
    ----------
    own_counts : ndarray of int64, shape (2,)
        Number of labels 1 of each group without a constraint.
    needed : float
        How much of the gap is to be closed.
    margins : ndarray, shape (2,)
        How many tasks to sort on either side of the threshold, per group. If the guess was not good, a stretch may have
        fewer.
    """
    if tasks.sizes.sum() > _FEW_TASKS and tasks.sizes.all():
        bounds = _guess_bounds(tasks, prices, own_counts, needed, margins)
        if bounds is not None:
            zero, one, before = tasks.gather(_keys_between, prices.key_formula, bounds)
            found = _sort((zero, one), before.sum(axis=0), tasks.sizes, prices, own_counts, needed)
            if all(map(_holds_threshold, found)):
                return found
    return sort_all_tasks(tasks, prices, own_counts, needed)


def sort_all_tasks(
    tasks: Population, prices: PriceFormula, own_counts: NDArray[np.int64], needed: float
) -> list[SortedStretch]:
    """Sort all tasks of each group; parameters are those of ``sort_near_thresholds``."""
    zero, one = tasks.gather(_all_keys, prices.key_formula)
    return _sort((zero, one), np.zeros((2, 3), dtype=np.int64), tasks.sizes, prices, own_counts, needed)


def _guess_bounds(
    tasks: Population,
    prices: PriceFormula,
    own_counts: NDArray[np.int64],
    needed: float,
    margins: NDArray[np.float64],
) -> list[_Bounds] | None:
    """Return the lowest and the highest sort key of each group's stretch, from a sample; None if it is not worth it.

    The share of tasks below a key has a standard error of at most half the root of the sample's size. The price depends
    on four such shares, at the thresholds and at those without a constraint.
    """
    sizes = tasks.sizes
    sampled = tasks.gather(_sample_keys, prices.key_formula, max(int(sizes.min()) // _SAMPLE, 1))
    samples = [np.sort(part[:: max(part.size // _SAMPLE, 1)]) for part in sampled]
    if not all(sample.size for sample in samples):
        return None
    costs = [costs_of_keys(prices.key_formula, sample) for sample in samples]
    shares = [sample.size / int(size) for sample, size in zip(samples, sizes, strict=True)]
    groups = [
        make_sorted_group_without_values(
            costs[a], round(int(own_counts[a]) * shares[a]), costs[a].size / prices.shares[a]
        )
        for a in (0, 1)
    ]
    at = _threshold_costs(groups, prices, needed)
    bounds = []
    for a, sample in enumerate(samples):
        middle = int(np.searchsorted(costs[a], at[a]))
        reach = math.ceil(3 * math.sqrt(sample.size) + margins[a] * shares[a]) + 1
        low, high = middle - reach, middle + reach
        bounds.append((sample[low] if low > 0 else -math.inf, sample[high] if high < sample.size else math.inf))
        if np.mean((sample >= bounds[a][0]) & (sample <= bounds[a][1])) > _MOST_OF_GROUP:
            return None
    return bounds


def _all_keys(tasks: Tasks, formula: SortKeyFormula) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all sort keys by group, in arrays of their own: those of one can be freed before those of the other."""
    zero, one = sort_keys_by_group(tasks, formula)
    return zero.copy(), one.copy()


def _sample_keys(tasks: Tasks, formula: SortKeyFormula, step: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sort keys of one of every few tasks, by group; which one varies, as groups may come in turns."""
    rows = np.arange(0, tasks.group.size, step)
    rows += (np.arange(rows.size) * _SCATTER % 2**32) * step >> 32
    rows = rows[rows < tasks.group.size]
    log_odds = tasks.log_odds[rows] if tasks.log_odds.size else tasks.log_odds
    some = tasks._replace(posterior=tasks.posterior[rows], group=tasks.group[rows], log_odds=log_odds)
    return sort_keys_by_group(some, formula)


def _keys_between(
    tasks: Tasks, formula: SortKeyFormula, bounds: Sequence[_Bounds]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the sort keys of each group between two bounds, and what is before them, as in a stretch."""
    before, inside = np.zeros((1, 2, 3), dtype=np.int64), []
    for a, (keys, (low, high)) in enumerate(zip(sort_keys_by_group(tasks, formula), bounds, strict=True)):
        limbs = np.zeros((1, 2), dtype=np.int64)
        n_before, n_inside = _move_to_front(keys, low, high, formula, cost_unit(formula), limbs)
        before[0, a] = n_before, *limbs[0]
        inside.append(keys[:n_inside].copy())
    return inside[0], inside[1], before


def _sort(
    keys: Sequence[NDArray[np.float64]],
    before: NDArray[np.int64],
    sizes: NDArray[np.int64],
    prices: PriceFormula,
    own_counts: NDArray[np.int64],
    needed: float,
) -> list[SortedStretch]:
    """Sort the keys of each group, in place, and find the thresholds; ``before`` is that of each stretch."""
    formula = prices.key_formula

    def sort(a: int) -> SortedStretch:
        keys[a].sort()
        costs = costs_of_keys(formula, keys[a]) if formula.is_log_odds else keys[a]
        n_before, coarse, fine = before[a].tolist()
        return SortedStretch(keys[a], costs, (n_before, coarse, fine), int(sizes[a]), math.nan)

    found = map_in_threads(sort, (0, 1))
    groups = [
        make_sorted_group_without_values(
            stretch.costs, own_count, float(sizes.sum()), stretch.before[0], stretch.n_tasks
        )
        for stretch, own_count in zip(found, own_counts.tolist(), strict=True)
    ]
    at = _threshold_costs(groups, prices, needed)
    return [stretch._replace(threshold_cost=cost) for stretch, cost in zip(found, at, strict=True)]


@kernel
def _move_to_front(
    keys: NDArray[np.float64],
    low: float,
    high: float,
    formula: SortKeyFormula,
    unit: float,
    limbs: NDArray[np.int64],
) -> tuple[np.int64, np.int64]:
    """Move the keys between two bounds to the front, over the others; return how many are below, and between, them.

    The gains of those below are added to limbs. Invariant: no more keys are at the front than have been read.
    """
    n_before = n_inside = np.int64(0)
    sums = np.zeros(1, np.int64)
    for start in range(0, keys.size, TERMS_PER_CARRY):
        stop = min(start + TERMS_PER_CARRY, keys.size)
        below, gain = np.int64(0), np.int64(0)
        for i in range(start, stop):
            is_below = keys[i] < low
            below += is_below
            gain += to_units(-cost_of_key(formula, keys[i]), unit) if is_below else np.int64(0)
        for i in range(start, stop):
            keys[n_inside] = key = keys[i]  # written over by the next one unless it counts
            n_inside += (key >= low) & (key <= high)
        n_before += below
        sums[0] = gain
        carry(sums, limbs)
    return n_before, n_inside


def _threshold_costs(groups: Sequence[SortedGroup], prices: PriceFormula, needed: float) -> list[float]:
    """Return the cost at which the labels of each group change."""
    falling, rising = groups[prices.falling_group], groups[1 - prices.falling_group]
    price = price_to_close_gap(falling, rising, needed)[0]
    return [float(-price if a == prices.falling_group else price) / groups[a].share for a in (0, 1)]


def _holds_threshold(stretch: SortedStretch) -> bool:
    """Return whether the threshold cost lies inside a stretch, so that the tasks below, at and above it are counted.

    A price that is too low or too high, because tasks outside one stretch have infinite prices where that of the other
    is evaluated, lies outside the first.
    """
    if not math.isfinite(stretch.threshold_cost) or not stretch.costs.size:
        return False
    is_after = stretch.is_from_first or stretch.costs[0] < stretch.threshold_cost
    return bool(is_after and (stretch.is_to_last or stretch.threshold_cost < stretch.costs[-1]))
