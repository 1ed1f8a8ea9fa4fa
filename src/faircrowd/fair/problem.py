"""What the solvers are given: posteriors, groups, weights, and what a label gains."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.hashing import task_keys
from faircrowd.votes import Vocabulary
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = ["Problem", "Tally"]


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Tasks to be labelled fairly.

    Attributes
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
        :math:`P(Y = k)` of each task.
    group : ndarray of int32, shape (n_tasks,)
    own : ndarray of int32, shape (n_tasks,)
        The aggregator's own labels: what "before" and "changed" refer to.
    weights : ndarray, shape (n_tasks,), or None
        Sample weights; None for equal ones.
    log_odds : ndarray, shape (n_tasks,), or None
        Two classes: orders posteriors that round to 0 or 1.
    evidence : ndarray, shape (n_tasks,), or None
        Number of votes; orders tasks of equal posterior.
    """

    tasks: Vocabulary
    classes: Vocabulary
    groups: Vocabulary
    style: Style
    posterior: NDArray[np.float64]
    group: Codes
    own: Codes
    weights: NDArray[np.float64] | None = None
    log_odds: NDArray[np.float64] | None = None
    evidence: NDArray[np.int64] | None = None
    ties: str = "first"
    as_array: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def labels(self, codes: Codes) -> Any:
        """Return labels as an aggregator gives them: a Series named ``agg_label``; an array for an array."""
        if self.as_array:
            return np.asarray(codes, dtype=np.int64)
        return self.style.series({"task": self.tasks}, "agg_label", ("label", self.classes.take(codes)))

    @property
    def probas(self) -> Any:
        """The posterior as it came: a frame, or an array."""
        return self.frame(self.posterior)

    def frame(self, values: NDArray[np.float64]) -> Any:
        """Return numbers a task and class as an aggregator gives them; an array for an array."""
        if self.as_array:
            return values
        return self.style.frame({"task": self.tasks}, self.classes, values, columns_name="label")

    def ordered(self, rows: NDArray[np.int64], random_state: int, *first: NDArray[Any]) -> NDArray[np.int64]:
        """Order tasks by the given keys; equal ones by more evidence, then by the seeded hash of their ids."""
        evidence = np.zeros(rows.size) if self.evidence is None else -self.evidence[rows]
        hashes = task_keys(self.tasks, rows, random_state)
        return rows[np.lexsort((self._kinds(rows), hashes, evidence, *reversed(first)))]

    def first(self, rows: NDArray[np.int64], count: int, random_state: int) -> NDArray[np.int64]:
        """Return the tasks that ``ordered`` puts first, so many of them, by selection."""
        if count in (0, rows.size):
            return rows[:count]
        chosen = []
        if self.evidence is not None:
            more, rows = _select(rows, -self.evidence[rows], count)
            chosen, count = [more], count - more.size
        lower, rows = _select(rows, task_keys(self.tasks, rows, random_state), count)
        rows = rows[np.argsort(self._kinds(rows), kind="stable")]
        return np.concatenate([*chosen, lower, rows[: count - lower.size]])

    def _kinds(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the type of each id where types are mixed: 2 and "2" have one text, and so one hash."""
        names = [type(value).__name__ for value in self.tasks.some(rows)] if self.tasks.is_mixed else []
        return np.array(names) if names else np.zeros(rows.size, dtype=np.int8)

    def tally(self, labels: Codes) -> "Tally":
        """Count the labels, before and after, a group."""
        cells = (self.n_groups, self.n_classes, self.n_classes)
        counts = np.zeros((4, math.prod(cells)), dtype=np.int64)
        _count(self.group, self.own, labels, self.n_classes, counts)
        tasks = counts.sum(axis=0).reshape(cells)
        mass, weights = tasks.astype(np.float64), np.empty(0)
        if self.weights is not None:
            mass, weights = np.zeros(cells), self.weights
            _weigh(self.group, self.own, labels, weights, mass)
        return Tally(mass, tasks, np.array(_trust(self.posterior, self.own, labels, weights)))

    def group_weights(self) -> NDArray[np.float64]:
        """Weight of each group."""
        return np.bincount(self.group, weights=self.weights, minlength=self.n_groups).astype(np.float64)

    def rates(self, labels: Codes) -> NDArray[np.float64]:
        """Share of each class in each group, shape (n_groups, n_classes)."""
        return self.tally(labels).rates


class Tally(NamedTuple):
    """Labels in numbers.

    Attributes
    ----------
    mass : ndarray, shape (n_groups, n_classes, n_classes)
        Weight of the tasks of each group, own label and label.
    tasks : ndarray of int64, of the same shape
        Number of these tasks.
    trust : ndarray, shape (2,)
        Sum of the posterior of the own labels and of the labels.
    """

    mass: NDArray[np.float64]
    tasks: NDArray[np.int64]
    trust: NDArray[np.float64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of each class in each group."""
        return np.asarray(self.mass.sum(axis=1) / self.mass.sum(axis=(1, 2))[:, None])

    @property
    def rates_before(self) -> NDArray[np.float64]:
        """The same for the own labels."""
        return np.asarray(self.mass.sum(axis=2) / self.mass.sum(axis=(1, 2))[:, None])

    @property
    def accuracies(self) -> tuple[float, float]:
        """Expected accuracy of the own labels and of the labels."""
        before, after = self.trust / self.mass.sum()
        return float(before), float(after)


def _select(rows: NDArray[np.int64], keys: NDArray[Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows below the key of this rank, and those at it."""
    cut = np.partition(keys, count - 1)[count - 1]
    return rows[keys < cut], rows[keys == cut]


@numba.njit(cache=True, nogil=True)
def _count(group: Any, own: Any, labels: Any, n_classes: int, counts: Any) -> None:
    # Four tables in turn: a task need not wait until the last one is written.
    for i in range(group.size):
        counts[i & 3, (group[i] * n_classes + own[i]) * n_classes + labels[i]] += 1


@numba.njit(cache=True, nogil=True)
def _weigh(group: Any, own: Any, labels: Any, weights: Any, mass: Any) -> None:
    for i in range(group.size):
        mass[group[i], own[i], labels[i]] += weights[i]


@numba.njit(cache=True, nogil=True)
def _trust(posterior: Any, own: Any, labels: Any, weights: Any) -> Any:
    """Add up the posterior of own labels and of labels; block by block, so that long sums keep their digits."""
    before, after = 0.0, 0.0
    for start in range(0, own.size, 1024):
        block_before, block_after = 0.0, 0.0
        for i in range(start, min(start + 1024, own.size)):
            weight = weights[i] if weights.size else 1.0
            block_before += weight * posterior[i, own[i]]
            block_after += weight * posterior[i, labels[i]]
        before += block_before
        after += block_after
    return before, after
