"""Labels under a list of constraints, and what comes with them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice, check_count, few, warn
from faircrowd._display import Labelled, chart_of
from faircrowd.errors import DataWarning, DrasticChangeWarning, InfeasibleError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.general.best_fractions import BestFractions
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, KeptConstraint, certify_constraints
from faircrowd.fair.general.constrained_rule import ConstrainedRule, named_outcomes
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, pose, solve_constraints
from faircrowd.fair.general.learn_rule import constrained_rule_of
from faircrowd.fair.general.least_relaxation import find_clash
from faircrowd.fair.general.limit_frontier import (
    LimitFrontier,
    check_limits,
    limits_to_try,
    point_of,
    solve_limits,
    varied,
)
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes.group_policy import left_out_lines
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from faircrowd._display import Chart

__all__ = [
    "ConstrainedResult",
    "refuse_with_constraints",
    "solve_constrained",
    "uncertain_words",
    "warn_of_constrained",
]

_MANY_CHANGED = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedResult(Labelled):
    """Fair labels under a list of constraints, and what comes with them.

    ``to_frame()`` has one row per task: label, label before, posterior, sensitive columns and reason.

    Attributes
    ----------
    labels
        The label of each task, in the order of the posterior: a Series like an aggregator's, or an array for an array.
        A task that a person should label has "review" (-1 in an array).
    probabilities
        The probability of each label under the best randomized rule; with a review budget, the last column is that of
        a review.
    rule : ConstrainedRule
        For new tasks.
    certificate : ConstrainedCertificate
    reviewed : ndarray of bool
        Which tasks are sent to a person.
    alarm : str
        A warning about labels that were ruined to keep the constraints; empty if they were not.
    strict : bool
        Whether the labels were asked to keep every limit to the letter.
    """

    _in_short = ("certificate", "alarm")

    problem: ConstrainedProblem
    solved: ConstrainedSolution
    rule: ConstrainedRule
    certificate: ConstrainedCertificate
    strict: bool = False

    @cached_property
    def labels(self) -> Any:
        """The label of each task."""
        return named_outcomes(self.problem.tasks, self.solved.outcomes, self.rule.outcomes)

    @cached_property
    def probabilities(self) -> Any:
        """The probability of each outcome, one row per task."""
        tasks = self.problem.tasks
        if self.problem.has_review or tasks.as_array:
            return self.solved.probabilities
        return tasks.frame(self.solved.probabilities)

    @property
    def label_codes(self) -> Codes:
        """The label of each task as a code; a task that is sent to a person has its own label."""
        return np.where(self.reviewed, self.problem.tasks.own, self.solved.outcomes).astype(np.int32)

    @property
    def reviewed(self) -> NDArray[np.bool_]:
        """Which tasks are sent to a person, in the order of the posterior."""
        return np.asarray(self.solved.outcomes == self.problem.tasks.n_classes)

    @cached_property
    def alarm(self) -> str:
        """What is drastic about the labels, and what to do; empty if nothing is."""
        certificate, tasks = self.certificate, self.problem.tasks
        counts = [np.bincount(codes, minlength=self.problem.n_outcomes) for codes in (tasks.own, self.label_codes)]
        gone = [tasks.classes.names[k] for k in range(tasks.n_classes) if counts[0][k] and not counts[1][k]]
        unlikely = counts[1][: tasks.n_classes].astype(bool) & ~(tasks.posterior > 0).any(axis=0)
        told = []
        if unlikely.any():
            new = [tasks.classes.names[k] for k in np.flatnonzero(unlikely).tolist()]
            told.append(
                f"{int(counts[1][: tasks.n_classes][unlikely].sum()):,} tasks get the label {few(new)}, which "
                "has probability 0 in every task,"
            )
        if certificate.changed_share > _MANY_CHANGED:
            told.append(f"{certificate.changed:,} of {certificate.tasks:,} labels change")
        if gone:
            told.append(f"no task gets the label {few(gone)} any more")
        if not told or certificate.value >= certificate.value_before:
            return ""
        has_budget = any(constraint.by_own_label for constraint in self.problem.constraints)
        dearest = max(certificate.constraints, key=lambda kept: kept.price)
        return (
            f"{' and '.join(told)} to keep {', '.join(kept.text for kept in certificate.constraints)}; the objective "
            f"is {certificate.value:.3f}, before {certificate.value_before:.3f}. {dearest.text} costs most: relax it"
            + ("." if has_budget else ', or add a limit on changes ("changed <= 0.1").')
        )

    @cached_property
    def frontier(self) -> LimitFrontier:
        """What other limits of the first constraint with a single limit would give, the others fixed."""
        return self.frontier_over()

    def frontier_over(
        self, constraint: int | str | None = None, levels: Sequence[float] | None = None
    ) -> LimitFrontier:
        """Return what other limits of one constraint would give, the others fixed: the labels of each, in numbers.

        At the limit that the constraint has, these are the numbers of the certificate; at others, of the labels that
        :func:`faircrowd.make_fair` returns for it (without ``strict``, which may take a minute each).

        Parameters
        ----------
        constraint : int or str, optional
            The number of the constraint, from 0, or its text, with or without the limit; by default the first that has
            a single limit.
        levels : sequence of float, optional
            The limits; by default round ones from the tightest to the first that asks for nothing, and its own.

        Examples
        --------
        >>> import numpy as np
        >>> from faircrowd import make_fair
        >>> from faircrowd.constraints import ChangeBudget, DemographicParity
        >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
        >>> asked = [DemographicParity(0.5), ChangeBudget(0.25)]
        >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], constraints=asked)
        >>> [(point.limit, point.level, point.changed) for point in fair.frontier_over("parity", [0.25, 0.5, 1.0])]
        [(0.25, None, None), (0.5, 0.5, 2), (1.0, 1.0, 0)]
        """
        number = varied(self.problem.constraints, constraint)
        limits = limits_to_try(self.problem, number) if levels is None else check_limits(levels)
        decision, seed = self.certificate.decision, self.rule.random_state
        found = solve_limits(self.problem, number, limits, decision, seed, self.solved)
        points = [point_of(limit, solution, number, decision) for limit, solution in found]
        varied_one = self.problem.constraints[number]
        return LimitFrontier(points, varied_one, self.certificate.objective, self.problem.tasks.style)

    def plot(self, chart: str = "rates") -> "Chart":
        """Return a chart of the labels.

        Parameters
        ----------
        chart : {"rates", "frontier"}
            What each constraint compares, by group, before and after; or what other limits of the first would cost.
        """
        return chart_of(self, chart)


def solve_constrained(
    problem: Problem,
    columns: GroupColumns,
    constraints: Sequence[Constraint],
    *,
    objective: str | ArrayLike = "accuracy",
    decision: str = "deterministic",
    random_state: int = 0,
    strict: bool = False,
    min_group: int = 1,
    on_missing_group: str = "error",
) -> ConstrainedResult:
    """Find the best labels that keep all constraints, with their rule and certificate.

    Raises
    ------
    InfeasibleError
        If no labels do; the message says which constraints clash, and the least relaxation that would do.
    """
    check_choice("decision", decision, ("deterministic", "randomized"))
    random_state = check_count("random_state", random_state)
    if strict and decision == "randomized":
        raise OptionError(
            "strict=True is for deterministic labels: a draw keeps limits only on average. Leave out strict, or "
            "decision='randomized'.",
            parameter=("strict", "decision"),
        )
    min_group = check_count("min_group", min_group, least=1)
    if isinstance(objective, str) and objective == "f1":
        raise OptionError(
            "objective='f1' goes with epsilon alone, not with constraints; give 'accuracy' or a matrix of gains.",
            parameter=("objective", "constraints"),
        )
    _check_repeats(constraints)
    posed = pose(problem, constraints, columns, make_gain(objective, problem.n_classes), min_group)
    solved = solve_constraints(posed, decision, random_state, strict)
    if isinstance(solved, BestFractions):
        raise InfeasibleError(find_clash(posed).message, parameter="constraints")
    return ConstrainedResult(
        posed,
        solved,
        constrained_rule_of(solved, random_state),
        replace(certify_constraints(solved, decision, min_group, on_missing_group), style=problem.style),
        strict,
    )


def _check_repeats(constraints: Sequence[Constraint]) -> None:
    """Raise if two constraints are the same but for their limit, and how they are written."""
    seen: dict[object, Constraint] = {}
    for constraint in constraints:
        subject = _subject(constraint)
        if subject in seen:
            raise OptionError(
                f"{seen[subject]} and {constraint} are about the same; keep one.", parameter="constraints"
            )
        seen[subject] = constraint


def _subject(constraint: Constraint) -> object:
    """Return what a constraint is about, but for its limit: equal for a list of one column and the column itself."""
    values = {one.name: getattr(constraint, one.name) for one in fields(constraint)}  # type: ignore[arg-type]
    values.pop(constraint.level_name, None)
    label, labels = values.pop("label", None), values.pop("labels", None)
    columns = constraint.group_columns
    written = {
        **values,
        "group": None if columns is None else sorted(set(columns)),
        "within": sorted(set(constraint.stratum_columns)),
        "labels": sorted(map(repr, labels)) if labels is not None else None if label is None else [repr(label)],
    }
    return type(constraint), constraint.level_name, repr(sorted(written.items()))


def refuse_with_constraints(confidence: float | None, promise: str, positive: object, small_groups: str) -> None:
    """Raise for options that go with epsilon alone."""
    given = {
        "confidence": confidence is not None,
        "promise": promise != "required",
        "positive": positive is not None,
        "small_groups": small_groups != "leave-out",
    }
    for name, is_given in given.items():
        if is_given:
            raise OptionError(
                f"{name} goes with epsilon alone, not with other constraints; leave it out.",
                parameter=(name, "epsilon"),
            )


def warn_of_constrained(result: ConstrainedResult) -> None:
    """Warn of groups that were left out, and of labels that were ruined to keep the constraints."""
    problem = result.problem
    alone = [(problem.alone(c), problem.grouped[t]) for c, t, _ in problem.compared]
    for left_out, tasks in [*zip(problem.left_out, problem.grouped, strict=True), *alone]:
        sizes = dict(zip(tasks.groups, tasks.tasks.tolist(), strict=True))
        for line in left_out_lines(left_out, sizes, ()):
            warn(line, DataWarning)
    for kept in result.certificate.constraints:
        if kept.uncertain is not None:
            warn(f"{kept.text}: {uncertain_words(kept)}", DataWarning)
    if result.alarm:
        warn(result.alarm, DrasticChangeWarning)


def uncertain_words(kept: KeptConstraint) -> str:
    """Say what levels of groups are worth that are known by their probabilities; nothing if they are known."""
    if kept.uncertain is None:
        return ""
    column, worst = kept.uncertain["column"], kept.uncertain["level"]
    told = (
        f"the groups of {column} are known by probabilities, so {kept.level:.4g} is an estimate. It is right if labels "
        "do not depend on the group among tasks of similar probability"
    )
    if worst is None:
        return f"{told}, and if the truth does not, either."
    return f"{told}; if they do, it may be {worst:.4g}."
