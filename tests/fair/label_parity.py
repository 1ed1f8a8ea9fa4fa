"""Parity for one label, as the solvers of demographic parity see it: its rate differs little between groups."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.gap import within
from faircrowd.fair.rate_constraint import ConstraintRows

__all__ = ["LabelParity"]


@dataclass(frozen=True)
class LabelParity:
    """The rate of the class with code ``label`` differs by at most ``epsilon`` between any two groups."""

    epsilon: float
    label: int

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same constraint with another tolerance."""
        return replace(self, epsilon=epsilon)

    def excess(self, rates: NDArray[np.float64]) -> float:
        """Return the gap of the label minus epsilon."""
        return float(np.ptp(rates[:, self.label])) - self.epsilon

    def is_kept(self, rates: NDArray[np.float64]) -> bool:
        """Return whether the gap of the label is at most epsilon, but for rounding."""
        return within(float(np.ptp(rates[:, self.label])), self.epsilon)

    def rows(self, n_groups: int, n_classes: int) -> ConstraintRows:
        """Return one row per group: the rate of the label minus a centre, from -epsilon/2 to epsilon/2."""
        from scipy.sparse import csr_array

        group, one, half = np.arange(n_groups), np.ones(n_groups), np.full(n_groups, self.epsilon / 2)
        on_rates = csr_array((one, (group, group * n_classes + self.label)), shape=(n_groups, n_groups * n_classes))
        return ConstraintRows(on_rates, csr_array(-one[:, None]), -half, half, np.full(n_groups, 0.5))

    def rate_multipliers(self, of_rows: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers of the rates, which are 0 for other labels."""
        multipliers = np.zeros((n_groups, n_classes))
        multipliers[:, self.label] = of_rows
        return multipliers

    def dual_cost(self, multipliers: NDArray[np.float64]) -> float:
        """Return half of epsilon times the sum of the multipliers' sizes."""
        return float(self.epsilon / 2 * np.abs(multipliers).sum())

    def smooth_dual_cost(self, multipliers: NDArray[np.float64], width: float) -> tuple[float, NDArray[np.float64]]:
        """Return ``dual_cost`` with the sizes of multipliers near 0 rounded off, and its gradient."""
        size = np.sqrt(multipliers**2 + width**2)
        return self.epsilon / 2 * float(size.sum()), np.asarray(self.epsilon / 2 * multipliers / size)

    def free_coordinates(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the multipliers of the label in all groups but the last: they add up to 0."""
        return multipliers[:-1, self.label]

    def from_free_coordinates(self, free: NDArray[np.float64], n_groups: int, n_classes: int) -> NDArray[np.float64]:
        """Return the multipliers of all groups and labels."""
        return self.rate_multipliers(np.append(free, -free.sum()), n_groups, n_classes)

    def free_gradient(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient with respect to the multipliers of the label in all groups but the last."""
        return np.asarray(gradient[:-1, self.label] - gradient[-1, self.label])

    def has_thresholds(self, n_groups: int, n_classes: int) -> bool:
        """Return whether there are two groups and two classes: then the gap of one label is the gap of both."""
        return n_groups == 2 and n_classes == 2
