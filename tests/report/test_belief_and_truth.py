"""What is believed beside what is real, by hand."""

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.report.belief_and_truth import Pair, believed_accuracy, truth_facts, warning
from faircrowd.votes.scoring import share_right


def test_pairs_say_which_way_belief_is_off() -> None:
    assert Pair("accuracy", 0.9, 0.6).in_words == "believed is 30.0 points too high"
    assert Pair("accuracy", 0.6, 0.9).in_words == "believed is 30.0 points too low"
    assert Pair("accuracy", 0.9, 0.9004).in_words == "the same"
    assert not Pair("accuracy", 0.75, 0.7031).is_off
    assert Pair("accuracy", 0.75, 0.69).is_off
    assert Pair("accuracy", 0.69, 0.75).is_off


def test_a_warning_names_what_is_off() -> None:
    near, far = Pair("price", 0.02, 0.03), Pair("accuracy", 0.9, 0.6)
    assert warning([near]) is None
    found = warning([near, far])
    assert found is not None
    assert "accuracy 90.0% believed, 60.0% real" in found
    assert "price 2" not in found


@pytest.mark.parametrize("n_tasks", [1, 7, 300_000])
def test_believed_accuracy_is_that_of_the_certificate(n_tasks: int) -> None:
    """To the bit, also in more than one piece."""
    p = np.random.default_rng(n_tasks).random(n_tasks + 1)
    posterior, group = np.stack([1 - p, p], axis=1), np.arange(n_tasks + 1) % 2
    fair = fc.make_fair(posterior, group, epsilon=0.01)
    labels = fair.labels.astype(np.int32)
    assert believed_accuracy(posterior, labels) == fair.certificate.believed_accuracy
    assert believed_accuracy(posterior[::-1], labels[::-1]) == fair.certificate.believed_accuracy


def test_labels_that_nobody_voted_for_are_wrong() -> None:
    labels, truth = np.array([0, 1, 1, 0], np.int32), np.array([0, 0, -1, -2], np.int32)
    assert share_right(labels, truth) == 1 / 3
    assert share_right(labels, np.full(4, -1, np.int32)) is None
    assert share_right(labels, None) is None


def votes(groups: str) -> fc.VoteTable:
    frame = pd.DataFrame({"task": range(len(groups)), "worker": 1, "label": ["x", "y"] * (len(groups) // 2)})
    return fc.read_votes(frame, sensitive_features=dict(enumerate(groups)))


def test_the_gap_of_the_true_labels() -> None:
    """Known are all tasks of g (one with a label nobody voted for) and of h, and one of two of i, which is too few."""
    truth = np.array([0, 0, -2, 1, 0, 1, 1, -1], np.int32)
    found = truth_facts(votes("ggghhhii"), truth, ["x", "y"])
    assert found["truth_shares"] == {"g": {"x": 2 / 3, "y": 0.0}, "h": {"x": 1 / 3, "y": 2 / 3}}
    assert found["truth_tasks"] == {"g": 3, "h": 3}
    assert found["truth_gap"] == 2 / 3
    assert found["truth_gap_between"] == ["y", "h", "g"]


def test_the_gap_of_a_handful_of_true_labels_is_not_stated() -> None:
    """Nineteen of thirty known labels of a group are too few, twenty are enough."""
    crowd = votes("g" * 30 + "h" * 30)
    truth = np.full(60, -1, np.int32)
    truth[:30], truth[30:49] = 0, 1
    assert truth_facts(crowd, truth, ["x", "y"]) == {}
    truth[49] = 1
    assert truth_facts(crowd, truth, ["x", "y"])["truth_gap"] == 1.0


def test_chance_is_not_called_wrong() -> None:
    assert not Pair("accuracy", 0.888, 0.833, 6).is_off
    assert Pair("accuracy", 0.888, 0.833, 3000).is_off
    assert Pair("accuracy", 0.94, 0.5, 30).is_off
    assert not Pair("accuracy", 0.94, 0.9, 3000).is_off


def test_one_group_with_truth_has_no_gap() -> None:
    assert truth_facts(votes("gghh"), np.array([0, 1, -1, -1], np.int32), ["x", "y"]) == {}
    assert truth_facts(votes("gghh"), None, ["x", "y"]) == {}
