"""Move tasks of one group between labels until each label has a wanted number of them, at the least loss.

The labels of a linear program are the best for their own numbers: under its prices, every task has its best label. From
there, chains of moves change the numbers. A chain takes a task from one label to a second, perhaps another task from
the second to a third, and so on; the cheapest one is a shortest path between labels, where the length of a step is the
smallest loss of a task that may take it. Labels that are the best for their numbers stay so if the cheapest chain is
moved each time (successive shortest paths; Ahuja, Magnanti and Orlin 1993, chapter 9). There are as many chains as
tasks to move, mostly one to three.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel

__all__ = ["move_to_totals"]

_FEW_ATOMS = 1000
"""How many atoms are looked at first: those whose best two labels are nearest to each other."""


def move_to_totals(
    gains: NDArray[np.float64],
    counts: NDArray[np.int64],
    members: NDArray[np.int64],
    held: NDArray[np.int64],
    wanted: NDArray[np.int64],
    prices: NDArray[np.float64],
    margin: NDArray[np.float64],
) -> bool:
    """Change the counts of the atoms of one group to the given total per class, so that they gain the most.

    Parameters
    ----------
    gains : ndarray, shape (n_atoms, n_classes)
    counts : ndarray, shape (n_atoms, n_classes)
        How many tasks of each atom have each label; only labels that are best under the prices, but for rounding.
    members : ndarray of int64
        The atoms of the group. Only their counts are changed.
    held, wanted : ndarray, shape (n_classes,)
        How many tasks of the group have each label, and are to have it.
    prices : ndarray, shape (n_classes,)
    margin : ndarray, shape (n_atoms,)
        By how much the best label of each atom beats the second best under the prices; 0 for an atom of several labels.

    Returns
    -------
    bool
        Whether there are such counts; if there are none, nothing is changed.
    """
    surplus = held - wanted
    if (wanted < 0).any() or surplus.sum() != 0:
        return False
    if not surplus.any():
        return True
    if members.size > _FEW_ATOMS:
        of_members = margin[members]
        width = float(np.partition(of_members, _FEW_ATOMS)[_FEW_ATOMS])
        few = members[of_members <= width]
        moved = counts[few]
        cost = _move(gains[few], moved, surplus.copy(), prices)
        # A chain with a move of another atom would cost more than its margin, less what earlier chains may give back.
        if 2.0 * cost <= width:
            counts[few] = moved
            return True
    moved = counts[members]
    is_found = bool(np.isfinite(_move(gains[members], moved, surplus, prices)))
    if is_found:
        counts[members] = moved
    return is_found


@kernel
def _move(
    gains: NDArray[np.float64], counts: NDArray[np.int64], surplus: NDArray[np.int64], prices: NDArray[np.float64]
) -> float:
    """Move tasks until no label has too many; return what the moves cost under the prices, infinity if they cannot be.

    Invariant: under the potentials, which begin as the prices, no move of a task gains anything. Losses of moves that
    are below 0 by rounding count as 0.
    """
    n_atoms, n_classes = gains.shape
    potential = prices.copy()
    cost, atom = np.empty((n_classes, n_classes)), np.empty((n_classes, n_classes), np.int64)
    total = 0.0
    while (surplus > 0).any():
        cost[:] = np.inf
        for j in range(n_atoms):
            for k in range(n_classes):
                if counts[j, k] > 0:
                    own = gains[j, k] - potential[k]
                    for other in range(n_classes):
                        loss = max(own - (gains[j, other] - potential[other]), 0.0)
                        if loss < cost[k, other]:
                            cost[k, other], atom[k, other] = loss, j
        # The shortest paths from labels that have too many (Dijkstra), up to the first that has too few.
        distance = np.where(surplus > 0, 0.0, np.inf)
        is_final, before = np.zeros(n_classes, np.bool_), np.full(n_classes, -1)
        while True:
            last = -1
            for k in range(n_classes):
                if not is_final[k] and distance[k] < np.inf and (last < 0 or distance[k] < distance[last]):
                    last = k
            if last < 0:
                return np.inf
            if surplus[last] < 0:
                break
            is_final[last] = True
            for k in range(n_classes):
                if not is_final[k] and distance[last] + cost[last, k] < distance[k]:
                    distance[k], before[k] = distance[last] + cost[last, k], last
        # As many tasks as can go the same way do so at once.
        amount, k = -surplus[last], last
        while before[k] >= 0:
            amount = min(amount, counts[atom[before[k], k], before[k]])
            k = before[k]
        amount = min(amount, surplus[k])
        surplus[k] -= amount
        surplus[last] += amount
        k = last
        while before[k] >= 0:
            j, source = atom[before[k], k], before[k]
            counts[j, source] -= amount
            counts[j, k] += amount
            total += amount * abs((gains[j, source] - prices[source]) - (gains[j, k] - prices[k]))
            k = source
        for k in range(n_classes):
            potential[k] -= min(distance[k], distance[last])
    return total
