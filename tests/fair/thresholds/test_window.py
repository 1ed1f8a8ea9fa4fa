"""Where labels change, found in a window: against all tasks, sorted."""

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from faircrowd.errors import FaircrowdError
from faircrowd.exact.sums import to_units
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.thresholds import window as selection
from faircrowd.fair.thresholds.flip_cost import Prices, place_of
from faircrowd.fair.thresholds.integer import best_counts
from faircrowd.fair.thresholds.labels import Cut, cut_labels
from faircrowd.fair.thresholds.relaxed import Split, relaxed_split
from faircrowd.fair.thresholds.scores import Key, costs_of, keys_of, make_key, unit_of
from faircrowd.fair.thresholds.sorted_group import make_side, make_window
from faircrowd.fair.thresholds.window import Own, Window, coin_at, cut_at, find_window, own_labels
from faircrowd.fair.tolerances import TIE

GAINS = [[1.0, -0.5], [-2.0, 0.5]]
COST = Key(False, -1.0, 1.0, 0.0)


def problem_of(p: Any, group: Any, *, ties: str = "first", evidence: Any = None) -> Problem:
    return read_posterior(np.stack([1 - np.array(p), p], axis=1), group, ties=ties, evidence=evidence)


def some(sizes: tuple[int, int], steps: int | None = None, lean: float = 0.3) -> Problem:
    """Tasks of two groups, the second likelier of class 1; of few different posteriors if of so many steps."""
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.uniform(0, 1 - lean, sizes[0]), rng.uniform(lean, 1, sizes[1])])
    group = np.repeat([0, 1], sizes)
    return problem_of(p if steps is None else np.round(p * steps) / steps, group)


def limbs(costs: Any, unit: float) -> int:
    return sum(int(to_units(-cost, unit)) for cost in np.asarray(costs).tolist())


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("objective", ["accuracy", GAINS], ids=["accuracy", "gains"])
def test_labels_without_a_constraint_are_counted(ties: str, objective: Any) -> None:
    p, group = np.array([0.5, 0.625, 0.25, 1.0, 0.5, 0.75, 0.875]), np.array([0, 0, 0, 0, 1, 1, 1])
    gain = make_gain(objective, 2)
    own = own_labels(problem_of(p, group, ties=ties), make_key(gain, False), by_cost=True)
    worth = np.stack([1 - p, p], axis=1) @ gain.matrix
    gained = worth[:, 1] - worth[:, 0]
    marked = gained >= 0 if ties == "last" else gained > 0
    assert own.counts.tolist() == [np.sum(marked[:4]), np.sum(marked[4:])]
    assert own.gain == pytest.approx(gained[marked].sum() / 7, abs=1e-15)
    assert own.beliefs == pytest.approx((np.mean(1 - p), np.mean(p)), abs=1e-15)
    assert own.signed_gap == pytest.approx(marked[4:].mean() - marked[:4].mean(), abs=1e-15)


def solved_by_sorting(problem: Problem, own: Own, epsilon: float) -> tuple[Split, tuple[int, int]]:
    costs = costs_of(COST, problem.emit(keys_of, COST))
    total = float(costs.size)
    zero, one = (make_side(np.sort(costs[problem.group == a]), None, int(own.counts[a]), total) for a in (0, 1))
    return relaxed_split((zero, one), epsilon), best_counts(zero, one, epsilon)


@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "counted"])
@pytest.mark.parametrize("steps", [None, 20], ids=["untied", "tied"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "coin"])
@pytest.mark.parametrize("lean", [0.3, -0.3], ids=["second", "first"])
def test_a_window_has_the_solution_of_all(sorts: bool, steps: int | None, whole: bool, lean: float) -> None:
    problem = some((300, 200), steps)
    if lean < 0:
        problem = problem_of(problem.posterior[:, 1], 1 - problem.group)
    own = own_labels(problem, COST, by_cost=False)
    few = patch.object(selection, "_FEW", 10)
    with patch("faircrowd.fair.tasks.problem._MOST_SORTED", 10**9 if sorts else 0), few:
        found = find_window(problem, COST, own, 0.05, whole=whole)
    split, counts = solved_by_sorting(problem, own, 0.05)
    assert (found.split.sure, found.split.tied) == (split.sure, split.tied)
    assert found.split.omega == pytest.approx(split.omega, abs=1e-9)
    assert found.split[3:] == pytest.approx(split[3:], abs=1e-12)
    assert found.counts == (counts if whole else None)
    for a in (0, 1):
        np.testing.assert_array_equal(found.keys[a], found.sides[a].costs)


@pytest.mark.parametrize("large", [0, 1])
def test_a_window_is_as_wide_as_whole_labels_need(large: int) -> None:
    """So many tasks of each group on either side: 64, four times the root of all, and those of a task of the other."""
    given = some((4000, 1000))
    problem = problem_of(given.posterior[:, 1], given.group if large == 0 else 1 - given.group)
    own = own_labels(problem, COST, by_cost=False)
    found = find_window(problem, COST, own, 0.1, whole=False)
    for a, more in ((large, 16), (1 - large, 1)):
        starts, margin = found.sides[a].starts, 64 + 4 * math.sqrt(5000) + more
        assert abs((found.split.sure[a] - starts[0]) - margin) <= 1
        assert abs((starts[-1] - found.split.sure[a] - found.split.tied[a]) - margin) <= 1


@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "counted"])
def test_windows_are_widened_to_all_before_giving_up(sorts: bool) -> None:
    problem = some((3000, 1200))
    own = own_labels(problem, COST, by_cost=False)
    widths = []

    def never(tasks: Any, key: Any, own: Any, runs: Any, *_: Any) -> None:
        widths.append(sum(int(run.counts.sum()) for run in runs))

    with (
        patch.object(selection, "_solved", never),
        patch.object(selection, "_FEW", 10),
        patch("faircrowd.fair.tasks.problem._MOST_SORTED", 10**9 * sorts),
        pytest.raises(FaircrowdError, match="No thresholds were found; this should not happen"),
    ):
        find_window(problem, COST, own, 0.1, whole=True)
    assert widths[0] < 2500
    assert widths[-1] == 4200
    assert len(widths) == 2


def prices_of(problem: Problem, prices: Prices) -> Any:
    costs = problem.emit(keys_of, COST)
    shares = np.array(prices.shares)[problem.group]
    return np.where(problem.group == prices.up, 0.0 - shares * costs, shares * costs + 0.0)


@pytest.mark.parametrize("up", [0, 1])
@pytest.mark.parametrize("bits", [3, 14])
@pytest.mark.parametrize("steps", [None, 12], ids=["untied", "tied"])
def test_places_around_the_price_at_which_the_gap_is_epsilon(up: int, bits: int, steps: int | None) -> None:
    problem = some((512, 256), steps)
    prices = Prices(COST, (2 / 3, 1 / 3), up)
    at = prices_of(problem, prices)
    for epsilon in (0.0, 0.125, 0.5):
        margins = np.array([12.0, 9.0])
        with patch.object(selection, "_FEW", 40), patch.object(selection, "_BITS", bits):
            low, high = selection._narrowed(problem, prices, epsilon, margins)
        values = np.unique(at)
        falls, rises = at[problem.group == up], at[problem.group != up]
        border = next(v for v in values if np.mean(falls > v) - np.mean(rises <= v) <= epsilon)
        places = np.array([int(place_of(v)) for v in at.tolist()], dtype=object)
        inside = (places >= low) & (places <= high)
        assert low <= int(place_of(border)) <= high
        for a, margin in enumerate(margins):
            here = problem.group == a
            for side in (at < border, at > border):
                assert np.sum(inside & here & side) >= min(margin, np.sum(here & side))
        if steps is None and bits == 14 and up == 1:
            assert np.sum(inside) <= 84


def test_few_tasks_are_not_narrowed() -> None:
    problem, prices = some((60, 40)), Prices(COST, (0.6, 0.4), 1)
    with patch.object(selection, "_FEW", 100):
        assert selection._narrowed(problem, prices, 0.1, np.ones(2)) == (0, 2**64 - 1)
    assert selection._narrowed(problem, prices, 0.1, np.ones(2)) == (0, 2**64 - 1)
    with patch.object(selection, "_FEW", 99):
        assert selection._narrowed(problem, prices, 0.1, np.full(2, 12.5)) == (0, 2**64 - 1)
        assert selection._narrowed(problem, prices, 0.1, np.ones(2)) != (0, 2**64 - 1)


@pytest.mark.parametrize("up", [0, 1])
def test_runs_between_two_places(up: int) -> None:
    """Those nearer than rounding to the ends are in; number and gain of the better ones are known."""
    near = np.array([0.5, 1.5, 11]) * TIE  # those farther than 10 from the last of these are out
    steps = [*(0.1 + near).tolist(), 0.2, 0.2, 0.3, *(0.4 - near[::-1]).tolist(), 0.45]
    p = 0.5 + np.array(steps * 2) * np.repeat([1, -1], len(steps)) * (1 if up == 0 else -1)
    group = np.repeat([0, 1], len(steps))
    problem, prices = problem_of(p, group), Prices(COST, (0.5, 0.5), up)
    costs = problem.emit(keys_of, COST)
    at = prices_of(problem, prices)  # the price is the step
    np.testing.assert_allclose(at, steps * 2, atol=1e-15)
    low, high = 0.1 + 11 * TIE - 1e-14, 0.4 - 11 * TIE + 1e-14
    found = selection._gathered_runs(problem, prices, int(place_of(low)), int(place_of(high)))
    unit = unit_of(COST)
    for a, run in enumerate(found):
        inside = (group == a) & (at >= low - 10 * TIE) & (at <= high + 10 * TIE)
        assert np.sum(inside) == 7
        keys, counts = np.unique(costs[inside], return_counts=True)
        assert run.keys.tolist() == keys.tolist()
        assert run.counts.tolist() == counts.tolist()
        before = costs[(group == a) & (costs < keys[0])]
        assert before.size == (2 if a == up else 1)
        assert (run.before[0], run.before[1] * 2**26 + run.before[2]) == (before.size, limbs(before, unit))


def test_runs_of_all_places() -> None:
    problem, prices = some((30, 20), 8), Prices(COST, (0.6, 0.4), 1)
    costs = problem.emit(keys_of, COST)
    ends = int(place_of(-0.2)), int(place_of(0.2))
    for low, high in ((0, 2**64 - 1), (0, ends[1]), (ends[0], 2**64 - 1)):
        found = selection._gathered_runs(problem, prices, low, high)
        for a, run in enumerate(found):
            price = (-0.4 if a == 1 else 0.6) * costs[problem.group == a]
            inside = (price >= (-0.2 if low else -9)) & (price <= (0.2 if high == ends[1] else 9))
            keys, counts = np.unique(costs[problem.group == a][inside], return_counts=True)
            assert (run.keys.tolist(), run.counts.tolist()) == (keys.tolist(), counts.tolist())


def test_runs_cut_out_of_sorted_tasks() -> None:
    """A margin on either side of those at the cost, and what is nearer than rounding to the last of these."""
    part = np.array(
        [
            -0.5,
            -0.4 - 10.5 * TIE,
            -0.4 - 9.5 * TIE,
            -0.4,
            -0.3,
            0.0,
            0.0,
            0.1,
            0.2,
            0.2 + 9.5 * TIE,
            0.2 + 10.5 * TIE,
            0.7,
        ]
    )
    unit, prices = unit_of(COST), Prices(COST, (0.5, 0.5), 1)
    for at, margin, first, last in (
        (0.0, 2.9, 2, 11),
        (0.0, 1.0, 4, 10),
        (0.0, 4.0, 1, 12),
        (0.0, 5.0, 0, 12),
        (0.0, 50.0, 0, 12),
        (-0.1, 1.0, 4, 7),
    ):
        found = selection._Sorted([part, part], [part, part], [at, at])
        for run in selection._cut_runs(found, prices, np.array([margin, margin])):
            keys, counts = np.unique(part[first:last], return_counts=True)
            assert (run.keys.tolist(), run.counts.tolist()) == (keys.tolist(), counts.tolist())
            assert (run.before[0], run.before[1] * 2**26 + run.before[2]) == (first, limbs(part[:first], unit))


def runs_of(problem: Problem, a: int, first: int, last: int) -> Any:
    """Hold the runs of a group from one to another."""
    costs = problem.emit(keys_of, COST)[problem.group == a]
    keys, counts = np.unique(costs, return_counts=True)
    gained = limbs(costs[costs < keys[first]], unit_of(COST))
    before = int(counts[:first].sum()), gained >> 26, gained & (2**26 - 1)
    return selection._Runs(keys[first:last], counts[first:last], before)


def test_a_solution_at_the_end_of_a_window_is_not_seen() -> None:
    """Ten tasks each, all in runs of their own; own counts 2 and 8, and a coin leaves 5 each without a gap."""
    steps = (2 * np.arange(10) + 1) / 64
    zero, one = (np.clip(0.5 + (2 * count / 64 - steps), 0, 1) for count in (2, 8))
    problem = problem_of(np.concatenate([zero, one]), np.repeat([0, 1], 10))
    own = own_labels(problem, COST, by_cost=False)
    assert own.counts.tolist() == [2, 8]
    split, counts = solved_by_sorting(problem, own, 0.05)
    assert counts == (5, 5)

    def found(zero: tuple[int, int], one: tuple[int, int], whole: bool = False) -> Window | None:
        runs = [runs_of(problem, a, *ends) for a, ends in enumerate((zero, one))]
        return selection._solved(problem, COST, own, runs, 0.05, whole)

    everything = found((0, 10), (0, 10), True)
    assert everything is not None
    assert (everything.split.sure, everything.split.tied, everything.counts) == (split.sure, split.tied, counts)
    assert found((0, 10), (4, 4)) is None
    assert found((0, 0), (0, 10)) is None
    lows = [split.sure[a] for a in (0, 1)]
    highs = [split.sure[a] + split.tied[a] for a in (0, 1)]
    narrow = found((lows[0] - 1, highs[0] + 1), (lows[1] - 1, highs[1] + 1))
    assert narrow is not None
    assert (narrow.split, narrow.counts) == (everything.split, None)
    assert found((lows[0], highs[0]), (lows[1], highs[1]), True) is None
    assert found((0, 3), (0, 10)) is None  # a bound from the first three tasks would be too low
    assert found((0, 3), (7, 10)) is None  # one flip each does not close the gap
    assert found((0, 10), (9, 10)) is None  # group 1 marks fewer than the window begins with


def test_a_window_holds_a_solution_inside_of_it() -> None:
    side = make_window(np.zeros(2), np.array([2, 3]), (4, 0, 0), own=0, n=20, total=40.0, unit=1.0)
    for sure, tied, holds in (
        *((5, 0, True), (8, 0, True), (4, 0, False), (9, 0, False), (3, 0, False)),
        *((4, 5, True), (3, 2, False), (4, 6, False)),
    ):
        for pair in (((sure, 5), (tied, 0)), ((5, sure), (0, tied))):
            assert selection._holds((side, side), Split(*pair, (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)) == holds
    whole = make_window(np.zeros(2), np.array([2, 3]), (0, 0, 0), own=0, n=5, total=40.0, unit=1.0)
    assert selection._holds((whole, whole), Split((0, 5), (5, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0))


def window_of(keys: Any, counts: Any, before: int, split: Split, marked: tuple[int, int] | None) -> Window:
    keys, limbs = np.array(keys), (before, 0, 0)
    side = make_window(keys, np.array(counts), limbs, own=0, n=20, total=40.0, unit=1.0)
    return Window((side, side), (keys, keys + 1.0), split, marked)


@pytest.mark.parametrize("a", [0, 1])
def test_where_a_coin_is_thrown(a: int) -> None:
    """The tied tasks may be several runs: the better of these come first."""
    for sure, tied, omega, key, part in (
        (4, 5, 0.0, 0.25, 0.0),
        (4, 5, 0.3, 0.25, 0.75),
        (4, 5, 0.4, 0.5, 0.0),
        (4, 5, 0.8, 0.5, 2 / 3),
        (4, 5, 1.0, 0.5, 1.0),
        (6, 3, 0.5, 0.5, 0.5),
        (9, 0, 0.0, 0.5, 1.0),
    ):
        split = Split((sure, sure), (tied, tied), (omega, omega), 0.0, 0.0, 0.0, 0.0)
        found = coin_at(window_of([0.25, 0.5], [2, 3], 4, split, None), a)
        assert found == (key + a, pytest.approx(part, abs=1e-12))


@pytest.mark.parametrize("a", [0, 1])
def test_where_whole_labels_change(a: int) -> None:
    """Of equal tasks those of more evidence are first."""
    p = [1.0, 0.75, 0.75, 0.25, 0.25, 0.25, 0.0]
    evidence = [1, 1, 2, 1, 3, 2, 1]
    problem = problem_of(p * 2, np.repeat([0, 1], 7), evidence=np.array(evidence * 2))
    keys, counts = [-0.5, 0.5], [2, 3]
    nothing = Split((0, 0), (0, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)
    side = make_window(np.array(keys), np.array(counts), (1, 0, 0), own=0, n=7, total=14.0, unit=1.0)
    for count, rows in (
        (1, {0}),
        (2, {0, 2}),
        (3, {0, 1, 2}),
        (4, {0, 1, 2, 4}),
        (5, {0, 1, 2, 4, 5}),
        (6, set(range(6))),
    ):
        window = Window((side, side), (np.array(keys), np.array(keys)), nothing, (count, count))
        cut = cut_at(problem, COST, window, a, 3)
        labels = problem.emit(cut_labels, COST, (cut, cut), 3)
        assert set(np.flatnonzero(labels[problem.group == a])) == rows
        assert (cut.first is None) == (count in (1, 3, 6))


def test_the_end_of_a_window_marks_its_last_run() -> None:
    nothing = Split((0, 0), (0, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)
    problem = problem_of([0.5, 0.5], [0, 1])
    finite = window_of([-1.0, 0.5], [2, 3], 4, nothing, (9, 9))
    assert cut_at(problem, COST, finite, 0, 0) == Cut(math.nextafter(0.5, 1), None)
    endless = finite._replace(keys=(np.array([-1.0, math.inf]),) * 2)
    assert cut_at(problem, COST, endless, 0, 0) == Cut(math.inf, (-(2**63), 2**64 - 1))
