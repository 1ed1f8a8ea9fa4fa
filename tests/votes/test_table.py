"""The table of votes: other codes for the same votes."""

import numpy as np
import pandas as pd
import pytest

from faircrowd import read_votes
from faircrowd.votes import Vocabulary

FRAME = pd.DataFrame(
    {"task": [1, 1, 2], "worker": ["a", "b", "c"], "label": pd.Categorical(["x", "y", "y"]), "group": ["g", "g", "h"]}
)


@pytest.mark.parametrize(
    ("role", "lists", "new", "place"),
    [
        ("worker", "workers", ["c", "a"], [1, 2, 0]),  # b is not known: the code after the last
        ("label", "classes", ["y", "w", "x"], [2, 0]),
        ("group", "groups", ["h", "f", "g"], [2, 0]),
    ],
)
def test_recoded(role: str, lists: str, new: list[str], place: list[int]) -> None:
    votes = read_votes(FRAME, sensitive_features="group")
    found = votes.recoded(role, Vocabulary.of(new), np.array(place))
    before, after = getattr(votes, role), getattr(found, role)
    assert after.dtype == np.int32
    assert after.tolist() == [place[code] for code in before]
    assert getattr(found, lists).to_list() == new
    assert ("label" in found.style.dtypes) == (role != "label")
    for other in {"worker", "label", "group"} - {role}:
        np.testing.assert_array_equal(getattr(found, other), getattr(votes, other))
