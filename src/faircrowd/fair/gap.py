"""The gap between groups: the number that demographic parity is measured by, and when it is small enough."""

import numpy as np
from numpy.typing import ArrayLike

from faircrowd.fair.tolerances import SLACK

__all__ = ["gap_of", "within"]


def gap_of(rates: ArrayLike) -> float:
    """Return the demographic-parity gap: the largest difference, over classes, between the rates of two groups.

    Parameters
    ----------
    rates : array-like, shape (n_groups, n_classes)
        The share of each class in each group.

    Examples
    --------
    >>> gap_of([[0.5, 0.5], [0.75, 0.25]])
    0.25
    """
    return float(np.ptp(np.asarray(rates), axis=0).max())


def within(gap: float, epsilon: float) -> bool:
    """Return whether a gap is at most epsilon, but for the rounding of the rates and of epsilon itself.

    Examples
    --------
    >>> within(0.3 - 0.1, 0.2), within(0.21, 0.2)
    (True, False)
    """
    return bool(gap <= epsilon + SLACK)
