"""The Poisson-binomial law: how many of several independent voters, each with a rate of their own, say 1."""

from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import few
from faircrowd.errors import OptionError

__all__ = ["add_up", "as_rates", "majority_tails", "poisson_binomial", "survival"]


def poisson_binomial(rates: ArrayLike) -> NDArray[np.float64]:
    r"""Return the probability of every count of ones.

    Parameters
    ----------
    rates : array-like, shape (n_voters,) or (n_voters, n_groups)
        The probability that each voter says 1.

    Returns
    -------
    ndarray, shape (n_voters + 1,) or (n_voters + 1, n_groups)
        :math:`P(S = s)`, s = 0, ..., n_voters. Voters are added one by one; all terms are positive, so that small
        probabilities keep their digits.

    Examples
    --------
    >>> poisson_binomial([0.5, 0.5, 1.0]).tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    values = as_rates(rates)
    columns = values if values.ndim == 2 else values[:, None]
    law = np.zeros((columns.shape[1], values.shape[0] + 1))
    for row, column in zip(law, columns.T, strict=True):
        add_up(np.ascontiguousarray(column), row, 0.0)
    return law.T.reshape(values.shape[0] + 1, *values.shape[1:])


def survival(rates: ArrayLike, least: int) -> Any:
    r"""Return :math:`P(S \ge s)` for s = ``least``: a number, or one a group."""
    law = poisson_binomial(rates)
    return law[max(least, 0) :][::-1].sum(axis=0)  # the rarest first


def as_rates(rates: ArrayLike) -> NDArray[np.float64]:
    """Return the rates of voters as an array with a row a voter, or raise."""
    try:
        values = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError("Rates must be numbers, a row a voter and a column a group.") from None
    if values.ndim not in (1, 2) or not ((values >= 0) & (values <= 1)).all():
        raise OptionError(
            "Rates must be probabilities from 0 to 1 (leave unknown ones out), a row a voter and a column a group; "
            f"got shape {values.shape}, {few(values.ravel()[:5].tolist(), values.size)}."
        )
    return values


@numba.njit(cache=True, nogil=True)
def add_up(rates: Any, law: Any, least: float) -> Any:
    """Fill ``law``, zeros on entry, with the law of the count of ones; return the counts it ends at.

    Ends of the law that fall below ``least`` are cut off as it grows. With least = 1e-25 a million voters
    lose less than 1e-18 of the mass and the work grows as the voters to the power 3/2, not squared.
    """
    low = high = 0
    law[0] = 1.0
    for rate in rates:
        law[high + 1] = law[high] * rate
        for s in range(high, low, -1):
            law[s] = law[s] * (1.0 - rate) + law[s - 1] * rate
        law[low] *= 1.0 - rate
        high += 1
        while high > low and law[high] < least:
            law[high] = 0.0
            high -= 1
        while low < high and law[low] < least:
            law[low] = 0.0
            low += 1
    return low, high


@numba.njit(cache=True, nogil=True)
def majority_tails(law: Any, n_voters: int, high: int) -> Any:
    """Return the probability of more than half, and of half or more; ``law`` is zero above ``high``."""
    strict = 0.0
    for s in range(high, n_voters // 2, -1):
        strict += law[s]
    tied = law[n_voters // 2] if n_voters % 2 == 0 else 0.0
    return min(strict, 1.0), min(strict + tied, 1.0)
