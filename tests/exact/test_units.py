"""Sums of integers: what a number becomes, and that nothing is lost when many are added."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from faircrowd.exact.units import AT_ONCE, UNIT, carry, from_limbs, limbs_of, to_units, unit_for

NUMBERS = [0.0, 1.0, -1.0, 0.3, -0.3, 2.0**-53, -(2.0**-53), 3 * 2.0**-53, 1 - 2.0**-53, -5.0, 2.0**-26, 7.75]


@pytest.mark.parametrize("largest", [1.0, 0.7, 1.01, 2.0, 3.0, 1e9, 1e-9, 0.5])
def test_the_largest_number_has_52_bits(largest: float) -> None:
    unit = unit_for(largest)
    assert 2**51 < Fraction(largest) * Fraction(unit) <= 2**52
    assert AT_ONCE * largest * unit < 2**63


def test_nothing_has_the_unit_of_probabilities() -> None:
    assert unit_for(0.0) == unit_for(1.0) == UNIT == 2**52


@pytest.mark.parametrize("unit", [UNIT, 2.0**40, 1.0])
def test_numbers_are_rounded_to_whole_units(unit: float) -> None:
    wanted = [floor(Fraction(number) * Fraction(unit) + Fraction(1, 2)) for number in NUMBERS]
    assert [int(to_units(number, unit)) for number in NUMBERS] == wanted
    high, low = limbs_of(np.array(NUMBERS), unit)
    assert [int(h) * 2**26 + int(r) for h, r in zip(high, low, strict=True)] == wanted
    assert low.min() >= 0
    assert low.max() < 2**26
    np.testing.assert_array_equal(from_limbs(np.stack([high, low], axis=1), unit), np.array(wanted) / unit)


def test_probabilities_are_the_default() -> None:
    limbs = np.array([[[2**25, 0], [0, 1]], [[-(2**26), 5], [2**40, 2**41]]])
    wanted = [[0.5, 2.0**-52], [-1 + 5 * 2.0**-52, 2.0**14 + 2.0**-11]]
    np.testing.assert_array_equal(from_limbs(limbs), wanted)


def test_sums_are_carried_to_limbs_and_begin_anew() -> None:
    sums, limbs = np.array([5 * 2**26 + 3, -1, 2**62, 0]), np.arange(8).reshape(4, 2)
    before = [int(high) * 2**26 + int(low) for high, low in limbs]
    added = sums.tolist()
    carry(sums, limbs)
    assert sums.tolist() == [0] * 4
    assert [int(high) * 2**26 + int(low) for high, low in limbs] == [a + b for a, b in zip(before, added, strict=True)]
    assert limbs[:, 1].tolist() == [1 + 3, 3 + 2**26 - 1, 5, 7]
