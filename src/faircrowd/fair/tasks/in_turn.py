r"""Labels tried in turn: a rule of many classes that is settled class by class.

A rule with a promise for more than two classes (:mod:`faircrowd.fair.promise.rank_thresholds`) has thresholds that are
found one after the other, so it labels in the same way. Classes are tried from the last to the first. In group a, class
k is given if it *leads* the classes before it,

.. math:: d_k = (U_k - \lambda_{ak}) - \max_{j < k} (U_j - \rho_{aj}) > 0,

where :math:`\lambda` are prices and :math:`\rho` the prices of the same classes as *rivals*; if none leads, the first
class is given. Where both prices are the same, this is the class with the highest score.

A task with :math:`d_k = 0` is tied with the classes before. It gets class k if its number in [0, 1) is at least the
*split* of the class; the same number is used for all classes, so tied classes take intervals of it, in their order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["InTurn", "lead_of", "tie_weights"]


class InTurn(NamedTuple):
    """What a rule that tries labels in turn has besides its prices.

    Attributes
    ----------
    rivals : ndarray, shape (n_groups, n_classes)
        The price of each class as a rival of those after it.
    splits : ndarray, shape (n_groups, n_classes)
        From which number in [0, 1] on a tied task gets the class; the first class has 0.
    """

    rivals: NDArray[np.float64]
    splits: NDArray[np.float64]

    def take(self, groups: list[int]) -> "InTurn":
        """Return the numbers of these groups."""
        return InTurn(self.rivals[groups], self.splits[groups])

    def placed(self, codes: NDArray[np.int64], n_groups: int) -> "InTurn":
        """Return these numbers for groups of new codes among ``n_groups``; those of the others are 0."""
        tables = [np.zeros((n_groups, self.rivals.shape[1])) for _ in self]
        for table, values in zip(tables, self, strict=True):
            table[codes] = values
        return InTurn(*tables)

    def scores(
        self, gains: NDArray[np.float64], prices: NDArray[np.float64], group: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return scores of which the highest is that of the label, and near which are those of tied classes.

        The score of a class is the highest of those before it, plus its lead. With rivals that cost what they do as
        labels, this is the gain minus the price.

        Examples
        --------
        >>> gains, prices, group = np.array([[0.5, 0.3, 0.2]]), np.array([[0.1, 0.0, -0.1]]), np.zeros(1, np.int32)
        >>> InTurn(prices, np.zeros((1, 3))).scores(gains, prices, group).round(4)
        array([[0.4, 0.3, 0.3]])
        >>> InTurn(np.zeros((1, 3)), np.zeros((1, 3))).scores(gains, prices, group).round(4)
        array([[0.5, 0.3, 0.3]])
        """
        rivals = gains - self.rivals[group]
        found = np.empty_like(gains)
        found[:, 0] = highest = rivals[:, 0]
        strongest = rivals[:, 0]
        for k in range(1, gains.shape[1]):
            found[:, k] = highest + (gains[:, k] - prices[group, k] - strongest)
            highest, strongest = np.maximum(highest, found[:, k]), np.maximum(strongest, rivals[:, k])
        return found


def lead_of(k: int, gains: NDArray[np.float64], rivals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much class k, before its own price, leads the classes before it, for tasks of one group.

    Examples
    --------
    >>> lead_of(2, np.array([[0.5, 0.3, 0.2]]), np.array([0.1, 0.0, 0.7])).round(4)
    array([-0.2])
    """
    return np.asarray(gains[:, k] - (gains[:, :k] - rivals[:k]).max(axis=1))


def tie_weights(members: tuple[int, ...], splits: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the probabilities of tied classes of one group: the lengths of the intervals of numbers that they take.

    Examples
    --------
    >>> tie_weights((0, 2), np.array([0.0, 0.5, 0.75]))
    (0.75, 0.25)
    >>> tie_weights((0, 1, 2), np.array([0.0, 0.5, 0.75]))
    (0.5, 0.25, 0.25)
    >>> tie_weights((0, 1, 2), np.array([0.0, 0.875, 0.75]))
    (0.75, 0.0, 0.25)
    """
    left, weights = 1.0, []
    for k in members[:0:-1]:
        weights.append(max(left - float(splits[k]), 0.0))
        left = min(left, float(splits[k]))
    return (left, *weights[::-1])
