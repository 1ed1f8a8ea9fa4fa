r"""The dual of the fair program: exact, and smoothed.

With multipliers :math:`L_{ak}`, :math:`\sum_a L_{ak} = 0`, no labelling of gap at most :math:`\varepsilon` is
worth more than

.. math:: D(L) = \sum_a E_a[\max_k(\pi_a U_k - L_{ak})] + \tfrac{\varepsilon}{2} \sum_{ak} |L_{ak}|.

The smallest such bound equals the value of the best labelling with a coin. For two groups it is the paper's
:math:`\mathcal M(\beta)`.
"""

from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.votes.vocabulary import Codes

__all__ = ["best_labels", "best_of", "dual_value", "margins", "prices_of", "smoothed_multipliers"]

_TEMPERATURES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_SAMPLED = _TEMPERATURES[:5]
_WARM = (1e-3, 3e-4)
_REACH = (1e-2, 3e-3)
"""At these temperatures, how near to each other labels must be to change places: ten temperatures."""

_SAMPLE = 20_000


def dual_value(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], epsilon: float
) -> float:
    """Return the dual value D(L): no labelling within epsilon is worth more."""
    prices = prices_of(multipliers, group_mass)
    total = _dual(atoms.gains, atoms.mass, atoms.group, group_mass, prices)
    if atoms.rest is not None:
        total += (atoms.rest.value - float((atoms.rest.mass * prices).sum())) / group_mass.sum()
    return float(total + epsilon / 2 * np.abs(multipliers).sum())


def best_labels(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], within: float
) -> NDArray[np.bool_]:
    """Return the labels of each atom whose score is within so much of its best.

    ``within`` is in units of multipliers, as is the error of those: a group's scores err by it over the group's share.
    """
    margin, best = margins(atoms, group_mass, multipliers)
    widths = within / (group_mass / group_mass.sum())
    allowed = np.zeros(atoms.gains.shape, dtype=bool)
    allowed[np.arange(best.size), best] = True
    rows = np.flatnonzero(margin <= widths[atoms.group])  # mostly few
    scores = atoms.gains[rows] - prices_of(multipliers, group_mass)[atoms.group[rows]]
    allowed[rows] = scores >= scores.max(axis=1, keepdims=True) - widths[atoms.group[rows]][:, None]
    return allowed


def margins(atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return by how much the best label of each atom beats the second, and the best label."""
    return best_of(atoms.gains, atoms.group, prices_of(multipliers, group_mass))


def best_of(gains: NDArray[np.float64], group: Codes, prices: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return by how much the best label of each row of gains beats the second at these prices, and the best label."""
    return _margins(gains, group, prices)  # type: ignore[no-any-return]


def smoothed_multipliers(
    atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Minimise the dual with the maximum softened, at falling temperatures; the result is near the true minimum.

    High temperatures need a sample only. At low ones most atoms have a label that small changes of the multipliers
    do not touch: they are counted once, and the rest is summed over in each step. From a good ``start``, such as the
    multipliers of a near epsilon, only the lowest temperatures are needed.
    """
    n_groups = group_mass.size
    multipliers = np.zeros((n_groups, atoms.gains.shape[1])) if start is None else start
    fixed = np.zeros_like(multipliers)
    if atoms.mass.size <= _SAMPLE and atoms.rest is None:
        for temperature in _TEMPERATURES if start is None else _WARM:
            multipliers = _descend(atoms, group_mass, group_mass, fixed, epsilon, temperature, multipliers)
        return multipliers
    if atoms.rest is None:
        few, few_mass = _sampled(atoms, n_groups)
        for temperature in _SAMPLED if start is None else _WARM[:1]:
            multipliers = _descend(few, few_mass, group_mass, fixed, epsilon, temperature, multipliers)
    for temperature, reach in zip(_WARM, _REACH, strict=True):
        near, fixed = _near(atoms, group_mass, multipliers, reach)
        multipliers = _descend(near, group_mass, group_mass, fixed, epsilon, temperature, multipliers)
    return multipliers


def _sampled(atoms: Atoms, n_groups: int) -> tuple[Atoms, NDArray[np.float64]]:
    """Take an even sample of each group; small groups whole."""
    order = np.argsort(atoms.group, kind="stable")
    bounds = np.searchsorted(atoms.group[order], np.arange(n_groups + 1))
    each = max(_SAMPLE // n_groups, 1)
    chosen = [order[a : b : max((b - a) // each, 1)] for a, b in pairwise(bounds)]
    rows = np.concatenate(chosen)
    few = Atoms(atoms.gains[rows], atoms.mass[rows], atoms.group[rows])
    return few, np.bincount(few.group, weights=few.mass, minlength=n_groups).astype(np.float64)


def _near(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], reach: float
) -> tuple[Atoms, NDArray[np.float64]]:
    """Return the atoms whose best labels are near each other, and the rates of the labels of all others."""
    margin, best = margins(atoms, group_mass, multipliers)
    shares = group_mass / group_mass.sum()
    is_near = margin * shares[atoms.group] <= reach
    rows, others = np.flatnonzero(is_near), np.flatnonzero(~is_near)
    cell = atoms.group[others].astype(np.int64) * multipliers.shape[1] + best[others]
    fixed = np.bincount(cell, weights=atoms.mass[others], minlength=multipliers.size).reshape(multipliers.shape)
    labelled = fixed + (0.0 if atoms.rest is None else atoms.rest.mass)
    return Atoms(atoms.gains[rows], atoms.mass[rows], atoms.group[rows]), labelled / group_mass[:, None]


def _descend(
    atoms: Atoms,
    mass: NDArray[np.float64],
    group_mass: NDArray[np.float64],
    fixed: NDArray[np.float64],
    epsilon: float,
    temperature: float,
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimise the softened dual of atoms, with the rates ``fixed`` of others, from a start."""
    from scipy.optimize import minimize

    n_groups, n_classes = start.shape
    shares = group_mass / group_mass.sum()

    def spread(x: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = x.reshape(n_groups - 1, n_classes)
        return np.vstack([rows, -rows.sum(axis=0)])

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        multipliers = spread(x)
        prices = multipliers / shares[:, None]
        value, rates = _soft(atoms.gains, atoms.mass, atoms.group, mass, prices, temperature, shares)
        soft = np.sqrt(multipliers**2 + (0.1 * temperature) ** 2)
        gradient = -rates - fixed + epsilon / 2 * multipliers / soft
        whole = value - float((fixed * multipliers).sum()) + epsilon / 2 * float(soft.sum())
        return whole, (gradient[:-1] - gradient[-1]).ravel()

    first = start[:-1].ravel()
    found = minimize(loss, first, method="L-BFGS-B", jac=True, options={"maxiter": 100, "gtol": 1e-6})
    return spread(found.x)


def prices_of(multipliers: NDArray[np.float64], group_mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the multipliers in units of gain: a label's score in group a is its gain minus its price."""
    return np.asarray(multipliers / (group_mass / group_mass.sum())[:, None])


@numba.njit(cache=True, nogil=True)
def _dual(gains: Any, mass: Any, group: Any, group_mass: Any, prices: Any) -> float:
    total, lost = 0.0, 0.0
    whole = group_mass.sum()
    for j in range(gains.shape[0]):
        best = -np.inf
        for k in range(gains.shape[1]):
            best = max(best, gains[j, k] - prices[group[j], k])
        term = mass[j] * best / whole - lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total


@numba.njit(cache=True, nogil=True)
def _soft(gains: Any, mass: Any, group: Any, group_mass: Any, prices: Any, temperature: float, shares: Any) -> Any:
    n_classes = gains.shape[1]
    rates = np.zeros(prices.shape)
    score = np.empty(n_classes)
    total = 0.0
    for j in range(gains.shape[0]):
        a = group[j]
        scale = temperature / shares[a]
        top = -np.inf
        for k in range(n_classes):
            score[k] = gains[j, k] - prices[a, k]
            top = max(top, score[k])
        sum_ = 0.0
        for k in range(n_classes):
            away = (score[k] - top) / scale
            score[k] = np.exp(away) if away > -40.0 else 0.0
            sum_ += score[k]
        part = mass[j] / group_mass[a]
        total += part * (shares[a] * top + temperature * np.log(sum_))
        for k in range(n_classes):
            rates[a, k] += part * score[k] / sum_
    return total, rates


@numba.njit(cache=True, nogil=True)
def _margins(gains: Any, group: Any, prices: Any) -> Any:
    margin, label = np.empty(gains.shape[0]), np.zeros(gains.shape[0], np.int32)
    for j in range(gains.shape[0]):
        best = second = -np.inf
        for k in range(gains.shape[1]):
            score = gains[j, k] - prices[group[j], k]
            if score > best:
                best, second, label[j] = score, best, k
            elif score > second:
                second = score
        margin[j] = best - second
    return margin, label
