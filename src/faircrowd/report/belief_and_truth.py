"""What the posterior believes beside what is true: accuracy, its price, and the gap of the true labels themselves."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.audit.workers.worker_counts import range_over_groups
from faircrowd.exact.sums import PROBABILITY_UNIT, limbs_to_numbers, to_limbs
from faircrowd.report.words.fair_words import in_points
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["TOO_FAR", "Pair", "believed_accuracy", "truth_facts", "warning"]

TOO_FAR = 0.05
"""A believed and a real number that differ by more than this are shown in red."""

_TASKS_PER_PIECE = 1 << 18
_ENOUGH_TRUTHS = 20


class Pair(NamedTuple):
    """A number as the posterior believes it, and as it really is.

    Examples
    --------
    >>> Pair("accuracy", 0.944, 0.637).in_words
    'believed is 30.7 points too high'
    """

    what: str
    believed: float
    real: float
    known: int | None = None  # number of true labels that the real number is a mean of
    is_difference: bool = False  # of two shares, such as a price: in points

    @property
    def is_off(self) -> bool:
        """Whether the two are far apart, and further than chance explains where few true labels are known."""
        share = min(abs(self.believed), 1.0)
        chance = 0.0 if self.known is None else 3 * math.sqrt(max(share * (1 - share), 0.05) / max(self.known, 1))
        return abs(self.believed - self.real) > max(TOO_FAR, chance)

    def shown(self, digits: int) -> tuple[str, str]:
        """Return both numbers as texts.

        Examples
        --------
        >>> Pair("accuracy", 0.944, 0.637).shown(1), Pair("price", 0.044, 0.02, is_difference=True).shown(1)
        (('94.4%', '63.7%'), ('4.4 points', '2.0 points'))
        """
        if self.is_difference:
            return in_points(self.believed, digits), in_points(self.real, digits)
        return f"{self.believed:.{digits}%}", f"{self.real:.{digits}%}"

    @property
    def in_words(self) -> str:
        """How far believed is from real."""
        points = 100 * (self.believed - self.real)
        if round(abs(points), 1) == 0:
            return "the same"
        return f"believed is {abs(points):.1f} points too {'high' if points > 0 else 'low'}"


def believed_accuracy(
    posterior: NDArray[np.float64], labels: Codes, reviewed: NDArray[np.bool_] | None = None
) -> float:
    """Return the mean posterior probability of labels, the same to the bit as a certificate of epsilon has it.

    Reviewed tasks count as right.

    Examples
    --------
    >>> believed_accuracy(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1], dtype=np.int32))
    0.625
    """
    trust = np.zeros((posterior.shape[1], 2), dtype=np.int64)  # by label, as limbs, which add up in any order
    for i in range(0, labels.size, _TASKS_PER_PIECE):
        some = labels[i : i + _TASKS_PER_PIECE]
        of_label = posterior[i : i + _TASKS_PER_PIECE][np.arange(some.size), some]
        if reviewed is not None:
            of_label = np.where(reviewed[i : i + _TASKS_PER_PIECE], 1.0, of_label)
        for limb, numbers in enumerate(to_limbs(of_label, PROBABILITY_UNIT)):
            np.add.at(trust[:, limb], some, numbers)
    return float(limbs_to_numbers(trust).sum() / max(labels.size, 1))


def truth_facts(votes: VoteTable, truth: Codes | None, names: list[str]) -> dict[str, Any]:
    """Return what a summary holds about the true labels by group; nothing if fewer than two groups have enough of them.

    A group has enough if its truth is known of all tasks, or of at least twenty: the gap of a handful is chance.
    """
    if truth is None or votes.groups is None or votes.group is None:
        return {}
    counts = np.zeros((len(votes.groups), len(names)), dtype=np.int64)
    np.add.at(counts, (votes.group[truth >= 0], truth[truth >= 0]), 1)
    known = np.bincount(votes.group[truth != -1], minlength=len(votes.groups))
    enough = (known >= _ENOUGH_TRUTHS) | ((known > 0) & (known == np.bincount(votes.group, minlength=known.size)))
    enough[list(votes.left_out)] = False
    if enough.sum() < 2:
        return {}
    known = np.where(enough, known, 0)
    rates = np.divide(counts, known[:, None], out=np.full(counts.shape, np.nan), where=known[:, None] > 0)
    gaps, groups = range_over_groups(rates, axis=0), votes.groups.names
    k = int(np.argmax(gaps))
    most, least = int(np.nanargmax(rates[:, k])), int(np.nanargmin(rates[:, k]))
    return {
        "truth_gap": float(gaps[k]),
        "truth_gap_between": [names[k], groups[most], groups[least]],
        "truth_shares": {
            group: dict(zip(names, map(float, row), strict=True))
            for group, row, n in zip(groups, rates, known, strict=True)
            if n
        },
        "truth_tasks": {group: int(n) for group, n in zip(groups, known, strict=True) if n},
    }


def warning(pairs: Sequence[Pair]) -> str | None:
    """Return a warning about the pairs that are far apart, or None."""
    off = [f"{pair.what} {pair.shown(1)[0]} believed, {pair.shown(1)[1]} real" for pair in pairs if pair.is_off]
    if not off:
        return None
    return (
        f"the posterior is wrong here: {'; '.join(off)}. What follows from it (thresholds, price, optimum) is only "
        "believed, too"
    )
