"""Two classes, any number of groups: whole counts within epsilon without an integer program.

Each group has a few counts of the second class near its share of the randomized solution. Whatever the counts, all
rates lie in some stretch that begins at one of them. So the stretches of width epsilon are tried one after another,
each group taking the best of its counts inside: two pointers move over all rates in rising order.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel

__all__ = ["closest_totals", "shortest_stretch"]


def closest_totals(
    floor: NDArray[np.float64], group_mass: NDArray[np.float64], prices: NDArray[np.float64], epsilon: float
) -> NDArray[np.int64]:
    """Return the counts per group and class that exceed epsilon least and, among these, are worth most.

    Parameters
    ----------
    floor : ndarray, shape (n_groups, 2)
        Counts of the randomized solution, rounded down. Counts from one below to two above are tried.
    prices : ndarray, shape (n_groups, 2)
        What one more task of a class is worth in each group.
    """
    mass = np.rint(group_mass).astype(np.int64)
    below = floor.astype(np.int64)
    step = np.arange(-1, 3)
    second = below[:, 1, None] + step
    first = mass[:, None] - second
    allowed = (second >= 0) & (first >= 0) & (np.abs(first - below[:, 0, None] - 0.5) <= 1.5)
    group, place = np.nonzero(allowed)
    count = second[group, place]
    worth = count * (prices[group, 1] - prices[group, 0])
    rate = count / mass[group]
    order = np.lexsort((group, rate))
    chosen = _best_stretch(group[order], rate[order], worth[order], mass.size, epsilon)
    found = count[order][chosen]
    return np.stack([mass - found, found], axis=1)


@kernel
def _best_stretch(
    group: NDArray[np.int64], rate: NDArray[np.float64], worth: NDArray[np.float64], n_groups: int, epsilon: float
) -> NDArray[np.int64]:
    """Return the place of the rate that each group takes; rates are in rising order."""
    width = max(shortest_stretch(group, rate, n_groups), epsilon) + 1e-13
    best_of = np.full((n_groups, 4), -1)  # the places of a group's rates inside the stretch
    total, missing, last, start = 0.0, n_groups, 0, 0
    top, top_start, top_last = -1e300, 0, 0
    while start < group.size:
        while last < group.size and rate[last] <= rate[start] + width:
            missing, total = _put(best_of, group[last], last, worth, missing, total)
            last += 1
        if missing == 0 and total > top + 1e-12 * max(1.0, abs(top)):
            top, top_start, top_last = total, start, last
        missing, total = _take(best_of, group[start], start, worth, missing, total)
        start += 1
    chosen = np.full(n_groups, -1)
    for i in range(top_start, top_last):
        a = group[i]
        if chosen[a] < 0 or worth[i] > worth[chosen[a]]:
            chosen[a] = i
    return chosen


@kernel
def shortest_stretch(group: NDArray[np.int64], rate: NDArray[np.float64], n_groups: int) -> float:
    """Return the width of the shortest stretch in which every group has a rate."""
    inside = np.zeros(n_groups, np.int64)
    missing, start, best = n_groups, 0, np.inf
    for last in range(group.size):
        missing -= inside[group[last]] == 0
        inside[group[last]] += 1
        while missing == 0:
            best = min(best, rate[last] - rate[start])
            inside[group[start]] -= 1
            missing += inside[group[start]] == 0
            start += 1
    return best


@inner_kernel
def _most(places: NDArray[np.int64], worth: NDArray[np.float64]) -> float:
    most = -np.inf
    for place in places:
        if place >= 0:
            most = max(most, worth[place])
    return most


@inner_kernel
def _put(
    best_of: NDArray[np.int64], a: int, place: int, worth: NDArray[np.float64], missing: int, total: float
) -> tuple[int, float]:
    """Let a rate of a group in; return how many groups are missing, and the worth of those that are not."""
    before = _most(best_of[a], worth)
    best_of[a, np.argmin(best_of[a])] = place
    after = _most(best_of[a], worth)
    return (missing - 1, total + after) if before == -np.inf else (missing, total - before + after)


@inner_kernel
def _take(
    best_of: NDArray[np.int64], a: int, place: int, worth: NDArray[np.float64], missing: int, total: float
) -> tuple[int, float]:
    """Let a rate of a group out again."""
    before = _most(best_of[a], worth)
    for j in range(best_of.shape[1]):
        if best_of[a, j] == place:
            best_of[a, j] = -1
    after = _most(best_of[a], worth)
    return (missing + 1, total - before) if after == -np.inf else (missing, total - before + after)
