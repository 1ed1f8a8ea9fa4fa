"""Counts of each worker's votes by group and label, and by true class where it is known or modelled."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_memory, few
from faircrowd._kernels import kernel
from faircrowd._types import ByTask, FrameLike
from faircrowd.engines import Block, LocalEngine
from faircrowd.errors import InputError
from faircrowd.exact.sums import mass_unit
from faircrowd.fair.tasks.population import compared_codes
from faircrowd.fair.tasks.read_posterior import check_posterior, values_in_order
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.frames import is_frame
from faircrowd.votes.groups import has_ids, one_value_each, truth_codes
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "check_labels_of",
    "check_truth",
    "compared_groups_in",
    "compared_votes",
    "count_votes",
    "gold_confusion",
    "groups_in",
    "label_counts",
    "model_confusion",
    "range_over_groups",
]


def groups_in(votes: VoteTable) -> tuple[Codes, Vocabulary]:
    """Return the group of each task and the groups, or raise if the votes have none."""
    if votes.group is None or votes.groups is None:
        raise InputError("The votes have no groups; give sensitive_features when you read them.")
    return votes.group, votes.groups


def compared_groups_in(votes: VoteTable) -> Codes:
    """Return the codes of the groups that are not left out."""
    n_groups = len(groups_in(votes)[1])
    return np.flatnonzero(compared_codes(n_groups, votes.left_out) >= 0).astype(np.int32)


def compared_votes(votes: VoteTable) -> VoteTable:
    """Return the votes on tasks of the groups that are not left out; workers keep their codes."""
    group, groups = groups_in(votes)
    if not votes.left_out:
        return votes
    place = compared_codes(len(groups), votes.left_out)
    keep = np.repeat(place[group] >= 0, votes.votes_per_task)
    some = votes.select(keep).with_workers(votes.workers, votes.worker[keep])
    return some.recoded("group", groups.take(compared_groups_in(votes)), place)


def label_counts(group: Codes, labels: Codes, n_groups: int, n_classes: int) -> NDArray[np.int64]:
    """Count the labels by group and class."""
    counts = np.zeros((n_groups, n_classes), dtype=np.int64)
    _count_labels(group, labels, counts)
    return counts


def check_truth(votes: VoteTable, truth: ByTask) -> Codes:
    """Return the true class of each task as codes, -1 where it is not known, or raise.

    Labels in a Series, dict or frame go by the id of the task; an array has class codes, in the order of the tasks.
    """
    if has_ids(truth):
        found = truth_codes(votes, truth)[0]
        if not (found >= 0).any():
            raise InputError("No task has a truth that is a label of the votes; do the task ids match?")
        return np.maximum(found, -1)
    codes = np.asarray(truth)
    if codes.shape != (votes.n_tasks,) or codes.dtype.kind not in "iu":
        raise InputError(
            f"truth needs a class code for each of the {votes.n_tasks:,} tasks; got {codes.dtype} {codes.shape}."
        )
    strange = np.flatnonzero((codes < -1) | (codes >= votes.n_classes))
    if strange.size:
        raise InputError(
            f"truth holds {codes[strange[0]]} for task {few(votes.tasks.some(strange[:1]))}; classes are coded from 0 "
            f"to {votes.n_classes - 1}, and -1 stands for not known."
        )
    return codes.astype(np.int32)


def check_labels_of(votes: VoteTable, labels: ByTask) -> Codes:
    """Return the class of each task as codes, or raise; labels are as in ``check_truth``, and every task has one."""
    if has_ids(labels):
        codes, values = one_value_each(votes.tasks, labels, "label")
        codes = votes.classes.code_of(values.values)[codes]
    else:
        codes = np.asarray(labels)
        if codes.shape != (votes.n_tasks,) or codes.dtype.kind not in "iu":
            raise InputError(
                f"labels needs a class code for each of the {votes.n_tasks:,} tasks, or labels by the id of the task; "
                f"got {codes.dtype} {codes.shape}."
            )
    strange = np.flatnonzero((codes < 0) | (codes >= votes.n_classes))
    if strange.size:
        raise InputError(
            f"{strange.size:,} labels are none of the classes of the votes, first that of task "
            f"{few(votes.tasks.some(strange[:1]))}."
        )
    return codes.astype(np.int32)


def count_votes(votes: VoteTable) -> NDArray[np.int64]:
    """Count each worker's votes, shape (n_workers, n_groups, n_classes)."""
    shape = _shape(votes, votes.n_classes)
    (counts,) = LocalEngine(votes, by_group=True).reduce(_count_votes, shape)
    return np.asarray(counts.reshape(shape))


def gold_confusion(votes: VoteTable, truth: ByTask) -> NDArray[np.int64]:
    """Count each worker's votes by true class, shape (n_workers, n_groups, n_classes true, n_classes voted)."""
    shape = _shape(votes, votes.n_classes, votes.n_classes)
    (counts,) = LocalEngine(votes, by_group=True, gold=check_truth(votes, truth)).reduce(_count_by_gold, shape)
    return counts


def model_confusion(votes: VoteTable, posterior: FrameLike | ArrayLike) -> NDArray[np.float64]:
    """Return the expected counts by true class, given its posterior probabilities; same shape as ``gold_confusion``."""
    if is_frame(posterior):
        posterior = values_in_order(posterior, votes.tasks, votes.classes, "posterior", "the votes")
    values = np.ascontiguousarray(posterior, dtype=np.float64)
    if values.shape != (votes.n_tasks, votes.n_classes):
        raise InputError(
            f"posterior needs one row for each of the {votes.n_tasks:,} tasks and one column for each of the "
            f"{votes.n_classes:,} classes; got shape {values.shape}."
        )
    check_posterior(values, votes.tasks)
    shape = _shape(votes, votes.n_classes, votes.n_classes)
    unit = mass_unit(int(votes.votes_per_worker.max(initial=1)))  # integers add up to the same sum in every order
    (counts,) = LocalEngine(votes, by_group=True).reduce(_sum_by_posterior, values, unit, shape)
    return np.asarray(counts.reshape(shape) / unit)


def range_over_groups(rates: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the largest minus the smallest known rate along an axis of groups; NaN if fewer than two are known."""
    known = ~np.isnan(rates)
    largest, smallest = np.where(known, rates, -np.inf).max(axis=axis), np.where(known, rates, np.inf).min(axis=axis)
    several = known.sum(axis=axis) >= 2
    return np.asarray(np.subtract(largest, smallest, out=np.full(several.shape, np.nan), where=several))


def _shape(votes: VoteTable, *classes: int) -> tuple[int, ...]:
    shape = (votes.n_workers, len(groups_in(votes)[1]), *classes)
    what = f"The counts of {votes.n_workers:,} workers, {shape[1]:,} groups and {votes.n_classes:,} classes"
    check_memory(4 * math.prod(shape), what, "merge rare classes or groups")
    return shape


@kernel
def _count_labels(group: Codes, labels: Codes, counts: NDArray[np.int64]) -> None:
    for t in range(group.size):
        counts[group[t], labels[t]] += 1


@kernel
def _count_votes(block: Block, shape: tuple[int, int, int]) -> tuple[NDArray[np.int64]]:
    """Count votes in a flat array: each number of dimensions is compiled for itself."""
    _, offsets, worker, label, group, _ = block
    _, n_groups, n_classes = shape
    counts = np.zeros(shape[0] * n_groups * n_classes, np.int64)
    for t in range(offsets.size - 1):
        for i in range(offsets[t], offsets[t + 1]):
            counts[(worker[i] * n_groups + group[t]) * n_classes + label[i]] += 1
    return (counts,)


@kernel
def _count_by_gold(block: Block, shape: tuple[int, int, int, int]) -> tuple[NDArray[np.int64]]:
    _, offsets, worker, label, group, gold = block
    counts = np.zeros(shape, np.int64)
    for t in range(offsets.size - 1):
        if gold[t] >= 0:
            for i in range(offsets[t], offsets[t + 1]):
                counts[worker[i], group[t], gold[t], label[i]] += 1
    return (counts,)


@kernel
def _sum_by_posterior(
    block: Block, posterior: NDArray[np.float64], unit: float, shape: tuple[int, int, int, int]
) -> tuple[NDArray[np.int64]]:
    first, offsets, worker, label, group, _ = block
    _, n_groups, n_classes, _ = shape
    counts = np.zeros(shape[0] * n_groups * n_classes * n_classes, np.int64)
    for t in range(offsets.size - 1):
        for true in range(n_classes):
            mass = np.int64(posterior[first + t, true] * unit + 0.5)
            if mass > 0:
                for i in range(offsets[t], offsets[t + 1]):
                    cell = (worker[i] * n_groups + group[t]) * n_classes + true
                    counts[cell * n_classes + label[i]] += mass
    return (counts,)
