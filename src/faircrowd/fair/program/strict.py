"""The best deterministic labels that keep epsilon exactly: an integer program, solved by HiGHS.

An atom whose second-best label gains less than its best by more than what any labelling can still gain keeps its best
label in every optimum. So the program is solved over the atoms that are nearly tied, a few at first; what it finds
bounds what can still be gained, and so shows whether more atoms must be admitted.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import atom_margins
from faircrowd.fair.program.relaxed import Relaxed
from faircrowd.fair.rate_constraint import Constraint, rates_of
from faircrowd.fair.tolerances import EQUAL_VALUES, NO_EXCESS, SLACK

__all__ = ["StrictCounts", "best_counts_of_free_atoms", "strict_counts"]

_FIRST_OPEN_ATOMS = 200
_MAX_NARROWINGS = 3
_SCALE = 1e4
"""HiGHS has absolute tolerances (1e-6); gains and rates are scaled to a size where these do not matter."""


class StrictCounts(NamedTuple):
    """The number of tasks per atom and class, and the bound that no deterministic labelling exceeds."""

    counts: NDArray[np.int64]
    bound: float


def strict_counts(
    atoms: Atoms, group_mass: NDArray[np.float64], relaxed: Relaxed, constraint: Constraint, seconds: float = 60.0
) -> StrictCounts:
    """Find the best integer counts that keep the constraint, and a bound; if time runs out, the best found so far."""
    total = float(group_mass.sum())
    deadline = time.monotonic() + seconds
    margin, best = atom_margins(atoms, group_mass, relaxed.multipliers)
    start = np.zeros(atoms.gains.shape, dtype=np.int64)
    start[np.arange(best.size), best] = atoms.n_tasks.astype(np.int64)
    # What it costs to move one task of an atom off its best label.
    margin = margin if atoms.task_weight is None else margin * atoms.task_weight
    order = np.argsort(margin, kind="stable")
    open_count = min(_FIRST_OPEN_ATOMS, margin.size)
    kept = _constant(atoms, relaxed.bound)
    while (left := deadline - time.monotonic()) > 0:
        free = np.zeros(margin.size, dtype=bool)
        free[order[:open_count]] = True
        found = best_counts_of_free_atoms(atoms, group_mass, free, start, constraint, left)
        if found is None:  # these atoms alone cannot keep epsilon, or time ran out
            if open_count == margin.size:
                break
            open_count = min(4 * open_count, margin.size)
            continue
        counts, bound_here = found
        value = atoms.gained(counts) / total
        if value > atoms.gained(kept.counts) / total:
            kept = StrictCounts(counts, relaxed.bound)
        # Moving one task of a closed atom off its best label costs its margin. If that is no more than can still be
        # gained, the atom must be admitted.
        needed = int(np.searchsorted(margin[order], (relaxed.bound - value) * total + EQUAL_VALUES, side="right"))
        if needed <= open_count or open_count == margin.size:
            return StrictCounts(counts, min(max(bound_here, value), relaxed.bound))
        open_count = min(max(needed, 2 * open_count), margin.size)
    return kept


def _constant(atoms: Atoms, bound: float) -> StrictCounts:
    """Give every task the same label, the one that gains the most: this leaves no gap between any groups."""
    counts = np.zeros(atoms.gains.shape, dtype=np.int64)
    counts[:, int(np.argmax(atoms.mass @ atoms.gains))] = atoms.n_tasks.astype(np.int64)
    return StrictCounts(counts, bound)


def best_counts_of_free_atoms(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    free: NDArray[np.bool_],
    start: NDArray[np.int64],
    constraint: Constraint,
    seconds: float,
    relative_gap: float = 0.0,
    nodes: int | None = None,
) -> tuple[NDArray[np.int64], float] | None:
    """Find the best counts of some atoms, while the others keep theirs; None if none were found.

    Parameters
    ----------
    free : ndarray of bool, shape (n_atoms,)
        Which atoms are free.
    start : ndarray of int64, shape (n_atoms, n_classes)
        The counts of the others.
    seconds, relative_gap, nodes : float
        When to stop. The same nodes are searched on every machine, whatever else it does.

    Returns
    -------
    counts : ndarray of int64, shape (n_atoms, n_classes)
    bound : float
        No counts of the free atoms have a higher objective.
    """
    deadline = time.monotonic() + seconds
    narrowed, bound = constraint, np.inf
    for _ in range(_MAX_NARROWINGS):
        stop_at = {"time_limit": max(deadline - time.monotonic(), 0.01), "mip_rel_gap": relative_gap}
        stop_at |= {} if nodes is None else {"node_limit": nodes}
        found = _integer_program(atoms, group_mass, free, start, narrowed, stop_at)
        if found is None:
            return None
        counts, bound = found[0], found[1] if np.isinf(bound) else bound  # a narrower bound would not hold
        over = constraint.excess(rates_of(atoms.totals(counts, group_mass.size), group_mass))
        if over <= NO_EXCESS:
            return counts, bound
        # HiGHS takes numbers within 1e-6 of an integer for integers; rounded, they may exceed epsilon.
        narrowed = constraint.with_epsilon(max(constraint.epsilon - 2 * over, 0.0))
    return None


def _integer_program(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    free: NDArray[np.bool_],
    start: NDArray[np.int64],
    constraint: Constraint,
    stop_at: dict[str, float],
) -> tuple[NDArray[np.int64], float] | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack

    n_groups, n_classes = group_mass.size, atoms.gains.shape[1]
    counts = np.where(free[:, None], 0, start)
    decided = atoms.totals(counts, n_groups)
    fixed = atoms.gained(counts)
    rows = np.flatnonzero(free)
    n_pairs = rows.size * n_classes
    pairs = np.arange(n_pairs)
    j, k = np.divmod(pairs, n_classes)
    n_tasks = atoms.n_tasks[rows]
    weight = np.ones(rows.size) if atoms.task_weight is None else atoms.task_weight[rows]
    cell = atoms.group[rows][j].astype(np.int64) * n_classes + k
    share = weight[j] / group_mass[atoms.group[rows][j]]
    limits = constraint.with_epsilon(constraint.epsilon + SLACK).rows(n_groups, n_classes)
    n_centres = limits.on_centres.shape[1]
    one_each = csr_array((np.ones(n_pairs), (j, pairs)), shape=(rows.size, n_pairs + n_centres))
    totals = csr_array((share, (cell, pairs)), shape=(n_groups * n_classes, n_pairs))
    rates = limits.on_rates @ rates_of(decided, group_mass).ravel()
    # Weights are divided by their mean, so that gains of tasks are about 1.
    scale = _SCALE / float(weight.mean()) if rows.size else _SCALE
    options: Any = {**stop_at, "presolve": False}  # with presolve, HiGHS may print a line
    found = milp(
        np.concatenate([-scale * (weight[:, None] * atoms.gains[rows]).ravel(), np.zeros(n_centres)]),
        integrality=np.concatenate([np.ones(n_pairs), np.zeros(n_centres)]),
        bounds=Bounds(
            np.concatenate([np.zeros(n_pairs), np.full(n_centres, -_SCALE)]),
            np.concatenate([n_tasks[j], np.full(n_centres, 2 * _SCALE)]),
        ),
        constraints=[
            LinearConstraint(one_each, n_tasks, n_tasks),
            LinearConstraint(
                hstack([(limits.on_rates @ totals) * _SCALE, limits.on_centres], format="csr"),
                _SCALE * (limits.lower - rates),
                _SCALE * (limits.upper - rates),
            ),
        ],
        options=options,
    )
    if found.x is None:
        return None
    counts[rows] = np.rint(np.asarray(found.x)[:n_pairs]).astype(np.int64).reshape(rows.size, n_classes)
    dual = found.mip_dual_bound if found.mip_dual_bound is not None else -np.inf
    return counts, (fixed - float(dual) / scale) / float(group_mass.sum())
