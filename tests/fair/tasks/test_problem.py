"""A problem's verbs over pieces, its orders and its counts, against one-liners."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd.exact.hashing import task_keys
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks import problem as module
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary

N = 11
RNG = np.random.default_rng(2)
P = RNG.dirichlet(np.ones(3), N)
GROUP = np.array([0, 1, 1, 0, 2, 1, 0, 0, 1, 2, 0])
EVIDENCE = np.array([1, 2, 1, 3, 2, 2, 1, 3, 3, 2, 1])
WEIGHTS = RNG.integers(1, 5, N) / 4


def made(**more: Any) -> Problem:
    return read_posterior(P, GROUP, **more)


def facts(tasks: Tasks, plus: int) -> tuple[Any, ...]:
    """What a kernel sees of some tasks: their numbers, and sums."""
    rows = np.arange(tasks.group.size)
    assert len(tasks.posterior) == len(tasks.own) == rows.size
    assert tasks.log_odds.size in (0, rows.size)
    assert tasks.evidence.size in (0, rows.size)
    assert tasks.evidence.dtype == np.int64
    return rows + tasks.first + plus, tasks.group.astype(np.int64)


def sums(tasks: Tasks, plus: int) -> tuple[Any, ...]:
    numbers, groups = facts(tasks, plus)
    return np.array([numbers.sum(), 1]), np.bincount(groups, minlength=3)


def rows(tasks: Tasks, factor: float) -> Any:
    return factor * tasks.posterior


@pytest.mark.parametrize("piece", [1, 4, 10, 11, 12])
@pytest.mark.parametrize("by_evidence", [False, True])
def test_pieces_make_up_the_whole(piece: int, by_evidence: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TASKS_PER_PIECE", piece)
    monkeypatch.setattr(module, "_TASKS_PER_PART", piece)
    problem = made(evidence=EVIDENCE if by_evidence else None)
    pieces = -(-N // piece)
    total, groups = problem.reduce(sums, 5)
    assert total.tolist() == [sum(range(N)) + 5 * N, pieces]
    assert groups.tolist() == problem.sizes.tolist() == [5, 4, 2]
    numbers, groups = problem.gather(facts, 5)
    assert numbers.tolist() == list(range(5, N + 5))
    assert groups.tolist() == GROUP.tolist()
    np.testing.assert_array_equal(problem.emit(rows, 2.0), 2.0 * P)
    labels = np.arange(N, dtype=np.int32) % 3
    np.testing.assert_array_equal(problem.emit(lambda tasks: labels[tasks.first :][: tasks.group.size]), labels)
    for gain in (make_gain("accuracy", 3), make_gain([[2, 0, -1], [0, 1, 0], [-1, 0, 3]], 3)):
        plain = read_posterior(P, GROUP).tally(labels, gain)
        assert plain.tasks.sum() == N
        for name in plain._fields:
            np.testing.assert_array_equal(getattr(problem.tally(labels, gain), name), getattr(plain, name))


def test_four_million_tasks_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module._MAX_SORTED_TASKS == 2**22
    problem = made()
    for most, quick in ((N - 1, False), (N, True)):
        monkeypatch.setattr(module, "_MAX_SORTED_TASKS", most)
        assert problem.sorts is quick


def test_no_tasks_are_one_piece_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TASKS_PER_PIECE", 1)
    problem = replace(made(), posterior=P[:0], group=GROUP[:0], own=GROUP[:0].astype(np.int32))
    (piece,) = problem._pieces()
    assert (piece.group.size, piece.first) == (0, 0)


def test_logarithms_come_with_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TASKS_PER_PART", 4)
    monkeypatch.setattr(module, "_TASKS_PER_PIECE", 4)
    pairs = P[:, :2] / P[:, :2].sum(axis=1, keepdims=True)
    problem = read_posterior(pairs, GROUP, log_posterior=np.log(pairs))
    assert problem.has_odds
    assert not made().has_odds
    found = problem.emit(lambda tasks: tasks.log_odds)
    np.testing.assert_allclose(found, np.log(pairs[:, 1] / pairs[:, 0]))


# Order.


@pytest.mark.parametrize("by_evidence", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
def test_tasks_are_ordered_by_keys_then_evidence_then_hash_then_type(by_evidence: bool, mixed: bool) -> None:
    names: list[Any] = [i // 2 if i % 2 else f"int {i // 2}" for i in range(N)]  # such pairs have one hash
    ids = Vocabulary.of(names if mixed else [f"t{i}" for i in range(N)])
    problem = replace(made(evidence=EVIDENCE if by_evidence else None), tasks=ids)
    hashes = task_keys(ids, np.arange(N), 7)
    assert (len(set(hashes.tolist())) < N) == mixed
    key, second = GROUP % 2, np.arange(N) % 3
    kind = [type(value).__name__ for value in ids.to_list()]
    order = lambda i: (-EVIDENCE[i] if by_evidence else 0, hashes[i], kind[i])  # noqa: E731
    given = np.array([10, 3, 4, 0, 1, 2, 7, 6, 5, 8])
    assert problem.ordered(given, 7).tolist() == sorted(given, key=order)
    wanted = sorted(given, key=lambda i: (key[i], second[i], *order(i)))
    assert problem.ordered(given, 7, key[given], second[given]).tolist() == wanted


@pytest.mark.parametrize("first", [0, 4])
@pytest.mark.parametrize("by_evidence", [False, True])
def test_tasks_up_to_the_last_are_first(first: int, by_evidence: bool) -> None:
    ids = Vocabulary.of([f"t{i}" for i in range(N)])
    evidence = EVIDENCE[first:] if by_evidence else EVIDENCE[:0]
    tasks = Tasks(P[first:], GROUP[first:], GROUP[first:], np.empty(0), evidence, ids, first)
    given = np.array([5, 0, 3, 6, 1])
    hashes = tasks.hashes(given, 7)
    np.testing.assert_array_equal(hashes, task_keys(ids, given + first, 7))
    order = [(-int(evidence[i]) if by_evidence else 0, int(h)) for i, h in zip(given, hashes, strict=True)]
    for last in order:
        found = tasks.is_first(given, (-last[0], last[1]), 7)
        assert found.tolist() == [each <= last for each in order]
    assert Tasks(P, GROUP, GROUP, np.empty(0), evidence, ids).first == 0


# Counts and what users get.


def test_weights_and_rates() -> None:
    labels = np.arange(N, dtype=np.int32) % 3
    for weights in (None, WEIGHTS):
        problem = made(sample_weight=weights)
        w = np.ones(N) if weights is None else weights
        assert problem.group_weights().tolist() == [w[a == GROUP].sum() for a in range(3)]
        wanted = [[w[(a == GROUP) & (labels == k)].sum() / w[a == GROUP].sum() for k in range(3)] for a in range(3)]
        np.testing.assert_allclose(problem.rates(labels), wanted, atol=1e-15)
        tally = problem.tally(labels)
        assert tally.accuracies[1] == pytest.approx(np.average(P[np.arange(N), labels], weights=w))
        assert tally.tasks.dtype == np.int64
        assert tally.tasks[2].sum() == 2
        assert tally.mass[2].sum() == pytest.approx(w[GROUP == 2].sum())
    more = replace(made(), groups=Vocabulary.of([0, 1, 2, 3]))
    assert more.sizes.tolist() == more.group_weights().tolist() == [5, 4, 2, 0]


def test_labels_and_frames_are_as_the_posterior_came() -> None:
    codes = np.arange(N, dtype=np.int32) % 3
    problem = made()
    assert problem.labels(codes).dtype == np.int64
    assert problem.labels(codes).tolist() == codes.tolist()
    assert problem.probas is problem.posterior
    frame = pd.DataFrame(P, index=pd.Index([f"t{i}" for i in range(N)], name="task"), columns=list("abc"))
    named = read_posterior(frame, dict(zip(frame.index, GROUP.tolist(), strict=True)))
    labels = named.labels(codes)
    assert (labels.name, labels.index.name) == ("agg_label", "task")
    assert labels.to_dict() == {f"t{i}": "abc"[i % 3] for i in range(N)}
    pd.testing.assert_frame_equal(named.probas, frame, check_names=False)
    assert named.probas.columns.name == "label"
    assert (named.n_groups, named.n_classes) == (3, 3)
