r"""How the gap of the consensus approaches the gap of the truth: its distance from it, and its limit.

Workers vote independently given the truth, the group and the features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd.aggregate.posterior import TIES
from faircrowd.audit.majority.poisson_binomial import as_priors
from faircrowd.audit.theory.crowds import VOTES, as_probabilities, as_skills
from faircrowd.audit.theory.exponents import error_bound
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of

__all__ = ["AsymptoticFairness", "asymptotic_fairness", "convergence_bound", "two_largest"]


def convergence_bound(
    skills: Sequence[ArrayLike], *, vote: str = "majority", point_shares: Sequence[ArrayLike | None] | None = None
) -> float:
    r"""Bound :math:`|\Delta_{DP}(\hat Y_R) - \Delta_{DP}(Y)|`, the distance between the gaps of consensus and truth.

    .. math:: \sum_a E_{X \mid A = a} \bigl[ e^{-R E(a, X)} \bigr]

    with the exponents E of :mod:`faircrowd.audit.theory.exponents`. Each rate is off by at most the group's error; so
    with more than two groups, the two with the largest errors count. It holds for both ways to break ties and,
    with the factor K - 1 of :func:`~faircrowd.audit.theory.exponents.error_bound`, for K classes.

    Parameters
    ----------
    skills : sequence with one entry per group
        Each of shape (n_workers,), or (n_points, n_workers) where skills depend on features; or matrices in
        place of skills, of shape ([n_points,] n_workers, n_classes, n_classes).
    vote : {"majority", "bayes"}
    point_shares : sequence with one entry per group, optional
        The probability of each of the group's points. Without it (or with None for a group) points are a sample and
        count equally.

    Examples
    --------
    >>> round(convergence_bound([[0.8] * 25, [0.9] * 25]), 5)
    0.00378
    >>> round(convergence_bound([[[0.8] * 25, [0.7] * 25], [0.9] * 25], point_shares=[[0.9, 0.1], None]), 5)
    0.01471
    """
    check_choice("vote", vote, VOTES)
    if point_shares is not None and len(point_shares) != len(skills):
        raise OptionError(f"point_shares needs an entry for each of the {len(skills)} groups; got {len(point_shares)}.")
    errors = []
    for own, weights in zip(skills, point_shares or [None] * len(skills), strict=True):
        values = np.asarray(own, dtype=np.float64)
        points = values if values.ndim in (2, 4) else values[None]
        if weights is None:
            points, counts = np.unique(points, axis=0, return_counts=True)  # samples repeat
            shares = counts / counts.sum()
        else:
            shares = as_probabilities(weights, axis=0, what="Point shares")
        if shares.shape != points.shape[:1]:
            raise OptionError(f"Point shares need one entry for each of the {len(points)} points; got {shares.size}.")
        bounds = np.array([error_bound(point, vote=vote) for point in points])
        errors.append(float(shares @ bounds))
    return min(float(two_largest(np.array(errors))), 1.0)


def two_largest(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the two largest errors along the last axis: the most that two rates can differ by."""
    return np.asarray(np.sort(errors, axis=-1)[..., -2:].sum(axis=-1))


@dataclass(frozen=True, eq=False)
class AsymptoticFairness:
    """The limit of the consensus as more and more workers are drawn from a crowd.

    Attributes
    ----------
    rates : ndarray, shape (n_groups,)
        The limit of the rate of ones.
    gap, truth_gap : float
        The limit of the consensus' gap, and the gap of the truth.
    right : ndarray of bool, shape (n_groups,)
        Whether the labels of the group converge to the true ones.
    """

    rates: NDArray[np.float64]
    gap: float
    truth_gap: float
    right: NDArray[np.bool_]

    @property
    def holds(self) -> bool:
        """Whether the theorem's condition holds: labels, and so the gaps, converge to the true ones in every group."""
        return bool(self.right.all())


def asymptotic_fairness(
    skills: ArrayLike, priors: ArrayLike, *, vote: str = "majority", ties: str = "first"
) -> AsymptoticFairness:
    r"""Return the limit of the consensus' gap: the theorem of asymptotic fairness, with its converse. Two classes.

    More and more voters are drawn from a crowd. The majority converges to the truth in a group where the mean
    skill is above 1/2, and to its opposite where it is below; where it is 1/2 both labels become equally likely.
    The Bayesian vote converges to the truth wherever some skill is not 1/2; otherwise it is the more frequent class. So
    :math:`\lim \Delta_{DP}(\hat Y_R) = \Delta_{DP}(Y)` if the condition holds in all groups. The gaps also agree if
    *every* label becomes wrong: equal gaps do not show that labels are right.

    Parameters
    ----------
    skills : array-like, shape (n_workers, n_groups)
    priors : array-like, shape (n_groups,)
        The share of true ones in each group.
    vote : {"majority", "bayes"}
    ties : {"first", "last"}
        The class that the Bayesian vote gives at a posterior of 1/2.

    Examples
    --------
    >>> limit = asymptotic_fairness([[0.9, 0.3], [0.6, 0.5]], [0.6, 0.3])
    >>> limit.rates, limit.holds, round(limit.gap, 2), round(limit.truth_gap, 2)
    (array([0.6, 0.7]), False, 0.1, 0.3)
    """
    check_choice("vote", vote, VOTES)
    check_choice("ties", ties, TIES)
    values = as_skills(skills)
    shares = as_priors(priors, values.shape[1])
    if vote == "majority":
        sign = np.sign(np.round(values.mean(axis=0) - 0.5, 12))
        right, rates = sign > 0, 0.5 + sign * (shares - 0.5)
    else:
        right = (values != 0.5).any(axis=0)
        rates = np.where(right, shares, shares > 0.5 if ties == "first" else shares >= 0.5)
    return AsymptoticFairness(rates, gap_of(rates[:, None]), gap_of(shares[:, None]), right)
