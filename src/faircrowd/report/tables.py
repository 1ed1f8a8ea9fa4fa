"""Tables of a fitted model: one row per task, per worker, or per group and class."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.aggregate.posterior import Posterior
from faircrowd.aggregate.weighted_votes import agreement
from faircrowd.audit.intervals import wilson
from faircrowd.engines import LocalEngine
from faircrowd.fair.tasks.problem import Problem
from faircrowd.storage.mapped_arrays import release
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.groups import Grouped
from faircrowd.votes.vocabulary import Codes

__all__ = ["groups_table", "label_tables", "labels_table", "posterior_table", "value_column", "workers_table"]

_TASKS_PER_PIECE = 1 << 17


def labels_table(votes: VoteTable, posterior: Posterior, fair: Codes | None = None) -> pa.Table:
    """Return task, label, number of votes, the posterior of each class, and the group where there is one.

    With fair labels also the label before, and whether it was changed.
    """
    return pa.concat_tables(label_tables(votes, posterior, fair))


def label_tables(
    votes: VoteTable,
    posterior: Posterior,
    fair: Codes | None = None,
    more: Callable[[slice], dict[str, Any]] | None = None,
    piece: int = _TASKS_PER_PIECE,
) -> Iterator[pa.Table]:
    """Yield the table of labels in pieces, so that a large one need not be in memory at once.

    ``more`` returns further columns for a slice of the tasks, or others in place of those that there are.
    """
    classes, tasks = value_column(posterior.classes), value_column(posterior.tasks)
    groups = None if votes.groups is None else value_column(votes.groups)
    for start in range(0, max(len(tasks), 1), piece):
        rows = slice(start, min(start + piece, len(tasks)))
        offsets = votes.offsets[rows.start : rows.stop + 1]
        counts = np.diff(offsets)
        release(offsets)
        columns = {
            "task": tasks[rows],
            **_labels(classes, posterior.label_codes[rows], None if fair is None else fair[rows]),
            "votes": counts,
            **_beliefs(posterior.classes.names, posterior.values[rows]),
        }
        if groups is not None and votes.group is not None:
            columns["group"] = groups.take(pa.array(votes.group[rows]))
        yield pa.table({**columns, **({} if more is None else more(rows))})


def posterior_table(
    problem: Problem, labels: Codes, grouped: Mapping[str, Grouped], more: Callable[[slice], dict[str, Any]]
) -> pa.Table:
    """Return the same for labels that were made from a posterior: votes are counted only where it was said.

    Parameters
    ----------
    grouped : mapping
        From the names of columns to the group of each task.
    more : callable
        As in ``label_tables``.
    """
    columns = {
        "task": value_column(problem.tasks),
        **_labels(value_column(problem.classes), problem.own, labels),
        **({} if problem.evidence is None else {"votes": problem.evidence}),
        **_beliefs(problem.classes.names, problem.posterior),
        **{name: value_column(one.groups).take(pa.array(one.group)) for name, one in grouped.items()},
    }
    return pa.table({**columns, **more(slice(0, labels.size))})


def _labels(classes: pa.Array, before: Codes, fair: Codes | None) -> dict[str, Any]:
    if fair is None:
        return {"label": classes.take(pa.array(before))}
    codes = {"label": fair, "label_before": before}
    return {**{name: classes.take(pa.array(part)) for name, part in codes.items()}, "changed": fair != before}


def _beliefs(classes: list[str], values: NDArray[np.float64]) -> dict[str, Any]:
    return {f"posterior_{name}": values[:, k] for k, name in enumerate(classes)}


def workers_table(votes: VoteTable, labels: Codes) -> pa.Table:
    """Return one row per worker: number of votes, and the share of them that agree with the labels."""
    agree, total = agreement(LocalEngine(votes), labels, votes.n_workers)
    share: NDArray[np.float64] = agree / np.maximum(total, 1)
    return pa.table({"worker": value_column(votes.workers), "votes": total, "agreement": share})


def groups_table(votes: VoteTable, posterior: Posterior, truth: Codes | None, confidence: float) -> pa.Table:
    """Return one row per group and class: tasks, labels, rate with interval, and how many are right where known."""
    assert votes.groups is not None and votes.group is not None  # noqa: S101, PT018
    labels, n_classes = posterior.label_codes, len(posterior.classes)
    counts = np.zeros((len(votes.groups), n_classes), dtype=np.int64)
    np.add.at(counts, (votes.group, labels), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    low, high = wilson(counts, np.broadcast_to(sizes, counts.shape), confidence)
    group, label = np.indices(counts.shape).reshape(2, -1)
    columns: dict[str, Any] = {
        "group": pa.array(votes.groups.names).take(pa.array(group)),
        "label": pa.array(posterior.classes.names).take(pa.array(label)),
        "tasks": np.broadcast_to(sizes, counts.shape).ravel(),
        "labelled": counts.ravel(),
        "rate": (counts / sizes).ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }
    if truth is not None and (truth >= 0).any():
        known = truth >= 0
        true, right = np.zeros_like(counts), np.zeros_like(counts)
        np.add.at(true, (votes.group[known], truth[known]), 1)
        hit = known & (labels == truth)
        np.add.at(right, (votes.group[hit], truth[hit]), 1)
        recall = np.divide(right, true, out=np.full(counts.shape, np.nan), where=true > 0)
        columns |= {"truly": true.ravel(), "right": right.ravel(), "recall": pa.array(recall.ravel(), from_pandas=True)}
    return pa.table(columns)


def value_column(vocabulary: Vocabulary) -> Any:
    """Return values as an Arrow column; mixed values, bytes, and tuples of several attributes, as text."""
    if vocabulary.is_mixed or _is_bytes(vocabulary.values.type):
        return pa.array(vocabulary.names, type=pa.string())
    return vocabulary.values


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
