"""The gap between groups: the number that fairness is measured by."""

from typing import Any

import numpy as np

__all__ = ["gap_of"]


def gap_of(rates: Any) -> float:
    """Return the demographic-parity gap: the largest difference, over classes, between two groups' rates.

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
