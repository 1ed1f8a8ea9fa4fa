"""How near to each other the scores of a task must be for a rule to take its classes for tied."""

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.linear_program import TOLERANCE

__all__ = ["TIE", "tie_widths"]

TIE = 1e-11
"""Scores that are nearer to each other are tied: a rule cannot tell them apart by their last digits."""


def tie_widths(prices: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how near to each other the scores of a task are tied, a group.

    Prices of two classes and two groups are thresholds, which are exact. Others come from the linear program: it ends
    where no label is better by more than its tolerance in units of a group's share, so that scores this near may be
    tied.
    """
    if prices.shape == (2, 2) or not prices.any():
        return np.full(shares.size, TIE)
    return TIE + 10 * TOLERANCE / shares
