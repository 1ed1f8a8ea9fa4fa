"""The best randomized outcomes: smooth the dual, solve the linear program over the atoms that are nearly tied, certify.

A few atoms all go to the linear program. Of many, good multipliers show which outcomes can be optimal; atoms with one
such outcome are decided, the program is solved over the others, and its multipliers are checked on all atoms: if value
and bound differ, or there is no solution, more outcomes are admitted and the program is solved again.

Where very many atoms are nearly tied, as when a constraint leaves no use for the posterior in a cell, atoms that are
alike are given the same fractions, and those are parted whose outcomes should differ.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import SolverError
from faircrowd.fair.general.cell_atoms import (
    CellAtoms,
    amounts_of,
    best_outcomes,
    bound_at,
    gained,
    prices_at,
    scores_at,
    sensitivities,
)
from faircrowd.fair.general.row_matrix import RowMatrix
from faircrowd.fair.general.soft_dual import good_multipliers
from faircrowd.fair.tolerances import HIGHS_FEASIBILITY, PROVED_OPTIMAL

__all__ = ["BestFractions", "find_best_fractions", "least_violation"]

_MAX_ATOMS_AT_ONCE = 300
_FIRST_WIDTH = 3e-4
_LEAST_RANGE = 0.1
"""Gains that differ by less, or by more than its inverse, are scaled."""

_MOST_OPEN = 5_000
"""Of more atoms that are not decided, those that are alike are solved for together."""

_FIRST_BINS = 64
_FINER = 16
_PARTINGS = 6
"""How finely atoms are told apart at first, by how much finer those that must be, and how often."""

_KEPT = 1e-9
"""Rows are kept if they are violated by no more than this in all."""


@dataclass(frozen=True, eq=False)
class BestFractions:
    """The best randomized outcomes, or, if none keep the constraints, those that violate them least.

    Attributes
    ----------
    fractions : ndarray, shape (n_atoms, n_outcomes)
        The fraction of each atom that gets each outcome.
    multipliers : ndarray, shape (n_rows,)
    value, bound : float
        The objective, and the dual value that no outcomes within the constraints exceed.
    violation : ndarray, shape (n_rows,)
        By how much each row is violated; all 0 if the constraints can be kept.
    solver : str
    """

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    value: float
    bound: float
    violation: NDArray[np.float64]
    solver: str

    @property
    def is_feasible(self) -> bool:
        """Whether there are outcomes that keep the constraints."""
        return float(self.violation.sum()) <= _KEPT


def find_best_fractions(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, start: NDArray[np.float64] | None = None
) -> BestFractions:
    """Find the best randomized outcomes; ``start`` may hold the multipliers of similar limits."""
    scale = float(np.ptp(atoms.gains)) or 1.0
    if _LEAST_RANGE < scale < 1 / _LEAST_RANGE:
        return _find(atoms, rows, n_cells, start)
    # Temperatures and tolerances are for gains of about 1.
    found = _find(atoms._replace(gains=atoms.gains / scale), rows, n_cells, None if start is None else start / scale)
    return replace(found, multipliers=found.multipliers * scale, value=found.value * scale, bound=found.bound * scale)


def _find(atoms: CellAtoms, rows: RowMatrix, n_cells: int, start: NDArray[np.float64] | None) -> BestFractions:
    n_atoms = atoms.mass.size
    if n_atoms <= _MAX_ATOMS_AT_ONCE:
        allowed = np.ones(atoms.gains.shape, dtype=bool)
        return _restricted(atoms, rows, n_cells, allowed) or least_violation(atoms, rows, n_cells)
    near, first_width = good_multipliers(atoms, rows, n_cells, start)
    width, best = first_width, None
    allowed = _near_best(atoms, rows, n_cells, near, width)
    while True:
        found = _solved(atoms, rows, n_cells, allowed)
        if found is None and best is None and width == first_width:
            least = least_violation(atoms, rows, n_cells)
            if not least.is_feasible:
                return least
        if found is not None and (best is None or found.bound - found.value < best.bound - best.value):
            best = found
        if best is not None and (best.bound - best.value <= PROVED_OPTIMAL or allowed.all()):
            return best
        if allowed.all():  # the constraints can be kept by less than the digits that HiGHS is accurate to
            return replace(least_violation(atoms, rows, n_cells), violation=np.full(rows.n_rows, np.inf))
        width *= 4 if found is None else 2
        allowed |= _near_best(atoms, rows, n_cells, near, width)
        if found is not None:
            allowed |= _near_best(atoms, rows, n_cells, found.multipliers, width)


def least_violation(atoms: CellAtoms, rows: RowMatrix, n_cells: int) -> BestFractions:
    """Return outcomes that violate the rows least, whatever they gain: whether constraints can be kept at all.

    Where no row weighs tasks by their posterior, only how many tasks of a cell get an outcome counts.
    """
    atoms = atoms._replace(gains=np.zeros_like(atoms.gains))
    if atoms.features.shape[1]:
        return _violating_least(atoms, rows, n_cells)
    likeness = np.unique(atoms.cell, return_inverse=True)[1]
    few, _ = _together(atoms, likeness)
    found = _violating_least(few, rows, n_cells)
    return replace(found, fractions=found.fractions[likeness])


def _violating_least(atoms: CellAtoms, rows: RowMatrix, n_cells: int) -> BestFractions:
    """Minimise the violation over atoms whose gains are 0: first over few outcomes, then over those that matter."""
    allowed = np.ones(atoms.gains.shape, dtype=bool)
    if atoms.mass.size > _MAX_ATOMS_AT_ONCE:
        allowed = _near_best(atoms, rows, n_cells, np.zeros(rows.n_rows), -1.0)
        order = np.argsort(atoms.cell, kind="stable")
        allowed[order[:: max(atoms.mass.size // _MAX_ATOMS_AT_ONCE, 1)]] = True
    width = _FIRST_WIDTH
    while True:
        found = _solved(atoms, rows, n_cells, allowed, 1.0)
        if found is None:
            raise SolverError("HiGHS found no solution of the linear program, not even one that breaks constraints.")
        if found.bound - found.value <= PROVED_OPTIMAL or allowed.all():
            return found
        allowed |= _near_best(atoms, rows, n_cells, found.multipliers, width)
        width *= 4


def _near_best(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, multipliers: NDArray[np.float64], width: float
) -> NDArray[np.bool_]:
    """Return whether the score of each outcome of each atom is within ``width``, in multipliers, of its best."""
    shape = atoms.shape(n_cells)
    prices, widths = prices_at(rows, multipliers, shape), width * sensitivities(rows, shape)
    margin, best = best_outcomes(atoms, prices)
    allowed = np.zeros(atoms.gains.shape, dtype=bool)
    allowed[np.arange(best.size), best] = True
    near = np.flatnonzero(margin <= widths[atoms.cell])  # mostly few
    scores = scores_at(atoms.some(near), prices)
    allowed[near] = scores >= scores.max(axis=1, keepdims=True) - widths[atoms.cell[near]][:, None]
    return allowed


def _solved(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, allowed: NDArray[np.bool_], violation_cost: float | None = None
) -> BestFractions | None:
    """Solve the program over the outcomes that are allowed, as ``_restricted`` does, also where very many are."""
    is_open = allowed.sum(axis=1) > 1
    if int(is_open.sum()) <= _MOST_OPEN:
        return _restricted(atoms, rows, n_cells, allowed, violation_cost)
    n_outcomes = allowed.shape[1]
    decided = atoms.cell.astype(np.int64) * n_outcomes + np.argmax(allowed, axis=1)
    choices = n_cells * n_outcomes + atoms.cell.astype(np.int64) * 2**n_outcomes + allowed @ 2 ** np.arange(n_outcomes)
    alike, fineness = np.column_stack([atoms.gains, atoms.features]), _FIRST_BINS
    likeness = _parted(np.where(is_open, choices, decided), is_open, alike, fineness)
    best = None
    for _ in range(_PARTINGS):
        few, first = _together(atoms, likeness)
        found = _restricted(few, rows, n_cells, allowed[first], violation_cost)
        if found is None:
            return best
        best = _of_all(found, atoms, rows, n_cells, likeness, violation_cost)
        if best.bound - best.value <= PROVED_OPTIMAL:
            break
        lost = _lost(best, atoms, rows, n_cells, likeness)
        fineness *= _FINER
        parted = _parted(likeness, lost[likeness] > PROVED_OPTIMAL / (10 * lost.size), alike, fineness)
        if parted.max() == likeness.max():
            break
        likeness = parted
    return best


def _parted(
    likeness: NDArray[np.int64], is_parted: NDArray[np.bool_], alike: NDArray[np.float64], fineness: int
) -> NDArray[np.int64]:
    """Return numbers, from 0, that also differ for those of some atoms that differ by more than ``1 / fineness``."""
    key = np.zeros(likeness.size, dtype=np.int64)
    for column in alike.T:
        place = np.floor(column * fineness).astype(np.int64)
        key = np.where(is_parted, key * 1_000_003 + place + 1, 0)  # where two keys are equal by chance, nothing is lost
    order = np.lexsort((key, likeness))
    new = (np.diff(likeness[order]) != 0) | (np.diff(key[order]) != 0)
    found = np.empty(likeness.size, dtype=np.int64)
    found[order] = np.concatenate([[0], np.cumsum(new)])
    return found


def _together(atoms: CellAtoms, likeness: NDArray[np.int64]) -> tuple[CellAtoms, NDArray[np.int64]]:
    """Return atoms that stand for all of the same number, and the first of each."""
    first = np.unique(likeness, return_index=True)[1]
    mass = np.bincount(likeness, weights=atoms.mass).astype(np.float64)
    means = [
        np.column_stack([np.bincount(likeness, weights=atoms.mass * column) / mass for column in table.T])
        if table.shape[1]
        else np.empty((mass.size, 0))
        for table in (atoms.gains, atoms.features)
    ]
    n_tasks = np.bincount(likeness, weights=atoms.n_tasks).astype(np.int64)
    return CellAtoms(means[0], means[1], atoms.cell[first], mass, n_tasks), first


def _of_all(
    found: BestFractions,
    atoms: CellAtoms,
    rows: RowMatrix,
    n_cells: int,
    likeness: NDArray[np.int64],
    violation_cost: float | None,
) -> BestFractions:
    """Return the solution for atoms that stand for others as one of all atoms, with what it gains and its bound."""
    fractions = found.fractions[likeness]
    value = gained(atoms, fractions) - (violation_cost or 0.0) * float(found.violation.sum())
    bound = bound_at(atoms, rows, found.multipliers, n_cells)
    return replace(found, fractions=fractions, value=value, bound=max(bound, value))


def _lost(
    best: BestFractions, atoms: CellAtoms, rows: RowMatrix, n_cells: int, likeness: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what is lost because atoms of the same number get the same fractions, for each number."""
    scores = scores_at(atoms, prices_at(rows, best.multipliers, atoms.shape(n_cells)))
    lost = atoms.mass * (scores.max(axis=1) - np.einsum("nj,nj->n", best.fractions, scores))
    return np.asarray(np.bincount(likeness, weights=lost))


class _Columns(NamedTuple):
    """The unknowns of a linear program: an atom and an outcome each."""

    atom: NDArray[np.int64]
    outcome: NDArray[np.int64]


def _restricted(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, allowed: NDArray[np.bool_], violation_cost: float | None = None
) -> BestFractions | None:
    """Solve the program over the outcomes that are allowed; None if there is no solution.

    With ``violation_cost``, rows may be violated at this cost, so that there is always a solution.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    shape = atoms.shape(n_cells)
    is_open = allowed.sum(axis=1) > 1
    opened = np.flatnonzero(is_open)
    fractions = allowed.astype(np.float64)
    fractions[opened] = 0.0
    fixed = rows.on_amounts @ amounts_of(atoms, fractions, n_cells).ravel()
    atom, outcome = np.nonzero(allowed[opened])
    columns = _Columns(opened[atom], outcome)
    # The unknowns are parts of the weight of a cell, not of an atom, so that coefficients are alike.
    cell_mass = np.bincount(atoms.cell, weights=atoms.mass, minlength=n_cells).astype(np.float64)
    parts = atoms.mass[opened] / cell_mass[atoms.cell[opened]]
    scale = 1.0 / float(parts.mean()) if parts.size else 1.0
    matrix = rows.on_amounts @ _amounts_per_unit(atoms, columns, cell_mass, shape)
    has = np.flatnonzero(rows.centre >= 0)
    centres = csr_array((rows.on_centre[has], (has, rows.centre[has])), shape=(rows.n_rows, rows.n_centres))
    blocks: list[Any] = [matrix, centres]
    costs = [
        -cell_mass[atoms.cell[columns.atom]] * atoms.gains[columns.atom, columns.outcome],
        np.zeros(rows.n_centres),
    ]
    bounds: list[tuple[float | None, float | None]] = [(0, None)] * atom.size + [(None, None)] * rows.n_centres
    if violation_cost is not None:
        blocks += [eye_array(rows.n_rows), -eye_array(rows.n_rows)]
        costs += [np.full(2 * rows.n_rows, violation_cost)]
        bounds += [(0, None)] * (2 * rows.n_rows)
    inner: Any = hstack(blocks, format="csr")
    if inner.shape[1] == 0:  # nothing is open
        inner = csr_array((rows.n_rows, 1))
        costs, bounds = [np.zeros(1)], [(0, 0)]
    one_each = csr_array((np.ones(atom.size), (atom, np.arange(atom.size))), shape=(opened.size, inner.shape[1]))
    program: Any = linprog
    found: Any = None
    for presolve in (True, False):  # presolve can mistake the rounding of weights for a contradiction
        found = program(
            np.concatenate(costs),
            A_ub=vstack([inner, -inner], format="csr"),
            b_ub=scale * np.concatenate([rows.upper - fixed, fixed - rows.lower]),
            A_eq=one_each if opened.size else None,
            b_eq=scale * parts if opened.size else None,
            bounds=bounds,
            method="highs",
            options={
                "primal_feasibility_tolerance": HIGHS_FEASIBILITY,
                "dual_feasibility_tolerance": HIGHS_FEASIBILITY,
                "presolve": presolve,
            },
        )
        if found.status == 0:
            break
    if found.status != 0:
        return None
    marginals = -np.asarray(found.ineqlin.marginals)
    multipliers = rows.balanced(marginals[: rows.n_rows] - marginals[rows.n_rows :])
    solution = np.asarray(found.x)
    labelled = np.zeros((opened.size, shape[2]))
    labelled[atom, outcome] = np.maximum(solution[: atom.size], 0.0)
    some = labelled.sum(axis=1) > 0.0  # an atom of negligible weight may have no part at all
    labelled[~some] = allowed[opened[~some]] * np.eye(shape[2])[np.argmax(allowed[opened[~some]], axis=1)]
    fractions[opened] = labelled / labelled.sum(axis=1, keepdims=True)
    violation = np.zeros(rows.n_rows)
    if violation_cost is not None:
        violation = solution[-2 * rows.n_rows :].reshape(2, -1).sum(axis=0) / scale
        multipliers = rows.balanced(np.clip(multipliers, -violation_cost, violation_cost))
    value = gained(atoms, fractions)
    value -= (violation_cost or 0.0) * float(violation.sum())
    bound = bound_at(atoms, rows, multipliers, n_cells)
    solver = f"linear program over {opened.size:,} of {atoms.mass.size:,} atoms and {rows.n_rows:,} rows"
    return BestFractions(fractions, multipliers, value, max(bound, value), violation, solver)


def _amounts_per_unit(
    atoms: CellAtoms, columns: _Columns, cell_mass: NDArray[np.float64], shape: tuple[int, int, int]
) -> Any:
    """Return by how much each amount grows with each unknown, as a sparse array."""
    from scipy.sparse import csr_array

    n_cells, n_features, n_outcomes = shape
    cell = atoms.cell[columns.atom].astype(np.int64)
    features = np.column_stack([np.ones(columns.atom.size), atoms.features[columns.atom]])
    index = (cell[:, None] * n_features + np.arange(n_features)) * n_outcomes + columns.outcome[:, None]
    values = features * cell_mass[cell][:, None]
    unknown = np.repeat(np.arange(columns.atom.size), n_features)
    return csr_array(
        (values.ravel(), (index.ravel(), unknown)), shape=(n_cells * n_features * n_outcomes, columns.atom.size)
    )
