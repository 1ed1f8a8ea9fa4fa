r"""How well a number of known labels would tell the accuracy of all labels.

Known labels are drawn at random from the tasks. The share of right ones among them estimates the accuracy, and Wilson's
interval says how well. For :math:`n` known labels of :math:`N` tasks, the variance is smaller by
:math:`(N - n) / (N - 1)`, as if :math:`n (N - 1) / (N - n)` were known of infinitely many.

This is the plain share. An estimate that uses calibrated confidences of all tasks, and known labels only to correct
them, is usually narrower; how much depends on how well the confidences tell right labels from wrong ones.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from faircrowd._checks import check_confidence, check_count, check_number, few
from faircrowd._display import Tabular
from faircrowd.audit.intervals import wilson
from faircrowd.errors import OptionError
from faircrowd.votes.vocabulary import value_name

__all__ = ["GoldPlan", "PlannedInterval", "plan_gold"]


@dataclass(frozen=True)
class PlannedInterval:
    """The interval that known labels would give for the accuracy of a group, or of all tasks.

    Attributes
    ----------
    group : str or None
        None for all tasks.
    gold : float
        How many labels would be known; of a group, on average.
    low, high : float
        Where the interval ends if the share of right labels is the accuracy that was assumed.
    """

    group: str | None
    gold: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low


@dataclass(frozen=True, repr=False)
class GoldPlan(Tabular):
    """How wide intervals for the accuracy would be; ``str()`` gives it as a sentence.

    ``to_frame()`` has one row for all tasks and one per group.

    Attributes
    ----------
    gold : int
        Number of known labels.
    accuracy : float
        What is assumed: for example, the believed accuracy.
    tasks : int or None
        Number of tasks that the known labels are drawn from; None for any number.
    confidence : float
    overall : PlannedInterval
    groups : tuple of PlannedInterval
    """

    _in_short = ("gold", "accuracy", "confidence", "overall")

    gold: int
    accuracy: float
    tasks: int | None
    confidence: float
    overall: PlannedInterval
    groups: tuple[PlannedInterval, ...]

    def __str__(self) -> str:
        found = self.overall
        labels = f"{self.gold:,} known label{'s' * (self.gold != 1)}"
        return (
            f"{labels} would give an interval {100 * found.width:.1f} points wide for an accuracy of "
            f"{self.accuracy:.1%}: from {found.low:.1%} to {found.high:.1%} ({100 * self.confidence:g}% confidence)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        overall, *groups = ({**asdict(found), "width": found.width} for found in (self.overall, *self.groups))
        return {**asdict(self), "overall": overall, "groups": groups, "sentence": str(self)}


def plan_gold(
    gold: int,
    *,
    accuracy: float = 0.8,
    shares: Mapping[Any, float] | None = None,
    tasks: int | None = None,
    confidence: float = 0.95,
) -> GoldPlan:
    """Return how wide an interval for the accuracy would be with this many known labels, overall and by group.

    Parameters
    ----------
    gold : int
        Number of tasks, drawn at random, whose true label would be known.
    accuracy : float
        The accuracy that is assumed, overall and in each group.
    shares : mapping of group to float, optional
        The share of each group in the tasks. They add up to 1.
    tasks : int, optional
        Number of tasks that the known labels are drawn from; by default so many that it does not matter.
    confidence : float

    Examples
    --------
    >>> print(plan_gold(100, accuracy=0.8))
    100 known labels would give an interval 15.5 points wide for an accuracy of 80.0%: from 71.1% to 86.7% (95% \
confidence).
    >>> [round(group.width, 3) for group in plan_gold(100, shares={"women": 0.3, "men": 0.7}).groups]
    [0.278, 0.185]
    """
    gold = check_count("gold", gold, least=1)
    accuracy = check_number("accuracy", accuracy, low=0, high=1)
    confidence = check_confidence("confidence", confidence)
    if tasks is not None and check_count("tasks", tasks, least=1) < gold:
        raise OptionError(f"gold is {gold:,}, more than the {tasks:,} tasks.", parameter="gold")
    named = {value_name(name): check_number("shares", share, low=0, high=1) for name, share in (shares or {}).items()}
    if named and abs(sum(named.values()) - 1) > 1e-6:
        raise OptionError(f"shares must add up to 1; {few(named.values())} add up to {sum(named.values()):g}.")

    def interval(group: str | None, share: float) -> PlannedInterval:
        n = gold * share
        if tasks is None:
            worth = n
        elif gold == tasks:  # everything is known
            return PlannedInterval(group, n, accuracy, accuracy)
        else:
            worth = n * max(share * tasks - 1, 0.0) / (share * (tasks - gold)) if share else 0.0
        low, high = wilson(accuracy * worth, worth, confidence)
        return PlannedInterval(group, n, float(low), float(high))

    groups = tuple(interval(name, share) for name, share in named.items())
    return GoldPlan(gold, accuracy, tasks, confidence, interval(None, 1.0), groups)
