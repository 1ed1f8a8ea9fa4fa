r"""Quantities that are linear in the labels, and how a constraint compares them.

With :math:`x_{ij}` the probability that task i gets outcome j, :math:`p_{iy}` its posterior and :math:`w_i` its part of
all weight, the *amounts* of a group a are the sums :math:`\sum_{i \in a} w_i x_{ij}` and
:math:`\sum_{i \in a} w_i p_{iy} x_{ij}`. A *quantity* is a linear function of amounts, such as the share of a group's
tasks that get a label. A constraint compares quantities: their difference, their ratio, or each with fixed limits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from faircrowd.votes import Vocabulary

__all__ = ["Comparison", "Difference", "GroupedTasks", "Quantity", "Range", "Ratio"]


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number that is linear in the labels: coefficients times amounts.

    Quantities add, subtract, and are multiplied and divided by numbers.

    Attributes
    ----------
    name : str
        What the number is about: a group, mostly.
    index : ndarray of int64
        Which amounts it depends on.
    coefficient : ndarray
        With which coefficients.
    tasks : float
        The number of tasks that it is an average over.
    """

    name: str
    index: NDArray[np.int64]
    coefficient: NDArray[np.float64]
    tasks: float = 0.0

    def __add__(self, other: "Quantity") -> "Quantity":
        """Return the sum of two quantities, under the name of the first."""
        index = np.concatenate([self.index, other.index])
        coefficient = np.concatenate([self.coefficient, other.coefficient])
        return replace(self, index=index, coefficient=coefficient)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """Return the difference of two quantities, under the name of the first."""
        return self + other * -1.0

    def __mul__(self, factor: float) -> "Quantity":
        """Return a multiple."""
        return replace(self, coefficient=self.coefficient * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> "Quantity":
        """Return a fraction."""
        return self * (1.0 / divisor)

    def table(self, shape: tuple[int, int, int]) -> NDArray[np.float64]:
        """Return the coefficient of each amount: by group, feature and outcome."""
        flat = np.bincount(self.index, self.coefficient, int(np.prod(shape)))
        return np.asarray(flat.reshape(shape), dtype=np.float64)

    def groups(self, shape: tuple[int, int, int]) -> NDArray[np.int64]:
        """Return the groups whose amounts it depends on."""
        return np.unique(self.index // (shape[1] * shape[2]))

    def of(self, amounts: NDArray[np.float64]) -> float:
        """Return the number itself."""
        return float(amounts.ravel()[self.index] @ self.coefficient)


@dataclass(frozen=True, eq=False)
class GroupedTasks:
    """The tasks as a constraint sees them: their groups, how large these are, and the amounts that labels give them.

    Attributes
    ----------
    classes : Vocabulary
        The labels.
    groups : tuple of str
        The name of each group.
    strata : tuple of (str, ndarray of int64)
        The name of each stratum and the codes of its groups: groups are compared within a stratum. Without ``within``
        there is one, without a name. Groups that are left out of the constraint are in none.
    tasks : ndarray of int64, shape (n_groups,)
        Number of tasks of each group.
    mass : ndarray, shape (n_groups,)
        Each group's part of all weight.
    belief : ndarray, shape (n_groups, n_classes)
        The part of all weight that is, as the posterior believes, of each class.
    has_review : bool
        Whether a task may be sent to a person instead of getting a label.
    min_group : int
        How many tasks a group needs to be compared.
    """

    classes: Vocabulary
    groups: tuple[str, ...]
    strata: tuple[tuple[str, NDArray[np.int64]], ...]
    tasks: NDArray[np.int64]
    mass: NDArray[np.float64]
    belief: NDArray[np.float64]
    has_review: bool = False
    min_group: int = 1

    def believed_tasks(self, group: int, truth: int) -> float:
        """Return how many tasks of a group are, as believed, truly of a class."""
        return float(self.tasks[group] * self.belief[group, truth] / self.mass[group])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.belief.shape[1])

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes of a task: the labels, and perhaps "send to a person"."""
        return self.n_classes + int(self.has_review)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the amounts: groups, one and the classes that may be true, outcomes."""
        return self.mass.size, 1 + self.n_classes, self.n_outcomes

    def given(self, group: int, outcome: int) -> Quantity:
        """Return the weight of a group's tasks that get an outcome themselves: a label, or a review."""
        return self._amount(group, [(0, outcome)])

    def labelled(self, group: int, label: int) -> Quantity:
        """Return the weight of a group's tasks that end with a label; a reviewed task does by its posterior."""
        return self._amount(group, [(0, label), *self._reviewed(label)])

    def labelled_where(self, group: int, truth: int, label: int) -> Quantity:
        """Return the weight of a group's tasks that end with a label and are, as believed, truly of a class."""
        return self._amount(group, [(1 + truth, label), *(self._reviewed(label) if truth == label else [])])

    def correct(self, group: int) -> Quantity:
        """Return the weight of a group's tasks that, as believed, end with their true label."""
        parts = [self.labelled_where(group, label, label) for label in range(self.n_classes)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def rate(self, group: int, label: int) -> Quantity:
        """Return the share of a group's tasks that end with a label."""
        return self.labelled(group, label) / float(self.mass[group])

    def rate_where(self, group: int, truth: int, label: int) -> Quantity:
        """Return the share, among a group's tasks that are truly of a class, of those that end with a label."""
        found = self.labelled_where(group, truth, label) / float(self.belief[group, truth])
        return replace(found, tasks=found.tasks * float(self.belief[group, truth] / self.mass[group]))

    def _amount(self, group: int, cells: Sequence[tuple[int, int]]) -> Quantity:
        _, n_features, n_outcomes = self.shape
        index = [(group * n_features + feature) * n_outcomes + outcome for feature, outcome in cells]
        return Quantity(self.groups[group], np.array(index), np.ones(len(index)), float(self.tasks[group]))

    def _reviewed(self, label: int) -> list[tuple[int, int]]:
        return [(1 + label, self.n_classes)] if self.has_review else []


class Comparison(Protocol):
    """How quantities are compared.

    Attributes
    ----------
    quantities : sequence of Quantity
    about : str
        What the quantities are, for messages: "rate of label 1".
    """

    @property
    def quantities(self) -> Sequence[Quantity]:
        """What is compared."""

    @property
    def about(self) -> str:
        """What the quantities are."""

    def level(self, values: NDArray[np.float64]) -> float:
        """Return the number that the limit is about, given the value of each quantity."""

    def excess(self, values: NDArray[np.float64]) -> float:
        """Return by how much the limit is exceeded, in units of the quantities; negative if there is room left."""

    def relieved(self, values: NDArray[np.float64], relief: float) -> float:
        """Return the level that is allowed if the limit may be exceeded by ``relief``, in units of the quantities."""

    def centre(self, values: NDArray[np.float64]) -> float:
        """Return the number that the quantities are held close to."""

    def miss(self, values: NDArray[np.float64]) -> float:
        """Return by how much the level is beyond the limit: the same, in units of the level."""


@dataclass(frozen=True, eq=False)
class Difference:
    """The quantities differ from each other by at most a number."""

    quantities: Sequence[Quantity]
    at_most: float
    about: str = ""
    symbol: ClassVar[str] = "<="

    def level(self, values: NDArray[np.float64]) -> float:
        """Return the largest difference."""
        return float(np.ptp(values))

    def excess(self, values: NDArray[np.float64]) -> float:
        """Return the largest difference minus its limit."""
        return self.level(values) - self.at_most

    def relieved(self, values: NDArray[np.float64], relief: float) -> float:
        """Return a larger difference."""
        return min(self.at_most + relief, 1.0)

    def centre(self, values: NDArray[np.float64]) -> float:
        """Return the middle."""
        return float(values.max() + values.min()) / 2

    miss = excess


@dataclass(frozen=True, eq=False)
class Ratio:
    """The smallest quantity is at least a part of the largest."""

    quantities: Sequence[Quantity]
    at_least: float
    about: str = ""
    symbol: ClassVar[str] = ">="

    def level(self, values: NDArray[np.float64]) -> float:
        """Return the smallest divided by the largest; 1 if all are 0."""
        largest = float(values.max())
        return float(values.min()) / largest if largest > 0 else 1.0

    def excess(self, values: NDArray[np.float64]) -> float:
        """Return by how much the smallest is below its part of the largest."""
        return self.at_least * float(values.max()) - float(values.min())

    def relieved(self, values: NDArray[np.float64], relief: float) -> float:
        """Return a smaller ratio."""
        largest = float(values.max())
        return max(self.at_least - relief / largest, 0.0) if largest > 0 else self.at_least

    def centre(self, values: NDArray[np.float64]) -> float:
        """Return the largest quantity."""
        return float(values.max())

    def miss(self, values: NDArray[np.float64]) -> float:
        """Return by how much the ratio is below its limit."""
        return self.at_least - self.level(values)


@dataclass(frozen=True, eq=False)
class Range:
    """Each quantity is between two numbers; a ``budget`` is never exceeded, not even by a part of a task."""

    quantities: Sequence[Quantity]
    low: float = -np.inf
    high: float = np.inf
    about: str = ""
    budget: bool = False

    @property
    def symbol(self) -> str:
        """Whether the level that is shown is a limit from above or from below."""
        return "<=" if np.isfinite(self.high) else ">="

    def level(self, values: NDArray[np.float64]) -> float:
        """Return the quantity that exceeds its limit by most, or is nearest to it."""
        over, under = values - self.high, self.low - values
        return float(values[np.argmax(np.maximum(over, under))])

    def excess(self, values: NDArray[np.float64]) -> float:
        """Return by how much a quantity is beyond its limits."""
        return float(np.maximum(values - self.high, self.low - values).max())

    def relieved(self, values: NDArray[np.float64], relief: float) -> float:
        """Return the limit that a quantity may reach."""
        return float(self.high + relief if np.isfinite(self.high) else self.low - relief)

    def centre(self, values: NDArray[np.float64]) -> float:
        """Return 0: there is none."""
        return 0.0

    miss = excess
