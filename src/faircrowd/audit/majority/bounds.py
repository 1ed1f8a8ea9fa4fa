r"""Bounds on the majority's gap by the gaps of its voters, and the derivative that they follow from. Two classes.

Voter r says 1 in group a with probability :math:`l_r(a)`, independently of the others;
:math:`D_r = |l_r(1) - l_r(0)|` is the voter's own gap and :math:`V(a) = \sum_r l_r(a) (1 - l_r(a))` the variance of
the number of ones. The derivative of the majority's rate by :math:`l_r` is the probability that the *other* voters are
split evenly, which is at most :math:`\eta` over their standard deviation (Baillon, Cominetti and Vaisman 2015).
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd._display import Displayed
from faircrowd.aggregate.posterior import TIES
from faircrowd.audit.majority.majority_gap import group_rates
from faircrowd.audit.majority.poisson_binomial import as_priors, as_rates
from faircrowd.errors import OptionError

__all__ = [
    "ETA",
    "MajorityBound",
    "majority_derivative",
    "majority_gap_bound",
    "majority_gap_bound_as_printed",
    "majority_gap_bound_given_truth",
]


@dataclass(frozen=True, repr=False)
class MajorityBound(Displayed):
    """A bound on the majority's gap.

    Attributes
    ----------
    value : float
    """

    value: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound is useless: it is at least 1, and no gap exceeds 1."""
        return self.value >= 1


ETA = 0.46882235549942486
r""":math:`\eta = \max_x \sqrt{2x} e^{-2x} I_0(2x)`; the tests compute it to fifteen digits."""


def majority_gap_bound(rates: ArrayLike) -> MajorityBound:
    r"""Bound the majority's gap, however ties are broken.

    .. math:: \sum_r D_r \min\Bigl(1, \eta \big/ \sqrt{\min_a V(a) - l_r(a) (1 - l_r(a))}\Bigr)

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups)
        The probability that each voter says 1 in each group. With more than two groups, the pair with the
        largest bound counts.

    Examples
    --------
    >>> bound = majority_gap_bound([[0.4, 0.5]] * 7)
    >>> round(bound.value, 3), bound.vacuous
    (0.273, False)
    """
    values = group_rates(rates)
    own = values * (1 - values)
    with np.errstate(divide="ignore"):
        slopes = np.minimum(1.0, ETA / np.sqrt(own.sum(axis=0) - own))
    pairs = combinations(range(values.shape[1]), 2)
    sums = (np.abs(values[:, a] - values[:, b]) @ np.maximum(slopes[:, a], slopes[:, b]) for a, b in pairs)
    return MajorityBound(float(max(sums, default=0.0)))


def majority_gap_bound_as_printed(rates: ArrayLike) -> MajorityBound:
    r"""Return the paper's bound as it is printed: :math:`\eta \sum_r D_r / \sqrt{\min_a V(a)}`.

    Its variance includes the voter whose rate changes, so it is **false for small crowds**, and for any crowd whose
    other voters hardly vary: the exact gap can exceed it by a tenth and more. It is here for comparison with the paper;
    use :func:`majority_gap_bound`. It is infinite where a group's votes have no variance.
    """
    values = group_rates(rates)
    variance = (values * (1 - values)).sum(axis=0)
    worst = 0.0
    for a, b in combinations(range(values.shape[1]), 2):
        gaps, smallest = float(np.abs(values[:, a] - values[:, b]).sum()), float(min(variance[a], variance[b]))
        if gaps > 0:
            worst = max(worst, ETA * gaps / math.sqrt(smallest) if smallest > 0 else math.inf)
    return MajorityBound(worst)


def majority_gap_bound_given_truth(rates: ArrayLike, priors: ArrayLike) -> MajorityBound:
    r"""Bound the majority's gap when votes are independent given the group *and the truth*.

    :func:`majority_gap_bound` needs votes that are independent given the group alone. The paper states it for votes
    independent given group and features, but its proof uses the former, and the votes of workers who see the truth are
    dependent through it. Suppose that three workers are always right in a group with 30% ones, and say 1 at random 30%
    of the time in a group without any: they have no gap of their own, and their majority has one of .084. With
    :math:`B_y` the corrected bound among tasks of truth y, and groups a and b,

    .. math:: \Delta_{DP}(\hat Y) \le \Delta_{DP}(Y) + \max_{a, b} \min_{c \in \{a, b\}}
        \sum_y P(Y = y \mid A = c) \, B_y(a, b).

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups, 2)
        The probability that each voter says 1 in each group, given that the truth is 0, and that it is 1.
    priors : array-like, shape (n_groups,)
        The share of true ones in each group.

    Examples
    --------
    >>> voters = [[[0.1, 0.8], [0.2, 0.9]]] * 5
    >>> round(majority_gap_bound_given_truth(voters, [0.5, 0.5]).value, 3)
    0.391
    """
    values = np.asarray(rates, dtype=np.float64)
    if values.ndim != 3 or values.shape[2] != 2 or 0 in values.shape:
        raise OptionError(f"Rates need the axes voters, groups and two true classes; got shape {values.shape}.")
    ones = as_priors(priors, values.shape[1])
    shares, worst = np.stack([1 - ones, ones], axis=1), 0.0
    for a, b in combinations(range(ones.size), 2):
        within = np.array([majority_gap_bound(values[:, [a, b], y]).value for y in (0, 1)])
        worst = max(worst, abs(ones[a] - ones[b]) + min(shares[a] @ within, shares[b] @ within))
    return MajorityBound(float(worst))


def majority_derivative(rates: ArrayLike, *, ties: str = "first") -> NDArray[np.float64]:
    r"""Return the derivative of the majority's rate by each voter's own rate: the chance that the voter decides.

    With independent votes :math:`Y_s` of rates :math:`l_s`,

    .. math:: \frac{\partial}{\partial l_r} P\Bigl(\sum_s Y_s > R/2\Bigr)
        = P\Bigl(\sum_{s \ne r} Y_s = \lfloor R/2 \rfloor\Bigr).

    For :math:`\ge R/2` (``ties="last"``) the number of ones among the others is :math:`\lceil R/2 \rceil - 1`, which is
    the same for odd R. (The printed proof shows odd R and says that the case of odd R is the same; it means even R.)

    Parameters
    ----------
    rates : array-like, shape (n_voters,)
    ties : {"first", "last"}
        A tie goes to 0, or to 1.

    Examples
    --------
    >>> majority_derivative([0.5, 0.5, 0.9]).round(2)
    array([0.5, 0.5, 0.5])
    """
    check_choice("ties", ties, TIES)
    values = as_rates(rates).ravel()
    n = values.size
    others = n // 2 if ties == "first" else (n + 1) // 2 - 1
    before, after = _partial_counts(values), _partial_counts(values[::-1])
    # The others are those before and those after. All terms are positive, so no digits are lost.
    pairs = ((before[r, : others + 1], after[n - 1 - r, others::-1]) for r in range(n))
    return np.array([ones @ rest for ones, rest in pairs])


def _partial_counts(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each number of ones among the first r voters, for r = 0, ..., n - 1."""
    probabilities = np.zeros((rates.size, rates.size + 1))
    probabilities[:1, 0] = 1.0
    for r in range(1, rates.size):
        probabilities[r] = probabilities[r - 1] * (1 - rates[r - 1])
        probabilities[r, 1:] += probabilities[r - 1, :-1] * rates[r - 1]
    return probabilities
