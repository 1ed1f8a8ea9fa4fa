"""Competent, adversarial and mediocre workers, and the conditions under which a growing crowd ends up right."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.audit.majority.poisson_binomial import poisson_binomial
from faircrowd.audit.theory import (
    bayes_divergence,
    majority_divergence,
    majority_exponent,
    partition_workers,
)
from faircrowd.errors import OptionError


def test_partition_and_its_shares() -> None:
    parts = partition_workers([0.95, 0.6, 0.55, 0.4, 0.2, 0.05], competent=0.1, adversarial=0.1, floor=0.1)
    assert parts.competent.tolist() == [True, True, False, False, False, False]
    assert parts.adversarial.tolist() == [False, False, False, True, True, False]
    assert parts.mediocre.tolist() == [False, False, True, False, False, True]
    alpha, beta, gamma = parts.shares
    assert gamma == pytest.approx(1 - alpha - beta)
    both = partition_workers([[0.9, 0.55], [0.9, 0.7], [0.2, 0.6]])  # at every point, or not at all
    assert both.competent.tolist() == [False, True, False]
    assert both.mediocre.tolist() == [True, False, True]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0.01, 0.49),
    st.floats(0.01, 0.49),
    st.floats(0, 0.5),
)
def test_condition_bounds_the_majority(skills: list[float], competent: float, adversarial: float, floor: float) -> None:
    found = majority_divergence(skills, competent=competent, adversarial=adversarial, floor=floor)
    assert found.exponent <= majority_exponent(skills) + 1e-12
    wrong = poisson_binomial(skills)[: len(skills) // 2 + 1].sum()
    assert wrong <= found.error_bound + 1e-12
    if abs(found.value - 1) > 1e-6:
        assert found.holds == (found.exponent > 0)
    # The value minus 1 is the derivative at t = 1 of the bound's logarithm, with gamma not divided by R.
    alpha, beta, gamma = found.partition.shares
    assert found.value - 1 == pytest.approx(2 * alpha * competent + beta * (2 * floor - 1) - gamma, abs=1e-12)
    if found.holds:
        assert np.mean(skills) > 0.5


def test_repeated_crowds_end_up_right_or_not() -> None:
    crowd = [0.9] * 7 + [0.3] * 3
    few, many = (majority_divergence(crowd * n, competent=0.4, adversarial=0.2, floor=0.3) for n in (1, 20))
    assert few.value == many.value == pytest.approx(0.7 * 1.8 + 0.6 * 0.3)
    assert few.holds
    assert many.error_bound < 1e-6 < few.error_bound
    assert not majority_divergence(crowd, competent=0.1).holds  # not proved, though the mean skill is .72


def test_the_claimed_converse_fails_at_the_edge() -> None:
    bounds = []
    for n in (10**2, 10**4, 10**6):
        good = math.ceil(n * (1 + n**-0.25) / 1.8)
        skills = np.repeat([0.9, 0.0], [good, n - good])
        found = majority_divergence(skills, competent=0.4)
        assert 1 < found.value < 1 + 1.1 * n**-0.25 + 2 / n
        bounds.append(n * found.exponent)
    assert bounds[0] * 4 < bounds[1]
    assert bounds[1] * 4 < bounds[2]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_sum_of_squares_bounds_the_bayesian_vote(skills: list[float], ones: float) -> None:
    found, p = bayes_divergence(skills), np.array(skills)
    kept = 0.0
    for outcome in itertools.product((0, 1), repeat=p.size):
        one = np.prod(np.where(outcome, p, 1 - p))
        zero = np.prod(np.where(outcome, 1 - p, p))
        kept += max(ones * one, (1 - ones) * zero)
    assert 1 - kept <= found.error_bound + 1e-12
    assert found.holds == ((p - 0.5) ** 2).any()
    assert bayes_divergence(np.column_stack([p, np.full(p.size, 0.5)])).value == 0  # useless somewhere


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: majority_divergence([0.8], competent=0.7), "competent must be"),
        (lambda: bayes_divergence([]), "at least one worker"),
    ],
)
def test_crowds_that_are_refused(call: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call()


@pytest.mark.parametrize("margin", ["competent", "adversarial", "floor"])
def test_margins_are_from_0_to_a_half(margin: str) -> None:
    for value in (0, 0.5):
        partition_workers([0.9, 0.2], **{margin: value})
    for value in (-0.01, 0.51):
        with pytest.raises(OptionError, match=f"{margin} must be .* from 0 to 0.5"):
            partition_workers([0.9, 0.2], **{margin: value})
