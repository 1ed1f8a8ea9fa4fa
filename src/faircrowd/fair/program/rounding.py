"""Labels without a coin for any number of classes and groups.

The solution with a coin splits a few atoms. The counts a group and class are rounded to whole ones by a small
integer program that exceeds epsilon as little as can be (mostly not at all); then each group's tasks are
moved to these counts at the least loss: a transport problem, whose vertices are whole.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import margins, prices_of
from faircrowd.fair.program.relaxed import Relaxed

__all__ = ["round_counts"]

_WHOLE = 1e-7
_WIDTHS = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, np.inf)


def round_counts(atoms: Atoms, group_mass: NDArray[np.float64], relaxed: Relaxed, epsilon: float) -> NDArray[np.int64]:
    """Return how many tasks of each atom get each label, shape (n_atoms, n_classes)."""
    n_atoms, n_classes = relaxed.fractions.shape
    best = np.argmax(relaxed.fractions, axis=1)
    counts = np.zeros((n_atoms, n_classes), dtype=np.int64)
    counts[np.arange(n_atoms), best] = np.rint(atoms.mass).astype(np.int64)
    cell = atoms.group.astype(np.int64) * n_classes + best
    totals = np.bincount(cell, weights=atoms.mass, minlength=group_mass.size * n_classes).astype(np.float64)
    totals = totals.reshape(-1, n_classes) + (0.0 if atoms.rest is None else atoms.rest.mass)
    # Few atoms are split between labels.
    mixed = np.flatnonzero(relaxed.fractions.max(axis=1) < 1.0)
    real = atoms.mass[mixed, None] * relaxed.fractions[mixed]
    whole = np.rint(real)
    np.add.at(totals, atoms.group[mixed], real - counts[mixed])
    counts[mixed] = whole.astype(np.int64)
    split = np.zeros(n_atoms, dtype=bool)
    split[mixed] = np.abs(real - whole).max(axis=1) > _WHOLE
    if not split.any():
        return counts
    prices = prices_of(relaxed.multipliers, group_mass)
    targets = _targets(totals, group_mass, prices, epsilon)
    margin, _ = margins(atoms, group_mass, relaxed.multipliers)
    for a in range(group_mass.size):
        members = atoms.group == a
        for width in _WIDTHS:
            movable = np.flatnonzero(members & (split | (margin <= width)))
            fixed = counts[members].sum(axis=0) - counts[movable].sum(axis=0)
            fixed += 0 if atoms.rest is None else np.rint(atoms.rest.mass[a]).astype(np.int64)
            moved = _transport(atoms.gains[movable], atoms.mass[movable], targets[a] - fixed)
            if moved is not None:
                counts[movable] = moved
                break
    return counts


def _targets(
    totals: NDArray[np.float64], group_mass: NDArray[np.float64], prices: NDArray[np.float64], epsilon: float
) -> NDArray[np.int64]:
    """Round the counts a group and class so that the gap exceeds epsilon as little as possible."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_groups, n_classes = totals.shape
    n_cells = n_groups * n_classes
    floor = np.floor(totals + _WHOLE)
    a, k = np.divmod(np.arange(n_cells), n_classes)
    # Unknowns: how many to add to each floor, a centre a class, and the excess of the gap.
    inner = np.zeros((n_cells, n_cells + n_classes + 1))
    inner[np.arange(n_cells), np.arange(n_cells)] = 1 / group_mass[a]
    inner[np.arange(n_cells), n_cells + k] = -1.0
    above, below = inner.copy(), inner.copy()
    above[:, -1], below[:, -1] = -0.5, 0.5
    rates = (floor / group_mass[:, None]).ravel()
    rows = np.zeros((n_groups, n_cells + n_classes + 1))
    rows[a, np.arange(n_cells)] = 1.0
    left = np.rint(group_mass - floor.sum(axis=1))
    # Excess is dearer than any loss of value; prices then choose among roundings without excess.
    cost = np.concatenate([-prices.ravel() / group_mass.sum(), np.zeros(n_classes), [1e3]])
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(n_cells), np.zeros(n_classes + 1)]),
        bounds=Bounds(
            np.concatenate([np.maximum(-floor.ravel(), -1), np.full(n_classes, -1.0), [0.0]]),
            np.concatenate([np.full(n_cells, 2.0), np.full(n_classes, 2.0), [np.inf]]),
        ),
        constraints=[
            LinearConstraint(above, -np.inf, epsilon / 2 - rates),
            LinearConstraint(below, -epsilon / 2 - rates, np.inf),
            LinearConstraint(rows, left, left),
        ],
    )
    if found.x is None:
        raise RuntimeError(f"HiGHS: {found.message}")
    return np.asarray((floor + np.rint(found.x[:n_cells]).reshape(totals.shape)).astype(np.int64))


def _transport(gains: NDArray[np.float64], mass: NDArray[np.float64], wanted: NDArray[np.int64]) -> Any:
    """Return whole counts with the given totals a class that gain the most, or None if there are none."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n_atoms, n_classes = gains.shape
    if (wanted < 0).any() or wanted.sum() != round(mass.sum()):
        return None
    if n_atoms == 0:
        return np.zeros((0, n_classes), dtype=np.int64)
    pair = np.arange(n_atoms * n_classes)
    j, k = np.divmod(pair, n_classes)
    rows = np.concatenate([j, n_atoms + k])
    shape = (n_atoms + n_classes, pair.size)
    limits: Any = coo_array((np.ones(2 * pair.size), (rows, np.concatenate([pair, pair]))), shape=shape)
    found = linprog(
        -gains.ravel(), A_eq=limits.tocsr(), b_eq=np.concatenate([mass, wanted]), bounds=(0, None), method="highs-ds"
    )
    return np.rint(np.asarray(found.x)).astype(np.int64).reshape(gains.shape) if found.status == 0 else None
