r"""The dual of the fair rule with a softened maximum: step 1 of the paper's Algorithm 1.

**Problem.** Two groups, :math:`s_a = \pm 1`. Minimise over the prices :math:`\beta` of the classes

.. math:: \sum_a E_a[\mathrm{soft}_c \max_k (\pi_a P_k - s_a \beta_k)] + \varepsilon \sum_k |\beta_k|,

where :math:`\mathrm{soft}_c \max_k x_k` is the mean of the :math:`x_k` with weights proportional to
:math:`\exp(x_k / c)`. Two classes have one price in the paper: :math:`\beta_1 = -\beta_0 = \beta / 2`.

**Method.** Sequential quadratic programming (SciPy's SLSQP) from zero, with :math:`\beta = u - v`,
:math:`u, v \ge 0`, which makes the penalty smooth, and the exact gradient. The softened maximum is not convex: what
is found need not be the minimum.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from faircrowd.votes.vocabulary import Codes

__all__ = ["SIGNS", "Prices", "soft_dual", "soft_prices"]

SIGNS = np.array([-1.0, 1.0])
"""s_a of group 0 and of group 1."""

_BLOCK = 16_384


class Prices(NamedTuple):
    """The price of each class, and whether SLSQP says that it is done."""

    beta: NDArray[np.float64]
    converged: bool


def soft_prices(
    posterior: NDArray[np.float64], group: Codes, epsilon: float, temperature: float, *, one_price: bool
) -> Prices:
    """Minimise the softened dual; with ``one_price``, for two classes, over opposite prices only."""
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
    """Return the function that gives the softened dual and its gradient at (u, v)."""
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
    """Return what the price of each class is made of."""
    return np.array([[-0.5], [0.5]]) if one_price else np.eye(n_classes)


def _soft_max(scores: NDArray[np.float64], prices: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean softened maximum of scores - prices (a column a task), and minus its slope in the prices."""
    n_classes, n_tasks = scores.shape
    value, slope = 0.0, np.zeros(n_classes)
    for start in range(0, n_tasks, _BLOCK):
        below = scores[:, start : start + _BLOCK] - prices[:, None]
        top = below.max(axis=0)
        below -= top
        weights = np.exp(below)
        weights /= weights.sum(axis=0)
        mean = (weights * below).sum(axis=0)
        value += float(top.sum() + mean.sum())
        below -= mean - 1.0  # the slope of sum_k w_k z_k in z_k is w_k (1 + z_k - mean)
        slope += (weights * below).sum(axis=1)
    return value / n_tasks, slope / n_tasks
