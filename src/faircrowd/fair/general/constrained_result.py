"""Labels under a list of constraints, and what comes with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice, check_count, check_number, few, warn
from faircrowd.errors import DataWarning, DrasticChangeWarning, InfeasibleError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.general.best_fractions import BestFractions, find_best_fractions
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, certify_constraints, measure
from faircrowd.fair.general.constrained_rule import ConstrainedRule, named_outcomes
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, pose, solve_constraints
from faircrowd.fair.general.learn_rule import constrained_rule_of
from faircrowd.fair.general.least_relaxation import find_clash
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes.group_policy import left_out_lines
from faircrowd.votes.vocabulary import Codes

__all__ = ["ConstrainedResult", "LevelPoint", "refuse_with_constraints", "solve_constrained", "warn_of_constrained"]

_LEVELS = 21
_MANY_CHANGED = 0.25


class LevelPoint(NamedTuple):
    """What the best randomized labels reach at one limit of a constraint; NaN where the constraints cannot hold."""

    limit: float
    level: float
    value: float


@dataclass(frozen=True, eq=False)
class ConstrainedResult:
    """Fair labels under a list of constraints, and what comes with them.

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
    """

    problem: ConstrainedProblem
    solved: ConstrainedSolution
    rule: ConstrainedRule
    certificate: ConstrainedCertificate

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
        told = []
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
    def frontier(self) -> "tuple[LevelPoint, ...]":
        """What other limits of the first constraint would give, the others fixed."""
        return self.frontier_over()

    def frontier_over(
        self, constraint: int | None = None, levels: Sequence[float] | None = None
    ) -> tuple[LevelPoint, ...]:
        """Return what the best randomized labels reach at other limits of one constraint, the others fixed.

        Parameters
        ----------
        constraint : int, optional
            The number of the constraint; by default the first that has a single limit.
        levels : sequence of float, optional
            The limits; by default 21 from 0 to twice its own limit (from half to 1 for a floor), and its own.
        """
        constraints = self.problem.constraints
        movable = [c for c, kept in enumerate(constraints) if kept.level_name]
        if not movable or (constraint is not None and constraint not in movable):
            raise OptionError("A frontier varies the limit of one constraint, and this one has no single limit.")
        number = movable[0] if constraint is None else constraint
        own = constraints[number].level
        if levels is None:
            ends = (own / 2, 1.0) if constraints[number].is_floor else (0.0, min(2 * own, 1.0) or 0.1)
            levels = sorted({*np.linspace(*ends, _LEVELS).tolist(), own})
        points, start = [], self.solved.best.multipliers
        for limit in levels:
            posed = self.problem.with_level(number, check_number("levels", limit, low=0, high=1))
            best = find_best_fractions(posed.atoms, posed.rows, posed.n_cells, start)
            if best.is_feasible:
                start = best.multipliers
                points.append(LevelPoint(limit, measure(posed, best.fractions)[number].level, best.value))
            else:
                points.append(LevelPoint(limit, np.nan, np.nan))
        return tuple(points)


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
        certify_constraints(solved, decision, min_group, on_missing_group),
    )


def _check_repeats(constraints: Sequence[Constraint]) -> None:
    """Raise if two constraints are the same but for their limit."""
    seen: dict[object, Constraint] = {}
    for constraint in constraints:
        same = (
            constraint.with_level(0.5) if isinstance(constraint, Constraint) and constraint.level_name else constraint
        )
        try:
            other = seen.setdefault(same, constraint)
        except TypeError:  # a list of columns or labels; not hashable
            other = seen.setdefault(repr(same), constraint)
        if other is not constraint:
            raise OptionError(f"{other} and {constraint} are about the same; keep one.", parameter="constraints")


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
    for left_out, tasks in zip(result.problem.left_out, result.problem.grouped, strict=True):
        sizes = dict(zip(tasks.groups, tasks.tasks.tolist(), strict=True))
        for line in left_out_lines(left_out, sizes, ()):
            warn(line, DataWarning)
    if result.alarm:
        warn(result.alarm, DrasticChangeWarning)
