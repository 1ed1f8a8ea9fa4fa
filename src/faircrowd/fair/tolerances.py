"""Tolerances of the fair rule, in one place: how near numbers must be to count as equal, and why."""

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EQUAL_VALUES",
    "F1_STEP",
    "HIGHS_FEASIBILITY",
    "MARGIN_PRECISION",
    "NEGLIGIBLE_PART",
    "NO_EXCESS",
    "PROVED_OPTIMAL",
    "PROVED_OPTIMAL_STRICT",
    "ROUNDED_PROBABILITY",
    "SAME_VALUE",
    "SLACK",
    "SUM_TO_ONE",
    "TIE",
    "WHOLE_COUNT",
    "WINDOW_TIE",
    "tie_widths",
]

SLACK = 1e-13
"""A gap may exceed epsilon by this much: the rounding of epsilon and of the rates themselves."""

TIE = 1e-11
"""Scores that are nearer to each other are tied: a rule cannot tell them apart by their last digits."""

HIGHS_FEASIBILITY = 1e-10
"""Feasibility of HiGHS: how much better, in units of a group's share, a label may be than the solution's."""

EQUAL_VALUES = 1e-12
"""Values of the objective that are nearer to each other are equal: they were summed in another order."""

PROVED_OPTIMAL = 1e-10
"""A randomized solution is optimal if its value is this near to the bound."""

PROVED_OPTIMAL_STRICT = 1e-9
"""The same for an integer program, which HiGHS solves to a coarser tolerance."""

NO_EXCESS = 1e-12
"""A gap that exceeds epsilon by no more than this counts as within it when labellings are compared."""

WHOLE_COUNT = 1e-7
"""A number of tasks this near to an integer is that integer: the linear program is solved to few digits more."""

NEGLIGIBLE_PART = 1e-11
"""A part of a group that the linear program leaves out: it moves a rate by less than HiGHS can tell."""

WINDOW_TIE = 10 * TIE
"""A window around thresholds includes the tasks that are nearer to its ends: all that a rule may take as tied."""

SAME_VALUE = 1e-15
"""Values of labellings by thresholds that are nearer to each other are equal: their sums are exact but for rounding."""

SUM_TO_ONE = 1e-6
"""Probabilities may add up to 1 this nearly."""

ROUNDED_PROBABILITY = 0.5e-6 + 1e-12
"""How far a probability of six digits may be from the one that was meant: many of them add up less nearly to 1."""

F1_STEP = 1e-15
"""Dinkelbach's method ends where F1 rises by no more than this."""

MARGIN_PRECISION = 1e-12
"""The width to which a margin is found by bisection."""


def tie_widths(prices: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, per group, how near to each other the scores of a task must be to be tied.

    Prices of two classes and two groups are thresholds, which are exact. Others come from the linear program: it ends
    where no label is better by more than its tolerance in units of a group's share, so that scores this near may be
    tied.
    """
    if prices.shape == (2, 2) or not prices.any():
        return np.full(shares.size, TIE)
    return TIE + 10 * HIGHS_FEASIBILITY / shares
