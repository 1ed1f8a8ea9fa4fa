"""The range of the gap over all ways to break ties: against trying them all, and its parts."""

import itertools
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.audit.majority import tie_range as module
from faircrowd.audit.majority.tie_range import (
    TieRange,
    _closest_rates,
    _largest,
    _program,
    _rounded,
    _smallest,
    _Ties,
    majority_ties,
    tie_range,
)
from faircrowd.errors import InputError
from strategies import examples


def gap(labels: np.ndarray, group: np.ndarray, n_classes: int) -> float:
    rates = np.array([[np.mean(labels[group == a] == k) for k in range(n_classes)] for a in np.unique(group)])
    return float(np.ptp(rates, axis=0).max())


def every_gap(scores: np.ndarray, group: np.ndarray) -> list[float]:
    choices = [np.flatnonzero(row == row.max()) for row in scores]
    return [gap(np.array(labels), group, scores.shape[1]) for labels in itertools.product(*choices)]


@st.composite
def tied_scores(
    draw: st.DrawFn, n_classes: int, n_groups: int, n_tasks: int, n_votes: int
) -> tuple[np.ndarray, np.ndarray]:
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


@given(tied_scores(n_classes=2, n_groups=2, n_tasks=12, n_votes=2))
@settings(max_examples=examples(60))
def test_two_classes_and_groups(problem: tuple[np.ndarray, np.ndarray]) -> None:
    check(*problem)


@given(tied_scores(n_classes=2, n_groups=3, n_tasks=11, n_votes=2))
@settings(max_examples=examples(60))
def test_two_classes_and_many_groups(problem: tuple[np.ndarray, np.ndarray]) -> None:
    check(*problem)


@given(st.sampled_from([(3, 2), (3, 3), (4, 2)]).flatmap(lambda kg: tied_scores(*kg, n_tasks=7, n_votes=2)))
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
def test_scores_and_groups_that_are_refused(scores: list, group: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        tie_range(scores, np.array(group))


@pytest.mark.real
def test_crowd_judgement(data_folder: Path) -> None:
    """Votes are coded as right or wrong, one column per worker; the gaps of both tie rules are known."""
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


def test_by_hand() -> None:
    # Group 0: an untied 0, a tie of 0 and 2. Group 1: an untied 2, a tie of all, a tie of 1 and 2.
    scores = [[2, 0, 1], [1, 0, 1], [0, 0, 3], [1, 1, 1], [0.5, 1, 1]]
    found = tie_range(scores, np.array([0, 0, 1, 1, 1]))
    assert (found.tied.tolist(), found.tasks.tolist()) == ([1, 2], [2, 3])
    assert found.first == 1 - 1 / 3  # 0 0 against 2 0 1
    assert found.last == 0.5  # 0 2 against 2 2 2
    assert found.largest == 1  # no 2 against all 2
    assert found.smallest == found.bound == pytest.approx(1 / 6)  # 0 2 against 2 0 2
    assert found.exact


def test_one_group_alone() -> None:
    found = tie_range([[1, 1, 0], [0, 1, 1]], np.array([0, 0]))
    assert (found.smallest, found.largest, found.bound, found.first, found.last) == (0, 0, 0, 0, 0)
    assert found.tied.tolist() == [2]


def test_one_task_per_group() -> None:
    found = tie_range([[1, 1], [1, 0]], np.array([0, 1]), 2)
    assert (found.smallest, found.largest, found.first, found.last) == (0, 1, 0, 1)
    assert tie_range([[1], [1]], np.array([0, 1])).largest == 0


def test_a_range_is_exact_where_its_bound_is_reached() -> None:
    none = np.zeros(2, dtype=np.int64)
    assert TieRange(0.5, 1.0, 0.5, 0.5, 0.5, none, none).exact
    assert not TieRange(0.5, 1.0, 0.25, 0.5, 0.5, none, none).exact


def test_shapes_that_are_refused() -> None:
    for scores, group in (
        (np.zeros((2, 2, 1)), [0, 1]),
        (np.zeros((2, 2)), [0]),
        (np.zeros((0, 2)), []),
        (np.zeros((2, 0)), [0, 1]),
    ):
        with pytest.raises(InputError, match="Scores need one row per task and one column per class, without NaN; got"):
            tie_range(scores, np.array(group, dtype=int))
    for n_groups in (1, 3):
        with pytest.raises(InputError, match=f"coded from 0 to {n_groups - 1}, and each must have a task"):
            tie_range(np.zeros((2, 2)), np.array([0, 1]), n_groups)


@pytest.mark.parametrize("seed", range(12))
def test_the_closest_rates_are_those_of_all_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = rng.integers(1, 8, 2 + seed % 2)
    low = rng.integers(0, tasks + 1)
    high = rng.integers(low, tasks + 1)
    ranges = [range(a, b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    every = ([Fraction(x, int(n)) for x, n in zip(counts, tasks, strict=True)] for counts in itertools.product(*ranges))
    assert _closest_rates(low, high, tasks) == pytest.approx(float(min(max(r) - min(r) for r in every)), abs=1e-15)


def test_rounded_counts_have_the_sum_of_their_row() -> None:
    wanted = np.array([[1.2, 0.7, 1.1], [2.0, 0.9999999, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 1.4], [0.0, 0.0, 3.0]])
    assert _rounded(wanted, np.array([3, 3, 1, 2, 3])).tolist() == [
        [1, 1, 1],
        [2, 1, 0],
        [1, 0, 0],
        [0, 0, 2],
        [0, 0, 3],
    ]
    assert _rounded(np.array([[1.6, 1.7, 0.7]]), np.array([4])).tolist() == [[1, 2, 1]]


def some_ties() -> _Ties:
    """Three groups, three classes, with ties of two and of three."""
    classes = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]], dtype=bool)
    untied = np.array([[1, 0, 2], [2, 2, 0], [0, 2, 0]])
    return _Ties(np.array([0, 0, 1, 2]), classes, np.array([2, 1, 1, 2]), untied, np.array([6, 5, 4]))


def every_gap_of_counts(ties: _Ties) -> list[float]:
    """The gaps of all ways to break the ties, task by task."""
    atoms = zip(ties.group, ties.classes, ties.mass, strict=True)
    tasks = [(a, np.flatnonzero(row)) for a, row, n in atoms for _ in range(n)]
    gaps = []
    for labels in itertools.product(*(classes for _, classes in tasks)):
        counts = ties.untied.copy()
        for (a, _), k in zip(tasks, labels, strict=True):
            counts[a, k] += 1
        gaps.append(float(np.ptp(counts / ties.tasks[:, None], axis=0).max()))
    return gaps


def test_the_program_finds_the_smallest_gap() -> None:
    ties, gaps = some_ties(), every_gap_of_counts(some_ties())
    assert ties.most.tolist() == [[4, 3, 3], [2, 3, 1], [2, 2, 2]]
    assert _program(ties) == pytest.approx((min(gaps), min(gaps)), abs=1e-12)
    assert _largest(ties) == pytest.approx(max(gaps), abs=1e-12)
    assert _smallest(ties, 0.0) == (0.0, 0.0)  # at most the gap that is known
    assert _smallest(ties, 1.0) == _program(ties)


def test_very_many_ties_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ties = some_ties()
    monkeypatch.setattr(module, "_MAX_INTEGER_TIES", 6)
    assert _program(ties) == pytest.approx((1 / 6, 1 / 6), abs=1e-12)
    monkeypatch.setattr(module, "_MAX_INTEGER_TIES", 5)
    reached, bound = _program(ties)
    assert reached >= 1 / 6 - 1e-12
    assert bound == pytest.approx(2 / 6 - 1 / 5)  # class 2: 2 of 6 or more in group 0, 1 of 5 or less in group 1


@pytest.mark.parametrize(
    ("changes", "reached", "bound"),
    [
        ({"x": None, "status": 1}, 1, 0),
        ({"status": 1, "mip_dual_bound": 1.5}, 1 / 6, 0.1),
        ({"status": 1, "mip_dual_bound": None}, 1 / 6, 0),
        ({"status": 1, "mip_dual_bound": -1.0}, 1 / 6, 0),
        ({"status": 0, "mip_dual_bound": 1.5}, 1 / 6, 1 / 6),
    ],
)
def test_a_search_cut_short_has_a_bound(
    changes: dict[str, object], reached: float, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = scipy.optimize.milp

    def cut_short(*args: object, **options: object) -> SimpleNamespace:
        return SimpleNamespace(**{**solve(*args, **options), **changes})

    monkeypatch.setattr(scipy.optimize, "milp", cut_short)
    assert _program(some_ties()) == pytest.approx((reached, bound), abs=1e-12)


def test_two_classes_need_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    # 0 to 2 of 3 against 1 to 4 of 5: 1/3 and 2/5 are closest, among integer counts.
    monkeypatch.setattr(module, "_MAX_INTEGER_TIES", 0)
    scores = [[1, 0], [1, 1], [1, 1], [0, 1], [1, 1], [1, 1], [1, 1], [1, 0]]
    found = tie_range(scores, np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    assert found.smallest == found.bound == pytest.approx(2 / 5 - 1 / 3)
