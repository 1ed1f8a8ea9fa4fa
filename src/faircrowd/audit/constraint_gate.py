"""A verdict on labels under a list of constraints, for pipelines: kept, not kept, or not enough evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_confidence, few
from faircrowd._display import Tabular
from faircrowd._types import ByTask
from faircrowd.audit.constraint_limits import miss_limits
from faircrowd.audit.metrics.constraint_levels import MeasuredConstraint, measured
from faircrowd.audit.metrics.counted_labels import CountedConstraint, count_labels
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes.facts import Facts
from faircrowd.votes.group_policy import MIN_GROUP

__all__ = ["ConstraintVerdict", "RequirementsVerdict", "check_constraints"]


@dataclass(frozen=True, repr=False)
class ConstraintVerdict(Tabular):
    """What labels show about one constraint.

    ``to_frame()`` has one row per comparison and group.

    Attributes
    ----------
    status : {"pass", "fail", "not enough evidence"}
    measured : MeasuredConstraint
        The constraint, and the levels of these labels.
    low, high : float
        Limits of the level for all tasks like these, each with its own confidence; the level itself if the verdict is
        about these tasks alone. Of a rate with two limits: of the group that is nearest to one.
    reason : str
        The verdict as a sentence.
    """

    _in_short = ("status", "reason")

    status: str
    measured: MeasuredConstraint
    low: float
    high: float
    reason: str

    @property
    def notes(self) -> list[str]:
        """What was not compared, and why, as sentences."""
        found, text = [], self.measured.text
        for why in dict.fromkeys(self.measured.left_out.values()):
            names = [name for name, reason in self.measured.left_out.items() if reason == why]
            which = "group" if len(names) == 1 else f"{len(names):,} groups"
            found.append(f"{text}: {which} {few(names)} left out, {why}")
        if self.measured.alone:
            n = len(self.measured.alone)
            strata = f"{n:,} strata have" if n > 1 else "1 stratum has"
            found.append(f"{text}: {strata} fewer than two groups to compare: {few(self.measured.alone)}")
        if self.measured.unknown:
            total = self.measured.unknown + self.measured.tasks
            found.append(
                f"{text}: the truth of {self.measured.tasks:,} of {total:,} tasks is known, which alone count here"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        ends = {"status": self.status, "reason": self.reason, "low": self.low, "high": self.high}
        return {**ends, **self.measured.to_dict()}


@dataclass(frozen=True, repr=False)
class RequirementsVerdict(Tabular):
    """What labels show about a list of constraints.

    ``to_frame()`` has one row per constraint.

    Attributes
    ----------
    status : {"pass", "fail", "not enough evidence"}
        Pass if every constraint does, fail if one of them fails.
    constraints : tuple of ConstraintVerdict
    confidence : float
    these_tasks : bool
        Whether the verdict is about these tasks alone.
    reason : str
        The verdict as a sentence.
    """

    _in_short = ("status", "reason")

    status: str
    constraints: tuple[ConstraintVerdict, ...]
    confidence: float
    these_tasks: bool
    reason: str

    @property
    def notes(self) -> list[str]:
        """What was not compared, and why, as sentences."""
        return [note for one in self.constraints for note in one.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        found = {name: getattr(self, name) for name in ("status", "reason", "confidence", "these_tasks")}
        return {**found, "constraints": [one.to_dict() for one in self.constraints]}


def check_constraints(
    labels: ByTask | Facts,
    constraints: Sequence[Constraint | str],
    *,
    sensitive_features: ByTask | Mapping[str, Facts] | None = None,
    truth: ByTask | Facts | None = None,
    labels_before: ByTask | Facts | None = None,
    reviewed: Sequence[bool] | NDArray[np.bool_] | None = None,
    confidence: float = 0.95,
    these_tasks: bool = False,
    min_group: int = 1,
    on_missing_group: str = "error",
) -> RequirementsVerdict:
    """Return whether labels keep constraints.

    By default the verdict is about the population that the tasks are drawn from. If it violates one of the
    constraints, labels pass with a probability of at most 1 - confidence; if it keeps all of them, labels fail with at
    most this probability. How limits are found is in :mod:`faircrowd.audit.constraint_limits`.

    Parameters
    ----------
    labels, constraints, sensitive_features, truth, labels_before, reviewed, min_group, on_missing_group
        As in :func:`measure_constraints`.
    confidence : float
    these_tasks : bool
        Judge the labels of these tasks as they are: nothing is inferred about other tasks, and there is always enough
        evidence. A limit may be exceeded by less than one task of the smallest group (if that has at least ten).

    Examples
    --------
    >>> labels, groups = [1] * 520 + [0] * 480 + [1] * 510 + [0] * 490, ["a"] * 1000 + ["b"] * 1000
    >>> asked = ["parity <= 0.1", "ratio(label=1) >= 0.8"]
    >>> found = check_constraints(labels, asked, sensitive_features=groups)
    >>> found.status
    'pass'
    >>> for one in found.constraints:
    ...     print(one.reason)
    parity <= 0.1 is kept: at most 0.0471 with 95% confidence
    ratio(label=1) >= 0.8 is kept: at least 0.8679 with 95% confidence
    """
    error = 1 - check_confidence("confidence", confidence)
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
    # A pass of all needs each to pass: no correction. A fail of one is enough: the error is shared.
    found = tuple(
        _these_tasks(one) if these_tasks else _population(one, error, error / len(counted), confidence)
        for one in counted
    )
    statuses = {one.status for one in found}
    status = next(name for name in ("fail", "not enough evidence", "pass") if name in statuses)
    deciding = [one.reason for one in found if one.status == status]
    return RequirementsVerdict(status, found, confidence, these_tasks, "; ".join(deciding))


def _these_tasks(counted: CountedConstraint) -> ConstraintVerdict:
    """Judge the level of the tasks at hand, which is known."""
    found = measured(counted)
    level = f"{found.level:.4f}"
    if found.kept:
        return ConstraintVerdict(
            "pass", found, found.level, found.level, f"{found.text} is kept by these tasks: {level}"
        )
    smallest, by_less = _whole_tasks(counted)
    if smallest >= MIN_GROUP and by_less:
        reason = (
            f"{found.text} is exceeded by these tasks, {level}, by less than one task of the smallest group, which has "
            f"{smallest:,}: tasks are whole"
        )
        return ConstraintVerdict("pass", found, found.level, found.level, reason)
    return ConstraintVerdict(
        "fail", found, found.level, found.level, f"{found.text} is not kept by these tasks: {level}"
    )


def _whole_tasks(counted: CountedConstraint) -> tuple[int, bool]:
    """Return the size of the smallest group, and whether no limit is exceeded by a task of the smallest or more."""
    smallest, by_less = counted.n_tasks, True
    for comparison in counted.comparisons:
        rates = [counted.rate(quantity) for quantity in comparison.quantities]
        smallest = min(smallest, *(rate.size for rate in rates))
        one_task = max(rate.most for rate in rates)
        by_less &= comparison.excess(counted.values(comparison)) < one_task - SLACK
    return smallest, by_less


def _population(
    counted: CountedConstraint, error: float, error_of_least: float, confidence: float
) -> ConstraintVerdict:
    """Judge the level of the population, of which limits are known."""
    found, limits = measured(counted), miss_limits(counted, error, error_of_least)
    sure = f"{100 * confidence:g}% confidence"
    low, high = min(limits.low, found.level), max(limits.high, found.level)
    constraint = counted.constraint
    if not constraint.level_name:
        sides = ("between its limits", "beyond its limits")
        within, beyond = (f"{side}, from {low:.4f} to {high:.4f}" for side in sides)
    elif constraint.is_floor:
        within, beyond = f"at least {low:.4f}", f"at most {high:.4f}"
    else:
        within, beyond = f"at most {high:.4f}", f"at least {low:.4f}"
    if limits.most <= 0:
        return ConstraintVerdict("pass", found, low, high, f"{found.text} is kept: {within} with {sure}")
    if limits.least > 0:
        return ConstraintVerdict("fail", found, low, high, f"{found.text} is not kept: {beyond} with {sure}")
    reason = f"{found.text} may be kept or not: from {low:.4f} to {high:.4f} ({sure} in each end)"
    if found.kept:
        reason += ". These labels keep it themselves (these_tasks=True)"
    return ConstraintVerdict("not enough evidence", found, low, high, reason)
