"""The audit of workers: against loops, and crowds whose leanings are known."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from audit.workers.crowds import random_crowd, read_crowd, read_small
from faircrowd.audit.workers.leaning import compare
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, _share, _verdicts, audit_workers
from faircrowd.audit.workers.worker_counts import (
    count_votes,
    gold_confusion,
)
from faircrowd.errors import InputError, OptionError
from strategies import examples


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


def test_an_audit_of_workers() -> None:
    votes, truth = read_small(), np.array([2, 0, -1, 1, 1])
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


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(2, 3))
@settings(max_examples=examples(25))
def test_counts_and_confusion_are_those_of_loops(seed: int, n_classes: int, n_groups: int) -> None:
    frame = random_crowd(seed, 12, 5, n_classes, n_groups)
    votes, rng = read_crowd(frame), np.random.default_rng(seed)
    classes, workers = votes.classes.to_list(), votes.workers.to_list()
    truth = rng.integers(-1, len(classes), votes.n_tasks)
    posterior = rng.dirichlet(np.ones(len(classes)), votes.n_tasks)
    counts = np.zeros((len(workers), n_groups, len(classes)))
    gold, model = (np.zeros((len(workers), n_groups, len(classes), len(classes))) for _ in range(2))
    for task, worker, label, group in frame.itertuples(index=False):
        w, k = workers.index(worker), classes.index(label)
        counts[w, group, k] += 1
        model[w, group, :, k] += posterior[task]
        if truth[task] >= 0:
            gold[w, group, truth[task], k] += 1
    by_gold = audit_workers(votes, truth=truth)
    by_model = audit_workers(votes, posterior=posterior)
    np.testing.assert_array_equal(by_gold.counts, counts)
    np.testing.assert_array_equal(by_gold.votes, counts.sum(axis=2))
    np.testing.assert_array_equal(by_gold.confusion, gold)
    np.testing.assert_allclose(by_model.confusion, model, atol=1e-12)
    assert (by_gold.source, by_gold.basis, by_model.source, by_model.basis) == ("gold", "truth", "model", "rates")
    for w, a in itertools.product(range(len(workers)), range(n_groups)):
        if counts[w, a].sum() == 0:
            assert np.isnan(by_model.accuracy[w, a])
            assert np.isnan(by_model.rates[w, a]).all()
            continue
        np.testing.assert_allclose(by_model.rates[w, a], counts[w, a] / counts[w, a].sum())
        np.testing.assert_allclose(by_model.accuracy[w, a], np.trace(model[w, a]) / model[w, a].sum())
        if gold[w, a].sum():
            np.testing.assert_allclose(by_gold.accuracy[w, a], np.trace(gold[w, a]) / gold[w, a].sum())
    certain = audit_workers(votes, posterior=np.eye(len(classes))[np.maximum(truth, 0)])
    known = audit_workers(votes, truth=np.maximum(truth, 0))
    np.testing.assert_allclose(certain.given_truth.gap, known.given_truth.gap, atol=1e-12)
    np.testing.assert_allclose(certain.confusion_rates, known.confusion_rates, atol=1e-12)
    assert np.isnan(certain.given_truth.p_value).all()


def leaning_crowd(seed: int = 0) -> tuple[pd.DataFrame, dict[int, int], dict[int, int]]:
    """Truth differs by group. Workers 0-7 are good; worker 8 always says 1 in group 1; 9 votes little."""
    rng = np.random.default_rng(seed)
    group = {task: task % 2 for task in range(2000)}
    truth = {task: int(rng.random() < (0.3, 0.7)[task % 2]) for task in range(2000)}
    rows = []
    for task in range(2000):
        for worker in range(9 if task > 12 else 10):
            right = truth[task] if rng.random() < 0.9 else 1 - truth[task]
            rows.append((task, worker, 1 if worker == 8 and group[task] == 1 else right))
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), group, truth


def test_verdicts() -> None:
    frame, group, truth = leaning_crowd()
    votes = fc.read_votes(frame, sensitive_features=group)
    codes = np.array([truth[task] for task in votes.tasks.to_list()])
    audit = audit_workers(votes, truth=codes)
    assert audit.verdict.tolist() == [NO_SIGN] * 8 + [LEANS, TOO_FEW]
    assert audit.judged is audit.given_truth
    assert (audit.judged.label[8], audit.judged.more[8], audit.judged.less[8]) == (1, 1, 0)
    assert audit.influence.ranking[0] == 8
    by_rates = audit_workers(votes)  # the truth differs by group, so all good workers' votes do
    assert by_rates.verdict.tolist() == [LEANS] * 9 + [TOO_FEW]
    assert by_rates.judged is by_rates.leaning
    assert (by_rates.confusion, by_rates.given_truth, by_rates.accuracy, by_rates.confusion_rates) == (None,) * 4
    assert np.isnan(audit_workers(votes, shrink=False).leaning.shrunken).all()


def test_order_of_rows_does_not_matter() -> None:
    frame, group, _ = leaning_crowd()
    posterior = np.random.default_rng(0).dirichlet(np.ones(2), 2000)
    one, two = (
        audit_workers(fc.read_votes(rows, sensitive_features=group), posterior=posterior)
        for rows in (frame, frame.sample(frac=1, random_state=3))
    )
    np.testing.assert_array_equal(one.confusion, two.confusion)
    np.testing.assert_array_equal(one.leaning.shrunken, two.leaning.shrunken)
    np.testing.assert_array_equal(one.influence.without, two.influence.without)
    np.testing.assert_array_equal(one.verdict, two.verdict)


def test_what_cannot_be_audited_is_refused() -> None:
    frame = random_crowd(0, 8, 3, 2, 2)
    votes = read_crowd(frame)
    with pytest.raises(InputError, match="no groups"):
        audit_workers(fc.read_votes(frame[["task", "worker", "label"]]))
    with pytest.raises(InputError, match="all tasks are of group"):
        audit_workers(read_crowd(frame.assign(group=1)))
    with pytest.raises(OptionError, match="not both"):
        audit_workers(votes, truth=np.zeros(8, dtype=int), posterior=np.full((8, 2), 0.5))
    with pytest.raises(InputError, match="a class code for each"):
        audit_workers(votes, truth=np.zeros(7, dtype=int))
    with pytest.raises(InputError, match="-1 stands for not known"):
        audit_workers(votes, truth=np.full(8, -2))
    with pytest.raises(InputError, match="row for each"):
        audit_workers(votes, posterior=np.full((7, 2), 0.5))
    with pytest.raises(InputError, match="sums to"):
        audit_workers(votes, posterior=np.full((8, 2), 0.6))
    with pytest.raises(OptionError, match="confidence"):
        audit_workers(votes, confidence=95)
    with pytest.raises(OptionError, match="tolerance"):
        audit_workers(votes, tolerance=2)


@pytest.mark.real
def test_real_crowd_of_many_groups(data_folder: Path) -> None:
    folder = data_folder / "faces-4class"
    votes = fc.read_votes(folder / "votes.csv", sensitive_features="orientation", tasks=folder / "tasks.csv")
    audit = audit_workers(votes, ties="first")
    assert audit.counts.sum() == votes.n_votes
    assert set(audit.verdict) <= {LEANS, NO_SIGN, TOO_FEW}
    assert audit.influence.gap == pytest.approx(0.233, abs=5e-4)
