"""Fisher's exact test for many small tables at once, and control of the false-discovery rate among them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._kernels import inner_kernel, kernel

__all__ = ["FisherTests", "benjamini_hochberg", "fisher_tests"]

_EQUALLY_LIKELY = 1.0 + 1e-7  # outcomes whose probabilities have a ratio of at most this count as equally likely


class FisherTests(NamedTuple):
    """The results of the exact test of each table.

    Attributes
    ----------
    p_value : ndarray
        Two-sided.
    least : ndarray
        The smallest p-value that any table with the same totals has. If it is not small, no table with these
        totals could have shown a difference.
    """

    p_value: NDArray[np.float64]
    least: NDArray[np.float64]


def fisher_tests(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> FisherTests:
    r"""Test "``x1`` of ``n1`` and ``x2`` of ``n2`` come from one rate", for arrays of such pairs.

    Fisher's exact test: given the totals, :math:`x_1` is hypergeometric; the p-value is the probability of all
    outcomes that are no more likely than the one seen. It is valid for any counts, however small, unlike
    normal approximations in the far tail, which matters when many tests are made.

    Returns
    -------
    FisherTests
        Arrays of the common shape; both are 1 where n1 or n2 is 0.

    Examples
    --------
    >>> fisher_tests([8, 5], 10, [1, 3], 6).p_value.round(4)
    array([0.035, 1.   ])
    """
    cells = np.broadcast_arrays(*(np.asarray(values, dtype=np.int64) for values in (x1, n1, x2, n2)))
    p_value, least = np.empty(cells[0].shape), np.empty(cells[0].shape)
    first, of_first, second, of_second = (np.ascontiguousarray(cell).ravel() for cell in cells)
    _fisher(first, of_first, second, of_second, p_value.reshape(-1), least.reshape(-1))
    return FisherTests(p_value, least)


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return q-values: if all tests with q <= 5% are reported, on average at most 5% of the reports are false.

    Holds for tests that are independent or positively dependent (Benjamini and Yekutieli 2001). NaN stands for a
    test that was not made; it stays NaN and does not count.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, np.nan, 0.5]).tolist()
    [0.03, 0.06, nan, 0.5]
    """
    p = np.asarray(p_values, dtype=np.float64)
    q = np.full(p.shape, np.nan)
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    # As scipy.stats.false_discovery_control has it; scipy.stats takes longer to import than a small job.
    at_rank = p[order] * (made.size / np.arange(1, made.size + 1))
    q[order] = np.minimum(np.minimum.accumulate(at_rank[::-1])[::-1], 1.0)
    return q


@kernel
def _fisher(
    x1: NDArray[np.int64],
    n1: NDArray[np.int64],
    x2: NDArray[np.int64],
    n2: NDArray[np.int64],
    p_value: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    for i in range(x1.size):
        hits = x1[i] + x2[i]
        low, high = max(0, hits - n2[i]), min(hits, n1[i])
        # Weights relative to the most likely outcome: nothing overflows, and what underflows does not matter.
        mode = min(max((n1[i] + 1) * (hits + 1) // (n1[i] + n2[i] + 2), low), high)
        seen = 1.0
        for x in range(mode, x1[i]):
            seen *= _up(x, n1[i], n2[i], hits)
        for x in range(mode, x1[i], -1):
            seen /= _up(x - 1, n1[i], n2[i], hits)
        total, tail = 1.0, 1.0 if seen * _EQUALLY_LIKELY >= 1.0 else 0.0
        weight = top = 1.0
        for x in range(mode, high):
            weight *= _up(x, n1[i], n2[i], hits)
            total += weight
            if weight <= seen * _EQUALLY_LIKELY:
                tail += weight
            top = weight
        weight = bottom = 1.0
        for x in range(mode, low, -1):
            weight /= _up(x - 1, n1[i], n2[i], hits)
            total += weight
            if weight <= seen * _EQUALLY_LIKELY:
                tail += weight
            bottom = weight
        p_value[i] = tail / total
        rarest, other = min(bottom, top), max(bottom, top)
        both = low < high and other <= rarest * _EQUALLY_LIKELY
        least[i] = (rarest + other if both else rarest) / total


@inner_kernel
def _up(x: int, n1: int, n2: int, hits: int) -> float:
    """Return how much more likely it is that x + 1 of the hits are in the first sample than x."""
    return (n1 - x) * (hits - x) / ((x + 1.0) * (n2 - hits + x + 1.0))
