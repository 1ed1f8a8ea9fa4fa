"""Tie weights by search on a grid: step 2 of the paper's Algorithm 1."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["tie_weights"]

_SAME = 1e-12


def tie_weights(
    sure: NDArray[np.float64], tied: NDArray[np.float64], epsilon: float, beta: float, n_grid: int
) -> NDArray[np.float64]:
    r"""Search the weights :math:`(\omega_0, \omega_1)` that bring the gap nearest to what the theorem asks.

    Parameters
    ----------
    sure, tied : ndarray, shape (2,)
        Share of each group that has label 1 for sure, and that is tied at its threshold.
    epsilon, beta : float
        The signed gap, group 1 less group 0, must be epsilon with the sign of beta; within epsilon if beta is 0.
    n_grid : int
        Number of values of each weight, from 0 to 1.

    Returns
    -------
    ndarray, shape (2,)
        Of equally good pairs, the one with the smallest sum; of these, with the smallest weight of group 0.
    """
    grid = np.linspace(0.0, 1.0, n_grid)
    rates = sure[:, None] + tied[:, None] * grid
    gaps = rates[1] - rates[0][:, None]
    misses = np.abs(gaps - np.sign(beta) * epsilon) if beta else np.maximum(np.abs(gaps) - epsilon, 0.0)
    zero, one = np.nonzero(misses <= misses.min() + _SAME)
    best = int(np.lexsort((zero, zero + one))[0])
    return np.asarray(grid[[zero[best], one[best]]])
