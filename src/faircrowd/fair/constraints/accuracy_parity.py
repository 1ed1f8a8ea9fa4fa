"""Accuracy parity: labels are right equally often in all groups."""

from dataclasses import dataclass
from typing import ClassVar

from faircrowd.fair.constraints.constraint_kind import Columns, Constraint, about
from faircrowd.fair.constraints.quantities import Comparison, Difference, GroupedTasks

__all__ = ["AccuracyParity"]


@dataclass(frozen=True)
class AccuracyParity(Constraint):
    """The accuracy of the labels, as the posterior believes, differs by at most ``epsilon`` between any two groups.

    Parameters
    ----------
    epsilon : float
        From 0 to 1.
    group, within : str or sequence of str, optional
        The columns whose groups are compared, and those of the strata within which they are; as for
        :class:`DemographicParity`.
    """

    epsilon: float
    group: Columns = None
    within: Columns = None
    word: ClassVar[str] = "accuracy"
    unit: ClassVar[str] = "gap"
    level_name: ClassVar[str] = "epsilon"
    is_about_truth: ClassVar[bool] = True

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        return f"allow accuracies to differ by {self.easier(level)} instead of {self.epsilon:g}"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the shares of correct labels."""
        return [
            Difference(
                [tasks.correct(a) / float(tasks.mass[a]) for a in members], self.epsilon, about("accuracy", stratum)
            )
            for stratum, members in tasks.strata
        ]
