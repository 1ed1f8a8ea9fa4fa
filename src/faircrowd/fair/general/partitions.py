"""The groups that constraints compare: one partition of the tasks per set of columns, and the cells of all of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few, suggestion
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import GroupedTasks
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import intersect
from faircrowd.votes.vocabulary import Codes

__all__ = ["Partition", "PartitionKey", "cells_of", "group_tasks", "key_of", "partition_by"]


class PartitionKey(NamedTuple):
    """What a partition is by.

    Attributes
    ----------
    group, within : tuple of str
        The columns of the groups, and those of the strata.
    by_own_label : bool
        Whether the groups are the aggregator's own labels.
    """

    group: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    by_own_label: bool = False


class Partition(NamedTuple):
    """Groups of tasks.

    Attributes
    ----------
    key : PartitionKey
    group : ndarray of int32, shape (n_tasks,)
    groups : Vocabulary
        Their values: one value for one column, a tuple for several; those of strata come last.
    left_out : dict of int to str
        The groups that no constraint speaks of, with the reason.
    """

    key: PartitionKey
    group: Codes
    groups: Vocabulary
    left_out: dict[int, str]


def key_of(constraint: Constraint, columns: GroupColumns) -> PartitionKey:
    """Return by what a constraint divides the tasks; raise if there is no such column."""
    if constraint.by_own_label:
        return PartitionKey(by_own_label=True)
    if constraint.adds_review:
        return PartitionKey()
    group = tuple(columns) if constraint.group_columns is None else constraint.group_columns
    for name in (*group, *constraint.stratum_columns):
        if name not in columns:
            raise OptionError(
                f"{type(constraint).__name__} speaks of the column {name!r}; the sensitive columns are "
                f"{few(list(columns))}.{suggestion(name, columns)}"
            )
    return PartitionKey(group, constraint.stratum_columns)


def partition_by(key: PartitionKey, columns: GroupColumns, own: Codes, classes: Vocabulary) -> Partition:
    """Divide tasks by some columns, or by their own labels."""
    if key.by_own_label:
        return Partition(key, own, classes, {})
    names = (*key.group, *key.within)
    if not names:
        return Partition(key, np.zeros(own.size, dtype=np.int32), Vocabulary.of(["all tasks"]), {})
    if len(names) == 1:
        return Partition(key, *columns[names[0]])
    group, groups = intersect([(columns[name].group, columns[name].groups) for name in names])
    left_out: dict[int, str] = {}
    parts = groups.to_list()
    for j, name in enumerate(names):
        missing = {columns[name].groups.to_list()[code]: why for code, why in columns[name].left_out.items()}
        left_out |= {a: f"{missing[part[j]]} in {name}" for a, part in enumerate(parts) if part[j] in missing}
    return Partition(key, group, groups, left_out)


def group_tasks(
    partition: Partition,
    classes: Vocabulary,
    tasks: NDArray[np.int64],
    mass: NDArray[np.float64],
    belief: NDArray[np.float64],
    has_review: bool,
    min_group: int,
) -> tuple[GroupedTasks, dict[str, str]]:
    """Return a partition as a constraint sees it, and the groups that are left out with the reason.

    Parameters
    ----------
    tasks, mass : ndarray, shape (n_groups,)
        Number and weight of the tasks of each group.
    belief : ndarray, shape (n_groups, n_classes)
        Weight by believed class.
    min_group : int
        Groups with fewer tasks are in no stratum, so that no constraint speaks of them.
    """
    names, n_within = partition.groups.names, len(partition.key.within)
    values = partition.groups.to_list()
    if len(partition.key.group) + n_within == 1:
        values = [(value,) for value in values]
    strata: list[tuple[Any, ...]] = [value[-n_within:] if n_within else () for value in values]
    compares = not partition.key.by_own_label and partition.key != PartitionKey()
    small = (tasks < min_group) if compares else np.zeros(tasks.size, dtype=bool)
    left_out = {names[a]: f"fewer than {min_group} tasks" for a in np.flatnonzero(small).tolist()}
    left_out |= {names[a]: why for a, why in partition.left_out.items()}
    small[list(partition.left_out)] = True
    members: dict[tuple[Any, ...], list[int]] = {}
    for a in np.flatnonzero(~small & (tasks > 0)).tolist():  # groups, and so strata, are in their canonical order
        members.setdefault(strata[a], []).append(a)
    found = tuple((" & ".join(map(str, key)), np.array(rows, dtype=np.int64)) for key, rows in members.items())
    return GroupedTasks(classes, tuple(names), found, tasks, mass, belief, has_review, min_group), left_out


def cells_of(partitions: Sequence[Partition]) -> tuple[Codes, list[Codes]]:
    """Return the cell of each task, and the group of each cell in each partition."""
    stacked = np.stack([partition.group for partition in partitions], axis=1)
    width = [len(partition.groups) for partition in partitions]
    if np.prod([float(n) for n in width]) < 2**62:
        flat = np.ravel_multi_index(tuple(stacked.T.astype(np.int64)), width)
        values, cell = np.unique(flat, return_inverse=True)
        groups = np.unravel_index(values, width)
        return cell.astype(np.int32), [codes.astype(np.int32) for codes in groups]
    rows, cell = np.unique(stacked, axis=0, return_inverse=True)
    return cell.ravel().astype(np.int32), [rows[:, t].astype(np.int32) for t in range(len(partitions))]
