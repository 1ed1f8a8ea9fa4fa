"""Who agrees with whom: each pair of workers, each worker with the labels, each task, and each group.

Agreement is counted over pairs of votes on the same task. Chance would make some votes agree; Cohen's kappa of two
workers says how far above chance they agree, given how often each of them uses each label.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import check_confidence, check_count
from faircrowd._display import Drawn, frame_of
from faircrowd._kernels import kernel
from faircrowd._types import ByTask, TableLike
from faircrowd.audit.agreement import krippendorff_alpha
from faircrowd.audit.intervals import wilson
from faircrowd.audit.workers.worker_counts import check_labels_of
from faircrowd.engines import Block, LocalEngine
from faircrowd.votes import VoteTable, as_votes
from faircrowd.votes.vocabulary import Codes

__all__ = ["PairAgreement", "pair_agreement"]

MOST_WORKERS = 200


@dataclass(frozen=True, eq=False, repr=False)
class PairAgreement(Drawn):
    """Agreement by pairs of votes.

    ``plot()`` shows how often each two of the workers with the most votes agree.

    Attributes
    ----------
    votes : VoteTable
    confidence : float
        Of the intervals.
    shown : ndarray of int32
        The workers that are compared pair by pair: those with the most votes, in the order of ``votes.workers``.
    common, agreed : ndarray of int64, shape (n_shown, n_shown)
        On how many tasks two workers both voted, and on how many of these alike.
    kappa : ndarray, shape (n_shown, n_shown)
        Cohen's kappa on their common tasks; NaN where there is none, or both always give the same one label.
    task_votes : ndarray of int64, shape (n_tasks,)
        The number of votes on each task.
    task_pairs, task_agreed : ndarray of int64, shape (n_tasks,)
        The number of ordered pairs of votes of different workers on each task, and of those that agree.
    task_top : ndarray of int64, shape (n_tasks,)
        The number of votes for the most frequent label of each task.
    worker_pairs, worker_agreed : ndarray of int64, shape (n_workers,)
        The number of votes of others on a worker's tasks, and of those that agree with the worker's.
    worker_label : ndarray of int64, shape (n_workers,), or None
        On how many tasks a worker voted as the label says.
    """

    _in_short = ("votes", "alpha")

    votes: VoteTable
    confidence: float
    shown: Codes
    common: NDArray[np.int64]
    agreed: NDArray[np.int64]
    kappa: NDArray[np.float64]
    task_votes: NDArray[np.int64]
    task_pairs: NDArray[np.int64]
    task_agreed: NDArray[np.int64]
    task_top: NDArray[np.int64]
    worker_pairs: NDArray[np.int64]
    worker_agreed: NDArray[np.int64]
    worker_label: NDArray[np.int64] | None

    @cached_property
    def alpha(self) -> float:
        """Krippendorff's alpha of all votes; NaN where it is not defined."""
        return krippendorff_alpha(self.votes).alpha

    @property
    def share(self) -> NDArray[np.float64]:
        """The share of their common tasks on which two workers agree; NaN where there are none."""
        return np.where(self.common > 0, self.agreed / np.maximum(self.common, 1), np.nan)

    @property
    def of_tasks(self) -> NDArray[np.float64]:
        """The share of pairs of votes on each task that agree; NaN for tasks with one vote."""
        return np.where(self.task_pairs > 0, self.task_agreed / np.maximum(self.task_pairs, 1), np.nan)

    def to_frame(self, table: str = "workers", backend: str | None = None) -> Any:
        """Return one of the tables as a frame.

        Parameters
        ----------
        table : {"workers", "pairs", "tasks", "groups"}
            One row per worker, per pair of workers, per task or per group, as the methods of these names.
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the kind of frame that the votes came in.
        """
        return frame_of(self, backend, table)

    def pairs(self) -> pa.Table:
        """Return one row per pair of workers who share a task: tasks, agreement with its interval, and kappa."""
        first, second = np.nonzero(np.triu(self.common, 1))
        common, agreed = self.common[first, second], self.agreed[first, second]
        low, high = wilson(agreed, common, self.confidence)
        names = np.asarray(self.votes.workers.names, dtype=object)[self.shown]
        return pa.table(
            {
                "worker": names[first].tolist(),
                "other": names[second].tolist(),
                "tasks": common,
                "agreement": agreed / common,
                "low": low,
                "high": high,
                "kappa": pa.array(self.kappa[first, second], from_pandas=True),
            }
        )

    def workers(self) -> pa.Table:
        """Return one row per worker: votes, agreement with the votes of others and with the labels."""
        votes = self.votes.votes_per_worker[: self.votes.n_workers]
        pairs = np.maximum(self.worker_pairs, 1)
        found = {
            "worker": self.votes.workers.names,
            "votes": votes,
            "pairs": self.worker_pairs,
            "agreement_with_others": _where(self.worker_pairs > 0, self.worker_agreed / pairs),
        }
        if self.worker_label is not None:
            low, high = wilson(self.worker_label, np.maximum(votes, 1), self.confidence)
            share = self.worker_label / np.maximum(votes, 1)
            name = "agreement_with_label"
            parts = {name: share, f"{name}_low": low, f"{name}_high": high}
            found |= {column: _where(votes > 0, np.asarray(part)) for column, part in parts.items()}
        return pa.table(found)

    def tasks(self) -> pa.Table:
        """Return one row per task: votes, how many are for the most frequent label, and the agreement of pairs."""
        low, high = wilson(self.task_top, np.maximum(self.task_votes, 1), self.confidence)
        found = {
            "task": self.votes.tasks.names,
            "votes": self.task_votes,
            "most_frequent": self.task_top,
            "share": self.task_top / np.maximum(self.task_votes, 1),
            "low": low,
            "high": high,
            "agreement": _where(self.task_pairs > 0, self.of_tasks),
        }
        return pa.table(found)

    def groups(self) -> pa.Table:
        """Return one row per group, and one for all tasks: the mean agreement of their tasks with its interval.

        Tasks with one vote are left out. The interval is for tasks that are a random sample; it is Wilson's, which is
        rather too wide here, as a task's agreement varies less than a coin of the same mean.
        """
        names = [] if self.votes.groups is None else self.votes.groups.names
        share = self.of_tasks
        paired = np.flatnonzero(~np.isnan(share))
        group = np.zeros(0, dtype=np.int64) if self.votes.group is None else self.votes.group[paired]
        number = np.append(np.bincount(group, minlength=len(names)), paired.size)
        total = np.append(
            np.bincount(group, weights=share[paired][: group.size], minlength=len(names)), share[paired].sum()
        )
        low, high = wilson(total, number, self.confidence)
        mean = _where(number > 0, total / np.maximum(number, 1))
        return pa.table({"group": [*names, "all tasks"], "tasks": number, "agreement": mean, "low": low, "high": high})


def pair_agreement(
    votes: TableLike | VoteTable,
    labels: ByTask | None = None,
    *,
    confidence: float = 0.95,
    most_workers: int = MOST_WORKERS,
) -> PairAgreement:
    """Count how often workers agree with each other, and with the labels.

    Parameters
    ----------
    votes : VoteTable, frame or path
    labels : Series, dict, frame or ndarray of int, optional
        The label of each task, as in :func:`faircrowd.audit.audit_crowd`. They may have been made from the same votes,
        so that each worker's own vote is in them: agreement with the votes of others has no such favour.
    confidence : float
        Of the intervals.
    most_workers : int
        Of more workers, those with the most votes are compared pair by pair; all are compared with all others at once.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame(
    ...     [(1, "a", "x"), (1, "b", "x"), (2, "a", "x"), (2, "b", "y"), (3, "a", "y"), (3, "b", "y"), (4, "a", "x"),
    ...      (4, "b", "x")], columns=["task", "worker", "label"])
    >>> found = pair_agreement(votes)
    >>> found.pairs().select(["worker", "other", "tasks", "agreement", "kappa"]).to_pylist()
    [{'worker': 'a', 'other': 'b', 'tasks': 4, 'agreement': 0.75, 'kappa': 0.5}]
    >>> found.of_tasks
    array([1., 0., 1., 1.])
    """
    confidence = check_confidence("confidence", confidence)
    most_workers = check_count("most_workers", most_workers, least=2)
    votes = as_votes(votes)
    chosen = None if labels is None else check_labels_of(votes, labels)
    by_votes = np.argsort(-votes.votes_per_worker[: votes.n_workers], kind="stable")[:most_workers]
    shown = np.sort(by_votes).astype(np.int32)
    place = np.full(votes.votes_per_worker.size, -1, dtype=np.int32)
    place[shown] = np.arange(shown.size)
    common, agreed, said = LocalEngine(votes).reduce(_count_pairs, place, shown.size, votes.n_classes)
    chance = np.einsum("abk,bak->ab", said.astype(np.float64), said.astype(np.float64))
    square = common.astype(np.float64) ** 2
    beyond = square - chance
    kappa = np.where(beyond > 0, (agreed * common - chance) / np.where(beyond > 0, beyond, 1.0), np.nan)
    task_votes = votes.votes_per_task
    task_pairs, task_agreed, task_top, worker_pairs, worker_agreed = _count_by_task_and_worker(
        votes.offsets, votes.worker, votes.label, votes.n_classes, place.size
    )
    worker_label = None
    if chosen is not None:
        same = np.asarray(votes.label == np.repeat(chosen, task_votes))
        worker_label = np.bincount(votes.worker[same], minlength=place.size)[: votes.n_workers]
    return PairAgreement(
        votes,
        confidence,
        shown,
        common,
        agreed,
        kappa,
        task_votes,
        task_pairs,
        task_agreed,
        task_top,
        worker_pairs[: votes.n_workers],
        worker_agreed[: votes.n_workers],
        worker_label,
    )


def _where(known: NDArray[np.bool_], values: NDArray[np.float64]) -> pa.Array:
    return pa.array(values, mask=~known)


@kernel
def _count_pairs(
    block: Block, place: Codes, n_shown: int, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count common tasks, tasks with equal votes, and the labels of the first, for ordered pairs of workers."""
    _, offsets, worker, label, _, _ = block
    common = np.zeros((n_shown, n_shown), np.int64)
    agreed = np.zeros((n_shown, n_shown), np.int64)
    said = np.zeros((n_shown, n_shown, n_classes), np.int64)
    for t in range(offsets.size - 1):
        stop = offsets[t + 1]
        for i in range(offsets[t], stop):
            a = place[worker[i]]
            if a < 0 or (i + 1 < stop and worker[i + 1] == worker[i]):  # of repeated votes, the last
                continue
            for j in range(offsets[t], stop):
                b = place[worker[j]]
                if b < 0 or a == b or (j + 1 < stop and worker[j + 1] == worker[j]):
                    continue
                common[a, b] += 1
                said[a, b, label[i]] += 1
                if label[i] == label[j]:
                    agreed[a, b] += 1
    return common, agreed, said


@kernel
def _count_by_task_and_worker(
    offsets: NDArray[np.int64], worker: Codes, label: Codes, n_classes: int, n_workers: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count ordered pairs of votes of different workers and those that agree, and each task's most frequent label.

    Returns pairs, agreeing pairs and the votes for the most frequent label of each task; pairs and agreeing pairs of
    each worker.
    """
    n_tasks = offsets.size - 1
    pairs, agreed, top = np.zeros(n_tasks, np.int64), np.zeros(n_tasks, np.int64), np.zeros(n_tasks, np.int64)
    worker_pairs, worker_agreed = np.zeros(n_workers, np.int64), np.zeros(n_workers, np.int64)
    counts = np.zeros(n_classes, np.int64)
    for t in range(n_tasks):
        start, stop = offsets[t], offsets[t + 1]
        for i in range(start, stop):
            counts[label[i]] += 1
        first = start
        for i in range(start, stop):
            top[t] = max(top[t], counts[label[i]])
            if worker[i] != worker[first]:
                first = i
            last, same = first, 0
            while last < stop and worker[last] == worker[i]:  # a worker's own votes make no pairs
                same += label[last] == label[i]
                last += 1
            others, alike = stop - start - (last - first), counts[label[i]] - same
            pairs[t] += others
            agreed[t] += alike
            worker_pairs[worker[i]] += others
            worker_agreed[worker[i]] += alike
        for i in range(start, stop):
            counts[label[i]] = 0
    return pairs, agreed, top, worker_pairs, worker_agreed
