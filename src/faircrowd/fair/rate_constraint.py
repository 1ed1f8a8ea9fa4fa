r"""What fair labels must keep: demographic parity, as rows of the linear program.

The *rate* of class k in group a is the share of the group's weight that gets label k, :math:`r_{ak} = n_{ak} / n_a`.
A constraint on labels is a list of linear rows in these rates,

.. math:: l \le A r + C c \le u,

where the *centres* c are free numbers of the program's own. Demographic parity with tolerance :math:`\varepsilon` asks
that the rates of a class differ by at most :math:`\varepsilon` between any two groups, for every class. That is so if
and only if each class has a centre :math:`c_k` that no group's rate is farther from than :math:`\varepsilon / 2`: one
row :math:`-\varepsilon/2 \le r_{ak} - c_k \le \varepsilon/2` per group and class.

The solvers of one partition (``thresholds/`` and ``program/``) know constraints through :class:`Constraint` alone,
which speaks of rates only. Constraints of users, over any columns, are in ``constraints/``; ``general/`` solves lists
of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice
from faircrowd.fair.gap import gap_of, within

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "CONSTRAINTS",
    "Constraint",
    "ConstraintRows",
    "RateParity",
    "make_constraint",
    "prices_of",
    "rates_of",
    "register",
]


def rates_of(counts: NDArray[np.floating] | NDArray[np.integer], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rate of each class in each group: its count divided by the size of the group.

    Parameters
    ----------
    counts : ndarray, shape (n_groups, n_classes)
        Number, or weight, of the tasks of each group that get each label.
    sizes : ndarray, shape (n_groups,)
        Number, or weight, of the tasks of each group.

    Examples
    --------
    >>> rates_of(np.array([[1, 3], [1, 1]]), np.array([4.0, 2.0]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    return np.asarray(counts / sizes[:, None])


def prices_of(multipliers: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the price of each class in each group: the multiplier of its rate divided by the group's share of tasks.

    Prices are in units of gain: the score of a label is what it gains minus its price.
    """
    return np.asarray(multipliers / (sizes / sizes.sum())[:, None])


class ConstraintRows(NamedTuple):
    """The rows of a constraint: ``lower <= on_rates @ rates + on_centres @ centres <= upper``.

    Attributes
    ----------
    on_rates : sparse array, shape (n_rows, n_groups * n_classes)
        With which coefficient each rate counts in each row; the rate of class k in group a is in column
        ``a * n_classes + k``.
    on_centres : sparse array, shape (n_rows, n_centres)
        The coefficients of the free numbers.
    lower, upper : ndarray, shape (n_rows,)
    relief : ndarray, shape (n_rows,)
        By how much both bounds widen if epsilon grows by one.
    """

    on_rates: "csr_array[np.float64, tuple[int, int]]"
    on_centres: "csr_array[np.float64, tuple[int, int]]"
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    relief: NDArray[np.float64]


class Constraint(Protocol):
    """What solvers ask of a constraint on the rates of groups.

    *Multipliers* have one number per group and class: by how much the objective would rise per unit of that rate.
    """

    @property
    def epsilon(self) -> float:
        """The tolerance; 0 is the strictest."""

    def __hash__(self) -> int:
        """Constraints of one kind and epsilon are equal."""

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same constraint with another tolerance."""

    def excess(self, rates: NDArray[np.float64]) -> float:
        """Return by how much rates exceed the tolerance; negative if there is room left."""

    def is_kept(self, rates: NDArray[np.float64]) -> bool:
        """Return whether rates keep the constraint, but for rounding."""

    def rows(self, n_groups: int, n_classes: int) -> ConstraintRows:
        """Return the rows of the linear program."""

    def rate_multipliers(self, of_rows: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers of the rates that follow from those of the rows."""

    def dual_cost(self, multipliers: NDArray[np.float64]) -> float:
        """Return what the tolerance adds to the dual bound."""

    def smooth_dual_cost(self, multipliers: NDArray[np.float64], width: float) -> tuple[float, NDArray[np.float64]]:
        """Return a smooth ``dual_cost``, which differs by no more than about ``width``, and its gradient."""

    def free_coordinates(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers that determine multipliers that the centres allow."""

    def from_free_coordinates(self, free: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers that ``free_coordinates`` determine."""

    def free_gradient(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a gradient with respect to the free coordinates, from one with respect to the multipliers."""

    def has_thresholds(self, n_groups: int, n_classes: int) -> bool:
        """Return whether thresholds solve it exactly: a gap of at most epsilon between two groups of two classes."""


@dataclass(frozen=True)
class RateParity:
    """The rates of each class differ by at most ``epsilon`` between any two groups.

    Parameters
    ----------
    epsilon : float
        From 0 to 1.

    Examples
    --------
    >>> parity = RateParity(0.2)
    >>> parity.is_kept(np.array([[0.5, 0.5], [0.75, 0.25]]))
    False
    >>> round(parity.excess(np.array([[0.5, 0.5], [0.75, 0.25]])), 12)
    0.05
    """

    epsilon: float

    def with_epsilon(self, epsilon: float) -> Self:
        """Return demographic parity with another tolerance."""
        return replace(self, epsilon=epsilon)

    def excess(self, rates: NDArray[np.float64]) -> float:
        """Return the gap minus epsilon."""
        return gap_of(rates) - self.epsilon

    def is_kept(self, rates: NDArray[np.float64]) -> bool:
        """Return whether the gap is at most epsilon, but for rounding."""
        return within(gap_of(rates), self.epsilon)

    def rows(self, n_groups: int, n_classes: int) -> ConstraintRows:
        """Return one row per group and class: its rate minus the centre of the class, from -epsilon/2 to epsilon/2."""
        from scipy.sparse import csr_array

        cells = np.arange(n_groups * n_classes)
        ones, half = np.ones(cells.size), np.full(cells.size, self.epsilon / 2)
        on_rates = csr_array((ones, (cells, cells)), shape=(cells.size, cells.size))
        on_centres = csr_array((-ones, (cells, cells % n_classes)), shape=(cells.size, n_classes))
        return ConstraintRows(on_rates, on_centres, -half, half, np.full(cells.size, 0.5))

    def rate_multipliers(self, of_rows: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers of the rates: each rate is in one row."""
        return of_rows.reshape(n_groups, n_classes)

    def dual_cost(self, multipliers: NDArray[np.float64]) -> float:
        """Return half of epsilon times the sum of the multipliers' sizes."""
        return float(self.epsilon / 2 * np.abs(multipliers).sum())

    def smooth_dual_cost(self, multipliers: NDArray[np.float64], width: float) -> tuple[float, NDArray[np.float64]]:
        """Return ``dual_cost`` with the sizes of multipliers near 0 rounded off, and its gradient."""
        size = np.sqrt(multipliers**2 + width**2)
        return self.epsilon / 2 * float(size.sum()), np.asarray(self.epsilon / 2 * multipliers / size)

    def free_coordinates(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the multipliers of all groups but the last: those of a class add up to 0."""
        return multipliers[:-1].ravel()

    def from_free_coordinates(self, free: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers of all groups; those of the last balance the others."""
        others = free.reshape(n_groups - 1, n_classes)
        return np.vstack([others, -others.sum(axis=0)])

    def free_gradient(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient with respect to the multipliers of all groups but the last."""
        return np.asarray((gradient[:-1] - gradient[-1]).ravel())

    def has_thresholds(self, n_groups: int, n_classes: int) -> bool:
        """Return whether there are two groups and two classes."""
        return n_groups == 2 and n_classes == 2


CONSTRAINTS: dict[str, Callable[[float], Constraint]] = {}
"""What makes each constraint from its tolerance, by name."""


def register(name: str, make: Callable[[float], Constraint]) -> None:
    """Add a constraint: ``make`` returns it for a tolerance."""
    CONSTRAINTS[name] = make


def make_constraint(name: str, epsilon: float) -> Constraint:
    """Return the constraint of this name with this tolerance.

    Examples
    --------
    >>> make_constraint("parity", 0.05)
    RateParity(epsilon=0.05)
    """
    check_choice("constraint", name, tuple(CONSTRAINTS))
    return CONSTRAINTS[name](epsilon)


register("parity", RateParity)
