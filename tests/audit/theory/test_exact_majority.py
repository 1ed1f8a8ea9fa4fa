"""The exact majority of many classes: against every outcome, the two-class distribution, and draws."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.audit.theory import exact_majority, exact_majority_given_truth
from faircrowd.errors import OptionError
from strategies import examples


def every_outcome(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability that each class wins by all outcomes, ties to the first and to the last class."""
    n_voters, n_classes = rates.shape
    first, last = np.zeros(n_classes), np.zeros(n_classes)
    for outcome in itertools.product(range(n_classes), repeat=n_voters):
        mass = np.prod(rates[np.arange(n_voters), outcome])
        best = np.flatnonzero(np.bincount(outcome, minlength=n_classes) == max(map(outcome.count, outcome)))
        first[best[0]] += mass
        last[best[-1]] += mass
    return first, last


@given(st.integers(1, 5), st.integers(2, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40))
def test_majority_is_that_of_all_outcomes(n_voters: int, n_classes: int, seed: int) -> None:
    rates = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.7), (n_voters, 2))
    found = exact_majority(rates)
    for a in range(2):
        first, last = every_outcome(rates[:, a])
        np.testing.assert_allclose(found.first[a], first, atol=1e-14)
        np.testing.assert_allclose(found.last[a], last, atol=1e-14)
    assert found.gap_first == np.ptp(found.first, axis=0).max()
    assert found.gap_last == np.ptp(found.last, axis=0).max()


@pytest.mark.parametrize("n_voters", [1, 2, 9, 40])
def test_two_classes_follow_the_poisson_binomial_distribution(n_voters: int) -> None:
    ones = np.random.default_rng(n_voters).random((n_voters, 3))
    found, known = exact_majority(np.stack([1 - ones, ones], axis=2)), majority_rates(ones)
    np.testing.assert_allclose(found.first[:, 1], known.strict, atol=1e-14)
    np.testing.assert_allclose(found.last[:, 1], known.loose, atol=1e-14)


def test_given_the_truth_it_is_a_mixture() -> None:
    rng = np.random.default_rng(5)
    errors = rng.dirichlet(np.ones(3), (4, 2, 3)).transpose(0, 1, 3, 2)
    priors = rng.dirichlet(np.ones(3), 2)
    found = exact_majority_given_truth(errors, priors)
    for a in range(2):
        wins = [every_outcome(errors[:, a, :, k]) for k in range(3)]
        np.testing.assert_allclose(found.first[a], sum(w * win[0] for w, win in zip(priors[a], wins, strict=True)))
        np.testing.assert_allclose(found.last[a], sum(w * win[1] for w, win in zip(priors[a], wins, strict=True)))


def test_majority_of_drawn_votes() -> None:
    rng, n_tasks = np.random.default_rng(6), 100_000
    rates = rng.dirichlet(np.full(4, 2.0), 9)
    votes = (rng.random((n_tasks, 9, 1)) > rates.cumsum(axis=1)[:, :-1]).sum(axis=2)
    counts = (votes[:, :, None] == np.arange(4)).sum(axis=1)
    found = exact_majority(rates[:, None])
    np.testing.assert_allclose(np.bincount(counts.argmax(axis=1), minlength=4) / n_tasks, found.first[0], atol=0.008)
    last = 3 - counts[:, ::-1].argmax(axis=1)
    np.testing.assert_allclose(np.bincount(last, minlength=4) / n_tasks, found.last[0], atol=0.008)


def test_what_is_too_large_or_not_a_distribution_is_refused() -> None:
    with pytest.raises(OptionError, match=r"100 voters in 6 classes takes about 1e\+13 steps, and 1e\+09 are allowed"):
        exact_majority(np.full((100, 2, 6), 1 / 6))
    with pytest.raises(OptionError, match="sum to one"):
        exact_majority(np.full((3, 2, 2), 0.4))
    for shape in ((3, 2), (3, 2, 1), (0, 2, 2), (3, 0, 2)):
        with pytest.raises(OptionError, match="voters, groups and classes"):
            exact_majority(np.full(shape, 1 / shape[-1]))
    with pytest.raises(OptionError, match="voters, groups, labels and true classes"):
        exact_majority_given_truth(np.full((3, 2, 2, 2), 0.5), [[0.5, 0.5]])
    with pytest.raises(OptionError, match="numbers"):
        exact_majority("votes")


@pytest.mark.parametrize(
    ("shape", "priors"),
    [
        ((3, 2), [0.5, 0.5]),
        ((3, 2), [[0.5, 0.5]]),
        ((3, 2), [[[0.5, 0.5], [0.5, 0.5]]]),
        ((3, 2), [[0.4, 0.3, 0.3]] * 2),
        ((3,), [[0.5, 0.5]] * 3),
        ((0, 2), [[0.5, 0.5]] * 2),
    ],
)
def test_priors_are_one_row_per_group(shape: tuple[int, ...], priors: list) -> None:
    errors = np.full((*shape, 2, 2), 0.5)
    with pytest.raises(OptionError, match="priors one row per group and one column per class; got shapes"):
        exact_majority_given_truth(errors, priors)
