"""Log-linear pools: the loss and its minimum, and what pooling keeps."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from faircrowd.aggregate.calibration.log_pool import (
    Calibrator,
    WeightPrior,
    evidence,
    fit_calibrator,
    member_logs,
    natural_order,
    penalised_loss,
    pool,
    uncalibrated,
)
from faircrowd.aggregate.posterior import log_probabilities, probabilities


def known(seed: int, n_models: int, n_known: int, n_classes: int, *, sharp: float = 2.0) -> tuple[Any, Any, Any]:
    """Log-probabilities of models that are right more often than not, known labels, and groups of three kinds."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_known).astype(np.int32)
    scores = sharp * rng.normal(size=(n_models, n_known, n_classes))
    scores[:, np.arange(n_known), truth] += sharp * rng.uniform(0.5, 1.5, (n_models, 1))
    logs = np.stack([member_logs(part, True, 1.0) for part in scores])
    return logs, truth, rng.integers(0, 3, n_known).astype(np.int32)


def plain_loss(at: Any, logs: Any, truth: Any, group: Any) -> float:
    """The same loss with loops, as the documentation writes it."""
    n_models, n_known, n_classes = logs.shape
    shift, by_group = at[n_models : n_models + n_classes], at[n_models + n_classes :].reshape(-1, n_classes)
    total = 0.0
    for i in range(n_known):
        scores = [
            shift[k]
            + (0.0 if group is None else by_group[group[i], k])
            + sum(np.exp(at[m]) * logs[m, i, k] for m in range(n_models))
            for k in range(n_classes)
        ]
        total -= scores[truth[i]] - max(scores) - np.log(np.exp(np.array(scores) - max(scores)).sum())
    total += 0.5 * sum((at[m] + 0.5) ** 2 for m in range(n_models))
    return float(total + 2 * (shift**2).sum() + 8 * (by_group**2).sum())


SHAPES = [(1, 30, 2), (2, 40, 3), (3, 25, 6), (2, 5, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_group", [False, True])
def test_the_loss_and_its_gradient(shape: tuple[int, int, int], by_group: bool) -> None:
    logs, truth, group = known(0, *shape)
    group = group if by_group else None
    size = shape[0] + shape[2] * (4 if by_group else 1)
    for seed in range(3):
        at = np.random.default_rng(seed).normal(-0.5, 0.5, size)
        value, slopes = penalised_loss(at, logs, truth, group)
        assert value == pytest.approx(plain_loss(at, logs, truth, group), rel=1e-10)
        numeric = approx_fprime(at, lambda x: plain_loss(x, logs, truth, group), 1e-6)
        np.testing.assert_allclose(slopes, numeric, atol=1e-3, rtol=1e-4)


def test_the_loss_with_a_prior_and_covariates() -> None:
    logs, truth, group = known(3, 3, 30, 3)
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(3, 3))
    prior = WeightPrior(0.2, mixed @ mixed.T + np.eye(3))
    covariates = rng.normal(size=(30, 2))

    def plain(at: Any) -> float:
        """The plain loss of scores to which covariates have been added as one more model, with its own penalty."""
        slopes = at[-6:].reshape(2, 3)
        more = np.concatenate([logs, (covariates @ slopes)[None]])
        whole = np.concatenate([at[:3], [0.0], at[3:-6]])
        away = at[:3] - prior.usual
        usual = 0.5 * ((at[:3] + 0.5) ** 2).sum() + 0.5 * 0.5**2  # what the plain loss adds for four weights
        return (
            plain_loss(whole, more, truth, group) - usual + 0.5 * away @ prior.precision @ away + 2 * (slopes**2).sum()
        )

    at = rng.normal(0, 0.5, 3 + 3 * 4 + 6)
    value, slopes = penalised_loss(at, logs, truth, group, prior, covariates)
    assert value == pytest.approx(plain(at), rel=1e-10)
    np.testing.assert_allclose(slopes, approx_fprime(at, plain, 1e-6), atol=1e-3, rtol=1e-4)
    found = fit_calibrator(logs, truth, group, 3, prior=prior, covariates=covariates)
    end = minimize(penalised_loss, at, args=(logs, truth, group, prior, covariates), jac=True, method="CG")
    np.testing.assert_allclose(found.weights, np.exp(end.x[:3]), atol=1e-3)
    np.testing.assert_allclose(found.slopes, end.x[-6:].reshape(2, 3), atol=1e-3)


@pytest.mark.parametrize("shape", [*SHAPES, (1, 1, 2), (2, 1, 4), (3, 150, 4)])
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("sharp", [0.1, 2.0, 60.0])
def test_the_minimum(shape: tuple[int, int, int], by_group: bool, sharp: float) -> None:
    """Another method, from other starts, finds nothing lower and no other place."""
    logs, truth, group = known(1, *shape, sharp=sharp)
    found = fit_calibrator(logs, truth, group if by_group else None, 3)
    n_models, _, n_classes = shape
    rng = np.random.default_rng(2)
    ends = []
    for _ in range(3):
        at = np.concatenate([rng.uniform(-3, 0.5, n_models), rng.normal(0, 0.3, n_classes * (4 if by_group else 1))])
        given = (logs, truth, group if by_group else None)
        ends.append(minimize(penalised_loss, at, args=given, jac=True, method="CG", options={"gtol": 1e-6}))
    best = min(ends, key=lambda end: float(end.fun))
    shifts = best.x[n_models : n_models + n_classes] + (
        best.x[n_models + n_classes :].reshape(3, n_classes) if by_group else np.zeros((1, n_classes))
    )
    np.testing.assert_allclose(found.weights, np.exp(best.x[:n_models]), atol=2e-5)
    np.testing.assert_allclose(found.shifts, shifts, atol=2e-5)


def test_many_labels_find_the_temperature() -> None:
    """Posteriors that are three times too sure get a weight of a third, and shifts that were taken away come back."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.7, 0.7, 0.7], 20_000)
    truth = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1).astype(np.int32)
    shift = np.array([0.5, 0.0, -0.5])
    logs = member_logs(3 * (np.log(p) - shift), True, 1.0)[None]
    found = fit_calibrator(logs, truth)
    np.testing.assert_allclose(found.weights, [1 / 3], atol=0.01)
    np.testing.assert_allclose(found.shifts[0] - found.shifts[0].mean(), shift, atol=0.06)
    np.testing.assert_allclose(probabilities(pool(list(logs), found, None), True), p, atol=0.02)


def test_shifts_by_group() -> None:
    """One group calls class 1 too often, the other too seldom: shifts by group mend it, one shift cannot."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 20_000)
    truth, group = (rng.random(20_000) < p).astype(np.int32), np.arange(20_000, dtype=np.int32) % 2
    odds = np.log(p / (1 - p)) + np.where(group == 0, 0.8, -0.8)
    logs = member_logs(np.stack([np.zeros(20_000), odds], axis=1), True, 1.0)[None]
    one, two = fit_calibrator(logs, truth), fit_calibrator(logs, truth, group, 2)
    assert one.shifts.shape == (1, 2)
    difference = two.shifts[:, 1] - two.shifts[:, 0]
    np.testing.assert_allclose(difference, [-0.8, 0.8], atol=0.15)

    def off(calibrator: Calibrator) -> float:
        after = probabilities(pool(list(logs), calibrator, group), True)[:, 1]
        return float(max(abs(after[group == a].mean() - truth[group == a].mean()) for a in range(2)))

    assert off(one) > 0.1
    assert off(two) < 0.01


def test_a_group_without_known_labels_has_the_shifts_of_all() -> None:
    logs, truth, _ = known(3, 2, 60, 3)
    group = (np.arange(60) % 2).astype(np.int32)
    found = fit_calibrator(logs, truth, group, 4)
    assert found.shifts.shape == (4, 3)
    np.testing.assert_array_equal(found.shifts[2], found.shifts[3])
    assert not np.array_equal(found.shifts[0], found.shifts[1])
    scores = pool(list(logs), found, group)
    np.testing.assert_allclose(scores[1] - np.tensordot(found.weights, logs[:, 1], 1), found.shifts[1], atol=1e-12)


def test_few_labels_hardly_move_the_weights() -> None:
    logs, truth, _ = known(4, 2, 2, 2)
    assert np.abs(np.log(fit_calibrator(logs, truth).weights) + 0.5).max() < 0.6


def test_a_model_that_is_right_gets_more_weight_than_one_that_guesses() -> None:
    logs, truth, _ = known(5, 1, 200, 3)
    guesses = known(6, 1, 200, 3)[0]
    right, guess = fit_calibrator(np.concatenate([logs, guesses]), truth).weights
    assert right > 5 * guess


@given(seed=st.integers(0, 1000), n_models=st.integers(1, 3), n_classes=st.integers(1, 4), tied=st.booleans())
def test_the_order_of_tasks_does_not_matter(seed: int, n_models: int, n_classes: int, tied: bool) -> None:
    logs, truth, group = known(seed, n_models, 24, n_classes)
    if tied:  # many tasks are alike
        logs = logs[:, np.arange(24) // 6 * 6]
    order = np.random.default_rng(seed).permutation(24)
    for groups in (None, group):
        here = fit_calibrator(logs, truth, groups, 3)
        there = fit_calibrator(logs[:, order], truth[order], None if groups is None else groups[order], 3)
        np.testing.assert_array_equal(here.weights, there.weights)
        np.testing.assert_array_equal(here.shifts, there.shifts)


def test_the_natural_order_is_free_of_names() -> None:
    logs, truth, group = known(7, 2, 40, 3)
    order = natural_order(logs, truth, group)
    assert sorted(order.tolist()) == list(range(40))
    shuffled = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(shuffled[natural_order(logs[:, shuffled], truth[shuffled], group[shuffled])], order)
    np.testing.assert_array_equal(natural_order(logs[..., ::-1], (2 - truth).astype(np.int32), 2 - group), order)
    mirrored = np.log([[[0.3, 0.7], [0.7, 0.3]]])  # as sure of one class as of the other, and class 0 is right
    for one, truth_of_both in ((mirrored, 0), (mirrored[..., ::-1], 1)):
        assert natural_order(one, np.full(2, truth_of_both, dtype=np.int32)).tolist() == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_saturated_posteriors(n_classes: int) -> None:
    """Certain of the truth, certain of something else, or both: everything stays finite."""
    truth = np.zeros(20, dtype=np.int32)
    sure, wrong = np.full((2, 20, n_classes), -np.inf)
    sure[:, 0] = wrong[:, 1] = 0.0
    for scores in (sure, wrong, np.where(np.arange(20)[:, None] % 2 == 0, sure, wrong)):
        logs = member_logs(scores, True, 1.0)[None]
        assert np.isfinite(logs).all()
        found = fit_calibrator(logs, truth)
        assert np.isfinite(found.weights).all()
        assert np.isfinite(log_probabilities(pool(list(logs), found, None), True)).all()
    assert fit_calibrator(member_logs(sure, True, 1.0)[None], truth).weights[0] > 1e-3
    assert fit_calibrator(member_logs(wrong, True, 1.0)[None], truth).weights[0] < 0.01


def test_shares_of_votes_are_smoothed_by_hand() -> None:
    found = np.exp(member_logs(np.array([[3.0, 1.0], [0.0, 2.0]]), False, np.array([4, 2])))
    np.testing.assert_allclose(found, [[3.3 / 4.6, 1.3 / 4.6], [0.3 / 2.6, 2.3 / 2.6]])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    weighted = np.exp(member_logs(np.array([[0.6, 0.2]]), False, np.array([4])))  # weights of workers, as shares
    np.testing.assert_allclose(weighted, [[3.3 / 4.6, 1.3 / 4.6]])


def test_one_number_of_votes_for_all_tasks_keeps_their_order() -> None:
    scores = np.array([[3.0, 0.0], [4.0, 1.0], [1.0, 0.0], [1.0, 1.0], [9.0, 1.0]])
    share = scores[:, 0] / scores.sum(axis=1)
    logs = member_logs(scores, False, 2.5)
    np.testing.assert_array_equal(np.argsort(logs[:, 0], kind="stable"), np.argsort(share, kind="stable"))
    assert logs[0, 0] == logs[2, 0]
    with_own = member_logs(scores, False, scores.sum(axis=1))
    assert with_own[0, 0] > with_own[2, 0]  # three votes of three say more than one of one


def test_votes_count_as_those_of_a_cluster() -> None:
    """Kish's design effect: v votes that go together with 0.4 are worth v / (1 + 0.4 (v - 1)) independent ones."""
    votes = np.array([1, 2, 3, 11, 10**9])
    worth = votes * evidence(votes).ravel()
    np.testing.assert_allclose(worth, [1, 2 / 1.4, 3 / 1.8, 11 / 5, 2.5], rtol=1e-6)
    assert (np.diff(worth) > 0).all()  # one more vote never says less
    assert evidence(4.0).shape == (1, 1)
    assert evidence(np.empty(0, dtype=np.int64)).shape == (0, 1)


def test_without_calibration_all_models_count_alike() -> None:
    logs = known(8, 2, 10, 3)[0]
    p = probabilities(pool(list(logs), uncalibrated(2, 3), None), True)
    mean = np.exp(logs.mean(axis=0))
    np.testing.assert_allclose(p, mean / mean.sum(axis=1, keepdims=True))


def test_a_pool_by_hand() -> None:
    calibrator = Calibrator(np.array([0.5, 2.0]), np.array([[0.0, 0.1], [0.2, 0.3]]))
    first, second = np.log([[0.25, 0.75]]), np.log([[0.6, 0.4]])
    found = pool([first, second], calibrator, np.array([1], dtype=np.int32))
    np.testing.assert_allclose(np.exp(found), [[0.5 * 0.36 * np.exp(0.2), 0.75**0.5 * 0.16 * np.exp(0.3)]])
