"""What known labels say about fair labels: accuracy, price, and the truth's own gap."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import faircrowd as fc
from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.errors import DataWarning
from faircrowd.fair.known_labels import _gap, _near, accuracy_by_epsilon


@pytest.fixture(scope="module")
def crowd() -> Any:
    return fc.simulate_crowd(600, 30, 5, skill_ranges=((0.4, 0.9), (0.5, 0.8)), random_state=3)


def gold_of(crowd: Any, n: int, seed: int = 0) -> pd.Series:
    return crowd.truth.sample(n, random_state=seed)


def fitted(crowd: Any, gold: pd.Series, **settings: Any) -> fc.FairCrowd:
    fair = fc.FairCrowd(fc.CalibratedCrowd(), **{"epsilon": 0.05, **settings})
    return fair.fit(crowd.votes, true_labels=gold, sensitive_features=crowd.sensitive_features)


def real(crowd: Any, labels: pd.Series) -> float:
    return float((labels == crowd.truth).mean())


def test_estimates_and_where_they_are(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 150))
    found = fair.gold_estimates_
    assert found is not None
    assert (fair.accuracy_, fair.accuracy_before_, fair.price_) == (found.accuracy, found.accuracy_before, found.price)
    assert fair.accuracy_.n_gold == 150
    assert fair.accuracy_.low <= real(crowd, fair.labels_) <= fair.accuracy_.high
    before = real(crowd, fair.estimator_.labels_)
    assert fair.accuracy_before_.low <= before <= fair.accuracy_before_.high
    assert fair.price_.low <= before - real(crowd, fair.labels_) <= fair.price_.high
    assert fair.accuracy_before_ == fair.estimator_.accuracy_
    # The price is that of the same known labels, so it is narrower than two independent estimates.
    widths = [estimate.high - estimate.low for estimate in (fair.price_, fair.accuracy_, fair.accuracy_before_)]
    assert widths[0] < np.hypot(*widths[1:])
    saved = json.loads(json.dumps(fair.certificate_.to_dict(), allow_nan=False))["calibration"]
    assert saved["accuracy"] == found.accuracy.to_dict()
    assert saved["n_gold"] == 150
    assert set(saved["weights"]) == {"ZeroBasedSkill", "DawidSkene"}
    assert fair.gold_estimates_ is found  # computed once


def test_by_group_and_truth(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 200))
    found = fair.gold_estimates_
    groups, names = crowd.sensitive_features, ("0", "1")
    rates = crowd.truth.groupby(groups).mean()
    for a, name in enumerate(names):
        member = groups == a
        estimate = found.group_accuracy[name]
        assert estimate.low <= (fair.labels_ == crowd.truth)[member].mean() <= estimate.high
        row = found.truth_rates[name]
        assert row["1"].low <= rates[a] <= row["1"].high
        assert row["0"].estimate + row["1"].estimate == pytest.approx(1)
    assert sum(found.group_accuracy[name].n_gold for name in names) == 200
    assert found.truth_gap.low <= abs(rates[0] - rates[1]) <= found.truth_gap.high
    assert found.truth_gap.estimate == pytest.approx(
        abs(found.truth_rates["0"]["1"].estimate - found.truth_rates["1"]["1"].estimate)
    )


def test_all_labels_known(crowd: Any) -> None:
    """Then nothing is estimated: the numbers are those of the labels that were given out."""
    fair = fitted(crowd, crowd.truth)
    right, before = real(crowd, fair.labels_), real(crowd, fair.estimator_.labels_)
    for found, value in ((fair.accuracy_, right), (fair.accuracy_before_, before), (fair.price_, before - right)):
        assert (found.estimate, found.low, found.high) == pytest.approx((value, value, value))
    rates = crowd.truth.groupby(crowd.sensitive_features).mean()
    assert fair.gold_estimates_.truth_gap.estimate == pytest.approx(abs(rates[0] - rates[1]))


def test_none_without_calibration(crowd: Any) -> None:
    fair = fc.FairCrowd(fc.DawidSkene()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert (fair.accuracy_, fair.accuracy_before_, fair.price_, fair.gold_estimates_) == (None,) * 4
    assert fair.certificate_.calibration is None


def test_a_group_with_few_known_labels(crowd: Any) -> None:
    groups = crowd.sensitive_features
    gold = pd.concat([gold_of(crowd, 300)[lambda s: groups[s.index] == 0][:60], crowd.truth[groups == 1][:4]])
    with pytest.warns(DataWarning, match="do not look like a random sample"):
        fair = fitted(crowd, gold)
    found = fair.gold_estimates_
    assert found.group_accuracy["0"].n_gold == 60
    assert (found.group_accuracy["1"], found.truth_rates["1"], found.truth_gap) == (None, None, None)
    assert json.dumps(found.to_dict())


@pytest.mark.parametrize(
    "settings",
    [
        {"decision": "randomized"},
        {"strict": True},
        {"objective": [[2.0, 0.0], [0.0, 1.0]]},
        {"objective": "f1"},
        {"confidence": 0.9, "epsilon": 0.2},
    ],
)
def test_other_ways_to_make_labels_fair(crowd: Any, settings: dict[str, Any]) -> None:
    fair = fitted(crowd, gold_of(crowd, 100), **settings)
    assert isinstance(fair.accuracy_, AccuracyEstimate)
    assert fair.accuracy_.low < real(crowd, fair.labels_) < fair.accuracy_.high


def test_a_confidence_promise_is_estimated_at_the_epsilon_it_tightened(crowd: Any) -> None:
    promised = fitted(crowd, gold_of(crowd, 100), epsilon=0.2, confidence=0.9)
    tightened = promised.certificate_.epsilon
    assert tightened < 0.2
    assert promised.gold_estimates_ == fitted(crowd, gold_of(crowd, 100), epsilon=tightened).gold_estimates_


def test_names_and_order_do_not_matter(crowd: Any) -> None:
    """To the last bit, but for tasks that are tied: which of them are relabelled depends on their ids."""
    gold = gold_of(crowd, 120)
    settings = {"epsilon": 1.0}
    found = fitted(crowd, gold, **settings).gold_estimates_
    names = {task: f"n{new}" for task, new in enumerate(np.random.default_rng(0).permutation(600))}
    votes = crowd.votes.assign(task=crowd.votes["task"].map(names)).sample(frac=1, random_state=0)
    fair = fc.FairCrowd(fc.CalibratedCrowd(), **settings).fit(
        votes, true_labels=gold.rename(index=names), sensitive_features=crowd.sensitive_features.rename(index=names)
    )
    assert fair.gold_estimates_ == found


def test_no_change_has_no_price(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 60), epsilon=1.0)
    assert fair.certificate_.changed == 0
    assert (fair.price_.estimate, fair.price_.low, fair.price_.high) == (0, 0, 0)
    assert fair.accuracy_ == fair.accuracy_before_


def test_new_votes_are_labelled_by_the_same_rule(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 100))
    again = fair.predict(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert (again == fair.labels_).mean() > 0.98  # ties are broken by chance
    new = fc.simulate_crowd(50, 60, 5, random_state=8)  # half of the workers are not known
    labels = fair.predict(new.votes, sensitive_features=new.sensitive_features)
    assert len(labels) == 50
    probas = fair.predict_proba(new.votes, sensitive_features=new.sensitive_features)
    np.testing.assert_allclose(probas.to_numpy().sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("estimator", [fc.BayesVote(), [fc.GoldMajorityVote(), fc.DawidSkene(by_group=True)]])
def test_aggregators_that_learn_from_known_labels(crowd: Any, estimator: Any) -> None:
    fair = fc.FairCrowd(fc.CalibratedCrowd(estimator, by_group=True), epsilon=0.05)
    fair.fit(crowd.votes, true_labels=gold_of(crowd, 150), sensitive_features=crowd.sensitive_features)
    assert fair.accuracy_.low <= real(crowd, fair.labels_) <= fair.accuracy_.high
    assert fair.accuracy_before_ == fair.estimator_.accuracy_


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_three_classes_and_three_groups() -> None:
    crowd = fc.simulate_crowd(
        400,
        25,
        5,
        group_shares=[0.5, 0.3, 0.2],
        class_shares=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]],
        skill_ranges=((0.5, 0.9), (0.4, 0.8), (0.5, 0.8)),
        random_state=1,
    )
    fair = fitted(crowd, crowd.truth.sample(150, random_state=1))
    found = fair.gold_estimates_
    for name in ("0", "1", "2"):
        assert sum(estimate.estimate for estimate in found.truth_rates[name].values()) == pytest.approx(1, abs=1e-6)
    rates = pd.crosstab(crowd.sensitive_features, crowd.truth, normalize="index")
    assert found.truth_gap.low <= (rates.max() - rates.min()).max() <= found.truth_gap.high
    assert json.dumps(fair.certificate_.to_dict(), allow_nan=False)


def test_a_refit_forgets(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 100))
    first = fair.accuracy_
    fair.fit(crowd.votes, true_labels=gold_of(crowd, 100, seed=5), sensitive_features=crowd.sensitive_features)
    assert fair.accuracy_ != first


def test_by_epsilon(crowd: Any) -> None:
    fair = fitted(crowd, gold_of(crowd, 100))
    asked = {"objective": "accuracy", "decision": "deterministic", "random_state": 0}
    found = accuracy_by_epsilon(fair.estimator_, [0.05, 1.0], asked)
    assert found == [fair.accuracy_, fair.accuracy_before_]


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")  # one sample in a hundred looks unusual by chance
def test_coverage() -> None:
    """In most of 50 populations and samples, the intervals contain accuracy and price."""
    covered = np.zeros(2)
    for seed in range(50):
        crowd = fc.simulate_crowd(300, 25, 5, skill_ranges=((0.4, 0.9), (0.4, 0.8)), random_state=seed)
        fair = fitted(crowd, gold_of(crowd, 60, seed), epsilon=0.02)
        right, before = real(crowd, fair.labels_), real(crowd, fair.estimator_.labels_)
        pairs = ((fair.accuracy_, right), (fair.price_, before - right))
        covered += [found.low <= value <= found.high for found, value in pairs]
    assert (covered >= 44).all()


def test_all_labels_known_by_group(crowd: Any) -> None:
    fair = fitted(crowd, crowd.truth)
    found, groups = fair.gold_estimates_, crowd.sensitive_features
    for a, name in enumerate(("0", "1")):
        member = groups == a
        for estimates, labels in (
            (found.group_accuracy, fair.labels_),
            (found.group_accuracy_before, fair.estimator_.labels_),
        ):
            right = (labels == crowd.truth)[member].mean()
            assert (estimates[name].estimate, estimates[name].low, estimates[name].high) == pytest.approx((right,) * 3)
            assert estimates[name].n_gold == member.sum()
        for k in (0, 1):
            share = (crowd.truth == k)[member].mean()
            row = found.truth_rates[name][str(k)]
            assert (row.estimate, row.low, row.high) == pytest.approx((share,) * 3)
    assert found.truth_gap.n_gold == 600
    assert found.truth_gap.low == pytest.approx(found.truth_gap.high)


def test_five_known_labels_of_a_group_are_enough(crowd: Any) -> None:
    groups = crowd.sensitive_features
    gold = pd.concat([crowd.truth[groups == 0].sample(60, random_state=0), crowd.truth[groups == 1][:5]])
    with pytest.warns(DataWarning, match="do not look like a random sample"):
        found = fitted(crowd, gold).gold_estimates_
    assert found.group_accuracy["1"].n_gold == found.group_accuracy_before["1"].n_gold == 5
    assert set(found.truth_rates["1"]) == {"0", "1"}
    assert found.truth_gap.n_gold == 65


def test_as_plain_values(crowd: Any) -> None:
    found = fitted(crowd, gold_of(crowd, 100)).gold_estimates_
    said = found.to_dict()
    assert said["price"] == found.price.to_dict()
    assert said["truth_rates"]["1"]["0"] == found.truth_rates["1"]["0"].to_dict()
    assert said["group_accuracy_before"]["0"] == found.group_accuracy_before["0"].to_dict()
    assert said["truth_gap"] == found.truth_gap.to_dict()


# The parts, by hand.


def around(estimate: float, below: float, above: float, n: int = 10) -> AccuracyEstimate:
    return AccuracyEstimate(estimate, estimate - below, estimate + above, 0.9, n)


def test_the_gap_of_three_groups_by_hand() -> None:
    """Class x differs most, between the second and the third group; of the first, too little is known.

    Any of six differences may be the largest: three pairs both ways, in one class, which the other mirrors.
    """
    rows = [
        {"x": around(0.5, 0.3, 0.3, 7), "y": around(0.5, 0.3, 0.3, 7)},
        {"x": around(0.75, 0.03, 0.06, 11), "y": around(0.25, 0.06, 0.03, 11)},
        {"x": around(0.375, 0.08, 0.04, 13), "y": around(0.4375, 0.04, 0.08, 13)},
    ]
    found = _gap(rows)
    assert found is not None
    assert found.estimate == pytest.approx(0.375)
    farther = norm.ppf(0.05 / 6) / norm.ppf(0.05)
    assert found.low == pytest.approx(0.375 - 0.05 * farther)  # the root of 0.03 and 0.04 squared
    assert found.high == pytest.approx(0.25 + math.hypot(0.3, 0.06))  # class y of the first and the second
    certain = _gap(rows[1:])
    assert certain is not None
    assert certain.low == pytest.approx(0.375 - 0.05 * norm.ppf(0.05 / 2) / norm.ppf(0.05))
    assert certain.high == pytest.approx(0.375 + 0.1)  # of 0.06 and 0.08
    assert (found.confidence, found.n_gold) == (0.9, 31)
    assert _gap([*rows, None]) is None
    assert _gap([]) is None
    wide = _gap([{"x": around(0.2, 0.2, 0.6)}, {"x": around(0.7, 0.6, 0.9)}])
    assert wide is not None
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_changed_labels_limit_what_fairness_can_do() -> None:
    """If a tenth of the labels changed, the accuracy moved by a tenth at most, and so did each end of its interval."""
    before = AccuracyEstimate(0.75, 0.5, 0.875, 0.9, 10)
    far, near = AccuracyEstimate(0.25, 0.25, 1.0, 0.9, 10), AccuracyEstimate(0.7, 0.55, 0.9, 0.9, 10)
    found = _near(far, before, 0.125)
    assert (found.estimate, found.low, found.high) == (0.625, 0.375, 1.0)
    assert _near(near, before, 0.125) == near
    assert _near(before, before, 0.0) == before
    price = _near(AccuracyEstimate(0.0625, -0.5, 0.5, 0.9, 10), None, 0.125)
    assert (price.estimate, price.low, price.high, price.confidence, price.n_gold) == (0.0625, -0.125, 0.125, 0.9, 10)
