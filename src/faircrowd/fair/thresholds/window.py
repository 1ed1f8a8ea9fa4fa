"""The thresholds of tasks of equal weight, found from only the tasks near them.

The *window* is the tasks whose flips have prices around the one at which the gap reaches epsilon. Where tasks are few
enough to hold a number of each, it is cut out of a stretch of sorted tasks
(:mod:`faircrowd.fair.thresholds.sorted_stretch`). Otherwise prices are counted in bins, and the bins around that price
in finer bins, until few tasks are left or all of them are equal. Runs of equal tasks in the window, with the number and
gain of the better tasks outside, are two sorted groups that are solved exactly; a window that turns out to be too
narrow is widened.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import FaircrowdError
from faircrowd.exact.sums import limbs_to_numbers
from faircrowd.fair.tasks.population import Population
from faircrowd.fair.tasks.tie_break import first_in_order
from faircrowd.fair.thresholds.flip_cost import (
    PriceFormula,
    add_gains,
    count_prices,
    float_to_ordinal,
    ordinal_to_float,
    runs_between_prices,
    totals_outside_prices,
)
from faircrowd.fair.thresholds.integer import best_allowed_counts
from faircrowd.fair.thresholds.labels import Threshold, add_unconstrained, rows_at_key
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds, relaxed_thresholds
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, cost_unit, costs_of_keys
from faircrowd.fair.thresholds.sorted_group import SortedGroup, make_window_group
from faircrowd.fair.thresholds.sorted_stretch import SortedStretch, sort_all_tasks, sort_near_thresholds
from faircrowd.fair.tolerances import WINDOW_TIE
from faircrowd.fair.whole_tasks.allowance import Allowance
from faircrowd.fair.whole_tasks.drawn_counts import draw_counts

__all__ = [
    "UnconstrainedTotals",
    "WindowSolution",
    "deterministic_threshold",
    "drawn_threshold",
    "randomized_threshold",
    "solve_in_window",
    "unconstrained_totals",
]

_BIN_BITS = 14
"""Prices are counted in ``2**_BIN_BITS`` bins at a time."""

_SMALL_WINDOW = 1 << 14
"""A window of at most this many tasks is not narrowed further."""

_WIDENING_FACTOR = 16

_MAX_ORDINAL = 2**64 - 1

_AFTER_ALL_TASKS = (int(np.iinfo(np.int64).min), 2**64 - 1)
"""Evidence and hash that come after those of every task."""


class UnconstrainedTotals(NamedTuple):
    """What the labels without a constraint come to.

    Attributes
    ----------
    counts : ndarray of int64, shape (2,)
        Number of labels 1 of each group.
    gain : float
        What the labels 1 add to the objective.
    mean_posterior : pair of float
    signed_gap : float
        The rate of group 1 minus the rate of group 0.
    """

    counts: NDArray[np.int64]
    gain: float
    mean_posterior: tuple[float, float]
    signed_gap: float


class WindowSolution(NamedTuple):
    """The solution, and the window in which it was found.

    Attributes
    ----------
    groups : pair of SortedGroup
        The windows of both groups.
    keys : pair of ndarray
        The sort key of each run of equal tasks.
    relaxed : RelaxedThresholds
        The best randomized labels.
    counts : pair of int, or None
        Per group, the number of labels 1 of the best deterministic labels.
    excess : float
        By how much the gap of these labels may exceed epsilon.
    """

    groups: tuple[SortedGroup, SortedGroup]
    keys: tuple[NDArray[np.float64], NDArray[np.float64]]
    relaxed: RelaxedThresholds
    counts: tuple[int, int] | None
    excess: float = 0.0


def unconstrained_totals(tasks: Population, formula: SortKeyFormula, *, by_cost: bool) -> UnconstrainedTotals:
    """Sum what the labels without a constraint come to."""
    unit = cost_unit(formula)
    counts, gains, posterior = tasks.reduce(add_unconstrained, formula, unit, by_cost, tasks.ties == "last")
    n_tasks = int(tasks.sizes.sum())
    means = [float(p) for p in limbs_to_numbers(posterior) / n_tasks]
    rates = counts / tasks.sizes
    gain = float(limbs_to_numbers(gains.sum(axis=0), unit)) / n_tasks
    return UnconstrainedTotals(counts, gain, (means[0], means[1]), float(rates[1] - rates[0]))


def solve_in_window(
    tasks: Population,
    formula: SortKeyFormula,
    unconstrained: UnconstrainedTotals,
    epsilon: float,
    allowed: Sequence[Allowance],
) -> WindowSolution:
    """Find the best randomized labels; the gap must exceed epsilon.

    If something is allowed to deterministic labels, find the best of those too.
    """
    sizes = tasks.sizes
    shares = sizes / sizes.sum()
    falling_group = 1 if unconstrained.signed_gap > 0 else 0
    prices = PriceFormula(formula, (float(shares[0]), float(shares[1])), falling_group)
    # The number of tasks to include on either side of the threshold of each group. Deterministic labels are usually
    # this close to the randomized ones: the tasks of this group that move the gap as much as one task of the other, and
    # about the square root of all tasks, at which rounding costs as much as moving both rates.
    margins = 64 + 4 * math.sqrt(sizes.sum()) + 4 * sizes / sizes[::-1]
    sorting = (tasks, prices, unconstrained.counts, abs(unconstrained.signed_gap) - epsilon)
    in_order = sort_near_thresholds(*sorting, margins) if tasks.sorts else None
    while True:
        runs = None if in_order is None else _slice_runs(in_order, formula, margins)
        if runs is None and in_order is not None:
            in_order = sort_all_tasks(*sorting)
            continue
        if runs is None:
            runs = _gather_runs(tasks, prices, *_narrow_window(tasks, prices, epsilon, margins))
        found = _solve_runs(tasks, prices.key_formula, unconstrained, runs, epsilon, allowed)
        if found is not None:
            return found
        if sum(int(run.counts.sum()) for run in runs) == sizes.sum():
            raise FaircrowdError("No thresholds were found; this should not happen. Please report it with the data.")
        margins *= _WIDENING_FACTOR


def _narrow_window(
    tasks: Population, prices: PriceFormula, epsilon: float, margins: NDArray[np.float64]
) -> tuple[int, int]:
    """Return the first and last price (as ordinals) of a window with margins around the price that is looked for."""
    falling, rising = prices.falling_group, 1 - prices.falling_group
    sizes = tasks.sizes
    n_bins = 1 << _BIN_BITS
    low, high, n_inside = 0, _MAX_ORDINAL, int(sizes.sum())
    while n_inside > max(_SMALL_WINDOW, 4 * margins.sum()) and high > low:
        shift = max((high - low).bit_length() - _BIN_BITS, 0)
        (counts,) = tasks.reduce(count_prices, prices, low, shift, n_bins)
        at_most = np.cumsum(counts, axis=1)[:, :-1]  # tasks below the bins, and up to the end of each bin
        gap = (1.0 - at_most[falling] / sizes[falling]) - at_most[rising] / sizes[rising]
        at = int(np.searchsorted(-gap, -epsilon)) - 1  # the bin at whose end the gap is first within epsilon
        at = min(max(at, 0), n_bins - 1)
        first, last = at, at
        for a in (0, 1):
            first = min(first, int(np.searchsorted(at_most[a], at_most[a, at] - margins[a], side="right")) - 1)
            last = max(last, int(np.searchsorted(at_most[a], at_most[a, at + 1] + margins[a])) - 1)
        first, last = max(first, 0), min(last, n_bins - 1)
        n_left = int((at_most[:, last + 1] - at_most[:, first]).sum())
        width = high - low
        low, high = low + (first << shift), min(low + ((last + 1) << shift) - 1, high)
        # Finer bins do not separate equal tasks, and do not help where most bins are needed to hold enough tasks.
        if (shift <= 32 and n_left > n_inside // 2) or high - low > width // 4:
            break
        n_inside = n_left
    return low, high


class _Runs(NamedTuple):
    """Runs of equal tasks of a group, in order.

    Attributes
    ----------
    keys : ndarray, shape (n_runs,)
        Their sort keys.
    counts : ndarray of int64, shape (n_runs,)
        Their numbers of tasks.
    before : tuple of int
        The number of tasks before the first run, and their gain as limbs.
    """

    keys: NDArray[np.float64]
    counts: NDArray[np.int64]
    before: tuple[int, int, int]


def _gather_runs(tasks: Population, prices: PriceFormula, low: int, high: int) -> list[_Runs]:
    """Gather the runs between two prices, given as ordinals."""
    # A rule takes prices that are nearly equal as tied: all of those must be in the window.
    lowest, highest = ordinal_to_float(low), ordinal_to_float(high)
    low = int(float_to_ordinal(lowest - WINDOW_TIE)) if math.isfinite(lowest) else 0
    high = int(float_to_ordinal(highest + WINDOW_TIE)) if math.isfinite(highest) else _MAX_ORDINAL
    (outside,) = tasks.reduce(totals_outside_prices, prices, low, high, cost_unit(prices.key_formula))
    keys, groups, counts = tasks.gather(runs_between_prices, prices, low, high)
    runs = []
    for a in (0, 1):
        distinct, run = np.unique(keys[groups == a], return_inverse=True)
        n_tasks = np.bincount(run, weights=counts[groups == a], minlength=distinct.size).astype(np.int64)
        # The best tasks of the falling group have the highest prices.
        before = outside[a, 1 if a == prices.falling_group else 0]
        runs.append(_Runs(distinct, n_tasks, (int(before[0]), int(before[1]), int(before[2]))))
    return runs


def _slice_runs(
    stretches: Sequence[SortedStretch], formula: SortKeyFormula, margins: NDArray[np.float64]
) -> list[_Runs] | None:
    """Cut the runs of a window out of sorted tasks; return None if too few of them were sorted."""
    runs = []
    for stretch, margin in zip(stretches, margins, strict=True):
        costs, at = stretch.costs, stretch.threshold_cost
        low = int(np.searchsorted(costs, at)) - int(margin)
        high = int(np.searchsorted(costs, at, side="right")) + int(margin)
        low = int(np.searchsorted(costs, costs[low] - WINDOW_TIE)) if low > 0 else 0
        high = int(np.searchsorted(costs, costs[high] + WINDOW_TIE, side="right")) if high < costs.size else costs.size
        if (low == 0 and not stretch.is_from_first) or (high == costs.size and not stretch.is_to_last):
            return None
        limbs = np.zeros((1, 2), dtype=np.int64)
        add_gains(costs[:low], cost_unit(formula), limbs)
        distinct, n_tasks = np.unique(stretch.keys[low:high], return_counts=True)
        n_before, coarse, fine = stretch.before
        runs.append(_Runs(distinct, n_tasks, (n_before + low, coarse + int(limbs[0, 0]), fine + int(limbs[0, 1]))))
    return runs


def _solve_runs(
    tasks: Population,
    formula: SortKeyFormula,
    unconstrained: UnconstrainedTotals,
    runs: list[_Runs],
    epsilon: float,
    allowed: Sequence[Allowance],
) -> WindowSolution | None:
    """Solve with the runs of a window; return None if that shows the window to be too narrow."""
    if not all(run.keys.size for run in runs):
        return None
    group_0, group_1 = (
        make_window_group(
            costs_of_keys(formula, run.keys),
            run.counts,
            run.before,
            own_count=int(unconstrained.counts[a]),
            n_tasks=int(tasks.sizes[a]),
            total_weight=float(tasks.sizes.sum()),
            unit=cost_unit(formula),
        )
        for a, run in enumerate(runs)
    )
    relaxed = relaxed_thresholds((group_0, group_1), epsilon)
    if not math.isfinite(relaxed.multiplier) or not _lies_inside((group_0, group_1), relaxed):
        return None
    counts, excess = best_allowed_counts((group_0, group_1), relaxed, epsilon, allowed)
    if counts is not None and counts[0] < 0:
        return None
    return WindowSolution((group_0, group_1), (runs[0].keys, runs[1].keys), relaxed, counts, excess)


def _lies_inside(groups: tuple[SortedGroup, SortedGroup], relaxed: RelaxedThresholds) -> bool:
    """Return whether a solution lies inside the windows of both groups.

    Tied tasks have the price of the solution, so the tasks before and after them are known. In a group without tied
    tasks, the price may lie beyond the end of the window if the count is at this end, unless no task lies beyond.
    """
    for group, certain, tied in zip(groups, relaxed.n_certain, relaxed.n_tied, strict=True):
        first, last = group.run_starts[0], group.run_starts[-1]
        if tied == 0:
            first, last = (first + 1 if first > 0 else 0), (last - 1 if last < group.n_tasks else last)
        if not first <= certain <= certain + tied <= last:
            return False
    return True


def randomized_threshold(solution: WindowSolution, a: int) -> tuple[float, float]:
    """Return the threshold key of group ``a``, and the probability of label 1 of the tasks at it."""
    starts, relaxed = solution.groups[a].run_starts, solution.relaxed
    count = relaxed.n_certain[a] + relaxed.tied_fraction[a] * relaxed.n_tied[a]
    # Tasks of equal cost are still in the order of their keys: only tasks with equal keys are labelled at random.
    run = min(int(np.searchsorted(starts, int(count), side="right")) - 1, solution.keys[a].size - 1)
    part = (count - starts[run]) / (starts[run + 1] - starts[run])
    return float(solution.keys[a][run]), float(min(max(part, 0.0), 1.0))


def deterministic_threshold(
    tasks: Population, formula: SortKeyFormula, solution: WindowSolution, a: int, random_state: int
) -> Threshold:
    """Return the threshold of group ``a`` that gives label 1 to the number of tasks that the solution says."""
    assert solution.counts is not None  # noqa: S101 - deterministic labels were asked for
    return _threshold_of_count(tasks, formula, solution, a, solution.counts[a], random_state)


def drawn_threshold(
    tasks: Population, formula: SortKeyFormula, solution: WindowSolution, a: int, random_state: int
) -> Threshold:
    """Return the threshold of group ``a`` for labels drawn from the randomized solution.

    Of the tasks at the threshold, the first in the order of their hashes get label 1: as many as are expected, rounded
    up or down at random. So every one of them gets it with the probability of the solution, and the rate of the group
    is within one task of its expectation.
    """
    key, part = randomized_threshold(solution, a)
    starts = solution.groups[a].run_starts
    run = int(np.searchsorted(solution.keys[a], key))
    n_tied = int(starts[run + 1] - starts[run])
    drawn = draw_counts(n_tied * np.array([[1.0 - part, part]]), random_state, a)
    count = int(starts[run] + drawn[0, 1])
    return _threshold_of_count(tasks, formula, solution, a, count, random_state, by_evidence=False)


def _threshold_of_count(
    tasks: Population,
    formula: SortKeyFormula,
    solution: WindowSolution,
    a: int,
    count: int,
    random_state: int,
    by_evidence: bool = True,
) -> Threshold:
    """Return the threshold of group ``a`` that gives label 1 to this number of tasks."""
    starts = solution.groups[a].run_starts
    run = int(np.searchsorted(starts, count, side="right")) - 1
    if run >= solution.keys[a].size:  # the end of the window: all tasks of its last run get label 1
        last = float(solution.keys[a][-1])
        if math.isinf(last):
            return Threshold(last, _AFTER_ALL_TASKS)
        return Threshold(float(np.nextafter(last, math.inf)), None)
    key, n_from_run = float(solution.keys[a][run]), int(count - starts[run])
    if n_from_run == 0:
        return Threshold(key, None)
    n_tied = int(starts[run + 1] - starts[run])
    find = rows_at_key, (formula, a, key)
    (last_tied,) = first_in_order(tasks, *find, n_tied, [n_from_run], random_state, by_evidence)
    return Threshold(key, last_tied)
