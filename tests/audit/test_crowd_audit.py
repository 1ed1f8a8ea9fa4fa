"""The audit of a crowd: which truth is used, and what is added up for two classes."""

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from audit.workers.crowds import ROWS, read_small
from faircrowd.audit import crowd_audit as module
from faircrowd.audit.crowd_audit import audit_by_truth, audit_crowd
from faircrowd.audit.pair_agreement import pair_agreement
from faircrowd.errors import InputError
from faircrowd.report.audit_text import audit_dict
from faircrowd.votes.groups import settle_groups


def test_truth_known_for_some_tasks_is_preferred_to_the_posterior() -> None:
    votes, posterior = read_small(), np.full((5, 3), 1 / 3)
    assert audit_by_truth(votes, np.array([-7, 0, -1, -1, -1]), posterior).source == "gold"
    assert audit_by_truth(votes, np.full(5, -1), posterior).source == "model"
    assert audit_by_truth(votes, np.full(5, -1), None).source is None
    assert audit_by_truth(votes, None, posterior).confidence == 0.95


def test_an_audit_of_two_classes_adds_up() -> None:
    frame = pd.DataFrame([(t, w, int(k > 0)) for t, w, k in ROWS] + [(4, "x", 1)], columns=["task", "worker", "label"])
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate("abbab")))
    labels = np.array([0, 1, 1, 1, 1])
    found = audit_crowd(votes, labels)
    known = found.workers.rates[:2, :, 1]  # x has no rate in group a
    assert found.bound.value == fc.audit.majority_gap_bound(known).value
    assert found.curve.sizes.tolist() == [1, 2]
    assert (found.interval.gap, found.interval.confidence) == (0.5, 0.95)
    assert (found.bootstrap, found.strata) == (None, None)
    more = audit_crowd(votes, labels, replicates=1, control=np.array([0, 0, 0, 1, 1]), confidence=0.9)
    assert more.bootstrap == fc.audit.bootstrap_gap(votes, replicates=1, confidence=0.9, random_state=0)
    assert (more.strata.compared, more.interval.confidence, more.workers.confidence) == (5, 0.9, 0.9)
    three = audit_crowd(read_small(), labels)
    assert (three.added_up, three.curve, three.bound) == (None, None, None)
    with pytest.raises(InputError, match="all tasks are of group"):
        audit_crowd(read_small("aaaaa"), labels)


def test_what_is_left_out_and_what_is_drawn_by_default() -> None:
    """No bootstrap; intervals of 95%; and where a bootstrap is asked for, the draws of seed 0."""
    crowd = fc.simulate_crowd(80, 8, 3, random_state=2)
    votes = fc.read_votes(crowd.votes, sensitive_features=crowd.sensitive_features)
    labels = fc.MajorityVote().fit(votes).posterior_.label_codes
    plain, asked = audit_crowd(votes, labels), {"confidence": 0.95, "replicates": 0, "random_state": 0}
    assert plain.bootstrap is None
    assert plain.workers.confidence == plain.interval.confidence == 0.95
    counts = np.array([[(votes.group == a) & (labels == k) for k in (0, 1)] for a in (0, 1)]).sum(axis=2)
    assert plain.interval == fc.audit.gap_interval(counts, 0.95) == audit_crowd(votes, labels, **asked).interval
    drawn = audit_crowd(votes, labels, replicates=30).bootstrap
    by_seed = [fc.audit.bootstrap_gap(votes, replicates=30, confidence=0.95, random_state=seed) for seed in (0, 1)]
    assert drawn == by_seed[0]
    assert by_seed[0] != by_seed[1]
    assert audit_crowd(votes, labels, replicates=30, random_state=1).bootstrap == by_seed[1]


def test_the_curve_is_that_of_the_first_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = fc.simulate_crowd(80, 8, 8, random_state=2)
    votes = fc.read_votes(crowd.votes, sensitive_features=crowd.sensitive_features)
    labels = fc.MajorityVote().fit(votes).posterior_.label_codes
    assert module._MAX_CURVE_WORKERS == 2000
    monkeypatch.setattr(module, "_MAX_CURVE_WORKERS", 3)
    found = audit_crowd(votes, labels)
    assert found.curve.sizes.tolist() == [1, 2, 3]
    assert found.bound.value == fc.audit.majority_gap_bound(found.workers.rates[:3, :, 1]).value


def test_no_worker_of_both_groups_leaves_no_curve() -> None:
    frame = pd.DataFrame([(0, "u", 0), (1, "v", 1), (2, "u", 1)], columns=["task", "worker", "label"])
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate("aba")))
    found = audit_crowd(votes, np.array([0, 1, 1]))
    assert (found.curve, found.bound) == (None, None)
    assert found.added_up is not None


def test_truth_decides_where_it_is_known_and_beliefs_elsewhere() -> None:
    votes, posterior = read_small(), np.full((5, 3), 1 / 3)
    labels = np.zeros(5, dtype=np.int32)
    assert audit_crowd(votes, labels, truth=np.array([0, -1, -1, -1, -1]), posterior=posterior).workers.source == "gold"
    assert audit_crowd(votes, labels, posterior=posterior).workers.source == "model"
    assert audit_crowd(votes, labels).workers.source is None


def test_gaps_are_between_the_groups_that_are_not_left_out() -> None:
    """Two groups of three tasks, all of one label, do not make the gap of ties, bootstrap and workers 1."""
    rng = np.random.default_rng(0)
    group = np.array(["a"] * 60 + ["b"] * 60 + ["c"] * 3 + ["d"] * 3)
    vote = pd.DataFrame({"task": np.repeat(np.arange(126), 4), "worker": np.tile(np.arange(8), 63)})
    vote["group"] = group[vote["task"]]
    chance = np.where(vote["group"] == "a", 0.6, 0.4)
    lot = rng.random(len(vote)) < chance
    vote["label"] = np.select([vote["group"] == "c", vote["group"] == "d"], [0, 1], lot.astype(int))
    features = pd.Series(group, index=pd.RangeIndex(126, name="task"))
    votes = settle_groups(fc.read_votes(vote.drop(columns="group"), sensitive_features=features), min_group=10)
    big = vote[vote["group"].isin(["a", "b"])]
    alone = fc.read_votes(big.drop(columns="group"), sensitive_features=features[:120])
    found, wanted = (
        audit_crowd(some, fc.MajorityVote().fit(some).posterior_.label_codes, replicates=200) for some in (votes, alone)
    )
    assert found.interval == wanted.interval
    assert found.bootstrap == wanted.bootstrap
    assert (found.ties.largest, found.ties.tied.tolist()) == (wanted.ties.largest, wanted.ties.tied.tolist())
    assert found.added_up is not None
    assert wanted.added_up is not None
    assert found.added_up.observed.gap_strict == wanted.added_up.observed.gap_strict
    for name in ("gap", "low", "high", "p_value"):
        np.testing.assert_array_equal(getattr(found.workers.leaning, name), getattr(wanted.workers.leaning, name))
    np.testing.assert_array_equal(found.workers.influence.influence, wanted.workers.influence.influence)
    assert found.workers.votes.shape == (8, 4)
    assert found.compared.tolist() == [0, 1]
    assert list(audit_dict(found, pair_agreement(votes))["ties"]["tied"]) == ["a", "b"]


def test_codes_of_groups_after_one_that_is_left_out() -> None:
    rows = [("t", 0, 0), *((f"x{i}", i % 5, 1) for i in range(40)), *((f"y{i}", i % 5, 0) for i in range(40))]
    vote = pd.DataFrame(rows, columns=["task", "worker", "label"])
    features = pd.Series(["a"] + ["b"] * 40 + ["c"] * 40, index=pd.Index(vote["task"]))
    votes = settle_groups(fc.read_votes(vote, sensitive_features=features), min_group=10)
    found = fc.audit.audit_workers(votes)
    assert [found.groups.names[a] for a in found.leaning.more] == ["b"] * 5
    assert [found.groups.names[a] for a in found.leaning.less] == ["c"] * 5
