"""Two classes, two groups: each group sorted, where every count is asked for, or tasks have weights."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.integer import best_counts
from faircrowd.fair.thresholds.relaxed import Split
from faircrowd.fair.thresholds.scores import costs_of, keys_of, make_key, split_keys
from faircrowd.fair.thresholds.sorted_group import Side, make_side
from faircrowd.votes.vocabulary import Codes

__all__ = ["Sorted", "best_labels", "draw_law", "sort_groups"]


class Sorted(NamedTuple):
    """A problem with each group sorted.

    Attributes
    ----------
    sides : pair of Side
    order : pair of ndarray or None
        With weights: the tasks of each group in order.
    base : float
        The objective if every task gets label 0.
    """

    sides: tuple[Side, Side]
    order: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    base: float


def sort_groups(problem: Problem, gain: Gain, random_state: int) -> Sorted:
    """Sort each group by falling gain of label 1."""
    key = make_key(gain, problem.has_odds)
    order = None
    if problem.weights is None:
        keys: list[NDArray[np.float64]] = problem.gather(split_keys, key)
        for part in keys:
            part.sort()
    else:
        whole = problem.emit(keys_of, key)
        order = _ordered(problem, whole, 0, random_state), _ordered(problem, whole, 1, random_state)
        keys = [whole[rows] for rows in order]
    total = float(problem.group.size if problem.weights is None else problem.weights.sum())

    def side(a: int) -> Side:
        costs = costs_of(key, keys[a]) if key.is_odds else keys[a]
        at_zero: Any = "right" if problem.ties == "last" else "left"
        own = int(np.searchsorted(keys[a] if gain.is_accuracy else costs, 0.0, at_zero))
        weights = None if problem.weights is None or order is None else problem.weights[order[a]]
        return make_side(costs, weights, own, total)

    base = gain.offset[0] + sum(
        worth * np.average(p, weights=problem.weights)
        for worth, p in zip(gain.matrix[:, 0], problem.posterior.T, strict=True)
        if worth
    )
    return Sorted((side(0), side(1)), order, float(base))


def best_labels(problem: Problem, found: Sorted, epsilon: float) -> Codes:
    """Return the best labels without a coin of tasks with weights."""
    labels = np.zeros(problem.group.size, dtype=np.int32)
    for rows, count in zip(found.order or (), best_counts(*found.sides, epsilon), strict=True):
        labels[rows[:count]] = 1
    return labels


def draw_law(problem: Problem, found: Sorted, split: Split) -> Callable[[], NDArray[np.float64]]:
    """Return a function that gives the law of the solution with a coin, for tasks with weights."""

    def law() -> NDArray[np.float64]:
        x = np.zeros(problem.group.size)
        for rows, sure, tied, omega in zip(found.order or (), split.sure, split.tied, split.omega, strict=True):
            x[rows[:sure]] = 1.0
            x[rows[sure : sure + tied]] = omega
        return np.stack([1.0 - x, x], axis=1)

    return law


def _ordered(problem: Problem, keys: NDArray[np.float64], group: int, random_state: int) -> NDArray[np.int64]:
    members = np.flatnonzero(problem.group == group)
    return problem.ordered(members, random_state, keys[members])
