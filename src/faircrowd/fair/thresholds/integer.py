r"""Two classes, two groups, no coin: the best pair of whole counts.

For each count of group 1 the best labelling is bounded by a concave function. A walk outward from its maximum, until
the bound falls below the best labelling found, is exact.
"""

from typing import Any

import numba
import numpy as np

from faircrowd.fair.thresholds.sorted_group import (
    BLOCK,
    count_at,
    first_known,
    last_known,
    new_cache,
    rate_of,
    value_of,
)
from faircrowd.fair.tolerances import SLACK

__all__ = ["best_counts"]

_SAME = 1e-15


@numba.njit(cache=True, nogil=True)
def best_counts(zero: Any, one: Any, epsilon: float) -> Any:
    """Return the counts (group 0, group 1) of the best labelling without a coin; -1 if a window is too narrow."""
    near = new_cache(), new_cache(), new_cache()
    least, most = _known_counts(zero, one, epsilon)
    if least > most:
        return -1, -1
    # The bound is concave in the count of group 1: its first fall is its maximum.
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        here = _bound(zero, one, epsilon, middle, near)
        if _bound(zero, one, epsilon, middle + 1, near) > here:
            low = middle + 1
        else:
            high = middle
    best, changes, answer_0, answer_1 = -np.inf, 0, -1, -1
    for step in (1, -1):
        count = low if step == 1 else low - 1
        done = False
        while least <= count <= most:
            rate = rate_of(one, count)
            first = count_at(zero, rate - epsilon - SLACK, False)
            fits = first <= zero.n and rate_of(zero, first) <= rate + epsilon + SLACK
            if fits or count % BLOCK == 0:
                bound = _bound(zero, one, epsilon, count, near)
                # From here on nothing is better; or nothing is as good with fewer changes.
                if bound < best - _SAME or (bound <= best + _SAME / 2 and step * (count - one.own) > changes):
                    done = True
                    break
            if fits:
                last = count_at(zero, rate + epsilon + SLACK, True) - 1
                other = min(max(zero.own, first), last)
                value = value_of(one, count, near[1]) + value_of(zero, other, near[0])
                moved = abs(count - one.own) + abs(other - zero.own)
                # Of equals, the one nearest the own count of group 1, the lower of two: whatever the walk began with.
                nearer = (moved, abs(count - one.own), count) < (changes, abs(answer_1 - one.own), answer_1)
                if value > best + _SAME or (value >= best - _SAME and nearer):
                    best, changes, answer_0, answer_1 = max(value, best), moved, other, count
            count += step
        if not done and 0 <= count <= one.n:  # there is more outside of the window
            return -1, -1
    return answer_0, answer_1


@numba.njit(cache=True, nogil=True)
def _known_counts(zero: Any, one: Any, epsilon: float) -> Any:
    """Return the least and the largest count of group 1 whose bound is known: all, unless sides are windows."""
    least, most = first_known(one), last_known(one)
    low, high = least, most + 1
    while low < high:  # counts of group 0 rise with those of group 1
        middle = (low + high) // 2
        if _split_at(zero, one, epsilon, middle)[0] < first_known(zero):
            low = middle + 1
        else:
            high = middle
    least, high = low, most + 1
    while low < high:
        middle = (low + high) // 2
        if _split_at(zero, one, epsilon, middle)[1] <= last_known(zero):
            low = middle + 1
        else:
            high = middle
    return least, low - 1


@numba.njit(cache=True, nogil=True)
def _split_at(zero: Any, one: Any, epsilon: float, count: int) -> Any:
    """Return the counts of group 0 on both sides of its best rate for a count of group 1, and where between them."""
    low, high = rate_of(one, count) - epsilon - SLACK, rate_of(one, count) + epsilon + SLACK
    rate = min(max(rate_of(zero, zero.own), low), high)
    after = min(count_at(zero, rate, True), zero.n)
    before = after - 1  # a rate of at least 0 is that of one count or more
    width = rate_of(zero, after) - rate_of(zero, before)
    return before, after, (rate - rate_of(zero, before)) / width if width > 0 else 0.0


@numba.njit(cache=True, nogil=True)
def _bound(zero: Any, one: Any, epsilon: float, count: int, near: Any) -> Any:
    """Return the value of the best labelling with this count in group 1, if group 0 may be split anywhere."""
    before, after, part = _split_at(zero, one, epsilon, count)
    start, end = value_of(zero, before, near[0]), value_of(zero, after, near[2])  # they may be of two blocks
    return value_of(one, count, near[1]) + start + part * (end - start)
