r"""Bounds of the majority's gap by the gaps of its voters. Two classes.

Voter r says 1 in group a with probability :math:`l_r(a)`, independently of the others;
:math:`D_r = |l_r(1) - l_r(0)|` is the voter's own gap and :math:`V(a) = \sum_r l_r(a) (1 - l_r(a))` the variance of
the count of ones. The majority's rate moves with :math:`l_r` by the probability that the *other* voters are split
evenly, which is at most :math:`\eta` over their standard deviation (Baillon, Cominetti and Vaisman 2015).
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from faircrowd.audit.majority.majority_gap import group_rates

__all__ = ["MajorityBound", "eta", "majority_gap_bound", "majority_gap_bound_as_printed"]


@dataclass(frozen=True)
class MajorityBound:
    """A bound of the majority's gap.

    Attributes
    ----------
    value : float
    """

    value: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is at least 1, and no gap exceeds 1."""
        return self.value >= 1


@cache
def eta() -> float:
    r"""Return :math:`\eta = \max_x \sqrt{2x} e^{-2x} I_0(2x)`, about 0.46882.

    Examples
    --------
    >>> round(eta(), 8)
    0.46882236
    """
    from scipy.optimize import brentq
    from scipy.special import i0e, i1e

    # With z = 2x the maximum of sqrt(z) i0e(z) is where its derivative, a positive multiple of this, is 0.
    z = brentq(lambda z: i0e(z) / (2 * z) + i1e(z) - i0e(z), 0.5, 1.0, xtol=1e-15)
    return float(math.sqrt(z) * i0e(z))


def majority_gap_bound(rates: ArrayLike) -> MajorityBound:
    r"""Bound the majority's gap, whichever way ties go.

    .. math:: \sum_r D_r \min\Bigl(1, \eta \big/ \sqrt{\min_a V(a) - l_r(a) (1 - l_r(a))}\Bigr)

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups)
        The probability that each voter says 1 in each group. Of more than two groups, the pair with the
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
        slopes = np.minimum(1.0, eta() / np.sqrt(own.sum(axis=0) - own))
    pairs = combinations(range(values.shape[1]), 2)
    sums = (np.abs(values[:, a] - values[:, b]) @ np.maximum(slopes[:, a], slopes[:, b]) for a, b in pairs)
    return MajorityBound(float(max(sums, default=0.0)))


def majority_gap_bound_as_printed(rates: ArrayLike) -> MajorityBound:
    r"""Return the paper's bound as it is printed: :math:`\eta \sum_r D_r / \sqrt{\min_a V(a)}`.

    Its variance counts the voter whose rate moves, so it is **false for small crowds**, and for any whose other
    voters hardly vary: the exact gap exceeds it by a tenth and more. It is here for comparison with the paper;
    use :func:`majority_gap_bound`. Infinite where a group's votes have no variance.
    """
    values = group_rates(rates)
    variance = (values * (1 - values)).sum(axis=0)
    worst = 0.0
    for a, b in combinations(range(values.shape[1]), 2):
        gaps, smallest = float(np.abs(values[:, a] - values[:, b]).sum()), float(min(variance[a], variance[b]))
        if gaps > 0:
            worst = max(worst, eta() * gaps / math.sqrt(smallest) if smallest > 0 else math.inf)
    return MajorityBound(worst)
