"""Exponentials and logarithms that kernels compute for many numbers at once, the same on every machine.

:func:`math.exp` and :func:`math.log1p` are calls of the C library: one number at a time, with last digits that depend
on the library. These are polynomials without branches, so that a compiled loop over an array uses the vector
instructions that the machine has; as they only add, multiply and divide doubles, they return the same bits with any of
them. They are within one unit in the last place (:func:`exp`), or two (:func:`log1p_of_share`).
"""

import numpy as np

from faircrowd._kernels import inner_kernel

__all__ = ["exp", "log1p_of_share"]

_LARGEST = 700.0
"""Larger exponents, and smaller ones than minus this, count as these: no exponential here overflows."""

_LOG2_E = 1.4426950408889634
_LOG_2 = 0.6931471805599453
_LOG_2_HIGH = 0.693147180369123816490  # log 2 in 33 bits, of which any multiple up to 2**20 is exact
_LOG_2_LOW = 1.90821492927058770002e-10

_SQRT_2_LESS_1 = 0.41421356237309503


@inner_kernel
def exp(x: float) -> float:
    """Return exp(x) for x from -700 to 700."""
    # exp(x) = 2**n exp(r) with r of at most log(2) / 2 in size, where 13 terms of the series are enough.
    x = x if x < _LARGEST else _LARGEST
    x = x if x > -_LARGEST else -_LARGEST
    n = np.floor(x * _LOG2_E + 0.5)
    r = (x - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 1 / 2
    power = np.int64((np.int64(n) + 1023) << 52).view(np.float64)  # 2**n by its bits
    return float((1.0 + (r + r * r * p)) * power)


@inner_kernel
def log1p_of_share(share: float) -> float:
    """Return log(1 + share) for a share from 0 to 1."""
    # Where 1 + share is above sqrt(2), its logarithm is log(2) + log((1 + share) / 2). With z = f / (2 + f), log(1 + f)
    # is 2 atanh(z); the coefficients are those of the C library of FreeBSD, for z**2 up to 0.03.
    is_large = share > _SQRT_2_LESS_1
    f = (share - 1.0) * 0.5 if is_large else share
    z = np.true_divide(f, 2.0 + f)  # "/" would look for a division by zero, number by number
    square = z * z
    p = 0.1479819860511658591
    p = p * square + 0.1531383769920937332
    p = p * square + 0.1818357216161805012
    p = p * square + 0.2222219843214978396
    p = p * square + 0.2857142874366239149
    p = p * square + 0.3999999999940941908
    p = p * square + 0.6666666666666735130
    half = 0.5 * f * f
    return float(f - (half - z * (half + square * p)) + (_LOG_2 if is_large else 0.0))
