"""The influence of each worker on the crowd's gap: the majority with and without them, for all workers in one pass."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice
from faircrowd._display import Displayed
from faircrowd._kernels import inner_kernel, kernel
from faircrowd.audit.workers.worker_counts import groups_in, range_over_groups
from faircrowd.engines import Block, LocalEngine
from faircrowd.votes import VoteTable

__all__ = ["Influence", "worker_influence"]

_TIE_RULES = ("split", "first", "last")
_TASK_MASS = 2520 << 20  # the mass of a task, an integer that divides evenly among up to ten classes


@dataclass(frozen=True, eq=False, repr=False)
class Influence(Displayed):
    """The majority's gap, and how it changes without each worker.

    Attributes
    ----------
    gap : float
        The gap of the majority of all votes.
    without : ndarray, shape (n_workers,)
        The gap of the majority if the worker's votes are left out; tasks that nobody else voted on are left
        out with them. NaN if fewer than two groups are left.
    changed : ndarray of int64, shape (n_workers,)
        Number of tasks that get another label, or none.
    """

    gap: float
    without: NDArray[np.float64]
    changed: NDArray[np.int64]

    @property
    def influence(self) -> NDArray[np.float64]:
        """How much the worker adds to the gap; negative for a worker who narrows it."""
        return np.asarray(self.gap - self.without)

    @property
    def ranking(self) -> NDArray[np.int64]:
        """Workers by decreasing influence; equal ones in the order of their codes, unknown ones last."""
        return np.argsort(-self.influence, kind="stable")


def worker_influence(votes: VoteTable, *, ties: str = "split") -> Influence:
    """Leave out each worker in turn: exact, in time proportional to the number of votes.

    Only the tasks of a worker can change, and of these only the ones that their vote decides.

    Parameters
    ----------
    ties : {"split", "first", "last"}
        A tied task counts in equal parts for all tied classes, or for the first or the last of them, as in
        :class:`faircrowd.MajorityVote`. Leaving out one of an odd number of votes makes ties, so that with
        "first" or "last" the result reflects the rule for ties more than the worker.
    """
    _, groups = groups_in(votes)
    check_choice("ties", ties, _TIE_RULES)
    engine = LocalEngine(votes, by_group=True)
    rule = _TIE_RULES.index(ties)
    flat_labels, flat_moves, changed = engine.reduce(_leave_out, votes.n_workers, len(groups), votes.n_classes, rule)
    labels = flat_labels.reshape(len(groups), votes.n_classes)
    moves = flat_moves.reshape(votes.n_workers, *labels.shape)
    return Influence(_gaps(labels[None]).item(), _gaps(labels + moves), changed)


def _gaps(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the gap of the mass of each label, shape (..., n_groups, n_classes)."""
    total = labels.sum(axis=2, keepdims=True)
    rates = np.divide(labels, total, out=np.full(labels.shape, np.nan), where=total > 0)
    return np.asarray(range_over_groups(rates, axis=1).max(axis=1))


@kernel
def _leave_out(
    block: Block, n_workers: int, n_groups: int, n_classes: int, rule: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sum the mass of the majority's labels, and how it changes without each worker.

    The sums are flat arrays, and loops count: each number of dimensions, each slice and each iterator over one would be
    compiled for itself.
    """
    _, offsets, worker, label, group, _ = block
    labels = np.zeros(n_groups * n_classes, np.int64)
    moves = np.zeros(n_workers * n_groups * n_classes, np.int64)
    changed = np.zeros(n_workers, np.int64)
    counts, before, after = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    classes = np.zeros(n_classes, np.int64)  # the first n are those that the task has votes for
    for t in range(offsets.size - 1):
        start, stop, g, n = offsets[t], offsets[t + 1], group[t], 0
        for i in range(start, stop):
            if counts[label[i]] == 0:
                classes[n] = label[i]
                n += 1
            counts[label[i]] += 1
        top, second = _share_out(classes, n, counts, rule, before)
        for c in range(n):
            labels[g * n_classes + classes[c]] += before[classes[c]]
        i = start
        while i < stop:
            end = i
            while end < stop and worker[end] == worker[i]:  # votes are sorted by worker inside a task
                end += 1
            # One vote matters only if it is for a class at the top that no longer leads by two.
            if end - i > 1 or (counts[label[i]] == top and second >= top - 1):
                for j in range(i, end):
                    counts[label[j]] -= 1
                _share_out(classes, n, counts, rule, after)
                differs = False
                for c in range(n):
                    k = classes[c]
                    moves[(worker[i] * n_groups + g) * n_classes + k] += after[k] - before[k]
                    differs = differs or after[k] != before[k]
                changed[worker[i]] += differs
                for j in range(i, end):
                    counts[label[j]] += 1
            i = end
        for c in range(n):
            counts[classes[c]] = 0
    return labels, moves, changed


@inner_kernel
def _share_out(
    classes: NDArray[np.int64], n: int, counts: NDArray[np.int64], rule: int, mass: NDArray[np.int64]
) -> tuple[int, int]:
    """Give the mass of a task to the one of its n classes with the most votes, by the rule for ties.

    Return the largest number of votes of a class, and the largest of any other class (the same, if there is a tie).
    """
    top = second = n_tied = winner = 0
    for c in range(n):
        k = classes[c]
        mass[k] = 0
        if counts[k] > top:
            top, second, winner, n_tied = counts[k], top, k, 1
        elif counts[k] == top and top > 0:
            second = top
            n_tied += 1
            winner = max(winner, k) if rule == 2 else min(winner, k)
        else:
            second = max(second, counts[k])
    for c in range(n):
        k = classes[c]
        if top > 0 and (k == winner if rule > 0 else counts[k] == top):
            mass[k] = _TASK_MASS if rule > 0 else _TASK_MASS // n_tied
    return top, second
