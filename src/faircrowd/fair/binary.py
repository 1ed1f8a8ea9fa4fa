"""Two classes, two groups: from a problem to labels, by the exact thresholds."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.problem import Problem
from faircrowd.fair.sides import Side, best_counts, make_side
from faircrowd.fair.threshold import Split
from faircrowd.votes.vocabulary import Codes

__all__ = ["Key", "Sorted", "best_labels", "draw_law", "sort_groups"]


class Key(NamedTuple):
    """What tasks are ordered by, lowest first: ``a * x + b * y + start``, computed where it is needed.

    It is minus the log-odds where they are known, else what label 1 loses against label 0.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    a: float
    b: float
    start: float

    def of(self, rows: Any) -> NDArray[np.float64]:
        """Return the keys of some tasks."""
        return np.asarray(self.a * self.x[rows] + self.b * self.y[rows] + self.start)


class Sorted(NamedTuple):
    """A problem with each group sorted.

    Attributes
    ----------
    key : Key
    keys : pair of ndarray
        The keys of each group, rising.
    sides : pair of Side
    order : pair of ndarray or None
        With weights: the tasks of each group in order.
    base : float
        The objective if every task gets label 0.
    """

    key: Key
    keys: tuple[NDArray[np.float64], NDArray[np.float64]]
    sides: tuple[Side, Side]
    order: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    base: float


def sort_groups(problem: Problem, gain: Gain, random_state: int) -> Sorted:
    """Sort each group by falling gain of label 1."""
    (slope_0, slope_1), start = gain.matrix[:, 1] - gain.matrix[:, 0], gain.offset[1] - gain.offset[0]
    odds = problem.log_odds if slope_1 > slope_0 else None
    p_0, p_1 = problem.posterior.T
    key = Key(p_1, p_0, -slope_1, -slope_0, -start) if odds is None else Key(odds, p_0, -1.0, 0.0, 0.0)
    order = None
    if problem.weights is None:
        whole = np.empty(problem.group.size)
        n_zero = _split(key, problem.group, whole)
        keys = whole[:n_zero], whole[n_zero:]
        for part in keys:
            part.sort()
    else:
        order = _ordered(problem, key, 0, random_state), _ordered(problem, key, 1, random_state)
        keys = key.of(order[0]), key.of(order[1])
    total = float(problem.group.size if problem.weights is None else problem.weights.sum())

    def side(a: int) -> Side:
        costs = keys[a]
        if odds is not None:
            costs = -((slope_1 - slope_0) / (1.0 + np.exp(np.clip(keys[a], -700, 700))) + slope_0 + start)
        at_zero: Any = "right" if problem.ties == "last" else "left"
        own = int(np.searchsorted(keys[a] if gain.is_accuracy else costs, 0.0, at_zero))
        weights = None if problem.weights is None or order is None else problem.weights[order[a]]
        return make_side(costs, weights, own, total)

    base = gain.offset[0] + sum(
        worth * np.average(p, weights=problem.weights)
        for worth, p in zip(gain.matrix[:, 0], (p_0, p_1), strict=True)
        if worth
    )
    return Sorted(key, keys, (side(0), side(1)), order, float(base))


def best_labels(problem: Problem, found: Sorted, epsilon: float, random_state: int) -> Callable[[], Codes]:
    """Return a function that gives the best labels without a coin.

    Of what was sorted it keeps a few numbers (with weights, the tasks to mark), so that the rest can go before it is
    called.
    """
    counts = best_counts(*found.sides, epsilon)
    if found.order is not None:
        marked = np.concatenate([rows[:count] for rows, count in zip(found.order, counts, strict=True)])

        def by_order() -> Codes:
            labels = np.zeros(problem.group.size, dtype=np.int32)
            labels[marked] = 1
            return labels

        return by_order
    key, cuts = found.key, [_cut(keys, count) for keys, count in zip(found.keys, counts, strict=True)]

    def by_key() -> Codes:
        labels = np.empty(problem.group.size, dtype=np.int32)
        _mark_below(key, problem.group, np.array([cut.key for cut in cuts]), labels)
        for a, cut in enumerate(cuts):
            if cut.marked:
                rows = np.empty(cut.tied + 1, dtype=np.int64)
                rows = rows[: _find(key, problem.group, a, cut.key, rows)]
                labels[problem.first(rows, cut.marked, random_state)] = 1
        return labels

    return by_key


class _Cut(NamedTuple):
    """Where the labels of a group change: at a key that so many tasks have, so many of them marked."""

    key: float
    tied: int
    marked: int


def _cut(keys: NDArray[np.float64], count: int) -> _Cut:
    key = float(keys[count]) if count < keys.size else np.inf
    below, after = (int(np.searchsorted(keys, key, side)) for side in ("left", "right"))
    return _Cut(key, after - below, count - below)


def draw_law(problem: Problem, found: Sorted, split: Split) -> Callable[[], NDArray[np.float64]]:
    """Return a function that gives the probability of each label of each task under the solution with a coin.

    Without weights it keeps four numbers of what was sorted.
    """
    if found.order is not None:
        order = found.order

        def by_order() -> NDArray[np.float64]:
            x = np.zeros(problem.group.size)
            for rows, sure, tied, omega in zip(order, split.sure, split.tied, split.omega, strict=True):
                x[rows[:sure]] = 1.0
                x[rows[sure : sure + tied]] = omega
            return np.stack([1.0 - x, x], axis=1)

        return by_order
    key, cuts = found.key, []
    for keys, sure, tied, omega in zip(found.keys, split.sure, split.tied, split.omega, strict=True):
        position = sure + omega * tied
        # Among equal gains the order is still that of the keys: the coin is only for tasks equal in both.
        cut = keys[min(int(position), keys.size - 1)]
        first, after = (int(np.searchsorted(keys, cut, side=side)) for side in ("left", "right"))
        cuts.append((cut, min(max((position - first) / (after - first), 0.0), 1.0)))

    def by_key() -> NDArray[np.float64]:
        of_task = key.of(slice(None))
        x = np.zeros(problem.group.size)
        for a, (cut, part) in enumerate(cuts):
            members = problem.group == a
            x[members & (of_task < cut)] = 1.0
            x[members & (of_task == cut)] = part
        return np.stack([1.0 - x, x], axis=1)

    return by_key


def _ordered(problem: Problem, key: Key, group: int, random_state: int) -> NDArray[np.int64]:
    members = np.flatnonzero(problem.group == group)
    return problem.ordered(members, random_state, key.of(members))


@numba.njit(cache=True, nogil=True)
def _key_of(key: Any, i: int) -> Any:
    return key.a * key.x[i] + key.b * key.y[i] + key.start


@numba.njit(cache=True, nogil=True)
def _split(key: Any, group: Any, keys: Any) -> int:
    """Write the keys of group 0 from the left and of group 1 from the right; return the size of group 0.

    Each key is written to both ends, and one end moves on: no branch to foresee. Both ends are free as long as the
    last key is not written, since they do not meet before.
    """
    left, right = 0, group.size - 1
    for i in range(group.size):
        keys[left] = keys[right] = _key_of(key, i)
        left += 1 - group[i]
        right -= group[i]
    return left


@numba.njit(cache=True, nogil=True)
def _mark_below(key: Any, group: Any, bounds: Any, labels: Any) -> None:
    for i in range(group.size):
        labels[i] = np.int32(_key_of(key, i) < bounds[group[i]])


@numba.njit(cache=True, nogil=True)
def _find(key: Any, group: Any, member: int, value: float, rows: Any) -> Any:
    """Write the tasks of a group that have this key, and return their number.

    ``rows`` has room for one more: every task is written, and the next one takes its place unless it counts.
    """
    n: Any = 0
    for i in range(group.size):
        rows[n] = i
        n += np.int64(_key_of(key, i) == value) & np.int64(group[i] == member)
    return n
