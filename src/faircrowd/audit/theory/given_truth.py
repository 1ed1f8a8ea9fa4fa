"""The majority's bound where votes go together because they aim at the same truth. Two classes."""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from faircrowd.audit.majority.bounds import MajorityBound, majority_gap_bound
from faircrowd.audit.theory.crowds import as_priors
from faircrowd.errors import OptionError

__all__ = ["majority_gap_bound_given_truth"]


def majority_gap_bound_given_truth(rates: ArrayLike, priors: ArrayLike) -> MajorityBound:
    r"""Bound the majority's gap when votes are independent given the group *and the truth*.

    :func:`~faircrowd.audit.majority.bounds.majority_gap_bound` needs votes that are independent given the group alone. The
    paper states it for votes independent given group and features, but its proof uses the former, and workers who
    see the truth are dependent through it: three who are always right where 30% are ones, and three who say 1 at
    random 30% of the time where there are none, have no gap of their own, and their majorities have one of .084.
    With :math:`B_y` the corrected bound among tasks of truth y, and groups a and b,

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
