"""Tolerances of the fair rule, in one place."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["PROGRAM", "SAME_VALUE", "SLACK", "TIE", "WINDOW_TIE", "tie_widths"]

SLACK = 1e-13
"""A gap may exceed epsilon by this much: the rounding of epsilon and of the rates themselves."""

PROGRAM = 1e-10
"""Feasibility tolerance of HiGHS: how much better, in units of a group's share, a label may be than the solution's."""

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
    return TIE + 10 * PROGRAM / shares


WINDOW_TIE = 10 * TIE
"""A window around thresholds includes the tasks that are nearer to its ends: all that a rule may take as tied."""

SAME_VALUE = 1e-15
"""Objective values of labellings that are nearer to each other are equal but for rounding."""
