"""Tasks in memory to be labelled fairly: their posteriors, groups and weights, as arrays."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._threads import map_in_threads
from faircrowd.exact.hashing import task_keys
from faircrowd.fair.objective import Gain, make_gain
from faircrowd.fair.tasks.population import Tasks, compared_codes
from faircrowd.fair.tasks.tally import (
    Tally,
    add_expected,
    add_labels,
    count_groups,
    weigh_expected,
    weigh_labels,
)
from faircrowd.votes import Vocabulary
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = ["Problem"]

_TASKS_PER_PIECE = 1 << 18
"""Threads take turns at pieces of this size. What they return is put together so that the cut cannot be seen."""

_TASKS_PER_PART = 1 << 16
"""What is emitted for so many tasks is still in the cache of the processor when it is put in its place."""

_MAX_SORTED_TASKS = 1 << 22


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Tasks in memory to be labelled fairly: a :class:`~faircrowd.fair.tasks.population.Population`.

    Attributes
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
        :math:`P(Y = k)` of each task.
    group : ndarray of int32, shape (n_tasks,)
    own : ndarray of int32, shape (n_tasks,)
        The aggregator's own labels, which "before" and "changed" refer to.
    weights : ndarray, shape (n_tasks,), or None
        Sample weights; None for equal ones.
    log_odds : ndarray, shape (n_tasks,), or None
        Two classes: orders posteriors that round to 0 or 1.
    evidence : ndarray, shape (n_tasks,), or None
        Number of votes; orders tasks of equal posterior.
    left_out : mapping of int to str
        From the groups that no constraint speaks of to the reason.
    merged_groups : tuple
        Small groups that became the last group.
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
    left_out: Mapping[int, str] = field(default_factory=dict)
    merged_groups: tuple[Any, ...] = ()

    def compared(self) -> "Problem":
        """Return the tasks of the groups that a constraint speaks of."""
        return self._compared_tasks if self.left_out else self

    @cached_property
    def _compared_tasks(self) -> "Problem":
        place, rows = self._compared
        return replace(
            self,
            tasks=self.tasks.take(rows),
            groups=self.groups.take(np.flatnonzero(place >= 0)),
            posterior=self.posterior[rows],
            group=place[self.group[rows]],
            own=self.own[rows],
            weights=None if self.weights is None else self.weights[rows],
            log_odds=None if self.log_odds is None else self.log_odds[rows],
            evidence=None if self.evidence is None else self.evidence[rows],
            left_out={},
        )

    def with_left_out(
        self, rows: NDArray[Any], kernel: Callable[..., NDArray[Any]], *parameters: object
    ) -> NDArray[Any]:
        """Return one row per task from those of the compared tasks; a kernel makes those of the others."""
        if not self.left_out:
            return rows
        found = self.emit(kernel, *parameters).astype(rows.dtype)  # a copy: own labels are not overwritten
        found[self._compared[1]] = rows
        return found

    @cached_property
    def _compared(self) -> tuple[Codes, NDArray[np.int64]]:
        place = compared_codes(self.n_groups, self.left_out)
        return place, np.flatnonzero(place[self.group] >= 0)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of tasks of each group."""
        (sizes,) = self.reduce(count_groups, self.n_groups)
        return sizes

    @property
    def sorts(self) -> bool:
        """Whether it is quick to sort one number per task, and takes little memory."""
        return self.group.size <= _MAX_SORTED_TASKS

    @property
    def has_odds(self) -> bool:
        """Whether log-odds are known."""
        return self.log_odds is not None

    def reduce(
        self, kernel: Callable[..., tuple[NDArray[np.int64], ...]], *parameters: object
    ) -> list[NDArray[np.int64]]:
        """Add up over all tasks what a kernel returns for some."""
        return self._sum(lambda tasks: kernel(tasks, *parameters))

    def gather(self, kernel: Callable[..., tuple[NDArray[Any], ...]], *parameters: object) -> list[NDArray[Any]]:
        """Join over all tasks what a kernel returns for some."""
        parts = map_in_threads(lambda tasks: kernel(tasks, *parameters), list(self._pieces()))
        if len(parts) == 1:
            return list(parts[0])
        columns = [*zip(*parts, strict=True)][::-1]
        parts.clear()  # each column is freed as soon as it is joined
        return [np.concatenate(columns.pop()) for _ in range(len(columns))]

    def emit(self, kernel: Callable[..., NDArray[Any]], *parameters: object) -> NDArray[Any]:
        """Return what a kernel returns, one row per task."""
        pieces = list(self._pieces(_TASKS_PER_PART))
        if len(pieces) == 1:
            return kernel(pieces[0], *parameters)
        rows: list[NDArray[Any]] = []
        first_comes = Lock()

        def fill(tasks: Tasks) -> None:
            part = kernel(tasks, *parameters)
            with first_comes:
                if not rows:
                    rows.append(np.empty((self.group.size, *part.shape[1:]), part.dtype))
            rows[0][tasks.first : tasks.first + len(part)] = part

        map_in_threads(fill, pieces)
        return rows[0]

    def _sum(self, add: Callable[[Tasks], tuple[NDArray[np.int64], ...]]) -> list[NDArray[np.int64]]:
        """Add up what a function returns for each piece; they are integers, so that any of them may come first."""
        total: list[NDArray[np.int64]] = []
        one_adds = Lock()

        def add_piece(tasks: Tasks) -> None:
            part = add(tasks)
            with one_adds:
                total[:] = [a + b for a, b in zip(total, part, strict=True)] if total else part

        map_in_threads(add_piece, list(self._pieces()))
        return total

    def _pieces(self, size: int | None = None) -> Iterator[Tasks]:
        size = size or _TASKS_PER_PIECE
        none = np.empty(0)
        odds = none if self.log_odds is None else self.log_odds
        evidence = none.astype(np.int64) if self.evidence is None else self.evidence
        for first in range(0, max(self.group.size, 1), size):
            at = slice(first, first + size)
            yield Tasks(self.posterior[at], self.group[at], self.own[at], odds[at], evidence[at], self.tasks, first)

    def labels(self, codes: NDArray[Any]) -> Any:
        """Return labels as an aggregator gives them: a Series named ``agg_label``; an array for an array."""
        if self.as_array:
            return np.asarray(codes, dtype=np.int64)
        return self.style.series({"task": self.tasks}, "agg_label", ("label", self.classes.take(codes)))

    @property
    def probas(self) -> Any:
        """The posterior as it came: a frame, or an array."""
        return self.frame(self.posterior)

    def frame(self, values: NDArray[Any]) -> Any:
        """Return one number per task and class as an aggregator gives them; an array for an array."""
        if self.as_array:
            return values
        return self.style.frame({"task": self.tasks}, self.classes, values, columns_name="label")

    def ordered(self, rows: NDArray[np.int64], random_state: int, *first: NDArray[Any]) -> NDArray[np.int64]:
        """Order tasks by the given keys; equal ones by more evidence, then by the seeded hash of their ids."""
        evidence = np.zeros(rows.size) if self.evidence is None else -self.evidence[rows]
        hashes = task_keys(self.tasks, rows, random_state)
        return rows[np.lexsort((self._kinds(rows), hashes, evidence, *reversed(first)))]

    def shuffled(self, rows: NDArray[np.int64], random_state: int, *first: NDArray[Any]) -> NDArray[np.int64]:
        """Order tasks by the given keys; equal ones by the seeded hash of their ids alone."""
        hashes = task_keys(self.tasks, rows, random_state)
        return rows[np.lexsort((self._kinds(rows), hashes, *reversed(first)))]

    def _kinds(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the type of each id where types are mixed: 2 and "2" have the same text, and so the same hash."""
        names = [type(value).__name__ for value in self.tasks.some(rows)] if self.tasks.is_mixed else []
        return np.array(names) if names else np.zeros(rows.size, dtype=np.int8)

    def tally(self, labels: NDArray[Any], gain: Gain | None = None) -> Tally:
        """Count the labels, before and after, by group, and sum what they gain."""
        gain = make_gain("accuracy", self.n_classes) if gain is None else gain
        sums = self._sum(lambda tasks: add_labels(tasks, tasks.rows_of(labels), self.n_groups, gain))
        if self.weights is None:
            return Tally.of(sums, gain)
        everything = next(self._pieces(self.group.size))
        mass, *sums_of_gains = weigh_labels(everything, labels, self.weights, self.n_groups, gain)
        return Tally(mass, sums[0], *sums_of_gains)

    def expected_tally(self, probabilities: NDArray[Any], gain: Gain) -> Tally:
        """Return what randomized labels come to on average."""
        if self.weights is None:
            sums = self._sum(lambda tasks: add_expected(tasks, tasks.rows_of(probabilities), self.n_groups, gain))
            return Tally.expected(sums, gain)
        everything = next(self._pieces(self.group.size))
        mass, *of_gains = weigh_expected(everything, probabilities, self.weights, self.n_groups, gain)
        return Tally(mass, np.rint(mass).astype(np.int64), *of_gains)

    def in_memory(self, purpose: str, instead: str) -> "Problem":
        """Return this problem: its tasks are in memory, whatever needs them there."""
        return self

    def from_memory(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows as they are."""
        return rows

    def group_weights(self) -> NDArray[np.float64]:
        """Return the weight of each group."""
        return np.bincount(self.group, weights=self.weights, minlength=self.n_groups).astype(np.float64)

    def rates(self, labels: Codes) -> NDArray[np.float64]:
        """Return the share of each class in each group, shape (n_groups, n_classes)."""
        return self.tally(labels).rates
