"""Votes counted by group, label and truth, and the audits that rest on them: exact counts, borders and defaults."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.audit.crowd_audit import audit_by_truth, audit_crowd
from faircrowd.audit.workers.leaning import compare
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, _share, _verdicts, audit_workers
from faircrowd.audit.workers.worker_counts import (
    check_truth,
    count_votes,
    gold_confusion,
    groups_in,
    label_counts,
    model_confusion,
)
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import Vocabulary, VoteTable

ROWS = [(0, "u", 1), (0, "v", 0), (1, "u", 2), (2, "u", 0), (2, "v", 2), (3, "v", 1), (4, "u", 1), (4, "v", 1)]


def read(groups: str = "abbab") -> VoteTable:
    frame = pd.DataFrame(ROWS, columns=["task", "worker", "label"])
    return fc.read_votes(frame, sensitive_features=dict(enumerate(groups)))


def test_votes_and_labels_are_counted() -> None:
    votes, truth = read(), np.array([2, 0, -1, 1, 1])
    counts, gold = np.zeros((2, 2, 3), dtype=int), np.zeros((2, 2, 3, 3), dtype=int)
    for task, worker, label in ROWS:
        place = "uv".index(worker), "ab".index("abbab"[task])
        counts[(*place, label)] += 1
        if truth[task] >= 0:
            gold[(*place, truth[task], label)] += 1
    assert count_votes(votes).tolist() == counts.tolist()
    assert gold_confusion(votes, truth).tolist() == gold.tolist()
    known = np.where(truth < 0, 0, truth)
    certain = model_confusion(votes, np.eye(3)[known])
    assert certain.tolist() == gold_confusion(votes, known).tolist()
    halves = model_confusion(votes, np.full((5, 3), [0.5, 0.25, 0.25]))
    assert halves.tolist() == (counts[:, :, None, :] * np.array([0.5, 0.25, 0.25])[:, None]).tolist()
    thirds = model_confusion(votes, np.full((5, 3), 1 / 3))
    np.testing.assert_allclose(thirds, counts[:, :, None, :] * np.full((3, 1), 1 / 3), rtol=0, atol=1e-15)
    assert label_counts(votes.group, np.array([0, 2, 2, 1, 0]), 2, 3).tolist() == [[1, 1, 0], [1, 0, 2]]


def test_truths_and_posteriors_that_are_none() -> None:
    votes = read()
    assert check_truth(votes, [-1, 0, 1, 2, 2]).dtype == np.int32
    for bad in ([0, 1], [0.0] * 5, [[0]] * 5):
        with pytest.raises(InputError, match="truth needs a class code for each of the 5 tasks; got "):
            check_truth(votes, bad)
    for bad in (-2, 3):
        with pytest.raises(InputError, match=f"truth holds {bad} for task 1; classes are coded from 0 to 2, and -1"):
            check_truth(votes, [0, bad, 0, bad, 0])
    with pytest.raises(
        InputError, match=r"each of the 5 tasks and one column for each of the 3 classes; got shape \(5, 2\)"
    ):
        model_confusion(votes, np.full((5, 2), 0.5))
    with pytest.raises(InputError, match="The votes have no groups; give sensitive_features"):
        groups_in(fc.read_votes(pd.DataFrame(ROWS, columns=["task", "worker", "label"])))


def test_verdicts_at_their_borders() -> None:
    leaning = replace(
        compare(np.ones((6, 1, 2, 2))),
        q_value=np.array([0.25, 0.26, 0.26, np.nan, np.nan, np.nan]),
        high=np.array([0.9, 0.5, 0.51, 0.5, 0.6, np.nan]),
    )
    assert _verdicts(leaning, 0.75, 0.5).tolist() == [LEANS, NO_SIGN, TOO_FEW, NO_SIGN, TOO_FEW, TOO_FEW]


def test_shares_of_nothing_are_not_known() -> None:
    with np.errstate(all="raise"):
        found = _share(np.array([[1, 3], [0, 0]]), np.array([[4], [0]]))
    np.testing.assert_array_equal(found, [[0.25, 0.75], [np.nan] * 2])


def test_more_counts_than_memory_holds_are_refused() -> None:
    votes = read().with_classes(Vocabulary.of(range(1_000_000)))
    with pytest.raises(
        InputError, match=r"2 workers, 2 groups and 1,000,000 classes take about 128,000 GB .* merge rare"
    ):
        gold_confusion(votes, np.zeros(5, dtype=int))


def test_an_audit_of_workers() -> None:
    votes, truth = read(), np.array([2, 0, -1, 1, 1])
    found = audit_workers(votes, truth=truth)
    confusion = gold_confusion(votes, truth)
    assert found.votes.tolist() == count_votes(votes).sum(axis=2).tolist() == [[1, 3], [2, 2]]
    np.testing.assert_array_equal(found.rates[1], [[0.5, 0.5, 0], [0, 0.5, 0.5]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found.confusion_rates, confusion / confusion.sum(axis=3)[..., None])
    np.testing.assert_array_equal(found.accuracy, [[0, 0.5], [0.5, 1]])
    assert (found.source, found.basis) == ("gold", "truth")
    assert found.judged is found.given_truth
    plain = audit_workers(votes)
    assert (plain.confidence, plain.tolerance, plain.source, plain.basis) == (0.95, 0.2, None, "rates")
    assert plain.judged is plain.leaning
    same = audit_workers(votes, confidence=0.95, tolerance=0.2, shrink=True, ties="split")
    np.testing.assert_array_equal(plain.leaning.shrunken, same.leaning.shrunken)
    np.testing.assert_array_equal(plain.influence.without, same.influence.without)
    model = audit_workers(votes, posterior=np.full((5, 3), 1 / 3))
    assert model.judged is model.leaning
    for good in ({"confidence": 0.5}, {"confidence": 1 - 1e-9}, {"tolerance": 0}, {"tolerance": 1}):
        audit_workers(votes, **good)
    for bad in ({"confidence": 0.499}, {"confidence": 1.0}, {"tolerance": -0.01}, {"tolerance": 1.01}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            audit_workers(votes, **bad)


def test_truth_that_is_known_of_some_tasks_goes_before_the_posterior() -> None:
    votes, posterior = read(), np.full((5, 3), 1 / 3)
    assert audit_by_truth(votes, np.array([-7, 0, -1, -1, -1]), posterior).source == "gold"
    assert audit_by_truth(votes, np.full(5, -1), posterior).source == "model"
    assert audit_by_truth(votes, np.full(5, -1), None).source is None
    assert audit_by_truth(votes, None, posterior).confidence == 0.95


def test_an_audit_of_two_classes_adds_up() -> None:
    frame = pd.DataFrame([(t, w, int(k > 0)) for t, w, k in ROWS] + [(4, "x", 1)], columns=["task", "worker", "label"])
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate("abbab")))
    labels = np.array([0, 1, 1, 1, 1])
    found = audit_crowd(votes, labels)
    whole = found.workers.rates[:2, :, 1]  # x has no rate in group a
    assert found.bound.value == fc.audit.majority_gap_bound(whole).value
    assert found.curve.sizes.tolist() == [1, 2]
    assert (found.interval.gap, found.interval.confidence) == (0.5, 0.95)
    assert (found.bootstrap, found.strata) == (None, None)
    more = audit_crowd(votes, labels, replicates=1, control=np.array([0, 0, 0, 1, 1]), confidence=0.9)
    assert more.bootstrap == fc.audit.bootstrap_gap(votes, replicates=1, confidence=0.9, random_state=0)
    assert (more.strata.compared, more.interval.confidence, more.workers.confidence) == (5, 0.9, 0.9)
    three = audit_crowd(read(), labels)
    assert (three.added_up, three.curve, three.bound) == (None, None, None)
    with pytest.raises(InputError, match="all tasks are of group"):
        audit_crowd(read("aaaaa"), labels)
