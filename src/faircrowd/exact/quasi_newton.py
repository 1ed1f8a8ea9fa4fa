"""Minima of smooth losses of few unknowns, found by L-BFGS-B on one thread."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loss", "minimize_smooth"]

Loss = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""From a point to the loss and its gradient there."""


def minimize_smooth(loss: Loss, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a loss is about lowest, after at most 100 steps from a start.

    Each step multiplies short vectors. BLAS would share that work among threads, which takes longer than the work, and
    ten times as long where other processes keep the cores busy. So it gets one thread until the minimum is found. The
    result then does not depend on the number of cores either.

    Examples
    --------
    >>> minimize_smooth(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2)).round(6)
    array([3., 3.])
    """
    from scipy.optimize import minimize  # slow to import

    with _blas().limit(limits=1, user_api="blas"):
        found = minimize(loss, start, method="L-BFGS-B", jac=True, options={"maxiter": 100, "gtol": 1e-6})
    return np.asarray(found.x, dtype=np.float64)


@cache
def _blas() -> Any:
    """Return what sets the threads of the libraries that numpy and scipy have loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
