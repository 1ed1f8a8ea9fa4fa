"""A verdict on labels, for pipelines: the gap is within epsilon, above it, or there is not enough evidence."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_confidence, check_number
from faircrowd._display import Drawn, Tabular
from faircrowd._types import ByTask
from faircrowd.audit.given_labels import read_given_labels
from faircrowd.audit.intervals import approximate_gap_limits, gap_limits
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of, within
from faircrowd.fair.rate_constraint import rates_of
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes.group_policy import MIN_GROUP, check_comparable, plan_groups
from faircrowd.votes.groups import groups_of

__all__ = ["Verdict", "check_labels"]

_MAX_TASKS_NEEDED = 10**6
_EXACT_STEPS = 20
_TOO_FEW = "no epsilon is small enough for so few tasks"
_STEPS = 1000
"""Epsilons are proposed in steps of one thousandth."""


@dataclass(frozen=True, repr=False)
class Verdict(Drawn, Tabular):
    """What labels show about the gap of the population that their tasks are drawn from, or about their own.

    ``to_frame()`` has one row per group and label, with the interval of its rate; ``plot()`` shows these rates.

    Attributes
    ----------
    status : {"pass", "fail", "not enough evidence"}
    gap : float
        The demographic-parity gap of these labels, between the groups that are not left out.
    low, high : float
        The gap of the population is at most ``high`` with probability ``confidence``, and at least ``low`` with
        probability ``confidence`` (:func:`faircrowd.audit.intervals.gap_limits`).
    epsilon, confidence : float
    groups : dict
        Number of tasks of each group.
    counts : dict
        Number of tasks of each group and class.
    reason : str
        The verdict as a sentence.
    needed : int or None
        If there is not enough evidence: about how many tasks per group would be enough if the rates stay as they
        are; None if the gap is too close to epsilon for any practical number.
    make_with : float or None
        If labels do not pass: the largest epsilon (to three digits) for making labels of these tasks that would; None
        if none is small enough for so few tasks.
    these_tasks : bool
        Whether the verdict is about these tasks alone; ``low`` and ``high`` are then the gap itself.
    left_out : dict
        The groups that are not compared, with the reason.
    gap_allowed : float or None
        What the certificate of the labels allows their gap to be, if it was given.
    """

    _in_short = ("status", "gap", "low", "high", "epsilon", "confidence", "reason")

    status: str
    gap: float
    low: float
    high: float
    epsilon: float
    confidence: float
    groups: dict[str, int]
    counts: dict[str, dict[str, int]]
    reason: str
    needed: int | None = None
    make_with: float | None = None
    these_tasks: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    gap_allowed: float | None = None

    @property
    def rates(self) -> dict[str, dict[str, float]]:
        """Share of each class in each group."""
        return {
            group: {name: count / self.groups[group] for name, count in row.items()}
            for group, row in self.counts.items()
        }

    @property
    def widest(self) -> tuple[str, str, str]:
        """Where the gap is: the class, and the groups with its largest and smallest share."""
        rates = {name: row for name, row in self.rates.items() if name not in self.left_out}

        def ends(name: str) -> tuple[str, str]:
            return max(rates, key=lambda g: rates[g][name]), min(rates, key=lambda g: rates[g][name])

        def width(name: str) -> float:
            high, low = ends(name)
            return rates[high][name] - rates[low][name]

        name = max(next(iter(rates.values())), key=width)
        return (name, *ends(name))

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, ready for JSON."""
        return {**asdict(self), "rates": self.rates}


def check_labels(
    labels: ByTask,
    sensitive_features: ByTask,
    *,
    epsilon: float,
    confidence: float = 0.95,
    these_tasks: bool = False,
    min_group: int = 1,
    small_groups: str = "leave-out",
    on_missing_group: str = "error",
    gap_allowed: float | None = None,
) -> Verdict:
    """Return whether labels keep the gap between groups within epsilon.

    By default the verdict is about the population that the tasks are drawn from. The labels pass if the upper limit of
    the gap is at most epsilon, and fail if the lower limit is above it. Labels of a population whose gap is above
    epsilon pass with a probability of at most 1 - confidence; labels of a population whose gap is within epsilon
    fail with at most this probability. The limits are exact, also for tiny groups and for groups of very different
    sizes (:mod:`faircrowd.audit.difference_test`).

    Parameters
    ----------
    labels : Series, dict, frame or array-like
        The label of each task: a Series indexed by task, a dict, a frame with a task and a label column, or an array.
    sensitive_features : Series, dict, frame or array-like
        The group of each task, by its id, or by position for an array. Several columns are intersected.
    epsilon : float
        The largest gap allowed, from 0 to 1.
    confidence : float
    these_tasks : bool
        Judge the labels of these tasks as they are: nothing is inferred about other tasks, and there is always enough
        evidence. They pass if their gap is at most epsilon or, because tasks are whole, exceeds it by less than one
        task of the smallest group (if that has at least ten), and fail otherwise.
    min_group, small_groups, on_missing_group
        Which groups are compared, as in :func:`faircrowd.make_fair`.
    gap_allowed : float, optional
        With ``these_tasks``: what the certificate of these labels allows their gap to be
        (:attr:`faircrowd.fair.Certificate.gap_allowed`), in place of epsilon and one task. Labels that were drawn may
        exceed epsilon by a task of each of two groups, and labels made with ``strict`` by nothing.

    Examples
    --------
    >>> labels, groups = [1] * 520 + [0] * 480 + [1] * 510 + [0] * 490, ["a"] * 1000 + ["b"] * 1000
    >>> check_labels(labels, groups, epsilon=0.1).status
    'pass'
    >>> print(check_labels(labels, groups, epsilon=0.02).reason)
    the gap may be anywhere from 0.0000 to 0.0471 (95% confidence in each end), and epsilon 0.02 lies between; about \
14,000 tasks in each group would be enough, if the rates stay as they are. These labels keep it themselves \
(these_tasks=True); for all tasks like these, no epsilon is small enough for so few tasks
    >>> check_labels(labels, groups, epsilon=0.02, these_tasks=True).status
    'pass'
    """
    epsilon = check_number("epsilon", epsilon, low=0, high=1)
    confidence = check_confidence("confidence", confidence)
    if gap_allowed is not None:
        gap_allowed = check_number("gap_allowed", gap_allowed, low=0, high=1)
        if not these_tasks:
            raise OptionError("gap_allowed goes with these_tasks=True; give both, or leave it out.")
    tasks, label, classes = read_given_labels(labels)
    group, groups, left_out = groups_of(tasks, sensitive_features, on_missing_group=on_missing_group)
    check_groups(groups)
    sizes = np.bincount(group, minlength=len(groups))
    plan = plan_groups(groups, sizes, left_out, min_group=min_group, small_groups=small_groups)
    table = np.zeros((len(plan.groups), len(classes)), dtype=np.int64)
    np.add.at(table, (plan.place[group], label), 1)
    check_comparable(plan.groups, table.sum(axis=1), plan.left_out)
    compared = [a for a in range(len(plan.groups)) if a not in plan.left_out]
    names, found = plan.groups.names, table[compared]
    return Verdict(
        **(_these_tasks(found, epsilon, gap_allowed) if these_tasks else _population(found, epsilon, confidence)),
        epsilon=epsilon,
        confidence=confidence,
        groups=dict(zip(names, table.sum(axis=1).tolist(), strict=True)),
        counts={g: dict(zip(classes.names, row, strict=True)) for g, row in zip(names, table.tolist(), strict=True)},
        these_tasks=these_tasks,
        left_out={names[a]: why for a, why in plan.left_out.items()},
        gap_allowed=gap_allowed,
    )


def _these_tasks(table: NDArray[np.int64], epsilon: float, gap_allowed: float | None) -> dict[str, Any]:
    """Judge the gap of the tasks at hand, which is known."""
    sizes = table.sum(axis=1)
    gap, smallest = gap_of(rates_of(table, sizes.astype(np.float64))), int(sizes.min())
    found: dict[str, Any] = {"gap": gap, "low": gap, "high": gap}
    if within(gap, epsilon):
        return {**found, "status": "pass", "reason": f"the gap of these tasks is {gap:.4f}, within epsilon {epsilon:g}"}
    over = f"the gap of these tasks is {gap:.4f}, above epsilon {epsilon:g}"
    if gap_allowed is not None:
        is_kept = within(gap, max(gap_allowed, epsilon))
        words = "no more than" if is_kept else "more than"
        reason = f"{over} by {words} the certificate of these labels allows: a gap of {gap_allowed:.4f}"
        return {**found, "status": "pass" if is_kept else "fail", "reason": reason}
    if smallest >= MIN_GROUP and gap - epsilon < 1 / smallest - SLACK:
        reason = f"{over} by less than one task of the smallest group, which has {smallest:,}: tasks are whole"
        return {**found, "status": "pass", "reason": reason}
    return {**found, "status": "fail", "reason": over}


def _population(table: NDArray[np.int64], epsilon: float, confidence: float) -> dict[str, Any]:
    """Judge the gap of the population, of which the limits are known."""
    limits, level = gap_limits(table, confidence), f"{100 * confidence:g}% confidence"
    found: dict[str, Any] = {"gap": limits.gap, "low": limits.low, "high": limits.high}
    if limits.high <= epsilon:
        reason = f"the gap is at most {limits.high:.4f} with {level}, within epsilon {epsilon:g}"
        return {**found, "status": "pass", "reason": reason}
    found["make_with"] = _make_with(table, epsilon, confidence)
    if limits.low > epsilon:
        reason = f"the gap is at least {limits.low:.4f} with {level}, above epsilon {epsilon:g}"
        return {**found, "status": "fail", "reason": reason}
    needed = _needed(table, epsilon, confidence)
    reason = (
        f"the gap may be anywhere from {limits.low:.4f} to {limits.high:.4f} ({level} in each end), and "
        f"epsilon {epsilon:g} lies between; "
    )
    if needed is None:
        reason += f"the {limits.gap:.4f} of these labels is too near to it for more tasks to tell"
    else:
        reason += f"about {needed:,} tasks in each group would be enough, if the rates stay as they are"
    if within(limits.gap, epsilon):
        make_with = found["make_with"]
        smaller = _TOO_FEW if make_with is None else f"make labels with epsilon {make_with:g} or less"
        reason += f". These labels keep it themselves (these_tasks=True); for all tasks like these, {smaller}"
    return {**found, "status": "not enough evidence", "reason": reason, "needed": needed}


def _make_with(table: NDArray[np.int64], epsilon: float, confidence: float) -> float | None:
    """Return the largest gap, to three digits, at which labels of as many tasks would pass; None if there is none.

    The rates of the groups move toward those of all tasks, in equal steps.
    """
    sizes = table.sum(axis=1, keepdims=True)
    rates, mean = table / sizes, table.sum(axis=0) / sizes.sum()
    gap = gap_of(rates)

    def passes(step: int) -> bool:
        part = step / _STEPS / gap if gap else 0.0
        return approximate_gap_limits((mean + part * (rates - mean)) * sizes, confidence).high <= epsilon

    low, high = 0, math.floor(min(gap, epsilon) * _STEPS) + 1
    if not passes(low):
        return None
    while high - low > 1:  # `low` passes
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low / _STEPS


def _needed(table: NDArray[np.int64], epsilon: float, confidence: float) -> int | None:
    """Return about how many tasks per group are enough for a verdict, at the rates of the table."""
    sizes = table.sum(axis=1)
    rates = table / sizes[:, None]

    def is_clear(n: int) -> bool:
        limits = approximate_gap_limits(rates * n, confidence)
        return limits.high <= epsilon or limits.low > epsilon

    low = int(sizes.min())  # more than this in each group was not enough
    high = 2 * low
    while not is_clear(high):
        low, high = high, 2 * high
        if high > max(_MAX_TASKS_NEEDED, 100 * sizes.max()):
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_clear(middle) else (middle, high)
    for _ in range(_EXACT_STEPS):  # the exact limits are a little wider
        limits = gap_limits(_whole_counts(rates, high), confidence)
        if limits.high <= epsilon or limits.low > epsilon:
            break
        high += math.ceil(high / 20)
    unit = int(10 ** max(math.floor(math.log10(high)) - 1, 0))
    return math.ceil(high / unit) * unit  # two digits, rounded up


def _whole_counts(rates: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return the counts of n tasks per group that have nearly these rates."""
    up_to = np.rint(np.cumsum(rates, axis=1) * n).astype(np.int64)
    return np.diff(up_to, axis=1, prepend=0)
