"""What is known about tasks besides the votes: sensitive groups and true labels."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from faircrowd._checks import check_choice, few
from faircrowd._types import ByTask, TableLike
from faircrowd.errors import InputError
from faircrowd.votes.alignment import check_index
from faircrowd.votes.encode import encode, keep_used
from faircrowd.votes.facts import Facts, Table, are_in_tasks, find_facts
from faircrowd.votes.frames import is_frame
from faircrowd.votes.group_policy import ON_MISSING_GROUP, check_comparable, check_policy, free_name, plan_groups
from faircrowd.votes.lookalikes import refuse_alike
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Column, Vocabulary, as_objects

if TYPE_CHECKING:
    from faircrowd.votes.scoring import LabelledTasks

__all__ = [
    "Grouped",
    "align_groups",
    "attach_groups",
    "gold_codes",
    "gold_pairs",
    "groups_of",
    "has_ids",
    "intersect",
    "label_facts",
    "no_group",
    "one_value_each",
    "settle_groups",
    "truth_codes",
    "value_of_each",
    "with_missing",
]

V = TypeVar("V")
"""Votes, in memory or in Spark."""


def attach_groups(
    table: VoteTable,
    sensitive_features: ByTask,
    *,
    votes: tuple[Table, str] | None = None,
    tasks: TableLike | None = None,
    delimiter: str | None = None,
    on_missing_group: str = "error",
    min_group: int = 1,
    small_groups: str = "leave-out",
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
    on_missing_group, min_group, small_groups
        As in :func:`faircrowd.read_votes`.

    Raises
    ------
    InputError
        If a task has no group (unless ``on_missing_group`` allows it), or two different ones.
    """
    check_index(sensitive_features, table.tasks, "sensitive_features")
    key, columns = find_facts(sensitive_features, votes, tasks, delimiter)
    found = align_groups(table.tasks, key, columns, on_missing_group)
    grouped = table.with_groups(found.groups, found.group, found.left_out)
    if len(key) > len(table.tasks) and are_in_tasks(sensitive_features, votes, tasks, delimiter):
        place = table.tasks.code_of(key)
        repeated = int(np.count_nonzero(place >= 0) - np.unique(place[place >= 0]).size)
        grouped = replace(grouped, report=replace(grouped.report, repeated_tasks=repeated))
    return settle_groups(grouped, min_group=min_group, small_groups=small_groups)


def settle_groups(votes: V, *, min_group: int, small_groups: str = "leave-out", required: bool = False) -> V:
    """Return votes, in memory or in Spark, whose small groups are left out of constraints, or merged.

    Parameters
    ----------
    votes : VoteTable or SparkVotes
    min_group, small_groups
        As in :func:`faircrowd.read_votes`.
    required : bool
        Whether to raise if fewer than two groups remain to be compared; otherwise all are compared then, as there is no
        constraint that they could spoil.
    """
    check_policy(min_group, small_groups)
    found: Any = votes
    if found.groups is None:
        return votes
    sizes = found.tasks_per_group
    plan = plan_groups(found.groups, sizes, found.left_out, min_group=min_group, small_groups=small_groups)
    sizes = np.bincount(plan.place, weights=sizes, minlength=len(plan.groups)).astype(np.int64)
    if required:
        check_comparable(plan.groups, sizes, plan.left_out)
    elif len(plan.groups) - len(plan.left_out) < 2:
        return votes
    if plan.merged:
        merged = (*found.merged_groups, *plan.merged)
        found = replace(found.recoded("group", plan.groups, plan.place), merged_groups=merged)
    settled: V = replace(found, left_out=plan.left_out)
    return settled


class Grouped(NamedTuple):
    """The group of each task, the groups, and those of them that no constraint speaks of, with the reason."""

    group: Codes
    groups: Vocabulary
    left_out: dict[int, str]


def groups_of(
    tasks: Vocabulary, sensitive_features: ByTask | Facts, *, on_missing_group: str = "error", name: str = ""
) -> Grouped:
    """Return the group of each task, and the groups.

    ``sensitive_features`` is as in :func:`faircrowd.read_votes`, or an array (or list) with one row
    per task, in order; ``name`` is what messages call it, if it is one of several columns.
    """
    if isinstance(sensitive_features, np.ndarray | list | tuple) and not isinstance(sensitive_features, Facts):
        rows = np.asarray(sensitive_features) if isinstance(sensitive_features, np.ndarray) else sensitive_features
        columns = list(rows.T) if isinstance(rows, np.ndarray) and rows.ndim == 2 else [rows]
        columns = [column if isinstance(column, np.ndarray) else as_objects(list(column)) for column in columns]
        if (n := len(columns[0])) != len(tasks):
            raise InputError(
                f"sensitive_features has {n:,} row{'s' * (n != 1)} for {len(tasks):,} tasks."
                f"{_named_in_vain(sensitive_features)}"
            )
        return align_groups(tasks, None, columns, on_missing_group, name)
    check_index(sensitive_features, tasks, "sensitive_features")
    return align_groups(tasks, *find_facts(sensitive_features, None, None, None), on_missing_group, name)


def _named_in_vain(given: object) -> str:
    """Return what to write if a list of groups looks like the names of columns; else nothing."""
    names = given if isinstance(given, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return ""
    return (
        f" If {few(names)} {'is the name of a column' if len(names) == 1 else 'are names of columns'}, give the values "
        f"themselves, such as frame[{list(names)!r}]."
    )


def align_groups(
    tasks: Vocabulary, key: Column | None, columns: Sequence[Column], on_missing_group: str, name: str = ""
) -> Grouped:
    """Return the group of each task, by its key (by its row, if there are no keys), and the groups."""
    where = f" in column {name!r}" if name else ""
    check_choice("on_missing_group", on_missing_group, ON_MISSING_GROUP)
    coded = [encode(column) for column in columns]
    codes, groups = coded[0] if len(coded) == 1 else intersect(coded)
    group = codes
    if key is not None and not _same_ids(tasks, key):
        place = tasks.code_of(key)
        known = (place >= 0) & (codes >= 0)
        group = np.full(len(tasks), -1, dtype=np.int32)
        group[place[known]] = codes[known]
        clash = known.copy()
        clash[known] = group[place[known]] != codes[known]
        if clash.any():
            several = np.unique(place[clash])
            shown = few(tasks.some(several[:5]), several.size)
            raise InputError(f"{several.size:,} tasks have more than one group{where}: {shown}; a task belongs to one.")
    lacking = np.flatnonzero(group < 0)
    if not lacking.size:
        group, groups, _ = keep_used(group, groups)
        return Grouped(group, groups, {})
    if on_missing_group == "error" or (key is not None and lacking.size == len(tasks)):  # keys of other tasks
        raise no_group(lacking.size, len(tasks), few(tasks.some(lacking[:5]), lacking.size), where)
    group = group.copy()
    grouped = group >= 0
    group[grouped], groups, _ = keep_used(group[grouped], groups)
    group[lacking] = len(groups)
    groups, left_out = with_missing(groups, on_missing_group)
    return Grouped(group, groups, left_out)


def _same_ids(tasks: Vocabulary, key: Column) -> bool:
    """Return whether keys are the ids of the tasks, in their order, as they mostly are: no need to look them up."""
    values = tasks.values
    return isinstance(values, pa.Array) and isinstance(key, pa.Array) and bool(values.equals(key))


def with_missing(groups: Vocabulary, on_missing_group: str) -> tuple[Vocabulary, dict[int, str]]:
    """Return the groups and one more, for tasks without a group, which is left out unless the policy is "own"."""
    names = groups.to_list()
    left_out = {} if on_missing_group == "own" else {len(groups): "no group is known"}
    return Vocabulary.of([*names, free_name("missing", names)]), left_out


def no_group(lacking: int, total: int, names: str, where: str = "") -> InputError:
    """Return the error about tasks without a group; ``where`` names their column."""
    wanted = (
        "do the task ids match?"
        if lacking == total
        else "give each task a group, or leave these tasks out of the constraint with on_missing_group='drop', or make "
        "them a group with on_missing_group='own'."
    )
    return InputError(f"{lacking:,} of {total:,} tasks have no group{where}: {names}; {wanted}")


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


def _refuse_several(table: "LabelledTasks", clash: Codes) -> None:
    if clash.size:
        several = np.unique(clash)
        names = few(table.tasks.some(several[:5]), several.size)
        raise InputError(f"{several.size:,} tasks have more than one true label: {names}.")


def truth_codes(table: "LabelledTasks", true_labels: ByTask | Facts, what: str = "truth") -> tuple[Codes, list[Any]]:
    """Find the true label of each task, for scoring: the classes stay those of the votes.

    ``what`` is what the labels are called in messages.

    Returns
    -------
    truth : ndarray of int32, shape (n_tasks,)
        The class; -1 where the truth is not known, -2 where it is a label that nobody voted for.
    strange : list
        The labels that nobody voted for.
    """
    check_index(true_labels, table.tasks, what)
    key, column = label_facts(true_labels)
    given, truths, several = value_of_each(table.tasks, key, column)
    found = table.classes.code_of(truths.values) if len(truths) else np.empty(0, dtype=np.int32)
    truth = np.full(len(table.tasks), -1, dtype=np.int32)
    _refuse_several(table, several)
    truth[given >= 0] = np.where(found < 0, -2, found)[given[given >= 0]]
    seen = np.unique(given[given >= 0])
    strange = truths.some(seen[found[seen] < 0])
    refuse_alike("known label", strange, table.classes)
    return truth, strange


def one_value_each(tasks: Vocabulary, facts: ByTask | Facts, what: str) -> tuple[Codes, Vocabulary]:
    """Return the code of one value for each task, by id, and the values; raise if a task has none, or several.

    Parameters
    ----------
    what : str
        What the values are called in messages.
    """
    check_index(facts, tasks, what)
    key, (column, *more) = find_facts(facts, None, None, None, names=("label", "agg_label"))
    if more:
        raise InputError(f"{what} must be one column; got several.")
    found, values, several = value_of_each(tasks, key, column)
    for rows, problem in ((np.flatnonzero(found < 0), f"no {what}"), (several, f"more than one {what}")):
        if rows.size:
            names = few(tasks.some(rows[:5]), rows.size)
            hint = "; do the task ids match?" if rows.size == len(tasks) else "."
            raise InputError(f"{rows.size:,} of {len(tasks):,} tasks have {problem}: {names}{hint}")
    return found, values


def value_of_each(tasks: Vocabulary, key: Column, column: Column) -> tuple[Codes, Vocabulary, Codes]:
    """Look up the value of each task in a column, beside the ids of the tasks.

    Returns
    -------
    found : ndarray of int32, shape (n_tasks,)
        The code of the task's value, -1 for none; of several, the last.
    values : Vocabulary
    several : ndarray of int
        The tasks with several values.
    """
    codes, values = encode(column)
    place = tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    place, codes = place[known], codes[known]
    found = np.full(len(tasks), -1, dtype=np.int32)
    found[place] = codes
    return found, values, np.unique(place[found[place] != codes])


def has_ids(facts: object) -> bool:
    """Return whether facts about tasks go by id: in a Series, dict, frame or file they do, in an array they do not."""
    return isinstance(facts, Mapping | Facts | str | os.PathLike) or hasattr(facts, "loc") or is_frame(facts)


def label_facts(true_labels: ByTask | Facts) -> tuple[Column, Column]:
    """Return the tasks that true labels are given for, and the labels."""
    key, (column, *more) = find_facts(true_labels, None, None, None, names=("label", "truth", "true_label"))
    if more:
        raise InputError("True labels must be one column; got several. Name them 'label' or 'truth'.")
    return key, column


def gold_pairs(table: VoteTable, true_labels: ByTask | Facts) -> tuple[Codes, Codes, Vocabulary]:
    """Return the (task, label) pairs of true labels for tasks of the table, and the classes that code them."""
    check_index(true_labels, table.tasks, "true_labels")
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
