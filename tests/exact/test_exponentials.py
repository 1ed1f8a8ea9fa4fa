"""Exponentials and logarithms of kernels, compared with those of numpy in extended precision."""

import numpy as np
import pytest
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.exact.exponentials import exp, log1p_of_share

RNG = np.random.default_rng(0)


@kernel
def exponentials(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.empty(numbers.size)
    for i in range(numbers.size):
        found[i] = exp(numbers[i])
    return found


@kernel
def logarithms(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.empty(shares.size)
    for i in range(shares.size):
        found[i] = log1p_of_share(shares[i])
    return found


def units_off(found: NDArray[np.float64], exact: NDArray[np.longdouble]) -> float:
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(found))))


needs_long_double = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no type with more digits to compare")


@needs_long_double
@pytest.mark.parametrize("size", [1e-300, 1e-9, 0.1, 1.0, 20.0, 700.0])
def test_exp_is_right_to_one_unit_in_the_last_place(size: float) -> None:
    numbers = RNG.uniform(-size, size, 20_000)
    assert units_off(exponentials(numbers), np.exp(numbers.astype(np.longdouble))) <= 1


@needs_long_double
@pytest.mark.parametrize("size", [1e-300, 1e-9, 0.1, 0.4142135624, 1.0])
def test_log1p_is_right_to_two_units_in_the_last_place(size: float) -> None:
    shares = np.append(RNG.uniform(0, size, 20_000), size)
    assert units_off(logarithms(shares), np.log1p(shares.astype(np.longdouble))) <= 2


def test_values_known_by_heart() -> None:
    assert exponentials(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]
    assert logarithms(np.array([0.0, 1.0])).tolist() == [0.0, np.log(2.0)]


def test_exponents_that_are_too_large_count_as_the_largest() -> None:
    ends = exponentials(np.array([-1e9, -700.0, 700.0, 1e9]))
    assert ends[0] == ends[1] > 0
    assert ends[2] == ends[3] < np.inf


@pytest.mark.parametrize("n", [1, 3, 8, 17])
def test_a_number_gets_the_same_bits_wherever_it_stands(n: int) -> None:
    """Loops work on several numbers at a time, and on the last ones one by one."""
    numbers = RNG.uniform(-30, 0, 64)
    assert exponentials(numbers)[:n].tolist() == exponentials(numbers[:n].copy()).tolist()
    shares = np.exp(numbers)
    assert logarithms(shares)[:n].tolist() == logarithms(shares[:n].copy()).tolist()
