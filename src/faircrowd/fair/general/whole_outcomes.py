"""Outcomes of whole tasks near the best randomized ones: how many tasks of each atom get each outcome.

The randomized solution splits few atoms: no more than there are rows. Their counts, and those of the atoms that are
nearest to a tie, are chosen by a small integer program. Rows may be exceeded by *relief*, a part of what one task
weighs in them.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.fair.general.best_fractions import BestFractions
from faircrowd.fair.general.cell_atoms import CellAtoms, amounts_of, best_outcomes, gained, prices_at
from faircrowd.fair.general.row_matrix import RowMatrix
from faircrowd.fair.tolerances import EQUAL_VALUES, SLACK, WHOLE_COUNT
from faircrowd.fair.whole_tasks.drawn_counts import draw_counts
from faircrowd.votes.vocabulary import Codes

__all__ = ["WholeOutcomes", "draw_whole", "gained_by", "round_whole", "strict_whole"]

_FREE_ATOMS = 60
_NODES = 50
"""Rounding stops after so many nodes of the search, which is the same on every machine; _SECONDS are a last resort."""

_SECONDS = 60.0
_STRICT_SECONDS = 60.0
_PART_OF_A_TASK = 0.05
"""Rounding stops where labels can gain no more than this part of what a task can gain."""

_SCALE = 1e4
"""HiGHS has absolute tolerances (1e-6); gains and rows are scaled to a size where these do not matter."""

_LESS_THAN_ONE = 1.0 - 1e-4
_ROUNDING = 1e-9


class WholeOutcomes(NamedTuple):
    """How many tasks of each atom get each outcome.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_atoms, n_outcomes)
    excess : float
        By how much rows may be exceeded, in tasks.
    bound : float
        No outcomes of whole tasks that exceed rows by no more than this gain more; infinite if that was not proved.
    """

    counts: NDArray[np.int64]
    excess: float
    bound: float = np.inf


def round_whole(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, best: BestFractions, most_loss: float
) -> WholeOutcomes:
    """Round to whole tasks: to the letter if that loses at most ``most_loss``, else by less than one task per row."""
    start, mixed = _nearest_counts(atoms, best)
    if not mixed.size:
        return WholeOutcomes(start, 0.0)
    free = _free_atoms(atoms, rows, n_cells, best, mixed)
    near = _PART_OF_A_TASK / float(atoms.n_tasks[free].sum())
    for excess in (0.0, _LESS_THAN_ONE, 2.0, 4.0, np.inf):
        found = _integer_program(atoms, rows, n_cells, free, start, excess, _SECONDS, near, _NODES)
        if found is None:
            continue
        counts, _ = found
        if excess > 0.0 or best.value - gained_by(atoms, counts) <= most_loss:
            return WholeOutcomes(counts, excess if np.isfinite(excess) else np.inf)
    return WholeOutcomes(start, np.inf)


def strict_whole(atoms: CellAtoms, rows: RowMatrix, n_cells: int, best: BestFractions) -> WholeOutcomes | None:
    """Find the best outcomes of whole tasks that keep every row to the letter; None if none were found.

    An atom keeps its best outcome in every optimum if moving one of its tasks would cost more than can still be gained;
    so the integer program is solved over the atoms nearest to a tie, and over more if what it finds does not prove that
    these were enough.
    """
    start, _ = _nearest_counts(atoms, best)
    margin, outcome = best_outcomes(atoms, prices_at(rows, best.multipliers, atoms.shape(n_cells)))
    cost = margin * atoms.mass / atoms.n_tasks
    order = np.argsort(cost, kind="stable")
    start = np.zeros_like(start)
    start[np.arange(outcome.size), outcome] = atoms.n_tasks
    n_free, deadline, kept = min(200, order.size), time.monotonic() + _STRICT_SECONDS, None
    while (left := deadline - time.monotonic()) > 0:
        free = np.zeros(order.size, dtype=bool)
        free[order[:n_free]] = True
        found = _integer_program(atoms, rows, n_cells, free, start, 0.0, left)
        if found is not None:
            value = gained_by(atoms, found[0])
            if kept is None or value > gained_by(atoms, kept.counts):
                kept = WholeOutcomes(found[0], 0.0)
            needed = int(np.searchsorted(cost[order], best.bound - value + EQUAL_VALUES, side="right"))
            if needed <= n_free or n_free == order.size:
                return WholeOutcomes(found[0], 0.0, min(max(found[1], value), best.bound))
            n_free = min(max(needed, 2 * n_free), order.size)
        elif n_free == order.size:
            break
        else:
            n_free = min(4 * n_free, order.size)
    return kept


def draw_whole(atoms: CellAtoms, best: BestFractions, random_state: int) -> NDArray[np.int64]:
    """Draw how many tasks of each atom get each outcome, right on average; totals of a cell are within one task."""
    expected = atoms.n_tasks[:, None] * best.fractions
    counts = np.rint(expected).astype(np.int64)
    mixed = np.flatnonzero(np.abs(expected - counts).max(axis=1) > WHOLE_COUNT)
    for cell in np.unique(atoms.cell[mixed]).tolist():
        members = mixed[atoms.cell[mixed] == cell]
        counts[members] = draw_counts(expected[members], random_state, cell)
    return counts


def gained_by(atoms: CellAtoms, counts: NDArray[np.int64]) -> float:
    """Return what counts gain."""
    return gained(atoms, counts / atoms.n_tasks[:, None])


def _nearest_counts(atoms: CellAtoms, best: BestFractions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the randomized solution rounded atom by atom, and the atoms whose counts are not whole."""
    expected = atoms.n_tasks[:, None] * best.fractions
    counts = np.floor(expected + WHOLE_COUNT).astype(np.int64)
    short = atoms.n_tasks - counts.sum(axis=1)
    mixed = np.flatnonzero(short > 0)
    for i in mixed.tolist():
        order = np.argsort(counts[i] - expected[i], kind="stable")
        counts[i, order[: short[i]]] += 1
    return counts, mixed


def _free_atoms(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, best: BestFractions, mixed: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which atoms are left to the integer program: mixed ones, and those of each cell nearest to a tie."""
    margin, _ = best_outcomes(atoms, prices_at(rows, best.multipliers, atoms.shape(n_cells)))
    cost = margin * atoms.mass / atoms.n_tasks
    free = np.zeros(margin.size, dtype=bool)
    free[mixed] = True
    nearest = _lowest_of_cells(cost, atoms.cell, n_cells, max(_FREE_ATOMS // n_cells, 2))
    free[nearest[nearest >= 0]] = True
    return free


@kernel
def _lowest_of_cells(cost: NDArray[np.float64], cell: Codes, n_cells: int, number: int) -> NDArray[np.int64]:
    """Return the atoms with the lowest costs of each cell, in order; -1 where a cell has fewer."""
    found = np.full((n_cells, number), -1, dtype=np.int64)
    for i in range(cell.size):
        c, at = cell[i], number
        while at > 0 and (found[c, at - 1] < 0 or cost[i] < cost[found[c, at - 1]]):
            at -= 1
        for later in range(number - 1, at, -1):
            found[c, later] = found[c, later - 1]
        if at < number:
            found[c, at] = i
    return found


def _integer_program(
    atoms: CellAtoms,
    rows: RowMatrix,
    n_cells: int,
    free: NDArray[np.bool_],
    start: NDArray[np.int64],
    excess: float,
    seconds: float,
    relative_gap: float = 0.0,
    nodes: int | None = None,
) -> tuple[NDArray[np.int64], float] | None:
    """Return the best counts of the free atoms, the others keeping theirs, and a bound on them; None if there are none.

    Rows may be exceeded by their relief times ``excess``; if it is infinite, as little as possible.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack

    members = np.flatnonzero(free)
    n_outcomes = atoms.gains.shape[1]
    task_mass = atoms.mass / atoms.n_tasks
    of_others = start / atoms.n_tasks[:, None]
    of_others[members] = 0.0
    fixed = rows.on_amounts @ amounts_of(atoms, of_others, n_cells).ravel()
    pairs = np.arange(members.size * n_outcomes)
    j, k = np.divmod(pairs, n_outcomes)
    features = np.column_stack([np.ones(members.size), atoms.features[members]])
    n_features = features.shape[1]
    index = (atoms.cell[members][j].astype(np.int64)[:, None] * n_features + np.arange(n_features)) * n_outcomes
    per_task = csr_array(
        (
            (features[j] * task_mass[members][j][:, None]).ravel(),
            ((index + k[:, None]).ravel(), np.repeat(pairs, n_features)),
        ),
        shape=(rows.on_amounts.shape[1], pairs.size),
    )
    has = np.flatnonzero(rows.centre >= 0)
    centres = csr_array((rows.on_centre[has], (has, rows.centre[has])), shape=(rows.n_rows, rows.n_centres))
    least = not np.isfinite(excess)
    relief = rows.relief * (0.0 if least else excess)
    extra = [csr_array(sign * rows.relief[:, None] * _SCALE) for sign in (-1.0, 1.0)] if least else [None, None]
    n_unknown = pairs.size + rows.n_centres + least
    matrix = _SCALE * (rows.on_amounts @ per_task)
    above, below = (
        hstack([part for part in (matrix, centres, column) if part is not None], format="csr") for column in extra
    )
    one_each = csr_array((np.ones(pairs.size), (j, pairs)), shape=(members.size, n_unknown))
    worth = (task_mass[members][:, None] * atoms.gains[members]).ravel()
    scale = _SCALE / float(task_mass[members].mean())
    costs = np.concatenate([-worth * scale, np.zeros(rows.n_centres), np.full(int(least), 1e3 * _SCALE)])
    counts_now = start[members].ravel()
    low = np.concatenate([np.maximum(counts_now - 3, 0), np.full(rows.n_centres, -3 * _SCALE), np.zeros(int(least))])
    most = np.minimum(counts_now + 3, atoms.n_tasks[members][j])
    if atoms.n_tasks[members].max(initial=1) <= 3 or excess == 0.0:
        low[: pairs.size], most = 0, atoms.n_tasks[members][j]
    high = np.concatenate([most, np.full(rows.n_centres, 3 * _SCALE), np.full(int(least), np.inf)])
    # With presolve, HiGHS may print a line.
    options: Any = {"time_limit": max(seconds, 0.01), "mip_rel_gap": relative_gap, "presolve": False}
    found = milp(
        costs,
        integrality=np.concatenate([np.ones(pairs.size), np.zeros(n_unknown - pairs.size)]),
        bounds=Bounds(low, high),
        constraints=[
            LinearConstraint(one_each, atoms.n_tasks[members], atoms.n_tasks[members]),
            LinearConstraint(above, -np.inf, _SCALE * (rows.upper + relief + SLACK - fixed)),
            LinearConstraint(below, _SCALE * (rows.lower - relief - SLACK - fixed), np.inf),
        ],
        options=options if nodes is None else options | {"node_limit": nodes},
    )
    if found.x is None:
        return None
    counts = start.copy()
    counts[members] = np.rint(np.asarray(found.x)[: pairs.size]).astype(np.int64).reshape(members.size, n_outcomes)
    rest = gained(atoms, of_others)
    bound = np.inf if found.mip_dual_bound is None else rest - float(found.mip_dual_bound) / scale
    return counts, bound
