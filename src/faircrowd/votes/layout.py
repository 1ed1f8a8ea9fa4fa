"""Rows in any order to votes grouped by task: a counting sort, then a small sort inside each task."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.votes.vocabulary import Codes

__all__ = ["Grouped", "moved", "places_by_task", "repeated_votes", "sort_inside_tasks", "sort_repeated"]

_INSERTION_SORT_VOTES = 32
"""Tasks with at most this many votes are sorted by insertion, others by merging."""


class Grouped(NamedTuple):
    """Votes grouped by task: those of task ``i`` are ``[offsets[i]:offsets[i + 1]]``."""

    offsets: NDArray[np.int64]
    worker: Codes
    label: Codes

    def without(self, aside: NDArray[np.bool_]) -> "Grouped":
        """Return the votes that are not marked in ``aside``; tasks may be left empty."""
        before = np.concatenate([[0], np.cumsum(aside)])
        return Grouped(self.offsets - before[self.offsets], self.worker[~aside], self.label[~aside])


def places_by_task(task: Codes, n_tasks: int) -> tuple[NDArray[np.int64], Codes]:
    """Return the offsets of the tasks and the place of each row when rows are grouped by task.

    ``task`` is overwritten by the places, to save memory.
    """
    offsets = np.zeros(n_tasks + 1, dtype=np.int64)
    _destinations(task, offsets)
    return offsets, task


def moved(codes: Codes, place: Codes) -> Codes:
    """Return the codes of rows moved to their places."""
    out = np.empty_like(codes)
    _scatter(place, codes, out)
    return out


def sort_inside_tasks(grouped: Grouped) -> None:
    """Sort each task's votes by worker; equal workers stay in the order of the rows."""
    if _sort_few_votes(grouped.offsets, grouped.worker, grouped.label) > _INSERTION_SORT_VOTES:
        _sort_many_votes(grouped.offsets, grouped.worker, grouped.label)


def repeated_votes(grouped: Grouped, *, keep: str) -> NDArray[np.bool_]:
    """Mark the votes to set aside so that each worker votes once per task.

    Parameters
    ----------
    keep : {"first", "last"}
        Which of the repeated votes stays, in the order of the rows.
    """
    aside = np.zeros(grouped.worker.size, dtype=bool)
    _mark_repeated(grouped.offsets, grouped.worker, keep == "last", aside)
    return aside


def sort_repeated(grouped: Grouped) -> None:
    """Order the repeated votes of a worker on a task by label, so that results do not depend on the order of rows."""
    _sort_equal_workers(grouped.offsets, grouped.worker, grouped.label)


@kernel
def _destinations(task: Codes, offsets: NDArray[np.int64]) -> None:
    """Count the votes of each task into ``offsets``; turn ``task`` into each row's place."""
    for i in range(task.size):
        offsets[task[i] + 1] += 1
    for t in range(offsets.size - 1):
        offsets[t + 1] += offsets[t]
    # Invariant: offsets[t] is the next free place of task t; at the end it is the first place of task t + 1.
    for i in range(task.size):
        place = offsets[task[i]]
        offsets[task[i]] = place + 1
        task[i] = place
    for t in range(offsets.size - 1, 0, -1):
        offsets[t] = offsets[t - 1]
    offsets[0] = 0


@kernel
def _scatter(place: Codes, source: Codes, target: Codes) -> None:
    for i in range(place.size):
        target[place[i]] = source[i]


@kernel
def _sort_few_votes(offsets: NDArray[np.int64], worker: Codes, label: Codes) -> int:
    """Sort the votes of each task that has few by worker, stably; return the most votes that a task has."""
    most = 0
    for t in range(offsets.size - 1):
        start, stop = offsets[t], offsets[t + 1]
        most = max(most, stop - start)
        if stop - start > _INSERTION_SORT_VOTES:
            continue
        for i in range(start + 1, stop):
            w, y = worker[i], label[i]
            j = i - 1
            while j >= start and worker[j] > w:
                worker[j + 1] = worker[j]
                label[j + 1] = label[j]
                j -= 1
            worker[j + 1] = w
            label[j + 1] = y
    return most


@kernel
def _sort_many_votes(offsets: NDArray[np.int64], worker: Codes, label: Codes) -> None:
    """Sort the votes of each task that has many; numba's sort takes seconds to compile, and few crowds need it."""
    for t in range(offsets.size - 1):
        start, stop = offsets[t], offsets[t + 1]
        if stop - start > _INSERTION_SORT_VOTES:
            order = np.argsort(worker[start:stop], kind="mergesort")
            worker[start:stop] = worker[start:stop][order]
            label[start:stop] = label[start:stop][order]


@kernel
def _mark_repeated(offsets: NDArray[np.int64], worker: Codes, keep_last: bool, aside: NDArray[np.bool_]) -> None:
    for t in range(offsets.size - 1):
        for i in range(offsets[t] + 1, offsets[t + 1]):
            if worker[i] == worker[i - 1]:
                aside[i - 1 if keep_last else i] = True


@kernel
def _sort_equal_workers(offsets: NDArray[np.int64], worker: Codes, label: Codes) -> None:
    for t in range(offsets.size - 1):
        start = offsets[t]
        for i in range(offsets[t] + 1, offsets[t + 1] + 1):
            if i == offsets[t + 1] or worker[i] != worker[start]:
                label[start:i] = np.sort(label[start:i])
                start = i
