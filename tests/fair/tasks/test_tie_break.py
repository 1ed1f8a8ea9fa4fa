"""The first of equal tasks by counting, against a sort."""

from typing import Any

import numpy as np
import pytest

from faircrowd.fair.tasks import problem as problems
from faircrowd.fair.tasks import tie_break as order
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tie_break import first_in_each, first_in_order


def odd(tasks: Tasks, most: float) -> Any:
    """Return the tasks of an odd number of ids whose posterior is small."""
    rows = np.flatnonzero(tasks.posterior[:, 1] < most)
    return rows[(rows + tasks.first) % 2 == 1]


def some(n: int, evidence: Any) -> tuple[Problem, np.ndarray]:
    p = np.random.default_rng(n).uniform(0, 1, n)
    problem = read_posterior(np.stack([1 - p, p], axis=1), np.arange(n) % 2, evidence=evidence)
    return problem, odd(next(problem._pieces()), 0.8)


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[Any]]:
    """Return how many hashes are gathered each time, and what is counted, from now on."""
    held: list[int] = []
    counted: list[Any] = []
    gather, reduce = Problem.gather, Problem.reduce

    def gathers(self: Problem, kernel: Any, *given: Any) -> Any:
        found = gather(self, kernel, *given)
        held.append(0 if kernel is order._evidence else len(found[-1]))
        return found

    def reduces(self: Problem, kernel: Any, *given: Any) -> Any:
        counted.append(kernel)
        return reduce(self, kernel, *given)

    monkeypatch.setattr(Problem, "gather", gathers)
    monkeypatch.setattr(Problem, "reduce", reduces)
    return held, counted


EVIDENCE = {
    "none": None,
    "zero": np.zeros(300, dtype=int),
    "one": np.ones(300, dtype=int),
    "several": np.arange(300) // 2 % 4,
}


@pytest.mark.parametrize("few", [None, 40, 3], ids=["at once", "by evidence", "by bins"])
@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_and_hash_of_the_last(few: int | None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, rows = some(300, EVIDENCE[name])
    few = few or rows.size
    monkeypatch.setattr(order, "_MAX_GATHERED_TASKS", few)
    monkeypatch.setattr(problems, "_TASKS_PER_PIECE", 90)
    found = np.zeros(300, dtype=int) if problem.evidence is None else problem.evidence
    hashes = next(problem._pieces(300)).hashes(rows, 4)
    ranked = sorted((-int(e), int(h)) for e, h in zip(found[rows], hashes, strict=True))
    levels = np.cumsum(np.unique(-found[rows], return_counts=True)[1]).tolist()
    counts = sorted({1, 2, *levels, *(level - 1 for level in levels), levels[0] + 1 if levels[1:] else 3, rows.size})
    wanted = [(-ranked[count - 1][0], ranked[count - 1][1]) for count in counts]
    held, counted = watched(monkeypatch)
    assert first_in_order(problem, odd, (0.8,), rows.size, counts, 4) == wanted
    assert first_in_order(problem, odd, (0.8,), rows.size, counts[::-1], 4) == wanted[::-1]
    assert max(held) <= few
    assert (held == [rows.size] * 2) == (few == rows.size)
    assert bool(counted) == (np.unique(found[rows], return_counts=True)[1].max() > few)
    assert first_in_order(problem, odd, (0.8,), rows.size, [], 4) == []


def by_remainder(tasks: Tasks, most: float, n_sets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the tasks whose posterior is small, and the remainder of their number."""
    rows = np.flatnonzero(tasks.posterior[:, 1] < most)
    return rows, (rows + tasks.first) % n_sets


def of_remainder(tasks: Tasks, most: float, n_sets: int, chosen: int) -> np.ndarray:
    rows, number = by_remainder(tasks, most, n_sets)
    return rows[number == chosen]


@pytest.mark.parametrize("by_evidence", [False, True])
@pytest.mark.parametrize(("few", "passes"), [(300, 1), (110, 2), (52, 6), (8, None)])
@pytest.mark.parametrize("name", EVIDENCE)
def test_the_first_of_many_sets_in_few_passes(
    name: str, few: int, passes: int | None, by_evidence: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, _ = some(300, EVIDENCE[name])
    monkeypatch.setattr(problems, "_TASKS_PER_PIECE", 90)
    _, number = by_remainder(next(problem._pieces(300)), 0.8, 7)
    totals = np.bincount(number)
    counts = [[1, 5, int(total)] if i != 3 else [] for i, total in enumerate(totals)]
    wanted = [
        first_in_order(problem, of_remainder, (0.8, 7, i), int(total), some_counts, 4, by_evidence)
        for i, (total, some_counts) in enumerate(zip(totals, counts, strict=True))
    ]
    monkeypatch.setattr(order, "_MAX_GATHERED_TASKS", few)
    held, _ = watched(monkeypatch)
    assert first_in_each(problem, by_remainder, (0.8, 7), totals, counts, 4, by_evidence) == wanted
    assert max(held) <= few
    assert passes is None or len(held) <= passes
    held.clear()
    assert first_in_each(problem, by_remainder, (0.8, 7), totals, [[]] * 7, 4, by_evidence) == [[]] * 7
    assert not held


class Hashed:
    """Tasks that are their hashes, all of one evidence."""

    def __init__(self, hashes: list[int]) -> None:
        self.hashes_, self.calls, self.held = np.array(hashes, dtype=np.uint64), 0, 0

    def tasks(self) -> Any:
        class Few:
            evidence = np.empty(0)
            hashes = staticmethod(lambda rows, _: self.hashes_[rows])

        return Few()

    def reduce(self, kernel: Any, *parameters: Any) -> Any:
        self.calls += 1
        return kernel(self.tasks(), *parameters)

    def gather(self, kernel: Any, *parameters: Any) -> Any:
        (found,) = kernel(self.tasks(), *parameters)
        self.held = found.size
        return [found]


CASES = {
    "spread": [int(x) for x in np.linspace(0, 2**64 - 2**12, 70)],
    "ends": [0, 1, 2, 3, 2**64 - 1, 2**64 - 2, 2**64 - 3, 2**64 - 4, 2**48 - 1, 2**48, 2**48 + 1],
    "near": [2**63 + i for i in range(40)],
    "equal": [5] * 9 + [2**64 - 1] * 9 + [2**40] * 3,
}


@pytest.mark.parametrize("name", CASES)
def test_the_hash_of_a_rank(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins end where hashes do; few tasks are held, unless they are equal."""
    monkeypatch.setattr(order, "_MAX_GATHERED_TASKS", 2)
    hashes = CASES[name]
    for rank in range(1, len(hashes) + 1):
        tasks = Hashed(hashes)
        where = (lambda _: np.arange(len(hashes)), (), 0, 1)
        assert order._hash_of_rank(tasks, where, rank, len(hashes)) == sorted(hashes)[rank - 1]  # type: ignore[arg-type]
        assert tasks.held <= 2 or hashes.count(sorted(hashes)[rank - 1]) == tasks.held
        assert 1 <= tasks.calls <= 4  # 16 bits of 64 each time
    tasks = Hashed(hashes[:2])
    assert order._hash_of_rank(tasks, (lambda _: np.arange(2), (), 0, 1), 2, 2) == max(hashes[:2])  # type: ignore[arg-type]
    assert tasks.calls == 0
