"""The best deterministic labels of two sorted groups: the best pair of counts of labels 1.

The value of the best labelling with a given count of group 1 is bounded by a concave function of this count: the value
if the count of group 0 need not be an integer. A walk outward from the maximum of the bound, until it falls below the
best labelling found, is exact.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds
from faircrowd.fair.thresholds.sorted_group import (
    BLOCK_SIZE,
    SortedGroup,
    first_count_with_rate,
    largest_known_count,
    least_known_count,
    new_value_cache,
    rate_at_count,
    value_at_count,
)
from faircrowd.fair.tolerances import SAME_VALUE, SLACK
from faircrowd.fair.whole_tasks.allowance import Allowance

__all__ = ["best_allowed_counts", "best_integer_counts"]

_NOT_GOOD_ENOUGH = -2
_ABOVE, _AT_LEAST = np.True_, np.False_
"""For Python's own ``True`` and ``False``, numba would compile a kernel of its own each."""


def best_allowed_counts(
    groups: tuple[SortedGroup, SortedGroup],
    relaxed: RelaxedThresholds,
    epsilon: float,
    allowed: Sequence[Allowance],
) -> tuple[tuple[int, int] | None, float]:
    """Return the counts of labels 1 of the best labelling of the first allowance that there is one for, and its excess.

    The counts are None if nothing is allowed, and -1 if a window is too narrow.
    """
    for excess, most_loss in allowed:
        counts = best_integer_counts(*groups, epsilon + excess, relaxed.bound - most_loss)
        if counts[0] != _NOT_GOOD_ENOUGH:
            return counts, excess
    return None, 0.0


@kernel
def best_integer_counts(
    group_0: SortedGroup, group_1: SortedGroup, epsilon: float, least_value: float = -np.inf
) -> tuple[int, int]:
    """Return the counts of labels 1 (group 0, group 1) of the best labelling.

    Both are -1 if a window is too narrow, and -2 if no labelling has a value of at least ``least_value``.
    """
    caches = new_value_cache(), new_value_cache(), new_value_cache()
    least, most = _counts_with_known_bound(group_0, group_1, epsilon)
    if least > most:
        return -1, -1
    # The bound is concave in the count of group 1: where it first falls is its maximum.
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        here = _bound(group_0, group_1, epsilon, middle, caches)
        if _bound(group_0, group_1, epsilon, middle + 1, caches) > here:
            low = middle + 1
        else:
            high = middle
    best, changes, best_0, best_1 = least_value, 0, _NOT_GOOD_ENOUGH, _NOT_GOOD_ENOUGH
    for step in (1, -1):
        count = low if step == 1 else low - 1
        done = False
        while least <= count <= most:
            rate = rate_at_count(group_1, count)
            first = first_count_with_rate(group_0, rate - epsilon - SLACK, _AT_LEAST)
            fits = first <= group_0.n_tasks and rate_at_count(group_0, first) <= rate + epsilon + SLACK
            if fits or count % BLOCK_SIZE == 0:
                bound = _bound(group_0, group_1, epsilon, count, caches)
                # From here on no labelling is better, and none is as good with fewer changes.
                if bound < best - SAME_VALUE or (
                    best_1 >= 0 and bound <= best + SAME_VALUE / 2 and step * (count - group_1.own_count) > changes
                ):
                    done = True
                    break
            if fits:
                last = first_count_with_rate(group_0, rate + epsilon + SLACK, _ABOVE) - 1
                other = min(max(group_0.own_count, first), last)
                value = value_at_count(group_1, count, caches[1]) + value_at_count(group_0, other, caches[0])
                moved = abs(count - group_1.own_count) + abs(other - group_0.own_count)
                # Of equal values, the count nearest to the own count of group 1, the lower of two: the result does not
                # depend on where the walk began.
                nearer = best_1 < 0 or (moved, abs(count - group_1.own_count), count) < (
                    changes,
                    abs(best_1 - group_1.own_count),
                    best_1,
                )
                if value > best + SAME_VALUE or (value >= best - SAME_VALUE and nearer):
                    best, changes, best_0, best_1 = max(value, best), moved, other, count
            count += step
        if not done and 0 <= count <= group_1.n_tasks:  # there are more counts outside the window
            return -1, -1
    return best_0, best_1


@inner_kernel
def _counts_with_known_bound(group_0: SortedGroup, group_1: SortedGroup, epsilon: float) -> tuple[int, int]:
    """Return the least and the largest count of group 1 whose bound is known: all, unless a group is a window."""
    least, most = least_known_count(group_1), largest_known_count(group_1)
    low, high = least, most + 1
    while low < high:  # the counts of group 0 rise with those of group 1
        middle = (low + high) // 2
        if _counts_around_best_rate(group_0, group_1, epsilon, middle)[0] < least_known_count(group_0):
            low = middle + 1
        else:
            high = middle
    least, high = low, most + 1
    while low < high:
        middle = (low + high) // 2
        if _counts_around_best_rate(group_0, group_1, epsilon, middle)[1] <= largest_known_count(group_0):
            low = middle + 1
        else:
            high = middle
    return least, low - 1


@inner_kernel
def _counts_around_best_rate(
    group_0: SortedGroup, group_1: SortedGroup, epsilon: float, count: int
) -> tuple[int, int, float]:
    """Find the best rate of group 0, given a count of group 1.

    Return the count of group 0 below this rate, the next count, and where the rate lies between theirs, from 0 to 1.
    """
    low, high = rate_at_count(group_1, count) - epsilon - SLACK, rate_at_count(group_1, count) + epsilon + SLACK
    rate = min(max(rate_at_count(group_0, group_0.own_count), low), high)
    after = min(first_count_with_rate(group_0, rate, _ABOVE), group_0.n_tasks)
    before = after - 1  # not negative: the first count above a rate of at least 0 is at least 1
    width = rate_at_count(group_0, after) - rate_at_count(group_0, before)
    return before, after, (rate - rate_at_count(group_0, before)) / width if width > 0 else 0.0


@inner_kernel
def _bound(
    group_0: SortedGroup,
    group_1: SortedGroup,
    epsilon: float,
    count: int,
    caches: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> float:
    """Return the value of the best labelling with this count of group 1, if the count of group 0 may be a fraction."""
    before, after, part = _counts_around_best_rate(group_0, group_1, epsilon, count)
    # The two counts of group 0 may be in different blocks, so each has a cache.
    start, end = value_at_count(group_0, before, caches[0]), value_at_count(group_0, after, caches[2])
    return value_at_count(group_1, count, caches[1]) + start + part * (end - start)
