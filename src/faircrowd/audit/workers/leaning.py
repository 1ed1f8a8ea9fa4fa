"""Whether workers lean, that is vote differently by group: the size of the difference, its interval, and a test."""

from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from faircrowd.audit.intervals import newcombe
from faircrowd.audit.workers.shrinkage import shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.votes.vocabulary import Codes

__all__ = ["Leaning", "compare", "judge"]


@dataclass(frozen=True, eq=False)
class Leaning:
    """How differently each worker votes by group. Arrays with one entry per worker.

    Attributes
    ----------
    gap : ndarray
        The largest difference, over labels (and true classes), of the worker's rates in two groups, among the
        groups they voted in; NaN for a worker who voted in one group only.
    low, high : ndarray
        Interval of the gap, from Newcombe's interval for each label and pair of groups; the lower end is corrected
        for all of them at once (see :mod:`faircrowd.audit.intervals`). If the worker has not voted in some group,
        any gap is possible there, and ``high`` is 1.
    p_value : ndarray
        Of "no difference between groups": Fisher's exact test of each label in each group against the other
        groups; the smallest p-value times the number of informative tests.
    q_value : ndarray
        False-discovery rate (Benjamini-Hochberg) among the workers that can be tested; NaN for the others, who
        have too few votes for any p-value of at most 1 - confidence.
    shrunken : ndarray
        The gap shrunken toward the crowd's (see :mod:`faircrowd.audit.workers.shrinkage`).
    truth, label, more, less : ndarray of int32
        Where the difference is: ``label`` is voted more often in group ``more`` than in group ``less`` (among tasks
        whose true class is ``truth``). It is the difference whose interval lies farthest from 0 or, if all
        intervals reach 0, the largest. -1 where the gap is not known.
    """

    gap: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    shrunken: NDArray[np.float64]
    truth: Codes
    label: Codes
    more: Codes
    less: Codes


def judge(counts: NDArray[np.int64], confidence: float, *, shrink: bool = True) -> Leaning:
    """Compare the groups, with intervals and tests.

    Parameters
    ----------
    counts : ndarray of int, shape (n_workers, n_strata, n_groups, n_classes)
        Votes; strata are true classes, or one for all votes.
    """
    found = compare(counts, confidence)
    p_value, least = _tests(counts)
    p_value[np.isnan(found.gap)] = np.nan
    q_value = benjamini_hochberg(np.where(least <= 1 - confidence, p_value, np.nan))
    shrunken = shrunken_gaps(counts) if shrink else found.shrunken
    return replace(found, p_value=p_value, q_value=q_value, shrunken=shrunken)


def compare(counts: NDArray[np.int64] | NDArray[np.float64], confidence: float | None = None) -> Leaning:
    """Compare the groups, without tests.

    Counts are as in ``judge``, or expected counts, which have no interval (confidence None). An expected count of less
    than one vote counts as no vote.
    """
    n_workers, _, n_groups, _ = counts.shape
    votes = counts.sum(axis=3)
    pairs = [
        (s, k, a, b)
        for (s, k), (a, b) in product(_cells(counts), combinations(range(n_groups), 2))
        if (votes[:, s, a] >= 1).any() and (votes[:, s, b] >= 1).any()  # where nobody voted there is nothing to compare
    ]
    gap, low, high = np.full(n_workers, -1.0), np.full(n_workers, -1.0), np.zeros(n_workers)
    size, place = np.zeros(n_workers), np.full((4, n_workers), -1, dtype=np.int32)  # of the most certain difference
    for s, k, a, b in pairs:
        voted = (votes[:, s, a] >= 1) & (votes[:, s, b] >= 1)
        table = counts[voted, s, a, k], votes[voted, s, a], counts[voted, s, b, k], votes[voted, s, b]
        difference, nearest, farthest = np.zeros((3, n_workers))
        difference[voted] = table[0] / table[1] - table[2] / table[3]
        if confidence is not None:
            start, end = newcombe(*table, confidence)
            farthest[voted] = np.maximum(-start, end)
            start, end = newcombe(*table, 1 - (1 - confidence) / (2 * len(pairs) - 1))
            nearest[voted] = np.maximum(np.maximum(start, -end), 0.0)
        farthest[~voted] = 1.0
        far = np.abs(difference)
        more_certain = voted & ((nearest > low) | ((nearest == low) & (far > size)))
        size[more_certain] = far[more_certain]
        place[:, more_certain & (difference >= 0)] = [[s], [k], [a], [b]]
        place[:, more_certain & (difference < 0)] = [[s], [k], [b], [a]]
        gap[voted] = np.maximum(gap, far)[voted]
        low[voted] = np.maximum(low, nearest)[voted]
        high = np.maximum(high, farthest)
    known = gap >= 0
    unknown = np.full(n_workers, np.nan)
    with_interval = known if confidence is not None else np.zeros(n_workers, dtype=bool)
    return Leaning(
        gap=np.where(known, gap, np.nan),
        low=np.where(with_interval, low, np.nan),
        high=np.where(with_interval, high, np.nan),
        p_value=unknown,
        q_value=unknown,
        shrunken=unknown,
        truth=place[0],
        label=place[1],
        more=place[2],
        less=place[3],
    )


def _cells(counts: NDArray[np.int64] | NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the strata and labels to compare; of two labels only the second, as the first mirrors it."""
    _, n_strata, _, n_classes = counts.shape
    return list(product(range(n_strata), range(1 if n_classes == 2 else 0, n_classes)))


def _tests(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-value of each worker, and the smallest that is possible with the same totals."""
    n_workers, _, n_groups, _ = counts.shape
    votes = counts.sum(axis=3)
    p_value, least, made = np.ones(n_workers), np.ones(n_workers), np.zeros(n_workers)
    for (s, k), a in product(_cells(counts), range(1 if n_groups == 2 else 0, n_groups)):
        hits, total = counts[:, s, a, k], votes[:, s, a]
        test = fisher_tests(hits, total, counts[:, s, :, k].sum(axis=1) - hits, votes[:, s].sum(axis=1) - total)
        p_value, least = np.minimum(p_value, test.p_value), np.minimum(least, test.least)
        made += test.least < 1
    made = np.maximum(made, 1)
    return np.minimum(p_value * made, 1.0), least * made
