r"""Two classes, any number of groups: the best randomized labelling by one sort, without a linear program.

Demographic parity lets all rates of the second class lie in a stretch of width :math:`\varepsilon` around a centre c.
In each group the tasks that gain the most by the second class get it first. So a group takes the rate of its
unconstrained labels if that lies in the stretch, and the nearer end of the stretch otherwise. What all groups gain is a
concave and piecewise linear function of c. Its slope at c is the sum, over the groups that are held at an end, of what
the task at that end gains by the second class (times the group's share): it falls from atom to atom, and the best c
is where it crosses 0.

The same slopes are the multipliers: that of a group is its own slope at the best c or, where the slope jumps there, a
number between the slopes to both sides. All of them take the same part of the jump, the one that makes their sum 0.
Value and dual bound are then equal but for rounding.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.votes.vocabulary import Codes

__all__ = ["TwoClassSolution", "solve_two_classes"]


class TwoClassSolution(NamedTuple):
    """The fraction of each atom that gets each label, and the multipliers of the rates."""

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def solve_two_classes(atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float) -> TwoClassSolution:
    """Solve over atoms of two classes, none of them decided, with a gap of at most epsilon.

    Examples
    --------
    >>> gains = np.array([[0.1, 0.9], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> atoms = Atoms(gains, np.ones(4), np.array([1, 1, 0, 0], dtype=np.int32))
    >>> solve_two_classes(atoms, np.array([2.0, 2.0]), 0.5).fractions.round(3).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """
    rise = atoms.gains[:, 1] - atoms.gains[:, 0]
    # Groups one after another, in each of them the atoms that gain the most by the second class first.
    order = np.lexsort((-rise, atoms.group))
    group, rise = atoms.group[order], rise[order]
    slope = rise * (group_mass / group_mass.sum())[group]
    # The stretch of centres over which an end of the stretch of rates passes an atom: the upper end for atoms that gain
    # by the second class, the lower end for the others. Stretches of a group follow each other without rounding.
    start, stop = _passed(atoms.mass[order], group, group_mass)
    shift = np.where(rise > 0, -epsilon / 2, epsilon / 2)
    start, stop = start + shift, stop + shift
    centre = _best_centre(start, stop, slope)
    before, after = (_slopes(inside, slope, group, group_mass.size) for inside in _around(start, stop, centre))
    jump = float(before.sum() - after.sum())
    part = -float(after.sum()) / jump if jump > 0 else 0.0
    multiplier = after + part * (before - after)
    second = np.empty(order.size)
    second[order] = np.clip((centre - start) / np.maximum(stop - start, np.finfo(float).tiny), 0.0, 1.0)
    return TwoClassSolution(np.stack([1.0 - second, second], axis=1), 0.5 * np.outer(multiplier, [-1.0, 1.0]))


def _passed(
    mass: NDArray[np.float64], group: Codes, group_mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rate of the second class before and after each atom has got it, in groups that come one by one."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    stop = np.empty(mass.size)
    for a, b in pairwise([*first.tolist(), mass.size]):  # a sum over all groups would round off light ones
        np.cumsum(mass[a:b], out=stop[a:b])
    stop = np.minimum(stop / group_mass[group], 1.0)
    stop[np.append(first[1:], mass.size) - 1] = 1.0
    start = np.append(0.0, stop[:-1])
    start[first] = 0.0
    return start, stop


def _best_centre(start: NDArray[np.float64], stop: NDArray[np.float64], slope: NDArray[np.float64]) -> float:
    """Return the least centre to the right of which the slope is not positive."""
    centres = np.unique(np.concatenate([start, stop]))
    low, high = 0, centres.size - 1  # to the right of the last nothing gains
    while low < high:
        middle = (low + high) // 2
        _, inside = _around(start, stop, float(centres[middle]))
        if slope[inside].sum() > 0:
            low = middle + 1
        else:
            high = middle
    return float(centres[low])


def _around(
    start: NDArray[np.float64], stop: NDArray[np.float64], centre: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which atoms an end passes just to the left, and just to the right, of a centre."""
    return (start < centre) & (centre <= stop), (start <= centre) & (centre < stop)


def _slopes(inside: NDArray[np.bool_], slope: NDArray[np.float64], group: Codes, n_groups: int) -> NDArray[np.float64]:
    return np.bincount(group[inside], weights=slope[inside], minlength=n_groups).astype(np.float64)
