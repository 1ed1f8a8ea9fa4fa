"""Counts of votes by group, label and true class: exact, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from audit.workers.crowds import ROWS, read_small
from faircrowd.audit.workers.worker_counts import (
    check_truth,
    count_votes,
    gold_confusion,
    groups_in,
    label_counts,
    model_confusion,
    range_over_groups,
)
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary


def test_votes_and_labels_are_counted() -> None:
    votes, truth = read_small(), np.array([2, 0, -1, 1, 1])
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


def test_truths_and_posteriors_that_are_refused() -> None:
    votes = read_small()
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


def test_more_counts_than_memory_holds_are_refused() -> None:
    votes = read_small().with_classes(Vocabulary.of(range(1_000_000)))
    with pytest.raises(
        InputError, match=r"2 workers, 2 groups and 1,000,000 classes take about 128,000 GB .* merge rare"
    ):
        gold_confusion(votes, np.zeros(5, dtype=int))


def test_the_range_is_of_the_rates_that_are_known() -> None:
    rates = np.array([[0.25, 0.75, np.nan], [np.nan, 0.5, np.nan], [0.5, 0.5, 0.25], [np.nan] * 3])
    np.testing.assert_array_equal(range_over_groups(rates, axis=1), [0.5, np.nan, 0.25, np.nan])
    np.testing.assert_array_equal(range_over_groups(rates, axis=0), [0.25, 0.25, np.nan])
