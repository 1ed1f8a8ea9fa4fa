"""Rate ratio: the impact ratio of the four-fifths rule."""

from dataclasses import dataclass
from typing import Any, ClassVar

from faircrowd._checks import check_number
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Columns, Constraint, about
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks, Ratio

__all__ = ["RateRatio"]


@dataclass(frozen=True)
class RateRatio(Constraint):
    """The share of tasks that get a label is, in every group, at least ``ratio`` times that of any other group.

    A ratio of 0.8 is the four-fifths rule of thumb. Keeping it is no legal safe harbour: see docs/constraints.md.

    Parameters
    ----------
    ratio : float
        From 0 to 1.
    group, within : str or sequence of str, optional
        The columns whose groups are compared, and those of the strata within which they are; as for
        :class:`DemographicParity`.
    label, labels : optional
        The label, or labels, whose shares are compared; by default every label.
    """

    ratio: float
    group: Columns = None
    within: Columns = None
    label: Any = None
    labels: Any = None
    word: ClassVar[str] = "ratio"
    unit: ClassVar[str] = "ratio"
    is_floor: ClassVar[bool] = True
    level_name: ClassVar[str] = "ratio"

    def __post_init__(self) -> None:
        """Check the limit."""
        if 1 < check_number("RateRatio.ratio", self.ratio, low=0) < 2:
            raise OptionError(
                "RateRatio.ratio is the smallest rate divided by the largest, so at most 1; "
                f"got {self.ratio:g}. Did you mean {1 / self.ratio:.2g}?",
                parameter="RateRatio.ratio",
            )
        super().__post_init__()

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        return f"allow a ratio of {self.easier(level)} instead of {self.ratio:g}"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare the rates of each label."""
        names = tasks.classes.names
        return [
            Ratio([tasks.rate(a, k) for a in members], self.ratio, about(f"rate of label {names[k]}", stratum))
            for stratum, members in tasks.strata
            for k in self.labels_of(tasks.classes)
        ]
