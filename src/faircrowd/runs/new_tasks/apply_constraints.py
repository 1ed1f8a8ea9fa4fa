"""The rule of a list of constraints on new tasks: labels, reasons, and how they stand to each constraint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few, suggestion
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.posterior import Posterior
from faircrowd.errors import InputError, MissingColumnError, OptionError
from faircrowd.fair.constraints.budgets import ReviewBudget
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.grammar import parse_constraint
from faircrowd.fair.constraints.listed import main_columns
from faircrowd.fair.general.beyond_chance import LevelOnTasks, level_on_tasks
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.general.constrained_solve import pose
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.from_votes import from_posterior, with_main_groups
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.report import label_tables
from faircrowd.report.constrained.constrained_reasons import constrained_columns
from faircrowd.report.summary import rule_lines
from faircrowd.report.words.unvoted_labels import with_unvoted_told
from faircrowd.runs.options import ReadOptions
from faircrowd.runs.read_inputs import read_named_columns
from faircrowd.votes import VoteTable, read_votes
from faircrowd.votes.facts import table_columns
from faircrowd.votes.frames import has_column, probability_columns
from faircrowd.votes.vocabulary import Codes

__all__ = ["AppliedConstraints", "apply_constraints", "read_new_votes"]


@dataclass(frozen=True, eq=False)
class AppliedConstraints:
    """Labels of new tasks by the rule of a list of constraints.

    Attributes
    ----------
    rule : ConstrainedRule
    votes : VoteTable
    posterior : Posterior
        Of the new tasks, by the saved model.
    outcomes : ndarray of int32
        The label of each task, coded as in the posterior; the number after the last label stands for a review.
    problem : Problem
    columns : mapping
        The sensitive columns.
    levels : tuple of LevelOnTasks
        How the labels stand to each constraint that can be measured on these tasks.
    tasks_of_unknown_groups, unknown_workers : int
        Those that the rule or the model has not seen.
    """

    rule: ConstrainedRule
    votes: VoteTable
    posterior: Posterior
    outcomes: Codes
    problem: Problem
    columns: GroupColumns
    levels: tuple[LevelOnTasks, ...]
    tasks_of_unknown_groups: int
    unknown_workers: int

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which tasks are sent to a person."""
        return np.asarray(self.outcomes == self.problem.n_classes)

    @property
    def labels(self) -> Codes:
        """The label of each task; a task that is sent to a person keeps its own."""
        return np.where(self.reviewed, self.problem.own, self.outcomes).astype(np.int32)

    @property
    def changed(self) -> int:
        """How many labels differ from the aggregator's own."""
        return int((self.labels != self.problem.own).sum())

    def tables(self) -> Any:
        """Return the table of labels in pieces."""
        return label_tables(self.votes, self.posterior, self.labels, self._columns())

    def _columns(self) -> Callable[[slice], dict[str, Any]]:
        columns = constrained_columns(self.rule, self.problem, self.columns, self.outcomes, is_drawn=True)
        return with_unvoted_told(columns, self.votes, self.labels, self.reviewed)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {
            "tasks": self.votes.n_tasks,
            "changed": self.changed,
            "reviewed": int(self.reviewed.sum()),
            "constraints": [level._asdict() for level in self.levels],
            "tasks_of_unknown_groups": self.tasks_of_unknown_groups,
            "unknown_workers": self.unknown_workers,
            "missed": self.missed,
        }

    @property
    def missed(self) -> str:
        """In what the labels miss a constraint by more than chance explains, as a sentence; empty if not."""
        beyond = [level for level in self.levels if level.excess_at_least > 0]
        if not beyond:
            return ""
        told = "; ".join(
            f"{level.text} is at {level.level:.3f}, beyond its limit by at least {level.excess_at_least:.3f} with 95% "
            "confidence"
            for level in beyond
        )
        return (
            f"the labels miss what the rule was learned to keep: {told}, more than chance explains. These tasks are "
            "not like those that the rule was learned from; learn it again from votes that include such tasks."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the numbers as pairs of a heading and a text."""
        reviewed = int(self.reviewed.sum())
        said = f"{self.votes.n_tasks:,} tasks, {self.changed:,} differ from the aggregator's own label"
        if self.rule.has_review:
            said += f", {reviewed:,} are sent to a person"
        lines = [*rule_lines(str(self.rule)), ("labels", said)]
        found = [(f"{level.text}: {level.level:.3f} on these tasks", level.level_before) for level in self.levels]
        return [*lines, *(("level", f"{now} ({before:.3f} before)") for now, before in found)]

    def notes(self) -> list[str]:
        """Return what a reader should know of these labels alone."""
        measured = {level.text for level in self.levels}
        absent = [text for text in self.rule.constraints if text not in measured]
        notes = ["levels of new tasks vary by chance, and tied tasks are drawn"] if self.levels else []
        return [*notes, *([f"{few(absent)} cannot be measured on these tasks"] if absent else [])]


def apply_constraints(
    rule: ConstrainedRule, model: Aggregator, read: ReadOptions, unknown: str, confidence: float
) -> AppliedConstraints:
    """Label new tasks by a rule and a fitted model."""
    _check_columns(rule, read)
    main = _main_columns(rule)
    is_uncertain = any(of.uncertain in main for of in rule.tables if of.uncertain)
    names = list(read.group) or ([] if is_uncertain else list(main))
    table = read_new_votes(read, names)
    columns = read_named_columns(rule.columns, table, read)
    if not names:
        table = with_main_groups(table, columns, main)
    posterior = model.posterior_of(table).in_memory()
    problem: Problem = from_posterior(posterior, table)
    coded = rule.outcome_codes(problem, columns, unknown)
    outcomes = rule.in_order_of(problem, coded)
    return AppliedConstraints(
        rule,
        table,
        posterior,
        outcomes,
        problem,
        columns,
        _levels(rule, problem, columns, outcomes, read.min_group, confidence),
        int(np.count_nonzero(rule.coded(problem, columns)[2].is_unknown)),
        int(np.count_nonzero(model.votes_.workers.code_of(table.workers.values) < 0)),
    )


def _main_columns(rule: ConstrainedRule) -> tuple[str, ...]:
    """Return the columns by which the model learned, if it did by group: those that ``fit`` took, told by the rule."""
    for table in rule.tables:
        try:
            found = main_columns([parse_constraint(table.constraint)], ())
        except OptionError:  # a constraint of the user's own
            found = table.columns
        if found:
            return found
    return rule.columns


def read_new_votes(read: ReadOptions, group: Sequence[str]) -> VoteTable:
    """Read the votes on new tasks, with their groups if there are columns of them; raise if there are no votes."""
    assert read.votes is not None  # noqa: S101 - checked where options are
    table = read_votes(read.votes, sensitive_features=list(group) or None, tasks=read.tasks, **read.arguments)
    if table.n_votes == 0:
        raise InputError(f"{read.votes} has no vote to use. Is it the right file?")
    return table


def _check_columns(rule: ConstrainedRule, read: ReadOptions) -> None:
    """Raise unless the tasks or the votes have the columns that a rule goes by."""
    places = [place for place in (read.tasks, read.votes) if place is not None]
    tables = [place for place in (read.tasks, read.votes_table) if place is not None] if rule.columns else []
    known = [name for table in tables for name in table_columns(table, read.delimiter)]
    known += probability_columns(known)
    if lacking := [name for name in rule.columns if not has_column(known, name)]:
        raise MissingColumnError(
            f"The rule goes by the columns {few(rule.columns)}; {few(lacking)} is not in "
            f"{' or '.join(map(str, places))}.{suggestion(lacking[0], known)}",
            parameter="tasks",
        )


def _levels(
    rule: ConstrainedRule,
    problem: Problem,
    columns: GroupColumns,
    outcomes: Codes,
    min_group: int,
    confidence: float,
) -> tuple[LevelOnTasks, ...]:
    """Measure the labels by each constraint; one that has not two groups to compare here is left out."""
    gain = Gain("accuracy", rule.gain_matrix, rule.gain_offset)
    found = []
    for text in rule.constraints:
        try:
            asked: list[Constraint] = [parse_constraint(text)]
            if rule.has_review and not asked[0].adds_review:
                asked.append(ReviewBudget(1.0))
            posed = pose(problem, asked, columns, gain, min_group)
        except OptionError:  # a constraint of the user's own, or one group only
            continue
        found.append(level_on_tasks(posed, 0, outcomes, confidence))
    return tuple(found)
