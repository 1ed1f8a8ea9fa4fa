"""Labels as constraints count them: how many tasks of each group and true class have each label.

A constraint compares quantities that are linear in the labels (:mod:`faircrowd.fair.constraints.quantities`). With
labels that are given and a truth that is known, each of them is a sum over tasks, and mostly a *rate*: a number of
tasks divided by the number of those that it is about. Constraints are known here by their comparisons alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_count, few
from faircrowd._types import ByTask
from faircrowd.audit.given_labels import read_given_labels, read_labels_of
from faircrowd.audit.metrics.sample import shared_classes
from faircrowd.errors import InputError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.grammar import parse_constraint
from faircrowd.fair.constraints.listed import is_about_all, listed_constraints, needed_columns
from faircrowd.fair.constraints.quantities import Comparison, Quantity
from faircrowd.fair.general.partitions import (
    checked_comparisons,
    group_tasks,
    in_several,
    key_of,
    partition_by,
    why_nothing,
)
from faircrowd.fair.tasks.group_columns import GroupColumns, read_group_columns
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes import Vocabulary
from faircrowd.votes.facts import Facts
from faircrowd.votes.vocabulary import Codes

__all__ = ["CountedConstraint", "Rate", "count_labels"]

_SAME = 1e-9


@dataclass(frozen=True)
class Rate:
    """A quantity as an average over tasks.

    Attributes
    ----------
    name : str
        The group.
    value : float
    hits, size : int
        If the quantity is ``scale`` times a share of tasks: how many of how many.
    scale : float
        1 for a plain rate; 0 if the quantity is an average of other numbers than 0 and one more.
    most : float
        How much one task can add to, or take from, the quantity.
    span : float
        The difference between the largest and the smallest number that it averages over all tasks.
    groups : frozenset of int
        The groups whose tasks it depends on.
    key : bytes
        The same for quantities that are equal, or that add up to 1, whatever the labels.
    """

    name: str
    value: float
    hits: int
    size: int
    scale: float
    most: float
    span: float
    groups: frozenset[int]
    key: bytes


@dataclass(frozen=True, eq=False)
class CountedConstraint:
    """A constraint, and the labels that it is about.

    Attributes
    ----------
    constraint : Constraint
    counts : ndarray of int64, shape (n_groups, n_classes, n_classes)
        Number of tasks by group, true class and label; if the constraint is not about the truth, all are in the first
        true class.
    comparisons : tuple of Comparison
    sizes : dict
        Number of tasks of each group.
    left_out : dict
        Groups that it does not speak of, with the reason.
    alone : tuple of str
        Strata that have one group to compare.
    unknown : int
        Number of tasks that do not count because their truth is not known.
    """

    constraint: Constraint
    counts: NDArray[np.int64]
    comparisons: tuple[Comparison, ...]
    sizes: dict[str, int]
    left_out: dict[str, str]
    alone: tuple[str, ...]
    unknown: int

    @property
    def n_tasks(self) -> int:
        """Number of tasks that count."""
        return int(self.counts.sum())

    def rate(self, quantity: Quantity) -> Rate:
        """Return a quantity as an average over tasks."""
        _, n_classes, n_outcomes = self.counts.shape
        place, outcome = np.divmod(quantity.index, n_outcomes)
        group, feature = np.divmod(place, 1 + n_classes)
        # What a task of each group, true class and label adds, times the number of tasks.
        every = feature == 0
        cells = [
            (group[~every], feature[~every] - 1, outcome[~every], quantity.coefficient[~every]),
            *(
                (group[every], np.full(every.sum(), y), outcome[every], quantity.coefficient[every])
                for y in range(n_classes)
            ),
        ]
        groups, truths, outcomes, added = (np.concatenate(part) for part in zip(*cells, strict=True))
        flat, inverse = np.unique(
            np.ravel_multi_index((groups, truths, outcomes), self.counts.shape), return_inverse=True
        )
        each = np.bincount(inverse, weights=added, minlength=flat.size)
        flat, each = flat[each != 0], each[each != 0]
        counts, total = self.counts.ravel()[flat], self.n_tasks
        value = float(counts @ each) / total
        most = float(np.abs(each).max(initial=0.0))
        ends = (min(float(each.min(initial=0.0)), 0.0), max(float(each.max(initial=0.0)), 0.0))
        hits, size, scale = int(counts.sum()), total, 0.0
        if each.size and np.ptp(each) <= _SAME * most:
            scale = float(each[0])
            if abs(scale * quantity.tasks / total - 1.0) <= _SAME:
                size, scale = round(quantity.tasks), 1.0
                value = hits / size
        rows = np.unique(flat // n_outcomes)
        key = flat
        if int(self.counts.reshape(-1, n_outcomes)[rows].sum()) == size:  # the hits, or all others of these tasks
            others = np.setdiff1d((rows[:, None] * n_outcomes + np.arange(n_outcomes)).ravel(), flat)
            key = min(flat, others, key=lambda part: part.tolist())
        at = frozenset((flat // (n_classes * n_outcomes)).tolist())
        return Rate(quantity.name, value, hits, size, scale, most / total, ends[1] - ends[0], at, key.tobytes())

    def values(self, comparison: Comparison) -> NDArray[np.float64]:
        """Return the value of each quantity that is compared."""
        return np.array([self.rate(quantity).value for quantity in comparison.quantities])


def count_labels(
    labels: ByTask | Facts,
    constraints: Sequence[Constraint | str],
    *,
    sensitive_features: ByTask | Mapping[str, Facts] | None = None,
    truth: ByTask | Facts | None = None,
    labels_before: ByTask | Facts | None = None,
    reviewed: Sequence[bool] | NDArray[np.bool_] | None = None,
    min_group: int = 1,
    on_missing_group: str = "error",
) -> list[CountedConstraint]:
    """Count labels as each constraint needs them; parameters are those of ``measure_constraints``."""
    given = [constraints] if isinstance(constraints, str | Constraint) else constraints
    listed = listed_constraints(None, [parse_constraint(one) if isinstance(one, str) else one for one in given])
    check_count("min_group", min_group, least=1)
    tasks, label, classes = read_given_labels(labels)
    known, before = np.full(label.size, -1, dtype=np.int32), np.full(label.size, -1, dtype=np.int32)
    if truth is not None:
        known, label, _, classes = _with_more(tasks, classes, truth, "truth", label, before)
    if labels_before is not None:
        before, label, known, classes = _with_more(tasks, classes, labels_before, "labels_before", label, known)
    columns = _columns(tasks, listed, sensitive_features, on_missing_group)
    if uncertain := [name for name, column in columns.items() if isinstance(column, UncertainGroups)]:
        raise InputError(
            f"Labels are counted in groups that are known; {few(uncertain)} is given as probabilities.",
            parameter="sensitive_features",
        )
    open_ = np.zeros(label.size, dtype=bool) if reviewed is None else np.asarray(reviewed, dtype=bool)
    if open_.shape != label.shape:
        raise InputError(f"reviewed has {open_.size:,} values for {label.size:,} tasks; give one per task.")
    if open_.all():
        raise InputError("All tasks are sent to a person, and have no label to check.", parameter="reviewed")
    return [_count(one, label, known, before, open_, classes, columns, min_group) for one in listed]


def _with_more(
    tasks: Vocabulary, classes: Vocabulary, facts: ByTask | Facts, what: str, label: Codes, other: Codes
) -> tuple[Codes, Codes, Codes, Vocabulary]:
    """Return further labels of the tasks, and the codes of those that there are, among the classes of all."""
    codes, more = read_labels_of(tasks, facts, what)
    classes, place, further = shared_classes(classes, more)
    with_missing = np.append(place, np.int32(-1))
    return np.append(further, np.int32(-1))[codes], with_missing[label], with_missing[other], classes


def _columns(
    tasks: Vocabulary,
    constraints: Sequence[Constraint],
    sensitive_features: ByTask | Mapping[str, Facts] | None,
    on_missing_group: str,
) -> GroupColumns:
    for one in constraints:
        if one.adds_review:
            raise OptionError(
                f"{one} is about tasks that a person is to label, which labels alone do not tell; leave it out."
            )
    asks = [one for one in constraints if not one.by_own_label]
    if all(one.group_columns == () and not one.stratum_columns for one in asks):
        return {}
    if sensitive_features is None:
        raise OptionError(f"{asks[0]} compares groups; give sensitive_features=...", parameter="sensitive_features")
    return read_group_columns(
        tasks,
        sensitive_features,
        needed_columns(asks),
        take_all=any(map(is_about_all, asks)),
        on_missing_group=on_missing_group,
    )


def _count(
    constraint: Constraint,
    label: Codes,
    truth: Codes,
    before: Codes,
    reviewed: NDArray[np.bool_],
    classes: Vocabulary,
    columns: GroupColumns,
    min_group: int,
) -> CountedConstraint:
    if constraint.by_own_label and (before < 0).any():
        missing = int((before < 0).sum())
        lacks = "give labels_before=..." if missing == label.size else f"{missing:,} tasks have none"
        raise InputError(f"{constraint} compares labels with those before they were made fair; {lacks}.")
    # A reviewed task has no label yet; in a budget of changes it counts as not changed.
    counted = np.full(label.size, constraint.by_own_label) | ~reviewed
    label = np.where(reviewed, before, label) if constraint.by_own_label else label
    if constraint.is_about_truth:
        counted &= truth >= 0
        if not counted.any():
            raise InputError(f"{constraint} is about the truth; give the true labels of some tasks, truth=...")
    partition = partition_by(key_of(constraint, columns), columns, before, classes)
    shape = (len(partition.groups), len(classes), len(classes))
    true = truth if constraint.is_about_truth else np.zeros_like(truth)
    cell = np.ravel_multi_index((partition.group[counted], true[counted], label[counted]), shape)
    counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    size, total = counts.sum(axis=(1, 2)), float(counts.sum())
    grouped, left_out = group_tasks(
        partition, classes, size, size / total, counts.sum(axis=2) / total, has_review=False, min_group=min_group
    )
    grouped, alone = in_several(constraint, grouped)
    sizes = dict(zip(grouped.groups, size.tolist(), strict=True))
    try:
        comparisons = checked_comparisons(constraint, grouped)
    except OptionError as error:  # a label that there is not
        raise OptionError(f"{constraint}: {error}", parameter=error.parameters) from None
    if not comparisons:
        raise InputError(f"{constraint} has no two groups to compare: {why_nothing(sizes, left_out, alone)}.")
    return CountedConstraint(constraint, counts, comparisons, sizes, left_out, alone, int((~counted & ~reviewed).sum()))
