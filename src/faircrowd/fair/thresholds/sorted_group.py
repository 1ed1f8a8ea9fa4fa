r"""The two groups of a two-class problem, sorted: what each pair of counts is worth, from little memory.

If the best :math:`c` tasks of a group get label 1, its rate is their share of the group's weight, and what they add to
the objective is :math:`\sum w_i d_i / W`. Without weights the rate is :math:`c / n`, and nothing is stored for it;
values are stored a block, and the rest of the last block is added when one is asked for.

A side may also be a *window*: runs of equal tasks around the place where labels change, with the number of better tasks
and what they are worth. Its values are sums of integers, the same to the bit wherever the tasks lie.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import to_limbs, to_units

__all__ = [
    "BLOCK",
    "Side",
    "bare_side",
    "cost_at",
    "count_at",
    "first_known",
    "last_known",
    "make_side",
    "make_window",
    "new_cache",
    "rank_of",
    "rate_of",
    "value_of",
]

BLOCK = 64
"""Values are stored for each so many tasks."""


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
        A window: what the tasks before each run gain, in units, as two integers (see :mod:`faircrowd.exact.sums`).
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
    sums = np.zeros(costs.size // BLOCK + 1)
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
    high, low = to_limbs(-costs, unit)
    high = before[1] + np.append(0, np.cumsum(high * counts))[:-1]
    low = before[2] + np.append(0, np.cumsum(low * counts))[:-1]
    nothing = np.empty(0)
    return Side(costs, nothing, nothing, nothing, own, n / total, total, n, starts, high, low, unit)


@numba.njit(cache=True, nogil=True)
def rank_of(side: Any, cost: float, inclusive: bool) -> Any:
    """Count the tasks whose cost is below a cost, or at or below it."""
    at = np.searchsorted(side.costs, cost, "right") if inclusive else np.searchsorted(side.costs, cost, "left")
    return side.starts[at] if side.starts.size else at


@numba.njit(cache=True, nogil=True)
def first_known(side: Any) -> Any:
    """Return the least count that a side knows the value of; 0 if it is no window."""
    return side.starts[0] if side.starts.size else np.int64(0)


@numba.njit(cache=True, nogil=True)
def last_known(side: Any) -> Any:
    """Return the largest such count."""
    return side.starts[-1] if side.starts.size else np.int64(side.n)


@numba.njit(cache=True, nogil=True)
def _run_of(side: Any, rank: int) -> Any:
    return np.searchsorted(side.starts, rank, "right") - 1


@numba.njit(cache=True, nogil=True)
def cost_at(side: Any, rank: int) -> Any:
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
def count_at(side: Any, rate: float, inclusive: bool) -> int:
    """Count the counts (0 included) whose rate is below a rate, or at or below it."""
    low, high = 0, side.n + 1
    if (
        not side.rates.size
    ):  # the answer is the product rounded down, whose own rounding is far below one, or 1 or 2 more
        low = min(max(int(rate * side.n), low), high)
        high = min(low + 2, high)
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
    return np.full(BLOCK + 1, -1.0)


@numba.njit(cache=True, nogil=True)
def value_of(side: Any, count: int, cache: Any) -> Any:
    """Return what marking the best so many tasks adds to the objective.

    The cache holds the values of the block that was asked for last (its number in the last place): a walk over
    neighbouring counts adds each task once. A window needs no cache.
    """
    if side.starts.size:
        run = min(_run_of(side, count), side.costs.size - 1)
        more = count - side.starts[run]
        units = to_units(-side.costs[run], side.unit)
        coarse = side.high[run] + more * (units >> 26)
        fine = side.low[run] + more * (units & (2**26 - 1))
        return (coarse * 2.0**26 + fine) / side.unit / side.total
    block = count // BLOCK
    if cache[BLOCK] != block:
        cache[BLOCK] = block
        value, lost = side.sums[block], 0.0
        cache[0] = value
        start = block * BLOCK
        for i in range(start, min(start + BLOCK - 1, side.costs.size)):
            term = _gain(side.costs, side.weights, i) / side.total - lost
            new = value + term
            lost = (new - value) - term
            value = new
            cache[i + 1 - start] = value
    return cache[count - block * BLOCK]


@numba.njit(cache=True, nogil=True)
def _gain(costs: Any, weights: Any, i: int) -> Any:
    return -costs[i] * weights[i] if weights.size else -costs[i]


@numba.njit(cache=True, nogil=True)
def _add_blocks(costs: Any, weights: Any, total: float, sums: Any) -> None:
    """Add up blocks of gains; compensated, so that long sums keep their digits."""
    value, lost = 0.0, 0.0
    for block in range(sums.size - 1):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once: an addition need not wait for the last one
        for i in range(block * BLOCK, (block + 1) * BLOCK, 4):
            a += _gain(costs, weights, i)
            b += _gain(costs, weights, i + 1)
            c += _gain(costs, weights, i + 2)
            d += _gain(costs, weights, i + 3)
        term = ((a + b) + (c + d)) / total - lost
        new = value + term
        lost = (new - value) - term
        value = new
        sums[block + 1] = value
