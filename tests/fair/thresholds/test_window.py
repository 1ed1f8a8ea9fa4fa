"""Thresholds found in a window, against all tasks, sorted."""

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
from faircrowd.fair.thresholds import window
from faircrowd.fair.thresholds.flip_cost import PriceFormula, float_to_ordinal
from faircrowd.fair.thresholds.integer import best_integer_counts
from faircrowd.fair.thresholds.labels import Threshold, threshold_labels
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds, relaxed_thresholds
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, cost_unit, costs_of_keys, sort_key_formula, sort_keys
from faircrowd.fair.thresholds.sorted_group import make_sorted_group, make_window_group
from faircrowd.fair.thresholds.sorted_stretch import SortedStretch
from faircrowd.fair.thresholds.window import (
    UnconstrainedTotals,
    WindowSolution,
    deterministic_threshold,
    randomized_threshold,
    solve_in_window,
    unconstrained_totals,
)
from faircrowd.fair.tolerances import TIE
from faircrowd.fair.whole_tasks.allowance import TO_THE_LETTER

GAINS = [[1.0, -0.5], [-2.0, 0.5]]
COST = SortKeyFormula(False, -1.0, 1.0, 0.0)


def problem_of(p: Any, group: Any, *, ties: str = "first", evidence: Any = None) -> Problem:
    return read_posterior(np.stack([1 - np.array(p), p], axis=1), group, ties=ties, evidence=evidence)


def some(sizes: tuple[int, int], steps: int | None = None, shift: float = 0.3) -> Problem:
    """Return tasks of two groups, the second likelier of class 1; posteriors are multiples of 1 / steps if given."""
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.uniform(0, 1 - shift, sizes[0]), rng.uniform(shift, 1, sizes[1])])
    group = np.repeat([0, 1], sizes)
    return problem_of(p if steps is None else np.round(p * steps) / steps, group)


def gain_units(costs: Any, unit: float) -> int:
    return sum(int(to_units(-cost, unit)) for cost in np.asarray(costs).tolist())


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("objective", ["accuracy", GAINS], ids=["accuracy", "gains"])
def test_labels_without_a_constraint_are_counted(ties: str, objective: Any) -> None:
    p, group = np.array([0.5, 0.625, 0.25, 1.0, 0.5, 0.75, 0.875]), np.array([0, 0, 0, 0, 1, 1, 1])
    gain = make_gain(objective, 2)
    own = unconstrained_totals(problem_of(p, group, ties=ties), sort_key_formula(gain, False), by_cost=True)
    gains = np.stack([1 - p, p], axis=1) @ gain.matrix
    gained = gains[:, 1] - gains[:, 0]
    label_1 = gained >= 0 if ties == "last" else gained > 0
    assert own.counts.tolist() == [np.sum(label_1[:4]), np.sum(label_1[4:])]
    assert own.gain == pytest.approx(gained[label_1].sum() / 7, abs=1e-15)
    assert own.mean_posterior == pytest.approx((np.mean(1 - p), np.mean(p)), abs=1e-15)
    assert own.signed_gap == pytest.approx(label_1[4:].mean() - label_1[:4].mean(), abs=1e-15)


def solved_by_sorting(
    problem: Problem, own: UnconstrainedTotals, epsilon: float
) -> tuple[RelaxedThresholds, tuple[int, int]]:
    costs = costs_of_keys(COST, problem.emit(sort_keys, COST))
    total = float(costs.size)
    zero, one = (make_sorted_group(np.sort(costs[problem.group == a]), None, int(own.counts[a]), total) for a in (0, 1))
    return relaxed_thresholds((zero, one), epsilon), best_integer_counts(zero, one, epsilon)


@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "counted"])
@pytest.mark.parametrize("steps", [None, 20], ids=["untied", "tied"])
@pytest.mark.parametrize("deterministic", [True, False], ids=["deterministic", "randomized"])
@pytest.mark.parametrize("falling_group", [1, 0])
def test_a_window_has_the_solution_of_all_tasks(
    sorts: bool, steps: int | None, deterministic: bool, falling_group: int
) -> None:
    problem = some((300, 200), steps)
    if falling_group == 0:
        problem = problem_of(problem.posterior[:, 1], 1 - problem.group)
    own = unconstrained_totals(problem, COST, by_cost=False)
    few = patch.object(window, "_SMALL_WINDOW", 10)
    with patch("faircrowd.fair.tasks.problem._MAX_SORTED_TASKS", 10**9 if sorts else 0), few:
        found = solve_in_window(problem, COST, own, 0.05, TO_THE_LETTER if deterministic else ())
    relaxed, counts = solved_by_sorting(problem, own, 0.05)
    assert (found.relaxed.n_certain, found.relaxed.n_tied) == (relaxed.n_certain, relaxed.n_tied)
    assert found.relaxed.tied_fraction == pytest.approx(relaxed.tied_fraction, abs=1e-9)
    assert found.relaxed[3:] == pytest.approx(relaxed[3:], abs=1e-12)
    assert found.counts == (counts if deterministic else None)
    for a in (0, 1):
        np.testing.assert_array_equal(found.keys[a], found.groups[a].costs)


@pytest.mark.parametrize("large", [0, 1])
def test_a_window_is_as_wide_as_deterministic_labels_need(large: int) -> None:
    """Its margin: 64 tasks, 4 times the root of all tasks, and 4 times those that balance a task of the other group."""
    given = some((4000, 1000))
    problem = problem_of(given.posterior[:, 1], given.group if large == 0 else 1 - given.group)
    own = unconstrained_totals(problem, COST, by_cost=False)
    found = solve_in_window(problem, COST, own, 0.1, ())
    for a, more in ((large, 16), (1 - large, 1)):
        starts, margin = found.groups[a].run_starts, 64 + 4 * math.sqrt(5000) + more
        assert abs((found.relaxed.n_certain[a] - starts[0]) - margin) <= 1
        assert abs((starts[-1] - found.relaxed.n_certain[a] - found.relaxed.n_tied[a]) - margin) <= 1


@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "counted"])
def test_windows_are_widened_to_all_tasks_before_giving_up(sorts: bool) -> None:
    problem = some((3000, 1200))
    own = unconstrained_totals(problem, COST, by_cost=False)
    widths = []

    def never(tasks: Any, formula: Any, own: Any, runs: Any, *_: Any) -> None:
        widths.append(sum(int(run.counts.sum()) for run in runs))

    with (
        patch.object(window, "_solve_runs", never),
        patch.object(window, "_SMALL_WINDOW", 10),
        patch("faircrowd.fair.tasks.problem._MAX_SORTED_TASKS", 10**9 * sorts),
        pytest.raises(FaircrowdError, match="No thresholds were found; this should not happen"),
    ):
        solve_in_window(problem, COST, own, 0.1, TO_THE_LETTER)
    assert widths[0] < 2500
    assert widths[-1] == 4200
    assert len(widths) == 2


def flip_prices(problem: Problem, prices: PriceFormula) -> Any:
    costs = problem.emit(sort_keys, COST)
    shares = np.array(prices.shares)[problem.group]
    return np.where(problem.group == prices.falling_group, 0.0 - shares * costs, shares * costs + 0.0)


@pytest.mark.parametrize("falling_group", [0, 1])
@pytest.mark.parametrize("bits", [3, 14])
@pytest.mark.parametrize("steps", [None, 12], ids=["untied", "tied"])
def test_the_window_lies_around_the_price_at_which_the_gap_is_epsilon(
    falling_group: int, bits: int, steps: int | None
) -> None:
    problem = some((512, 256), steps)
    prices = PriceFormula(COST, (2 / 3, 1 / 3), falling_group)
    at = flip_prices(problem, prices)
    for epsilon in (0.0, 0.125, 0.5):
        margins = np.array([12.0, 9.0])
        with patch.object(window, "_SMALL_WINDOW", 40), patch.object(window, "_BIN_BITS", bits):
            low, high = window._narrow_window(problem, prices, epsilon, margins)
        values = np.unique(at)
        falling, rising = at[problem.group == falling_group], at[problem.group != falling_group]
        border = next(v for v in values if np.mean(falling > v) - np.mean(rising <= v) <= epsilon)
        ordinals = np.array([int(float_to_ordinal(v)) for v in at.tolist()], dtype=object)
        inside = (ordinals >= low) & (ordinals <= high)
        assert low <= int(float_to_ordinal(border)) <= high
        for a, margin in enumerate(margins):
            here = problem.group == a
            for beyond in (at < border, at > border):
                assert np.sum(inside & here & beyond) >= min(margin, np.sum(here & beyond))
        if steps is None and bits == 14 and falling_group == 1:
            assert np.sum(inside) <= 84


def test_a_window_of_few_tasks_is_not_narrowed() -> None:
    problem, prices = some((60, 40)), PriceFormula(COST, (0.6, 0.4), 1)
    with patch.object(window, "_SMALL_WINDOW", 100):
        assert window._narrow_window(problem, prices, 0.1, np.ones(2)) == (0, 2**64 - 1)
    assert window._narrow_window(problem, prices, 0.1, np.ones(2)) == (0, 2**64 - 1)
    with patch.object(window, "_SMALL_WINDOW", 99):
        assert window._narrow_window(problem, prices, 0.1, np.full(2, 12.5)) == (0, 2**64 - 1)
        assert window._narrow_window(problem, prices, 0.1, np.ones(2)) != (0, 2**64 - 1)


@pytest.mark.parametrize("falling_group", [0, 1])
def test_runs_between_two_prices(falling_group: int) -> None:
    """Tasks nearer to the ends than rounding are included; number and gain of the better tasks are known."""
    near = np.array([0.5, 1.5, 11]) * TIE  # tasks farther than 10 from the last of these are not included
    steps = [*(0.1 + near).tolist(), 0.2, 0.2, 0.3, *(0.4 - near[::-1]).tolist(), 0.45]
    p = 0.5 + np.array(steps * 2) * np.repeat([1, -1], len(steps)) * (1 if falling_group == 0 else -1)
    group = np.repeat([0, 1], len(steps))
    problem, prices = problem_of(p, group), PriceFormula(COST, (0.5, 0.5), falling_group)
    costs = problem.emit(sort_keys, COST)
    at = flip_prices(problem, prices)  # the price is the step
    np.testing.assert_allclose(at, steps * 2, atol=1e-15)
    low, high = 0.1 + 11 * TIE - 1e-14, 0.4 - 11 * TIE + 1e-14
    found = window._gather_runs(problem, prices, int(float_to_ordinal(low)), int(float_to_ordinal(high)))
    unit = cost_unit(COST)
    for a, run in enumerate(found):
        inside = (group == a) & (at >= low - 10 * TIE) & (at <= high + 10 * TIE)
        assert np.sum(inside) == 7
        keys, counts = np.unique(costs[inside], return_counts=True)
        assert run.keys.tolist() == keys.tolist()
        assert run.counts.tolist() == counts.tolist()
        before = costs[(group == a) & (costs < keys[0])]
        assert before.size == (2 if a == falling_group else 1)
        assert (run.before[0], run.before[1] * 2**26 + run.before[2]) == (before.size, gain_units(before, unit))


def test_runs_of_all_prices() -> None:
    problem, prices = some((30, 20), 8), PriceFormula(COST, (0.6, 0.4), 1)
    costs = problem.emit(sort_keys, COST)
    ends = int(float_to_ordinal(-0.2)), int(float_to_ordinal(0.2))
    for low, high in ((0, 2**64 - 1), (0, ends[1]), (ends[0], 2**64 - 1)):
        found = window._gather_runs(problem, prices, low, high)
        for a, run in enumerate(found):
            price = (-0.4 if a == 1 else 0.6) * costs[problem.group == a]
            inside = (price >= (-0.2 if low else -9)) & (price <= (0.2 if high == ends[1] else 9))
            keys, counts = np.unique(costs[problem.group == a][inside], return_counts=True)
            assert (run.keys.tolist(), run.counts.tolist()) == (keys.tolist(), counts.tolist())


def test_runs_cut_out_of_sorted_tasks() -> None:
    """A margin on either side of the tasks at the cost, and the tasks nearer to its last ones than rounding."""
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
    unit = cost_unit(COST)
    for at, margin, first, last in (
        (0.0, 2.9, 2, 11),
        (0.0, 1.0, 4, 10),
        (0.0, 4.0, 1, 12),
        (0.0, 5.0, 0, 12),
        (0.0, 50.0, 0, 12),
        (-0.1, 1.0, 4, 7),
    ):
        margins = np.array([margin, margin])
        for begin, end in ((0, part.size), (first - 1, last + 1), (first, last + 1), (first - 1, last)):
            gained = gain_units(part[: max(begin, 0)], unit)
            before = max(begin, 0), gained >> 26, gained & (2**26 - 1)
            keys = part[max(begin, 0) : end]
            found = window._slice_runs([SortedStretch(keys, keys, before, part.size, at)] * 2, COST, margins)
            if (begin == first > 0) or (end == last < part.size):  # the tasks beyond may be as near as rounding
                assert found is None
                continue
            assert found is not None
            for run in found:
                keys, counts = np.unique(part[first:last], return_counts=True)
                assert (run.keys.tolist(), run.counts.tolist()) == (keys.tolist(), counts.tolist())
                assert (run.before[0], run.before[1] * 2**26 + run.before[2]) == (first, gain_units(part[:first], unit))


def runs_of(problem: Problem, a: int, first: int, last: int) -> Any:
    """Return the runs of a group with numbers from ``first`` to ``last``."""
    costs = problem.emit(sort_keys, COST)[problem.group == a]
    keys, counts = np.unique(costs, return_counts=True)
    gained = gain_units(costs[costs < keys[first]], cost_unit(COST))
    before = int(counts[:first].sum()), gained >> 26, gained & (2**26 - 1)
    return window._Runs(keys[first:last], counts[first:last], before)


def test_a_window_that_ends_at_the_solution_is_too_narrow() -> None:
    """Ten tasks each, each in its own run, with own counts 2 and 8; the solution has counts of 5 and no gap."""
    steps = (2 * np.arange(10) + 1) / 64
    zero, one = (np.clip(0.5 + (2 * count / 64 - steps), 0, 1) for count in (2, 8))
    problem = problem_of(np.concatenate([zero, one]), np.repeat([0, 1], 10))
    own = unconstrained_totals(problem, COST, by_cost=False)
    assert own.counts.tolist() == [2, 8]
    relaxed, counts = solved_by_sorting(problem, own, 0.05)
    assert counts == (5, 5)

    def found(zero: tuple[int, int], one: tuple[int, int], deterministic: bool = False) -> WindowSolution | None:
        runs = [runs_of(problem, a, *ends) for a, ends in enumerate((zero, one))]
        return window._solve_runs(problem, COST, own, runs, 0.05, TO_THE_LETTER if deterministic else ())

    everything = found((0, 10), (0, 10), True)
    assert everything is not None
    assert (everything.relaxed.n_certain, everything.relaxed.n_tied, everything.counts) == (
        relaxed.n_certain,
        relaxed.n_tied,
        counts,
    )
    assert found((0, 10), (4, 4)) is None
    assert found((0, 0), (0, 10)) is None
    lows = [relaxed.n_certain[a] for a in (0, 1)]
    highs = [relaxed.n_certain[a] + relaxed.n_tied[a] for a in (0, 1)]
    narrow = found((lows[0] - 1, highs[0] + 1), (lows[1] - 1, highs[1] + 1))
    assert narrow is not None
    assert (narrow.relaxed, narrow.counts) == (everything.relaxed, None)
    assert found((lows[0], highs[0]), (lows[1], highs[1]), True) is None
    assert found((0, 3), (0, 10)) is None  # a bound from the first three tasks would be too low
    assert found((0, 3), (7, 10)) is None  # one flip each does not close the gap
    assert found((0, 10), (9, 10)) is None  # group 1 needs fewer labels 1 than there are tasks before the window


def test_whether_a_solution_lies_inside_a_window() -> None:
    group = make_window_group(
        np.zeros(2), np.array([2, 3]), (4, 0, 0), own_count=0, n_tasks=20, total_weight=40.0, unit=1.0
    )
    for certain, tied, is_inside in (
        *((5, 0, True), (8, 0, True), (4, 0, False), (9, 0, False), (3, 0, False)),
        *((4, 5, True), (3, 2, False), (4, 6, False)),
    ):
        for pair in (((certain, 5), (tied, 0)), ((5, certain), (0, tied))):
            assert (
                window._lies_inside((group, group), RelaxedThresholds(*pair, (0.0, 0.0), 0.0, 0.0, 0.0, 0.0))
                == is_inside
            )
    everything = make_window_group(
        np.zeros(2), np.array([2, 3]), (0, 0, 0), own_count=0, n_tasks=5, total_weight=40.0, unit=1.0
    )
    assert window._lies_inside(
        (everything, everything), RelaxedThresholds((0, 5), (5, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)
    )


def window_of(
    keys: Any, counts: Any, before: int, relaxed: RelaxedThresholds, label_1: tuple[int, int] | None
) -> WindowSolution:
    keys = np.array(keys)
    group = make_window_group(
        keys, np.array(counts), (before, 0, 0), own_count=0, n_tasks=20, total_weight=40.0, unit=1.0
    )
    return WindowSolution((group, group), (keys, keys + 1.0), relaxed, label_1)


@pytest.mark.parametrize("a", [0, 1])
def test_the_threshold_of_randomized_labels(a: int) -> None:
    """The tied tasks may be in several runs: the better runs come first."""
    for certain, tied, fraction, key, part in (
        (4, 5, 0.0, 0.25, 0.0),
        (4, 5, 0.3, 0.25, 0.75),
        (4, 5, 0.4, 0.5, 0.0),
        (4, 5, 0.8, 0.5, 2 / 3),
        (4, 5, 1.0, 0.5, 1.0),
        (6, 3, 0.5, 0.5, 0.5),
        (9, 0, 0.0, 0.5, 1.0),
    ):
        relaxed = RelaxedThresholds((certain, certain), (tied, tied), (fraction, fraction), 0.0, 0.0, 0.0, 0.0)
        found = randomized_threshold(window_of([0.25, 0.5], [2, 3], 4, relaxed, None), a)
        assert found == (key + a, pytest.approx(part, abs=1e-12))


@pytest.mark.parametrize("a", [0, 1])
def test_the_threshold_of_deterministic_labels(a: int) -> None:
    """Of equal tasks those with more evidence are first."""
    p = [1.0, 0.75, 0.75, 0.25, 0.25, 0.25, 0.0]
    evidence = [1, 1, 2, 1, 3, 2, 1]
    problem = problem_of(p * 2, np.repeat([0, 1], 7), evidence=np.array(evidence * 2))
    keys, counts = [-0.5, 0.5], [2, 3]
    nothing = RelaxedThresholds((0, 0), (0, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)
    group = make_window_group(
        np.array(keys), np.array(counts), (1, 0, 0), own_count=0, n_tasks=7, total_weight=14.0, unit=1.0
    )
    for count, rows in (
        (1, {0}),
        (2, {0, 2}),
        (3, {0, 1, 2}),
        (4, {0, 1, 2, 4}),
        (5, {0, 1, 2, 4, 5}),
        (6, set(range(6))),
    ):
        solution = WindowSolution((group, group), (np.array(keys), np.array(keys)), nothing, (count, count))
        threshold = deterministic_threshold(problem, COST, solution, a, 3)
        labels = problem.emit(threshold_labels, COST, (threshold, threshold), 3)
        assert set(np.flatnonzero(labels[problem.group == a])) == rows
        assert (threshold.last_tied is None) == (count in (1, 3, 6))


def test_at_the_end_of_a_window_all_of_its_last_run_gets_label_1() -> None:
    nothing = RelaxedThresholds((0, 0), (0, 0), (0.0, 0.0), 0.0, 0.0, 0.0, 0.0)
    problem = problem_of([0.5, 0.5], [0, 1])
    finite = window_of([-1.0, 0.5], [2, 3], 4, nothing, (9, 9))
    assert deterministic_threshold(problem, COST, finite, 0, 0) == Threshold(math.nextafter(0.5, 1), None)
    endless = finite._replace(keys=(np.array([-1.0, math.inf]),) * 2)
    assert deterministic_threshold(problem, COST, endless, 0, 0) == Threshold(math.inf, (-(2**63), 2**64 - 1))
