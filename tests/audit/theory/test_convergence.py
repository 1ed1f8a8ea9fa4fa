"""How the gap of the consensus approaches that of the truth: the bound and the limit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.audit.majority.poisson_binomial import poisson_binomial
from faircrowd.audit.theory import (
    asymptotic_fairness,
    convergence_bound,
    error_bound,
    exact_majority_given_truth,
)
from faircrowd.errors import OptionError


def confusion_matrices(skills: np.ndarray) -> np.ndarray:
    """Matrices of workers with these skills in two classes."""
    return np.stack([np.stack([skills, 1 - skills], -1), np.stack([1 - skills, skills], -1)], -1)


def majority_gap(skills: np.ndarray, priors: np.ndarray) -> list[float]:
    share = exact_majority_given_truth(confusion_matrices(skills), np.stack([1 - priors, priors], axis=1))
    return [share.gap_first, share.gap_last]


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


def test_features_by_their_shares_and_as_a_sample() -> None:
    rng = np.random.default_rng(1)
    points = [rng.uniform(0.6, 0.95, (3, 21)), rng.uniform(0.6, 0.95, (2, 21))]
    shares = [np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.1])]
    by_hand = sum(share @ [error_bound(p) for p in own] for own, share in zip(points, shares, strict=True))
    exact = convergence_bound(points, point_shares=shares)
    assert exact == pytest.approx(by_hand)
    drawn = [own[rng.choice(len(share), 2000, p=share)] for own, share in zip(points, shares, strict=True)]
    assert convergence_bound(drawn) == pytest.approx(exact, rel=0.1)
    assert convergence_bound([points[0][0], points[1]], point_shares=[None, shares[1]]) == pytest.approx(
        error_bound(points[0][0]) + shares[1] @ [error_bound(p) for p in points[1]]
    )
    assert convergence_bound([confusion_matrices(own) for own in points], point_shares=shares) == pytest.approx(exact)


def test_bound_holds_for_drawn_tasks_with_features() -> None:
    rng, n_tasks, n_workers = np.random.default_rng(2), 60_000, 25
    skills = rng.uniform(0.55, 0.85, (2, 2, n_workers))  # group, point, worker
    shares, ones = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.3, 0.8], [0.5, 0.9]])
    group = rng.integers(0, 2, n_tasks)
    point = (rng.random(n_tasks) < shares[group, 1]).astype(int)
    truth = rng.random(n_tasks) < ones[group, point]
    right = rng.random((n_tasks, n_workers)) < skills[group, point]
    label = (right == truth[:, None]).sum(axis=1) > n_workers / 2

    def gap(values: np.ndarray) -> float:
        return abs(values[group == 1].mean() - values[group == 0].mean())

    bound = convergence_bound([skills[0], skills[1]], point_shares=list(shares))
    assert bound < 0.7
    assert abs(gap(label) - gap(truth)) <= bound


def test_large_crowds_approach_the_limit() -> None:
    rng = np.random.default_rng(3)
    skills, priors = np.array([[0.9, 0.3, 0.4], [0.6, 0.5, 0.6]]), np.array([0.6, 0.3, 0.9])
    limit = asymptotic_fairness(skills, priors)
    assert limit.right.tolist() == [True, False, False]
    np.testing.assert_allclose(limit.rates, [0.6, 0.7, 0.5])
    assert (limit.gap, limit.truth_gap, limit.holds) == (pytest.approx(0.2), pytest.approx(0.6), False)
    drawn = skills[rng.integers(0, 2, 2001)]
    shares = poisson_binomial(np.column_stack([drawn, 1 - drawn]))[1001:].sum(axis=0).reshape(2, 3)
    rates = priors * shares[0] + (1 - priors) * shares[1]
    np.testing.assert_allclose(rates[:2], limit.rates[:2], atol=1e-3)
    assert np.abs(shares[:, 2] - 0.5).max() < 0.5  # a mean skill of 1/2: neither label is certain to win


def test_the_gap_converges_to_that_of_the_truth() -> None:
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convergence_bound([[0.8], [0.7]], point_shares=[[1.0]]), "each of the 2 groups"),
        (lambda: convergence_bound([[0.8], [0.7]], point_shares=[[0.5, 0.5], None]), "each of the 1 points"),
        (lambda: convergence_bound([[[0.8], [0.8]], [0.7]], point_shares=[[0.5, 0.6], None]), "sum to one"),
        (lambda: asymptotic_fairness([[0.8, 0.7]], [0.5]), "each of 2 groups"),
        (lambda: asymptotic_fairness([[0.8, 0.7]], [0.5, 0.5], vote="mean"), "vote"),
    ],
)
def test_what_cannot_converge_is_refused(call: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call()
