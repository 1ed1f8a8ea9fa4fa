"""Two classes, two groups: where labels change, found by counting, without a sort.

Prices are counted in bins, and the bins around the price at which the gap reaches epsilon are counted in finer bins,
until few tasks are left or they are all alike. Runs of equal tasks in this window, and the number and gain of those on
either side, make the sides that :mod:`faircrowd.fair.thresholds.relaxed` solves exactly; a window that turns out too narrow is
widened.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import FaircrowdError
from faircrowd.exact.sums import limbs_to_numbers
from faircrowd.fair.tasks.population import Population
from faircrowd.fair.tasks.tie_break import first_in_order
from faircrowd.fair.thresholds.flip_cost import (
    Prices,
    count_prices,
    number_at,
    place_of,
    runs_between,
    total_of,
    totals_beside,
)
from faircrowd.fair.thresholds.flip_order import price_of
from faircrowd.fair.thresholds.integer import best_counts
from faircrowd.fair.thresholds.labels import Cut, own_totals, tied_at
from faircrowd.fair.thresholds.relaxed import Split, relaxed_split
from faircrowd.fair.thresholds.scores import Key, costs_of, split_keys, unit_of
from faircrowd.fair.thresholds.sorted_group import Side, bare_side, make_window
from faircrowd.fair.tolerances import TIE

__all__ = ["Own", "Window", "coin_at", "cut_at", "find_window", "own_labels"]

_BITS = 14
"""Prices are counted in bins of their next so many bits."""

_FEW = 1 << 14
"""Windows of fewer tasks are not narrowed further."""

_WIDER = 16
_ALL = (int(np.iinfo(np.int64).min), 2**64 - 1)
"""Evidence and hash that no task comes after."""


class Own(NamedTuple):
    """The labels without a constraint in numbers: how many are marked in each group, and what they gain.

    ``beliefs`` holds the mean posterior of both classes; ``signed_gap`` is the rate of group 1 minus that of group 0.
    """

    counts: NDArray[np.int64]
    gain: float
    beliefs: tuple[float, float]
    signed_gap: float


class Window(NamedTuple):
    """Runs of equal tasks where labels change.

    Attributes
    ----------
    sides : pair of Side
    keys : pair of ndarray
        The key of each run.
    split : Split
        The solution with a coin.
    counts : tuple of int, or None
        How many tasks of each group are marked without a coin.
    """

    sides: tuple[Side, Side]
    keys: tuple[NDArray[np.float64], NDArray[np.float64]]
    split: Split
    counts: tuple[int, int] | None


def own_labels(tasks: Population, key: Key, *, by_cost: bool) -> Own:
    """Count the labels without a constraint."""
    unit = unit_of(key)
    counts, gains, beliefs = tasks.reduce(own_totals, key, unit, by_cost, tasks.ties == "last")
    total = int(tasks.sizes.sum())
    means = [float(p) for p in limbs_to_numbers(beliefs) / total]
    rates = counts / tasks.sizes
    return Own(
        counts,
        float(limbs_to_numbers(gains.sum(axis=0), unit)) / total,
        (means[0], means[1]),
        float(rates[1] - rates[0]),
    )


def find_window(tasks: Population, key: Key, own: Own, epsilon: float, *, whole: bool) -> Window:
    """Find the solution with a coin, and the one without it if ``whole``; the gap must exceed epsilon."""
    sizes = tasks.sizes
    shares = sizes / sizes.sum()
    prices = Prices(key, (float(shares[0]), float(shares[1])), 1 if own.signed_gap > 0 else 0)
    # Whole labels lie this far from the solution with a coin, as a rule: a task of the other group, and the square
    # root of all, over which what rounding costs and what moving the rates costs are alike.
    margins = 64 + 4 * math.sqrt(sizes.sum()) + 4 * sizes / sizes[::-1]
    in_order = _sorted(tasks, prices, own, epsilon) if tasks.sorts else None
    while True:
        if in_order is not None:
            runs = _cut_runs(in_order, prices, margins)
        else:
            runs = _gathered_runs(tasks, prices, *_narrowed(tasks, prices, epsilon, margins))
        found = _solved(tasks, prices.key, own, runs, epsilon, whole)
        if found is not None:
            return found
        if sum(int(run.counts.sum()) for run in runs) == sizes.sum():
            raise FaircrowdError("No thresholds were found; this should not happen. Please report it with the data.")
        margins *= _WIDER


def _narrowed(tasks: Population, prices: Prices, epsilon: float, margins: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first and last place of a window with so many tasks on either side of the price."""
    falls, rises = prices.up, 1 - prices.up
    sizes = tasks.sizes
    low, high, inside = 0, 2**64 - 1, int(sizes.sum())
    while inside > max(_FEW, 4 * margins.sum()) and high > low:
        shift = max((high - low).bit_length() - _BITS, 0)
        (counts,) = tasks.reduce(count_prices, prices, low, shift, 1 << _BITS)
        at_most = np.cumsum(counts, axis=1)[:, :-1]  # tasks below the bins, and to the end of each bin
        gap = (1.0 - at_most[falls] / sizes[falls]) - at_most[rises] / sizes[rises]
        place = int(np.searchsorted(-gap, -epsilon)) - 1  # the bin whose end is the first within epsilon
        place = min(max(place, 0), (1 << _BITS) - 1)
        first, last = place, place
        for a in (0, 1):
            first = min(first, int(np.searchsorted(at_most[a], at_most[a, place] - margins[a], side="right")) - 1)
            last = max(last, int(np.searchsorted(at_most[a], at_most[a, place + 1] + margins[a])) - 1)
        first, last = max(first, 0), min(last, (1 << _BITS) - 1)
        within = int((at_most[:, last + 1] - at_most[:, first]).sum())
        wide = high - low
        low, high = low + (first << shift), min(low + ((last + 1) << shift) - 1, high)
        # Tasks that are alike are not parted by finer bins, nor are bins that must stay to have enough tasks.
        if (shift <= 32 and within > inside // 2) or high - low > wide // 4:
            break
        inside = within
    return low, high


class _Runs(NamedTuple):
    """Tasks of a group that are alike, in order: their keys and numbers, and number and gain of those before them."""

    keys: NDArray[np.float64]
    counts: NDArray[np.int64]
    before: tuple[int, int, int]


def _gathered_runs(tasks: Population, prices: Prices, low: int, high: int) -> list[_Runs]:
    """Gather the runs between two places."""
    least, most = number_at(low), number_at(high)  # a rule takes near prices for tied: they must all be seen
    low = int(place_of(least - 10 * TIE)) if math.isfinite(least) else 0
    high = int(place_of(most + 10 * TIE)) if math.isfinite(most) else 2**64 - 1
    (beside,) = tasks.reduce(totals_beside, prices, low, high, unit_of(prices.key))
    keys, groups, counts = tasks.gather(runs_between, prices, low, high)
    found = []
    for a in (0, 1):
        name, place = np.unique(keys[groups == a], return_inverse=True)
        many = np.bincount(place, weights=counts[groups == a], minlength=name.size).astype(np.int64)
        before = beside[a, 1 if a == prices.up else 0]  # the best of the falling group have the highest prices
        found.append(_Runs(name, many, (int(before[0]), int(before[1]), int(before[2]))))
    return found


class _Sorted(NamedTuple):
    """Keys and costs of each group, rising, and the cost at which its labels change."""

    keys: list[NDArray[np.float64]]
    costs: list[NDArray[np.float64]]
    at: list[float]


def _sorted(tasks: Population, prices: Prices, own: Own, epsilon: float) -> _Sorted:
    """Sort the tasks of each group, which is faster than to count where they lie in memory."""
    keys = tasks.gather(split_keys, prices.key)
    for part in keys:
        part.sort()
    costs = [costs_of(prices.key, part) if prices.key.is_odds else part for part in keys]
    total = float(tasks.sizes.sum())
    sides = [bare_side(cost, int(own.counts[a]), total) for a, cost in enumerate(costs)]
    price = price_of(sides[prices.up], sides[1 - prices.up], abs(own.signed_gap) - epsilon)[0]
    return _Sorted(keys, costs, [(-price if a == prices.up else price) / sides[a].share for a in (0, 1)])


def _cut_runs(found: _Sorted, prices: Prices, margins: NDArray[np.float64]) -> list[_Runs]:
    """Cut the runs of a window out of what was sorted."""
    runs = []
    for keys, cost, at, margin in zip(*found, margins, strict=True):
        low = int(np.searchsorted(cost, at)) - int(margin)
        high = int(np.searchsorted(cost, at, side="right")) + int(margin)
        low = int(np.searchsorted(cost, cost[low] - 10 * TIE)) if low > 0 else 0
        high = int(np.searchsorted(cost, cost[high] + 10 * TIE, side="right")) if high < cost.size else cost.size
        limbs = np.zeros((1, 2), dtype=np.int64)
        total_of(cost[:low], unit_of(prices.key), limbs)
        name, many = np.unique(keys[low:high], return_counts=True)
        runs.append(_Runs(name, many, (low, int(limbs[0, 0]), int(limbs[0, 1]))))
    return runs


def _solved(tasks: Population, key: Key, own: Own, runs: list[_Runs], epsilon: float, whole: bool) -> Window | None:
    """Solve over the runs of a window; None if that shows it to be too narrow."""
    if not all(run.keys.size for run in runs):
        return None
    zero, one = (
        make_window(
            costs_of(key, run.keys),
            run.counts,
            run.before,
            own=int(own.counts[a]),
            n=int(tasks.sizes[a]),
            total=float(tasks.sizes.sum()),
            unit=unit_of(key),
        )
        for a, run in enumerate(runs)
    )
    split = relaxed_split((zero, one), epsilon)
    if not math.isfinite(split.beta) or not _holds((zero, one), split):
        return None
    counts: tuple[int, int] | None = None
    if whole:
        counts = best_counts(zero, one, epsilon)
        if counts[0] < 0:
            return None
    return Window((zero, one), (runs[0].keys, runs[1].keys), split, counts)


def _holds(sides: tuple[Side, Side], split: Split) -> bool:
    """Say whether a solution lies inside windows.

    Tied tasks have the price of the solution, so what lies before and after them is known; without any in a group, the
    price may lie beyond an end that a count touches, unless there is nothing beyond.
    """
    for side, sure, tied in zip(sides, split.sure, split.tied, strict=True):
        first, last = side.starts[0], side.starts[-1]
        if tied == 0:
            first, last = (first + 1 if first > 0 else 0), (last - 1 if last < side.n else last)
        if not first <= sure <= sure + tied <= last:
            return False
    return True


def coin_at(window: Window, a: int) -> tuple[float, float]:
    """Return the key of a group at which a coin is thrown, and the chance of label 1 there."""
    starts, split = window.sides[a].starts, window.split
    position = split.sure[a] + split.omega[a] * split.tied[a]
    # Among equal costs the order is still that of the keys: the coin is only for tasks equal in both.
    run = min(int(np.searchsorted(starts, int(position), side="right")) - 1, window.keys[a].size - 1)
    part = (position - starts[run]) / (starts[run + 1] - starts[run])
    return float(window.keys[a][run]), float(min(max(part, 0.0), 1.0))


def cut_at(tasks: Population, key: Key, window: Window, a: int, random_state: int) -> Cut:
    """Return where the labels of a group change so that its best tasks are marked, as many as the window says."""
    assert window.counts is not None  # noqa: S101 - whole labels were asked for
    starts, count = window.sides[a].starts, window.counts[a]
    run = int(np.searchsorted(starts, count, side="right")) - 1
    if run >= window.keys[a].size:  # the end of the window: its last run is marked whole
        last = float(window.keys[a][-1])
        return Cut(last, _ALL) if math.isinf(last) else Cut(float(np.nextafter(last, math.inf)), None)
    value, marked = float(window.keys[a][run]), int(count - starts[run])
    if marked == 0:
        return Cut(value, None)
    return Cut(
        value,
        *first_in_order(tasks, tied_at, (key, a, value), int(starts[run + 1] - starts[run]), [marked], random_state),
    )
