"""The distribution of the number of ones, and the tails of a majority: against all outcomes, scipy and fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from audit.majority.outcomes import count_probabilities, exact_count_probabilities
from faircrowd.audit.majority.poisson_binomial import add_up, as_rates, majority_tails, poisson_binomial, survival
from faircrowd.errors import OptionError

RATE = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


RATES = [0.5, 0.25, 1.0, 0.75]


def cut_probabilities(rates: list[float], least: float) -> dict[int, Fraction]:
    """The distribution, with tails below ``least`` cut off after each voter, though never all of it."""
    found = {0: Fraction(1)}
    for rate in map(Fraction, rates):
        counts = range(min(found), max(found) + 2)
        found = {s: found.get(s, Fraction(0)) * (1 - rate) + found.get(s - 1, Fraction(0)) * rate for s in counts}
        while len(found) > 1 and found[max(found)] < least:
            del found[max(found)]
        while len(found) > 1 and found[min(found)] < least:
            del found[min(found)]
    return found


@given(st.lists(RATE, max_size=9))
def test_probabilities_are_those_of_all_outcomes(rates: list[float]) -> None:
    found = poisson_binomial(rates)
    np.testing.assert_allclose(found, count_probabilities(np.array(rates)), rtol=1e-12, atol=1e-300)
    assert found.sum() == pytest.approx(1, abs=1e-14)


def test_groups_are_columns_and_tails_keep_their_digits() -> None:
    rates = np.column_stack([np.full(200, 0.01), np.full(200, 0.5)])
    found = poisson_binomial(rates)
    assert found.shape == (201, 2)
    for a, p in enumerate((0.01, 0.5)):
        np.testing.assert_allclose(found[:, a], binom.pmf(np.arange(201), 200, p), rtol=1e-10, atol=1e-290)
    np.testing.assert_allclose(survival(rates, 60), binom.sf(59, 200, [0.01, 0.5]), rtol=1e-10)
    assert survival([0.3, 0.4], 3) == 0
    assert survival([0.3, 0.4], -1) == pytest.approx(1)


def test_cutting_off_the_tails_loses_next_to_nothing() -> None:
    rates = np.random.default_rng(0).uniform(0.2, 0.7, 3000)
    cut, full = np.zeros(3001), np.zeros(3001)
    low, high = add_up(rates, cut, 1e-25)
    add_up(rates, full, 0.0)
    assert np.abs(cut - full).sum() < 1e-20
    assert high - low < 700
    assert not cut[:low].any()
    assert not cut[high + 1 :].any()


@pytest.mark.parametrize("least", [0.0, 0.03125, 0.0625, 0.1, 0.25, 2.0])
@pytest.mark.parametrize("rates", [[], [0.5] * 4, RATES, [0.25] * 5, [0.0, 0.0, 0.5], [1.0, 1.0, 0.5], [0.125, 0.875]])
def test_tails_are_cut_off_as_the_distribution_grows(rates: list[float], least: float) -> None:
    found, want = np.zeros(len(rates) + 2), cut_probabilities(rates, least)
    assert add_up(np.array(rates), found, least) == (min(want), max(want))
    assert found.tolist() == [want.get(s, 0) for s in range(found.size)]


@pytest.mark.parametrize("n_voters", range(1, 7))
def test_tails_of_a_majority(n_voters: int) -> None:
    counts = np.arange(n_voters + 1)
    for high in counts:
        found = np.where(counts <= high, (counts + 1) / 128, 0)
        want = found[counts * 2 > n_voters].sum(), found[counts * 2 >= n_voters].sum()
        assert majority_tails(found, n_voters, high) == want


def test_tails_are_no_more_than_one() -> None:
    assert majority_tails(np.array([0.0, 0.75, 0.75]), 2, 2) == (0.75, 1)
    assert majority_tails(np.array([0.0, 0.0, 1.5]), 2, 2) == (1, 1)


def test_groups_are_columns() -> None:
    both = np.column_stack([RATES, RATES[::-1]])
    both[0, 1] = 0.125
    found = poisson_binomial(both)
    assert found.T.tolist() == [exact_count_probabilities(column) for column in both.T.tolist()]
    assert poisson_binomial(RATES).tolist() == exact_count_probabilities(RATES)
    for least in range(-1, 6):
        want = [sum(exact_count_probabilities(column)[max(least, 0) :]) for column in both.T.tolist()]
        assert survival(both, least).tolist() == want
        assert survival(both[:, 0], least) == want[0]


def test_rates_are_read_or_refused() -> None:
    assert as_rates([0, 1]).tolist() == [0.0, 1.0]
    assert as_rates([[0, 1]]).shape == (1, 2)
    for bad in (0.5, [[[0.5]]], [-0.01], [1.01], [0.5, np.nan]):
        with pytest.raises(OptionError, match=r"Rates must be probabilities from 0 to 1 .* got shape \("):
            as_rates(bad)
    for bad in (["a"], [{}], [[0.5], [0.5, 0.5]]):
        with pytest.raises(OptionError, match="Rates must be numbers, with one row per voter and one column per group"):
            as_rates(bad)
    with pytest.raises(OptionError, match=r"got shape \(6,\), 0.0, 0.5, 1.0, 1.5, 2.0 and 1 more\."):
        as_rates([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
