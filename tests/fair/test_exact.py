"""Fair labels against independent optima: HiGHS over all tasks, and every labelling of small problems."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fair import optima
from faircrowd import make_fair
from faircrowd.errors import DataWarning
from strategies import examples

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 1.0)


@st.composite
def problems(draw: st.DrawFn, max_classes: int = 3, max_groups: int = 3, max_tasks: int = 8) -> tuple:
    n_classes = draw(st.integers(2, max_classes))
    n_groups = draw(st.integers(2, max_groups))
    n_tasks = draw(st.integers(n_groups, max_tasks))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_tasks - n_groups)]))
    tied = draw(st.booleans())
    votes = rng.multinomial(5, np.ones(n_classes) / n_classes, n_tasks) / 5
    posterior = votes if tied else rng.dirichlet(np.ones(n_classes), n_tasks)
    return posterior, group, draw(st.sampled_from(EPSILONS))


@given(problems())
@settings(max_examples=examples(150))
def test_bound_and_randomized_rule_are_the_optimum(problem: tuple) -> None:
    posterior, group, epsilon = problem
    fair = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    optimum = optima.best_randomized(posterior, group, epsilon)
    assert fair.certificate.bound == pytest.approx(optimum, abs=1e-8)
    x = fair.probabilities
    assert float((posterior * x).sum(axis=1).mean()) == pytest.approx(optimum, abs=1e-8)
    rates = np.array([x[group == a].mean(axis=0) for a in np.unique(group)])
    assert np.ptp(rates, axis=0).max() <= epsilon + 1e-9
    np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=1e-12)
    assert set(fair.labels) <= set(range(posterior.shape[1]))
    assert (x[np.arange(len(x)), fair.labels] > 0).all()


@given(problems(max_classes=2, max_groups=2, max_tasks=9))
@settings(max_examples=examples(150))
def test_deterministic_labels_of_two_classes_and_groups_are_exact(problem: tuple) -> None:
    posterior, group, epsilon = problem
    fair = make_fair(posterior, group, epsilon=epsilon)
    best, allowed = optima.best_allowed(posterior, group, epsilon, fair.certificate.bound)
    assert optima.gap(fair.labels, group, 2) <= allowed + 1e-12
    assert fair.certificate.gap == pytest.approx(optima.gap(fair.labels, group, 2), abs=1e-15)
    assert fair.certificate.gap_allowed == pytest.approx(min(allowed, 1.0), abs=1e-4)
    assert bool(fair.certificate.why) == (allowed > epsilon)
    assert fair.certificate.value == pytest.approx(best, abs=1e-12)
    assert fair.certificate.optimal
    with warnings.catch_warnings():  # it may have a price
        warnings.simplefilter("ignore", DataWarning)
        strict = make_fair(posterior, group, epsilon=epsilon, strict=True)
    assert strict.certificate.gap <= epsilon + 1e-12
    assert strict.certificate.gap_allowed == epsilon
    assert strict.certificate.value == pytest.approx(optima.best_deterministic(posterior, group, epsilon), abs=1e-12)


@given(problems())
@settings(max_examples=examples(100))
def test_deterministic_labels_keep_close_to_epsilon(problem: tuple) -> None:
    posterior, group, epsilon = problem
    fair = make_fair(posterior, group, epsilon=epsilon)
    reached = optima.gap(fair.labels, group, posterior.shape[1])
    assert fair.certificate.gap == pytest.approx(reached, abs=1e-12)
    assert reached <= fair.certificate.gap_allowed + 1e-12
    assert fair.certificate.gap_allowed < epsilon + 1 / np.bincount(group).min()
    if reached <= epsilon + 1e-9:
        assert fair.certificate.value <= fair.certificate.bound + 1e-9
        assert fair.certificate.optimality_gap >= -1e-9
    fair.certificate.verify(posterior, group, fair.labels)


@given(problems(max_classes=2, max_groups=2, max_tasks=8))
@settings(max_examples=examples(60))
def test_f1_is_the_best_there_is(problem: tuple) -> None:
    posterior, group, epsilon = problem
    assume(posterior[:, 1].sum() > 0)
    fair = make_fair(posterior, group, epsilon=epsilon, objective="f1")
    best, allowed = optima.best_allowed_f1(posterior[:, 1], group, epsilon, fair.certificate.bound)
    assert fair.certificate.value == pytest.approx(best, abs=1e-9)
    assert fair.certificate.gap_allowed == pytest.approx(min(allowed, 1.0), abs=1e-4)
    if allowed == epsilon:
        assert fair.certificate.bound >= fair.certificate.value - 1e-12


@given(problems(), st.integers(0, 1000))
@settings(max_examples=examples(60))
def test_any_matrix_of_gains(problem: tuple, seed: int) -> None:
    posterior, group, epsilon = problem
    gains = np.random.default_rng(seed).normal(size=(posterior.shape[1],) * 2)
    fair = make_fair(posterior, group, epsilon=epsilon, objective=gains)
    assert fair.certificate.bound == pytest.approx(optima.best_randomized(posterior @ gains, group, epsilon), abs=1e-7)


@given(problems(max_classes=2, max_groups=2), st.integers(0, 1000))
@settings(max_examples=examples(60))
def test_weights(problem: tuple, seed: int) -> None:
    posterior, group, epsilon = problem
    weights = np.random.default_rng(seed).uniform(0.5, 3.0, len(group))
    fair = make_fair(posterior, group, epsilon=epsilon, sample_weight=weights)
    optimum = optima.best_randomized(posterior, group, epsilon, weights)
    assert fair.certificate.bound == pytest.approx(optimum, abs=1e-8)
    assert fair.certificate.gap <= fair.certificate.gap_allowed + 1e-9


@given(problems(max_classes=2, max_groups=2))
@settings(max_examples=examples(60))
def test_the_special_path_equals_the_general_one(problem: tuple) -> None:
    """A third class that nothing speaks for, or a third group that mirrors the first, takes the general path."""
    posterior, group, epsilon = problem
    special = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    wider = np.hstack([posterior, np.zeros((len(group), 1))])
    general = make_fair(wider, group, epsilon=epsilon, decision="randomized")
    assert general.certificate.bound == pytest.approx(special.certificate.bound, abs=1e-8)


@given(problems(max_classes=2, max_groups=2))
@settings(max_examples=examples(100))
def test_thresholds_are_the_papers(problem: tuple) -> None:
    posterior, group, epsilon = problem
    fair = make_fair(posterior, group, epsilon=epsilon, decision="randomized")
    beta = 2 * fair.rule.multipliers[1, 1]
    for a, sign in ((0, -1.0), (1, 1.0)):
        share = np.mean(group == a)
        threshold = (share + sign * beta) / (2 * share)
        assert fair.rule.thresholds[a] == pytest.approx(threshold, abs=1e-12)
        p, x = posterior[group == a, 1], fair.probabilities[group == a, 1]
        assert (x[p > threshold + 1e-9] == 1).all()
        assert (x[p < threshold - 1e-9] == 0).all()


@given(problems(max_classes=2, max_groups=2, max_tasks=12))
@settings(max_examples=examples(60))
def test_every_point_of_the_frontier_is_a_solution(problem: tuple) -> None:
    posterior, group, _ = problem
    frontier = make_fair(posterior, group, epsilon=0.1).frontier
    assert (np.diff(frontier.gap) < 0).all()
    assert (np.diff(frontier.value) <= 1e-15).all()
    for epsilon in EPSILONS:
        alone = make_fair(posterior, group, epsilon=epsilon, decision="randomized").certificate
        assert frontier.at(epsilon).value == pytest.approx(alone.bound, abs=1e-12)
        assert frontier.at(epsilon).gap <= epsilon + 1e-12
