"""The best labels without a coin that keep epsilon to the letter: an integer program, solved by HiGHS.

An atom whose second-best label is worth less than its best by more than what any labelling can still gain
keeps its best label in every optimum. So the program is solved over the atoms that are nearly tied, first a
few; what it finds bounds what can be gained, and tells whether more atoms must be let in.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import margins
from faircrowd.fair.program.relaxed import Relaxed
from faircrowd.fair.tolerances import SLACK

__all__ = ["Strict", "strict_counts"]

_FIRST = 200
_SCALE = 1e4
"""HiGHS judges by absolute tolerances (1e-6); gains and rates are brought to a size where these do not matter."""


class Strict(NamedTuple):
    """Whole counts an atom and class, and the bound that no labelling without a coin exceeds."""

    counts: NDArray[np.int64]
    bound: float


def strict_counts(
    atoms: Atoms, group_mass: NDArray[np.float64], relaxed: Relaxed, epsilon: float, seconds: float = 60.0
) -> Strict:
    """Find the best whole counts within epsilon, and a bound on what could be better if time runs out."""
    total = float(group_mass.sum())
    deadline = time.monotonic() + seconds
    margin, best = margins(atoms, group_mass, relaxed.multipliers)
    order = np.argsort(margin, kind="stable")
    open_count = min(_FIRST, margin.size)
    kept = _constant(atoms, total, relaxed.bound)
    while (left := deadline - time.monotonic()) > 0:
        free = np.zeros(margin.size, dtype=bool)
        free[order[:open_count]] = True
        found = _program(atoms, group_mass, free, best, epsilon, left)
        if found is None:  # these atoms alone cannot keep epsilon, or time ran out
            if open_count == margin.size:
                break
            open_count = min(4 * open_count, margin.size)
            continue
        counts, bound_here = found
        value = float((counts * atoms.gains).sum() / total)
        if value > float((kept.counts * atoms.gains).sum() / total):
            kept = Strict(counts, relaxed.bound)
        # Taking one task of a closed atom off its best label costs its margin: more than can be gained, or
        # let it in.
        needed = int(np.searchsorted(margin[order], (relaxed.bound - value) * total + 1e-12, side="right"))
        if needed <= open_count or open_count == margin.size:
            return Strict(counts, min(max(bound_here, value), relaxed.bound))
        open_count = min(max(needed, 2 * open_count), margin.size)
    return kept


def _constant(atoms: Atoms, total: float, bound: float) -> Strict:
    """Give every task the one label that gains the most: there is no gap, whatever the groups."""
    counts = np.zeros(atoms.gains.shape, dtype=np.int64)
    counts[:, int(np.argmax(atoms.mass @ atoms.gains))] = np.rint(atoms.mass).astype(np.int64)
    return Strict(counts, bound)


def _program(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    free: NDArray[np.bool_],
    best: NDArray[np.int64],
    epsilon: float,
    seconds: float,
) -> tuple[NDArray[np.int64], float] | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, hstack, vstack

    n_groups, n_classes = group_mass.size, atoms.gains.shape[1]
    counts = np.zeros(atoms.gains.shape, dtype=np.int64)
    closed = np.flatnonzero(~free)
    counts[closed, best[closed]] = np.rint(atoms.mass[closed]).astype(np.int64)
    decided = np.zeros((n_groups, n_classes))
    np.add.at(decided, atoms.group[closed], counts[closed])
    rows = np.flatnonzero(free)
    n_pairs, n_cells = rows.size * n_classes, n_groups * n_classes
    j, k = np.divmod(np.arange(n_pairs), n_classes)
    mass = np.rint(atoms.mass[rows])
    each: Any = coo_array((np.ones(n_pairs), (j, np.arange(n_pairs))), shape=(rows.size, n_pairs + n_classes))
    cell = atoms.group[rows][j].astype(np.int64) * n_classes + k
    share = 1.0 / group_mass[atoms.group[rows][j]]
    totals: Any = coo_array((share, (cell, np.arange(n_pairs))), shape=(n_cells, n_pairs))
    centre: Any = coo_array(
        (-np.ones(n_cells), (np.arange(n_cells), np.arange(n_cells) % n_classes)), shape=(n_cells, n_classes)
    )
    rates = (decided / group_mass[:, None]).ravel()
    half = (epsilon + SLACK) / 2
    found = milp(
        np.concatenate([-_SCALE * atoms.gains[rows].ravel(), np.zeros(n_classes)]),
        integrality=np.concatenate([np.ones(n_pairs), np.zeros(n_classes)]),
        bounds=Bounds(
            np.concatenate([np.zeros(n_pairs), np.full(n_classes, -_SCALE)]),
            np.concatenate([mass[j], np.full(n_classes, 2 * _SCALE)]),
        ),
        constraints=[
            LinearConstraint(each.tocsr(), mass, mass),
            LinearConstraint(
                vstack([hstack([totals * _SCALE, centre])]).tocsr(), _SCALE * (-half - rates), _SCALE * (half - rates)
            ),
        ],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    counts[rows] = np.rint(np.asarray(found.x)[:n_pairs]).astype(np.int64).reshape(rows.size, n_classes)
    fixed = float((counts[closed] * atoms.gains[closed]).sum())
    dual = found.mip_dual_bound if found.mip_dual_bound is not None else -np.inf
    return counts, (fixed - float(dual) / _SCALE) / float(group_mass.sum())
