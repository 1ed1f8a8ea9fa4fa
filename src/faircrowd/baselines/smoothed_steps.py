r"""The steps of the paper's Algorithm 1.

**Step 0, spread.** Posteriors near 1 are spread out by rank (:func:`spread_by_value`, :func:`spread_by_rank`).

**Step 1, prices.** The dual of the fair rule is minimised with a softened maximum (:func:`soft_prices`). With two
groups, :math:`s_a = \pm 1`, minimise over the prices :math:`\beta` of the classes

.. math:: \sum_a E_a[\mathrm{soft}_c \max_k (\pi_a P_k - s_a \beta_k)] + \varepsilon \sum_k |\beta_k|,

where :math:`\mathrm{soft}_c \max_k x_k` is the mean of the :math:`x_k` with weights proportional to
:math:`\exp(x_k / c)`. Two classes have one price in the paper: :math:`\beta_1 = -\beta_0 = \beta / 2`.

The method is sequential quadratic programming (SciPy's SLSQP) from zero, with :math:`\beta = u - v`,
:math:`u, v \ge 0`, which makes the penalty smooth, and the exact gradient. The softened maximum is not convex, so the
result need not be the minimum.

**Step 2, tie weights.** The weights of the tied tasks are found by search on a grid (:func:`search_tie_weights`).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from faircrowd.votes.vocabulary import Codes

__all__ = ["SIGNS", "Prices", "search_tie_weights", "soft_dual", "soft_prices", "spread_by_rank", "spread_by_value"]

SIGNS = np.array([-1.0, 1.0])
"""s_a of group 0 and of group 1."""

_TASKS_PER_BLOCK = 16_384
_EQUALLY_GOOD = 1e-12


class Prices(NamedTuple):
    """The price of each class, and whether SLSQP reports success."""

    beta: NDArray[np.float64]
    converged: bool


def spread_by_value(posterior: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    r"""Step 0 as printed: replace posteriors of at least :math:`1 - \alpha` by :math:`1 - \alpha + \alpha k / n`.

    k is the rank of a value, from 1, among the n different values of its class there, so equal posteriors stay equal.
    With two classes the other posterior stays the complement. (The paper prints :math:`k / n` alone, which would put
    certain tasks below doubtful ones.)
    """
    spread = posterior.copy()
    for k in range(posterior.shape[1]):
        certain = np.flatnonzero(posterior[:, k] >= 1.0 - width)
        doubt = np.delete(posterior[certain], k, axis=1).sum(axis=1)  # near 1 it keeps more digits
        values, place = np.unique(-doubt, return_inverse=True)
        spread[certain, k] = 1.0 - width + width * (place + 1) / max(values.size, 1)
        if posterior.shape[1] == 2:
            spread[certain, 1 - k] = 1.0 - spread[certain, k]
    return spread


def spread_by_rank(
    posterior: NDArray[np.float64], width: float, keys: NDArray[np.uint64], part: Codes
) -> NDArray[np.float64]:
    r"""Step 0 in the authors' scripts: replace posteriors above :math:`1 - \alpha` by that plus :math:`\alpha k / n`.

    k is the rank of a task, from 0, among the n of its class and part; equal posteriors are ordered by ``keys``. The
    posteriors of the other classes are unchanged.
    """
    spread = posterior.copy()
    for k in range(posterior.shape[1]):
        certain = np.flatnonzero(posterior[:, k] > 1.0 - width)
        certain = certain[np.lexsort((keys[certain], posterior[certain, k]))]
        for a in np.unique(part[certain]):
            rows = certain[part[certain] == a]
            spread[rows, k] = 1.0 - width + width * np.arange(rows.size) / rows.size
    return spread


def soft_prices(
    posterior: NDArray[np.float64], group: Codes, epsilon: float, temperature: float, *, one_price: bool
) -> Prices:
    """Step 1: minimise the softened dual; with ``one_price``, for two classes, over opposite prices only."""
    basis = _basis(posterior.shape[1], one_price)
    n_prices = basis.shape[1]
    found = minimize(
        soft_dual(posterior, group, epsilon, temperature, one_price=one_price),
        np.zeros(2 * n_prices),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, None)] * (2 * n_prices),
        options={"ftol": 1e-9, "maxiter": 1000},
    )
    return Prices(basis @ (found.x[:n_prices] - found.x[n_prices:]), bool(found.success))


def soft_dual(
    posterior: NDArray[np.float64], group: Codes, epsilon: float, temperature: float, *, one_price: bool
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """Return the function that computes the softened dual and its gradient at (u, v)."""
    n_tasks, n_classes = posterior.shape
    shares = np.bincount(group, minlength=2) / n_tasks
    scaled = [np.ascontiguousarray(posterior[group == a].T * (shares[a] / temperature)) for a in (0, 1)]
    basis = _basis(n_classes, one_price)

    def dual(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        u, v = np.split(x, 2)
        beta = basis @ (u - v)
        value, slope = epsilon * float(x.sum()), np.zeros(n_classes)
        for sign, scores in zip(SIGNS, scaled, strict=True):
            part, rates = _soft_max(scores, sign / temperature * beta)
            value += temperature * part
            slope -= sign * rates
        slope = slope @ basis
        return value, epsilon + np.concatenate([slope, -slope])

    return dual


def _basis(n_classes: int, one_price: bool) -> NDArray[np.float64]:
    """Return the matrix that maps the variables to the price of each class."""
    return np.array([[-0.5], [0.5]]) if one_price else np.eye(n_classes)


def _soft_max(scores: NDArray[np.float64], prices: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean softened maximum of scores - prices (one column per task), and minus its gradient by price."""
    n_classes, n_tasks = scores.shape
    value, slope = 0.0, np.zeros(n_classes)
    for start in range(0, n_tasks, _TASKS_PER_BLOCK):
        below = scores[:, start : start + _TASKS_PER_BLOCK] - prices[:, None]
        top = below.max(axis=0)
        below -= top
        weights = np.exp(below)
        weights /= weights.sum(axis=0)
        mean = (weights * below).sum(axis=0)
        value += float(top.sum() + mean.sum())
        below -= mean - 1.0  # the slope of sum_k w_k z_k in z_k is w_k (1 + z_k - mean)
        slope += (weights * below).sum(axis=1)
    return value / n_tasks, slope / n_tasks


def search_tie_weights(
    above: NDArray[np.float64], tied: NDArray[np.float64], epsilon: float, beta: float, n_grid: int
) -> NDArray[np.float64]:
    r"""Step 2: search the weights :math:`(\omega_0, \omega_1)` that bring the gap closest to what the theorem asks.

    Parameters
    ----------
    above, tied : ndarray, shape (2,)
        Share of each group that is above its threshold and so has label 1, and that is tied at its threshold.
    epsilon, beta : float
        The signed gap, group 1 less group 0, must be epsilon with the sign of beta; within epsilon if beta is 0.
    n_grid : int
        Number of values of each weight, from 0 to 1.

    Returns
    -------
    ndarray, shape (2,)
        Of equally good pairs, the one with the smallest sum; among these, the one with the smallest weight of group 0.
    """
    grid = np.linspace(0.0, 1.0, n_grid)
    rates = above[:, None] + tied[:, None] * grid
    gaps = rates[1] - rates[0][:, None]
    misses = np.abs(gaps - np.sign(beta) * epsilon) if beta else np.maximum(np.abs(gaps) - epsilon, 0.0)
    zero, one = np.nonzero(misses <= misses.min() + _EQUALLY_GOOD)
    best = int(np.lexsort((zero, zero + one))[0])
    return np.asarray(grid[[zero[best], one[best]]])
