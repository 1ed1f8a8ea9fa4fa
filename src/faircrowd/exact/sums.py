"""Sums that do not depend on their order.

Floating-point addition is not associative: the same votes in another order, or cut into other blocks, would
give sums that differ in the last digits, and expectation-maximisation can blow such a difference up where a
crowd is balanced on a tie. So everything that is added up is first rounded to a grid on which the addition is
exact:

- terms of a task's score (log-probabilities, weights) to multiples of a power of two so coarse that the sum of
  the longest task fits the 53 bits of a double (:func:`on_grid`);
- posterior mass to whole multiples of a power of two, added as 64-bit integers (:func:`mass_unit`);
- log-likelihoods a task to two integers, a coarse and a fine one (:func:`add_to_limbs`).

The rounding error is relative to the largest sum, as in any floating-point sum, and the result is the same to
the last bit for every order of rows, every renaming of tasks and workers, every number of blocks or threads.
"""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["add_to_limbs", "from_limbs", "grid_unit", "mass_unit", "on_grid"]

_COARSE = 2.0**10
_FINE = 2.0**34


def grid_unit(largest: float, n_terms: int) -> float:
    """Return the grid (a power of two) on which ``n_terms`` terms of size up to ``largest`` add up exactly."""
    if largest <= 0 or not math.isfinite(largest):
        return 2.0**-52
    return float(2.0 ** max(math.ceil(math.log2(largest * max(n_terms, 1))) + 1 - 53, -1022))


def on_grid(*arrays: NDArray[np.float64], n_terms: int) -> list[NDArray[np.float64]]:
    """Round arrays so that any ``n_terms`` of their values add up exactly, in any order.

    Examples
    --------
    >>> (values,) = on_grid(np.array([0.1, 0.2, 0.3]), n_terms=3)
    >>> a, b, c = values
    >>> bool((a + b) + c == a + (b + c))
    True
    """
    unit = grid_unit(max(float(np.abs(values).max(initial=0.0)) for values in arrays), n_terms)
    return [np.asarray(np.rint(values / unit) * unit) for values in arrays]


def mass_unit(n_terms: int) -> float:
    """Return how many units make a probability of one, if up to ``n_terms`` are added in 64 bits."""
    return float(2.0 ** min(52, 62 - math.ceil(math.log2(max(n_terms, 2)))))


@numba.njit(cache=True, nogil=True)
def add_to_limbs(limbs: Any, value: float) -> None:
    """Add a number to a pair of integers: multiples of 2**-10, and the rest in multiples of 2**-44."""
    scaled = value * _COARSE
    whole = math.floor(scaled)
    limbs[0] += np.int64(whole)
    limbs[1] += np.int64((scaled - whole) * _FINE + 0.5)


def from_limbs(limbs: NDArray[np.int64]) -> float:
    """Return the number that a pair of integers holds."""
    return int(limbs[0]) / _COARSE + int(limbs[1]) / (_COARSE * _FINE)
