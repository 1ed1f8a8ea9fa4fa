"""The rule of labels under a list of constraints: for new tasks, from their posterior and sensitive columns.

The score of an outcome is what it gains minus prices. Each partition of the tasks (the columns of a constraint) has a
table of prices by group, and prices of several partitions add up. Where a constraint weighs tasks by their posterior, a
price depends on the posterior, too.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few, warn
from faircrowd.errors import DataWarning, InputError
from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.general.cell_atoms import best_outcomes, prices_at
from faircrowd.fair.general.constrained_solve import ConstrainedSolution
from faircrowd.fair.tasks.group_columns import GroupColumns, read_group_columns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tolerances import HIGHS_FEASIBILITY, TIE
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faircrowd._types import ByTask, FrameLike

__all__ = ["REVIEW", "ConstrainedRule", "PriceTable", "constrained_rule_of"]

REVIEW = "review"
"""What ``predict`` returns for a task that a person should label, unless it is one of the classes."""


class PriceTable(NamedTuple):
    """The prices of one partition.

    Attributes
    ----------
    columns : tuple of str
        The sensitive columns; none if the groups are the own labels, or if there is one group of all tasks.
    by_own_label : bool
    groups : tuple
        The groups: values of one column, or tuples.
    prices : ndarray, shape (n_groups, 1 + n_classes, n_outcomes)
        The price of each outcome, and by how much it grows with the posterior of each class.
    """

    columns: tuple[str, ...]
    by_own_label: bool
    groups: tuple[Any, ...]
    prices: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstrainedRule:
    """A rule that labels tasks by their posterior and sensitive columns.

    Attributes
    ----------
    classes : tuple
    constraints : tuple of str
        What it was learned to keep, in text.
    tables : tuple of PriceTable
    gain_matrix, gain_offset : ndarray
        As in :class:`faircrowd.fair.FairRule`.
    has_review : bool
        Whether tasks may be sent to a person.
    ties : dict
        From (group in each table, tied outcomes), as codes, to the probabilities of these outcomes.
    tie_width : float
        How near to each other the scores of a task must be to be tied.
    random_state : int
        Seed of the choice among tied outcomes.
    """

    classes: tuple[Any, ...]
    constraints: tuple[str, ...]
    tables: tuple[PriceTable, ...]
    gain_matrix: NDArray[np.float64]
    gain_offset: NDArray[np.float64]
    has_review: bool = False
    ties: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[float, ...]] = field(default_factory=dict)
    tie_width: float = TIE
    random_state: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns that the rule needs."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """The classes, and what stands for a review."""
        if not self.has_review:
            return self.classes
        name = REVIEW
        while name in self.classes:
            name += "_"
        return (*self.classes, name)

    def scores(self, posterior: NDArray[np.float64], groups: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of each task and outcome; ``groups`` has one column of codes per table."""
        gains = posterior @ self.gain_matrix + self.gain_offset
        if self.has_review:
            gains = np.column_stack([gains, posterior @ np.diag(self.gain_matrix)])
        for table, codes in zip(self.tables, groups.T, strict=True):
            gains = gains - table.prices[codes, 0]
            if table.prices[:, 1:].any():
                gains -= np.einsum("ny,nyj->nj", posterior, table.prices[codes, 1:])
        return np.asarray(gains)

    def probabilities(
        self, posterior: NDArray[np.float64], groups: NDArray[np.int32], own: Codes
    ) -> NDArray[np.float64]:
        """Return the probability of each outcome, one row per task.

        Tied outcomes have the probabilities of the rule; where it has none for them, the own label wins, or the first.
        """
        scores = self.scores(posterior, groups)
        tied = scores >= scores.max(axis=1, keepdims=True) - self.tie_width
        rows = np.arange(own.size)
        first = np.where(tied[rows, own], own, tied.argmax(axis=1))
        chances = np.zeros(scores.shape)
        chances[rows, first] = 1.0
        several = np.flatnonzero(tied.sum(axis=1) > 1)
        kinds, kind = np.unique(np.column_stack([groups[several], tied[several]]), axis=0, return_inverse=True)
        n_tables = groups.shape[1]
        for number, row in enumerate(kinds.tolist()):
            members = np.flatnonzero(row[n_tables:])
            weights = self.ties.get((tuple(row[:n_tables]), tuple(members.tolist())))
            if weights is not None:
                chances[several[kind.ravel() == number]] = np.bincount(members, weights, scores.shape[1])
        return chances

    def predict(
        self, posterior: "FrameLike | ArrayLike", sensitive_features: "ByTask", *, unknown: str = "error"
    ) -> Any:
        """Label new tasks from a posterior (a frame or an array, as for ``make_fair``) and their sensitive columns.

        A choice among tied outcomes depends on ``random_state`` and the task's id alone.

        Parameters
        ----------
        unknown : {"error", "own"}
            What to do with tasks of a group the rule does not know: raise, or give them their own label (and warn how
            many there are).
        """
        problem, chances = self._chances(posterior, sensitive_features, unknown)
        drawn = draw(chances, lambda rows: task_keys(problem.tasks, rows, self.random_state))
        return named_outcomes(problem, drawn.astype(np.int32), self.outcomes)

    def predict_proba(
        self, posterior: "FrameLike | ArrayLike", sensitive_features: "ByTask", *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Return the probability of each outcome: 0 or 1, except where outcomes are tied."""
        return self._chances(posterior, sensitive_features, unknown)[1]

    def _chances(
        self, posterior: object, sensitive_features: "ByTask", unknown: str
    ) -> tuple[Problem, NDArray[np.float64]]:
        first = read_posterior(posterior, None, without_groups=True)
        columns = read_group_columns(first.tasks, sensitive_features, self.columns) if self.columns else {}
        order = Vocabulary.of(list(self.classes)).code_of(first.classes.values)
        if first.n_classes != len(self.classes) or (order < 0).any():
            raise InputError(
                f"The posterior's classes {few(first.classes.to_list())} are not the rule's {few(self.classes)}."
            )
        values = np.empty_like(first.posterior)
        values[:, order] = first.posterior
        own = order[first.own].astype(np.int32)
        groups = self.codes(columns, own)
        strange = np.asarray(np.any(groups < 0, axis=1))
        if strange.any():
            if unknown == "error":
                raise InputError(
                    f"{int(strange.sum()):,} tasks are of groups that the rule does not know, such as "
                    f"{few(shown(first.tasks.some(np.flatnonzero(strange)[:3])))}; unknown='own' gives them their own "
                    "label."
                )
            warn(f"{int(strange.sum()):,} tasks of unknown groups got their own label.", DataWarning)
        chances = self.probabilities(values, np.where(strange[:, None], 0, groups).astype(np.int32), own)
        chances[strange] = np.eye(chances.shape[1])[own[strange]]
        return first, chances

    def codes(self, columns: GroupColumns, own: Codes) -> NDArray[np.int32]:
        """Return the group of each task in each table, -1 where a table does not know it."""
        found = []
        for table in self.tables:
            if table.by_own_label:
                found.append(own)
            elif not table.columns:
                found.append(np.zeros(own.size, dtype=np.int32))
            else:
                found.append(_codes_in(table, columns))
        return np.stack(found, axis=1).astype(np.int32)


def _codes_in(table: PriceTable, columns: GroupColumns) -> Codes:
    if len(table.columns) == 1:
        grouped = columns[table.columns[0]]
        return Vocabulary.of(list(table.groups)).code_of(grouped.groups.values)[grouped.group]
    # Each part by its own column: texts of a file and numbers of a frame are the same group.
    parts, sizes = [], []
    for j, name in enumerate(table.columns):
        known = Vocabulary.of(list(dict.fromkeys(group[j] for group in table.groups)))
        parts.append((known, known.code_of(columns[name].groups.values)[columns[name].group]))
        sizes.append(len(known))
    place = {
        tuple(known.to_list().index(part) for (known, _), part in zip(parts, group, strict=True)): code
        for code, group in enumerate(table.groups)
    }
    stacked = np.stack([codes for _, codes in parts], axis=1)
    kinds, kind = np.unique(stacked, axis=0, return_inverse=True)
    return np.array([place.get(tuple(row), -1) for row in kinds.tolist()], dtype=np.int32)[kind.ravel()]


def named_outcomes(problem: Problem, outcomes: Codes, names: tuple[Any, ...]) -> Any:
    """Return outcomes in the form that users see: labels, and what stands for a review."""
    if len(names) == problem.n_classes:
        return problem.labels(outcomes)
    if problem.as_array:
        return np.where(outcomes == problem.n_classes, -1, outcomes).astype(np.int64)
    values = Vocabulary.of(list(names))
    return problem.style.series({"task": problem.tasks}, "agg_label", ("label", values.take(outcomes)))


def constrained_rule_of(solution: ConstrainedSolution, random_state: int) -> ConstrainedRule:
    """Return the rule of a solution."""
    problem, multipliers = solution.problem, solution.best.multipliers
    tables = tuple(
        PriceTable(
            columns=(*partition.key.group, *partition.key.within),
            by_own_label=partition.key.by_own_label,
            groups=tuple(partition.groups.to_list()),
            prices=np.asarray(of_groups.T @ multipliers).reshape(tasks.shape),
        )
        for partition, of_groups, tasks in zip(
            problem.partitions, problem.rows.by_partition, problem.grouped, strict=True
        )
    )
    smallest = min(float(tasks.mass[tasks.mass > 0].min()) for tasks in problem.grouped)
    width = TIE + (10 * HIGHS_FEASIBILITY / smallest if multipliers.any() else 0.0)
    return ConstrainedRule(
        classes=tuple(problem.tasks.classes.to_list()),
        constraints=tuple(str(constraint) for constraint in problem.constraints),
        tables=tables,
        gain_matrix=problem.gain.matrix,
        gain_offset=problem.gain.offset,
        has_review=problem.has_review,
        ties=_tie_weights(solution, width),
        tie_width=width,
        random_state=random_state,
    )


def _tie_weights(
    solution: ConstrainedSolution, width: float
) -> dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[float, ...]]:
    """Average the solution over the atoms of a cell whose best outcomes are the same set."""
    problem, best, atoms = solution.problem, solution.best, solution.problem.atoms
    shape = (problem.n_cells, atoms.n_features, problem.n_outcomes)
    prices = prices_at(problem.rows, best.multipliers, shape)
    margin, _ = best_outcomes(atoms, prices)
    several = np.flatnonzero(margin <= width)
    cell = atoms.cell[several]
    scores = atoms.gains[several] - prices[cell, 0]
    if atoms.features.shape[1]:
        scores -= np.einsum("ny,nyj->nj", atoms.features[several], prices[cell, 1:])
    tied = scores >= scores.max(axis=1, keepdims=True) - width
    sums: dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.float64]] = {}
    for i, is_tied in zip(several.tolist(), tied, strict=True):
        members = tuple(np.flatnonzero(is_tied).tolist())
        at = (tuple(int(codes[atoms.cell[i]]) for codes in problem.of_cell), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + atoms.mass[i] * best.fractions[i, list(members)]
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
