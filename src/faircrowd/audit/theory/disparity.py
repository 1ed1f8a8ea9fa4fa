r"""The gap at each value of the features and the gap overall: fair at every point is not fair overall.

:math:`Q_a(x) = P(\tilde Y = 1 \mid X = x, A = a)` is the rate of ones at a point x in group a, and
:math:`P(X = x \mid A = a)` the distribution of the points in the group.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd.audit.majority.majority_gap import group_rates
from faircrowd.audit.theory.crowds import as_probabilities
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of

__all__ = ["PointwiseFair", "gap_over_features", "local_disparity", "pointwise_fair_example"]


@dataclass(frozen=True, eq=False)
class PointwiseFair:
    """A worker who treats groups alike at every point and still has a gap.

    Attributes
    ----------
    rates : ndarray, shape (n_points, n_groups)
        The rate of ones at each point.
    point_shares : ndarray, shape (n_points, n_groups)
        The share of each point in each group.
    local : ndarray, shape (n_points,)
        The disparity at each point.
    gap : float
    """

    rates: NDArray[np.float64]
    point_shares: NDArray[np.float64]
    local: NDArray[np.float64]
    gap: float


def local_disparity(rates: ArrayLike) -> NDArray[np.float64]:
    r"""Return :math:`U(x) = |Q_1(x) - Q_0(x)|` at each point; with more groups, the largest difference of two.

    Parameters
    ----------
    rates : array-like, shape (n_points, n_groups)

    Examples
    --------
    >>> local_disparity([[0.2, 0.2], [0.8, 0.5]]).round(2)
    array([0. , 0.3])
    """
    return np.asarray(np.ptp(group_rates(rates), axis=1))


def gap_over_features(rates: ArrayLike, point_shares: ArrayLike) -> float:
    r"""Return the gap of :math:`P(\tilde Y = 1 \mid A = a) = \sum_x Q_a(x) P(X = x \mid A = a)` (total probability).

    Parameters
    ----------
    rates, point_shares : array-like, shape (n_points, n_groups)
        The rate of ones at each point, and the share of each point in each group (columns sum to one).

    Examples
    --------
    >>> round(gap_over_features([[0.2, 0.2], [0.8, 0.8]], [[0.5, 0.5], [0.5, 0.5]]), 2)
    0.0
    """
    values = group_rates(rates)
    shares = as_probabilities(point_shares, axis=0, what="The columns of point_shares")
    if shares.shape != values.shape:
        raise OptionError(f"rates and point_shares need the same shape; got {values.shape} and {shares.shape}.")
    return gap_of((values * shares).sum(axis=0)[:, None])


def pointwise_fair_example() -> PointwiseFair:
    """Return the paper's counter-example: no disparity at any point, and a gap of .3.

    The worker says 1 at rates .2 and .8 at two points, in both groups; group 1 has 3/4 of its tasks at the
    second point, group 0 has 1/4.

    Examples
    --------
    >>> example = pointwise_fair_example()
    >>> example.local.max(), round(example.gap, 12)
    (np.float64(0.0), 0.3)
    """
    rates, shares = np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    return PointwiseFair(rates, shares, local_disparity(rates), gap_over_features(rates, shares))
