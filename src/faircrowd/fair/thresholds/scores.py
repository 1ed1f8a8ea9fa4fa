"""Two classes, two groups: what tasks are ordered by."""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.sums import unit_for
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Tasks

__all__ = ["Key", "cost_of", "costs_of", "key_of", "keys_of", "make_key", "split_keys", "unit_of"]


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
    return unit_for(max(abs(key.one), abs(key.zero)) + abs(key.start))


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
    p = 1.0 / (1.0 + math.exp(min(value, 700.0)))
    return (key.one - key.zero) * p + key.zero + key.start


@numba.njit(cache=True, nogil=True)
def costs_of(key: Any, values: Any) -> NDArray[np.float64]:
    """Return the costs that keys stand for."""
    costs = np.empty(values.size)
    for i in range(values.size):
        costs[i] = cost_of(key, values[i])
    return costs


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
