"""Closed-form intervals: published values, properties, and exact error rates."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from faircrowd.audit import intervals
from faircrowd.audit.difference_test import upper_limit
from faircrowd.audit.intervals import (
    GapInterval,
    _newcombe,
    _wilson,
    approximate_gap_limits,
    check_counts,
    gap_interval,
    gap_limits,
    newcombe,
    wilson,
)
from faircrowd.errors import InputError, OptionError

CONFIDENCE = st.sampled_from([0.8, 0.9, 0.95, 0.999])
COUNTS = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 60), min_size=k, max_size=k).filter(any), min_size=2, max_size=4)
)


@pytest.mark.parametrize("n", [1, 7, 250])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_wilson_equals_scipy(n: int, confidence: float) -> None:
    x = np.arange(0, n + 1, max(n // 10, 1))
    low, high = wilson(x, n, confidence)
    found = [binomtest(int(k), n).proportion_ci(confidence, method="wilson") for k in x]
    np.testing.assert_allclose(low, [ci.low for ci in found], atol=1e-12)
    np.testing.assert_allclose(high, [ci.high for ci in found], atol=1e-12)


def test_wilson_of_none_or_one() -> None:
    low, high = wilson([0, 0, 5, 1], [0, 5, 5, 1])
    assert low[:2].tolist() == [0, 0]
    assert high[[0, 2, 3]].tolist() == [1, 1, 1]
    assert 0 < high[1] < 1
    assert 0 < low[2] < 1


# Newcombe's table II, method 10.
@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((0, 10, 0, 10), -0.2775, 0.2775),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_newcombe_equals_the_published_values(counts: tuple[int, ...], low: float, high: float) -> None:
    found = newcombe(*counts)
    assert [round(float(end), 4) for end in found] == [low, high]
    mirrored = newcombe(*counts[2:], *counts[:2])
    assert [float(end) for end in mirrored] == pytest.approx([-float(found[1]), -float(found[0])], abs=1e-12)


def test_newcombe_of_none() -> None:
    low, high = newcombe([3, 0, 0], [5, 0, 0], [0, 1, 0], [0, 4, 0])
    assert low.tolist() == [-1, -1, -1]
    assert high.tolist() == [1, 1, 1]


@given(COUNTS, CONFIDENCE)
def test_properties_of_the_gap_interval(counts: list[list[int]], confidence: float) -> None:
    table = np.array(counts)
    found = gap_interval(table, confidence)
    rates = table / table.sum(axis=1, keepdims=True)
    assert found.gap == pytest.approx(np.ptp(rates, axis=0).max())
    assert 0 <= found.low <= found.gap <= found.high <= 1
    if (table.sum(axis=1) < 60).all():
        assert found.high > found.low
    wider, narrower = gap_interval(table, 0.9999), gap_interval(100 * table, confidence)
    assert wider.low <= found.low
    assert wider.high >= found.high
    assert narrower.low >= found.low - 1e-12
    assert narrower.high <= found.high + 1e-12
    order = np.random.default_rng(0).permutation(table.shape[0])
    mixed = gap_interval(table[order][:, ::-1], confidence)
    assert (mixed.low, mixed.high) == pytest.approx((found.low, found.high), abs=1e-12)


@given(*(st.tuples(st.integers(1, 80), st.integers(0, 80)) for _ in range(2)), CONFIDENCE)
def test_two_groups_and_classes_are_newcombe_folded(
    one: tuple[int, int], two: tuple[int, int], confidence: float
) -> None:
    low, high = map(float, newcombe(one[0], sum(one), two[0], sum(two), confidence))
    found = gap_interval([one, two], confidence)
    assert found.high == pytest.approx(min(max(abs(low), abs(high)), 1))
    assert found.low == pytest.approx(0 if low <= 0 <= high else min(abs(low), abs(high)), abs=1e-12)


def test_a_class_that_is_always_given_can_still_hide_a_gap() -> None:
    found = gap_interval([[4], [9]])
    assert (found.gap, found.low) == (0, 0)
    assert 0.4 < found.high < 1


@pytest.mark.parametrize("sizes", [(8, 8), (5, 16)])
def test_exact_error_of_each_limit(sizes: tuple[int, int]) -> None:
    """All samples of two groups, weighted by their probability: an end that may fail with .05 fails no more often."""
    limits = {
        (x, y): gap_limits([[x, sizes[0] - x], [y, sizes[1] - y]])
        for x in range(sizes[0] + 1)
        for y in range(sizes[1] + 1)
    }
    low, high = (
        np.array([getattr(limit, end) for limit in limits.values()]).reshape(sizes[0] + 1, -1)
        for end in ("low", "high")
    )
    failed = []
    for p, q in permutations(np.linspace(0, 1, 21), 2):
        if abs(p - q) <= 0.7:
            chance = np.outer(*(binom.pmf(np.arange(n + 1), n, r) for n, r in zip(sizes, (p, q), strict=True)))
            failed.append((chance[high < abs(p - q) - 1e-12].sum(), chance[low > abs(p - q) + 1e-12].sum()))
    worst, mean = np.max(failed, axis=0), np.mean(failed, axis=0)
    assert (worst < 0.0501).all()
    assert (mean < 0.05).all()
    assert worst[0] > 0.02  # the upper limit is not far too wide either


@pytest.mark.parametrize("step", [0.0, 0.15])
def test_coverage_of_many_classes_and_groups(step: float) -> None:
    rng = np.random.default_rng(7)
    chance = np.array([0.5, 0.3, 0.2]) + step * np.outer([-1, 0, 1], [1, -1, 0])
    gap, repeats = 2 * step, 1500
    tables = rng.multinomial([60, 100, 200], chance, size=(repeats, 3))
    both = [gap_interval(table) for table in tables]
    assert np.mean([found.low <= gap <= found.high for found in both]) > 0.94
    each = [gap_limits(table) for table in tables[:40]]
    assert np.mean([found.high < gap for found in each]) < 0.17  # four standard deviations above .05
    assert np.mean([found.low > gap for found in each]) < 0.17


@pytest.mark.parametrize(
    "counts", [[[1, 2]], [1, 2], [[0, 0], [1, 2]], [[1, -1], [1, 2]], [[1, np.nan], [1, 2]], [["a"], ["b"]], [[], []]]
)
def test_counts_that_are_refused(counts: list) -> None:
    with pytest.raises(InputError, match="counts"):
        gap_interval(counts)


@pytest.mark.parametrize("confidence", [0.3, 1, 1.5, "x", float("nan"), True])
def test_confidence_that_is_refused(confidence: object) -> None:
    with pytest.raises(OptionError, match="confidence must be"):
        gap_limits([[1, 2], [3, 4]], confidence)


def test_fractional_counts_and_rounding() -> None:
    with np.errstate(all="raise"):
        low, high = wilson(0.25, 0.5, 0.95)
        z2 = 1.959963984540054**2
        assert float(high) - float(low) == pytest.approx(2 * np.sqrt(z2 * (0.125 + z2 / 4)) / (0.5 + z2))
        assert float(high) + float(low) == pytest.approx(1)
        wilson(0, 0)
        newcombe(0, 0, 0, 0)
        assert [float(end) for end in newcombe(0.25, 0.5, 0.125, 0.25)] == pytest.approx(
            [-float(end) for end in newcombe(0.125, 0.25, 0.25, 0.5)[::-1]]
        )
    x = 50 - 10.0 ** -np.arange(1, 15)  # an end that is rounded above 1
    assert _wilson(x, np.full(14, 50.0), 0.2)[1].max() == 1
    assert [float(end) for end in wilson(3, 8)] == [float(end) for end in wilson(3, 8, 0.95)]
    assert [float(end) for end in newcombe(3, 8, 2, 9)] == [float(end) for end in newcombe(3, 8, 2, 9, 0.95)]


def test_ends_of_several_differences_by_hand() -> None:
    table = np.array([[3, 7, 1], [6, 2, 9], [0, 5, 5]])
    pairs = [(table[:, k], a, b) for k in range(3) for a, b in ((0, 1), (0, 2), (1, 2))]
    n = table.sum(axis=1)

    def ends(confidence: float) -> list[tuple[float, float]]:
        return [tuple(map(float, newcombe(x[a], n[a], x[b], n[b], confidence))) for x, a, b in pairs]

    for find, upper, lower in ((gap_interval, 0.05, 0.05 / 17), (approximate_gap_limits, 0.1, 0.1 / 18)):
        found = find(table)
        assert (found.confidence, find(table, 0.95)) == (0.95, found)
        assert found.high == pytest.approx(max(max(-low, high) for low, high in ends(1 - upper)))
        assert found.low == pytest.approx(max(0, *(max(low, -high) for low, high in ends(1 - lower))))
        assert find(table[:, [1, 0, 2]]).low == pytest.approx(found.low)
    assert gap_interval(table).method == "Newcombe"
    assert approximate_gap_limits(table).method == "Newcombe, each end on its own"
    exact, around = gap_limits(table), approximate_gap_limits(table)
    assert exact.method == "exact, each end on its own"
    n_tests = 2 * len(pairs)
    both = [(x[a], n[a], x[b], n[b]) for x, a, b in pairs] + [(x[b], n[b], x[a], n[a]) for x, a, b in pairs]
    assert exact.high == pytest.approx(max(upper_limit(*map(int, one), 0.05) for one in both), abs=2e-6)
    assert exact.low == pytest.approx(max(0, *(-upper_limit(*map(int, one), 0.05 / n_tests) for one in both)), abs=2e-6)
    assert (exact.low, exact.high) == pytest.approx((around.low, around.high), abs=0.15)
    with pytest.raises(InputError, match="whole numbers"):
        gap_limits([[1.5, 2], [1, 2]])


@pytest.mark.parametrize("find", [gap_interval, approximate_gap_limits])
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 400)), min_size=2, max_size=12),
    st.integers(2, 3),
    CONFIDENCE,
)
def test_ends_are_those_over_all_pairs_of_groups(
    find: Callable[..., GapInterval], rows: list[tuple[int, int, int]], n_classes: int, confidence: float
) -> None:
    """Also where rates rise as groups get smaller, so that no group comes before another."""
    table = np.array(rows)[:, 3 - n_classes :].astype(np.float64)
    n, columns = table.sum(axis=1), [table[:, 0]] if n_classes == 2 else list(table.T)
    m = len(columns) * len(rows) * (len(rows) - 1) // 2
    error = 1 - confidence
    upper, lower = (error, error / (2 * m - 1)) if find is gap_interval else (2 * error, error / m)
    every = [(x[a], n[a], x[b], n[b]) for x in columns for a, b in permutations(range(len(rows)), 2)]
    found = find(table, confidence)
    assert found.high == pytest.approx(min(max(float(newcombe(*one, 1 - upper)[1]) for one in every), 1), abs=1e-12)
    assert found.low == pytest.approx(max(0, *(float(newcombe(*one, 1 - lower)[0]) for one in every)), abs=1e-12)


def test_few_pairs_of_a_thousand_groups_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, looked_at = np.random.default_rng(0), []

    def newcombe_of(x1: np.ndarray, *others: Any) -> Any:
        looked_at.append(x1.size)
        return _newcombe(x1, *others)

    monkeypatch.setattr(intervals, "_newcombe", newcombe_of)
    sizes = rng.integers(10, 500, 1000)
    found = gap_interval(np.column_stack([rng.binomial(sizes, 0.4), sizes]))
    assert found.high > found.gap
    assert sum(looked_at) < 2 * 1000


def test_counts_are_checked_with_reasons() -> None:
    for table in ([[1, 2]], [1, 2], [[], []], [[[1]], [[2]]]):
        with pytest.raises(InputError, match="a row for each of at least two groups and a column per class; got"):
            check_counts(table)
    for bad in (["a"], [{}]):
        with pytest.raises(InputError, match="counts must be numbers, with one row per group"):
            check_counts([bad, bad])
    for table in ([[0, 0], [1, 2]], [[1, -1], [1, 2]], [[1, np.inf], [1, 2]]):
        with pytest.raises(InputError, match="none negative, and every group with at least one task"):
            check_counts(table)
    assert check_counts([[0, 1], [0.5, 0]]).dtype == np.float64
    assert check_counts([[1], [2]]).shape == (2, 1)
