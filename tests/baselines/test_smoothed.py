"""The paper's Algorithm 1 against the exact rule and the authors' figures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

import faircrowd as fc
from baselines.crowds import crowd_judgement, simulated, smooth_crowd, two
from faircrowd.baselines import SmoothedFairCrowd
from faircrowd.errors import InputError, OptionError


@pytest.mark.parametrize("protocol", ["printed", "published"])
@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.02])
def test_without_ties_it_is_nearly_exact(protocol: str, epsilon: float) -> None:
    p, group = smooth_crowd()
    rule = SmoothedFairCrowd(epsilon=epsilon, protocol=protocol).fit(two(p), sensitive_features=group)
    exact = fc.make_fair(two(p), group, epsilon=epsilon)
    assert rule.outcome_.gap == pytest.approx(exact.certificate.gap, abs=0.01)
    assert rule.outcome_.believed_accuracy == pytest.approx(exact.certificate.believed_accuracy, abs=0.002)
    # Thresholds: 1/2 + s_a beta_1 / pi_a.
    shares = np.bincount(group) / group.size
    np.testing.assert_allclose(0.5 + np.array([-1, 1]) * rule.beta_[1] / shares, exact.rule.thresholds, atol=0.01)


def test_epsilon_is_missed_with_heavy_ties() -> None:
    # Two values per group: the softened dual ends c away from the tie, and delta is smaller than that.
    p, group = np.repeat([0.6, 0.4, 0.6, 0.4], [60, 40, 90, 10]), np.repeat([0, 1], 100)
    outcome = SmoothedFairCrowd(epsilon=0.05).fit(two(p), sensitive_features=group).outcome_
    assert fc.make_fair(two(p), group, epsilon=0.05).certificate.gap <= 0.05 + 1e-12
    assert outcome.gap > 0.05 + 0.005
    # With a delta that reaches the tie, the weights are found (and labels drawn by them).
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


def test_predict_matches_the_names_of_classes_and_groups() -> None:
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
