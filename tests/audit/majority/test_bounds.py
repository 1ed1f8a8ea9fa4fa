"""Bounds on the majority's gap: the printed bound, which fails, the corrected ones, which hold, and the derivative."""

import itertools
import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.audit.majority.bounds import ETA, MajorityBound, majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.theory import (
    exact_majority_given_truth,
    majority_derivative,
    majority_gap_bound_given_truth,
)
from faircrowd.errors import OptionError


def random_crowd(rng: np.random.Generator, n_voters: int) -> np.ndarray:
    """Rates of voters in two groups, of many kinds: anything, near 0 or 1, all equal, hardly different."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.random((n_voters, 2))
    if kind == 1:
        return rng.beta(0.2, 0.2, (n_voters, 2))
    if kind == 2:
        return np.tile(rng.random(2), (n_voters, 1))
    return np.clip(rng.random(2) + rng.normal(0, 0.05, (n_voters, 2)), 0, 1)


def test_eta_is_the_maximum_of_its_function() -> None:
    x = np.linspace(0.3, 0.5, 200_001)
    series = sum((x**k / math.factorial(k)) ** 2 for k in range(30))
    assert pytest.approx((np.sqrt(2 * x) * np.exp(-2 * x) * series).max(), abs=1e-11) == ETA


@pytest.mark.parametrize("n_voters", range(1, 16))
def test_corrected_bound_holds(n_voters: int) -> None:
    rng = np.random.default_rng(n_voters)
    for _ in range(300):
        rates = random_crowd(rng, n_voters)
        exact, bound = majority_rates(rates), majority_gap_bound(rates)
        assert max(exact.gap_strict, exact.gap_loose) <= bound.value + 1e-12
        assert bound.vacuous == (bound.value >= 1)


@pytest.mark.parametrize("n_voters", [1, 2, 3, 4, 7, 8])
def test_printed_bound_fails_where_the_other_voters_hardly_vary(n_voters: int) -> None:
    # One voter leans; the others are certain and split evenly, except one who is nearly certain in even crowds.
    sure = [[float(r % 2)] * 2 for r in range(n_voters - 1)]
    if n_voters % 2 == 0:
        sure[-1] = [0.9, 0.9]
    rates = [[0.45, 0.55], *sure]
    exact = majority_rates(rates)
    gap = max(exact.gap_strict, exact.gap_loose)
    assert gap > 1.05 * majority_gap_bound_as_printed(rates).value
    assert gap <= majority_gap_bound(rates).value + 1e-12


def test_bounds_by_hand() -> None:
    one = [[0.4, 0.6]]  # nobody else votes: the majority's gap is the voter's own
    assert majority_gap_bound(one).value == pytest.approx(0.2)
    assert majority_rates(one).gap_strict == pytest.approx(0.2)
    assert majority_gap_bound_as_printed(one).value == pytest.approx(0.46882235549 * 0.2 / math.sqrt(0.24))
    sure = [[0.0, 1.0]] * 3
    assert majority_gap_bound(sure).vacuous
    assert majority_gap_bound_as_printed(sure).value == math.inf
    same = [[0.0, 0.0]] * 3
    assert majority_gap_bound(same).value == majority_gap_bound_as_printed(same).value == 0
    three = np.array([[0.2, 0.3, 0.6], [0.5, 0.5, 0.7]])
    pairs = [majority_gap_bound(three[:, list(pair)]).value for pair in itertools.combinations(range(3), 2)]
    assert majority_gap_bound(three).value == pytest.approx(max(pairs))


def test_bounds_of_three_groups_by_hand() -> None:
    rates = np.array([[0.5, 0.75, 0.5], [0.25, 0.5, 0.25], [0.125, 0.5, 0.0]])
    own, pairs = rates * (1 - rates), [(0, 1), (0, 2), (1, 2)]
    fair, printed = [], []
    for a, b in pairs:
        gaps = abs(rates[:, a] - rates[:, b])
        least = [min(sum(np.delete(own[:, c], r)) for c in (a, b)) for r in range(3)]
        fair.append(sum(d * min(1, ETA / math.sqrt(v)) for d, v in zip(gaps, least, strict=True)))
        printed.append(ETA * sum(gaps) / math.sqrt(min(sum(own[:, a]), sum(own[:, b]))))
        assert majority_gap_bound(rates[:, [a, b]]).value == pytest.approx(fair[-1], rel=1e-14)
        assert majority_gap_bound_as_printed(rates[:, [a, b]]).value == pytest.approx(printed[-1], rel=1e-14)
    assert majority_gap_bound(rates).value == pytest.approx(max(fair), rel=1e-14)
    assert majority_gap_bound_as_printed(rates).value == pytest.approx(max(printed), rel=1e-14)
    for bound in (majority_gap_bound, majority_gap_bound_as_printed):
        assert bound(rates[:, :1]).value == 0
    assert MajorityBound(1.0).vacuous
    assert not MajorityBound(0.999).vacuous
    assert majority_gap_bound_as_printed([[0.0, 0.0], [1.0, 1.0]]).value == 0
    assert majority_gap_bound_as_printed([[0.0, 0.5], [0.0, 0.5]]).value == math.inf
    assert majority_gap_bound_as_printed([[0.0, 0.0, 0.5], [1.0, 1.0, 0.5]]).value == math.inf


def test_eta_to_fifteen_digits() -> None:
    getcontext().prec = 40

    def value(x: Decimal) -> Decimal:
        series, term = Decimal(1), Decimal(1)
        for k in range(1, 40):
            term *= x / k
            series += term * term
        return (2 * x).sqrt() * (-2 * x).exp() * series

    low, high = Decimal("0.3"), Decimal("0.5")
    for _ in range(200):  # the maximum of a function with one peak
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if value(one) < value(two) else (low, two)
    assert abs(Decimal(ETA) - value(low)) < Decimal("1e-15")
    assert pytest.approx(0.468822355499, abs=1e-12) == ETA


def test_printed_bound_fails_for_two_voters_and_the_corrected_one_holds() -> None:
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(3000):
        rates = np.clip(rng.beta(0.5, 0.5, (2, 1)) + rng.uniform(-0.1, 0.1, (2, 2)), 0.001, 0.999)
        exact = majority_rates(rates)
        gap, printed = max(exact.gap_strict, exact.gap_loose), majority_gap_bound_as_printed(rates).value
        assert gap <= majority_gap_bound(rates).value + 1e-12
        worst = max(worst, gap / printed if printed > 0 else 0.0)
    assert 1.02 < worst < 1.2


def test_bound_needs_votes_that_are_independent_within_groups() -> None:
    # Truth is seen in the first group and guessed in the second: rates are .3 everywhere, majorities differ.
    errors = np.empty((3, 2, 2, 2))
    errors[:, 0], errors[:, 1] = np.eye(2), [[0.7, 0.7], [0.3, 0.3]]
    gap = exact_majority_given_truth(errors, [[0.7, 0.3], [1.0, 0.0]]).gap_first
    assert gap == pytest.approx(0.084)
    assert majority_gap_bound([[0.3, 0.3]] * 3).value == 0
    assert majority_gap_bound_given_truth(errors[:, :, 1], [0.3, 0.0]).value >= gap


@given(st.integers(1, 5), st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_bound_given_the_truth_holds(n_voters: int, n_groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ones, priors = rng.beta(0.5, 0.5, (n_voters, n_groups, 2)), rng.random(n_groups)
    if seed % 2:  # similar in both groups
        ones = np.clip(ones[:, :1] + rng.normal(0, 0.05, ones.shape), 0, 1)
    errors = np.stack([1 - ones, ones], axis=2)
    exact = exact_majority_given_truth(errors, np.stack([1 - priors, priors], axis=1))
    bound = majority_gap_bound_given_truth(ones, priors).value
    assert max(exact.gap_first, exact.gap_last) <= bound + 1e-12
    assert bound >= np.ptp(priors) - 1e-12


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=9), st.sampled_from(["first", "last"]))
def test_derivative_is_the_difference_quotient(rates: list[float], ties: str) -> None:
    found = majority_derivative(rates, ties=ties)

    def rate(values: np.ndarray) -> float:
        exact = majority_rates(values[:, None])
        return float((exact.strict if ties == "first" else exact.loose)[0])

    for r in range(len(rates)):  # the rate is linear in each voter's, so a long step is exact
        up, down = np.array(rates), np.array(rates)
        up[r], down[r] = 1.0, 0.0
        assert found[r] == pytest.approx(rate(up) - rate(down), abs=1e-13)


def test_derivative_by_all_outcomes_of_the_others() -> None:
    rates = np.random.default_rng(1).random(6)
    for r, found in enumerate(majority_derivative(rates)):
        others = np.delete(rates, r)
        outcomes = [o for o in itertools.product((0, 1), repeat=5) if sum(o) == 3]
        assert found == pytest.approx(sum(np.prod(np.where(o, others, 1 - others)) for o in outcomes))
    with pytest.raises(OptionError, match="ties"):
        majority_derivative(rates, ties="coin")


@pytest.mark.parametrize(
    "call",
    [
        lambda: majority_gap_bound_given_truth([[0.1, 0.2]], [0.1]),
        lambda: majority_gap_bound_given_truth([[[0.1, 0.2], [1.2, 0.1]]], [0.1, 0.2]),
        lambda: majority_gap_bound_given_truth([[[0.1, 0.2], [0.2, 0.1]]], [0.1]),
    ],
)
def test_what_cannot_be_bounded_is_refused(call: object) -> None:
    with pytest.raises(OptionError):
        call()
