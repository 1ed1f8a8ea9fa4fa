"""The Poisson-binomial distribution: how many of several independent voters, each with their own rate, say 1."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import few
from faircrowd._kernels import kernel
from faircrowd.errors import OptionError

__all__ = ["add_up", "as_priors", "as_rates", "majority_tails", "poisson_binomial", "survival"]


def poisson_binomial(rates: ArrayLike) -> NDArray[np.float64]:
    r"""Return the probability of every number of ones.

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
    probability = np.zeros((columns.shape[1], values.shape[0] + 1))
    for row, column in zip(probability, columns.T, strict=True):
        add_up(np.ascontiguousarray(column), row, 0.0)
    return probability.T.reshape(values.shape[0] + 1, *values.shape[1:])


def survival(rates: ArrayLike, least: int) -> NDArray[np.float64]:
    r"""Return :math:`P(S \ge s)` for s = ``least``, by group if rates have several columns."""
    probability = poisson_binomial(rates)
    tail: NDArray[np.float64] = probability[max(least, 0) :][::-1].sum(axis=0)  # the rarest first
    return tail


def as_rates(rates: ArrayLike) -> NDArray[np.float64]:
    """Return the rates of voters as an array with one row per voter, or raise."""
    try:
        values = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError("Rates must be numbers, with one row per voter and one column per group.") from None
    if values.ndim not in (1, 2) or not ((values >= 0) & (values <= 1)).all():
        raise OptionError(
            "Rates must be probabilities from 0 to 1 (leave unknown ones out), with one row per voter and one column "
            f"per group; got shape {values.shape}, {few(values.ravel()[:5].tolist(), values.size)}."
        )
    return values


def as_priors(priors: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    """Return the share of true ones in each group, or raise."""
    values = as_rates(priors)
    if values.shape != (n_groups,):
        raise OptionError(f"priors must be the share of true ones in each of {n_groups} groups; got {values.tolist()}.")
    return values


@kernel
def add_up(rates: NDArray[np.float64], probability: NDArray[np.float64], least: float) -> tuple[int, int]:
    """Fill ``probability``, zeros on entry, with that of each number of ones; return the range of numbers filled.

    Tails that fall below ``least`` are cut off as the distribution grows. With least = 1e-25 a million voters
    lose less than 1e-18 of the mass, and the time is proportional to the number of voters to the power 3/2, not 2.
    """
    low = high = 0
    probability[0] = 1.0
    for i in range(rates.size):  # an iterator over the array takes longer to compile
        rate = rates[i]
        probability[high + 1] = probability[high] * rate
        for s in range(high, low, -1):
            probability[s] = probability[s] * (1.0 - rate) + probability[s - 1] * rate
        probability[low] *= 1.0 - rate
        high += 1
        while high > low and probability[high] < least:
            probability[high] = 0.0
            high -= 1
        while low < high and probability[low] < least:
            probability[low] = 0.0
            low += 1
    return low, high


@kernel
def majority_tails(probability: NDArray[np.float64], n_voters: int, high: int) -> tuple[float, float]:
    """Return the probability of more than half ones, and of half or more; ``probability`` is zero above ``high``."""
    strict = 0.0
    for s in range(high, n_voters // 2, -1):
        strict += probability[s]
    tied = probability[n_voters // 2] if n_voters % 2 == 0 else 0.0
    return min(strict, 1.0), min(strict + tied, 1.0)
