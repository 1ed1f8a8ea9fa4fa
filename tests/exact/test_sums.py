"""Sums in any order: numbers as integers of small units, and no digit lost when many are added."""

import math
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from faircrowd.exact.sums import (
    PROBABILITY_UNIT,
    TERMS_PER_CARRY,
    add_log_likelihood,
    carry,
    exact_sum,
    grid_step,
    limbs_to_numbers,
    mass_unit,
    on_grid,
    read_log_likelihood,
    to_limbs,
    to_units,
    unit_for,
)

NUMBERS = [0.0, 1.0, -1.0, 0.3, -0.3, 2.0**-53, -(2.0**-53), 3 * 2.0**-53, 1 - 2.0**-53, -5.0, 2.0**-26, 7.75]


@pytest.mark.parametrize("largest", [1.0, 0.7, 1.01, 2.0, 3.0, 1e9, 1e-9, 0.5])
def test_the_largest_number_has_52_bits(largest: float) -> None:
    unit = unit_for(largest)
    assert 2**51 < Fraction(largest) * Fraction(unit) <= 2**52
    assert TERMS_PER_CARRY * largest * unit < 2**63


def test_zero_has_the_unit_of_probabilities() -> None:
    assert unit_for(0.0) == unit_for(1.0) == PROBABILITY_UNIT == 2**52


@pytest.mark.parametrize("unit", [PROBABILITY_UNIT, 2.0**40, 1.0])
def test_numbers_are_rounded_to_integers_of_units(unit: float) -> None:
    wanted = [floor(Fraction(number) * Fraction(unit) + Fraction(1, 2)) for number in NUMBERS]
    assert [int(to_units(number, unit)) for number in NUMBERS] == wanted
    high, low = to_limbs(np.array(NUMBERS), unit)
    assert [int(h) * 2**26 + int(r) for h, r in zip(high, low, strict=True)] == wanted
    assert low.min() >= 0
    assert low.max() < 2**26
    np.testing.assert_array_equal(limbs_to_numbers(np.stack([high, low], axis=1), unit), np.array(wanted) / unit)


def test_the_default_unit_is_that_of_probabilities() -> None:
    limbs = np.array([[[2**25, 0], [0, 1]], [[-(2**26), 5], [2**40, 2**41]]])
    wanted = [[0.5, 2.0**-52], [-1 + 5 * 2.0**-52, 2.0**14 + 2.0**-11]]
    np.testing.assert_array_equal(limbs_to_numbers(limbs), wanted)


def test_sums_are_carried_to_limbs_and_reset() -> None:
    sums, limbs = np.array([5 * 2**26 + 3, -1, 2**62, 0]), np.arange(8).reshape(4, 2)
    before = [int(high) * 2**26 + int(low) for high, low in limbs]
    added = sums.tolist()
    carry(sums, limbs)
    assert sums.tolist() == [0] * 4
    assert [int(high) * 2**26 + int(low) for high, low in limbs] == [a + b for a, b in zip(before, added, strict=True)]
    assert limbs[:, 1].tolist() == [1 + 3, 3 + 2**26 - 1, 5, 7]


@pytest.mark.parametrize("n_terms", [1, 2, 7, 1000])
def test_sums_on_the_grid_do_not_depend_on_order(n_terms: int) -> None:
    rng = np.random.default_rng(n_terms)
    (values,) = on_grid(rng.normal(0, 50, n_terms), n_terms=n_terms)
    sums = {float(np.add.reduce(rng.permutation(values))) for _ in range(20)} | {float(sum(values.tolist()))}
    assert len(sums) == 1


def test_the_grid_is_as_fine_as_it_can_be() -> None:
    assert grid_step(1.0, 1) == 2.0**-52
    assert grid_step(3.0, 5) == 2.0**-48
    (values,) = on_grid(np.array([np.pi, -1e-20]), n_terms=4)
    assert abs(values[0] - np.pi) <= grid_step(np.pi, 4) / 2
    assert grid_step(5e-324, 1) == 2.0**-1022  # never zero
    assert mass_unit(2**10) == 2.0**52
    assert mass_unit(2**30) == 2.0**32
    assert mass_unit(2**30, 5.0) == 2.0**29


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_an_exact_sum_does_not_depend_on_order(scale: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, 5000) * 10 ** rng.uniform(-8, 0, 5000) * scale
    total = exact_sum(values)
    assert {exact_sum(rng.permutation(values)) for _ in range(5)} == {total}
    assert total == pytest.approx(math.fsum(values), rel=1e-9, abs=1e-270)


@pytest.mark.parametrize("n", [1, TERMS_PER_CARRY - 1, TERMS_PER_CARRY, TERMS_PER_CARRY + 1, 5000])
def test_an_exact_sum_is_that_of_whole_units(n: int) -> None:
    """Of as many of the largest numbers as fit between carries, too, and of columns."""
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n), np.full(n, -4.0), np.full(n, 4.0), rng.normal(size=(n, 3))[:, 1]):
        unit = unit_for(float(np.abs(values).max()))
        whole = sum(floor(Fraction(value * unit) + Fraction(1, 2)) for value in values.tolist())
        assert exact_sum(values) == pytest.approx(float(whole / Fraction(unit)), rel=1e-15)


def test_exact_sums_of_nothing_and_of_what_is_not_finite() -> None:
    assert exact_sum(np.empty(0)) == 0.0
    assert exact_sum(np.zeros(3)) == 0.0
    assert math.isnan(exact_sum(np.array([1.0, np.inf])))
    assert math.isnan(exact_sum(np.array([1.0, np.nan])))


def test_a_sum_of_log_likelihoods_keeps_many_digits() -> None:
    values = np.random.default_rng(0).normal(0, 1000, 5000)
    limbs = np.zeros(2, np.int64)
    for value in values:
        add_log_likelihood(limbs, value)
    assert read_log_likelihood(limbs) == pytest.approx(float(np.sum(values, dtype=np.longdouble)), abs=5000 * 2.0**-44)
