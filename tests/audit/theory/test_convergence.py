"""The consensus' gap comes to the truth's: the bound, the limit, the conditions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.audit.majority.poisson_binomial import poisson_binomial
from faircrowd.audit.theory import (
    asymptotic_fairness,
    bayes_divergence,
    convergence_bound,
    error_bound,
    exact_majority_given_truth,
    majority_divergence,
    majority_exponent,
    partition_workers,
)
from faircrowd.errors import OptionError


def coins(skills: np.ndarray) -> np.ndarray:
    """Matrices of workers with these skills in two classes."""
    return np.stack([np.stack([skills, 1 - skills], -1), np.stack([1 - skills, skills], -1)], -1)


def majority_gap(skills: np.ndarray, priors: np.ndarray) -> list[float]:
    law = exact_majority_given_truth(coins(skills), np.stack([1 - priors, priors], axis=1))
    return [law.gap_first, law.gap_last]


def bayes_gap(skills: np.ndarray, priors: np.ndarray) -> list[float]:
    """The exact gap of the Bayesian vote by all outcomes, ties to 0 and to 1."""
    rates = np.zeros((len(priors), 2))
    for a, ones in enumerate(priors):
        for outcome in itertools.product((0, 1), repeat=len(skills)):
            says = np.array(outcome)
            joint = [
                (1 - ones) * np.prod(np.where(says == 0, skills[:, a], 1 - skills[:, a])),
                ones * np.prod(np.where(says == 1, skills[:, a], 1 - skills[:, a])),
            ]
            rates[a] += sum(joint) * np.array([joint[1] > joint[0], joint[1] >= joint[0]])
    return np.ptp(rates, axis=0).tolist()


@given(st.integers(1, 7), st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_gaps_are_within_the_bound(n_workers: int, n_groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    skills, priors = rng.uniform(0.4, 1, (n_workers, n_groups)), rng.random(n_groups)
    for vote, gaps in (("majority", majority_gap(skills, priors)), ("bayes", bayes_gap(skills, priors))):
        bound = convergence_bound(list(skills.T), vote=vote)
        assert max(abs(gap - np.ptp(priors)) for gap in gaps) <= bound + 1e-12


def test_features_as_a_law_and_as_a_sample() -> None:
    rng = np.random.default_rng(1)
    points = [rng.uniform(0.6, 0.95, (3, 21)), rng.uniform(0.6, 0.95, (2, 21))]
    laws = [np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.1])]
    by_hand = sum(law @ [error_bound(p) for p in own] for own, law in zip(points, laws, strict=True))
    exact = convergence_bound(points, point_shares=laws)
    assert exact == pytest.approx(by_hand)
    drawn = [own[rng.choice(len(law), 2000, p=law)] for own, law in zip(points, laws, strict=True)]
    assert convergence_bound(drawn) == pytest.approx(exact, rel=0.1)
    assert convergence_bound([points[0][0], points[1]], point_shares=[None, laws[1]]) == pytest.approx(
        error_bound(points[0][0]) + laws[1] @ [error_bound(p) for p in points[1]]
    )
    assert convergence_bound([coins(own) for own in points], point_shares=laws) == pytest.approx(exact)


def test_bound_holds_for_drawn_tasks_with_features() -> None:
    rng, n_tasks, n_workers = np.random.default_rng(2), 60_000, 25
    skills = rng.uniform(0.55, 0.85, (2, 2, n_workers))  # group, point, worker
    laws, ones = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.3, 0.8], [0.5, 0.9]])
    group = rng.integers(0, 2, n_tasks)
    point = (rng.random(n_tasks) < laws[group, 1]).astype(int)
    truth = rng.random(n_tasks) < ones[group, point]
    right = rng.random((n_tasks, n_workers)) < skills[group, point]
    label = (right == truth[:, None]).sum(axis=1) > n_workers / 2

    def gap(values: np.ndarray) -> float:
        return abs(values[group == 1].mean() - values[group == 0].mean())

    bound = convergence_bound([skills[0], skills[1]], point_shares=list(laws))
    assert bound < 0.7
    assert abs(gap(label) - gap(truth)) <= bound


def test_the_limit_is_what_large_crowds_come_to() -> None:
    rng = np.random.default_rng(3)
    skills, priors = np.array([[0.9, 0.3, 0.4], [0.6, 0.5, 0.6]]), np.array([0.6, 0.3, 0.9])
    limit = asymptotic_fairness(skills, priors)
    assert limit.right.tolist() == [True, False, False]
    np.testing.assert_allclose(limit.rates, [0.6, 0.7, 0.5])
    assert (limit.gap, limit.truth_gap, limit.holds) == (pytest.approx(0.2), pytest.approx(0.6), False)
    drawn = skills[rng.integers(0, 2, 2001)]
    laws = poisson_binomial(np.column_stack([drawn, 1 - drawn]))[1001:].sum(axis=0).reshape(2, 3)
    rates = priors * laws[0] + (1 - priors) * laws[1]
    np.testing.assert_allclose(rates[:2], limit.rates[:2], atol=1e-3)
    assert np.abs(laws[:, 2] - 0.5).max() < 0.5  # a mean skill of 1/2: neither label wins for sure


def test_the_gap_comes_to_the_truths() -> None:
    skills, priors = np.array([[0.8, 0.55], [0.6, 0.7]]), np.array([0.7, 0.4])
    assert asymptotic_fairness(skills, priors).holds
    distances = [abs(majority_gap(np.tile(skills, (n, 1)), priors)[0] - 0.3) for n in (3, 15, 60, 150)]
    assert sorted(distances, reverse=True) == distances
    assert distances[-1] < 1e-4


def test_limit_of_the_bayesian_vote() -> None:
    skills, priors = [[0.1, 0.5, 0.5], [0.5, 0.5, 0.5]], [0.6, 0.3, 0.5]
    first, last = (asymptotic_fairness(skills, priors, vote="bayes", ties=ties) for ties in ("first", "last"))
    assert first.rates.tolist() == [0.6, 0, 0]
    assert last.rates.tolist() == [0.6, 0, 1]
    assert first.right.tolist() == [True, False, False]
    upside_down = asymptotic_fairness([[0.4, 0.3]], [0.6, 0.3])
    assert not upside_down.holds
    assert upside_down.gap == pytest.approx(upside_down.truth_gap)


def test_partition_and_its_shares() -> None:
    parts = partition_workers([0.95, 0.6, 0.55, 0.4, 0.2, 0.05], competent=0.1, adversarial=0.1, floor=0.1)
    assert parts.competent.tolist() == [True, True, False, False, False, False]
    assert parts.adversarial.tolist() == [False, False, False, True, True, False]
    assert parts.mediocre.tolist() == [False, False, True, False, False, True]
    alpha, beta, gamma = parts.shares
    assert gamma == pytest.approx(1 - alpha - beta)
    both = partition_workers([[0.9, 0.55], [0.9, 0.7], [0.2, 0.6]])  # everywhere, or not at all
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
    # The value less 1 is the derivative at t = 1 of the bound's logarithm, with gamma not divided by R.
    alpha, beta, gamma = found.partition.shares
    assert found.value - 1 == pytest.approx(2 * alpha * competent + beta * (2 * floor - 1) - gamma, abs=1e-12)
    if found.holds:
        assert np.mean(skills) > 0.5


def test_crowds_that_keep_coming_end_up_right_or_not() -> None:
    crowd = [0.9] * 7 + [0.3] * 3
    few, many = (majority_divergence(crowd * n, competent=0.4, adversarial=0.2, floor=0.3) for n in (1, 20))
    assert few.value == many.value == pytest.approx(0.7 * 1.8 + 0.6 * 0.3)
    assert few.holds
    assert many.error_bound < 1e-6 < few.error_bound
    assert not majority_divergence(crowd, competent=0.1).holds  # not shown, though the mean skill is .72


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
        (lambda: convergence_bound([[0.8], [0.7]], point_shares=[[1.0]]), "each of the 2 groups"),
        (lambda: convergence_bound([[0.8], [0.7]], point_shares=[[0.5, 0.5], None]), "each of the 1 points"),
        (lambda: convergence_bound([[[0.8], [0.8]], [0.7]], point_shares=[[0.5, 0.6], None]), "sum to one"),
        (lambda: asymptotic_fairness([[0.8, 0.7]], [0.5]), "each of 2 groups"),
        (lambda: asymptotic_fairness([[0.8, 0.7]], [0.5, 0.5], vote="mean"), "vote"),
        (lambda: majority_divergence([0.8], competent=0.7), "competent must be"),
        (lambda: bayes_divergence([]), "at least one worker"),
    ],
)
def test_what_cannot_converge_is_said(call: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call()
