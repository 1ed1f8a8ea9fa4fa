"""Many groups: whole counts within epsilon, group by group.

The rates of a class in the randomized solution lie in a stretch of width epsilon. With the middle of that stretch
fixed, groups do not depend on each other: each takes those of the few counts near its own that leave the stretch least
and, among these, are worth most. One integer program over all groups would take minutes.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.tolerances import NO_EXCESS

__all__ = ["totals_near_centres"]

_MAX_CLASSES = 12
_MAX_CLASSES_WITH_ALL_STEPS = 5
_MAX_SHIFTED_CLASSES = 4
_SHIFTS = (0.0, 0.25, -0.25, 0.5, -0.5)
"""By how many tasks of the smallest group the point is moved that rates are held close to."""

_GROUPS_AT_ONCE = 200


def totals_near_centres(
    floor: NDArray[np.float64],
    totals: NDArray[np.float64],
    group_mass: NDArray[np.float64],
    prices: NDArray[np.float64],
    epsilon: float,
) -> NDArray[np.int64] | None:
    """Return the counts per group and class; None if there are too many classes to try all counts.

    Parameters
    ----------
    floor, totals : ndarray, shape (n_groups, n_classes)
        Counts of the randomized solution, rounded down and as they are.
    prices : ndarray, shape (n_groups, n_classes)
        What one more task of a class is worth in each group.

    Examples
    --------
    >>> totals = np.array([[1.5, 1.5, 1.0], [2.0, 1.5, 1.5]])
    >>> totals_near_centres(np.floor(totals), totals, totals.sum(axis=1), np.zeros((2, 3)), 0.2)
    array([[2, 1, 1],
           [2, 2, 1]])
    """
    n_classes = totals.shape[1]
    if n_classes > _MAX_CLASSES:
        return None
    step = (-1, 0, 1, 2) if n_classes <= _MAX_CLASSES_WITH_ALL_STEPS else (0, 1)
    steps = np.array(list(product(step, repeat=n_classes)))
    left = np.rint(group_mass - floor.sum(axis=1))
    rates = totals / group_mass[:, None]
    middle = (rates.max(axis=0) + rates.min(axis=0)) / 2
    best, least = None, np.inf
    # Where rates cannot all be near the middle, those of whole tasks may be near another point.
    shifts = product(_SHIFTS, repeat=n_classes) if n_classes <= _MAX_SHIFTED_CLASSES else [(0.0,) * n_classes]
    for shift in sorted(shifts, key=lambda each: sum(map(abs, each))):
        centre = middle + np.array(shift) / float(group_mass.min())
        counts = _nearest(floor, steps, left, group_mass, prices, centre, epsilon)
        gap = float(np.ptp(counts / group_mass[:, None], axis=0).max())
        if gap < least - NO_EXCESS:
            best, least = counts, gap
        if least <= epsilon + NO_EXCESS:
            break
    return best


def _nearest(
    floor: NDArray[np.float64],
    steps: NDArray[np.int64],
    left: NDArray[np.float64],
    group_mass: NDArray[np.float64],
    prices: NDArray[np.float64],
    centre: NDArray[np.float64],
    epsilon: float,
) -> NDArray[np.int64]:
    """Return, for each group, the counts nearest to the centre; among equally near ones, those that are worth most."""
    n_groups = group_mass.size
    found = np.empty(floor.shape, dtype=np.int64)
    for first in range(0, n_groups, _GROUPS_AT_ONCE):
        rows = slice(first, first + _GROUPS_AT_ONCE)
        counts = floor[rows, None] + steps
        away = np.abs(counts / group_mass[rows, None, None] - centre).max(axis=2) - epsilon / 2
        over = np.maximum(away, NO_EXCESS)
        is_out = (steps.sum(axis=1) != left[rows, None]) | (counts < 0).any(axis=2)
        worth = (steps * prices[rows, None]).sum(axis=2)
        # The least excess first; of those, what is worth most; then the first.
        over = np.where(is_out, np.inf, over)
        least = over <= over.min(axis=1, keepdims=True) + NO_EXCESS
        best = np.argmax(np.where(least, worth, -np.inf), axis=1)
        found[rows] = np.rint(counts[np.arange(best.size), best])
    return found
