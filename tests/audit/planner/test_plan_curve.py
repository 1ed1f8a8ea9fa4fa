"""The curve of a plan: against all crowds, all outcomes, all priors, and draws."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.planner.plans import ONES, check_answer
from faircrowd.audit.planner import plan_crowd
from faircrowd.audit.planner.plan_curve import (
    bayes_errors_bound,
    equal_majority,
    majority_errors_bound,
    plan_curve,
    pool_majority,
)
from faircrowd.audit.planner.worker_pool import Pool
from faircrowd.audit.theory import exact_majority_given_truth
from strategies import examples


def says_one(right: np.ndarray, outcome: tuple[int, ...]) -> list[float]:
    """The probability of the votes where the truth is 0, and where it is 1; right has one row per voter."""
    votes = np.array(outcome)
    return [np.prod(np.where(votes == y, right[:, y], 1 - right[:, y])) for y in (0, 1)]


def bayes_rates(right: np.ndarray, priors: np.ndarray, ties: str) -> list[float]:
    """The rate of ones of the Bayesian vote of a crowd, by all outcomes; right has axes voters, groups, truth."""
    rates = []
    for a, ones in enumerate(priors):
        rate = 0.0
        for outcome in itertools.product((0, 1), repeat=len(right)):
            zero, one = says_one(right[:, a], outcome)
            odds = ones * one - (1 - ones) * zero
            if odds > 1e-12 or (ties == "last" and odds >= -1e-12):
                rate += ones * one + (1 - ones) * zero
        rates.append(rate)
    return rates


def majority_gaps(right: np.ndarray, priors: np.ndarray) -> np.ndarray:
    errors = np.stack([right[..., 0], 1 - right[..., 0], 1 - right[..., 1], right[..., 1]], -1)
    exact = exact_majority_given_truth(errors.reshape(*errors.shape[:2], 2, 2).swapaxes(2, 3), _shares(priors))
    return np.stack([exact.first[:, 1], exact.last[:, 1]])


def _shares(priors: np.ndarray) -> np.ndarray:
    return np.stack([1 - priors, priors], axis=1)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.sampled_from(["first", "last"]))
@settings(max_examples=examples(25))
def test_majority_of_a_pool_is_the_mean_over_its_crowds(n_workers: int, seed: int, ties: str) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.uniform(0.55, 1, (n_workers, 2, 2)), rng.random(2)
    plan = plan_crowd(right, priors=priors, delta=0.05, ties=ties)
    assert (plan.method, plan.workers, plan.curve.votes.tolist()) == ("exact", n_workers, [*range(1, n_workers + 1)])
    for size in plan.curve.votes:
        crowds = itertools.combinations(range(n_workers), size)
        rates = np.mean([majority_gaps(right[list(crowd)], priors) for crowd in crowds], axis=0)
        gap = np.ptp(rates[0 if ties == "first" else 1])
        assert plan.curve.gap[size - 1] == pytest.approx(gap, abs=1e-12)
        assert plan.curve.distance[size - 1] == pytest.approx(abs(gap - np.ptp(priors)), abs=1e-12)
    assert (plan.curve.distance <= plan.curve.bound + 1e-12).all()
    check_answer(plan)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["first", "last"]), st.booleans())
@settings(max_examples=examples(20))
def test_bayes_of_equal_workers_is_exact(seed: int, ties: str, with_ties: bool) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.random((2, 2)), rng.random(2)
    if with_ties:
        right, priors = (
            np.repeat(rng.choice([0.0, 0.2, 0.6, 0.8, 1.0], (2, 1)), 2, axis=1),
            rng.choice([0.2, 0.5, 0.8], 2),
        )
    plan = plan_crowd(np.tile(right, (7, 1, 1)), priors=priors, delta=0.05, vote="bayes", ties=ties)
    assert plan.method == "exact"
    for size in plan.curve.votes:
        rates = bayes_rates(np.tile(right, (size, 1, 1)), priors, ties)
        assert plan.curve.gap[size - 1] == pytest.approx(np.ptp(rates), abs=1e-12)
    assert (plan.curve.distance <= plan.curve.bound + 1e-12).all()
    check_answer(plan)


@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(15))
def test_bound_of_bayes_holds_for_the_mean_over_crowds(n_workers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.random((n_workers, 2, 2)), rng.random(2)
    plan, blind = (plan_crowd(right, priors=p, delta=0.05, vote="bayes") for p in (priors, None))
    assert plan.method == blind.method == "bound"
    assert np.isnan(plan.curve.gap).all()
    for size in plan.curve.votes:
        crowds = itertools.combinations(range(n_workers), size)
        rates = np.mean([bayes_rates(right[list(crowd)], priors, "first") for crowd in crowds], axis=0)
        off = abs(np.ptp(rates) - np.ptp(priors))
        assert off <= plan.curve.bound[size - 1] + 1e-12
        assert off <= blind.curve.bound[size - 1] + 1e-12
    check_answer(plan)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_without_priors_the_worst_of_them_counts(ties: str) -> None:
    skills = [0.8, 0.7, 0.75]
    plan = plan_crowd(skills, delta=0.02, ties=ties, most=60)
    assert (plan.method, plan.truth_gap, plan.priors) == ("bound", None, None)
    seen = np.zeros(60)
    for priors in itertools.product(np.linspace(0, 1, 6), repeat=3):
        seen = np.maximum(seen, plan_crowd(skills, priors=priors, delta=0.02, ties=ties, most=60).curve.distance)
    assert (seen <= plan.curve.bound + 1e-12).all()
    assert seen[4] == pytest.approx(plan.curve.bound[4])
    check_answer(plan)


def test_votes_that_were_drawn_have_the_planned_gap() -> None:
    rng, n_tasks = np.random.default_rng(4), 200_000
    plan = plan_crowd([0.8, 0.7], priors=ONES, delta=0.02)
    group = rng.integers(0, 2, n_tasks)
    truth = rng.random(n_tasks) < np.array(ONES)[group]
    for votes in (1, 4, plan.votes):
        right = rng.binomial(votes, np.array([0.8, 0.7])[group])
        label = np.where(truth, right, votes - right) > votes / 2
        gap = label[group == 0].mean() - label[group == 1].mean()
        assert gap == pytest.approx(plan.curve.gap[votes - 1], abs=0.01)
    assert plan.curve.distance[plan.votes - 1] <= 0.02
    assert str(plan).startswith(f"{plan.votes} votes per task bring the majority's gap within 0.02 of the truth's: 0.")


# Bounds, against a search over many powers, worker by worker.


def slow_bayes_bound(right: np.ndarray, ones: float | None, size: int) -> float:
    """The bound of one group; right has axes workers and truth. Without a share of ones, the largest over many."""
    powers, shares = np.linspace(0, 1, 4001), np.linspace(0, 1, 401) if ones is None else np.array([ones])
    rho = np.zeros(powers.size)
    for zero, one in right:
        rho += (1 - zero) ** (1 - powers) * one**powers  # they say 1
        rho += zero ** (1 - powers) * (1 - one) ** powers
    rho /= len(right)
    at = rho.argmin()
    largest = ((1 - shares) ** (1 - powers[at]) * shares ** powers[at]).max() * rho[at] ** size
    return min(float(largest), 0.5 if ones is None else min(ones, 1 - ones))


@pytest.mark.parametrize("n_workers", [1, 2, 5])
@pytest.mark.parametrize("known", [False, True])
def test_the_bound_of_bayes_is_chernoffs(n_workers: int, known: bool) -> None:
    rng = np.random.default_rng(n_workers)
    right, priors, sizes = rng.uniform(0.55, 0.95, (n_workers, 3, 2)), np.array([0.3, 0.5, 0.9]), np.array([1, 4, 9])
    found = bayes_errors_bound(right, priors if known else None, sizes)
    wanted = [[slow_bayes_bound(right[:, a], priors[a] if known else None, n) for a in range(3)] for n in sizes]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert (np.diff(found, axis=0) <= 0).all()


def test_an_error_is_never_more_likely_than_the_rarer_class() -> None:
    guesses = np.full((4, 3, 2), 0.5)
    assert bayes_errors_bound(guesses, np.array([0.2, 0.5, 0.9]), np.array([1, 50]))[1] == pytest.approx(
        [0.2, 0.5, 0.1]
    )
    assert bayes_errors_bound(guesses, None, np.array([1, 50])).tolist() == [[0.5] * 3] * 2


def test_the_bound_of_the_majority_is_that_of_the_mean_skill() -> None:
    right = np.array([[[0.9, 0.6], [0.5, 0.5]], [[0.7, 0.8], [0.5, 0.3]]])
    found = majority_errors_bound(right, np.array([1, 3]))
    for a, y in itertools.product((0, 1), repeat=2):
        mean = (right[0, a, y] + right[1, a, y]) / 2
        wanted = (4 * mean * (1 - mean)) ** 0.5 if mean > 0.5 else 1.0
        assert found[:, a, y] == pytest.approx([wanted, wanted**3])


def test_the_bound_of_a_curve_adds_the_two_worst_groups() -> None:
    right, priors = np.array([[[0.95, 0.9], [0.8, 0.7], [0.85, 0.6]]] * 9), np.array([0.2, 0.5, 0.7])
    curve = plan_curve(Pool(list("abc"), right, False, priors), 9, "majority", "first")
    errors = majority_errors_bound(right, curve.votes)
    for n in range(9):
        of_group = sorted(errors[n, a, 0] * (1 - priors[a]) + errors[n, a, 1] * priors[a] for a in range(3))
        assert curve.bound[n] == pytest.approx(min(of_group[1] + of_group[2], 1.0))
    by_bayes = plan_curve(Pool(list("abc"), right, False, None), 9, "bayes", "first")
    of_groups = np.sort(bayes_errors_bound(right, None, by_bayes.votes), axis=1)
    np.testing.assert_allclose(by_bayes.bound, of_groups[:, 1] + of_groups[:, 2])
    assert np.isnan(by_bayes.gap).all()


@pytest.mark.parametrize("ties", ["first", "last"])
def test_equal_workers_vote_as_a_pool_does(ties: str) -> None:
    right, sizes = np.array([[0.8, 0.6], [0.7, 0.9]]), np.arange(1, 7)
    pool = pool_majority(np.tile(right, (6, 1, 1)), sizes, ties)
    np.testing.assert_allclose(equal_majority(right, sizes, ties), pool, atol=1e-13)


def test_a_curve_ends_with_the_workers_unless_they_are_endless() -> None:
    right, priors = np.full((1, 2, 2), 0.8), np.array([0.3, 0.6])
    endless, one = (plan_curve(Pool(["a", "b"], right, end, priors), 5, "majority", "first") for end in (True, False))
    assert (endless.votes.tolist(), one.votes.tolist()) == ([1, 2, 3, 4, 5], [1])
    three = Pool(["a", "b"], np.tile(right, (3, 1, 1)), False, priors)
    assert [plan_curve(three, most, "majority", "first").votes.size for most in (2, 3, 4)] == [2, 3, 3]
