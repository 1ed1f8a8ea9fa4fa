"""Krippendorff's alpha against a published example and against counting pairs of votes."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.audit.agreement import krippendorff_alpha
from strategies import vote_frames

# The four observers and twelve units of Krippendorff's "Computing alpha-reliability" (2011); nominal alpha is .743.
UNITS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def published() -> pd.DataFrame:
    rows = [
        (unit, observer, int(value))
        for observer, line in enumerate(UNITS.split("\n")[1:-1])
        for unit, value in enumerate(line.split())
        if value != "."
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def by_pairs(frame: pd.DataFrame) -> float:
    """Alpha by its definition: differing pairs within tasks, tasks weighted by their votes, against all pairs."""
    tasks = [labels.tolist() for _, labels in frame.groupby("task")["label"] if len(labels) > 1]
    pooled = list(itertools.chain.from_iterable(tasks))
    differ = [sum(a != b for a, b in itertools.permutations(labels, 2)) / (len(labels) - 1) for labels in tasks]
    chance = sum(a != b for a, b in itertools.permutations(pooled, 2))
    if chance == 0:
        return math.nan
    return 1 - (sum(differ) / len(pooled)) / (chance / (len(pooled) * (len(pooled) - 1)))


def test_published_example() -> None:
    found = krippendorff_alpha(fc.read_votes(published()))
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert found.alpha == pytest.approx(by_pairs(published()), abs=1e-14)
    assert (found.votes.tolist(), found.tasks.tolist(), found.single) == ([40], [11], 1)
    assert found.by_group.size == 0


@given(vote_frames(max_rows=25, ids=("int",), labels=("int", "str")), st.integers(0, 2**32 - 1))
def test_alpha_counts_pairs(frame: pd.DataFrame, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = pd.Series({task: "ab"[rng.integers(2)] for task in frame["task"].unique()})
    votes = fc.read_votes(frame, sensitive_features=group)
    found = krippendorff_alpha(votes)
    np.testing.assert_allclose(found.alpha, by_pairs(frame), atol=1e-12)
    for a, name in enumerate(votes.groups.to_list()):
        inside = frame[frame["task"].map(group) == name]
        np.testing.assert_allclose(found.by_group[a], by_pairs(inside), atol=1e-12)
        sizes = inside.groupby("task").size()
        assert (found.tasks[a], found.votes[a]) == ((sizes > 1).sum(), sizes[sizes > 1].sum())
    assert found.single == (frame.groupby("task").size() == 1).sum()


def test_alpha_that_is_not_defined_is_nan() -> None:
    alike = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": [0, 0, 0, 0]})
    single = pd.DataFrame({"task": [1, 2], "worker": [1, 2], "label": [0, 1]})
    for frame in (alike, single):
        assert math.isnan(krippendorff_alpha(fc.read_votes(frame)).alpha)


def test_full_agreement_chance_and_opposition() -> None:
    def alpha(labels: np.ndarray) -> float:
        n_tasks, n_workers = labels.shape
        task, worker = np.repeat(np.arange(n_tasks), n_workers), np.tile(np.arange(n_workers), n_tasks)
        return krippendorff_alpha(
            fc.read_votes(pd.DataFrame({"task": task, "worker": worker, "label": labels.ravel()}))
        ).alpha

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (4000, 1))
    assert alpha(np.repeat(truth, 3, axis=1)) == 1
    assert alpha(rng.integers(0, 3, (4000, 3))) == pytest.approx(0, abs=0.03)
    assert alpha(np.column_stack([truth, (truth + 1) % 3])) < -0.3


def test_agreement_by_hand() -> None:
    rows = [
        *((0, w, k) for w, k in enumerate("aab")),
        *((1, w, k) for w, k in enumerate("bb")),
        (2, 0, "a"),
        (3, 0, "b"),
    ]
    rows += [*((4, w, k) for w, k in enumerate("abcb"))]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = krippendorff_alpha(fc.read_votes(frame, sensitive_features=dict(enumerate("xxyxy"))))
    # Pairs that differ, over one less than the votes: 4 / 2, 0 / 1, and 10 / 3; by chance, of 3 a, 5 b and 1 c.
    assert found.alpha == pytest.approx(1 - (2 + 10 / 3) * 8 / (3 * 6 + 5 * 4 + 1 * 8), abs=1e-15)
    np.testing.assert_allclose(found.by_group, [1 - 2 * 4 / (2 * 3 * 2), 1 - 10 / 3 * 3 / (3 + 4 + 3)], atol=1e-15)
    assert (found.tasks.tolist(), found.votes.tolist(), found.single) == ([2, 1], [5, 4], 2)
    alone = krippendorff_alpha(fc.read_votes(frame))
    assert alone.alpha == found.alpha
    assert (alone.by_group.size, alone.groups, alone.tasks.tolist(), alone.votes.tolist()) == (0, None, [3], [9])


def test_no_votes_have_no_agreement() -> None:
    found = krippendorff_alpha(fc.read_votes(published()[:0]))
    assert math.isnan(found.alpha)
    assert (found.tasks.tolist(), found.votes.tolist(), found.single, found.by_group.size) == ([0], [0], 0, 0)
