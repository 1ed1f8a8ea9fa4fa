"""The derivative of the majority's rate by one voter's rate: the chance that the voter decides. Two classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice
from faircrowd.aggregate.posterior import TIES
from faircrowd.audit.majority.poisson_binomial import as_rates

__all__ = ["majority_derivative"]


def majority_derivative(rates: ArrayLike, *, ties: str = "first") -> NDArray[np.float64]:
    r"""Return how the majority's rate moves with each voter's own: the lemma of the derivative.

    With independent votes :math:`Y_s` of rates :math:`l_s`,

    .. math:: \frac{\partial}{\partial l_r} P\Bigl(\sum_s Y_s > R/2\Bigr)
        = P\Bigl(\sum_{s \ne r} Y_s = \lfloor R/2 \rfloor\Bigr).

    For :math:`\ge R/2` (``ties="last"``) the others' count is :math:`\lceil R/2 \rceil - 1`, which is the same for
    odd R. (The printed proof shows odd R and says that the case of odd R is the same: it means even R.)

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
    before, after = _partial_laws(values), _partial_laws(values[::-1])
    # The others are those before and those after: all terms are positive, so nothing cancels.
    pairs = ((before[r, : others + 1], after[n - 1 - r, others::-1]) for r in range(n))
    return np.array([ones @ rest for ones, rest in pairs])


def _partial_laws(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the law of the count of ones among the first r voters, for r = 0, ..., n - 1."""
    laws = np.zeros((rates.size, rates.size + 1))
    laws[:1, 0] = 1.0
    for r in range(1, rates.size):
        laws[r] = laws[r - 1] * (1 - rates[r - 1])
        laws[r, 1:] += laws[r - 1, :-1] * rates[r - 1]
    return laws
