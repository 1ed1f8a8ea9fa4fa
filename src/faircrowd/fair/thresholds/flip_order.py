r"""Two classes, two groups: labels flipped in the order of their cost a unit of gap."""

from typing import Any

import numba
import numpy as np

from faircrowd.fair.thresholds.sorted_group import cost_at, new_cache, rate_of, value_of

__all__ = ["flip_path", "price_of"]


@numba.njit(cache=True, nogil=True)
def price_of(falls: Any, rises: Any, need: float) -> Any:
    """Find the lowest price of a unit of gap at which flips close ``need`` of it, and the flips below and at it."""
    price = np.inf
    for side, down in ((falls, True), (rises, False)):
        low, high = 0, _most_flips(side, down)
        most = high
        while low < high:
            middle = (low + high) // 2
            if _closed(falls, rises, _cost(side, down, middle)) >= need:
                high = middle
            else:
                low = middle + 1
        if low < most:
            price = min(price, _cost(side, down, low))
    below_falls, at_falls = _flips(falls, True, price, False), _flips(falls, True, price, True)
    below_rises, at_rises = _flips(rises, False, price, False), _flips(rises, False, price, True)
    return price, below_falls, at_falls - below_falls, below_rises, at_rises - below_rises


@numba.njit(cache=True, nogil=True)
def _closed(falls: Any, rises: Any, price: float) -> Any:
    """Return by how much all flips at or below a price close the gap."""
    f, r = _flips(falls, True, price, True), _flips(rises, False, price, True)
    fallen = rate_of(falls, falls.own) - rate_of(falls, falls.own - f)
    return fallen + (rate_of(rises, rises.own + r) - rate_of(rises, rises.own))


@numba.njit(cache=True, nogil=True)
def _most_flips(side: Any, down: bool) -> Any:
    return side.own if down else side.n - side.own


@numba.njit(cache=True, nogil=True)
def _cost(side: Any, down: bool, flip: int) -> Any:
    """Return the cost a unit of gap of a group's n-th cheapest flip: down from label 1, or up to it."""
    if down:
        return -side.share * cost_at(side, side.own - 1 - flip)
    return side.share * cost_at(side, side.own + flip)


@numba.njit(cache=True, nogil=True)
def _flips(side: Any, down: bool, price: float, inclusive: bool) -> int:
    """Count a group's flips below a price, or at or below it."""
    low, high = 0, _most_flips(side, down)
    while low < high:
        middle = (low + high) // 2
        cost = _cost(side, down, middle)
        if cost < price or (inclusive and cost == price):
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def flip_path(falls: Any, rises: Any, gap: float) -> Any:
    """Flip labels in the order of their cost a unit of gap, until there is no gap.

    Return gap, value, number of labels changed and share of tasks marked after each flip. Invariant: the labels flipped
    so far are the cheapest ones, so gap and value are a point of the frontier.
    """
    most = falls.own + rises.costs.size - rises.own + 1
    gaps, values, changed, marked = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    f, r, n = falls.own, rises.own, 0
    near_f, near_r = new_cache(), new_cache()
    rate_f, rate_r = rate_of(falls, f), rate_of(rises, r)
    value_f, value_r = value_of(falls, f, near_f), value_of(rises, r, near_r)
    gaps[0], values[0], changed[0] = gap, value_f + value_r, 0.0
    marked[0] = falls.share * rate_f + rises.share * rate_r
    while gaps[n] > 0.0:  # so the rate of the falling group is above 0: it has labels to flip
        cost_f = -falls.share * falls.costs[f - 1]
        cost_r = rises.share * rises.costs[r] if r < rises.costs.size else np.inf
        if cost_f < cost_r or (cost_f == cost_r and falls.share <= rises.share):
            f -= 1
            rate_f, value_f = rate_of(falls, f), value_of(falls, f, near_f)
        else:
            r += 1
            rate_r, value_r = rate_of(rises, r), value_of(rises, r, near_r)
        n += 1
        gaps[n] = rate_f - rate_r
        values[n] = value_f + value_r
        changed[n] = n
        marked[n] = falls.share * rate_f + rises.share * rate_r
    if gaps[n] < 0.0:  # the last flip is done in part
        part = gaps[n - 1] / (gaps[n - 1] - gaps[n])
        values[n] = values[n - 1] + part * (values[n] - values[n - 1])
        marked[n] = marked[n - 1] + part * (marked[n] - marked[n - 1])
        changed[n] = changed[n - 1] + part
        gaps[n] = 0.0
    return gaps[: n + 1], values[: n + 1], changed[: n + 1], marked[: n + 1]
