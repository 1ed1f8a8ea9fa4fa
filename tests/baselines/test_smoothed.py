"""The paper's Algorithm 1: each step by hand, and the whole against the exact rule and the authors' figures."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from sklearn.model_selection import train_test_split

import faircrowd as fc
from baselines.crowds import crowd_judgement, simulated, two
from faircrowd.baselines import SmoothedFairCrowd
from faircrowd.baselines.smoothed_steps import (
    search_tie_weights,
    soft_dual,
    soft_prices,
    spread_by_rank,
    spread_by_value,
)
from faircrowd.errors import InputError, OptionError


def smooth_crowd(n_tasks: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors without ties, higher in group 1."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n_tasks) < 0.6).astype(int)
    return rng.beta(np.where(group == 1, 3, 2), np.where(group == 1, 2, 3)), group


def test_sure_posteriors_are_spread_by_value() -> None:
    p = np.array([0.5, 0.95, 0.96, 0.99, 0.99, 1.0, 0.04, 0.0])
    spread = spread_by_value(two(p), 0.04)
    third = 0.04 / 3  # three different values at the high end, two at the low one
    expected = [0.5, 0.95, 0.96 + third, 0.96 + 2 * third, 0.96 + 2 * third, 1.0, 0.02, 0.0]
    np.testing.assert_allclose(spread[:, 1], expected, atol=1e-15)
    np.testing.assert_allclose(spread.sum(axis=1), 1.0)


def test_spreading_keeps_the_order() -> None:
    p = np.sort(np.random.default_rng(0).beta(0.1, 0.1, 500))
    assert (np.diff(spread_by_value(two(p), 0.04)[:, 1]) >= 0).all()


def test_order_survives_where_posteriors_round_to_one() -> None:
    posterior = np.array([[1e-20, 1.0], [1e-30, 1.0], [0.5, 0.5]])
    spread = spread_by_value(posterior, 0.04)
    assert 0.96 < spread[0, 1] < spread[1, 1] == 1.0


def test_sure_posteriors_are_ranked_a_part() -> None:
    p = np.array([0.99, 0.97, 0.99, 0.98, 0.02, 0.96])
    keys = np.array([5, 0, 4, 0, 0, 0], dtype=np.uint64)
    spread = spread_by_rank(two(p), 0.04, keys, np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    # Group 0 holds three: .97, then the two of .99 by key; group 1 one at either end; the other column stays.
    np.testing.assert_allclose(spread[:, 1], [0.96 + 0.08 / 3, 0.96, 0.96 + 0.04 / 3, 0.96, 0.02, 0.96], atol=1e-15)
    np.testing.assert_allclose(spread[:, 0], [0.01, 0.03, 0.01, 0.02, 0.96, 0.04], atol=1e-15)


@pytest.mark.parametrize(
    ("sure", "tied", "beta", "expected"),
    [
        ((0.2, 0.3), (0.0, 0.4), 0.1, (0.0, 0.5)),  # .3 + .4 / 2 - .2 = .3
        ((0.2, 0.3), (0.4, 0.0), -0.1, (1.0, 0.0)),  # the nearest to -.3 is .3 - .6
        ((0.2, 0.3), (0.5, 0.5), 0.0, (0.0, 0.0)),  # within epsilon as it is
        ((0.1, 0.6), (0.4, 0.1), 0.0, (0.5, 0.0)),  # .6 - .1 - .4 / 2 = .3, the least weight that will do
        ((0.2, 0.5), (0.2, 0.2), 0.1, (0.0, 0.0)),  # of many pairs, the smallest
    ],
)
def test_tie_weights_by_hand(sure, tied, beta, expected) -> None:
    found = search_tie_weights(np.array(sure), np.array(tied), 0.3, beta, 101)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("one_price", [True, False])
def test_the_slope_of_the_dual(one_price: bool) -> None:
    p, group = smooth_crowd(50)
    dual = soft_dual(two(p), group, 0.05, 0.05, one_price=one_price)
    x = np.random.default_rng(1).uniform(0.01, 0.2, 2 if one_price else 4)
    assert check_grad(lambda x: dual(x)[0], lambda x: dual(x)[1], x) < 1e-6


def test_the_dual_by_hand() -> None:
    # One task a group, pi = 1/2 and beta = .2: the scores are .5 P_k -+ .1 in group 1, +- in group 0.
    dual = soft_dual(two(np.array([0.2, 0.9])), np.array([0, 1]), 0.3, 0.1, one_price=True)

    def soft(x: float, y: float) -> float:
        return float(np.average([x, y], weights=np.exp(np.array([x, y]) / 0.1)))

    expected = soft(0.4 - 0.1, 0.1 + 0.1) + soft(0.05 + 0.1, 0.45 - 0.1) + 0.3 * 0.2
    assert dual(np.array([0.2, 0.0]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("protocol", ["printed", "published"])
@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.02])
def test_without_ties_it_is_nearly_exact(protocol: str, epsilon: float) -> None:
    p, group = smooth_crowd()
    rule = SmoothedFairCrowd(epsilon=epsilon, protocol=protocol).fit(two(p), sensitive_features=group)
    exact = fc.make_fair(two(p), group, epsilon=epsilon)
    assert rule.outcome_.gap == pytest.approx(exact.certificate.gap, abs=0.01)
    assert rule.outcome_.expected_accuracy == pytest.approx(exact.certificate.expected_accuracy, abs=0.002)
    # Thresholds: 1/2 + s_a beta_1 / pi_a.
    shares = np.bincount(group) / group.size
    np.testing.assert_allclose(0.5 + np.array([-1, 1]) * rule.beta_[1] / shares, exact.rule.thresholds, atol=0.01)


def test_heavy_ties_are_missed_and_said() -> None:
    # Two values a group: the softened dual rests c away from the tie, and delta is smaller than that.
    p, group = np.repeat([0.6, 0.4, 0.6, 0.4], [60, 40, 90, 10]), np.repeat([0, 1], 100)
    outcome = SmoothedFairCrowd(epsilon=0.05).fit(two(p), sensitive_features=group).outcome_
    assert fc.make_fair(two(p), group, epsilon=0.05).certificate.gap <= 0.05 + 1e-12
    assert outcome.gap > 0.05 + 0.005
    # With a delta that reaches the tie, the weights are found (and drawn by lot).
    rule = SmoothedFairCrowd(epsilon=0.05, delta=1e-2).fit(two(p), sensitive_features=group)
    assert rule.omega_ is not None
    assert 0 < rule.omega_.max() < 1
    gaps = [
        SmoothedFairCrowd(epsilon=0.05, delta=1e-2, random_state=seed).fit(two(p), sensitive_features=group).outcome_
        for seed in range(30)
    ]
    assert np.mean([outcome.gap for outcome in gaps]) == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize("protocol", ["printed", "published"])
def test_many_classes(protocol: str) -> None:
    crowd = simulated(1500, n_classes=4)
    rule = SmoothedFairCrowd(fc.DawidSkene(by_group=True), epsilon=0.05, protocol=protocol)
    rule.fit(crowd.votes, sensitive_features=crowd.groups)
    assert rule.omega_ is None
    assert rule.beta_.shape == (4,)
    assert rule.outcome_.gap < 0.08 < rule.outcome_.gap_before


@pytest.mark.parametrize("protocol", ["printed", "published"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predict_on_the_same_votes_gives_the_same_labels(protocol: str, n_classes: int) -> None:
    crowd = simulated(300, n_classes=n_classes)
    rule = SmoothedFairCrowd(fc.MajorityVote(), epsilon=0.05, protocol=protocol)
    rule.fit(crowd.votes, sensitive_features=crowd.groups)
    again = rule.predict(crowd.votes.sample(frac=1, random_state=1), sensitive_features=crowd.groups)
    pd.testing.assert_series_equal(again, rule.labels_)


def test_predict_goes_by_the_names_of_classes_and_groups() -> None:
    p, group = smooth_crowd(400)
    tasks = pd.Index(range(400), name="task")
    posterior = pd.DataFrame(two(p), index=tasks, columns=["no", "yes"])
    names = pd.Series(np.array(["x", "y"])[group], index=tasks)
    rule = SmoothedFairCrowd(epsilon=0.05).fit(posterior, sensitive_features=names)
    some = posterior.loc[names == "y", ["yes", "no"]]
    found = rule.predict(some, sensitive_features=names)
    pd.testing.assert_series_equal(found, rule.labels_[names == "y"], check_names=False)
    with pytest.raises(InputError, match="groups that the fit did not have: 'z'"):
        rule.predict(some, sensitive_features=names.replace("y", "z"))
    with pytest.raises(InputError, match="differ from those of the fit"):
        rule.predict(some.rename(columns={"no": "never"}), sensitive_features=names)


@pytest.mark.parametrize(
    "option",
    [{"protocol": "print"}, {"temperature": 0}, {"delta": -1}, {"n_grid": 1}, {"noise": None}, {"width": 0.7}],
    ids=str,
)
def test_bad_options(option: dict[str, object]) -> None:
    p, group = smooth_crowd(20)
    with pytest.raises(OptionError, match=next(iter(option))):
        SmoothedFairCrowd(**option).fit(two(p), sensitive_features=group)


def test_prices_are_zero_where_nothing_is_to_be_done() -> None:
    p, group = smooth_crowd(200)
    prices = soft_prices(two(p), group.astype(np.int32), 0.9, 1e-4, one_price=True)
    assert prices.converged
    assert (prices.beta == 0).all()


@pytest.mark.real
def test_the_authors_figures_on_crowd_judgement(data_folder) -> None:
    # Majority vote on the authors' ten resamples: their mean gap, and the share of resamples that miss epsilon.
    crowd = crowd_judgement(data_folder)
    gaps = {0.01: [], 0.05: [], 0.1: []}
    for seed in range(10):
        test = train_test_split(crowd.truth.index, train_size=0.4, random_state=seed)[1]
        votes = fc.read_votes(crowd.votes[crowd.votes["task"].isin(test)])
        for epsilon, found in gaps.items():
            rule = SmoothedFairCrowd(fc.MajorityVote(), epsilon, protocol="published")
            found.append(rule.fit(votes, sensitive_features=crowd.groups).outcome_.gap)
    means = {epsilon: np.mean(found) for epsilon, found in gaps.items()}
    over = {epsilon: np.mean(np.array(found) > epsilon + 0.005) for epsilon, found in gaps.items()}
    assert means == pytest.approx({0.01: 0.009, 0.05: 0.054, 0.1: 0.097}, abs=1e-3)
    assert over == pytest.approx({0.01: 0.2, 0.05: 0.7, 0.1: 0.3}, abs=0.1)
