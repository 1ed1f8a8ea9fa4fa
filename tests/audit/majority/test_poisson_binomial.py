"""The law of a count of ones and the tails of a majority: exact, with rates whose sums and products are not rounded."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from faircrowd.audit.majority.growing_crowd import majority_curve
from faircrowd.audit.majority.poisson_binomial import add_up, as_rates, majority_tails, poisson_binomial, survival
from faircrowd.errors import OptionError

RATES = [0.5, 0.25, 1.0, 0.75]


def law_of(rates: list[float]) -> list[Fraction]:
    """The law of the count by all outcomes, in whole numbers."""
    law = [Fraction(0)] * (len(rates) + 1)
    for outcome in product((0, 1), repeat=len(rates)):
        law[sum(outcome)] += prod(Fraction(p) if y else 1 - Fraction(p) for p, y in zip(rates, outcome, strict=True))
    return law


def cut_law(rates: list[float], least: float) -> dict[int, Fraction]:
    """The law, its ends below ``least`` cut off after each voter, though never all of it."""
    law = {0: Fraction(1)}
    for rate in map(Fraction, rates):
        counts = range(min(law), max(law) + 2)
        law = {s: law.get(s, Fraction(0)) * (1 - rate) + law.get(s - 1, Fraction(0)) * rate for s in counts}
        while len(law) > 1 and law[max(law)] < least:
            del law[max(law)]
        while len(law) > 1 and law[min(law)] < least:
            del law[min(law)]
    return law


@pytest.mark.parametrize("least", [0.0, 0.03125, 0.0625, 0.1, 0.25, 2.0])
@pytest.mark.parametrize("rates", [[], [0.5] * 4, RATES, [0.25] * 5, [0.0, 0.0, 0.5], [1.0, 1.0, 0.5], [0.125, 0.875]])
def test_the_ends_of_a_law_are_cut_as_it_grows(rates: list[float], least: float) -> None:
    law, want = np.zeros(len(rates) + 2), cut_law(rates, least)
    assert add_up(np.array(rates), law, least) == (min(want), max(want))
    assert law.tolist() == [want.get(s, 0) for s in range(law.size)]


@pytest.mark.parametrize("n_voters", range(1, 7))
def test_tails_of_a_majority(n_voters: int) -> None:
    counts = np.arange(n_voters + 1)
    for high in counts:
        law = np.where(counts <= high, (counts + 1) / 128, 0)
        want = law[counts * 2 > n_voters].sum(), law[counts * 2 >= n_voters].sum()
        assert majority_tails(law, n_voters, high) == want


def test_tails_are_no_more_than_one() -> None:
    assert majority_tails(np.array([0.0, 0.75, 0.75]), 2, 2) == (0.75, 1)
    assert majority_tails(np.array([0.0, 0.0, 1.5]), 2, 2) == (1, 1)


def test_groups_are_columns() -> None:
    both = np.column_stack([RATES, RATES[::-1]])
    both[0, 1] = 0.125
    law = poisson_binomial(both)
    assert law.T.tolist() == [law_of(column) for column in both.T.tolist()]
    assert poisson_binomial(RATES).tolist() == law_of(RATES)
    for least in range(-1, 6):
        want = [sum(law_of(column)[max(least, 0) :]) for column in both.T.tolist()]
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


def test_a_curve_is_the_mean_over_all_crowds() -> None:
    rates = np.column_stack([RATES, [0.25, 0.5, 0.0, 0.125]])
    for sizes in (None, [3, 1, 4, 2], [2], 4):
        curve = majority_curve(rates, sizes)
        wanted = [1, 2, 3, 4] if sizes is None else np.atleast_1d(sizes).tolist()
        assert curve.sizes.tolist() == wanted
        for j, size in enumerate(wanted):
            for a in (0, 1):
                laws = [law_of([*crowd]) for crowd in combinations(rates[:, a].tolist(), size)]
                strict, loose = (
                    float(sum(sum(p for s, p in enumerate(law) if 2 * s >= size + more) for law in laws) / len(laws))
                    for more in (1, 0)
                )
                np.testing.assert_allclose((curve.strict[j, a], curve.loose[j, a]), (strict, loose), atol=1e-15)
        np.testing.assert_array_equal(curve.gap_strict, abs(curve.strict[:, 0] - curve.strict[:, 1]))
        np.testing.assert_array_equal(curve.gap_loose, abs(curve.loose[:, 0] - curve.loose[:, 1]))
        assert curve.mean_gap == (0.25 + 0.25 + 1 + 0.625) / 4


def test_sizes_of_a_curve() -> None:
    assert majority_curve([[0.5, 0.25]] * 27).sizes.tolist() == list(range(1, 26))
    with pytest.raises(OptionError, match="sizes has 3, but there are only 2 workers"):
        majority_curve([[0.5, 0.25]] * 2, [1, 3])
    with pytest.raises(OptionError, match="sizes"):
        majority_curve([[0.5, 0.25]] * 2, [0])
