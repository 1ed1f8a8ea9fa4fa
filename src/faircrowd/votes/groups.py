"""What is known about tasks besides the votes: sensitive groups and true labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faircrowd._checks import few
from faircrowd._types import ByTask, TableLike
from faircrowd.errors import InputError
from faircrowd.votes.encode import encode, keep_used
from faircrowd.votes.facts import Facts, Table, are_in_tasks, find_facts
from faircrowd.votes.lookalikes import refuse_alike
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary, as_objects

__all__ = ["attach_groups", "gold_codes", "gold_pairs", "groups_of", "intersect", "label_facts", "truth_codes"]


def attach_groups(
    table: VoteTable,
    sensitive_features: ByTask,
    *,
    votes: tuple[Table, str] | None = None,
    tasks: TableLike | None = None,
    delimiter: str | None = None,
) -> VoteTable:
    """Give each task of a table its sensitive group.

    Parameters
    ----------
    sensitive_features
        As in :func:`faircrowd.read_votes`.
    votes : (source, task column), optional
        Where the votes came from, for groups that are a column of it.
    tasks : path or frame, optional
        A table of tasks, for groups that are a column of it.

    Raises
    ------
    InputError
        If a task has no group, or two different ones.
    """
    key, columns = find_facts(sensitive_features, votes, tasks, delimiter)
    group, groups = _align(table.tasks, key, columns)
    table = table.with_groups(groups, group)
    if len(key) <= len(table.tasks) or not are_in_tasks(sensitive_features, votes, tasks, delimiter):
        return table
    place = table.tasks.code_of(key)
    repeated = int(np.count_nonzero(place >= 0) - np.unique(place[place >= 0]).size)
    return replace(table, report=replace(table.report, repeated_tasks=repeated))


def groups_of(tasks: Vocabulary, sensitive_features: ByTask) -> tuple[Codes, Vocabulary]:
    """Return the group of each task, and the groups.

    ``sensitive_features`` is as in :func:`faircrowd.read_votes`, or an array (or list) with one row
    per task, in order.
    """
    if isinstance(sensitive_features, np.ndarray | list | tuple):
        rows = np.asarray(sensitive_features) if isinstance(sensitive_features, np.ndarray) else sensitive_features
        columns = list(rows.T) if isinstance(rows, np.ndarray) and rows.ndim == 2 else [rows]
        columns = [column if isinstance(column, np.ndarray) else as_objects(list(column)) for column in columns]
        if len(columns[0]) != len(tasks):
            raise InputError(f"sensitive_features has {len(columns[0]):,} rows for {len(tasks):,} tasks.")
        return _align(tasks, None, columns)
    return _align(tasks, *find_facts(sensitive_features, None, None, None))


def _align(tasks: Vocabulary, key: Column | None, columns: Sequence[Column]) -> tuple[Codes, Vocabulary]:
    """Return the group of each task, by its key (by its row, if there are no keys), and the groups."""
    coded = [encode(column) for column in columns]
    codes, groups = coded[0] if len(coded) == 1 else intersect(coded)
    group = codes
    if key is not None:
        place = tasks.code_of(key)
        known = (place >= 0) & (codes >= 0)
        group = np.full(len(tasks), -1, dtype=np.int32)
        group[place[known]] = codes[known]
        clash = known.copy()
        clash[known] = group[place[known]] != codes[known]
        if clash.any():
            several = np.unique(place[clash])
            raise InputError(
                f"{several.size:,} tasks have more than one group: {few(tasks.some(several[:5]), several.size)}; "
                "a task belongs to one."
            )
    lacking = np.flatnonzero(group < 0)
    if lacking.size:
        raise InputError(
            f"{lacking.size:,} of {len(tasks):,} tasks have no group: "
            f"{few(tasks.some(lacking[:5]), lacking.size)}; give each task a group, or leave its votes out."
        )
    group, groups, _ = keep_used(group, groups)
    return group, groups


def gold_codes(table: VoteTable, true_labels: ByTask | Facts) -> tuple[VoteTable, Codes]:
    """Find the known true label of each task.

    Returns
    -------
    table : VoteTable
        The same votes; true labels that nobody voted for are added to its classes.
    gold : ndarray of int32, shape (n_tasks,)
        The class of each task's true label, -1 where it is not known.
    """
    task, label, classes = gold_pairs(table, true_labels)
    if len(classes) > table.n_classes:
        table = table.with_classes(classes)
    gold = np.full(table.n_tasks, -1, dtype=np.int32)
    gold[task] = label
    _refuse_several(table, task[gold[task] != label])
    return table, gold


def _refuse_several(table: VoteTable, clash: Codes) -> None:
    if clash.size:
        several = np.unique(clash)
        names = few(table.tasks.some(several[:5]), several.size)
        raise InputError(f"{several.size:,} tasks have more than one true label: {names}.")


def truth_codes(table: VoteTable, true_labels: ByTask | Facts) -> tuple[Codes, list[Any]]:
    """Find the true label of each task, for scoring: the classes stay those of the votes.

    Returns
    -------
    truth : ndarray of int32, shape (n_tasks,)
        The class; -1 where the truth is not known, -2 where it is a label that nobody voted for.
    strange : list
        The labels that nobody voted for.
    """
    key, column = label_facts(true_labels)
    codes, truths = encode(column)
    place = table.tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    found = table.classes.code_of(truths.values) if len(truths) else np.empty(0, dtype=np.int32)
    truth = np.full(table.n_tasks, -1, dtype=np.int32)
    given = np.full(table.n_tasks, -1, dtype=np.int32)
    given[place[known]] = codes[known]
    _refuse_several(table, place[known][given[place[known]] != codes[known]])
    truth[given >= 0] = np.where(found < 0, -2, found)[given[given >= 0]]
    seen = np.unique(codes[known])
    strange = truths.some(seen[found[seen] < 0])
    refuse_alike("known label", strange, table.classes)
    return truth, strange


def label_facts(true_labels: ByTask | Facts) -> tuple[Column, Column]:
    """Return the tasks that true labels are given for, and the labels."""
    key, (column, *more) = find_facts(true_labels, None, None, None, names=("label", "truth", "true_label"))
    if more:
        raise InputError("True labels must be one column; got several. Name them 'label' or 'truth'.")
    return key, column


def gold_pairs(table: VoteTable, true_labels: ByTask | Facts) -> tuple[Codes, Codes, Vocabulary]:
    """Return the (task, label) pairs of true labels for tasks of the table, and the classes that code them."""
    key, column = label_facts(true_labels)
    codes, truths = encode(column)
    place = table.tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    place, (codes, truths, _) = place[known], keep_used(codes[known], truths)
    if len(truths) == 0:
        return place, codes, table.classes
    # "1" read from a file and the class 1 are the same class: `code_of` compares their text.
    found = table.classes.code_of(truths.values)
    new = truths.take(np.flatnonzero(found < 0)).to_list()
    classes = table.classes
    refuse_alike("known label", new, classes)
    if new:
        classes = encode(as_objects([*classes.to_list(), *new]))[1]
        # Classes that are known already keep their place: among mixed values, the text "2.0" is not the class 2.
        place_of = classes.code_of(table.classes.values)
        found = np.where(found >= 0, place_of[found], classes.code_of(truths.values))
    return place, found[codes], classes


def intersect(coded: Sequence[tuple[Codes, Vocabulary]]) -> tuple[Codes, Vocabulary]:
    """Return the code of each row's tuple of several coded columns, -1 where a part is missing, and the tuples."""
    stacked = np.stack([codes for codes, _ in coded], axis=1)
    rows, codes = np.unique(stacked, axis=0, return_inverse=True)
    is_complete = (rows >= 0).all(axis=1)  # a row that lacks one of the parts has no group
    parts = [vocabulary.some(rows[is_complete, j]) for j, (_, vocabulary) in enumerate(coded)]
    place = np.where(is_complete, np.cumsum(is_complete) - 1, -1).astype(np.int32)
    return place[codes.reshape(-1)], Vocabulary(as_objects(list(zip(*parts, strict=True))))
