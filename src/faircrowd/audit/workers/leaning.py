"""Whether workers lean, that is vote differently by group: the size of the difference, its interval, and a test."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Displayed
from faircrowd._kernels import kernel
from faircrowd._steps import count_steps
from faircrowd.audit.intervals import FEW_GROUPS, in_front, newcombe, wilson
from faircrowd.audit.workers.shrinkage import shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.votes.vocabulary import Codes

__all__ = ["Leaning", "compare", "judge"]

_MAX_CELLS = 1 << 20
"""As many rates are compared at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Leaning(Displayed):
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

    def among(self, groups: Codes) -> "Leaning":
        """Return the same with the codes that the groups, compared alone, have among all."""
        more, less = (np.where(code >= 0, groups[code], -1).astype(np.int32) for code in (self.more, self.less))
        return replace(self, more=more, less=less)


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
    n_workers = len(counts)
    votes = counts.sum(axis=3)
    groups = (votes >= 1).any(axis=0).sum(axis=1)  # where nobody voted there is nothing to compare
    n_pairs = sum(math.comb(int(groups[s]), 2) for s, _ in _cells(counts))
    gap, low, high = np.full(n_workers, -1.0), np.full(n_workers, -1.0), np.zeros(n_workers)
    size, place = np.zeros(n_workers), np.full((4, n_workers), -1, dtype=np.int32)  # of the most certain difference
    for s, k in _cells(counts) if n_pairs else []:
        if groups[s] < 2:
            continue
        voted = votes[:, s] >= 1
        high[voted.sum(axis=1) < groups[s]] = 1.0  # in the other groups anything is possible
        for found in _certain_pairs(counts[:, s, :, k], votes[:, s], voted, confidence, n_pairs):
            w = found.worker
            gap[w], high[w] = np.maximum(gap[w], found.gap), np.maximum(high[w], found.farthest)
            more_certain = (found.nearest > low[w]) | ((found.nearest == low[w]) & (found.size > size[w]))
            low[w] = np.maximum(low[w], found.nearest)
            size[w[more_certain]] = found.size[more_certain]
            place[:, w[more_certain]] = np.broadcast_arrays(s, k, found.more[more_certain], found.less[more_certain])
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


class _CertainPairs(NamedTuple):
    """Of some workers, for one label: gap, ends of its interval, and the difference that is farthest from 0."""

    worker: NDArray[np.int64]
    gap: NDArray[np.float64]
    nearest: NDArray[np.float64]
    farthest: NDArray[np.float64]
    size: NDArray[np.float64]
    more: NDArray[np.int64]
    less: NDArray[np.int64]


def _certain_pairs(
    hits: NDArray[Any], votes: NDArray[Any], voted: NDArray[np.bool_], confidence: float | None, n_pairs: int
) -> Iterator[_CertainPairs]:
    """Compare the groups of each worker, some workers at a time.

    The ends of Newcombe's interval of a difference rise with the one rate and fall with the other, and depend on the
    two widths likewise. So only those pairs of groups are compared of which neither group is behind two others in
    both rate and width: a few of all pairs.
    """
    workers = np.flatnonzero(voted.sum(axis=1) >= 2)
    step = max(_MAX_CELLS // max(voted.shape[1], 1), 1)
    for start in range(0, workers.size, step):
        chosen = workers[start : start + step]
        x, n, seen = hits[chosen], votes[chosen], voted[chosen]
        rates = np.divide(x, n, out=np.zeros(x.shape), where=seen)
        more, less = np.argmax(np.where(seen, rates, -1.0), axis=1), np.argmin(np.where(seen, rates, 2.0), axis=1)
        less = np.where(more == less, np.argmax(np.cumsum(seen, axis=1) == 2, axis=1), less)  # no rates differ
        row = np.arange(chosen.size)
        gap = size = rates[row, more] - rates[row, less]
        nearest, farthest = np.zeros((2, chosen.size))
        if confidence is not None:
            corrected = _corrected(confidence, n_pairs)
            (low, high), (lowest, highest) = wilson(x, n, confidence), wilson(x, n, corrected)
            of, a, b = _pairs(rates, seen, high - rates, rates - low, lowest - rates, rates - highest)
            table = x[of, a], n[of, a], x[of, b], n[of, b]
            first = np.searchsorted(of, row)  # the first pair of each worker
            farthest = np.maximum.reduceat(newcombe(*table, confidence)[1], first)
            ends = np.maximum(newcombe(*table, corrected)[0], 0.0)
            nearest = np.maximum.reduceat(ends, first)
            top = np.flatnonzero(ends == nearest[of])
            top = top[np.lexsort((b[top], a[top], rates[of[top], b[top]] - rates[of[top], a[top]], of[top]))]
            best, certain = top[np.searchsorted(of[top], row)], nearest > 0
            more, less = np.where(certain, a[best], more), np.where(certain, b[best], less)
            size = rates[row, more] - rates[row, less]
        yield _CertainPairs(chosen, gap, nearest, farthest, size, more, less)


def _corrected(confidence: float, n_pairs: int) -> float:
    """Return the confidence of each lower end so that all of them hold at once."""
    return 1 - (1 - confidence) / (2 * n_pairs - 1)


def _pairs(
    rates: NDArray[np.float64], seen: NDArray[np.bool_], *ends: NDArray[np.float64]
) -> tuple[NDArray[np.int64], ...]:
    """Return row and groups of the pairs that can be extreme; of few groups, all pairs."""
    if seen.shape[1] > FEW_GROUPS:
        return _pairs_in_front(rates, seen, *ends)
    both = seen[:, :, None] & seen[:, None, :] & ~np.eye(seen.shape[1], dtype=bool)
    return np.nonzero(both)


@kernel
def _pairs_in_front(
    rates: NDArray[np.float64],
    seen: NDArray[np.bool_],
    above_of_more: NDArray[np.float64],
    below_of_less: NDArray[np.float64],
    below_of_more: NDArray[np.float64],
    above_of_less: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return row, group of the higher and group of the lower rate of all pairs that can be extreme, by row."""
    n, found = 0, np.empty((3, 4 * rates.shape[0]), np.int64)
    for w in range(rates.shape[0]):
        groups = np.flatnonzero(seen[w])
        rate = rates[w][groups]
        for ends in range(2 if groups.size > FEW_GROUPS else 1):
            more = less = np.arange(groups.size)
            if groups.size > FEW_GROUPS:
                more = in_front(rate, (below_of_more if ends else above_of_more)[w][groups])
                less = in_front(-rate, (above_of_less if ends else below_of_less)[w][groups])
            if n + more.size * less.size > found.shape[1]:
                larger = np.empty((3, 2 * (n + more.size * less.size)), np.int64)
                larger[:, :n] = found[:, :n]
                found = larger
            for a in more:
                for b in less:
                    if a != b:
                        found[0, n], found[1, n], found[2, n] = w, groups[a], groups[b]
                        n += 1
    return found[0, :n], found[1, :n], found[2, :n]


def _cells(counts: NDArray[np.int64] | NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the strata and labels to compare; of two labels only the second, as the first mirrors it."""
    _, n_strata, _, n_classes = counts.shape
    return list(product(range(n_strata), range(1 if n_classes == 2 else 0, n_classes)))


def _tests(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-value of each worker, and the smallest that is possible with the same totals."""
    n_workers, _, n_groups, _ = counts.shape
    votes = counts.sum(axis=3)
    p_value, least, made = np.ones(n_workers), np.ones(n_workers), np.zeros(n_workers)
    for s, k in _cells(counts):
        all_hits, all_votes = counts[:, s, :, k].sum(axis=1), votes[:, s].sum(axis=1)
        for a in count_steps(range(1 if n_groups == 2 else 0, n_groups), "tests of group"):
            hits, total = counts[:, s, a, k], votes[:, s, a]
            test = fisher_tests(hits, total, all_hits - hits, all_votes - total)
            p_value, least = np.minimum(p_value, test.p_value), np.minimum(least, test.least)
            made += test.least < 1
    made = np.maximum(made, 1)
    return np.minimum(p_value * made, 1.0), least * made
