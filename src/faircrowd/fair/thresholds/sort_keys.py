"""The number by which tasks are sorted, and the cost that it stands for.

The *cost* of a task is what label 1 loses against label 0, which is minus the gain :math:`d_i`. Tasks get label 1 in
the order of their *sort keys*, lowest first. The sort key is the cost itself, or minus the log-odds where they are
known: log-odds still differ where posteriors are rounded to 0 or 1.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.exact.sums import unit_for
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Tasks
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "SortKeyFormula",
    "cost_of_key",
    "cost_unit",
    "costs_of_keys",
    "key_of_task",
    "sort_key_formula",
    "sort_keys",
    "sort_keys_by_group",
]


class SortKeyFormula(NamedTuple):
    """How sort keys and costs follow from the posterior.

    Attributes
    ----------
    is_log_odds : bool
        Whether the sort key is minus the log-odds; else it is the cost.
    slope_1, slope_0, intercept : float
        The cost is ``slope_1 * p_1 + slope_0 * p_0 + intercept``.
    """

    is_log_odds: bool
    slope_1: float
    slope_0: float
    intercept: float


def sort_key_formula(gain: Gain, has_log_odds: bool) -> SortKeyFormula:
    """Return the formula for a gain; log-odds are used only if label 1 gains more the likelier class 1 is."""
    slope_0, slope_1 = gain.matrix[:, 1] - gain.matrix[:, 0]
    intercept = gain.offset[1] - gain.offset[0]
    return SortKeyFormula(bool(has_log_odds and slope_1 > slope_0), float(-slope_1), float(-slope_0), float(-intercept))


def cost_unit(formula: SortKeyFormula) -> float:
    """Return the number of units that make a cost of one, if costs are added up as integers of 52 bits."""
    return unit_for(max(abs(formula.slope_1), abs(formula.slope_0)) + abs(formula.intercept))


def sort_keys(tasks: Tasks, formula: SortKeyFormula) -> NDArray[np.float64]:
    """Return the sort key of each task."""
    keys = np.empty(tasks.group.size)
    _write_keys(tasks.posterior, tasks.log_odds, formula, keys)
    return keys


def sort_keys_by_group(tasks: Tasks, formula: SortKeyFormula) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sort keys of the tasks of each group."""
    keys = np.empty(tasks.group.size)
    n_group_0 = _write_keys_by_group(tasks.posterior, tasks.log_odds, tasks.group, formula, keys)
    return keys[:n_group_0], keys[n_group_0:]


@kernel
def key_of_task(
    formula: SortKeyFormula, posterior: NDArray[np.float64], log_odds: NDArray[np.float64], i: int
) -> float:
    """Return the sort key of a task."""
    if formula.is_log_odds:
        return float(0.0 - log_odds[i])
    return float(formula.slope_1 * posterior[i, 1] + formula.slope_0 * posterior[i, 0] + formula.intercept)


@kernel
def cost_of_key(formula: SortKeyFormula, key: float) -> float:
    """Return the cost that a sort key stands for."""
    if not formula.is_log_odds:
        return key
    p = 1.0 / (1.0 + math.exp(min(key, 700.0)))
    return (formula.slope_1 - formula.slope_0) * p + formula.slope_0 + formula.intercept


@kernel
def costs_of_keys(formula: SortKeyFormula, keys: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the costs that sort keys stand for."""
    costs = np.empty(keys.size)
    for i in range(keys.size):
        costs[i] = cost_of_key(formula, keys[i])
    return costs


@kernel
def _write_keys(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    formula: SortKeyFormula,
    keys: NDArray[np.float64],
) -> None:
    for i in range(keys.size):
        keys[i] = key_of_task(formula, posterior, log_odds, i)


@kernel
def _write_keys_by_group(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    formula: SortKeyFormula,
    keys: NDArray[np.float64],
) -> int:
    """Write the keys of group 0 from the left and those of group 1 from the right; return the size of group 0.

    Each key is written to both ends and one end moves on, which avoids a branch that the processor cannot predict.
    Both ends are free until the last key is written, since they do not meet before.
    """
    left, right = 0, group.size - 1
    for i in range(group.size):
        keys[left] = keys[right] = key_of_task(formula, posterior, log_odds, i)
        left += 1 - group[i]
        right -= group[i]
    return left
