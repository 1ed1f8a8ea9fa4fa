r"""The dual of the fair program: exact, and smoothed.

With multipliers :math:`L_{ak}`, :math:`\sum_a L_{ak} = 0`, no labelling of gap at most :math:`\varepsilon` is
worth more than

.. math:: D(L) = \sum_a E_a[\max_k(\pi_a U_k - L_{ak})] + \tfrac{\varepsilon}{2} \sum_{ak} |L_{ak}|.

The smallest such bound equals the value of the best labelling with a coin. For two groups it is the paper's
:math:`\mathcal M(\beta)`.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.atoms import Atoms

__all__ = ["best_labels", "dual_value", "margins", "prices_of", "smoothed_multipliers"]

_TEMPERATURES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_WARM = (1e-3, 3e-4)
_SAMPLE = 50_000


def dual_value(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], epsilon: float
) -> float:
    """Return the dual value D(L): no labelling within epsilon is worth more."""
    total = _dual(atoms.gains, atoms.mass, atoms.group, group_mass, prices_of(multipliers, group_mass))
    return float(total + epsilon / 2 * np.abs(multipliers).sum())


def best_labels(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], within: float
) -> NDArray[np.bool_]:
    """Return the labels of each atom whose score is within so much of its best."""
    scores = atoms.gains - prices_of(multipliers, group_mass)[atoms.group]
    return np.asarray(scores >= scores.max(axis=1, keepdims=True) - within)


def margins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the best label of each row beats the second."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def smoothed_multipliers(
    atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Minimise the dual with the maximum softened, at falling temperatures; the result is near the true minimum.

    From a good ``start``, such as the multipliers of a near epsilon, only the lowest temperatures are needed.
    """
    from scipy.optimize import minimize

    n_groups, n_classes = group_mass.size, atoms.gains.shape[1]
    shares = group_mass / group_mass.sum()
    free = np.zeros((n_groups - 1) * n_classes) if start is None else start[:-1].ravel()
    stride = max(atoms.mass.size // _SAMPLE, 1)
    few = Atoms(atoms.gains[::stride], atoms.mass[::stride], atoms.group[::stride], None)
    few_mass = np.bincount(few.group, weights=few.mass, minlength=n_groups).astype(np.float64)
    if (few_mass == 0).any():
        stride, few, few_mass = 1, atoms, group_mass

    def spread(x: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = x.reshape(n_groups - 1, n_classes)
        return np.vstack([rows, -rows.sum(axis=0)])

    for temperature in _TEMPERATURES if start is None else _WARM:
        sampled = stride > 1 and temperature > 1e-3
        here, mass = (few, few_mass) if sampled else (atoms, group_mass)

        def loss(x: NDArray[np.float64], here: Atoms = here, mass: Any = mass, t: float = temperature) -> Any:
            multipliers = spread(x)
            value, rates = _soft(here.gains, here.mass, here.group, mass, multipliers / shares[:, None], t, shares)
            soft = np.sqrt(multipliers**2 + (0.1 * t) ** 2)
            gradient = -rates + epsilon / 2 * multipliers / soft
            return value + epsilon / 2 * soft.sum(), (gradient[:-1] - gradient[-1]).ravel()

        free = minimize(loss, free, method="L-BFGS-B", jac=True, options={"maxiter": 200, "gtol": 1e-7}).x
    return spread(free)


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
            score[k] = np.exp((score[k] - top) / scale)
            sum_ += score[k]
        part = mass[j] / group_mass[a]
        total += part * (shares[a] * top + temperature * np.log(sum_))
        for k in range(n_classes):
            rates[a, k] += part * score[k] / sum_
    return total, rates
