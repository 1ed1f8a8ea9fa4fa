"""Two classes, two groups: from a problem to labels, by the exact thresholds."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.problem import Problem
from faircrowd.fair.threshold import Side, Split, best_counts, make_side
from faircrowd.votes.vocabulary import Codes

__all__ = ["Sorted", "counted_labels", "marks", "sort_groups", "split_probabilities"]


class Sorted(NamedTuple):
    """A problem with each group sorted.

    Attributes
    ----------
    key : ndarray, shape (n_tasks,)
        What tasks are ordered by: log-odds where they are known, else the gain.
    keys : pair of ndarray
        The keys of each group, falling.
    sides : pair of Side
    order : pair of ndarray or None
        With weights: the tasks of each group in order.
    base : float
        The objective if every task gets label 0.
    """

    key: NDArray[np.float64]
    keys: tuple[NDArray[np.float64], NDArray[np.float64]]
    sides: tuple[Side, Side]
    order: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    base: float


def sort_groups(problem: Problem, gain: Gain, random_state: int) -> Sorted:
    """Sort each group by falling gain of label 1."""
    slope_1, slope_0 = gain.matrix[1, 1] - gain.matrix[1, 0], gain.matrix[0, 1] - gain.matrix[0, 0]
    rise, start = slope_1 - slope_0, slope_0 + gain.offset[1] - gain.offset[0]
    p = problem.posterior[:, 1]
    by_odds = problem.log_odds is not None and rise > 0
    key = problem.log_odds if by_odds and problem.log_odds is not None else rise * p + start

    def gains(keys: NDArray[np.float64]) -> NDArray[np.float64]:
        return rise / (1.0 + np.exp(-np.clip(keys, -700, 700))) + start if by_odds else keys

    total = float(problem.group.size if problem.weights is None else problem.weights.sum())
    order = None
    if problem.weights is None:
        ascending = _split_negated(key, problem.group)
        for part in ascending:
            part.sort()
            np.negative(part, out=part)
        keys = ascending
    else:
        order = (_ordered(problem, key, 0, random_state), _ordered(problem, key, 1, random_state))
        keys = (key[order[0]], key[order[1]])
    sides = []
    for a in (0, 1):
        weights = None if problem.weights is None or order is None else problem.weights[order[a]]
        falling = gains(keys[a])
        own = int(np.searchsorted(-falling, 0.0, side="right" if problem.ties == "last" else "left"))
        sides.append(make_side(falling, weights, own, total))
    zero = gain.matrix[:, 0]
    worth = problem.posterior @ zero + gain.offset[0]
    base = float(worth.mean() if problem.weights is None else (problem.weights @ worth) / total)
    return Sorted(key, keys, (sides[0], sides[1]), order, base)


def marks(problem: Problem, found: Sorted, counts: tuple[int, int], random_state: int) -> Codes:
    """Label the best so many tasks of each group 1; equal keys by more evidence, then by the hash of the id."""
    if found.order is not None:
        marked = np.zeros(problem.group.size, dtype=np.int32)
        for a in (0, 1):
            marked[found.order[a][: counts[a]]] = 1
        return marked
    bounds = np.array([found.keys[a][counts[a] - 1] if counts[a] else np.inf for a in (0, 1)])
    labels: Codes = _above(found.key, problem.group, bounds)
    for a in (0, 1):
        above = int(np.searchsorted(-found.keys[a], -bounds[a], side="left")) if counts[a] else 0
        needed = counts[a] - above
        if not needed:
            continue
        tied = np.flatnonzero((problem.group == a) & (found.key == bounds[a]))
        if needed < tied.size:
            tied = problem.ordered(tied, random_state)[:needed]
        labels[tied] = 1
    return labels


def counted_labels(problem: Problem, found: Sorted, epsilon: float, random_state: int) -> Codes:
    """Return the best labels without a coin."""
    return marks(problem, found, best_counts(*found.sides, epsilon), random_state)


def split_probabilities(problem: Problem, found: Sorted, split: Split) -> NDArray[np.float64]:
    """Return the probability of each label of each task under the solution with a coin."""
    x = np.zeros(problem.group.size)
    for a in (0, 1):
        keys, sure = found.keys[a], split.sure[a]
        if found.order is not None:
            x[found.order[a][:sure]] = 1.0
            x[found.order[a][sure : sure + split.tied[a]]] = split.omega[a]
            continue
        members = problem.group == a
        position = sure + split.omega[a] * split.tied[a]
        # Among equal gains the order is still that of the keys: the coin is only for tasks equal in both.
        last = min(int(position), keys.size - 1)
        first, after = (int(np.searchsorted(-keys, -keys[last], side=side)) for side in ("left", "right"))
        part = min(max((position - first) / max(after - first, 1), 0.0), 1.0)
        x[members & (found.key > keys[last])] = 1.0
        x[members & (found.key == keys[last])] = part
    return np.stack([1.0 - x, x], axis=1)


def _ordered(problem: Problem, key: NDArray[np.float64], group: int, random_state: int) -> NDArray[np.int64]:
    members = np.flatnonzero(problem.group == group)
    return problem.ordered(members, random_state, -key[members])


@numba.njit(cache=True, nogil=True)
def _split_negated(key: Any, group: Any) -> Any:
    """Return the negated keys of each group."""
    ones = 0
    for i in range(group.size):
        ones += group[i]
    zero, one = np.empty(group.size - ones), np.empty(ones)
    z, o = 0, 0
    for i in range(group.size):
        if group[i] == 0:
            zero[z] = -key[i]
            z += 1
        else:
            one[o] = -key[i]
            o += 1
    return zero, one


@numba.njit(cache=True, nogil=True)
def _above(key: Any, group: Any, bounds: Any) -> Any:
    labels = np.empty(group.size, np.int32)
    for i in range(group.size):
        labels[i] = 1 if key[i] > bounds[group[i]] else 0
    return labels
