"""The votes, encoded: what every later stage works on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd._display import card_of
from faircrowd.errors import InputError
from faircrowd.storage.mapped_arrays import release
from faircrowd.votes.account import VotesReport, refuse_missing
from faircrowd.votes.encode import keep_used
from faircrowd.votes.judges.judge_votes import JudgeVotes
from faircrowd.votes.layout import Grouped, moved, places_by_task, repeated_votes, sort_inside_tasks, sort_repeated
from faircrowd.votes.line_breaks import line_breaks
from faircrowd.votes.lookalikes import notes_on
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["VoteTable", "build_table"]

_PIECE = 1 << 20
"""Long arrays are counted this many numbers at a time, to hold little memory."""


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Votes as integer codes, sorted by task, then by worker (compressed sparse rows).

    Attributes
    ----------
    tasks, workers, classes : Vocabulary
        What the codes stand for.
    offsets : ndarray of int64, shape (n_tasks + 1,)
        The votes of task ``i`` are ``worker[offsets[i]:offsets[i + 1]]`` and ``label[...]`` alike.
    worker, label : ndarray of int32, shape (n_votes,)
    groups : Vocabulary or None
        The sensitive groups, where they are known.
    group : ndarray of int32, shape (n_tasks,), or None
        The group of each task.
    report : VotesReport
        What happened to every row of the source.
    left_out : mapping of int to str
        From the codes of groups that no constraint speaks of to the reason (:mod:`faircrowd.votes.group_policy`).
    merged_groups : tuple
        Small groups that became the last group.
    judges : JudgeVotes or None
        What votes say beyond their labels: probabilities, families of judges, abstentions.
    """

    tasks: Vocabulary
    workers: Vocabulary
    classes: Vocabulary
    offsets: NDArray[np.int64]
    worker: Codes
    label: Codes
    groups: Vocabulary | None = None
    group: Codes | None = None
    report: VotesReport = field(default_factory=VotesReport)
    style: Style = field(default_factory=Style)
    left_out: Mapping[int, str] = field(default_factory=dict)
    merged_groups: tuple[Any, ...] = ()
    judges: JudgeVotes | None = None

    @property
    def n_votes(self) -> int:
        """Number of votes."""
        return int(self.worker.size)

    @property
    def n_tasks(self) -> int:
        """Number of tasks with at least one vote."""
        return len(self.tasks)

    @property
    def n_workers(self) -> int:
        """Number of workers with at least one vote (or known to a fitted model)."""
        return len(self.workers)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def votes_per_task(self) -> NDArray[np.int64]:
        """Number of votes of each task."""
        counts = np.diff(self.offsets)
        release(self.offsets)
        return counts

    @property
    def most_votes(self) -> int:
        """Number of votes of the task that has the most."""
        most = 0
        for i in range(0, self.n_tasks, _PIECE):  # no array with one number per task is held
            piece = self.offsets[i : i + _PIECE + 1]
            most = max(most, int(np.diff(piece).max(initial=0)))
            release(piece)
        return most

    @property
    def votes_per_worker(self) -> NDArray[np.int64]:
        """Number of votes of each worker."""
        counts = np.zeros(self.n_workers, dtype=np.int64)
        for i in range(0, self.n_votes, _PIECE):  # bincount copies what it counts
            piece = self.worker[i : i + _PIECE]
            part = np.bincount(piece, minlength=counts.size)
            part[: counts.size] += counts  # workers that are not in the vocabulary come after it
            counts = part
            release(piece)
        return counts

    @property
    def tasks_per_group(self) -> NDArray[np.int64]:
        """Number of tasks of each group; of all, without groups."""
        if self.groups is None or self.group is None:
            return np.array([self.n_tasks])
        return np.bincount(self.group, minlength=len(self.groups))

    def notes(self) -> list[str]:
        """Return what users should know: which rows were set aside, and which labels or groups look alike."""
        return notes_on(self.report, self.classes, self.groups)

    def recoded(self, role: str, vocabulary: Vocabulary, place: Codes) -> "VoteTable":
        """Return the table with the code ``place[i]`` in place of ``i``, and what the new codes stand for.

        Parameters
        ----------
        role : {"worker", "label", "group"}
        vocabulary : Vocabulary
        place : ndarray of int32
            A worker's new code may run past the vocabulary: those are workers that it does not know.
        """
        place = place.astype(np.int32)
        if role == "worker":
            return self.with_workers(vocabulary, place[self.worker])
        if role == "group":
            left_out = {int(place[a]): why for a, why in self.left_out.items() if place[a] >= 0}
            return self.with_groups(vocabulary, place[self.group], left_out)
        # The new classes may not fit the type of the column of votes.
        kinds = {name: kind for name, kind in self.style.dtypes.items() if name != "label"}
        judges = None if self.judges is None else self.judges.with_classes(place, len(vocabulary))
        style = replace(self.style, dtypes=kinds)
        return replace(self, classes=vocabulary, label=place[self.label], style=style, judges=judges)

    def with_groups(self, groups: Vocabulary, group: Codes, left_out: Mapping[int, str] | None = None) -> "VoteTable":
        """Return the table with the sensitive group of each task, and the groups that no constraint speaks of."""
        return replace(self, groups=groups, group=group, left_out=left_out or {}, merged_groups=())

    def with_classes(self, classes: Vocabulary) -> "VoteTable":
        """Return the table coded by a larger list of classes."""
        return self.recoded("label", classes, classes.code_of(self.classes.values))

    def with_workers(self, workers: Vocabulary, worker: Codes) -> "VoteTable":
        """Return the table coded by another list of workers; codes past its end are workers it does not know."""
        return replace(self, workers=workers, worker=worker)

    def select(self, keep: NDArray[np.bool_], **report: int) -> "VoteTable":
        """Return the table of the votes marked in ``keep``; tasks and workers left empty are dropped."""
        task = np.repeat(np.arange(self.n_tasks, dtype=np.int32), self.votes_per_task)[keep]
        task, tasks, lost = keep_used(task, self.tasks)
        worker, workers, _ = keep_used(self.worker[keep], self.workers)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(tasks)))])
        group = None if self.group is None else np.delete(self.group, lost)
        without = (*self.report.tasks_without_votes, *self.tasks.some(lost))
        account = replace(self.report, tasks_without_votes=without, **report)  # type: ignore[arg-type]
        return replace(
            self,
            tasks=tasks,
            workers=workers,
            offsets=offsets.astype(np.int64),
            worker=worker,
            label=self.label[keep],
            group=group,
            report=account,
            judges=None if self.judges is None else self.judges.select(keep, lost),
        )

    def _repr_html_(self) -> str:
        return card_of(self)

    def __repr__(self) -> str:
        return (
            f"VoteTable({self.n_votes:,} votes, {self.n_tasks:,} tasks, {self.n_workers:,} workers, "
            f"{self.n_classes:,} classes{'' if self.groups is None else f', {len(self.groups):,} groups'})"
        )


def build_table(
    encoded: Callable[[str], tuple[Codes, Vocabulary]],
    *,
    on_missing: str,
    on_duplicate: str,
    style: Style,
) -> VoteTable:
    """Encode the three columns, group the rows by task, and apply the policies.

    ``encoded(role)`` returns the codes, which are overwritten, and the vocabulary of a column. Each column is
    encoded when its turn comes and moved to its place at once, so that few arrays of the length of the votes
    exist at a time.
    """
    task, tasks = encoded("task")
    rows_read = task.size
    first_missing = {"task": _first_missing(task)}
    task[task < 0] = len(tasks)  # rows without a task are grouped past the end, and cut off there
    offsets, place = places_by_task(task, len(tasks) + 1)
    worker, workers = encoded("worker")
    first_missing["worker"] = _first_missing(worker)
    worker = moved(worker, place)
    label, classes = encoded("label")
    first_missing["label"] = _first_missing(label)
    label = moved(label, place)
    del task, place
    n_votes, offsets = int(offsets[-2]), offsets[:-1]
    missing = {
        "task": rows_read - n_votes,
        "worker": int(np.count_nonzero(worker[:n_votes] < 0)),
        "label": int(np.count_nonzero((label[:n_votes] < 0) & (worker[:n_votes] >= 0))),
    }
    missing = {name: count for name, count in missing.items() if count}
    if missing and on_missing == "error":
        name, count = next(iter(missing.items()))
        refuse_missing(name, count, rows_read, first_missing[name])
    grouped, lost, all_tasks = Grouped(offsets, worker[:n_votes], label[:n_votes]), np.empty(0, dtype=np.int64), tasks
    del worker, label
    if missing:
        grouped = grouped.without((grouped.worker < 0) | (grouped.label < 0))
        empty = np.diff(grouped.offsets) == 0
        lost, tasks = np.flatnonzero(empty), tasks.take(np.flatnonzero(~empty))
        grouped = grouped._replace(offsets=np.append(grouped.offsets[:-1][~empty], grouped.offsets[-1:]))
    sort_inside_tasks(grouped)
    grouped, repeated = _one_vote_each(grouped, on_duplicate, tasks, workers)
    if missing or repeated:  # a worker or a class may have lost its only votes
        worker, workers, _ = keep_used(grouped.worker, workers)
        label, classes, _ = keep_used(grouped.label, classes)
        grouped = Grouped(grouped.offsets, worker, label)
    report = VotesReport(
        rows_read=rows_read,
        rows_missing=missing,
        rows_repeated=repeated,
        on_missing=on_missing,
        on_duplicate=on_duplicate,
        tasks_without_votes=tuple(all_tasks.some(lost)),
        line_breaks=line_breaks({"task": tasks, "worker": workers, "label": classes}),
    )
    return VoteTable(tasks, workers, classes, *grouped, report=report, style=style)


def _first_missing(codes: Codes) -> int:
    return int(np.argmax(codes < 0)) if codes.size else 0


def _one_vote_each(grouped: Grouped, policy: str, tasks: Vocabulary, workers: Vocabulary) -> tuple[Grouped, int]:
    aside = repeated_votes(grouped, keep="first" if policy == "first" else "last")
    repeated = int(np.count_nonzero(aside))
    if repeated and policy == "all":
        sort_repeated(grouped)
    if repeated == 0 or policy == "all":
        return grouped, repeated
    if policy == "error":
        vote = int(np.argmax(aside))
        task = int(np.searchsorted(grouped.offsets, vote, side="right")) - 1
        worker = int(grouped.worker[vote])
        raise InputError(
            f"{repeated:,} rows repeat a (task, worker) pair, such as task {few(tasks.some([task]))} and worker "
            f"{few(workers.some([worker]))}; "
            "keep one with on_duplicate='last' or 'first', or all with 'all'."
        )
    return grouped.without(aside), repeated
