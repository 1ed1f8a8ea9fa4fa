r"""The consensus' gap comes to that of the truth: how close it is, and what it comes to.

Workers vote independently given the truth, the group and the features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd.aggregate.posterior import TIES
from faircrowd.audit.theory.crowds import VOTES, as_law, as_priors, as_skills
from faircrowd.audit.theory.exponents import error_bound
from faircrowd.errors import OptionError
from faircrowd.fair.gap import gap_of

__all__ = ["AsymptoticFairness", "asymptotic_fairness", "convergence_bound", "two_largest"]


def convergence_bound(skills: Sequence[Any], *, vote: str = "majority", laws: Sequence[Any] | None = None) -> float:
    r"""Bound :math:`|\Delta_{DP}(\hat Y_R) - \Delta_{DP}(Y)|`, the distance of the consensus' gap from the truth's.

    .. math:: \sum_a E_{X \mid A = a} \bigl[ e^{-R E(a, X)} \bigr]

    with the exponents E of :mod:`faircrowd.audit.theory.exponents`. Each rate is off by at most the group's error; so
    of more than two groups, the two with the largest errors count. It holds for both ways to break ties and,
    with the factor K - 1 of :func:`~faircrowd.audit.theory.exponents.error_bound`, for K classes.

    Parameters
    ----------
    skills : sequence, an entry a group
        Each of shape (n_workers,), or (n_points, n_workers) where skills depend on features; or matrices in
        place of skills, of shape ([n_points,] n_workers, n_classes, n_classes).
    vote : {"majority", "bayes"}
    laws : sequence, an entry a group, optional
        The probability of each of the group's points. Without it (or with None for a group) points are a sample:
        all count alike.

    Examples
    --------
    >>> round(convergence_bound([[0.8] * 25, [0.9] * 25]), 5)
    0.00378
    >>> round(convergence_bound([[[0.8] * 25, [0.7] * 25], [0.9] * 25], laws=[[0.9, 0.1], None]), 5)
    0.01471
    """
    check_choice("vote", vote, VOTES)
    if laws is not None and len(laws) != len(skills):
        raise OptionError(f"laws need an entry for each of the {len(skills)} groups; got {len(laws)}.")
    errors = []
    for own, weights in zip(skills, laws or [None] * len(skills), strict=True):
        values = np.asarray(own, dtype=np.float64)
        points = values if values.ndim in (2, 4) else values[None]
        if weights is None:
            points, counts = np.unique(points, axis=0, return_counts=True)  # samples repeat
            law = counts / counts.sum()
        else:
            law = as_law(weights, axis=0, what="A law")
        if law.shape != points.shape[:1]:
            raise OptionError(f"A law needs a probability for each of the {len(points)} points; got {law.size}.")
        bounds = np.array([error_bound(point, vote=vote) for point in points])
        errors.append(float(law @ bounds))
    return min(float(two_largest(np.array(errors))), 1.0)


def two_largest(errors: NDArray[np.float64]) -> Any:
    """Return the sum of the two largest along the last axis: what two rates of them can be apart at most."""
    return np.sort(errors, axis=-1)[..., -2:].sum(axis=-1)


@dataclass(frozen=True, eq=False)
class AsymptoticFairness:
    """What the consensus comes to, as workers of a crowd are drawn again and again.

    Attributes
    ----------
    rates : ndarray, shape (n_groups,)
        The limit of the rate of ones.
    gap, truth_gap : float
        The limit of the consensus' gap, and the gap of the truth.
    right : ndarray of bool, shape (n_groups,)
        Whether the labels of the group become the true ones.
    """

    rates: NDArray[np.float64]
    gap: float
    truth_gap: float
    right: NDArray[np.bool_]

    @property
    def holds(self) -> bool:
        """Whether the theorem's condition holds: labels become the true ones in every group, and so the gaps meet."""
        return bool(self.right.all())


def asymptotic_fairness(
    skills: ArrayLike, priors: ArrayLike, *, vote: str = "majority", ties: str = "first"
) -> AsymptoticFairness:
    r"""Return the limit of the consensus' gap: the theorem of asymptotic fairness, with its converse. Two classes.

    Voters are drawn again and again from a crowd. The majority becomes the truth in a group where the mean
    skill is above 1/2, its opposite where it is below; where it is 1/2 both labels become equally likely.
    The Bayesian vote becomes the truth wherever somebody's skill is not 1/2; else it says what is more frequent. So
    :math:`\lim \Delta_{DP}(\hat Y_R) = \Delta_{DP}(Y)` if the condition holds in all groups. The gaps also meet if
    *every* label becomes wrong: equal gaps do not show that labels are right.

    Parameters
    ----------
    skills : array-like, shape (n_workers, n_groups)
    priors : array-like, shape (n_groups,)
        The share of true ones in each group.
    vote : {"majority", "bayes"}
    ties : {"first", "last"}
        What the Bayesian vote says of a posterior of 1/2.

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
        side = np.sign(np.round(values.mean(axis=0) - 0.5, 12))
        right, rates = side > 0, 0.5 + side * (shares - 0.5)
    else:
        right = (values != 0.5).any(axis=0)
        rates = np.where(right, shares, shares > 0.5 if ties == "first" else shares >= 0.5)
    return AsymptoticFairness(rates, gap_of(rates[:, None]), gap_of(shares[:, None]), right)
