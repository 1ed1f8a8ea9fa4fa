"""Limits in words: four digits, on the side that is easier to keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.constraints import DemographicParity, RateRatio


@given(st.floats(1e-6, 1))
def test_a_limit_in_words_is_easier_by_less_than_its_last_digit(level: float) -> None:
    above, below = float(DemographicParity(0.1).easier(level)), float(RateRatio(0.8).easier(level))
    assert level * 0.999 - 1e-9 <= below <= level * (1 + 1e-9)
    assert level * (1 - 1e-9) <= above <= level * 1.001 + 1e-9


def test_a_limit_in_words_has_four_digits() -> None:
    assert DemographicParity(0.1).easier(0.123412) == "0.1235"
    assert RateRatio(0.8).easier(0.123472) == "0.1234"
    assert DemographicParity(0.1).relaxed_words(0.25, 10) == "allow a gap of 0.25 instead of 0.1"


@pytest.mark.parametrize("level", [-0.01, 1.2])
def test_a_limit_in_words_is_a_share(level: float) -> None:
    assert float(DemographicParity(0.1).easier(level)) == min(max(level, 0), 1)
