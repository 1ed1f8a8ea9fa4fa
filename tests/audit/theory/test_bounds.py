"""The majority's bounds: the constant, the print at two voters, votes that go together, the derivative."""

import itertools
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.audit.majority.bounds import eta, majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.theory import (
    exact_majority_given_truth,
    gap_over_features,
    local_disparity,
    majority_derivative,
    majority_gap_bound_given_truth,
    pointwise_fair_example,
)
from faircrowd.errors import OptionError


def test_eta_to_twelve_digits() -> None:
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
    assert abs(Decimal(eta()) - value(low)) < Decimal("1e-15")
    assert eta() == pytest.approx(0.468822355499, abs=1e-12)


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
    if seed % 2:  # alike in the groups
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
        law = majority_rates(values[:, None])
        return float((law.strict if ties == "first" else law.loose)[0])

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


def test_fair_at_every_point_and_not_as_a_whole() -> None:
    example = pointwise_fair_example()
    assert (example.local == 0).all()
    assert example.gap == pytest.approx(0.3, abs=1e-15)
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 200_000)
    point = (rng.random(group.size) < example.point_shares[1, group]).astype(int)
    says = rng.random(group.size) < example.rates[point, group]
    assert says[group == 1].mean() - says[group == 0].mean() == pytest.approx(0.3, abs=0.01)


def test_where_points_are_spread_alike_the_gap_is_within_the_local_ones() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        rates, law = rng.random((4, 3)), rng.dirichlet(np.ones(4))[:, None]
        assert gap_over_features(rates, np.repeat(law, 3, axis=1)) <= local_disparity(rates) @ law[:, 0] + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: gap_over_features([[0.1, 0.2]], [[0.5, 0.5]]),
        lambda: gap_over_features([[0.1, 0.2]], [[1.0], [0.0]]),
        lambda: majority_gap_bound_given_truth([[0.1, 0.2]], [0.1]),
        lambda: majority_gap_bound_given_truth([[[0.1, 0.2], [1.2, 0.1]]], [0.1, 0.2]),
        lambda: majority_gap_bound_given_truth([[[0.1, 0.2], [0.2, 0.1]]], [0.1]),
    ],
)
def test_what_cannot_be_bounded_is_refused(call: object) -> None:
    with pytest.raises(OptionError):
        call()
