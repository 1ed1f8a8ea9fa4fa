r"""How fast the error of a vote decreases: error exponents (Gao, Lu and Zhou 2016, upper bounds only).

R workers vote independently given the truth. The error of a vote is at most :math:`(K - 1) e^{-R E}` for K classes
(:math:`e^{-R E}` for two), with the exponents E below, for all shares of the classes and however ties are broken.
"""

import math
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd.audit.theory.crowds import VOTES, as_matrices

__all__ = ["bayes_exponent", "chernoff_point", "error_bound", "majority_exponent"]


def bayes_exponent(crowd: ArrayLike) -> float:
    r"""Return the error exponent of the Bayesian vote: the Chernoff information of the workers' matrices.

    .. math:: \min_{k < l} \max_{0 \le s \le 1} -\frac1R \sum_r \ln \sum_j
        P(\tilde Y_r = j \mid Y = k)^{1 - s} P(\tilde Y_r = j \mid Y = l)^s

    The sum is convex in s, and its minimum is where the derivative is 0. For skills :math:`p_r` the best s is 1/2, and
    this is the paper's :math:`-\frac1R \sum_r \ln 2 \sqrt{p_r (1 - p_r)}`: 0 for a crowd that votes at random, infinite
    if somebody is always right or always wrong.

    Parameters
    ----------
    crowd : array-like, shape (n_workers,) or (n_workers, n_classes, n_classes)
        Skills, or matrices with the label given in rows and the true class in columns.

    Examples
    --------
    >>> round(bayes_exponent([0.8]), 4), round(bayes_exponent([0.2, 0.8]), 4)
    (0.2231, 0.2231)
    """
    matrices = as_matrices(crowd)
    pairs = combinations(range(matrices.shape[1]), 2)
    logs = (chernoff_point(matrices[:, :, one], matrices[:, :, two])[1] for one, two in pairs)
    return max(-max(logs) / len(matrices), 0.0)


def majority_exponent(crowd: ArrayLike) -> float:
    r"""Return the error exponent of the majority vote.

    .. math:: -\min_{0 < t \le 1} \frac1R \sum_r \ln \Bigl( p_r t + \frac{1 - p_r}{t} \Bigr)

    The logarithm is of the sum :math:`p_r t + (1 - p_r)/t`; the paper omits the brackets. It is 0 unless the
    mean skill is above 1/2. For K classes the largest count wins, and the exponent is the smallest over true
    classes k and rivals l, with :math:`P_{kk} t + P_{lk} / t + 1 - P_{kk} - P_{lk}` in the logarithm.

    Parameters
    ----------
    crowd : array-like, shape (n_workers,) or (n_workers, n_classes, n_classes)
        As for :func:`bayes_exponent`.

    Examples
    --------
    >>> round(majority_exponent([0.8]), 4), majority_exponent([0.2, 0.8])
    (0.2231, 0.0)
    """
    matrices = as_matrices(crowd)
    pairs = permutations(range(matrices.shape[1]), 2)
    return min(_rivalry(matrices[:, :, truth], truth, rival) for truth, rival in pairs)


def error_bound(crowd: ArrayLike, *, vote: str = "majority") -> float:
    """Bound the probability that the vote of a crowd is wrong, by its exponent; at most 1.

    Examples
    --------
    >>> round(error_bound([0.8] * 15), 4)
    0.0352
    """
    check_choice("vote", vote, VOTES)
    matrices = as_matrices(crowd)
    exponent = majority_exponent(matrices) if vote == "majority" else bayes_exponent(matrices)
    return float(min((matrices.shape[1] - 1) * math.exp(-len(matrices) * exponent), 1.0))


def chernoff_point(one: NDArray[np.float64], two: NDArray[np.float64]) -> tuple[float, float]:
    r"""Minimise :math:`\sum_r \ln \sum_j p_{rj}^{1 - s} q_{rj}^s` over s in [0, 1].

    Parameters
    ----------
    one, two : ndarray, shape (n_workers, n_labels)
        The distributions p and q of the workers' labels under the one and the other class.

    Returns
    -------
    s, value : float
    """
    both = (one > 0) & (two > 0)
    if not both.any(axis=1).all():
        return 0.5, -math.inf  # some worker's label is conclusive
    logs, ratios = np.log(np.where(both, one, 1.0)), np.zeros(one.shape)
    np.log(two, out=ratios, where=both)
    ratios -= logs

    def terms(s: float) -> NDArray[np.float64]:
        return np.where(both, np.exp(logs + s * ratios), 0.0)

    def slope(s: float) -> float:
        parts = terms(s)
        return float(((parts * ratios).sum(axis=1) / parts.sum(axis=1)).sum())

    s = _lowest(slope, 0.0, 1.0)
    return s, float(np.log(terms(s).sum(axis=1)).sum())


def _rivalry(rates: NDArray[np.float64], truth: int, rival: int) -> float:
    """Return the exponent of the probability that the rival gets as many votes as the truth, or more."""
    right, wrong = rates[:, truth], rates[:, rival]
    other = np.delete(rates, [truth, rival], axis=1).sum(axis=1)
    if (right - wrong).sum() <= 0:
        return 0.0
    may_err = wrong > 0
    sure = (wrong == 0) & (other == 0)
    surplus = np.count_nonzero(sure) - np.count_nonzero(may_err)
    if surplus > 0:
        return math.inf  # more are always right than can ever vote for the rival
    if surplus == 0:  # the minimum is the limit t = 0
        left = np.concatenate([wrong[may_err], other[~may_err & ~sure]])
        return float(-np.log(left).sum() / len(rates))

    def slope(u: float) -> float:  # in u = ln t, in which the sum is convex
        up, down = right * math.exp(u), wrong * math.exp(-u)
        return float(((up - down) / (up + down + other)).sum())

    low = -1.0
    while slope(low) > 0:
        low *= 2
    u = _lowest(slope, low, 0.0)
    value = np.log(right * math.exp(u) + wrong * math.exp(-u) + other).sum()
    return max(float(-value / len(rates)), 0.0)


def _lowest(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return where a convex function with this slope is lowest."""
    from scipy.optimize import brentq

    if slope(low) >= 0:
        return low
    if slope(high) <= 0:
        return high
    return float(brentq(slope, low, high, xtol=1e-15))
