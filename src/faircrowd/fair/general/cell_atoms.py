r"""Tasks of one cell with the same posterior, which are interchangeable, and their scores at given multipliers.

The score of an outcome is what it gains minus its prices, which depend on the cell and, where a constraint weighs tasks
by their posterior, on the posterior: :math:`U_{ij} - \Lambda_{c0j} - \sum_y p_{iy} \Lambda_{cyj}`, where
:math:`\Lambda = A^\top \lambda` are the prices that the multipliers :math:`\lambda` of the rows add up to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.fair.general.row_matrix import RowMatrix
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "CellAtoms",
    "amounts_of",
    "amounts_where",
    "best_outcomes",
    "bound_at",
    "gained",
    "highest_scores",
    "prices_at",
    "scores_at",
    "sensitivities",
    "soft_scores",
]


class CellAtoms(NamedTuple):
    """Atoms: tasks of one cell with the same posterior and weight.

    Attributes
    ----------
    gains : ndarray, shape (n_atoms, n_outcomes)
        What each outcome gains.
    features : ndarray, shape (n_atoms, n_features - 1)
        What constraints weigh tasks by: the posterior of some classes, or the probabilities of uncertain groups.
    cell : ndarray of int32, shape (n_atoms,)
    mass : ndarray, shape (n_atoms,)
        The atom's part of all weight.
    n_tasks : ndarray of int64, shape (n_atoms,)
        Number of tasks.
    """

    gains: NDArray[np.float64]
    features: NDArray[np.float64]
    cell: Codes
    mass: NDArray[np.float64]
    n_tasks: NDArray[np.int64]

    @property
    def n_features(self) -> int:
        """Number of features: one, which is 1 for all tasks, and those that constraints weigh tasks by."""
        return 1 + int(self.features.shape[1])

    def shape(self, n_cells: int) -> tuple[int, int, int]:
        """Return the shape of amounts and prices: cells, features, outcomes."""
        return n_cells, self.n_features, int(self.gains.shape[1])

    def some(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "CellAtoms":
        """Return some of the atoms."""
        return CellAtoms(self.gains[rows], self.features[rows], self.cell[rows], self.mass[rows], self.n_tasks[rows])


def prices_at(rows: RowMatrix, multipliers: NDArray[np.float64], shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """Return the prices of the outcomes in each cell, for each feature: shape (n_cells, n_features, n_outcomes)."""
    return np.ascontiguousarray(np.asarray(rows.on_amounts.T @ multipliers).reshape(shape))


def sensitivities(rows: RowMatrix, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """Return, per cell, by how much a score changes at most if one multiplier changes by one; at least 1."""
    largest = np.asarray(abs(rows.on_amounts).max(axis=0).toarray()).reshape(shape)
    return np.asarray(np.maximum(largest.max(axis=(1, 2)), 1.0))


def bound_at(atoms: CellAtoms, rows: RowMatrix, multipliers: NDArray[np.float64], n_cells: int) -> float:
    """Return the bound that multipliers prove: no outcomes that keep the rows gain more."""
    return highest_scores(atoms, prices_at(rows, multipliers, atoms.shape(n_cells))) + rows.dual_cost(multipliers)


def scores_at(atoms: CellAtoms, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each outcome of each atom."""
    scores = atoms.gains - prices[atoms.cell, 0]
    if atoms.features.shape[1]:
        scores -= np.einsum("ny,nyj->nj", atoms.features, prices[atoms.cell, 1:])
    return np.asarray(scores)


def best_outcomes(atoms: CellAtoms, prices: NDArray[np.float64]) -> tuple[NDArray[np.float64], Codes]:
    """Return by how much the best outcome of each atom beats the second, and the best outcome."""
    margin, best = np.empty(atoms.mass.size), np.zeros(atoms.mass.size, dtype=np.int32)
    _margins(atoms.gains, atoms.features, atoms.cell, prices, margin, best)
    return margin, best


def highest_scores(atoms: CellAtoms, prices: NDArray[np.float64]) -> float:
    """Return the mean of the highest scores."""
    return float(_mean_of_highest(atoms.gains, atoms.features, atoms.cell, atoms.mass, prices))


def soft_scores(
    atoms: CellAtoms, prices: NDArray[np.float64], temperature: float, sensitivity: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the mean of a softened highest score, and the amounts of the outcomes that it amounts to."""
    total, amounts = _soft(atoms.gains, atoms.features, atoms.cell, atoms.mass, prices, temperature * sensitivity)
    return float(total), amounts


def amounts_of(atoms: CellAtoms, fractions: NDArray[np.float64], n_cells: int) -> NDArray[np.float64]:
    """Return the amounts of outcomes, given the fraction of each atom that gets each outcome."""
    amounts = np.zeros(atoms.shape(n_cells))
    _add_amounts(atoms.features, atoms.cell, atoms.mass, fractions, amounts)
    return amounts


def gained(atoms: CellAtoms, fractions: NDArray[np.float64]) -> float:
    """Return what outcomes gain, given the fraction of each atom that gets each outcome."""
    return float((atoms.mass * np.einsum("nj,nj->n", fractions, atoms.gains)).sum())


def amounts_where(atoms: CellAtoms, outcome: Codes, is_counted: NDArray[np.bool_], n_cells: int) -> NDArray[np.float64]:
    """Return the amounts of outcomes of some atoms, all of whose tasks get the same outcome."""
    amounts = np.zeros(atoms.shape(n_cells))
    _add_whole(atoms.features, atoms.cell, atoms.mass, outcome, is_counted, amounts)
    return amounts


@kernel
def _add_whole(
    features: NDArray[np.float64],
    cell: Codes,
    mass: NDArray[np.float64],
    outcome: Codes,
    is_counted: NDArray[np.bool_],
    amounts: NDArray[np.float64],
) -> None:
    for i in range(cell.size):
        if is_counted[i]:
            amounts[cell[i], 0, outcome[i]] += mass[i]
            for y in range(features.shape[1]):
                amounts[cell[i], 1 + y, outcome[i]] += mass[i] * features[i, y]


@kernel
def _add_amounts(
    features: NDArray[np.float64],
    cell: Codes,
    mass: NDArray[np.float64],
    fractions: NDArray[np.float64],
    amounts: NDArray[np.float64],
) -> None:
    for i in range(cell.size):
        c = cell[i]
        for j in range(fractions.shape[1]):
            part = mass[i] * fractions[i, j]
            if part > 0.0:
                amounts[c, 0, j] += part
                for y in range(features.shape[1]):
                    amounts[c, 1 + y, j] += part * features[i, y]


@inner_kernel
def _score(
    gains: NDArray[np.float64], features: NDArray[np.float64], prices: NDArray[np.float64], i: int, c: int, j: int
) -> float:
    score: float = gains[i, j] - prices[c, 0, j]
    for y in range(features.shape[1]):
        score -= features[i, y] * prices[c, 1 + y, j]
    return score


@kernel
def _margins(
    gains: NDArray[np.float64],
    features: NDArray[np.float64],
    cell: Codes,
    prices: NDArray[np.float64],
    margin: NDArray[np.float64],
    label: Codes,
) -> None:
    for i in range(cell.size):
        best = second = -np.inf
        for j in range(gains.shape[1]):
            score = _score(gains, features, prices, i, cell[i], j)
            if score > best:
                best, second, label[i] = score, best, j
            elif score > second:
                second = score
        margin[i] = best - second


@kernel
def _mean_of_highest(
    gains: NDArray[np.float64],
    features: NDArray[np.float64],
    cell: Codes,
    mass: NDArray[np.float64],
    prices: NDArray[np.float64],
) -> float:
    total, lost = 0.0, 0.0  # what rounding lost is added back
    for i in range(cell.size):
        best = -np.inf
        for j in range(gains.shape[1]):
            best = max(best, _score(gains, features, prices, i, cell[i], j))
        term = mass[i] * best - lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total


@kernel
def _soft(
    gains: NDArray[np.float64],
    features: NDArray[np.float64],
    cell: Codes,
    mass: NDArray[np.float64],
    prices: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    n_outcomes = gains.shape[1]
    amounts = np.zeros(prices.shape)
    score = np.empty(n_outcomes)
    total = 0.0
    for i in range(cell.size):
        c = cell[i]
        top = -np.inf
        for j in range(n_outcomes):
            score[j] = _score(gains, features, prices, i, c, j)
            top = max(top, score[j])
        sum_ = 0.0
        for j in range(n_outcomes):
            away = (score[j] - top) / scale[c]
            score[j] = np.exp(away) if away > -40.0 else 0.0
            sum_ += score[j]
        total += mass[i] * (top + scale[c] * np.log(sum_))
        for j in range(n_outcomes):
            if score[j] > 0.0:
                part = mass[i] * score[j] / sum_
                amounts[c, 0, j] += part
                for y in range(features.shape[1]):
                    amounts[c, 1 + y, j] += part * features[i, y]
    return total, amounts
