"""The majority's gap as the crowd grows: leanings that point the same way add up. Two classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_count
from faircrowd._display import Displayed
from faircrowd._kernels import kernel
from faircrowd.audit.majority.majority_gap import group_rates
from faircrowd.audit.majority.poisson_binomial import majority_tails
from faircrowd.errors import OptionError

__all__ = ["MajorityCurve", "majority_curve"]


@dataclass(frozen=True, eq=False, repr=False)
class MajorityCurve(Displayed):
    """The majority's gap as the crowd grows.

    Attributes
    ----------
    sizes : ndarray of int64, shape (n_sizes,)
        Number of voters per task.
    strict, loose : ndarray, shape (n_sizes, n_groups)
        The probability that the majority says 1; ties go to 0, or to 1.
    mean_gap : float
        Mean of the workers' own gaps.
    """

    sizes: NDArray[np.int64]
    strict: NDArray[np.float64]
    loose: NDArray[np.float64]
    mean_gap: float

    @property
    def gap_strict(self) -> NDArray[np.float64]:
        """Largest difference between two groups for each size, ties to 0."""
        return np.asarray(np.ptp(self.strict, axis=1))

    @property
    def gap_loose(self) -> NDArray[np.float64]:
        """Largest difference between two groups for each size, ties to 1."""
        return np.asarray(np.ptp(self.loose, axis=1))


def majority_curve(rates: ArrayLike, sizes: ArrayLike | None = None) -> MajorityCurve:
    r"""Return the majority's gap when every task is voted on by R different workers drawn from the pool.

    The distribution of the number of ones, averaged over all :math:`\binom{W}{R}` crowds, is built worker by worker:
    worker w is among R drawn from the first w with probability R/w.

    Parameters
    ----------
    rates : array-like, shape (n_workers, n_groups)
        The probability that each worker says 1. Leave out workers whose rate is not known in a group.
    sizes : array-like of int, optional
        The sizes R; by default 1, ..., 25, but at most the number of workers.

    Examples
    --------
    >>> curve = majority_curve([[0.4, 0.5]] * 9, sizes=[1, 3, 9])
    >>> curve.gap_strict.round(3), round(curve.mean_gap, 3)
    (array([0.1  , 0.148, 0.233]), 0.1)
    """
    values = group_rates(rates)
    most = values.shape[0]
    wanted = np.arange(1, min(most, 25) + 1) if sizes is None else np.atleast_1d(np.asarray(sizes))
    for size in wanted.tolist():
        if check_count("sizes", size, least=1) > most:
            raise OptionError(f"sizes has {size}, but there are only {most} workers.")
    wanted = wanted.astype(np.int64)
    tails = np.stack([_pool_tails(np.ascontiguousarray(column), wanted, wanted.max()) for column in values.T], 1)
    return MajorityCurve(wanted, tails[:, :, 0], tails[:, :, 1], float(np.ptp(values, axis=1).mean()))


@kernel
def _pool_tails(rates: NDArray[np.float64], sizes: NDArray[np.int64], most: int) -> NDArray[np.float64]:
    probability = np.zeros((most + 1, most + 1))  # [r, s]: s ones among r of the workers so far, drawn at random
    probability[0, 0] = 1.0
    for w in range(1, rates.size + 1):
        rate = rates[w - 1]
        for r in range(min(w, most), 0, -1):
            part = r / w
            for s in range(r + 1):
                joined = probability[r - 1, s] * (1.0 - rate) + (probability[r - 1, s - 1] * rate if s > 0 else 0.0)
                probability[r, s] += part * (joined - probability[r, s])
    tails = np.empty((sizes.size, 2))
    for j in range(sizes.size):
        tails[j, 0], tails[j, 1] = majority_tails(probability[sizes[j]], sizes[j], sizes[j])
    return tails
