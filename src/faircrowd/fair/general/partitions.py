"""The groups that constraints compare: one partition of the tasks per set of columns, and the cells of all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few, suggestion
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes import Vocabulary
from faircrowd.votes.groups import intersect
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "CountedFeatures",
    "Partition",
    "PartitionKey",
    "cells_of",
    "counted_features",
    "features_of",
    "group_tasks",
    "key_of",
    "partition_by",
]


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
        The group of each task; if one of the columns is known by probabilities, that of the other columns.
    groups : Vocabulary
        Their values: one value for one column, a tuple for several; those of strata come last.
    left_out : dict of int to str
        The groups that no constraint speaks of, with the reason.
    uncertain : str
        The column whose groups are known by their probabilities; empty if all are known.
    place : ndarray of int64, shape (n_known_groups, n_uncertain_groups), or None
        The group that a group of the other columns and one of the uncertain column make; None without one.
    """

    key: PartitionKey
    group: Codes
    groups: Vocabulary
    left_out: dict[int, str]
    uncertain: str = ""
    place: NDArray[np.int64] | None = None

    @property
    def n_known(self) -> int:
        """Number of groups of the columns that are known."""
        return len(self.groups) if self.place is None else self.place.shape[0]


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
    uncertain = [name for name in names if isinstance(columns[name], UncertainGroups)]
    if uncertain:
        return _uncertain_partition(key, columns, names, uncertain)
    if len(names) == 1:
        return Partition(key, columns[names[0]].group, columns[names[0]].groups, columns[names[0]].left_out)
    group, groups = intersect([(columns[name].group, columns[name].groups) for name in names])
    left_out: dict[int, str] = {}
    parts = groups.to_list()
    for j, name in enumerate(names):
        missing = {columns[name].groups.to_list()[code]: why for code, why in columns[name].left_out.items()}
        left_out |= {a: f"{missing[part[j]]} in {name}" for a, part in enumerate(parts) if part[j] in missing}
    return Partition(key, group, groups, left_out)


def _uncertain_partition(
    key: PartitionKey, columns: GroupColumns, names: Sequence[str], uncertain: Sequence[str]
) -> Partition:
    """Divide tasks by columns one of which is known by probabilities."""
    if len(uncertain) > 1:
        raise OptionError(
            f"{' and '.join(uncertain)} are both given as probabilities, which do not tell how often two of their "
            "groups occur together; give the probabilities of the combinations as one column."
        )
    (name,) = uncertain
    known = {other: columns[other] for other in names if other != name}
    values = columns[name].groups.to_list()
    n_tasks = columns[name].group.size
    rest = Partition(PartitionKey(), np.zeros(n_tasks, dtype=np.int32), Vocabulary.of(["all tasks"]), {})
    parts: list[tuple[Any, ...]] = [()]
    if known:
        rest = partition_by(PartitionKey(group=tuple(known)), known, rest.group, rest.groups)
        parts = rest.groups.to_list() if len(known) > 1 else [(value,) for value in rest.groups.to_list()]
    at = list(names).index(name)
    groups = [(*part[:at], value, *part[at:]) for part in parts for value in values]
    return Partition(
        key,
        rest.group,
        Vocabulary.of([group[0] for group in groups] if len(names) == 1 else groups),
        {h * len(values) + a: why for h, why in rest.left_out.items() for a in range(len(values))},
        name,
        np.arange(len(groups)).reshape(len(parts), len(values)),
    )


class CountedFeatures(NamedTuple):
    """By which features the tasks of a cell count for the groups of a partition.

    The features of a task are 1 and its posterior; and, for each group of an uncertain column, its probability and its
    products with the posterior.

    Attributes
    ----------
    group : ndarray of int64, shape (n_known_groups, n_values)
        The groups that tasks of a known group count for.
    feature : ndarray of int64, shape (n_values, 1 + n_classes)
        The features by which they do.
    """

    group: NDArray[np.int64]
    feature: NDArray[np.int64]


def features_of(
    posterior: NDArray[np.float64], probabilities: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.int64]]]:
    """Return all features but the first, and the numbers of those of each uncertain column.

    Examples
    --------
    >>> features, numbers = features_of(np.array([[0.75, 0.25]]), {"race": np.array([[0.5, 0.5]])})
    >>> features
    array([[0.75 , 0.25 , 0.5  , 0.375, 0.125, 0.5  , 0.375, 0.125]])
    >>> numbers["race"].tolist()
    [[3, 4, 5], [6, 7, 8]]
    """
    width = 1 + posterior.shape[1]
    columns, numbers, n = [posterior], {}, width
    for name, of_group in probabilities.items():
        for chance in of_group.T:
            columns += [chance[:, None], chance[:, None] * posterior]
        n_values = of_group.shape[1]
        numbers[name] = n + np.arange(n_values * width).reshape(n_values, width)
        n += n_values * width
    return posterior if not probabilities else np.ascontiguousarray(np.concatenate(columns, axis=1)), numbers


def counted_features(
    partitions: Sequence[Partition], numbers: Mapping[str, NDArray[np.int64]], n_classes: int
) -> list[CountedFeatures]:
    """Return by which features tasks count for the groups of each partition."""
    plain = np.arange(1 + n_classes)[None, :]
    return [
        CountedFeatures(np.arange(len(partition.groups))[:, None], plain)
        if partition.place is None
        else CountedFeatures(partition.place, numbers[partition.uncertain])
        for partition in partitions
    ]


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


def in_several(constraint: Constraint, tasks: GroupedTasks) -> tuple[GroupedTasks, tuple[str, ...]]:
    """Return the strata that have something to compare, and the names of those that have one group only."""
    if not constraint.compares_groups:
        return tasks, ()
    alone = tuple(name for name, members in tasks.strata if members.size < 2)
    return replace(tasks, strata=tuple(part for part in tasks.strata if part[1].size > 1)), alone


def checked_comparisons(constraint: Constraint, tasks: GroupedTasks) -> tuple[Comparison, ...]:
    """Return what a constraint compares, but for comparisons of nothing; raise if that is not what can be compared."""
    found: Any = constraint.comparisons(tasks)
    listed = list(found) if isinstance(found, Iterable) else [found]
    strange = [one for one in listed if not isinstance(getattr(one, "quantities", None), Sequence)]
    if strange:
        raise OptionError(
            f"comparisons() of a constraint returns a list of Difference, Ratio and Range; that of "
            f"{type(constraint).__name__} returned {few(strange)}."
        )
    return tuple(one for one in listed if len(one.quantities))


def why_nothing(sizes: Mapping[str, int], left_out: Mapping[str, str], alone: Sequence[str]) -> str:
    """Say why a constraint has no two groups to compare.

    Parameters
    ----------
    sizes : mapping
        The groups that there are, with their number of tasks.
    left_out : mapping
        Those that are left out, with the reason.
    alone : sequence of str
        The strata with one group only.

    Examples
    --------
    >>> why_nothing({"f": 90, "m": 4}, {"m": "fewer than 10 tasks"}, ())
    "1 of 2 groups is left out, 'm' (fewer than 10 tasks)"
    """
    if any(alone):
        return f"each of {len(alone):,} strata has one group only, {few([name for name in alone if name])}"
    if left_out:
        why = next(iter(left_out.values()))
        are = "is" if len(left_out) == 1 else "are"
        return f"{len(left_out):,} of {len(sizes):,} groups {are} left out, {few(left_out)} ({why})"
    counted = [name for name, size in sizes.items() if size]
    if len(counted) == 1:
        return f"all tasks that count are of one group, {few(counted)}"
    return f"no two of the groups {few(counted)} have enough tasks of the true class that it speaks of"


def cells_of(partitions: Sequence[Partition]) -> tuple[Codes, list[Codes]]:
    """Return the cell of each task, and the group of each cell in each partition."""
    stacked = np.stack([partition.group for partition in partitions], axis=1)
    width = [partition.n_known for partition in partitions]
    if np.prod([float(n) for n in width]) < 2**62:
        flat = np.ravel_multi_index(tuple(stacked.T.astype(np.int64)), width)
        values, cell = np.unique(flat, return_inverse=True)
        groups = np.unravel_index(values, width)
        return cell.astype(np.int32), [codes.astype(np.int32) for codes in groups]
    rows, cell = np.unique(stacked, axis=0, return_inverse=True)
    return cell.ravel().astype(np.int32), [rows[:, t].astype(np.int32) for t in range(len(partitions))]
