"""Frames, names, order, rules and certificates."""

import numpy as np
import pandas as pd
import pytest

from faircrowd import DawidSkene, FairCrowd, FairRule, MajorityVote, make_fair, simulate_crowd
from faircrowd.errors import InputError, OptionError

CROWD = simulate_crowd(600, 30, random_state=3)
MODEL = DawidSkene(by_group=True).fit(CROWD.votes, sensitive_features=CROWD.sensitive_features)
WIDE = np.random.default_rng(0).dirichlet([1.0, 2.0, 0.7], 400)
FOUR = np.random.default_rng(1).integers(0, 4, 400)


def test_order_of_tasks_leaves_no_trace() -> None:
    shares = MajorityVote().fit(CROWD.votes).probas_
    mixed = shares.sample(frac=1, random_state=0)
    for decision in ("deterministic", "randomized"):
        here = make_fair(shares, CROWD.sensitive_features, epsilon=0.05, decision=decision)
        there = make_fair(mixed, CROWD.sensitive_features, epsilon=0.05, decision=decision)
        assert list(there.labels.index) == list(mixed.index)
        assert here.labels.to_dict() == there.labels.to_dict()
        assert here.rule.to_json() == there.rule.to_json()


def test_names_of_groups_and_classes_do_not_matter() -> None:
    shares = MODEL.probas_
    plain = make_fair(shares, CROWD.sensitive_features, epsilon=0.05)
    named = make_fair(
        shares.rename(columns={0: "no", 1: "yes"}), CROWD.sensitive_features.map({0: "x", 1: "y"}), epsilon=0.05
    )
    swapped = make_fair(shares, 1 - CROWD.sensitive_features, epsilon=0.05)
    assert plain.labels.map({0: "no", 1: "yes"}).to_dict() == named.labels.to_dict()
    assert plain.labels.to_dict() == swapped.labels.to_dict()


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3])
def test_many_classes_and_groups(epsilon: float) -> None:
    fair = make_fair(WIDE, FOUR, epsilon=epsilon)
    assert fair.certificate.gap <= fair.certificate.gap_allowed < epsilon + 1 / np.bincount(FOUR).min()
    assert abs(fair.certificate.optimality_gap) < 0.01
    fair.certificate.verify(WIDE, FOUR, fair.labels)
    assert fair.certificate.changed == (fair.labels != WIDE.argmax(axis=1)).sum()
    assert sum(change["tasks"] for change in fair.certificate.changes) == fair.certificate.changed


def test_the_rule_repeats_the_solution_on_the_same_tasks() -> None:
    fair = make_fair(WIDE, FOUR, epsilon=0.05, decision="randomized")
    again = fair.rule.predict(WIDE, FOUR)
    sure = fair.probabilities.max(axis=1) == 1
    assert (again[sure] == fair.labels[sure]).mean() > 0.99
    back = FairRule.from_json(fair.rule.to_json())
    assert back.to_json() == fair.rule.to_json()
    np.testing.assert_array_equal(back.predict(WIDE, FOUR), again)


def test_a_certificate_that_was_changed_is_found_out() -> None:
    from dataclasses import replace

    fair = make_fair(WIDE, FOUR, epsilon=0.05)
    for wrong in ({"gap": 0.0}, {"believed_accuracy": 0.9}, {"bound": 2.0}):
        with pytest.raises(InputError, match="The certificate"):
            replace(fair.certificate, **wrong).verify(WIDE, FOUR, fair.labels)


def test_saturated_posteriors_are_no_tie() -> None:
    log_odds = np.array([80.0, 75.0, 70.0, 65.0, 60.0, -60.0, -70.0, -80.0])
    p = 1 / (1 + np.exp(-log_odds))
    posterior = np.stack([1 - p, p], axis=1)
    logs = np.stack([-np.logaddexp(0, log_odds), -np.logaddexp(0, -log_odds)], axis=1)
    group = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    fair = make_fair(posterior, group, epsilon=0.4, log_posterior=logs)
    marked = set(np.flatnonzero(fair.labels == 1).tolist())
    assert marked & {0, 1, 2, 3, 4} == set(range(len(marked & {0, 1, 2, 3, 4})))  # the surest keep label 1
    assert fair.certificate.gap <= 0.4


def test_more_evidence_wins_a_tie() -> None:
    posterior = np.tile([0.4, 0.6], (10, 1))
    posterior[5:] = [0.6, 0.4]
    group = np.array([1] * 5 + [0] * 5)
    evidence = np.array([1, 9, 3, 7, 5, 1, 1, 1, 1, 1])
    fair = make_fair(posterior, group, epsilon=0.6, evidence=evidence)
    kept = [i for i in range(5) if fair.labels[i] == 1]
    assert sorted(evidence[kept]) == sorted(evidence[:5])[-len(kept) :]


def test_fair_crowd() -> None:
    fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.05)
    fair.fit(CROWD.votes, sensitive_features=CROWD.sensitive_features)
    assert fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
    rates = fair.labels_.groupby(CROWD.sensitive_features).mean()
    assert abs(rates[1] - rates[0]) == pytest.approx(fair.certificate_.gap)
    again = fair.predict(CROWD.votes, sensitive_features=CROWD.sensitive_features)
    assert (again == fair.labels_).mean() > 0.99
    pd.testing.assert_frame_equal(fair.probas_, MODEL.probas_)
    alone = FairCrowd(None, epsilon=0.05).fit(MODEL.probas_, sensitive_features=CROWD.sensitive_features)
    assert (alone.labels_ == fair.labels_).mean() > 0.99
    assert fair.frontier_.at(0.05).gap == 0.05


def test_any_object_with_fit_predict_proba() -> None:
    class Theirs:
        def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
            return MajorityVote().fit_predict_proba(data)

    fair = FairCrowd(Theirs(), epsilon=0.02).fit(CROWD.votes, sensitive_features=CROWD.sensitive_features)
    assert fair.certificate_.gap <= 0.02
    with pytest.raises(InputError, match="no predict of its own"):
        fair.predict(CROWD.votes, sensitive_features=CROWD.sensitive_features)
    with pytest.raises(OptionError, match="no fit_predict_proba"):
        FairCrowd(object()).fit(CROWD.votes, sensitive_features=CROWD.sensitive_features)


@pytest.mark.parametrize(
    ("posterior", "groups", "settings", "message"),
    [
        ([[0.5, 0.5]] * 3, [0, 1, 0], {"epsilon": -0.1}, "epsilon must be a number from 0 to 1"),
        ([[0.5, 0.5]] * 3, [0, 1, 0], {"epsilon": 1.5}, "epsilon must be a number from 0 to 1"),
        ([[0.5, 0.5]] * 3, [0, 0, 0], {}, "all tasks are of group 0"),
        ([[0.5, 0.5]] * 3, [0, 1], {}, "sensitive_features has 2 rows for 3 tasks"),
        ([[0.5, 0.6]] * 3, [0, 1, 0], {}, "sums to 1.1, not to 1"),
        ([[-0.5, 1.5]] * 3, [0, 1, 0], {}, "holds -0.5"),
        ([[0.5, 0.5], [np.nan, 0.5], [1, 0]], [0, 1, 0], {}, "posterior of task 1 holds nan"),
        ([[0.5, 0.5]] * 3, [0, None, 0], {}, "1 of 3 tasks have no group: 1"),
        ([[1.0]] * 3, [0, 1, 0], {}, "two classes"),
        ([[0.2, 0.3, 0.5]] * 3, [0, 1, 0], {"objective": "f1"}, "for two classes; there are 3"),
        ([[0.5, 0.5]] * 3, [0, 1, 0], {"objective": [[1, 0]]}, "2 x 2 numbers"),
        ([[0.5, 0.5]] * 3, [0, 1, 0], {"decision": "coin"}, "decision='coin' is not known"),
        ([[0.5, 0.5]] * 3, [0, 1, 0], {"sample_weight": [1, 0, 1]}, "sample_weight must be positive"),
    ],
)
def test_bad_input_gets_advice(posterior: list, groups: list, settings: dict, message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        make_fair(np.array(posterior), groups, **{"epsilon": 0.1, **settings})


def test_strangers_at_predict() -> None:
    rule = make_fair(WIDE, FOUR, epsilon=0.05).rule
    with pytest.raises(InputError, match="1 tasks are of groups that the rule does not know: 9"):
        rule.predict(WIDE[:2], [0, 9])
    with pytest.warns(UserWarning, match="1 tasks of unknown groups"):
        labels = rule.predict(WIDE[:2], [0, 9], unknown="own")
    assert labels[1] == WIDE[1].argmax()
    with pytest.raises(InputError, match="not the rule's"):
        rule.predict(WIDE[:, :2] / WIDE[:, :2].sum(axis=1, keepdims=True), FOUR)
    for text in ("{}", "[]", "nonsense", rule.to_json().replace('"schema": 2', '"schema": 99')):
        with pytest.raises(InputError):
            FairRule.from_json(text)


def test_confidence_tightens_epsilon() -> None:
    fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.15, confidence=0.95)
    fair.fit(CROWD.votes, sensitive_features=CROWD.sensitive_features)
    promise = fair.certificate_.promise
    assert promise["epsilon"] == 0.15
    assert promise["enough"]
    assert 0 < fair.certificate_.epsilon == promise["tightened"] < 0.15
    assert fair.certificate_.gap <= promise["tightened"] + 1e-12
    assert fair.rule_.epsilon == 0.15
    with pytest.raises(OptionError, match=r"too few to promise a gap within 0\.01"):
        make_fair(MODEL.probas_, CROWD.sensitive_features, epsilon=0.01, confidence=0.95)
    with pytest.raises(OptionError, match="confidence must be"):
        make_fair(MODEL.probas_, CROWD.sensitive_features, epsilon=0.01, confidence=2)
    with pytest.raises(OptionError, match="equal weight"):
        make_fair(
            MODEL.probas_,
            CROWD.sensitive_features,
            epsilon=0.1,
            confidence=0.9,
            sample_weight=np.arange(1, len(MODEL.probas_) + 1),
        )
