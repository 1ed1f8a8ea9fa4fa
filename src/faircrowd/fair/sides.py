r"""The two groups of a two-class problem, sorted: what each pair of counts is worth, from little memory.

If the best :math:`c` tasks of a group get label 1, its rate is their share of the group's weight, and what they add to
the objective is :math:`\sum w_i d_i / W`. Without weights the rate is :math:`c / n`, and nothing is stored for it;
values are stored a block, and the rest of the last block is added when one is asked for.

A side may also be a *window*: runs of equal tasks around the place where labels change, with the number of better tasks
and what they are worth. Its values are sums of integers, the same to the bit wherever the tasks lie.

All that is compiled for sides is in this file: numba keeps compiled code on disk, and does not see that a function
in another file has changed.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SLACK",
    "Side",
    "bare_side",
    "best_counts",
    "flip_path",
    "limbs_of",
    "make_side",
    "make_window",
    "new_cache",
    "price_of",
    "rank_of",
    "rate_of",
    "value_of",
]

SLACK = 1e-13
"""A gap may exceed epsilon by this much: the rounding of epsilon and of the rates themselves."""

_BLOCK = 64
_SAME = 1e-15


class Side(NamedTuple):
    r"""One group, its tasks in the order in which they get label 1.

    Attributes
    ----------
    costs : ndarray, shape (n,)
        What label 1 loses against label 0, rising: minus the gains :math:`d_i`.
    weights : ndarray, shape (n,)
        In the same order; empty if all are 1.
    rates : ndarray, shape (n + 1,)
        The rate of each count; empty if all weights are 1.
    sums : ndarray, shape (n // 64 + 1,)
        What marking the best 0, 64, 128, ... tasks adds to the objective.
    own : int
        Number of tasks that the aggregator itself marks.
    share : float
        Share of the group in all tasks, :math:`\pi_a`.
    total : float
        Weight of all tasks, of both groups.
    n : int
        Number of tasks of the group.
    starts : ndarray of int64, shape (n_runs + 1,)
        A window: how many tasks come before each run of equal costs, and after the last; ``costs`` has a run in each
        place. Empty otherwise.
    high, low : ndarray of int64, shape (n_runs,)
        A window: what the tasks before each run gain, in units, as two integers (see ``limbs_of``).
    unit : float
        A window: units of one.
    """

    costs: NDArray[np.float64]
    weights: NDArray[np.float64]
    rates: NDArray[np.float64]
    sums: NDArray[np.float64]
    own: int
    share: float
    total: float
    n: int
    starts: NDArray[np.int64]
    high: NDArray[np.int64]
    low: NDArray[np.int64]
    unit: float


def make_side(costs: NDArray[np.float64], weights: NDArray[np.float64] | None, own: int, total: float) -> Side:
    """Build a side from rising costs, their weights (1 if None), and the weight of all tasks."""
    mass, rates = float(costs.size), np.empty(0)
    if weights is not None:
        mass = float(weights.sum())
        rates = np.append(0.0, np.cumsum(weights) / mass)
        rates[-1] = 1.0
    held = np.empty(0) if weights is None else weights
    sums = np.zeros(costs.size // _BLOCK + 1)
    _add_blocks(costs, held, total, sums)
    none = np.empty(0, dtype=np.int64)
    return Side(costs, held, rates, sums, own, mass / total, total, costs.size, none, none, none, 1.0)


def bare_side(costs: NDArray[np.float64], own: int, total: float) -> Side:
    """Build a side that knows no values, of tasks of equal weight."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    share = costs.size / total
    return Side(costs, nothing, nothing, nothing, own, share, total, costs.size, none, none, none, 1.0)


def make_window(
    costs: NDArray[np.float64],
    counts: NDArray[np.int64],
    before: tuple[int, int, int],
    *,
    own: int,
    n: int,
    total: float,
    unit: float,
) -> Side:
    """Build a side from runs of rising costs, their lengths, and the number and gain (as limbs) of the tasks before."""
    starts = before[0] + np.append(0, np.cumsum(counts)).astype(np.int64)
    high, low = limbs_of(-costs, unit)
    high = before[1] + np.append(0, np.cumsum(high * counts))[:-1]
    low = before[2] + np.append(0, np.cumsum(low * counts))[:-1]
    nothing = np.empty(0)
    return Side(costs, nothing, nothing, nothing, own, n / total, total, n, starts, high, low, unit)


def limbs_of(gain: NDArray[np.float64], unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return gains in whole units, as pairs of integers: multiples of 2**26 units, and the rest."""
    units = np.floor(gain * unit + 0.5).astype(np.int64)
    return units >> 26, units & (2**26 - 1)


@numba.njit(cache=True, nogil=True)
def rank_of(side: Any, cost: float, inclusive: bool) -> Any:
    """Count the tasks whose cost is below a cost, or at or below it."""
    at = np.searchsorted(side.costs, cost, "right") if inclusive else np.searchsorted(side.costs, cost, "left")
    return side.starts[at] if side.starts.size else at


@numba.njit(cache=True, nogil=True)
def _first(side: Any) -> Any:
    """Return the least count that a side knows the value of; 0 if it is no window."""
    return side.starts[0] if side.starts.size else np.int64(0)


@numba.njit(cache=True, nogil=True)
def _last(side: Any) -> Any:
    """Return the largest such count."""
    return side.starts[-1] if side.starts.size else np.int64(side.n)


@numba.njit(cache=True, nogil=True)
def _run_of(side: Any, rank: int) -> Any:
    return np.searchsorted(side.starts, rank, "right") - 1


@numba.njit(cache=True, nogil=True)
def _cost_at(side: Any, rank: int) -> Any:
    """Return the cost of the task of a rank; infinite outside of a window."""
    if not side.starts.size:
        return side.costs[rank]
    if rank < side.starts[0]:
        return -np.inf
    return side.costs[_run_of(side, rank)] if rank < side.starts[-1] else np.inf


@numba.njit(cache=True, nogil=True)
def rate_of(side: Any, count: int) -> Any:
    """Return the rate of label 1 if the best so many tasks are marked."""
    return side.rates[count] if side.rates.size else count / side.n


@numba.njit(cache=True, nogil=True)
def _count_at(side: Any, rate: float, inclusive: bool) -> int:
    """Count the counts (0 included) whose rate is below a rate, or at or below it."""
    low, high = 0, side.n + 1
    if not side.rates.size:  # the answer is next to the product, whose rounding is far below one
        near = int(min(max(rate, -1.0), 2.0) * side.n)
        low, high = min(max(near - 1, low), high), max(min(near + 3, high), low)
    while low < high:
        middle = (low + high) // 2
        here = rate_of(side, middle)
        if here < rate or (inclusive and here == rate):
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def new_cache() -> Any:
    """Return an empty cache for ``value_of``."""
    return np.full(_BLOCK + 1, -1.0)


@numba.njit(cache=True, nogil=True)
def value_of(side: Any, count: int, cache: Any) -> Any:
    """Return what marking the best so many tasks adds to the objective.

    The cache holds the values of the block that was asked for last (its number in the last place): a walk over
    neighbouring counts adds each task once. A window needs no cache.
    """
    if side.starts.size:
        run = min(_run_of(side, count), side.costs.size - 1)
        more = count - side.starts[run]
        units = np.int64(np.floor(-side.costs[run] * side.unit + 0.5))
        coarse = side.high[run] + more * (units >> 26)
        fine = side.low[run] + more * (units & (2**26 - 1))
        return (coarse * 2.0**26 + fine) / side.unit / side.total
    block = count // _BLOCK
    if cache[_BLOCK] != block:
        cache[_BLOCK] = block
        value, lost = side.sums[block], 0.0
        cache[0] = value
        start = block * _BLOCK
        for i in range(start, min(start + _BLOCK - 1, side.costs.size)):
            term = _gain(side.costs, side.weights, i) / side.total - lost
            new = value + term
            lost = (new - value) - term
            value = new
            cache[i + 1 - start] = value
    return cache[count - block * _BLOCK]


@numba.njit(cache=True, nogil=True)
def _gain(costs: Any, weights: Any, i: int) -> Any:
    return -costs[i] * weights[i] if weights.size else -costs[i]


@numba.njit(cache=True, nogil=True)
def _add_blocks(costs: Any, weights: Any, total: float, sums: Any) -> None:
    """Add up blocks of gains; compensated, so that long sums keep their digits."""
    value, lost = 0.0, 0.0
    for block in range(sums.size - 1):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once: an addition need not wait for the last one
        for i in range(block * _BLOCK, (block + 1) * _BLOCK, 4):
            a += _gain(costs, weights, i)
            b += _gain(costs, weights, i + 1)
            c += _gain(costs, weights, i + 2)
            d += _gain(costs, weights, i + 3)
        term = ((a + b) + (c + d)) / total - lost
        new = value + term
        lost = (new - value) - term
        value = new
        sums[block + 1] = value


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
            first = _count_at(zero, rate - epsilon - SLACK, False)
            fits = first <= zero.n and rate_of(zero, first) <= rate + epsilon + SLACK
            if fits or count % _BLOCK == 0:
                bound = _bound(zero, one, epsilon, count, near)
                # From here on nothing is better; or nothing is as good with fewer changes.
                if bound < best - _SAME or (bound <= best + _SAME / 2 and step * (count - one.own) > changes):
                    done = True
                    break
            if fits:
                last = _count_at(zero, rate + epsilon + SLACK, True) - 1
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
    least, most = _first(one), _last(one)
    if not zero.starts.size:
        return least, most
    low, high = least, most + 1
    while low < high and _first(zero) > 0:  # counts of group 0 rise with those of group 1
        middle = (low + high) // 2
        if _split_at(zero, one, epsilon, middle)[0] < _first(zero):
            low = middle + 1
        else:
            high = middle
    least, high = low, most + 1
    while low < high and _last(zero) < zero.n:
        middle = (low + high) // 2
        if _split_at(zero, one, epsilon, middle)[1] <= _last(zero):
            low = middle + 1
        else:
            high = middle
    return least, (low - 1 if _last(zero) < zero.n else most)


@numba.njit(cache=True, nogil=True)
def _split_at(zero: Any, one: Any, epsilon: float, count: int) -> Any:
    """Return the counts of group 0 on both sides of its best rate for a count of group 1, and where between them."""
    low = max(rate_of(one, count) - epsilon - SLACK, 0.0)
    high = min(rate_of(one, count) + epsilon + SLACK, 1.0)
    rate = min(max(rate_of(zero, zero.own), low), high)
    after = min(_count_at(zero, rate, True), zero.n)
    before = max(after - 1, 0)
    width = rate_of(zero, after) - rate_of(zero, before)
    return before, after, (rate - rate_of(zero, before)) / width if width > 0 else 0.0


@numba.njit(cache=True, nogil=True)
def _bound(zero: Any, one: Any, epsilon: float, count: int, near: Any) -> Any:
    """Return the value of the best labelling with this count in group 1, if group 0 may be split anywhere."""
    before, after, part = _split_at(zero, one, epsilon, count)
    start, end = value_of(zero, before, near[0]), value_of(zero, after, near[2])  # they may be of two blocks
    return value_of(one, count, near[1]) + start + part * (end - start)


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
        return -side.share * _cost_at(side, side.own - 1 - flip)
    return side.share * _cost_at(side, side.own + flip)


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
    while gaps[n] > 0.0 and n + 1 < most:
        cost_f = -falls.share * falls.costs[f - 1] if f > 0 else np.inf
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
