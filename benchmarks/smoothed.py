r"""The paper's Algorithm 1 for two groups and any number of classes, as a baseline for fair.py.

The dual :math:`\sum_a E_a[\max_k(\pi_a P_k - s_a \beta_k)] + \varepsilon \sum_k |\beta_k|`, with the maximum smoothed
at temperature c to the mean of its arguments under softmax weights, is minimised by sequential quadratic
programming (SciPy's SLSQP). Ties are broken by uniform noise instead of tie weights, as the paper advises for
many classes. The step that spreads posteriors near 0 and 1 is left out: the benchmark's data do not need it.

Written to be fast, for a fair comparison: :math:`\beta = u - v` with :math:`u, v \ge 0` makes the objective smooth, its
gradient is exact, and arrays are stored class by class and read in blocks that stay in the cache.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_BLOCK = 16_384


def smoothed_labels(
    posterior: NDArray[np.float64],
    group: NDArray[np.int64],
    epsilon: float,
    *,
    temperature: float = 1e-3,
    noise: float = 1e-5,
    random_state: int = 0,
    exact_gradient: bool = True,
) -> NDArray[np.int64]:
    """Return the label of each task; groups are 0 and 1. Without the exact gradient, SciPy uses finite differences."""
    n_tasks, n_classes = posterior.shape
    noisy = posterior + np.random.default_rng(random_state).uniform(0.0, noise, posterior.shape)
    shares = np.bincount(group, minlength=2) / n_tasks
    signs = (-1.0, 1.0)
    scaled = [np.ascontiguousarray(noisy[group == a].T * (shares[a] / temperature)) for a in (0, 1)]

    def objective(x: NDArray[np.float64]) -> Any:
        beta = x[:n_classes] - x[n_classes:]
        value, slope = 0.0, np.zeros(n_classes)
        for sign, scores in zip(signs, scaled, strict=True):
            part, rates = _soft(scores, sign / temperature * beta)
            value += temperature * part
            slope -= sign * rates
        value += epsilon * x.sum()
        return (value, epsilon + np.concatenate([slope, -slope])) if exact_gradient else value

    gradient: Any = exact_gradient
    found = minimize(
        objective,
        np.zeros(2 * n_classes),
        jac=gradient,
        method="SLSQP",
        bounds=[(0.0, None)] * (2 * n_classes),
        options={"ftol": 1e-9, "maxiter": 1000},
    )
    beta = found.x[:n_classes] - found.x[n_classes:]
    prices = np.outer(signs / shares, beta)
    noisy -= prices[group]
    return np.asarray(np.argmax(noisy, axis=1))


def _soft(scores: NDArray[np.float64], prices: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean smoothed maximum of scores - prices (one column per task), and minus its slope in the prices."""
    n_classes, n_tasks = scores.shape
    value, slope = 0.0, np.zeros(n_classes)
    for start in range(0, n_tasks, _BLOCK):
        below = scores[:, start : start + _BLOCK] - prices[:, None]
        top = below.max(axis=0)
        below -= top
        weights = np.exp(below)
        weights /= weights.sum(axis=0)
        mean = np.einsum("ki,ki->i", weights, below)
        value += float(top.sum() + mean.sum())
        below -= mean - 1.0  # the slope of sum_k w_k z_k in z_k is w_k (1 + z_k - mean)
        slope += np.einsum("ki,ki->k", weights, below)
    return value / n_tasks, slope / n_tasks
