"""Sums that do not depend on the order of their terms.

Floating-point addition is not associative: the same votes in another order, or cut into other blocks, would
give sums that differ in the last digits, and expectation-maximisation can amplify such a difference where a
crowd is close to a tie. So the terms of a sum are first rounded to multiples of a power of two, on which the
addition is exact:

- terms of a task's score (log-probabilities, weights) to multiples so coarse that the sum of the longest task
  fits the 53 bits of a double (:func:`on_grid`);
- posterior probabilities of votes to integers of 64 bits (:func:`mass_unit`);
- posterior probabilities and gains of tasks to integers of 52 bits (:func:`to_units`). Up to 1,024 of these add
  up in one 64-bit integer; longer sums are *limbs*, a pair of integers: multiples of 2**26 units, and the rest
  (:func:`carry`, :func:`to_limbs`, :func:`limbs_to_numbers`);
- log-likelihoods of tasks to limbs with a fixed size of their own, 2**-10 and 2**-44
  (:func:`add_log_likelihood`, :func:`read_log_likelihood`);
- the numbers of one array to limbs of 52 bits of the largest (:func:`exact_sum`).

In all of them ``unit`` is the number of units that make one. The rounding error is relative to the largest sum,
as in any floating-point sum, and the result is the same to the last bit for every order of rows, every renaming
of tasks and workers, and every number of blocks or threads.
"""

import math

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel

__all__ = [
    "COARSE_UNIT",
    "FINE_PER_COARSE",
    "PROBABILITY_UNIT",
    "TERMS_PER_CARRY",
    "add_log_likelihood",
    "carry",
    "exact_sum",
    "grid_step",
    "limbs_to_numbers",
    "mass_unit",
    "on_grid",
    "read_log_likelihood",
    "to_limbs",
    "to_units",
    "unit_for",
]

PROBABILITY_UNIT = 2.0**52
"""Number of units that make a probability of one."""

TERMS_PER_CARRY = 1024
"""This many numbers of 52 bits add up in one 64-bit integer before they must be carried to limbs."""

COARSE_UNIT = 2.0**10
"""Number of coarse units that make a log-likelihood of one."""

FINE_PER_COARSE = 2.0**34
"""Number of fine units that make a coarse one."""


def grid_step(largest: float, n_terms: int) -> float:
    """Return the grid step (a power of two) with which ``n_terms`` terms of size up to ``largest`` add up exactly."""
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
    step = grid_step(max(float(np.abs(values).max(initial=0.0)) for values in arrays), n_terms)
    return [np.asarray(np.rint(values / step) * step) for values in arrays]


def mass_unit(n_terms: int, largest: float = 1.0) -> float:
    """Return the number of units that make one if up to ``n_terms`` numbers are added in 64 bits.

    The numbers are probabilities, or of size up to ``largest``.
    """
    return float(2.0 ** (min(52, 62 - math.ceil(math.log2(max(n_terms, 2)))) - math.ceil(math.log2(max(largest, 1.0)))))


def unit_for(largest: float) -> float:
    """Return the number of units that make one, for numbers of size up to ``largest`` in 52 bits."""
    return float(2.0 ** (52 - math.ceil(math.log2(largest)))) if largest > 0 else PROBABILITY_UNIT


@kernel
def to_units(number: float, unit: float) -> np.int64:
    """Round a number to an integer of units."""
    return np.int64(math.floor(number * unit + 0.5))


@kernel
def carry(sums: NDArray[np.int64], limbs: NDArray[np.int64]) -> None:
    """Add sums of units to limbs, and reset the sums to zero."""
    for k in range(sums.size):
        limbs[k, 0] += sums[k] >> 26
        limbs[k, 1] += sums[k] & (2**26 - 1)
        sums[k] = 0


def to_limbs(numbers: NDArray[np.float64], unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the high and the low limb of each number."""
    units = np.floor(numbers * unit + 0.5).astype(np.int64)
    return units >> 26, units & (2**26 - 1)


def limbs_to_numbers(limbs: NDArray[np.int64], unit: float = PROBABILITY_UNIT) -> NDArray[np.float64]:
    """Return the numbers that limbs (the last axis) stand for.

    Examples
    --------
    >>> limbs = np.stack(to_limbs(np.array([0.25, 0.5]), PROBABILITY_UNIT), axis=1)
    >>> float(limbs_to_numbers(limbs.sum(axis=0)))
    0.75
    """
    high, low = np.moveaxis(limbs.astype(object), -1, 0)  # Python integers, which do not overflow
    return np.asarray((high * 2**26 + low) / unit, dtype=np.float64)


def exact_sum(numbers: NDArray[np.float64]) -> float:
    """Return the sum of an array, the same for every order of its numbers; NaN if one of them is not finite.

    Each number is rounded to 52 bits of the largest.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).normal(size=1000)
    >>> exact_sum(numbers) == exact_sum(np.sort(numbers))
    True
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    if not math.isfinite(largest):
        return math.nan
    unit = unit_for(max(largest, 2.0**-900))  # smaller numbers are zero
    limbs = np.zeros((1, 2), np.int64)
    _add_units(np.ascontiguousarray(numbers, dtype=np.float64).ravel(), unit, limbs)
    return float(limbs_to_numbers(limbs[0], unit))


@kernel
def _add_units(numbers: NDArray[np.float64], unit: float, limbs: NDArray[np.int64]) -> None:
    """Add the units of all numbers to one pair of limbs, in one pass and without arrays of units."""
    sums = np.zeros(1, np.int64)
    for start in range(0, numbers.size, TERMS_PER_CARRY):
        units = np.int64(0)
        for i in range(start, min(start + TERMS_PER_CARRY, numbers.size)):
            units += np.int64(math.floor(numbers[i] * unit + 0.5))
        sums[0] = units
        carry(sums, limbs)


@kernel
def add_log_likelihood(limbs: NDArray[np.int64], value: float) -> None:
    """Add a log-likelihood to a pair of integers: multiples of 2**-10, and the rest in multiples of 2**-44."""
    scaled = value * COARSE_UNIT
    whole = math.floor(scaled)
    limbs[0] += np.int64(whole)
    limbs[1] += np.int64((scaled - whole) * FINE_PER_COARSE + 0.5)


def read_log_likelihood(limbs: NDArray[np.int64]) -> float:
    """Return the sum of the log-likelihoods that were added to a pair of integers."""
    return int(limbs[0]) / COARSE_UNIT + int(limbs[1]) / (COARSE_UNIT * FINE_PER_COARSE)
