"""Error exponents of both votes: against grids, every outcome, and draws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd.audit.majority.poisson_binomial import poisson_binomial
from faircrowd.audit.theory import bayes_exponent, error_bound, exact_majority_given_truth, majority_exponent
from faircrowd.errors import OptionError
from strategies import examples

SKILLS = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.01, 0.99)), min_size=1, max_size=9)


def random_matrices(rng: np.random.Generator, n_workers: int, n_classes: int) -> np.ndarray:
    """Matrices of workers who are more often right than not, some of them nearly certain."""
    errors = rng.dirichlet(np.full(n_classes, 0.5), (n_workers, n_classes)).transpose(0, 2, 1)
    lean = rng.uniform(0, 2)
    return (errors + lean * np.eye(n_classes)) / (1 + lean)


def majority_error(skills: np.ndarray) -> float:
    """The probability of at most half right votes: an error, however ties are broken."""
    return float(poisson_binomial(skills)[: skills.size // 2 + 1].sum())


def bayes_error(errors: np.ndarray, priors: np.ndarray) -> float:
    """The smallest possible error, by all outcomes."""
    n_workers, n_classes, _ = errors.shape
    kept = 0.0
    for outcome in itertools.product(range(n_classes), repeat=n_workers):
        kept += (priors * np.prod([errors[r, j] for r, j in enumerate(outcome)], axis=0)).max()
    return 1 - kept


@given(SKILLS)
def test_bayes_exponent_of_skills_is_the_printed_one(skills: list[float]) -> None:
    p = np.array(skills)
    with np.errstate(divide="ignore"):
        printed = -np.log(2 * np.sqrt(p * (1 - p))).mean()
    assert bayes_exponent(skills) == pytest.approx(max(printed, 0.0), abs=1e-12)


@given(SKILLS)
def test_majority_exponent_is_the_minimum_over_t(skills: list[float]) -> None:
    p, t = np.array(skills), np.exp(-np.linspace(0, 12, 20_001))[:, None]
    on_grid = -np.log(p * t + (1 - p) / t).mean(axis=1).min()
    found = majority_exponent(skills)
    assert found >= on_grid - 1e-12
    if (p == 1).sum() < (p < 1).sum():  # else the minimum is at t = 0, off the grid
        assert found == pytest.approx(on_grid, abs=1e-6)


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40))
def test_chernoff_information_is_the_minimum_over_s(n_workers: int, n_classes: int, seed: int) -> None:
    errors = random_matrices(np.random.default_rng(seed), n_workers, n_classes)
    s = np.linspace(0, 1, 4001)[:, None, None]
    pairs = [
        -np.log((errors[:, :, k] ** (1 - s) * errors[:, :, other] ** s).sum(axis=2)).mean(axis=1).min()
        for k, other in itertools.combinations(range(n_classes), 2)
    ]
    found = bayes_exponent(errors)
    assert min(pairs) - 1e-12 <= found <= min(pairs) + 1e-4


@given(SKILLS, st.floats(0, 1))
def test_errors_are_within_their_bounds(skills: list[float], ones: float) -> None:
    p = np.array(skills)
    matrices = np.array([[[q, 1 - q], [1 - q, q]] for q in skills])
    assert majority_error(p) <= error_bound(skills, vote="majority") + 1e-12
    assert bayes_error(matrices, np.array([1 - ones, ones])) <= error_bound(skills, vote="bayes") + 1e-12
    assert error_bound(matrices, vote="majority") == pytest.approx(error_bound(skills, vote="majority"))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_errors_are_within_their_bounds_in_many_classes(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for _ in range(40):
        errors = random_matrices(rng, int(rng.integers(1, 5)), n_classes)
        priors = rng.dirichlet(np.ones(n_classes))
        assert bayes_error(errors, priors) <= error_bound(errors, vote="bayes") + 1e-12
        for k, ties in itertools.product(range(n_classes), ("first", "last")):
            exact = exact_majority_given_truth(errors[:, None], np.eye(n_classes)[[k]])
            assert 1 - getattr(exact, ties)[0, k] <= error_bound(errors, vote="majority") + 1e-12


def test_errors_of_drawn_votes_are_within_their_bounds() -> None:
    rng = np.random.default_rng(0)
    skills = rng.uniform(0.55, 0.8, 15)
    right = rng.random((100_000, 15)) < skills
    weights = np.log(skills / (1 - skills))
    wrong = {"majority": right.sum(axis=1) <= 7, "bayes": (2 * right - 1) @ weights <= 0}
    for vote, errors in wrong.items():
        assert 0.005 < errors.mean() <= error_bound(skills, vote=vote)


def test_the_exponent_is_the_rate_at_which_the_error_decreases() -> None:
    exponent = majority_exponent([0.7])
    errors = [majority_error(np.full(n, 0.7)) for n in (201, 401)]
    assert -math.log(errors[1] / errors[0]) / 200 == pytest.approx(exponent, rel=0.05)


def test_without_brackets_the_exponent_is_false() -> None:
    t = np.linspace(0.01, 1, 1000)
    literal = -(np.log(0.8 * t) + 0.2 / t).min()
    assert majority_error(np.full(15, 0.8)) > math.exp(-15 * literal)
    assert majority_error(np.full(15, 0.8)) <= error_bound([0.8] * 15)


def test_exponents_at_the_edges() -> None:
    assert majority_exponent([1.0, 1.0, 0.0]) == math.inf
    assert error_bound([1.0, 1.0, 0.0]) == 0
    assert majority_exponent([1.0, 0.6]) == pytest.approx(-math.log(0.4) / 2)  # an error if the other is wrong
    assert majority_exponent([0.5, 0.5]) == majority_exponent([0.9, 0.1]) == 0
    assert bayes_exponent([0.5, 0.5]) == 0
    assert bayes_exponent([0.5, 0.0]) == math.inf
    never = np.array([[[0.5, 0.0], [0.5, 1.0]]])  # label 0 is given only where the truth is 0
    assert bayes_exponent(never) == pytest.approx(math.log(2))


@pytest.mark.parametrize("bad", [[], [1.2], [[0.5, 0.5]], [[[0.5, 0.5], [0.6, 0.5]]], "skills", [[["a"]]]])
def test_crowds_that_are_refused(bad: object) -> None:
    with pytest.raises(OptionError):
        majority_exponent(bad)
    with pytest.raises(OptionError, match="vote='mode' is not known"):
        error_bound([0.8], vote="mode")
