"""Good multipliers of many atoms: the minimum of the dual with a softened maximum, at falling temperatures.

High temperatures need a sample only. At low ones most atoms have an outcome that small changes of the multipliers do
not change: they are counted once, and each step sums over the others. The curvature of the sample tells how far to go
in which direction, so that few steps are needed.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.exact.quasi_newton import Loss, minimize_smooth
from faircrowd.fair.general.cell_atoms import (
    CellAtoms,
    amounts_where,
    best_outcomes,
    prices_at,
    sensitivities,
    soft_scores,
)
from faircrowd.fair.general.row_matrix import RowMatrix
from faircrowd.votes.vocabulary import Codes

__all__ = ["good_multipliers", "sample_of_cells"]

_TEMPERATURES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_FIRST_SAMPLE = 20_000
"""Up to so many atoms, all are seen at all temperatures; of more, an even sample at all but the last."""

_STAGES = ((160_000, 1e-3, 1e-2), (None, 3e-4, 4e-3), (None, 1e-4, 1e-3), (None, 3e-5, 4e-4))
"""Then, how many atoms are sampled (None for all), the temperature, and how near to each other, in multipliers,
outcomes must be to change places."""

_COST_WIDTH = 0.1
"""How wide the corners of the cost of the limits are rounded, in temperatures."""

_TOO_FAR = 10.0
"""If multipliers move by so many times the reach, outcomes that were taken as fixed would have changed."""

_MOST_CURVED_ROWS = 200
"""Of more rows, the curvature would take longer than it saves."""


def good_multipliers(
    atoms: CellAtoms, rows: RowMatrix, n_cells: int, start: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return multipliers near those of the best outcomes, and by about how much they are off.

    ``start`` may hold those of similar limits.
    """
    shape = atoms.shape(n_cells)
    sensitivity = sensitivities(rows, shape)
    multipliers = np.zeros(rows.n_rows) if start is None else start
    nothing = np.zeros(shape)
    if atoms.mass.size <= _FIRST_SAMPLE:
        for temperature in _TEMPERATURES if start is None else _TEMPERATURES[-2:]:
            multipliers = _descend(_soft_dual(atoms, nothing, rows, temperature, sensitivity), rows, multipliers)
        return multipliers, _TEMPERATURES[-1]
    sample = sample_of_cells(atoms, n_cells, _FIRST_SAMPLE)
    for temperature in _TEMPERATURES[:-1] if start is None else _TEMPERATURES[-2:-1]:
        multipliers = _descend(_soft_dual(sample, nothing, rows, temperature, sensitivity), rows, multipliers)
    is_curved = rows.n_rows <= _MOST_CURVED_ROWS
    of_scores = _curvature(sample, rows, temperature, sensitivity, multipliers, shape) if is_curved else None
    for size, temperature, reach in _STAGES:
        seen = atoms if size is None else sample_of_cells(atoms, n_cells, size)
        margin, best = best_outcomes(seen, prices_at(rows, multipliers, shape))
        is_near = margin <= reach * sensitivity[seen.cell]
        fixed = amounts_where(seen, best, ~is_near, n_cells)
        near = seen.some(np.flatnonzero(is_near))
        stretch = None if of_scores is None else _stretch(of_scores, rows, temperature, multipliers)
        found = _descend(_soft_dual(near, fixed, rows, temperature, sensitivity), rows, multipliers, stretch)
        if not np.abs(found - multipliers).max(initial=0.0) <= _TOO_FAR * reach:  # the near ones alone cannot do it
            found = _descend(_soft_dual(seen, nothing, rows, temperature, sensitivity), rows, multipliers, stretch)
        multipliers = found
    return multipliers, 2 * _STAGES[-1][1]


def sample_of_cells(atoms: CellAtoms, n_cells: int, size: int) -> CellAtoms:
    """Take an even sample of each cell, weighted to represent it, and all atoms of small cells."""
    sizes = np.bincount(atoms.cell, minlength=n_cells)
    step = np.maximum(sizes // max(size // n_cells, 1), 1)
    few = atoms.some(np.flatnonzero(_every(step, atoms.cell)))
    whole = np.bincount(atoms.cell, weights=atoms.mass, minlength=n_cells)
    seen = np.bincount(few.cell, weights=few.mass, minlength=n_cells)
    return few._replace(mass=few.mass * (whole / np.where(seen > 0, seen, 1.0))[few.cell])


@kernel
def _every(step: NDArray[np.int64], cell: Codes) -> NDArray[np.bool_]:
    """Return whether each atom is the first of its cell, or a number of steps after it."""
    taken = np.empty(cell.size, dtype=np.bool_)
    rank = np.zeros(step.size, dtype=np.int64)
    for i in range(cell.size):
        taken[i] = rank[cell[i]] % step[cell[i]] == 0
        rank[cell[i]] += 1
    return taken


def _soft_dual(
    atoms: CellAtoms,
    fixed: NDArray[np.float64],
    rows: RowMatrix,
    temperature: float,
    sensitivity: NDArray[np.float64],
) -> Loss:
    """Return the softened dual and its gradient; ``fixed`` holds the amounts of the outcomes of all other atoms."""

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        multipliers = rows.balanced(x)
        prices = prices_at(rows, multipliers, fixed.shape)
        value, amounts = soft_scores(atoms, prices, temperature, sensitivity)
        cost, slope = rows.smooth_dual_cost(multipliers, _COST_WIDTH * temperature)
        gradient = slope - rows.on_amounts @ (amounts + fixed).ravel()
        return value - float((fixed * prices).sum()) + cost, rows.balanced(gradient)

    return loss


def _descend(
    loss: Loss, rows: RowMatrix, start: NDArray[np.float64], stretch: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Minimise a loss from a start, in coordinates that ``stretch`` maps to multipliers."""
    matrix = np.eye(start.size) if stretch is None else stretch

    def stretched(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(start + matrix @ z)
        return value, matrix.T @ gradient

    return rows.balanced(start + matrix @ minimize_smooth(stretched, np.zeros(start.size)))


def _curvature(
    sample: CellAtoms,
    rows: RowMatrix,
    temperature: float,
    sensitivity: NDArray[np.float64],
    at: NDArray[np.float64],
    shape: tuple[int, int, int],
) -> NDArray[np.float64]:
    """Return the second derivatives of the softened highest scores, by differences."""

    def gradient(multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        _, amounts = soft_scores(sample, prices_at(rows, multipliers, shape), temperature, sensitivity)
        return np.asarray(-(rows.on_amounts @ amounts.ravel()))

    here, step = gradient(at), 1e-2 * temperature
    return np.stack([gradient(at + step * unit) - here for unit in np.eye(at.size)]) / step


def _stretch(
    of_scores: NDArray[np.float64], rows: RowMatrix, temperature: float, at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coordinates in which the softened dual is about equally curved in all directions, as columns."""
    curvature = (of_scores + of_scores.T) / 2
    least = 1e-4 * max(float(curvature.diagonal().max()), 1e-9)
    curvature += np.diag(rows.smooth_dual_curvature(at, _COST_WIDTH * temperature))
    balanced = np.stack([rows.balanced(unit) for unit in np.eye(at.size)])
    size, direction = np.linalg.eigh(balanced @ curvature @ balanced)
    return np.asarray(direction / np.sqrt(np.maximum(size, least)))
