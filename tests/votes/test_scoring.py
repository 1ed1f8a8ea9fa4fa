"""The truth that labels are scored by."""

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import InputError
from faircrowd.votes.scoring import scoring_truth, share_right

VOTES = pd.DataFrame({"task": list("aabbcc"), "worker": [1, 2] * 3, "label": ["x", "x", "y", "y", "x", "x"]})


def test_share_right_counts_known_tasks_alone() -> None:
    labels = np.array([0, 1, 1, 0], dtype=np.int32)
    assert share_right(labels, np.array([0, 0, -1, -2], dtype=np.int32)) == 1 / 3
    assert share_right(labels, np.full(4, -1, dtype=np.int32)) is None
    assert share_right(labels, None) is None


def test_truth_goes_by_task() -> None:
    known, strange = scoring_truth(fc.read_votes(VOTES), {"c": "y", "a": "x", "elsewhere": "x", "b": "z"})
    assert known.tolist() == [0, -2, 1]
    assert strange == ["z"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"d": "x"}, "No task of the votes has a value in truth"),
        ({"a": "z"}, "No value in truth is a label of the votes: 'z' against 'x', 'y'"),
        ([0, 1, 1], "go by task"),
    ],
)
def test_truth_that_says_nothing_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fc.MajorityVote().fit(VOTES).score(given)


def frame(given: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame({"task": list(given), "label": list(given.values())})


@pytest.mark.parametrize("kind", [dict, pd.Series, frame])
def test_aggregators_are_scored(kind: type) -> None:
    model = fc.MajorityVote().fit(VOTES)
    assert model.score(kind({"a": "x", "b": "x"})) == 0.5
    assert model.score(kind({"b": "y"})) == 1.0
