"""Fair labels that keep the constraint and are still of no use: what happened, what it costs, and what to do.

A constraint can be kept by ruining labels: by changing a large part of them, by giving up a class altogether, or by
giving nearly every task the same label. Labels like these are seldom what somebody wanted, so they are never returned
without a warning.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import within
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.tasks.tally import Tally

__all__ = ["MANY_CHANGED", "NEARLY_ALL", "alarm", "alarm_of_classifier", "enough_epsilon", "missed"]

MANY_CHANGED = 0.25
"""The share of changed labels above which there is a warning."""
NEARLY_ALL = 0.95
"""The share of one label above which it is nearly all labels."""

_KNOWN_LABELS = (
    "a wrong posterior makes wrong gaps, and known labels show and mend it (score(truth), CalibratedCrowd())"
)
_OF_CLASSIFIER = "wrong probabilities make wrong gaps: held_out_ shows them, and CalibratedClassifierCV mends them"
_FEW_TASKS = 100
"""Below this, the size of the smallest group is mentioned: it may be what makes the gap."""
_STEPS = 1000
"""Epsilons are proposed in steps of one thousandth."""


class _Drastic(NamedTuple):
    """What is drastic about labels.

    Attributes
    ----------
    many : bool
        Whether more than a quarter of the labels were changed.
    vanished : tuple of int
        The classes that some tasks had before and none has now.
    flooded : int or None
        The class that nearly all tasks have now, if they did not have it before.
    """

    many: bool
    vanished: tuple[int, ...]
    flooded: int | None

    @property
    def is_any(self) -> bool:
        return self.many or bool(self.vanished) or self.flooded is not None


def _drastic(tasks: NDArray[np.int64]) -> _Drastic:
    """Judge labels by the number of tasks by group, label before and label after."""
    moved = tasks.sum(axis=0)
    total, before, after = int(moved.sum()), moved.sum(axis=1), moved.sum(axis=0)
    most = int(np.argmax(after))
    is_flooded = after[most] > NEARLY_ALL * total >= before.max()
    return _Drastic(
        many=bool(total - np.trace(moved) > MANY_CHANGED * total),
        vanished=tuple(np.flatnonzero((before > 0) & (after == 0)).tolist()),
        flooded=most if is_flooded else None,
    )


def enough_epsilon(solve: Callable[[float], Tally], epsilon: float, gap_before: float) -> float | None:
    """Return the smallest epsilon, to three digits, whose labels are not drastic; None if none is smaller than 1.

    Parameters
    ----------
    solve : callable
        Returns the labels of an epsilon, in numbers.
    epsilon : float
        One whose labels are drastic.
    gap_before : float
        The gap of the labels before: an epsilon that changes nothing.
    """
    low, high = math.floor(epsilon * _STEPS), math.ceil(gap_before * _STEPS)
    if high <= low or _drastic(solve(min(high / _STEPS, 1.0)).tasks).is_any:
        return None
    while high - low > 1:  # labels of `low` are drastic, those of `high` are not
        middle = (low + high) // 2
        low, high = (middle, high) if _drastic(solve(middle / _STEPS).tasks).is_any else (low, middle)
    return min(high / _STEPS, 1.0)


def alarm(
    certificate: Certificate,
    tally: Tally,
    classes: Sequence[str],
    smallest: int,
    solve: Callable[[float], Tally] | None = None,
) -> str:
    """Return a warning about labels that were ruined to keep the constraint; nothing if they were not.

    Parameters
    ----------
    certificate : Certificate
    tally : Tally
        Of its labels.
    classes : sequence of str
        Their names.
    smallest : int
        Number of tasks of the smallest group that is compared.
    solve : callable, optional
        Returns the labels of another epsilon, in numbers, to find one that would do.
    """
    found, c = _drastic(tally.tasks), certificate
    if not found.is_any:
        return ""
    after, said = tally.tasks.sum(axis=(0, 1)), []
    if found.many:
        said.append(f"{c.changed:,} of {c.tasks:,} labels ({c.changed_share:.0%}) were changed")
    if found.vanished:
        names = few([classes[k] for k in found.vanished])
        had = int(tally.tasks.sum(axis=(0, 2))[list(found.vanished)].sum())
        said.append(f"no task has label {names} any more ({had:,} task{'s' * (had != 1)} had it before)")
    if found.flooded is not None:
        share = float(after[found.flooded] / after.sum())
        said.append(f"{share:.1%} of all labels are {classes[found.flooded]!r}")
    cost = c.believed_accuracy_before - c.believed_accuracy
    price = f"to bring the gap from {c.gap_before:.3f} to {c.gap:.3f}, at {100 * cost:.1f} points of believed accuracy"
    return f"{', and '.join(said)}, {price}. What to do: {_remedy(c, smallest, solve)}"


def _remedy(certificate: Certificate, smallest: int, solve: Callable[[float], Tally] | None) -> str:
    c = certificate
    enough = None if solve is None or c.promise is not None else enough_epsilon(solve, c.epsilon, c.gap_before)
    larger = "allow a larger epsilon (the frontier shows what each costs)"
    ways = [larger if enough is None else f"epsilon={enough:g} avoids it"]
    if smallest < _FEW_TASKS:
        tasks = f"{smallest:,} task{'s' * (smallest != 1)}"
        ways.append(f"the smallest group has only {tasks}, and a larger min_group leaves it out")
    return "; ".join([*ways, _KNOWN_LABELS])


def alarm_of_classifier(text: str) -> str:
    """Return an alarm with the advice for a classifier, whose true labels are known already."""
    return text.replace(_KNOWN_LABELS, _OF_CLASSIFIER)


def missed(certificate: Certificate) -> str:
    """Return in what labels miss what was asked for, as a sentence; nothing if they keep it.

    They miss it if their gap is above what is allowed (epsilon, or a little more where tasks are whole), or if there
    are too few tasks for the promise about new ones.
    """
    c = certificate
    allowed = c.epsilon if math.isnan(c.gap_allowed) else c.gap_allowed  # files of earlier versions do not say
    if not within(c.gap, allowed):
        at_most = f"{allowed:.4g}" if allowed > c.epsilon else f"epsilon {c.epsilon:g}"
        by_chance = "they were drawn at random; another random_state, or decision='deterministic', may keep it"
        how = by_chance if c.decision == "randomized" else "allow a larger epsilon, or use strict=True"
        return f"the labels miss the constraint: their gap is {c.gap:.4g}, above {at_most}; {how}."
    if c.promise is not None and not c.promise["enough"]:
        return f"the labels carry no promise: {Promise(**c.promise).shortage}."
    return ""
