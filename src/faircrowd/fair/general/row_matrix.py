r"""Constraints as rows of one linear program.

Tasks are in *cells*: tasks of one cell are in the same group of every partition that a constraint speaks of. The rows
are

.. math:: l \le A s + C c \le u,

where s are the amounts of the cells (:mod:`faircrowd.fair.constraints.quantities`) and each *centre* c is a free number
that the quantities of one comparison are held close to: quantities differ by at most :math:`\varepsilon` if and only if
there is a centre that none is farther from than :math:`\varepsilon / 2`, and the smallest is at least :math:`\rho`
times the largest if and only if there is one that none exceeds and of which all are at least :math:`\rho` times.

Limits are finite: where a comparison has none, what no labels can exceed stands in its place.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.constraints.quantities import Comparison, Difference, GroupedTasks, Quantity, Range, Ratio
from faircrowd.fair.general.partitions import CountedFeatures
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Compared", "RowMatrix", "make_rows"]


class Compared(NamedTuple):
    """The comparisons of one constraint.

    Attributes
    ----------
    constraint : int
        The number of the constraint.
    partition : int
        The number of the partition whose groups are compared.
    comparisons : sequence of Comparison
    """

    constraint: int
    partition: int
    comparisons: Sequence[Comparison]


class RowMatrix(NamedTuple):
    """The rows of all constraints.

    Attributes
    ----------
    on_amounts : sparse array, shape (n_rows, n_cells * n_features * n_outcomes)
        Coefficients of the amounts of the cells, for the first feature and those in ``features``.
    centre : ndarray of int64, shape (n_rows,)
        The number of the centre that a row has; -1 if it has none.
    on_centre : ndarray, shape (n_rows,)
        Its coefficient.
    lower, upper : ndarray, shape (n_rows,)
    constraint : ndarray of int64, shape (n_rows,)
        Which constraint each row belongs to.
    by_partition : list of sparse arrays, shape (n_rows, n_groups * n_features * n_outcomes)
        Coefficients of the amounts of the groups of each partition; those of the cells follow from them.
    relief : ndarray, shape (n_rows,)
        By how much a row may be exceeded if labels of whole tasks may exceed a limit by one task of the smallest of
        the groups that are compared.
    n_centres : int
    features : ndarray of int64
        The features by which a row weighs tasks, besides the first, which is 1 for all tasks: the posterior, or the
        probabilities of groups.
    """

    on_amounts: "csr_array[np.float64, tuple[int, int]]"
    centre: NDArray[np.int64]
    on_centre: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constraint: NDArray[np.int64]
    by_partition: "list[csr_array[np.float64, tuple[int, int]]]"
    relief: NDArray[np.float64]
    n_centres: int
    features: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.lower.size

    def balanced(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest multipliers that the centres allow: times their coefficients, those of one add up to 0."""
        has = self.centre >= 0
        at, coefficient = self.centre[has], self.on_centre[has]
        sums = np.bincount(at, weights=coefficient * multipliers[has], minlength=self.n_centres)
        squares = np.bincount(at, weights=coefficient**2, minlength=self.n_centres)
        found = multipliers.copy()
        found[has] -= coefficient * (sums / np.where(squares > 0, squares, 1.0))[at]
        return found

    def dual_cost(self, multipliers: NDArray[np.float64]) -> float:
        """Return what the limits add to the dual bound."""
        return float(np.maximum(multipliers * self.upper, multipliers * self.lower).sum())

    def smooth_dual_cost(self, multipliers: NDArray[np.float64], width: float) -> tuple[float, NDArray[np.float64]]:
        """Return a smooth ``dual_cost`` and its gradient."""
        middle, half = (self.upper + self.lower) / 2, (self.upper - self.lower) / 2
        size = np.sqrt(multipliers**2 + width**2)
        return float(middle @ multipliers + half @ size), middle + half * multipliers / size

    def smooth_dual_curvature(self, multipliers: NDArray[np.float64], width: float) -> NDArray[np.float64]:
        """Return the second derivative of ``smooth_dual_cost`` with respect to each multiplier."""
        return np.asarray((self.upper - self.lower) / 2 * width**2 / (multipliers**2 + width**2) ** 1.5)


class _Part(NamedTuple):
    quantity: Quantity
    centre: int
    on_centre: float
    lower: float
    upper: float
    relief: float = 0.0


def make_rows(
    compared: Sequence[Compared],
    grouped: Sequence[GroupedTasks],
    of_cell: Sequence[Codes],
    counted: Sequence[CountedFeatures],
    n_tasks: int,
) -> RowMatrix:
    """Return the rows of comparisons.

    Parameters
    ----------
    compared : sequence of Compared
    grouped : sequence of GroupedTasks
        The tasks as grouped by each partition.
    of_cell : sequence of ndarray of int32, shape (n_cells,)
        The group of each cell in each partition.
    counted : sequence of CountedFeatures
        By which features the tasks of a cell count for the groups of each partition.
    n_tasks : int
        The number of all tasks, also of those that no group counts.
    """
    from scipy.sparse import csr_array

    parts: list[tuple[int, int, _Part]] = []
    one_task = 1.0 / n_tasks
    n_centres = 0
    for constraint, partition, comparisons in compared:
        largest = _largest_amounts(grouped[partition])
        for comparison in comparisons:
            found = _parts(comparison, n_centres, largest, one_task)
            n_centres += any(part.centre >= 0 for part in found)
            parts += [(constraint, partition, part) for part in found]
    n_rows, by_partition = len(parts), []
    on_amounts: Any = None
    _, n_features, n_outcomes = grouped[0].shape
    block = n_features * n_outcomes
    n_all = 1 + max(int(features.feature.max()) for features in counted)
    for t, tasks in enumerate(grouped):
        rows = [row for row, (_, partition, _) in enumerate(parts) if partition == t]
        sizes = [parts[row][2].quantity.index.size for row in rows]
        index = np.concatenate([np.empty(0, np.int64), *(parts[row][2].quantity.index for row in rows)])
        values = np.concatenate([np.empty(0), *(parts[row][2].quantity.coefficient for row in rows)])
        table = csr_array((values, (np.repeat(rows, sizes), index)), shape=(n_rows, tasks.mass.size * block))
        by_partition.append(table)
        # The amount of a group is the sum of those of its cells, of the features by which their tasks count for it.
        n_cells = of_cell[t].size
        outcomes = np.arange(n_outcomes)
        group = counted[t].group[of_cell[t]][:, :, None, None]
        place = (group * n_features + np.arange(n_features)[:, None]) * n_outcomes + outcomes
        cell = np.arange(n_cells)[:, None, None, None]
        source = (cell * n_all + counted[t].feature[:, :, None]) * n_outcomes + outcomes
        member = csr_array(
            (np.ones(place.size), (place.ravel(), source.ravel())),
            shape=(tasks.mass.size * block, n_cells * n_all * n_outcomes),
        )
        lifted = table @ member
        on_amounts = lifted if on_amounts is None else on_amounts + lifted
    columns = np.arange(of_cell[0].size * n_all * n_outcomes).reshape(-1, n_all, n_outcomes)
    used = abs(on_amounts).sum(axis=0).reshape(columns.shape).any(axis=(0, 2))
    used[0] = True
    return RowMatrix(
        csr_array(on_amounts if used.all() else csr_array(on_amounts)[:, columns[:, used].ravel()]),
        np.array([part.centre for *_, part in parts], dtype=np.int64),
        np.array([part.on_centre for *_, part in parts], dtype=np.float64),
        np.array([part.lower for *_, part in parts], dtype=np.float64),
        np.array([part.upper for *_, part in parts], dtype=np.float64),
        np.array([constraint for constraint, *_ in parts], dtype=np.int64),
        by_partition,
        np.array([part.relief for *_, part in parts], dtype=np.float64),
        n_centres,
        np.flatnonzero(used)[1:],
    )


def _parts(comparison: Comparison, centre: int, largest: NDArray[np.float64], one_task: float) -> list[_Part]:
    """Return the rows of a comparison; its centre, if it has one, has this number. A task has weight ``one_task``."""
    quantities = comparison.quantities
    ranges = [_range(quantity, largest) for quantity in quantities]
    lowest, highest = min(low for low, _ in ranges), max(high for _, high in ranges)
    span = highest - lowest + 1.0
    each = [min(one_task * float(np.abs(quantity.coefficient).max()), 1.0) for quantity in quantities]
    most = max(each)
    match comparison:
        case Difference(at_most=limit):
            return [_Part(quantity, centre, -1.0, -limit / 2, limit / 2, most / 2) for quantity in quantities]
        case Ratio(at_least=ratio):
            over = [_Part(quantity, centre, -1.0, -span, 0.0) for quantity in quantities]
            return over + [_Part(quantity, centre, -ratio, 0.0, span, most) for quantity in quantities]
        case Range(low=low, high=high, budget=budget):
            return [
                _Part(quantity, -1, 0.0, max(low, least - 1.0), min(high, greatest + 1.0), 0.0 if budget else relief)
                for quantity, (least, greatest), relief in zip(quantities, ranges, each, strict=True)
            ]
    raise TypeError(f"A comparison is a Difference, a Ratio or a Range, not {type(comparison).__name__}.")


def _largest_amounts(tasks: GroupedTasks) -> NDArray[np.float64]:
    """Return what each amount is at most."""
    by_feature = np.column_stack([tasks.mass, tasks.belief])
    return np.repeat(by_feature.ravel(), tasks.n_outcomes)


def _range(quantity: Quantity, largest: NDArray[np.float64]) -> tuple[float, float]:
    """Return numbers that a quantity is between, whatever the labels."""
    ends = quantity.coefficient * largest[quantity.index]
    return float(np.minimum(ends, 0.0).sum()), float(np.maximum(ends, 0.0).sum())
