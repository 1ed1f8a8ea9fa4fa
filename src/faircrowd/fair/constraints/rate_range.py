"""Rate range: floors, caps and quotas for how often a label is given."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from faircrowd._checks import check_number
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.constraint_kind import Columns, Constraint, about
from faircrowd.fair.constraints.constraint_tokens import number_text
from faircrowd.fair.constraints.quantities import Comparison, GroupedTasks, Range

__all__ = ["RateRange"]


@dataclass(frozen=True)
class RateRange(Constraint):
    """The share of tasks that get a label is between ``low`` and ``high``, in every group or among all tasks.

    Parameters
    ----------
    low, high : float, optional
        From 0 to 1; at least one of them.
    label : optional
        The label; by default every label.
    group, within : str or sequence of str, optional
        The columns whose groups each keep the range, ``()`` for all tasks together; by default all sensitive columns.
    labels : sequence, optional
        Several labels.
    """

    low: float | None = None
    high: float | None = None
    label: Any = None
    group: Columns = None
    within: Columns = None
    labels: Any = None
    word: ClassVar[str] = "rate"
    unit: ClassVar[str] = "rate"
    compares_groups: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the limits."""
        super().__post_init__()
        if self.low is None and self.high is None:
            raise OptionError("RateRange needs low, high or both.")
        low, high = (
            end if given is None else check_number(f"RateRange.{name}", given, low=0, high=1)
            for name, given, end in (("low", self.low, 0.0), ("high", self.high, 1.0))
        )
        if low > high:
            raise OptionError(f"RateRange.low is {low:g}, above RateRange.high, {high:g}.")

    @property
    def level_name(self) -> str:  # type: ignore[override]
        """The limit that a frontier varies, if there is only one."""
        return "high" if self.low is None else "low" if self.high is None else ""

    @property
    def is_floor(self) -> bool:  # type: ignore[override]
        """Whether the limit is one from below."""
        return self.high is None

    @property
    def limit_text(self) -> str:
        """The limits in text: ``>= 0.2 and <= 0.4``."""
        ends = ((">=", self.low), ("<=", self.high))
        return " and ".join(f"{sign} {number_text(limit)}" for sign, limit in ends if limit is not None)

    @classmethod
    def limit_fields(cls, low: float | None, high: float | None) -> dict[str, float]:
        """Return the fields of both limits."""
        return {name: limit for name, limit in (("low", low), ("high", high)) if limit is not None}

    def relaxed_words(self, level: float, n_tasks: int) -> str:
        """Say what it is to relax it."""
        what = "a rate" if self.label is None else f"a rate of label {self.label}"
        return f"allow {what} of {self.easier(level)} instead of {self.level:g}"

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        """Compare each rate with the limits."""
        names = tasks.classes.names
        return [
            Range(
                [tasks.rate(a, k) for a in members],
                -math.inf if self.low is None else self.low,
                math.inf if self.high is None else self.high,
                about(f"rate of label {names[k]}", stratum),
            )
            for stratum, members in tasks.strata
            for k in self.labels_of(tasks.classes)
        ]
