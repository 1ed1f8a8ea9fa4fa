r"""Competent, adversarial and mediocre workers, and the conditions under which a growing crowd ends up right.

**What a finite crowd can show.** Both conditions are about infinitely many workers: a limit of shares, and a series
that diverges. No finite crowd satisfies or violates them. What is exact for finitely many workers is the bound on the
error, which is given with each condition; and *if* workers keep coming with the same shares (for example, drawn from
the crowd at hand), the majority's condition holds if its value is above 1, and the Bayesian one if its sum is above 0.
A value of at most 1 does not show that the majority fails: mediocre workers are assumed to be always wrong. A mean
skill above 1/2 is enough (:func:`~faircrowd.audit.theory.convergence.asymptotic_fairness`).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_number
from faircrowd.audit.theory.crowds import as_skills
from faircrowd.audit.theory.exponents import majority_exponent

__all__ = [
    "BayesDivergence",
    "CrowdPartition",
    "MajorityDivergence",
    "bayes_divergence",
    "majority_divergence",
    "partition_workers",
]


@dataclass(frozen=True, eq=False)
class CrowdPartition:
    r"""Workers in three classes; each is a mask, shape (n_workers,).

    Attributes
    ----------
    competent : ndarray of bool
        Skill at least :math:`1/2 + \varepsilon` everywhere.
    adversarial : ndarray of bool
        Skill from C to :math:`1/2 - \varepsilon'` everywhere.
    mediocre : ndarray of bool
        All others.
    """

    competent: NDArray[np.bool_]
    adversarial: NDArray[np.bool_]
    mediocre: NDArray[np.bool_]

    @property
    def shares(self) -> tuple[float, float, float]:
        r"""The shares :math:`\alpha_R, \beta_R, \gamma_R = 1 - \alpha_R - \beta_R`.

        The paper divides :math:`\gamma_R` by R; then the shares would not sum to one, and the derivative in its own
        proof would be different.
        """
        counts = [int(np.count_nonzero(mask)) for mask in (self.competent, self.adversarial, self.mediocre)]
        one, two, three = (count / sum(counts) for count in counts)
        return one, two, three


@dataclass(frozen=True, eq=False)
class MajorityDivergence:
    r"""The majority's condition for a finite crowd.

    Attributes
    ----------
    partition : CrowdPartition
    value : float
        :math:`\alpha_R (1 + 2 \varepsilon) + 2 C \beta_R`. The condition is that its limit inferior is above 1.
    exponent : float
        A lower bound on the majority's exponent from the partition alone; above 0 exactly if ``value`` is above 1.
    error_bound : float
        On the error of this crowd's majority at every point: :math:`e^{-R \cdot \text{exponent}}`.
    """

    partition: CrowdPartition
    value: float
    exponent: float
    error_bound: float

    @property
    def holds(self) -> bool:
        """Whether the condition holds if workers keep coming with these shares."""
        return self.value > 1


@dataclass(frozen=True)
class BayesDivergence:
    r"""The Bayesian vote's condition for a finite crowd.

    Attributes
    ----------
    value : float
        :math:`\sum_r (p_r - 1/2)^2`, the smallest over points. The condition is that the series diverges.
    error_bound : float
        On the error of this crowd's Bayesian vote at every point: :math:`\frac12 e^{-2 \cdot \text{value}}`.
    """

    value: float
    error_bound: float

    @property
    def holds(self) -> bool:
        """Whether the series diverges if workers keep coming as these are."""
        return self.value > 0


def partition_workers(
    skills: ArrayLike, *, competent: float = 0.1, adversarial: float = 0.1, floor: float = 0.0
) -> CrowdPartition:
    r"""Divide a crowd into competent, adversarial and mediocre workers.

    Parameters
    ----------
    skills : array-like, shape (n_workers,) or (n_workers, n_points)
        The probability to be right, at each point (group, features) if it depends on the point.
    competent, adversarial : float
        The margins :math:`\varepsilon` and :math:`\varepsilon'`, between 0 and 1/2.
    floor : float
        C: the least skill of those who count as adversarial, from 0 to 1/2. Workers below it count as mediocre,
        that is, as always wrong.

    Examples
    --------
    >>> partition_workers([0.9, 0.8, 0.55, 0.2], floor=0.1).shares
    (0.5, 0.25, 0.25)
    """
    values = as_skills(skills)
    above = check_number("competent", competent, low=0, high=0.5)
    below = check_number("adversarial", adversarial, low=0, high=0.5)
    least = check_number("floor", floor, low=0, high=0.5)
    lowest, highest = values.min(axis=1), values.max(axis=1)
    good = lowest >= 0.5 + above
    bad = (lowest >= least) & (highest <= 0.5 - below) & ~good
    return CrowdPartition(good, bad, ~good & ~bad)


def majority_divergence(
    skills: ArrayLike, *, competent: float = 0.1, adversarial: float = 0.1, floor: float = 0.0
) -> MajorityDivergence:
    r"""Evaluate :math:`\liminf_R \alpha_R (1 + 2 \varepsilon) + 2 C \beta_R > 1` for a finite crowd.

    The exponent is bounded by that of the worst crowd with the same partition: competent workers with skill
    :math:`1/2 + \varepsilon`, adversarial ones with C, mediocre ones with 0; ``value - 1`` is the derivative at t = 1
    of its logarithm. The appendix also claims the converse, that the bound does not diverge unless the limit
    is above 1; this is true below 1 but not at 1 (:math:`1 + R^{-1/4}` tends to 1, and the bound still diverges).

    Parameters
    ----------
    skills, competent, adversarial, floor
        As in :func:`partition_workers`.

    Examples
    --------
    >>> found = majority_divergence([0.9] * 18 + [0.3] * 2, competent=0.35, floor=0.25)
    >>> round(found.value, 2), found.holds, round(found.error_bound, 5)
    (1.58, True, 0.00766)
    """
    parts = partition_workers(skills, competent=competent, adversarial=adversarial, floor=floor)
    alpha, beta, _ = parts.shares
    worst = np.where(parts.competent, 0.5 + competent, np.where(parts.adversarial, floor, 0.0))
    exponent = majority_exponent(worst)
    return MajorityDivergence(
        parts, alpha * (1 + 2 * competent) + 2 * floor * beta, exponent, math.exp(-worst.size * exponent)
    )


def bayes_divergence(skills: ArrayLike) -> BayesDivergence:
    r"""Evaluate :math:`\sum_r (p_r - 1/2)^2 = \infty` for a finite crowd.

    The error is at most :math:`\frac12 \prod_r 2 \sqrt{p_r (1 - p_r)}`, and
    :math:`-\ln 2 \sqrt{p (1 - p)} \ge 2 (p - 1/2)^2`.

    Parameters
    ----------
    skills : array-like, shape (n_workers,) or (n_workers, n_points)

    Examples
    --------
    >>> found = bayes_divergence([0.9, 0.1, 0.5])
    >>> round(found.value, 2), found.holds, round(found.error_bound, 3)
    (0.32, True, 0.264)
    """
    value = float(((as_skills(skills) - 0.5) ** 2).sum(axis=0).min())
    return BayesDivergence(value, 0.5 * math.exp(-2 * value))
