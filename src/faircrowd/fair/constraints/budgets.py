"""Budgets: how many labels may be changed, and how many tasks may be sent to a person."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks, Range

__all__ = ["ChangeBudget", "ReviewBudget"]


@dataclass(frozen=True)
class ChangeBudget(Constraint):
    """At most a share of the aggregator's own labels is changed; a reviewed task does not count as changed.

    Parameters
    ----------
    share : float
        From 0 to 1.
    """

    share: float
    word: ClassVar[str] = "changed"
    unit: ClassVar[str] = "share of changed labels"
    level_name: ClassVar[str] = "share"
    by_own_label: ClassVar[bool] = True
    compares_groups: ClassVar[bool] = False

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        least = math.ceil((level - 2e-6) * n_tasks)
        return f"at least {least:,} of {n_tasks:,} labels must change ({self.easier(least / n_tasks)})"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the share of changed labels with its limit; groups are the own labels."""
        changed = [tasks.given(own, k) for own in range(tasks.n_classes) for k in range(tasks.n_classes) if k != own]
        total = changed[0]
        for part in changed[1:]:
            total = total + part
        everybody = replace(total, name="all tasks")
        return [Range([everybody], high=self.share, about="share of changed labels", budget=True)]


@dataclass(frozen=True)
class ReviewBudget(Constraint):
    """At most a share of the tasks is sent to a person, who finds the true label.

    Tasks and labels are chosen together. A reviewed task counts toward the rates of its group with its posterior.

    Parameters
    ----------
    share : float
        From 0 to 1.
    """

    share: float
    word: ClassVar[str] = "reviewed"
    unit: ClassVar[str] = "share of reviewed tasks"
    level_name: ClassVar[str] = "share"
    adds_review: ClassVar[bool] = True
    compares_groups: ClassVar[bool] = False

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        least = math.ceil((level - 2e-6) * n_tasks)
        return f"at least {least:,} of {n_tasks:,} tasks must be reviewed ({self.easier(least / n_tasks)})"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the share of reviewed tasks with its limit; all tasks are one group."""
        everybody = tasks.given(0, tasks.n_classes)
        return [Range([everybody], high=self.share, about="share of reviewed tasks", budget=True)]
