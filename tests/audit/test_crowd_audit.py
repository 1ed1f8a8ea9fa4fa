"""The audit of a crowd: which truth is used, and what is added up for two classes."""

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from audit.workers.crowds import ROWS, read_small
from faircrowd.audit.crowd_audit import audit_by_truth, audit_crowd
from faircrowd.errors import InputError


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
