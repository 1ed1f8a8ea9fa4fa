r"""Intervals for rates and for the gap, in closed form.

**What they cover.** The labels at hand are a sample: the tasks of a group are independent draws from one
distribution. An interval is for the rate (or gap) in the population of such tasks. The gap of these very tasks is known
and needs no interval.

**The gap.** :math:`\max_j |d_j|` over the differences :math:`d_j` between two groups' rates of a class; with two
classes one class is enough. Newcombe's interval for each :math:`d_j` gives one for :math:`|d_j|`. The largest upper end
is an upper end for the gap without any correction: it can fail only if the interval of the one difference that *is* the
gap fails. The largest lower end can fail in any of the m differences and in either direction, so its error is divided
among them (Bonferroni).

**How accurate they are.** Newcombe's interval is an approximation. By enumeration of all samples, for groups of 10 to
100 tasks and true gaps up to .3, an end that should fail with probability .05 fails with .04 on average and .08 at
worst; where one group is tiny, it is worse. The limits of a verdict (:func:`gap_limits`) come from an exact test
instead, :mod:`faircrowd.audit.difference_test`.

**Many groups.** Not all pairs are looked at. With rate :math:`p_a`, and :math:`u_a` the upper end of its own interval,
the upper end of :math:`p_a - p_b` is :math:`p_a - p_b + \sqrt{(u_a - p_a)^2 + (p_b - l_b)^2}`, which rises if
:math:`p_a` and :math:`u_a` both rise, as :math:`\sqrt{s^2 + t^2}` rises by no more than s. So a group need not come
first if two others have as high a rate and as high an end: one of these is not the second group. Likewise for the
second group, and for the lower end.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from faircrowd._checks import check_confidence
from faircrowd._display import Displayed
from faircrowd._kernels import kernel
from faircrowd._steps import count_steps
from faircrowd.audit.difference_test import Pair, ordered_differences, p_value_below, upper_limit
from faircrowd.errors import InputError
from faircrowd.fair.gap import gap_of

__all__ = [
    "GapInterval",
    "approximate_gap_limits",
    "check_counts",
    "difference_limits",
    "gap_interval",
    "gap_limits",
    "in_front",
    "newcombe",
    "wilson",
]

FEW_GROUPS = 3
"""So few groups are not worth a sort, nor a kernel that sorts."""

_MAX_PAIRS_AT_ONCE = 1 << 18

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class GapInterval(Displayed):
    """An interval for the demographic-parity gap.

    Attributes
    ----------
    low, high : float
    gap : float
        The gap of the sample, which lies in the interval.
    confidence : float
    method : str
    """

    low: float
    high: float
    gap: float
    confidence: float
    method: str


def wilson(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Ends:
    """Return the ends of Wilson's score interval for rates; from 0 to 1 where n is 0.

    Examples
    --------
    >>> low, high = wilson([0, 5, 10], 10)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.237, 0.722], [0.278, 0.763, 1.0])
    """
    x, n = _floats(successes, n)
    return _wilson(x, n, _z((1 - check_confidence("confidence", confidence)) / 2))


def newcombe(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Ends:
    """Return the ends of Newcombe's interval (hybrid score, his method 10) for the rate x1 / n1 minus x2 / n2.

    From -1 to 1 where n1 or n2 is 0.

    References
    ----------
    R. G. Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine 17
    (1998), 873-890.

    Examples
    --------
    >>> low, high = newcombe(56, 70, 48, 80)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0524, 0.3339)
    """
    x1, n1, x2, n2 = _floats(x1, n1, x2, n2)
    return _newcombe(x1, n1, x2, n2, _z((1 - check_confidence("confidence", confidence)) / 2))


def gap_interval(counts: ArrayLike, confidence: float = 0.95) -> GapInterval:
    """Return an interval that contains the gap of the population with probability ``confidence``.

    Parameters
    ----------
    counts : array-like, shape (n_groups, n_classes)
        How many tasks of each group have each label.
    confidence : float

    Notes
    -----
    Half of the error is for the upper end. Of m differences, the one that is the gap can make the lower end too
    high in one direction, each of the others in two: each direction has a share of 1 / (2 m - 1) of the other half.
    Two classes and two groups have m = 1: this is Newcombe's interval for the difference, folded at 0.

    Examples
    --------
    >>> found = gap_interval([[14, 56], [32, 48]])
    >>> round(found.gap, 3), round(found.low, 4), round(found.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    table = check_counts(counts)
    half = (1 - check_confidence("confidence", confidence)) / 2
    return _interval(table, confidence, half, half / (2 * _differences(table) - 1), "Newcombe")


def gap_limits(counts: ArrayLike, confidence: float = 0.95) -> GapInterval:
    """Return two limits of the gap, each of which alone holds with probability ``confidence``.

    With that probability the gap is at most ``high``; and with that probability it is at least ``low``. This is what a
    verdict needs that looks at only one of them. Both come from an exact test of the difference of two rates.

    Parameters
    ----------
    counts : array-like of int, shape (n_groups, n_classes)
        How many tasks of each group have each label.
    confidence : float

    Examples
    --------
    >>> found = gap_limits([[2, 0], [0, 2]])  # four tasks show little, whatever their labels
    >>> found.gap, round(found.low, 3), round(found.high, 3)
    (1.0, 0.0, 1.0)
    """
    table = check_counts(counts)
    if (table != np.rint(table)).any():
        raise InputError("counts must be whole numbers of tasks.")
    error = 1 - check_confidence("confidence", confidence)
    lower_error = error / (2 * _differences(table))
    low, high = difference_limits(ordered_differences(table.astype(np.int64)), error, lower_error)
    gap = gap_of(table / table.sum(axis=1, keepdims=True))
    return GapInterval(min(low, gap), min(max(high, gap), 1.0), gap, float(confidence), "exact, each end on its own")


def difference_limits(pairs: Sequence[Pair], error: float, lower_error: float) -> tuple[float, float]:
    """Return limits of the largest difference between two rates, by the exact test of each.

    Parameters
    ----------
    pairs : sequence of (int, int, int, int)
        Count and size of one group and of another, both ways round, by falling difference.
    error : float
        With what probability the upper limit may be too low: of all differences, only the largest can make it so.
    lower_error : float
        With what probability each difference may make the lower limit too high.
    """
    high = low = 0.0
    for x, m, y, n in count_steps(pairs, "difference"):
        if p_value_below(x, m, y, n, high) > error:
            high = max(high, upper_limit(x, m, y, n, error))
        if x / m - y / n > low and p_value_below(y, n, x, m, -low) <= lower_error:
            low = max(low, -upper_limit(y, n, x, m, lower_error))
    return low, high


def approximate_gap_limits(counts: ArrayLike, confidence: float = 0.95) -> GapInterval:
    """Return about the same as ``gap_limits``, also for counts that are not whole, quickly: by Newcombe's interval."""
    table = check_counts(counts)
    error = 1 - check_confidence("confidence", confidence)
    return _interval(table, confidence, error, error / (2 * _differences(table)), "Newcombe, each end on its own")


@kernel
def in_front(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places that are behind at most one other: not lower in either number (of equals, the later is behind).

    One other is not enough to be left out, as the two groups of a pair differ.
    """
    order = np.argsort(-second, kind="mergesort")
    order = order[np.argsort(-first[order], kind="mergesort")]
    kept = np.empty(order.size, np.int64)
    n, best, runner_up = 0, -np.inf, -np.inf
    for i in order:
        if second[i] > runner_up:
            kept[n] = i
            n += 1
            best, runner_up = max(best, second[i]), max(runner_up, min(best, second[i]))
    return kept[:n]


def check_counts(counts: ArrayLike) -> NDArray[np.float64]:
    """Return a table of counts with one row per group, or raise."""
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("counts must be numbers, with one row per group and one column per class.") from None
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 1:
        raise InputError(
            f"counts needs a row for each of at least two groups and a column per class; got {table.shape}."
        )
    if not np.isfinite(table).all() or (table < 0).any() or (table.sum(axis=1) == 0).any():
        raise InputError("counts must be numbers of tasks: none negative, and every group with at least one task.")
    return table


def _floats(*values: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    return np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))


def _z(tail: float) -> float:
    return float(-ndtri(tail))


def _wilson(x: NDArray[np.float64], n: NDArray[np.float64], z: float) -> Ends:
    seen = np.maximum(n, 1e-300)
    centre = (x + z**2 / 2) / (seen + z**2)
    width = z * np.sqrt(x * (n - x) / seen + z**2 / 4) / (seen + z**2)
    # At 0 and n one end is exact; rounding must not move it further.
    low = np.where(x == 0, 0.0, np.maximum(centre - width, 0.0))
    return low, np.where(x == n, 1.0, np.minimum(centre + width, 1.0))


def _newcombe(
    x1: NDArray[np.float64], n1: NDArray[np.float64], x2: NDArray[np.float64], n2: NDArray[np.float64], z: float
) -> Ends:
    (low1, high1), (low2, high2) = _wilson(x1, n1, z), _wilson(x2, n2, z)
    p1, p2 = x1 / np.maximum(n1, 1e-300), x2 / np.maximum(n2, 1e-300)
    low = p1 - p2 - np.hypot(p1 - low1, high2 - p2)
    high = p1 - p2 + np.hypot(high1 - p1, p2 - low2)
    seen = (n1 > 0) & (n2 > 0)
    return np.where(seen, low, -1.0), np.where(seen, high, 1.0)


def _columns(table: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the counts of the classes to compare: of two classes, one is enough, as the other mirrors it."""
    return [table[:, 0]] if table.shape[1] <= 2 else list(table.T)


def _differences(table: NDArray[np.float64]) -> int:
    return len(_columns(table)) * math.comb(table.shape[0], 2)


def _interval(
    table: NDArray[np.float64], confidence: float, upper_tail: float, lower_tail: float, method: str
) -> GapInterval:
    n = table.sum(axis=1)
    low = high = 0.0
    for x in _columns(table):
        for first, second in _pairs(*_extreme_groups(x, n, _z(upper_tail), above=True)):
            high = max(high, float(_newcombe(x[first], n[first], x[second], n[second], _z(upper_tail))[1].max()))
        for first, second in _pairs(*_extreme_groups(x, n, _z(lower_tail), above=False)):
            low = max(low, float(_newcombe(x[first], n[first], x[second], n[second], _z(lower_tail))[0].max()))
    gap = gap_of(table / n[:, None])
    # The gap lies in the interval except for the rounding of the ends.
    return GapInterval(min(low, gap), min(max(high, gap), 1.0), gap, float(confidence), method)


def _extreme_groups(
    x: NDArray[np.float64], n: NDArray[np.float64], z: float, *, above: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the groups that may come first, and second, in the difference with the highest upper (or lower) end."""
    if x.size <= FEW_GROUPS:
        return np.arange(x.size), np.arange(x.size)
    rate = x / n
    low, high = _wilson(x, n, z)
    return in_front(rate, high if above else low), in_front(-rate, -(low if above else high))


def _pairs(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield all pairs of different groups, some at a time."""
    step = max(_MAX_PAIRS_AT_ONCE // second.size, 1)
    for start in range(0, first.size, step):
        a, b = np.repeat(first[start : start + step], second.size), np.tile(second, min(step, first.size - start))
        if (a != b).any():
            yield a[a != b], b[a != b]
