"""Good multipliers of many atoms: the minimum of the dual with a softened maximum, at falling temperatures.

High temperatures need a sample only. At low ones most atoms have an outcome that small changes of the multipliers do
not change: they are counted once, and each step sums over the others.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.general.cell_atoms import (
    CellAtoms,
    amounts_of,
    best_outcomes,
    prices_at,
    sensitivities,
    soft_scores,
)
from faircrowd.fair.general.row_matrix import RowMatrix

__all__ = ["good_multipliers"]

_TEMPERATURES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_SAMPLE_TEMPERATURES = _TEMPERATURES[:5]
_LAST_TEMPERATURES = (1e-3, 3e-4)
_REACH = (1e-2, 3e-3)
"""At the last temperatures, how near to each other outcomes must be to change places: ten temperatures."""

_SAMPLED_ATOMS = 20_000


def good_multipliers(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return multipliers near those of the best outcomes; ``start`` may hold those of similar limits."""
    shape = (n_cells, atoms.n_features, atoms.gains.shape[1])
    sensitivity = sensitivities(rows, shape)
    multipliers = np.zeros(rows.n_rows) if start is None else start
    nothing = np.zeros(shape)
    if atoms.mass.size <= _SAMPLED_ATOMS:
        for temperature in _TEMPERATURES if start is None else _LAST_TEMPERATURES:
            multipliers = _descend(atoms, nothing, rows, temperature, sensitivity, multipliers)
        return multipliers
    sample = _sampled(atoms, n_cells)
    for temperature in _SAMPLE_TEMPERATURES if start is None else _LAST_TEMPERATURES[:1]:
        multipliers = _descend(sample, nothing, rows, temperature, sensitivity, multipliers)
    for temperature, reach in zip(_LAST_TEMPERATURES, _REACH, strict=True):
        margin, best = best_outcomes(atoms, prices_at(rows, multipliers, shape))
        is_near = margin <= reach * sensitivity[atoms.cell]
        others = atoms.some(~is_near)
        fixed = amounts_of(others, np.eye(shape[2])[best[~is_near]], n_cells)
        multipliers = _descend(atoms.some(is_near), fixed, rows, temperature, sensitivity, multipliers)
    return multipliers


def _sampled(atoms: CellAtoms, n_cells: int) -> CellAtoms:
    """Take an even sample of each cell, weighted to represent it, and all atoms of small cells."""
    order = np.argsort(atoms.cell, kind="stable")
    sizes = np.bincount(atoms.cell, minlength=n_cells)
    step = np.maximum(sizes // max(_SAMPLED_ATOMS // n_cells, 1), 1)
    rank = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = order[rank % step[atoms.cell[order]] == 0]
    few = atoms.some(rows)
    whole = np.bincount(atoms.cell, weights=atoms.mass, minlength=n_cells)
    seen = np.bincount(few.cell, weights=few.mass, minlength=n_cells)
    return few._replace(mass=few.mass * (whole / np.where(seen > 0, seen, 1.0))[few.cell])


def _descend(
    atoms: CellAtoms,
    fixed: NDArray[np.float64],
    rows: RowMatrix,
    temperature: float,
    sensitivity: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimise the softened dual from a start; ``fixed`` holds the amounts of the outcomes of all other atoms."""
    from scipy.optimize import minimize

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        multipliers = rows.balanced(x)
        prices = prices_at(rows, multipliers, fixed.shape)
        value, amounts = soft_scores(atoms, prices, temperature, sensitivity)
        cost, slope = rows.smooth_dual_cost(multipliers, 0.1 * temperature)
        gradient = slope - rows.on_amounts @ (amounts + fixed).ravel()
        return value - float((fixed * prices).sum()) + cost, rows.balanced(gradient)

    found = minimize(loss, start, method="L-BFGS-B", jac=True, options={"maxiter": 100, "gtol": 1e-6})
    return rows.balanced(np.asarray(found.x))
