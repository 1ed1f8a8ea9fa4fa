"""Numbers as integers of small units, so that sums of them are the same to the bit in any order.

A number is rounded to a whole multiple of a power of two, of 52 bits. Up to 1,024 of these add up in an integer; longer
sums are *limbs*, pairs of integers: multiples of 2**26 units, and the rest. Compare :mod:`faircrowd.exact.sums`,
which does the same for scores and counts of votes.
"""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["AT_ONCE", "UNIT", "carry", "from_limbs", "limbs_of", "to_units", "unit_for"]

UNIT = 2.0**52
"""Units of one, for probabilities."""

AT_ONCE = 1024
"""So many numbers add up in one integer."""


def unit_for(largest: float) -> float:
    """Return how many units make one, for numbers up to a size."""
    return float(2.0 ** (52 - math.ceil(math.log2(largest)))) if largest > 0 else UNIT


def limbs_of(numbers: NDArray[np.float64], unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers as limbs."""
    units = np.floor(numbers * unit + 0.5).astype(np.int64)
    return units >> 26, units & (2**26 - 1)


def from_limbs(limbs: NDArray[np.int64], unit: float = UNIT) -> NDArray[np.float64]:
    """Return the numbers that limbs (the last axis) stand for.

    Examples
    --------
    >>> float(from_limbs(np.stack(limbs_of(np.array([0.25, 0.5]), UNIT), axis=1).sum(axis=0)))
    0.75
    """
    high, low = np.moveaxis(limbs.astype(object), -1, 0)  # of any size
    return np.asarray((high * 2**26 + low) / unit, dtype=np.float64)


@numba.njit(cache=True, nogil=True)
def to_units(number: float, unit: float) -> Any:
    """Return a number in whole units."""
    return np.int64(math.floor(number * unit + 0.5))


@numba.njit(cache=True, nogil=True)
def carry(sums: Any, limbs: Any) -> None:
    """Add sums of units to limbs, and set them to zero."""
    for k in range(sums.size):
        limbs[k, 0] += sums[k] >> 26
        limbs[k, 1] += sums[k] & (2**26 - 1)
        sums[k] = 0
