"""The level of each constraint that given labels reach: of any list of constraints, with any classes and groups."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Tabular
from faircrowd._types import ByTask
from faircrowd.audit.metrics.counted_labels import CountedConstraint, count_labels
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes.facts import Facts

__all__ = ["MeasuredComparison", "MeasuredConstraint", "measure_constraints", "measured"]


@dataclass(frozen=True)
class MeasuredComparison:
    """One comparison that a constraint makes.

    Attributes
    ----------
    about : str
        What is compared: "rate of label hire within north".
    level : float
        The largest difference, the smallest ratio, or the value that is farthest beyond its limits.
    miss : float
        By how much the level is beyond its limit; negative if there is room left.
    values : dict
        The value of each group.
    """

    about: str
    level: float
    miss: float
    values: dict[str, float]


@dataclass(frozen=True, repr=False)
class MeasuredConstraint(Tabular):
    """A constraint, and how given labels stand to it.

    ``to_frame()`` has one row per comparison and group.

    Attributes
    ----------
    text : str
        The constraint as :func:`faircrowd.constraints.parse_constraint` reads it.
    limit : float or None
        Its limit; None if there is no single one.
    level, miss : float
        Those of the comparison that is farthest beyond its limit, or nearest to it.
    kept : bool
        Whether no limit is exceeded, but for rounding of floating-point numbers.
    tasks, unknown : int
        Number of tasks that count, and of those that do not because their truth is not known.
    comparisons : list of MeasuredComparison
    sizes : dict
        Number of tasks of each group.
    left_out : dict
        Groups that the constraint does not speak of, with the reason.
    alone : list of str
        Strata that have one group only, where there is nothing to compare.
    """

    _in_short = ("text", "level", "limit", "kept", "tasks")

    text: str
    limit: float | None
    level: float
    miss: float
    kept: bool
    tasks: int
    unknown: int
    comparisons: list[MeasuredComparison]
    sizes: dict[str, int]
    left_out: dict[str, str] = field(default_factory=dict)
    alone: list[str] = field(default_factory=list)

    @property
    def worst(self) -> MeasuredComparison:
        """The comparison that is farthest beyond its limit, or nearest to it."""
        return max(self.comparisons, key=lambda comparison: comparison.miss)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self)


def measure_constraints(
    labels: ByTask | Facts,
    constraints: Sequence[Constraint | str],
    *,
    sensitive_features: ByTask | Mapping[str, Facts] | None = None,
    truth: ByTask | Facts | None = None,
    labels_before: ByTask | Facts | None = None,
    reviewed: Sequence[bool] | NDArray[np.bool_] | None = None,
    min_group: int = 1,
    on_missing_group: str = "error",
) -> list[MeasuredConstraint]:
    """Measure labels by constraints: what ``make_fair`` keeps, for labels that anybody made.

    Parameters
    ----------
    labels : Series, dict, frame or array-like
        The label of each task: a Series indexed by task, a dict, a frame with a task and a label column, or an array.
    constraints : sequence of Constraint or str
        Of :mod:`faircrowd.constraints`, or in text.
    sensitive_features : frame, Series, dict or array-like, optional
        The columns that constraints speak of, by the ids of tasks, or by position for an array. A dict may have the
        facts of each column as ``Facts``.
    truth : Series, dict, frame or array-like, optional
        True labels, for constraints that speak of the truth. Only tasks whose truth is known count for these.
    labels_before : Series, dict, frame or array-like, optional
        The labels before they were made fair, for a budget of changes.
    reviewed : array-like of bool, optional
        Which tasks are sent to a person, in the order of ``labels``. They have no label yet: they count in no rate, and
        in a budget of changes as not changed.
    min_group : int
        Groups with fewer tasks are not compared.
    on_missing_group : {"error", "drop", "own"}
        What to do with tasks without a group, as in :func:`faircrowd.make_fair`.

    Examples
    --------
    >>> labels, truth = ["hire", "no", "hire", "hire"], ["hire", "hire", "hire", "no"]
    >>> asked = ["ratio(label=hire) >= 0.8", "accuracy <= 0.1"]
    >>> found = measure_constraints(labels, asked, sensitive_features=["a", "a", "b", "b"], truth=truth)
    >>> [(one.text, one.level, one.kept) for one in found]
    [('ratio(label=hire) >= 0.8', 0.5, False), ('accuracy <= 0.1', 0.0, True)]
    >>> found[0].worst.values
    {'a': 0.5, 'b': 1.0}
    """
    counted = count_labels(
        labels,
        constraints,
        sensitive_features=sensitive_features,
        truth=truth,
        labels_before=labels_before,
        reviewed=reviewed,
        min_group=min_group,
        on_missing_group=on_missing_group,
    )
    return [measured(one) for one in counted]


def measured(counted: CountedConstraint) -> MeasuredConstraint:
    """Return the levels of a constraint whose labels are counted."""
    constraint = counted.constraint
    comparisons = []
    for comparison in counted.comparisons:
        values = counted.values(comparison)
        comparisons.append(
            MeasuredComparison(
                comparison.about,
                comparison.level(values),
                comparison.miss(values),
                {quantity.name: float(v) for quantity, v in zip(comparison.quantities, values, strict=True)},
            )
        )
    worst = max(comparisons, key=lambda comparison: comparison.miss)
    return MeasuredConstraint(
        text=str(constraint),
        limit=constraint.level if constraint.level_name else None,
        level=worst.level,
        miss=worst.miss,
        kept=worst.miss <= SLACK,
        tasks=counted.n_tasks,
        unknown=counted.unknown,
        comparisons=comparisons,
        sizes=counted.sizes,
        left_out=counted.left_out,
        alone=[name for name in counted.alone if name],
    )
