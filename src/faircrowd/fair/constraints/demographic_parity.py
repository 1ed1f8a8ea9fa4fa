"""Demographic parity: groups get each label equally often."""

from dataclasses import dataclass
from typing import Any, ClassVar

from faircrowd.fair.constraints.constraint_kind import Columns, Constraint, about
from faircrowd.fair.constraints.quantities import Comparison, Difference, GroupedTasks

__all__ = ["DemographicParity"]


@dataclass(frozen=True)
class DemographicParity(Constraint):
    """The share of tasks that get a label differs by at most ``epsilon`` between any two groups.

    Parameters
    ----------
    epsilon : float
        From 0 to 1.
    group : str or sequence of str, optional
        The column whose groups are compared; several are intersected. By default all sensitive columns.
    within : str or sequence of str, optional
        Groups are compared within each value of these columns.
    label : optional
        The label whose share is compared; by default every label.
    labels : sequence, optional
        Several labels.
    """

    epsilon: float
    group: Columns = None
    within: Columns = None
    label: Any = None
    labels: Any = None
    word: ClassVar[str] = "parity"
    unit: ClassVar[str] = "gap"
    level_name: ClassVar[str] = "epsilon"

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        return f"allow a gap of {self.easier(level)} instead of {self.epsilon:g}"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the rates of each label."""
        names = tasks.classes.names
        return [
            Difference([tasks.rate(a, k) for a in members], self.epsilon, about(f"rate of label {names[k]}", stratum))
            for stratum, members in tasks.strata
            for k in self.labels_of(tasks.classes)
        ]
