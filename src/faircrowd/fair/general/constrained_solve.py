"""From tasks and a list of constraints to labels: atoms, the best randomized outcomes, then those of whole tasks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks
from faircrowd.fair.general.best_fractions import BestFractions, find_best_fractions
from faircrowd.fair.general.cell_atoms import CellAtoms, amounts_of
from faircrowd.fair.general.partitions import (
    CountedFeatures,
    Partition,
    PartitionKey,
    cells_of,
    checked_comparisons,
    counted_features,
    features_of,
    group_tasks,
    in_several,
    key_of,
    partition_by,
    why_nothing,
)
from faircrowd.fair.general.row_matrix import Compared, RowMatrix, make_rows
from faircrowd.fair.general.whole_outcomes import WholeOutcomes, draw_whole, gained_by, round_whole, strict_whole
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import merge, merge_by_weight
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.uncertain_groups import UncertainGroups
from faircrowd.votes.vocabulary import Codes

__all__ = ["REVIEW", "ConstrainedProblem", "ConstrainedSolution", "outcome_names", "pose", "solve_constraints"]


REVIEW = "review"
"""What stands for a task that a person should label, unless it is one of the classes."""


def outcome_names(classes: Sequence[Any]) -> list[Any]:
    """Return the classes, and what stands for a review.

    Examples
    --------
    >>> outcome_names(["keep", "review"])
    ['keep', 'review', 'review_']
    """
    name = REVIEW
    while name in classes:
        name += "_"
    return [*classes, name]


@dataclass(frozen=True, eq=False)
class ConstrainedProblem:
    """Tasks in memory and what their labels must keep.

    Attributes
    ----------
    tasks : Problem
    constraints : tuple of Constraint
    gain : Gain
    columns : mapping
        The sensitive columns.
    partitions : tuple of Partition
        The groups that constraints compare.
    grouped : tuple of GroupedTasks
        The same, as constraints see them.
    left_out : tuple of dict
        For each partition, the groups that no constraint speaks of, with the reason.
    atoms : CellAtoms
    atom : ndarray of int64, shape (n_tasks,)
        The atom of each task.
    posterior : ndarray, shape (n_atoms, n_classes)
    features : ndarray, shape (n_atoms, n_all_features)
        All features but the first: the posterior, and what the probabilities of uncertain groups add.
    counted : list of CountedFeatures
        By which features tasks count for the groups of each partition.
    of_cell : list of ndarray of int32
        The group of each cell in each partition.
    compared : tuple of Compared
        The comparisons of each constraint.
    rows : RowMatrix
    """

    tasks: Problem
    constraints: tuple[Constraint, ...]
    gain: Gain
    columns: GroupColumns
    partitions: tuple[Partition, ...]
    grouped: tuple[GroupedTasks, ...]
    left_out: tuple[dict[str, str], ...]
    atoms: CellAtoms
    atom: NDArray[np.int64]
    posterior: NDArray[np.float64]
    features: NDArray[np.float64]
    counted: list[CountedFeatures]
    of_cell: list[Codes]
    compared: tuple[Compared, ...]
    rows: RowMatrix

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.of_cell[0].size

    @property
    def has_review(self) -> bool:
        """Whether tasks may be sent to a person."""
        return any(constraint.adds_review for constraint in self.constraints)

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes: the labels, and perhaps "send to a person"."""
        return self.tasks.n_classes + int(self.has_review)

    def with_level(self, number: int, level: float) -> "ConstrainedProblem":
        """Return the same problem with another limit for one of the constraints."""
        constraints = list(self.constraints)
        constraints[number] = constraints[number].with_level(level)
        compared = [
            Compared(c, t, old if c != number else _comparisons(constraints[c], self.grouped[t], self.left_out[t]))
            for c, t, old in self.compared
        ]
        rows = make_rows(compared, self.grouped, self.of_cell, self.counted, self.tasks.group.size)
        atoms = self.atoms._replace(features=self.weighed_by(rows))
        return replace(self, constraints=tuple(constraints), compared=tuple(compared), rows=rows, atoms=atoms)

    def weighed_by(self, rows: RowMatrix) -> NDArray[np.float64]:
        """Return the features of each atom that rows weigh tasks by."""
        if np.array_equal(rows.features, self.rows.features):
            return self.atoms.features
        return np.ascontiguousarray(self.features[:, rows.features - 1])

    def alone(self, number: int) -> dict[str, str]:
        """Return the groups that a constraint finds alone in their stratum, with that as the reason."""
        tasks = self.grouped[self.compared[number].partition]
        found = [members for _, members in tasks.strata if members.size == 1]
        if not self.constraints[number].compares_groups:
            return {}
        return {tasks.groups[int(a)]: "the only group of its stratum" for members in found for a in members}

    def amounts(self, fractions: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the amounts of the groups of each partition, given the fraction of each atom per outcome."""
        by_cell = amounts_of(self.atoms._replace(features=self.features), fractions, self.n_cells)
        found = []
        for tasks, of_cell, (group, feature) in zip(self.grouped, self.of_cell, self.counted, strict=True):
            amounts = np.zeros(tasks.shape)
            np.add.at(amounts, group[of_cell], by_cell[:, feature])
            found.append(amounts)
        return found

    def memberships(self, partition: int, atoms: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the groups of a partition that some atoms count for, and the weight by which they do.

        That is one group, with weight 1, if all groups are known; else one per group of the uncertain column, with its
        probability.
        """
        by = self.counted[partition]
        groups = by.group[self.of_cell[partition][self.atoms.cell[atoms]]]
        number = by.feature[:, 0]
        return groups, self.features[atoms][:, number - 1] if number.any() else np.ones(groups.shape)

    def fractions_of(self, outcomes: Codes) -> NDArray[np.float64]:
        """Return the fraction of each atom that gets each outcome."""
        n = self.n_outcomes
        counts = np.bincount(self.atom * n + outcomes, minlength=self.atoms.mass.size * n).reshape(-1, n)
        return np.asarray(counts / self.atoms.n_tasks[:, None])


@dataclass(frozen=True, eq=False)
class ConstrainedSolution:
    """The best outcomes that keep the constraints.

    Attributes
    ----------
    outcomes : ndarray of int32, shape (n_tasks,)
        The label of each task; the number after the last label stands for "send to a person".
    best : BestFractions
        The best randomized outcomes.
    value, bound : float
        What the outcomes gain, and what none that keep the constraints exceed.
    optimal : bool
    excess : float
        By how much limits may be exceeded because tasks are whole, in tasks of the smallest group.
    solver : str
    seconds : float
    """

    problem: ConstrainedProblem
    outcomes: Codes
    best: BestFractions
    value: float
    bound: float
    optimal: bool
    excess: float
    solver: str
    seconds: float

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each outcome under the best randomized outcomes, one row per task."""
        return np.asarray(self.best.fractions[self.problem.atom])


def pose(
    tasks: Problem,
    constraints: Sequence[Constraint],
    columns: GroupColumns,
    gain: Gain,
    min_group: int = 1,
) -> ConstrainedProblem:
    """Bring tasks and constraints into the form that is solved.

    Parameters
    ----------
    columns : mapping
        The sensitive columns: by name, the code of each task and the values.
    min_group : int
        Groups with fewer tasks are left out of the constraints.
    """
    if not constraints:
        raise OptionError("constraints is an empty list; give at least one, or leave it out.", parameter="constraints")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise OptionError(
                "constraints is a list of constraints of faircrowd.constraints, such as DemographicParity(0.05); "
                f"got {constraint!r}.",
                parameter="constraints",
            )
    keys: dict[PartitionKey, int] = {}
    number = [keys.setdefault(key_of(constraint, columns), len(keys)) for constraint in constraints]
    partitions = tuple(partition_by(key, columns, tasks.own, tasks.classes) for key in keys)
    cell, of_cell = cells_of(partitions)
    by_name = {partition.uncertain: columns[partition.uncertain] for partition in partitions if partition.uncertain}
    uncertain = {name: of.probabilities for name, of in by_name.items() if isinstance(of, UncertainGroups)}
    alike = np.column_stack([tasks.posterior, *uncertain.values()]) if uncertain else tasks.posterior
    merged = merge(alike, cell, None) if tasks.weights is None else merge_by_weight(alike, cell, tasks.weights)
    assert merged.of_task is not None  # noqa: S101 - merge always says it
    mass = merged.mass / merged.mass.sum()
    ends = np.cumsum([tasks.n_classes, *(table.shape[1] for table in uncertain.values())])
    posterior, *chances = np.split(merged.gains, ends[:-1], axis=1) if uncertain else [merged.gains]
    features, numbers = features_of(posterior, dict(zip(uncertain, chances, strict=True)))
    counted = counted_features(partitions, numbers, tasks.n_classes)
    has_review = any(constraint.adds_review for constraint in constraints)
    grouped, left_out = [], []
    for partition, codes, by in zip(partitions, of_cell, counted, strict=True):
        group = codes[merged.group]
        n_tasks = _sums_by_group(group, by, merged.n_tasks, features)[:, 0]
        weight = _sums_by_group(group, by, mass, features)
        found, small = group_tasks(
            partition,
            tasks.classes,
            np.rint(n_tasks).astype(np.int64),
            np.ascontiguousarray(weight[:, 0]),
            np.ascontiguousarray(weight[:, 1:]),
            has_review,
            min_group,
        )
        grouped.append(found)
        left_out.append(small)
    compared = tuple(
        Compared(c, t, _comparisons(constraint, grouped[t], left_out[t]))
        for c, (constraint, t) in enumerate(zip(constraints, number, strict=True))
    )
    rows = make_rows(compared, grouped, of_cell, counted, tasks.group.size)
    gains = gain.of(posterior)
    if has_review:  # a person finds the true label, and gains what it gains
        gains = np.column_stack([gains, posterior @ np.diag(gain.matrix)])
    atoms = CellAtoms(
        np.ascontiguousarray(gains),
        np.ascontiguousarray(features[:, rows.features - 1]),
        merged.group,
        mass,
        merged.n_tasks.astype(np.int64),
    )
    return ConstrainedProblem(
        tasks,
        tuple(constraints),
        gain,
        columns,
        partitions,
        tuple(grouped),
        tuple(left_out),
        atoms,
        merged.of_task,
        posterior,
        features,
        counted,
        of_cell,
        compared,
        rows,
    )


def _sums_by_group(
    group: Codes, by: CountedFeatures, weight: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of the features by which atoms count for each group, shape (n_groups, 1 + n_classes)."""
    n_known, sums = by.group.shape[0], np.zeros((by.group.size, by.feature.shape[1]))
    for value, numbers in enumerate(by.feature):
        for place, number in enumerate(numbers):
            weighed = weight if number == 0 else weight * features[:, number - 1]
            sums[by.group[:, value], place] = np.bincount(group, weights=weighed, minlength=n_known)
    return sums


def _comparisons(constraint: Constraint, tasks: GroupedTasks, left_out: dict[str, str]) -> tuple[Comparison, ...]:
    """Return what a constraint compares; raise if there is nothing."""
    compared, alone = in_several(constraint, tasks)
    sizes = dict(zip(tasks.groups, tasks.tasks.tolist(), strict=True))
    found: tuple[Comparison, ...] = ()
    if compared.strata:
        try:
            found = checked_comparisons(constraint, compared)
        except OptionError as error:  # a label that there is not
            raise OptionError(f"{constraint}: {error}", parameter=error.parameters) from None
    if not found:
        raise OptionError(f"{constraint} has no two groups to compare: {why_nothing(sizes, left_out, alone)}.")
    return found


def solve_constraints(
    problem: ConstrainedProblem,
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    start: NDArray[np.float64] | None = None,
) -> ConstrainedSolution | BestFractions:
    """Find the best labels; if none keep the constraints, return the randomized outcomes that violate them least."""
    began = time.perf_counter()
    atoms, rows, n_cells = problem.atoms, problem.rows, problem.n_cells
    best = find_best_fractions(atoms, rows, n_cells, start)
    if not best.is_feasible:
        return best
    if decision == "randomized":
        whole = WholeOutcomes(draw_whole(atoms, best, random_state), 1.0)
    elif strict:
        found = strict_whole(atoms, rows, n_cells, best)
        if found is None:
            raise OptionError(
                "strict=True asks for labels of whole tasks that keep every constraint to the letter, and none were "
                "found; leave it out, or relax a constraint.",
                parameter="strict",
            )
        whole = found
    else:
        whole = round_whole(atoms, rows, n_cells, best, _rounding_loss(problem))
    value = gained_by(atoms, whole.counts)
    bound = min(best.bound, whole.bound)
    is_optimal = best.bound - best.value <= 1e-9 if decision == "randomized" else bound - value <= 1e-9
    return ConstrainedSolution(
        problem,
        _assign(problem, whole.counts, random_state, by_evidence=decision == "deterministic"),
        best,
        value,
        bound,
        is_optimal,
        whole.excess,
        best.solver,
        time.perf_counter() - began,
    )


def _rounding_loss(problem: ConstrainedProblem) -> float:
    """Return what rounding explains: one task per rate that is rounded, each at the most that a label can be worth."""
    worth = problem.gain.matrix + problem.gain.offset
    most = float((worth.max(axis=1) - worth.min(axis=1)).max())
    n_groups = max(tasks.mass.size for tasks in problem.grouped)
    return n_groups * (problem.tasks.n_classes - 1) * most / problem.tasks.group.size


def _assign(problem: ConstrainedProblem, counts: NDArray[np.int64], random_state: int, *, by_evidence: bool) -> Codes:
    """Return the outcome of each task; tasks of one atom get its outcomes one after another, in the seeded order.

    Tasks of more evidence keep the aggregator's own label, unless labels were drawn.
    """
    atom, tasks = problem.atom, problem.tasks
    outcomes: Codes = np.argmax(counts, axis=1).astype(np.int32)[atom]
    split = (counts > 0).sum(axis=1) > 1
    rows = np.flatnonzero(split[atom])
    if not rows.size:
        return outcomes
    own = np.zeros(counts.shape, dtype=np.int64)
    np.add.at(own, (atom[rows], tasks.own[rows]), 1)
    order = tasks.ordered if by_evidence else tasks.shuffled
    rows = order(rows, random_state, atom[rows])
    for members in np.split(rows, np.flatnonzero(np.diff(atom[rows])) + 1):
        of = atom[members[0]]
        first = int(np.argmax(own[of]))
        ranks = [first, *(k for k in range(counts.shape[1]) if k != first)]
        outcomes[members] = np.repeat(ranks, counts[of][ranks])
    return outcomes
