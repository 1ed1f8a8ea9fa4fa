"""Rows of judges to votes: one vote per judge and task, the average of its runs, and what it says beyond a label."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.exact.sums import on_grid
from faircrowd.votes.account import VotesReport, refuse_missing
from faircrowd.votes.encode import keep_used
from faircrowd.votes.judges.judge_columns import JudgeColumns
from faircrowd.votes.judges.judge_rows import JudgeRows, read_judge_rows
from faircrowd.votes.judges.judge_votes import JudgeVotes
from faircrowd.votes.line_breaks import line_breaks
from faircrowd.votes.style import Style
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary

__all__ = ["build_judge_table"]


def build_judge_table(
    columns: Mapping[str, Column],
    roles: Mapping[str, str],
    asked: JudgeColumns,
    *,
    where: str,
    on_missing: str,
    on_duplicate: str,
    style: Style,
) -> VoteTable:
    """Average the runs of each judge on each task, and return the votes.

    Parameters
    ----------
    columns, roles, asked, where
        As in :func:`~faircrowd.votes.judges.judge_rows.read_judge_rows`.
    on_missing, on_duplicate
        As in :func:`faircrowd.read_votes`. Rows are repeated if task, worker and run are the same; with "all" they
        count as further runs.
    """
    source = read_judge_rows(columns, roles, asked, where)
    tasks, workers, classes, notes = source.tasks, source.workers, source.classes, list(source.notes)
    rows, missing = _complete(source.rows, on_missing)
    rows, repeated = _one_row_per_run(rows, on_duplicate, tasks, workers)
    is_certain = ~rows.is_stated & ~rows.is_abstained
    rows.probability[is_certain] = 0.0
    rows.probability[np.flatnonzero(is_certain), rows.label[is_certain]] = 1.0

    # The rows of a pair of task and judge follow each other: its runs.
    is_first = np.diff(rows.task, prepend=-1).astype(bool) | np.diff(rows.worker, prepend=-1).astype(bool)
    pair = np.flatnonzero(is_first)
    runs = np.diff(pair, append=rows.task.size)
    silent = _sums(rows.is_abstained, pair)
    counted = runs - silent
    if runs.max(initial=1) > 1:  # exact sums: the order of the runs does not matter
        (grid,) = on_grid(np.nan_to_num(rows.probability), n_terms=int(runs.max()))
        means = _sums(grid, pair) / np.maximum(counted, 1)[:, None]
    else:
        means = rows.probability[pair]
    is_vote, of_task, of_worker = counted > 0, rows.task[pair], rows.worker[pair]
    probability, stated = means[is_vote], (_sums(rows.is_stated, pair) / np.maximum(counted, 1))[is_vote]
    label = _labels(rows, pair[is_vote], counted[is_vote], probability, notes)
    task, kept_tasks, lost = keep_used(of_task[is_vote], tasks)
    worker, kept_workers, _ = keep_used(of_worker[is_vote], workers)
    if not asked.by_class:  # a class that only rows set aside had
        used = (probability > 0).any(axis=0) | np.isin(np.arange(len(classes)), label)
        label, probability = (np.cumsum(used) - 1).astype(np.int32)[label], probability[:, used]
        classes = classes.take(np.flatnonzero(used))
    abstained = None
    if silent.any():
        abstained = np.delete(_abstained(of_task, of_worker, silent / runs, source.family, len(tasks)), lost)
    has_more = bool(stated.any() or (counted > 1).any())
    judges = JudgeVotes(
        probability=np.ascontiguousarray(probability) if has_more else None,
        stated=stated if has_more else None,
        families=source.families,
        family=None if source.families is None else source.family[of_worker[is_vote]],
        abstained=abstained,
    )
    report = VotesReport(
        rows_read=source.rows.task.size,
        rows_missing=missing,
        rows_repeated=repeated,
        on_missing=on_missing,
        on_duplicate=on_duplicate,
        tasks_without_votes=tuple(tasks.some(lost)),
        line_breaks=line_breaks({"task": kept_tasks, "worker": kept_workers, "label": classes}),
        rows_abstained=int(rows.is_abstained.sum()),
        rows_averaged=int(counted.sum()) - task.size,
        judge_notes=tuple(notes),
    )
    offsets = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(kept_tasks)))]).astype(np.int64)
    return VoteTable(
        kept_tasks, kept_workers, classes, offsets, worker, label, report=report, style=style, judges=judges
    )


def _complete(rows: JudgeRows, on_missing: str) -> tuple[JudgeRows, dict[str, int]]:
    """Set rows aside that lack a task, a judge, or a label and probabilities; count them by the first of these."""
    lacks = {
        "task": rows.task < 0,
        "worker": rows.worker < 0,
        "label": (rows.label < 0) & ~rows.is_stated & ~rows.is_abstained,
    }
    aside, missing = np.zeros(rows.task.size, dtype=bool), {}
    for name, lacking in lacks.items():
        if count := int(np.count_nonzero(lacking & ~aside)):
            if on_missing == "error":
                refuse_missing(name, count, rows.task.size, int(np.argmax(lacking & ~aside)))
            missing[name] = count
        aside |= lacking
    return rows.at(np.flatnonzero(~aside)), missing


def _one_row_per_run(rows: JudgeRows, policy: str, tasks: Vocabulary, workers: Vocabulary) -> tuple[JudgeRows, int]:
    """Sort rows by task and judge; keep one of several with the same run; return how many repeat one, too."""
    order = np.lexsort((rows.run, rows.worker, rows.task))  # stable: equal rows stay in the order of the file
    rows = rows.at(order)
    same = np.zeros(rows.task.size, dtype=bool)
    same[1:] = np.logical_and.reduce([part[1:] == part[:-1] for part in (rows.task, rows.worker, rows.run)])
    repeated = int(np.count_nonzero(same))
    if repeated == 0 or policy == "all":
        return rows, repeated
    if policy == "error":
        first = int(np.argmax(same))
        raise InputError(
            f"{repeated:,} rows repeat a judge on a task in the same run, such as task "
            f"{few(tasks.some([rows.task[first]]))} and worker {few(workers.some([rows.worker[first]]))}; keep one "
            "with on_duplicate='last' or 'first', or number them in a column run to average them."
        )
    aside = same if policy == "first" else np.append(same[1:], False)
    return rows.at(np.flatnonzero(~aside)), repeated


def _sums(values: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    """Sum the rows from each of some first rows to the next."""
    if not first.size:
        return np.zeros((0, *values.shape[1:]))
    return np.asarray(np.add.reduceat(values.astype(np.float64), first, axis=0))


def _labels(
    rows: JudgeRows,
    first: NDArray[np.int64],
    counted: NDArray[np.float64],
    probability: NDArray[np.float64],
    notes: list[str],
) -> Codes:
    """Return the label of each vote: that of its one row, else the most probable class (of several, the first).

    Parameters
    ----------
    first : ndarray of int64
        The first row of each vote.
    counted : ndarray
        How many rows of the vote do not abstain.
    """
    if not len(probability):
        return np.empty(0, dtype=np.int32)
    best = np.argmax(probability, axis=1).astype(np.int32)
    speaking = np.flatnonzero(~rows.is_abstained)
    own = rows.label[speaking[np.searchsorted(speaking, first)]]
    own = np.where(counted == 1, own, np.int32(-1))
    every = np.arange(own.size)
    if (other := (own >= 0) & (probability[every, own] < probability[every, best])).any():
        notes.append(
            f"in {other.sum():,} votes the label is not the most probable class; methods that use probabilities go by "
            "these, others by the label"
        )
    return np.where(own >= 0, own, best).astype(np.int32)


def _abstained(
    task: Codes, worker: Codes, share: NDArray[np.float64], family_of: Codes, n_tasks: int
) -> NDArray[np.float64]:
    """Return how many judges abstained from each task; the judges of a family count as one, by their mean."""
    n_families = int(family_of.max(initial=-1)) + 1
    of_judge = np.where(family_of < 0, n_families + np.arange(family_of.size), family_of)  # without one: their own
    pairs = task.astype(np.int64) * (n_families + family_of.size) + of_judge[worker]
    inverse = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    size = np.bincount(inverse)[inverse]
    (parts,) = on_grid(share / size, n_terms=int(np.bincount(task).max()))
    return np.asarray(np.bincount(task, weights=parts, minlength=n_tasks), dtype=np.float64)
