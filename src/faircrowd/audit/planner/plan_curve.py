r"""The gap of the consensus, and bounds on its error, as the number of votes per task grows. Two classes.

A crowd is an array ``right`` of shape (n_workers, n_groups, 2): the probability that each worker is right in each
group, where the truth is 0 and where it is 1. Each task is voted on by R different workers drawn from it.
Results have an axis of sizes R, then one of groups, then one of true classes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Displayed
from faircrowd.audit.majority.growing_crowd import majority_curve
from faircrowd.audit.planner.worker_pool import Pool
from faircrowd.audit.theory.convergence import two_largest
from faircrowd.audit.theory.exponents import chernoff_point

__all__ = ["PlanCurve", "plan_curve"]

_TIED = 1e-10  # log-odds closer to 0 than this are a tie, except for rounding


@dataclass(frozen=True, eq=False, repr=False)
class PlanCurve(Displayed):
    """The gap as the number of votes per task grows. Arrays of shape (n_sizes,).

    Attributes
    ----------
    votes : ndarray of int64
        Number of votes per task: 1, 2, ...
    gap, distance : ndarray
        The exact gap of the consensus, and how far it is from the truth's; NaN where only a bound is known.
    bound : ndarray
        An upper bound on the distance.
    """

    votes: NDArray[np.int64]
    gap: NDArray[np.float64]
    distance: NDArray[np.float64]
    bound: NDArray[np.float64]


def plan_curve(pool: Pool, most: int, vote: str, ties: str) -> PlanCurve:
    """Return the curve of a pool, up to ``most`` votes per task or the number of workers."""
    right, priors = pool.right, pool.priors
    sizes = np.arange(1, (most if pool.endless else min(most, len(right))) + 1)
    all_equal = bool((right == right[0]).all())
    says_one: NDArray[np.float64] | None
    if vote == "majority":
        says_one = equal_majority(right[0], sizes, ties) if all_equal else pool_majority(right, sizes, ties)
        bound = two_largest((majority_errors_bound(right, sizes) * pool.shares).sum(axis=2))
        if priors is None:
            bound = _worst_distance(says_one)
    else:
        says_one = equal_bayes(right[0], priors, sizes, ties) if all_equal and priors is not None else None
        bound = two_largest(bayes_errors_bound(right, priors, sizes))
    gap = distance = np.full(sizes.size, np.nan)
    if says_one is not None and priors is not None:
        gap = np.ptp((says_one * pool.shares).sum(axis=2), axis=1)
        distance = np.abs(gap - np.ptp(priors))
    return PlanCurve(sizes, gap, distance, np.minimum(bound, 1.0))


def pool_majority(right: NDArray[np.float64], sizes: NDArray[np.int64], ties: str) -> NDArray[np.float64]:
    """Return the exact probability that the majority says 1, given group and truth."""
    rates = _says_one(right).reshape(len(right), -1)
    curve = majority_curve(rates, sizes)
    return (curve.strict if ties == "first" else curve.loose).reshape(sizes.size, *right.shape[1:])


def equal_majority(right: NDArray[np.float64], sizes: NDArray[np.int64], ties: str) -> NDArray[np.float64]:
    """Return the same for any number of workers who are all equal; ``right`` has shape (n_groups, 2)."""
    from scipy.stats import binom

    needed = sizes // 2 + 1 if ties == "first" else (sizes + 1) // 2
    return np.asarray(binom.sf(needed[:, None, None] - 1, sizes[:, None, None], _says_one(right)))


def equal_bayes(
    right: NDArray[np.float64], priors: NDArray[np.float64], sizes: NDArray[np.int64], ties: str
) -> NDArray[np.float64]:
    r"""Return the exact probability that the Bayesian vote of equal workers says 1.

    It depends on the number s of ones alone, and says 1 if
    :math:`\pi_a P(s \mid Y = 1) > (1 - \pi_a) P(s \mid Y = 0)`, or if they are equal and ties go to 1.
    """
    from scipy.special import xlog1py, xlogy
    from scipy.stats import binom

    rates, shares = _says_one(right), np.stack([1 - priors, priors], axis=1)
    says = np.empty((sizes.size, *right.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        for j, size in enumerate(sizes):
            s = np.arange(size + 1)[:, None, None]
            logs = np.log(shares) + xlogy(s, rates) + xlog1py(size - s, -rates)
            odds = logs[:, :, 1] - logs[:, :, 0]  # NaN where such votes are impossible in both classes
            one = odds > _TIED if ties == "first" else odds >= -_TIED
            says[j] = (binom.pmf(s, size, rates) * one[:, :, None]).sum(axis=0)
    return np.minimum(says, 1.0)


def majority_errors_bound(right: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    r"""Bound the majority's error given group and truth by :math:`(2 \sqrt{\bar p (1 - \bar p)})^R`.

    This is the bound for a crowd of workers who all have the mean skill :math:`\bar p > 1/2`. The mean of a product
    over all crowds of R workers is at most the power of the mean (Maclaurin), so the bound holds for the pool.
    """
    mean = right.mean(axis=0)
    base = np.where(mean > 0.5, 2 * np.sqrt(mean * (1 - mean)), 1.0)
    return np.asarray(base ** sizes[:, None, None])


def bayes_errors_bound(
    right: NDArray[np.float64], priors: NDArray[np.float64] | None, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    r"""Bound the Bayesian vote's error by group, shape (n_sizes, n_groups).

    With :math:`\rho = \min_s \frac1W \sum_r \sum_j P_r(j \mid 0)^{1 - s} P_r(j \mid 1)^s`, the error is at most
    :math:`(1 - \pi_a)^{1 - s} \pi_a^s \rho^R` (Chernoff, and Maclaurin for the pool), and at most the share of the
    rarer class; without ``priors``, their largest values.
    """
    rates = _says_one(right)
    joint = np.stack([1 - rates, rates], axis=1) / len(right)  # of a worker drawn at random and their label
    by_group = np.moveaxis(joint, 2, 0)
    points = [chernoff_point(own[..., 0].reshape(1, -1), own[..., 1].reshape(1, -1)) for own in by_group]
    s, logs = np.array(points).T
    shares = s if priors is None else priors
    rarer = 0.5 if priors is None else np.minimum(priors, 1 - priors)
    return np.asarray(np.minimum((1 - shares) ** (1 - s) * shares**s * np.exp(logs * sizes[:, None]), rarer))


def _worst_distance(says_one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest distance between the gaps over all priors: all ones in one group, all zeros in another."""
    misses, alarms = 1 - says_one[..., 1], says_one[..., 0]
    pairs = misses[:, :, None] + alarms[:, None, :]
    same = np.eye(says_one.shape[1], dtype=bool)
    return np.asarray(np.where(same, 0.0, pairs).max(axis=(1, 2)))


def _says_one(right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability to say 1 where the truth is 0 and where it is 1."""
    return np.stack([1 - right[..., 0], right[..., 1]], axis=-1)
