"""Equal opportunity and equalized odds: groups get each label equally often where the truth is the same."""

from dataclasses import dataclass
from typing import Any, ClassVar

from faircrowd.fair.constraints.constraint_kind import Columns, Constraint, about
from faircrowd.fair.constraints.quantities import Comparison, Difference, GroupedTasks

__all__ = ["EqualOpportunity", "EqualizedOdds"]


@dataclass(frozen=True)
class EqualOpportunity(Constraint):
    """Tasks that truly are of a class get its label equally often in all groups, but for ``epsilon``.

    Which tasks are of the class is what the posterior believes.

    Parameters
    ----------
    epsilon : float
        From 0 to 1.
    label : optional
        The class; by default every class.
    group, within : str or sequence of str, optional
        The columns whose groups are compared, and those of the strata within which they are; as for
        :class:`DemographicParity`.
    labels : sequence, optional
        Several classes.
    """

    epsilon: float
    label: Any = None
    group: Columns = None
    within: Columns = None
    labels: Any = None
    word: ClassVar[str] = "opportunity"
    unit: ClassVar[str] = "gap"
    level_name: ClassVar[str] = "epsilon"
    is_about_truth: ClassVar[bool] = True

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        return f"allow a gap of {self.easier(level)} instead of {self.epsilon:g} in opportunity"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare, for each class, the rates of its label among its tasks."""
        return [found for k in self.labels_of(tasks.classes) for found in _where_true(tasks, k, k, self.epsilon)]


@dataclass(frozen=True)
class EqualizedOdds(Constraint):
    """Tasks of the same true class get each label equally often in all groups, but for ``epsilon``.

    Which tasks are of a class is what the posterior believes. ``label`` or ``labels`` restrict the labels whose rates
    are compared, not the classes.

    Parameters
    ----------
    epsilon : float
        From 0 to 1.
    group, within : str or sequence of str, optional
        The columns whose groups are compared, and those of the strata within which they are; as for
        :class:`DemographicParity`.
    label, labels : optional
        The label, or labels, whose rates are compared; by default every label.
    """

    epsilon: float
    group: Columns = None
    within: Columns = None
    label: Any = None
    labels: Any = None
    word: ClassVar[str] = "odds"
    unit: ClassVar[str] = "gap"
    level_name: ClassVar[str] = "epsilon"
    is_about_truth: ClassVar[bool] = True

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        return f"allow a gap of {self.easier(level)} instead of {self.epsilon:g} in odds"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the rates of each label among the tasks of each class."""
        return [
            found
            for truth in range(tasks.n_classes)
            for k in self.labels_of(tasks.classes)
            for found in _where_true(tasks, truth, k, self.epsilon)
        ]


def _where_true(tasks: GroupedTasks, truth: int, label: int, epsilon: float) -> list[Comparison]:
    """Compare the rates of a label among the tasks of a class; groups that have too few of these are left out."""
    names, found = tasks.classes.names, list[Comparison]()
    for stratum, members in tasks.strata:
        enough = [a for a in members.tolist() if tasks.believed_tasks(a, truth) >= max(tasks.min_group, 1) - 1e-9]
        if len(enough) > 1:
            what = about(f"rate of label {names[label]} where {names[truth]} is true", stratum)
            found.append(Difference([tasks.rate_where(a, truth, label) for a in enough], epsilon, what))
    return found
