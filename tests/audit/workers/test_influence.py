"""The influence of workers on the gap and on labels: against leaving them out and counting again."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from audit.workers.crowds import random_crowd, read_crowd
from faircrowd.audit.workers.influence import Influence, _share_out, worker_influence
from faircrowd.errors import OptionError
from faircrowd.votes import VoteTable
from strategies import examples

Row = tuple[int, int, int]


def majority(labels: list[int], ties: str) -> dict[int, Fraction]:
    """The share of a task that each class gets; nothing without votes."""
    counts = Counter(labels)
    top = sorted(k for k in counts if counts[k] == max(counts.values()))
    if ties == "split":
        return {k: Fraction(1, len(top)) for k in top}
    return {(top[0] if ties == "first" else top[-1]): Fraction(1)} if top else {}


def gap_of_rows(rows: list[Row], group: list[int], ties: str) -> float:
    rates = []
    for a in sorted({group[task] for task, _, _ in rows}):
        tasks = sorted({task for task, _, _ in rows if group[task] == a})
        shares = [majority([k for t, _, k in rows if t == task], ties) for task in tasks]
        rates.append([sum(share.get(k, Fraction(0)) for share in shares) / len(tasks) for k in range(3)])
    return float(max(max(r) - min(r) for r in zip(*rates, strict=True))) if len(rates) > 1 else np.nan


def small(seed: int) -> tuple[list[Row], list[int], VoteTable]:
    """Eight tasks, four workers, three classes, two groups; workers may vote on a task repeatedly."""
    rng = np.random.default_rng(seed)
    group = [0, 1, *rng.integers(0, 2, 6).tolist()]
    rows = [(t, int(w), int(rng.integers(3))) for t in range(8) for w in rng.integers(0, 4, rng.integers(1, 7))]
    rows += [(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 0)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate(group)), on_duplicate="all")
    return rows, group, votes


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@pytest.mark.parametrize("seed", range(3))
def test_workers_are_left_out_one_by_one(seed: int) -> None:
    rows, group, votes = small(seed)
    for ties in ("split", "first", "last"):
        found = worker_influence(votes, ties=ties)
        assert found.gap == pytest.approx(gap_of_rows(rows, group, ties), abs=1e-12)
        for worker in range(4):
            rest = [row for row in rows if row[1] != worker]
            assert found.without[worker] == pytest.approx(gap_of_rows(rest, group, ties), abs=1e-12, nan_ok=True)
            for_tasks = [[[k for t, _, k in some if t == task] for some in (rows, rest)] for task in range(8)]
            assert found.changed[worker] == sum(majority(a, ties) != majority(b, ties) for a, b in for_tasks)
    np.testing.assert_array_equal(worker_influence(votes).without, worker_influence(votes, ties="split").without)


def test_a_group_that_only_one_worker_voted_in() -> None:
    frame = pd.DataFrame([(0, "u", 1), (1, "u", 0), (1, "v", 0)], columns=["task", "worker", "label"])
    found = worker_influence(fc.read_votes(frame, sensitive_features={0: "a", 1: "b"}))
    assert found.gap == 1
    np.testing.assert_array_equal(found.without, [np.nan, 1])
    assert found.changed.tolist() == [1, 0]
    assert found.ranking.tolist() == [1, 0]


def test_workers_are_ranked_by_what_they_add() -> None:
    found = Influence(0.5, np.array([0.5, 0.25, np.nan, 0.75, 0.25]), np.zeros(5, dtype=np.int64))
    np.testing.assert_array_equal(found.influence, [0, 0.25, np.nan, -0.25, 0.25])
    assert found.ranking.tolist() == [1, 4, 0, 3, 2]


@pytest.mark.parametrize("counts", list(product(range(3), repeat=3)))
def test_a_task_is_shared_out_to_the_most_votes(counts: tuple[int, ...]) -> None:
    share_out = getattr(_share_out, "py_func", _share_out)  # compiled, it has no entry point for Python
    votes = np.array([*counts, 7])  # the last class is not asked for
    order = np.array([1, 2, 0])
    for rule, ties in enumerate(("split", "first", "last")):
        mass = np.full(4, 5, dtype=np.int64)
        top, second = share_out(order, len(order), votes, rule, mass)
        ranked = sorted(counts)
        assert (top, second) == (ranked[-1], ranked[-2])
        share = majority([k for k, n in enumerate(counts) for _ in range(n)], ties)
        whole = mass[:3].sum()
        assert whole == (2520 << 20 if any(counts) else 0)
        assert mass.tolist() == [*(share.get(k, 0) * whole for k in range(3)), 5]


def majority_gap(frame: pd.DataFrame, ties: str) -> float:
    tasks, task = np.unique(frame["task"], return_inverse=True)
    counts, group = np.zeros((tasks.size, frame["label"].max() + 1)), np.empty(tasks.size)
    np.add.at(counts, (task, frame["label"]), 1)
    group[task] = frame["group"]
    highest = counts == counts.max(axis=1, keepdims=True)
    mass = highest / highest.sum(axis=1, keepdims=True)
    if ties != "split":
        winner = highest.argmax(axis=1) if ties == "first" else counts.shape[1] - 1 - highest[:, ::-1].argmax(axis=1)
        mass = np.eye(counts.shape[1])[winner]
    rates = np.array([mass[group == a].mean(axis=0) for a in np.unique(group)])
    return float(np.ptp(rates, axis=0).max()) if len(rates) > 1 else np.nan


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 3), st.booleans())
@settings(max_examples=examples(25))
def test_influence_is_that_of_leaving_workers_out(seed: int, n_classes: int, n_groups: int, repeats: bool) -> None:
    frame = random_crowd(seed, 8, 4, n_classes, n_groups, repeats)
    votes = read_crowd(frame)
    for ties in ("split", "first", "last"):
        found = worker_influence(votes, ties=ties)
        assert found.gap == pytest.approx(majority_gap(frame, ties), abs=1e-12)
        for code, worker in enumerate(votes.workers.to_list()):
            rest = frame[frame["worker"] != worker]
            want = np.nan if rest.empty else majority_gap(rest, ties)
            np.testing.assert_allclose(found.without[code], want, atol=1e-12)
            np.testing.assert_allclose(found.influence[code], found.gap - want, atol=1e-12)


def test_influence_by_hand() -> None:
    # Worker 0 decides task a alone, and is half of the tie on task b.
    frame = pd.DataFrame(
        [("a", 0, 1, 0), ("b", 0, 0, 1), ("b", 1, 1, 1), ("c", 1, 0, 0), ("d", 1, 0, 1)],
        columns=["task", "worker", "label", "group"],
    )
    found = worker_influence(read_crowd(frame))
    assert found.gap == 0.25  # rates of class 1: a=1, c=0 against b=1/2, d=0
    np.testing.assert_allclose(found.without, [0.5, 1.0])  # c=0 against b=1, d=0; a=1 against b=0
    assert found.changed.tolist() == [2, 3]
    assert found.ranking.tolist() == [0, 1]
    first = worker_influence(read_crowd(frame), ties="first")
    assert first.gap == 0.5
    assert first.changed.tolist() == [2, 2]  # task b is 0 with and without worker 1
    with pytest.raises(OptionError, match="ties"):
        worker_influence(read_crowd(frame), ties="coin")
