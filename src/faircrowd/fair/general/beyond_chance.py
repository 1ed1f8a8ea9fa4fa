"""By how much labels of some tasks break a limit beyond what chance explains.

The tasks at hand are a sample of all tasks like them. A quantity is a mean over the tasks of some groups, so its
standard error follows from what each task adds to it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.quantities import Comparison, Difference, Quantity, Range, Ratio
from faircrowd.fair.general.constrained_certificate import measure
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.votes.vocabulary import Codes

__all__ = ["LevelOnTasks", "level_on_tasks"]


class LevelOnTasks(NamedTuple):
    """How labels of some tasks stand to a constraint.

    Attributes
    ----------
    text : str
    limit : float or None
        None if there is no single one.
    level, level_before : float
        Of the labels, and of the aggregator's own.
    excess_at_least : float
        By how much all tasks like these exceed the limit at least, with the confidence asked for; negative if they may
        keep it.
    """

    text: str
    limit: float | None
    level: float
    level_before: float
    excess_at_least: float


def level_on_tasks(problem: ConstrainedProblem, number: int, outcomes: Codes, confidence: float = 0.95) -> LevelOnTasks:
    """Return how outcomes stand to a constraint of a problem."""
    constraint: Constraint = problem.constraints[number]
    _, partition, comparisons = problem.compared[number]
    values, _, level, _ = measure(problem, problem.fractions_of(outcomes))[number]
    _, _, before, _ = measure(problem, problem.fractions_of(problem.tasks.own))[number]
    n_quantities = sum(len(comparison.quantities) for comparison in comparisons)
    z = float(ndtri(1 - (1 - confidence) / (2 * n_quantities)))
    added = _Added(problem, partition, outcomes)
    least = [
        _least_excess(comparison, found, np.array([z * added.error(quantity, z) for quantity in comparison.quantities]))
        for comparison, found in zip(comparisons, values, strict=True)
    ]
    limit = constraint.level if constraint.level_name else None
    return LevelOnTasks(str(constraint), limit, level, before, max(least))


def _least_excess(comparison: Comparison, values: NDArray[np.float64], width: NDArray[np.float64]) -> float:
    """Return the least excess of values that are off by no more than a width each."""
    low, high = values - width, values + width
    match comparison:
        case Difference(at_most=limit):
            return _pair(low, high) - limit
        case Ratio(at_least=ratio):
            return _pair(ratio * low, high)
        case Range(low=floor, high=cap):
            return float(np.maximum(low - cap, floor - high).max())
    raise TypeError(f"A comparison is a Difference, a Ratio or a Range, not {type(comparison).__name__}.")


def _pair(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """Return the largest ``low`` of a quantity minus the ``high`` of another."""
    apart = low[:, None] - high[None, :]
    return float(apart[~np.eye(low.size, dtype=bool)].max())


class _Added:
    """What each task adds to a quantity."""

    def __init__(self, problem: ConstrainedProblem, partition: int, outcomes: Codes) -> None:
        self.shape = problem.grouped[partition].shape
        self.groups, self.chances = problem.memberships(partition, problem.atom)
        self.features = np.column_stack([np.ones(outcomes.size), problem.tasks.posterior])
        self.outcomes = outcomes

    def error(self, quantity: Quantity, z: float) -> float:
        """Return the standard error of a quantity; not quite 0 where all tasks add the same."""
        counts = np.isin(self.groups, quantity.groups(self.shape)) & (self.chances > 0)
        rows = np.flatnonzero(counts.any(axis=1))
        table = quantity.table(self.shape)
        of_task = table[self.groups[rows], :, self.outcomes[rows][:, None]]
        weighed = np.einsum("naf,nf,na->n", of_task, self.features[rows], self.chances[rows])
        added = weighed * (rows.size / self.outcomes.size)
        span = float(np.ptp(table)) * rows.size / self.outcomes.size
        # As in Wilson's interval, which is not empty where a rate is 0.
        return float(np.sqrt((added.var() + (span * z) ** 2 / (4 * rows.size)) / rows.size)) if rows.size else np.inf
