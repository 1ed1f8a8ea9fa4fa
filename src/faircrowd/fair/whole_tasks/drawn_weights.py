"""Labels drawn where tasks have weights: each task keeps its probability, and rates stay near their expectations.

Tasks are taken in the seeded order of their ids. Where two of them are undecided between the same two labels, weight is
moved between the labels in both at once, in a random direction and until one entry is decided, so that no rate changes
and every probability is kept on average (the pivotal method; Deville and Tille, Biometrika 85, 1998). In the end at
most one task per group and pair of labels is undecided; it is drawn alone. So with two classes each rate is within one
task of its expectation.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.exact.hashing import mix
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes.vocabulary import Codes

__all__ = ["draw_weighted_labels"]

_DECIDED = 1e-12
"""A probability this near to 0 is 0: it was moved there, but for rounding."""

_SALT = 0x2545F4914F6CDD1D


def draw_weighted_labels(problem: Problem, probabilities: NDArray[np.float64], random_state: int) -> Codes:
    """Draw a label for each task with these probabilities; tasks have weights."""
    assert problem.weights is not None  # noqa: S101 - this is for weights
    labels: Codes = np.argmax(probabilities, axis=1).astype(np.int32)
    rows = np.flatnonzero(probabilities.max(axis=1) < 1.0)
    rows = problem.shuffled(rows, random_state, problem.group[rows])
    bounds = np.searchsorted(problem.group[rows], np.arange(problem.n_groups + 1))
    for a in np.flatnonzero(np.diff(bounds)):
        own = rows[bounds[a] : bounds[a + 1]]
        chances = np.ascontiguousarray(probabilities[own])
        seed = np.uint64(((random_state ^ _SALT) + int(a) * 0x9E3779B97F4A7C15) % 2**64)
        _move_to_corners(chances, problem.weights[own], seed)
        labels[own] = np.argmax(chances, axis=1)
    return labels


@kernel
def _move_to_corners(chances: NDArray[np.float64], weights: NDArray[np.float64], seed: np.uint64) -> None:
    """Make the probabilities of each task 0 and 1."""
    n_tasks, n_classes = chances.shape
    waiting = np.full((n_classes, n_classes), -1)  # the task that is undecided between two labels
    state = mix(seed)
    for i in range(n_tasks):
        while True:
            j = k = m = -1
            for first in range(n_classes):
                for second in range(first + 1, n_classes):
                    if chances[i, first] > 0.0 and chances[i, second] > 0.0 and waiting[first, second] >= 0:
                        j, k, m = waiting[first, second], first, second
            if j < 0:
                break
            state = mix(state + np.uint64(0x9E3779B97F4A7C15))
            u = np.float64(state >> np.uint64(11)) * 2.0**-53
            # Weight moves from label m to label k in task i, and from k to m in task j; or the other way.
            there = min(weights[i] * chances[i, m], weights[j] * chances[j, k])
            back = min(weights[i] * chances[i, k], weights[j] * chances[j, m])
            moved = there if u * (there + back) < back else -back
            chances[i, k] += moved / weights[i]
            chances[i, m] -= moved / weights[i]
            chances[j, k] -= moved / weights[j]
            chances[j, m] += moved / weights[j]
            for task in (i, j):
                for label in (k, m):
                    if chances[task, label] <= _DECIDED:
                        chances[task, label] = 0.0
            for label in (k, m):
                if chances[j, label] == 0.0:
                    for other in range(n_classes):
                        if waiting[min(label, other), max(label, other)] == j:
                            waiting[min(label, other), max(label, other)] = -1
        for first in range(n_classes):
            for second in range(first + 1, n_classes):
                if chances[i, first] > 0.0 and chances[i, second] > 0.0:
                    waiting[first, second] = i
    for i in np.unique(waiting):
        if i < 0:
            continue
        state = mix(state + np.uint64(0x9E3779B97F4A7C15))
        u = np.float64(state >> np.uint64(11)) * 2.0**-53 * chances[i].sum()
        label = 0
        while label < n_classes - 1 and (u >= chances[i, label] or chances[i, label] == 0.0):
            u -= chances[i, label]
            label += 1
        chances[i] = 0.0
        chances[i, label] = 1.0
