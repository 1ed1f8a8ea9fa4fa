"""The parts of the range over ties: ways to break them, the closest rates, whole counts, and a search cut short."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

from faircrowd.audit.majority import tie_range as module
from faircrowd.audit.majority.tie_range import (
    TieRange,
    _closest_rates,
    _largest,
    _program,
    _rounded,
    _smallest,
    _Ties,
    tie_range,
)
from faircrowd.errors import InputError


def test_by_hand() -> None:
    # Group 0: one sure 0, one tie of 0 and 2. Group 1: a sure 2, a tie of all, a tie of 1 and 2.
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


def test_one_task_a_group() -> None:
    found = tie_range([[1, 1], [1, 0]], np.array([0, 1]), 2)
    assert (found.smallest, found.largest, found.first, found.last) == (0, 1, 0, 1)
    assert tie_range([[1], [1]], np.array([0, 1])).largest == 0


def test_a_range_is_exact_where_its_bound_is_reached() -> None:
    none = np.zeros(2, dtype=np.int64)
    assert TieRange(0.5, 1.0, 0.5, 0.5, 0.5, none, none).exact
    assert not TieRange(0.5, 1.0, 0.25, 0.5, 0.5, none, none).exact


def test_what_is_refused() -> None:
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


def test_whole_counts_have_the_sum_of_their_row() -> None:
    wanted = np.array([[1.2, 0.7, 1.1], [2.0, 0.9999999, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 1.4], [0.0, 0.0, 3.0]])
    assert _rounded(wanted, np.array([3, 3, 1, 2, 3])).tolist() == [
        [1, 1, 1],
        [2, 1, 0],
        [1, 0, 0],
        [0, 0, 2],
        [0, 0, 3],
    ]
    assert _rounded(np.array([[1.6, 1.7, 0.7]]), np.array([4])).tolist() == [[1, 2, 1]]


def tied() -> _Ties:
    """Three groups, three classes, with ties of two and of three."""
    classes = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]], dtype=bool)
    untied = np.array([[1, 0, 2], [2, 2, 0], [0, 2, 0]])
    return _Ties(np.array([0, 0, 1, 2]), classes, np.array([2, 1, 1, 2]), untied, np.array([6, 5, 4]))


def every_gap(ties: _Ties) -> list[float]:
    """The gaps of all ways to break the ties, a task at a time."""
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
    ties, gaps = tied(), every_gap(tied())
    assert ties.most.tolist() == [[4, 3, 3], [2, 3, 1], [2, 2, 2]]
    assert _program(ties) == pytest.approx((min(gaps), min(gaps)), abs=1e-12)
    assert _largest(ties) == pytest.approx(max(gaps), abs=1e-12)
    assert _smallest(ties, 0.0) == (0.0, 0.0)  # no more than the gap that is known
    assert _smallest(ties, 1.0) == _program(ties)


def test_many_ties_need_not_be_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ties = tied()
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
    assert _program(tied()) == pytest.approx((reached, bound), abs=1e-12)


def test_two_classes_need_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    # 0 to 2 of 3 against 1 to 4 of 5: 1/3 and 2/5 are closest, among whole counts.
    monkeypatch.setattr(module, "_MAX_INTEGER_TIES", 0)
    scores = [[1, 0], [1, 1], [1, 1], [0, 1], [1, 1], [1, 1], [1, 1], [1, 0]]
    found = tie_range(scores, np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    assert found.smallest == found.bound == pytest.approx(2 / 5 - 1 / 3)
