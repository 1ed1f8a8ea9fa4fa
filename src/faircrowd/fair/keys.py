"""Two classes, two groups: what tasks are ordered by, and the kernels that count and mark them by it.

A *price* is what flipping a task's label costs a unit of gap: in the group that must fall, minus the cost times the
group's share; in the group that must rise, the cost times the share. Prices are numbers in the order of integers
(:func:`place_of`), so that one of a given rank is found by counting in ever finer bins.

All that is compiled for keys is in this file, for the reason told in :mod:`faircrowd.fair.sides`.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.hashing import draw
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks import Tasks
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "Cut",
    "Key",
    "Prices",
    "coin_labels",
    "coin_law",
    "costs_of",
    "count_prices",
    "cut_labels",
    "keys_of",
    "make_key",
    "number_at",
    "own_law",
    "own_marks",
    "own_totals",
    "place_of",
    "runs_between",
    "split_keys",
    "tied_at",
    "total_of",
    "totals_beside",
    "unit_of",
]

_BLOCK = 1024
"""So many numbers of 52 bits add up in one integer."""


class Key(NamedTuple):
    """How a task's key follows from its posterior; tasks get label 1 in the order of their keys, lowest first.

    The key is minus the log-odds where they are known, else the cost, which is what label 1 loses against label 0:
    ``one * p_1 + zero * p_0 + start``.
    """

    is_odds: bool
    one: float
    zero: float
    start: float


def make_key(gain: Gain, has_odds: bool) -> Key:
    """Return the key of a gain; log-odds are of use where label 1 is worth more the likelier class 1 is."""
    slope_0, slope_1 = gain.matrix[:, 1] - gain.matrix[:, 0]
    start = gain.offset[1] - gain.offset[0]
    return Key(bool(has_odds and slope_1 > slope_0), float(-slope_1), float(-slope_0), float(-start))


def unit_of(key: Key) -> float:
    """Return how many units make a cost of one, if costs are added up as integers of 52 bits."""
    largest = max(abs(key.one), abs(key.zero)) + abs(key.start)
    return float(2.0 ** (52 - math.ceil(math.log2(largest)))) if largest > 0 else 2.0**52


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


class Cut(NamedTuple):
    """Where the labels of a group change: tasks of a lower key get label 1, and of those at the key none or the first.

    ``first`` holds evidence and hash of the last of these: more evidence comes first, then a lower hash.
    """

    key: float
    first: tuple[int, int] | None


def own_totals(tasks: Tasks, key: Key, unit: float, by_cost: bool, last: bool) -> tuple[NDArray[np.int64], ...]:
    """Sum, a group, the tasks that the aggregator marks and what they gain; and the posterior of both classes."""
    counts, gains, beliefs = (np.zeros(shape, dtype=np.int64) for shape in ((2,), (2, 2), (2, 2)))
    _own_totals(tasks.posterior, tasks.log_odds, tasks.group, key, unit, by_cost, last, counts, gains, beliefs)
    return counts, gains, beliefs


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


def tied_at(tasks: Tasks, key: Key, group: int, value: float) -> NDArray[np.int64]:
    """Return the tasks of a group that have a key."""
    given = (tasks.posterior, tasks.log_odds, tasks.group, key, group, value)
    rows = np.empty(_find_key(*given, np.empty(0, dtype=np.int64)), dtype=np.int64)
    _find_key(*given, rows)
    return rows


def cut_labels(tasks: Tasks, key: Key, cuts: tuple[Cut, Cut], random_state: int) -> Codes:
    """Return the labels that two cuts make."""
    labels = np.empty(tasks.group.size, dtype=np.int32)
    bounds = np.array([cut.key for cut in cuts])
    _mark_below(tasks.posterior, tasks.log_odds, tasks.group, key, bounds, labels)
    for a, cut in enumerate(cuts):
        if cut.first is not None:
            rows = tied_at(tasks, key, a, cut.key)
            labels[rows[tasks.is_first(rows, cut.first, random_state)]] = 1
    return labels


def own_marks(tasks: Tasks, key: Key, by_cost: bool, last: bool) -> Codes:
    """Return the labels without a constraint."""
    labels = np.empty(tasks.group.size, dtype=np.int32)
    _mark_own(tasks.posterior, tasks.log_odds, key, by_cost, last, labels)
    return labels


def own_law(tasks: Tasks, key: Key, by_cost: bool, last: bool) -> NDArray[np.float64]:
    """Return the labels without a constraint as probabilities."""
    return np.asarray(np.eye(2)[own_marks(tasks, key, by_cost, last)])


def keys_of(tasks: Tasks, key: Key) -> NDArray[np.float64]:
    """Return the key of each task."""
    keys = np.empty(tasks.group.size)
    _keys_of(tasks.posterior, tasks.log_odds, key, keys)
    return keys


def split_keys(tasks: Tasks, key: Key) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the keys of each group."""
    keys = np.empty(tasks.group.size)
    n_zero = _split(tasks.posterior, tasks.log_odds, tasks.group, key, keys)
    return keys[:n_zero], keys[n_zero:]


def coin_law(tasks: Tasks, key: Key, bounds: tuple[float, float], parts: tuple[float, float]) -> NDArray[np.float64]:
    """Return the probability of each label: a group's tasks at its bound get label 1 with the chance of their group."""
    law = np.empty((tasks.group.size, 2))
    _mix_at(tasks.posterior, tasks.log_odds, tasks.group, key, np.array(bounds), np.array(parts), law)
    return law


def coin_labels(
    tasks: Tasks, key: Key, bounds: tuple[float, float], parts: tuple[float, float], random_state: int
) -> Codes:
    """Draw labels from ``coin_law``."""
    return draw(coin_law(tasks, key, bounds, parts), lambda rows: tasks.hashes(rows, random_state))


@numba.njit(cache=True, nogil=True)
def key_of(key: Any, posterior: Any, log_odds: Any, i: int) -> Any:
    """Return the key of a task."""
    if key.is_odds:
        return 0.0 - log_odds[i]
    return key.one * posterior[i, 1] + key.zero * posterior[i, 0] + key.start


@numba.njit(cache=True, nogil=True)
def cost_of(key: Any, value: float) -> Any:
    """Return the cost that a key stands for."""
    if not key.is_odds:
        return value
    p = 1.0 / (1.0 + math.exp(min(max(value, -700.0), 700.0)))
    return (key.one - key.zero) * p + key.zero + key.start


@numba.njit(cache=True, nogil=True)
def costs_of(key: Any, values: Any) -> NDArray[np.float64]:
    """Return the costs that keys stand for."""
    costs = np.empty(values.size)
    for i in range(values.size):
        costs[i] = cost_of(key, values[i])
    return costs


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
def _units(number: float, unit: float) -> Any:
    """Return a number in whole units."""
    return np.int64(math.floor(number * unit + 0.5))


@numba.njit(cache=True, nogil=True)
def _move(sums: Any, limbs: Any) -> None:
    """Move sums of units to pairs of integers: multiples of 2**26 units, and the rest."""
    for k in range(sums.size):
        limbs[k, 0] += sums[k] >> 26
        limbs[k, 1] += sums[k] & (2**26 - 1)
        sums[k] = 0


@numba.njit(cache=True, nogil=True)
def total_of(costs: Any, unit: float, limbs: Any) -> None:
    """Add what tasks of these costs gain to a pair of integers."""
    sums = np.zeros(1, np.int64)
    for start in range(0, costs.size, _BLOCK):
        for i in range(start, min(start + _BLOCK, costs.size)):
            sums[0] += _units(-costs[i], unit)
        _move(sums, limbs)


@numba.njit(cache=True, nogil=True)
def _keys_of(posterior: Any, log_odds: Any, key: Any, keys: Any) -> None:
    for i in range(keys.size):
        keys[i] = key_of(key, posterior, log_odds, i)


@numba.njit(cache=True, nogil=True)
def _split(posterior: Any, log_odds: Any, group: Any, key: Any, keys: Any) -> int:
    """Write the keys of group 0 from the left and of group 1 from the right; return the size of group 0.

    Each key is written to both ends, and one end moves on: no branch to foresee. Both ends are free as long as the
    last key is not written, since they do not meet before.
    """
    left, right = 0, group.size - 1
    for i in range(group.size):
        keys[left] = keys[right] = key_of(key, posterior, log_odds, i)
        left += 1 - group[i]
        right -= group[i]
    return left


@numba.njit(cache=True, nogil=True)
def _mark_own(posterior: Any, log_odds: Any, key: Any, by_cost: bool, last: bool, labels: Any) -> None:
    for i in range(labels.size):
        value = key_of(key, posterior, log_odds, i)
        judged = cost_of(key, value) if by_cost else value
        labels[i] = np.int32(judged < 0.0 or (last and judged == 0.0))


@numba.njit(cache=True, nogil=True)
def _own_totals(
    posterior: Any,
    log_odds: Any,
    group: Any,
    key: Any,
    unit: float,
    by_cost: bool,
    last: bool,
    counts: Any,
    gains: Any,
    beliefs: Any,
) -> None:
    sums, seen = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for start in range(0, group.size, _BLOCK):
        for i in range(start, min(start + _BLOCK, group.size)):
            value = key_of(key, posterior, log_odds, i)
            cost = cost_of(key, value)
            judged = cost if by_cost else value
            is_marked = np.int64(judged < 0.0) | (np.int64(judged == 0.0) & np.int64(last))
            counts[group[i]] += is_marked  # no branch to foresee
            sums[group[i]] += is_marked * _units(-cost, unit)
            seen[0] += np.int64(posterior[i, 0] * 2.0**52 + 0.5)
            seen[1] += np.int64(posterior[i, 1] * 2.0**52 + 0.5)
        _move(sums, gains)
        _move(seen, beliefs)


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
    for start in range(0, group.size, _BLOCK):
        for i in range(start, min(start + _BLOCK, group.size)):
            cost = cost_of(prices.key, key_of(prices.key, posterior, log_odds, i))
            place = place_of(price_at(cost, prices.shares[group[i]], group[i] == prices.up))
            if place < low or place > high:
                above = 0 if place < low else 1
                totals[group[i], above, 0] += 1
                sums[2 * group[i] + above] += _units(-cost, unit)
        _move(sums, limbs)
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


@numba.njit(cache=True, nogil=True)
def _find_key(posterior: Any, log_odds: Any, group: Any, key: Any, member: int, value: float, rows: Any) -> Any:
    """Write the tasks of a group that have this key, if there is room for them, and return their number."""
    n = 0
    for i in range(group.size):
        if group[i] == member and key_of(key, posterior, log_odds, i) == value:
            if rows.size:
                rows[n] = i
            n += 1
    return n


@numba.njit(cache=True, nogil=True)
def _mark_below(posterior: Any, log_odds: Any, group: Any, key: Any, bounds: Any, labels: Any) -> None:
    for i in range(group.size):
        labels[i] = np.int32(key_of(key, posterior, log_odds, i) < bounds[group[i]])


@numba.njit(cache=True, nogil=True)
def _mix_at(posterior: Any, log_odds: Any, group: Any, key: Any, bounds: Any, parts: Any, law: Any) -> None:
    for i in range(group.size):
        value, bound = key_of(key, posterior, log_odds, i), bounds[group[i]]
        law[i, 1] = 1.0 if value < bound else (parts[group[i]] if value == bound else 0.0)
        law[i, 0] = 1.0 - law[i, 1]
