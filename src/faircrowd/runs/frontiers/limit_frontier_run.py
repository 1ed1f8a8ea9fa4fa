"""What every limit of one constraint costs, the others fixed: the labels of each limit, and the files of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import about_columns
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, pose
from faircrowd.fair.general.limit_frontier import LevelPoint, limits_to_try, point_of, solve_limits, without_limit
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.from_votes import from_posterior
from faircrowd.fair.tolerances import SLACK
from faircrowd.report.charts.limit_chart import limit_chart
from faircrowd.report.constrained.constrained_story import cannot_words, left_out_words
from faircrowd.report.safe_names import short
from faircrowd.report.words.fair_words import in_points
from faircrowd.runs.frontiers.traced_frontier import TracedFrontier
from faircrowd.votes.scoring import share_right

__all__ = ["LimitFrontierRun"]

_DECISION = "deterministic"
_NONE = "–"


@dataclass(frozen=True)
class _Scored:
    """The labels of a limit, and what the truth says of them where it is known."""

    point: LevelPoint
    real_accuracy: float | None = None
    real_level: float | None = None


@dataclass(frozen=True, eq=False)
class LimitFrontierRun(TracedFrontier):
    """The frontier of a run over the limit of one constraint; the options have constraints."""

    @cached_property
    def problem(self) -> ConstrainedProblem:
        """The tasks, and what their labels must keep."""
        run, asked = self.run, self.asked
        read, tasks = run.options.read, from_posterior(run.posterior, run.votes)
        constraints, gain = about_columns(asked.constraints, read.group), make_gain(asked.objective, tasks.n_classes)
        return pose(tasks, constraints, run.columns, gain, read.min_group)

    @cached_property
    def number(self) -> int:
        """The number of the constraint whose limit is varied, from 0."""
        return self.asked.varied()

    @property
    def constraint(self) -> Constraint:
        """The constraint whose limit is varied."""
        return self.problem.constraints[self.number]

    @property
    def head(self) -> str:
        """The constraint without its limit."""
        return without_limit(self.constraint)

    @cached_property
    def scored(self) -> list[_Scored]:
        """The labels of each limit, in numbers: those that ``aggregate`` gives for it."""
        limits = limits_to_try(self.problem, self.number)
        found = solve_limits(self.problem, self.number, limits, _DECISION, self.asked.random_state)
        return [self._score(limit, solution) for limit, solution in found]

    @property
    def points(self) -> list[LevelPoint]:
        """The same, but for what the truth says."""
        return [one.point for one in self.scored]

    def _score(self, limit: float, solution: ConstrainedSolution | None) -> _Scored:
        point, truth = point_of(limit, solution, self.number, _DECISION), self.run.scoring_truth
        if solution is None or truth is None:
            return _Scored(point)
        reviewed = solution.outcomes == self.problem.tasks.n_classes
        levels = self.run.real_levels(solution.problem, solution.outcomes)
        right = share_right(np.where(reviewed, truth, solution.outcomes), truth)
        return _Scored(point, right, levels.get(str(solution.problem.constraints[self.number])))

    def _columns(self) -> dict[str, list[Any]]:
        """Return the numbers of each limit, by name; None where constraints cannot hold together."""
        columns: dict[str, list[Any]] = {
            "limit": [point.limit for point in self.points],
            "can_be_kept": [point.can_hold for point in self.points],
            "level": [point.level for point in self.points],
        }
        if self.run.scoring_truth is not None and self.constraint.is_about_truth:
            columns["real_level"] = [one.real_level for one in self.scored]
        columns["believed_accuracy"] = [point.believed_accuracy for point in self.points]
        if self.run.scoring_truth is not None:
            columns["real_accuracy"] = [one.real_accuracy for one in self.scored]
        columns["labels_changed"] = [point.changed for point in self.points]
        if self.problem.has_review:
            columns["tasks_reviewed"] = [point.reviewed for point in self.points]
        columns["all_kept"] = [point.kept if point.can_hold else None for point in self.points]
        columns["bound"] = [point.bound for point in self.points]
        columns["randomized"] = [point.randomized for point in self.points]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the points as plain values, ready for JSON."""
        columns = self._columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        others = [str(one) for c, one in enumerate(self.problem.constraints) if c != self.number]
        what = {"varied": self.head, "unit": self.constraint.unit, "asked": self.constraint.level, "fixed": others}
        return {**what, "points": rows, "notes": self.notes(), "options": self.run.options.to_dict()}

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the points as texts: the header, and a row for each."""
        real = self.run.scoring_truth is not None
        header = ["limit", self.constraint.unit.split()[0]]
        header += ["real"] if real and self.constraint.is_about_truth else []
        header += ["believed accuracy", *(["real accuracy"] if real else []), "given up", "labels changed", "of all"]
        header += ["reviewed"] if self.problem.has_review else []
        before = float(self.run.summary.believed_accuracy or 0.0)
        rows = []
        for one in self.scored:
            point = one.point
            limit = f"{point.limit:.4g}{' *' * (point.limit == self.constraint.level)}"
            if point.level is None or point.believed_accuracy is None or point.changed is None:
                rows.append([limit, "impossible", *[_NONE] * (len(header) - 2)])
                continue
            row = [limit, f"{point.level:.4f}{'' if point.kept else ', MISSED'}"]
            row += [_cell(one.real_level, ".4f")] if real and self.constraint.is_about_truth else []
            row += [f"{point.believed_accuracy:.2%}", *([_cell(one.real_accuracy, ".2%")] if real else [])]
            row += [in_points(before - point.believed_accuracy), f"{point.changed:,}"]
            row.append(f"{point.changed / self.problem.tasks.group.size:.1%}")
            rows.append([*row, *([f"{point.reviewed:,}"] if self.problem.has_review else [])])
        return header, rows

    @property
    def title(self) -> str:
        """What is varied, and what is fixed."""
        others = [str(one) for c, one in enumerate(self.problem.constraints) if c != self.number]
        sign = ">=" if self.constraint.is_floor else "<="
        return f"{self.head} {sign} limit" + (f", together with {', '.join(others)}" if others else "")

    def remarks(self) -> list[str]:
        """Return what the rows and columns are."""
        floor, unit = self.constraint.is_floor, self.constraint.unit
        found = "* is the limit that was asked for."
        if any(point.kept and _is_beyond(point, is_floor=floor) for point in self.points):
            found += (
                f" Where a {unit} is {'below' if floor else 'above'} its limit, whole tasks cannot keep that without "
                "losing more than rounding explains."
            )
        best = (
            "frontier.csv also has the bound of each limit, and in the column randomized the best that labels drawn at "
            "random reach on average."
        )
        return [found, best]

    def notes(self) -> list[str]:
        """Return what a reader should know."""
        found = []
        cannot = [point.limit for point in self.points if not point.can_hold]
        if cannot:
            found.append(cannot_words(self.constraint, [point.limit for point in self.points], cannot))
        if self.constraint.level in cannot:
            found.append(f"{self.constraint}, which was asked for, cannot be kept together with the others")
        if any(one.is_about_truth for one in self.problem.constraints):
            found.append("levels that speak of the truth are those that the posterior believes")
        uncertain = [self.problem.partitions[part.partition].uncertain for part in self.problem.compared]
        found += [
            f"levels by {column} are estimates, as its groups are known by probabilities"
            for column in dict.fromkeys(filter(None, uncertain))
        ]
        if self.problem.has_review:
            found.append("a reviewed task counts as right, and toward the rates of its group by its posterior")
        if isinstance(self.run.model, CalibratedCrowd):
            found.append(
                "believed accuracy is that of the calibrated posterior; aggregate estimates it with an interval"
            )
        for text, left_out in self._left_out().items():
            found.append(left_out_words(text, left_out))
        return found

    def _left_out(self) -> dict[str, dict[str, str]]:
        problem = self.problem
        found = {str(problem.constraints[c]): problem.left_out[t] | problem.alone(c) for c, t, _ in problem.compared}
        return {text: left_out for text, left_out in found.items() if left_out}

    def tables(self) -> dict[str, pa.Table]:
        """Return one row per limit; cells are empty where constraints cannot hold together."""
        return {"frontier.csv": pa.table(self._columns())}

    def chart(self) -> dict[str, Any]:
        """Return the specification of the chart: believed accuracy against the limit."""
        return limit_chart(self.points, self.constraint.level, short(str(self.constraint), 60), "accuracy")


def _cell(value: float | None, form: str) -> str:
    return _NONE if value is None else format(value, form)


def _is_beyond(point: LevelPoint, *, is_floor: bool) -> bool:
    """Return whether labels are beyond a limit, by a part of a task."""
    beyond = 0.0 if point.level is None else point.limit - point.level if is_floor else point.level - point.limit
    return beyond > SLACK
