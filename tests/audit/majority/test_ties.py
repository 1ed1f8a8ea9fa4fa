"""The range of the gap over all ways to break ties, against trying them all."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.audit.majority.tie_range import majority_ties, tie_range
from faircrowd.errors import InputError
from strategies import examples


def gap(labels: np.ndarray, group: np.ndarray, n_classes: int) -> float:
    rates = np.array([[np.mean(labels[group == a] == k) for k in range(n_classes)] for a in np.unique(group)])
    return float(np.ptp(rates, axis=0).max())


def every_gap(scores: np.ndarray, group: np.ndarray) -> list[float]:
    choices = [np.flatnonzero(row == row.max()) for row in scores]
    return [gap(np.array(labels), group, scores.shape[1]) for labels in itertools.product(*choices)]


@st.composite
def tied(draw: st.DrawFn, n_classes: int, n_groups: int, n_tasks: int, n_votes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_tasks = draw(st.integers(n_groups, n_tasks))
    scores = rng.multinomial(n_votes, np.ones(n_classes) / n_classes, n_tasks).astype(float)
    group = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_tasks - n_groups)]))
    return scores, group


def check(scores: np.ndarray, group: np.ndarray) -> None:
    found, gaps = tie_range(scores, group), every_gap(scores, group)
    assert found.smallest == pytest.approx(min(gaps), abs=1e-12)
    assert found.largest == pytest.approx(max(gaps), abs=1e-12)
    assert found.exact
    assert found.bound == found.smallest
    assert found.first == pytest.approx(gaps[0], abs=1e-12)  # the product begins with the first of every task
    assert found.last == pytest.approx(gaps[-1], abs=1e-12)
    several = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert found.tied.tolist() == [int(several[group == a].sum()) for a in np.unique(group)]
    assert found.tasks.tolist() == np.bincount(group).tolist()


@given(tied(n_classes=2, n_groups=2, n_tasks=12, n_votes=2))
@settings(max_examples=examples(60))
def test_two_classes_and_groups(problem: tuple[np.ndarray, np.ndarray]) -> None:
    check(*problem)


@given(tied(n_classes=2, n_groups=3, n_tasks=11, n_votes=2))
@settings(max_examples=examples(60))
def test_two_classes_and_many_groups(problem: tuple[np.ndarray, np.ndarray]) -> None:
    check(*problem)


@given(st.sampled_from([(3, 2), (3, 3), (4, 2)]).flatmap(lambda kg: tied(*kg, n_tasks=7, n_votes=2)))
@settings(max_examples=examples(60))
def test_many_classes(problem: tuple[np.ndarray, np.ndarray]) -> None:
    check(*problem)


def test_rates_that_share_no_denominator() -> None:
    # 0 to 2 of 3 against 1 to 4 of 5: 1/3 and 2/5 are closest.
    scores = np.array([[1, 0], [1, 1], [1, 1], [0, 1], [1, 1], [1, 1], [1, 1], [1, 0]])
    found = tie_range(scores, np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    assert found.smallest == pytest.approx(2 / 5 - 1 / 3)
    assert found.largest == pytest.approx(4 / 5)


def test_one_group_has_no_gap_and_no_ties_leave_one() -> None:
    one = tie_range(np.array([[1, 1, 0], [0, 1, 0]]), np.zeros(2, dtype=int))
    assert (one.smallest, one.largest, one.first) == (0, 0, 0)
    sure = tie_range(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([0, 0, 1]))
    assert sure.smallest == sure.largest == sure.first == sure.last == 1
    assert sure.tied.tolist() == [0, 0]


@pytest.mark.parametrize("n_tasks", [3000, 60_000])
def test_many_ties_of_many_classes_are_bounded(n_tasks: int) -> None:
    rng = np.random.default_rng(0)
    scores = rng.multinomial(3, np.ones(5) / 5, n_tasks).astype(float)
    found = tie_range(scores, (rng.random(n_tasks) < 0.3).astype(int) + (rng.random(n_tasks) < 0.2))
    assert 0 <= found.bound <= found.smallest <= min(found.first, found.last)
    assert found.smallest - found.bound < 10 / found.tasks.min()  # a few tasks of the smallest group
    assert found.largest > 0.3


def test_majority_counts_votes() -> None:
    frame = pd.DataFrame(
        [("t1", 1, "a"), ("t1", 2, "b"), ("t2", 1, "a"), ("t3", 1, "b"), ("t3", 2, "a"), ("t4", 2, "b")],
        columns=["task", "worker", "label"],
    )
    votes = fc.read_votes(frame, sensitive_features={"t1": "x", "t2": "x", "t3": "y", "t4": "y"})
    found = majority_ties(votes)
    assert (found.smallest, found.largest, found.first, found.last) == (0, 1, 0.5, 0.5)
    assert found.tied.tolist() == [1, 1]
    with pytest.raises(InputError, match="no groups"):
        majority_ties(fc.read_votes(frame))


@pytest.mark.parametrize(
    ("scores", "group", "words"),
    [
        ([[1.0, np.nan]], [0], "NaN"),
        ([1.0, 2.0], [0, 1], "row per task"),
        ([[1, 2], [1, 2]], [0, 2], "each must have"),
    ],
)
def test_what_is_no_problem_is_refused(scores: list, group: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        tie_range(scores, np.array(group))


@pytest.mark.real
def test_crowd_judgement(data_folder: Path) -> None:
    """Votes are coded right or wrong, a column a worker; the gaps of either tie rule are known."""
    folder = data_folder / "crowd-judgement"
    wide = pd.read_csv(folder / "MTURK_RACE.csv").iloc[1:].rename(columns={"mTurk_code": "task"})
    tasks = pd.read_csv(folder / "BROWARD_CLEAN_SUBSET.csv").set_index("id")
    votes = wide.astype({"task": int}).melt("task", var_name="worker", value_name="right").dropna()
    truth = votes["task"].map(tasks["two_year_recid"])
    votes["label"] = np.where(votes.pop("right") > 0, truth, 1 - truth)
    table = fc.read_votes(votes, sensitive_features=(tasks["race"] == 2).astype(int))
    found = majority_ties(table)
    assert found.tied.sum() == 42
    assert found.last == pytest.approx(0.188, abs=5e-4)
    assert found.first == pytest.approx(0.193, abs=5e-4)
    assert found.smallest < found.last < found.first < found.largest
