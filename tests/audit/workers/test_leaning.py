"""Differences between groups, their intervals and tests: against loops over workers, labels and pairs of groups."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from audit.workers.crowds import counts_of
from faircrowd.audit.intervals import gap_interval, newcombe
from faircrowd.audit.workers.leaning import _cells, _tests, compare, judge
from faircrowd.audit.workers.shrinkage import shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from strategies import examples


@pytest.mark.parametrize("shape", [(7, 1, 2, 2), (7, 2, 3, 2), (7, 1, 3, 3), (7, 3, 2, 3), (9, 1, 15, 2), (5, 2, 9, 3)])
def test_differences_and_their_intervals(shape: tuple[int, ...]) -> None:
    counts = counts_of(1, *shape)
    found, plain = compare(counts, 0.9), compare(counts)
    labels = [1] if shape[3] == 2 else range(shape[3])
    cells = [(s, k, a, b) for s in range(shape[1]) for k in labels for a, b in combinations(range(shape[2]), 2)]
    for w, table in enumerate(counts):
        votes = table.sum(axis=2)
        known = [(s, k, a, b) for s, k, a, b in cells if votes[s, a] and votes[s, b]]
        if not known:
            assert np.isnan([found.gap[w], found.low[w], found.high[w], plain.gap[w]]).all()
            assert (found.truth[w], found.label[w], found.more[w], found.less[w]) == (-1, -1, -1, -1)
            continue
        tables = [(table[s, a, k], votes[s, a], table[s, b, k], votes[s, b]) for s, k, a, b in known]
        differences = [x / n - y / m for x, n, y, m in tables]
        wide = [newcombe(*cell, 1 - 0.1 / (2 * len(cells) - 1)) for cell in tables]
        nearest = [max(float(low), -float(high), 0.0) for low, high in wide]
        ends = [max(-float(low), float(high)) for low, high in (newcombe(*cell, 0.9) for cell in tables)]
        assert found.gap[w] == plain.gap[w] == max(map(abs, differences))
        assert found.low[w] == pytest.approx(max(nearest), abs=1e-15)
        assert found.high[w] == pytest.approx(max(ends) if len(known) == len(cells) else 1, abs=1e-15)
        for leaning, keys in ((found, nearest), (plain, [0] * len(known))):
            most_certain = max(range(len(known)), key=lambda i, keys=keys: (keys[i], abs(differences[i]), -i))
            s, k, *groups = known[most_certain]
            more, less = groups if differences[most_certain] >= 0 else groups[::-1]
            place = leaning.truth[w], leaning.label[w], leaning.more[w], leaning.less[w]
            assert place == (s, k, more, less)
    assert np.isnan([plain.low, plain.high, plain.p_value, plain.q_value, plain.shrunken]).all()


def test_less_than_one_vote_counts_as_none() -> None:
    counts = np.array([[[[0.5, 0.25], [3.0, 1.0]]], [[[0.5, 0.5], [3.0, 1.0]]]])
    np.testing.assert_array_equal(compare(counts).gap, [np.nan, 0.25])


def test_groups_nobody_voted_in_are_not_compared() -> None:
    counts = counts_of(2, 6, 1, 3, 2)
    counts[:, :, 1] = 0
    found, want = compare(counts, 0.9), compare(counts[:, :, [0, 2]], 0.9)
    for name in ("gap", "low", "high", "label"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
    once = counts.copy()
    once[4, 0, 1, 0] = 1  # one vote of one worker: a gap could be hidden there
    assert (compare(once, 0.9).high[3:] == 1).sum() >= 2


@pytest.mark.parametrize("shape", [(7, 1, 2, 2), (7, 2, 3, 2), (7, 1, 3, 3)])
def test_each_group_is_tested_against_the_others(shape: tuple[int, ...]) -> None:
    counts = counts_of(3, *shape)
    assert _cells(counts) == [(s, k) for s in range(shape[1]) for k in ([1] if shape[3] == 2 else range(shape[3]))]
    p_value, least = _tests(counts)
    for w, table in enumerate(counts):
        tests = []
        for s, k in _cells(counts):
            for a in [1] if shape[2] == 2 else range(shape[2]):
                rest = np.delete(table[s], a, axis=0).sum(axis=0)
                tests.append(fisher_tests(table[s, a, k], table[s, a].sum(), rest[k], rest.sum()))
        made = max(sum(float(test.least) < 1 for test in tests), 1)
        assert p_value[w] == min(made * min(float(test.p_value) for test in tests), 1)
        assert least[w] == made * min(float(test.least) for test in tests)
    found = judge(counts, 0.9)
    np.testing.assert_array_equal(found.p_value, np.where(np.isnan(found.gap), np.nan, p_value))
    np.testing.assert_array_equal(found.q_value, benjamini_hochberg(np.where(least <= 1 - 0.9, found.p_value, np.nan)))
    np.testing.assert_array_equal(found.shrunken, shrunken_gaps(counts))
    assert np.isnan(judge(counts, 0.9, shrink=False).shrunken).all()


def test_the_smallest_number_of_votes_that_can_be_tested() -> None:
    # Two votes against one: the smallest p-value is 1/3.
    counts = np.array([[[[0, 2], [1, 0]]]])
    least = float(_tests(counts)[1][0])
    assert least == pytest.approx(1 / 3)
    assert np.isnan(judge(counts, 1 - least + 1e-9).q_value[0])
    assert judge(counts, 1 - least - 1e-9).q_value[0] == pytest.approx(1 / 3)


def test_two_classes_and_groups_by_hand() -> None:
    # 8 of 10 against 1 of 6; a worker with votes in one group only; one who always says the same.
    found = judge(np.array([[[[2, 8], [5, 1]]], [[[3, 4], [0, 0]]], [[[0, 20], [0, 30]]]]), 0.95)
    np.testing.assert_allclose(found.gap, [0.8 - 1 / 6, np.nan, 0])
    low, high = newcombe(8, 10, 1, 6, 0.95)
    assert (found.low[0], found.high[0]) == pytest.approx((float(low), float(high)))
    assert found.p_value[0] == pytest.approx(fisher_exact([[2, 8], [5, 1]]).pvalue)
    assert found.q_value[0] == found.p_value[0]  # the only one who could be tested
    assert np.isnan([found.low[1], found.high[1], found.p_value[1], found.q_value[1], found.q_value[2]]).all()
    assert (found.low[2], found.p_value[2]) == (0, 1)
    assert (found.label[0], found.more[0], found.less[0], found.truth[0]) == (1, 0, 1, 0)
    assert (found.label[1], found.more[1], found.less[1], found.truth[1]) == (-1, -1, -1, -1)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4), st.floats(0.8, 0.99))
@settings(max_examples=examples(20))
def test_intervals_are_those_of_the_gap(seed: int, n_classes: int, n_groups: int, confidence: float) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rng.integers(3, 40), np.ones(n_classes) / n_classes, (5, n_groups))
    found = judge(counts[:, None], confidence)
    for w in range(5):
        want = gap_interval(counts[w], confidence)
        assert (found.gap[w], found.low[w], found.high[w]) == pytest.approx((want.gap, want.low, want.high))
        tests = [
            fisher_exact([[t[a, k], t[a].sum() - t[a, k]], [o[k], o.sum() - o[k]]]).pvalue
            for t in [counts[w]]
            for a in (range(n_groups) if n_groups > 2 else [0])
            for k in (range(n_classes) if n_classes > 2 else [0])
            for o in [t.sum(axis=0) - t[a]]
            if fisher_tests(t[a, k], t[a].sum(), o[k], o.sum()).least < 1
        ]
        assert found.p_value[w] == pytest.approx(min(1, len(tests) * min(tests)) if tests else 1, rel=1e-6)


def test_a_group_without_votes_could_hide_any_gap() -> None:
    counts = np.array([[[[50, 50], [50, 50], [0, 0]]], [[[50, 50], [49, 51], [50, 50]]]])
    found = judge(counts, 0.95)
    assert found.high[0] == 1
    assert found.high[1] < 0.3
    np.testing.assert_allclose(found.gap, [0, 0.01])


def test_direction_is_that_of_the_most_certain_difference() -> None:
    # Class 2 differs by 1 among three votes; class 0 by .5 among hundreds.
    counts = np.array([[[[200, 100, 0], [50, 250, 0], [0, 0, 1]]]])
    found = judge(counts, 0.95)
    assert found.gap[0] == 1
    assert (found.more[0], found.less[0]) in {(0, 1), (1, 0)}
    assert found.label[0] in (0, 1)


def test_comparison_within_true_classes() -> None:
    # All votes of the first are right; the groups differ in truth alone. Shape (workers, truth, groups, labels).
    honest = [[[80, 0], [20, 0]], [[0, 20], [0, 80]]]
    unfair = [[[80, 0], [10, 10]], [[0, 20], [0, 80]]]
    found = judge(np.array([honest, unfair]), 0.95)
    np.testing.assert_allclose(found.gap, [0, 0.5])
    assert np.isnan(found.q_value[0])
    assert found.q_value[1] < 1e-5
    assert (found.truth[1], found.label[1], found.more[1], found.less[1]) == (0, 1, 1, 0)


def test_false_discoveries_are_rare_and_leaning_is_found() -> None:
    """2000 workers who do not lean and 200 who do: the share of false discoveries is as promised."""
    rng = np.random.default_rng(5)
    n = rng.integers(3, 60, (2200, 2))
    rates = np.repeat(rng.uniform(0.1, 0.9, (2200, 1)), 2, axis=1)
    rates[:200] = [0.15, 0.85]
    ones = rng.binomial(n, rates)
    found = judge(np.stack([n - ones, ones], axis=2)[:, None], 0.95)
    accused = found.q_value <= 0.05
    assert accused[:200].mean() > 0.6
    assert accused[200:].sum() / accused.sum() <= 0.07
    inside = (found.low <= np.abs(rates[:, 0] - rates[:, 1])) & (np.abs(rates[:, 0] - rates[:, 1]) <= found.high)
    assert inside.mean() > 0.94


def test_a_thousand_groups_are_compared_by_their_extremes() -> None:
    """All 499,500 pairs of groups took minutes; the ends are those of all pairs, for a worker who voted in some."""
    rng = np.random.default_rng(4)
    counts = rng.poisson(0.15, (300, 1, 1000, 2))
    counts[0, 0, 40:] = 0
    compare(counts[:2], 0.9)  # compiled
    start = time.process_time()
    found = compare(counts, 0.9)
    assert time.process_time() - start < 20
    x, n = counts[0, 0, :, 1], counts[0, 0].sum(axis=1)
    pairs = [(a, b) for a, b in combinations(np.flatnonzero(n), 2)]
    a, b = np.array(pairs).T
    low, high = newcombe(x[a], n[a], x[b], n[b], 1 - 0.1 / (2 * 499_500 - 1))
    assert found.gap[0] == np.abs(x[a] / n[a] - x[b] / n[b]).max()
    assert found.low[0] == pytest.approx(max(np.maximum(low, -high).max(), 0), abs=1e-15)
    assert found.high[0] == 1


@pytest.mark.parametrize("seed", range(30))
def test_extremes_are_those_of_all_pairs(seed: int) -> None:
    """Groups of very different sizes, where the widest interval is not that of the largest difference."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 5, 30, 400], (3, 1, 14))
    hits = rng.binomial(sizes, rng.random((3, 1, 14)))
    counts = np.stack([sizes - hits, hits], axis=3)
    found = compare(counts, 0.8)
    a, b = np.triu_indices(14, 1)
    for w in range(3):
        x, n = hits[w, 0], sizes[w, 0]
        low, high = newcombe(x[a], n[a], x[b], n[b], 1 - 0.2 / (2 * a.size - 1))
        assert found.low[w] == pytest.approx(max(np.maximum(low, -high).max(), 0), abs=1e-15)
        low, high = newcombe(x[a], n[a], x[b], n[b], 0.8)
        assert found.high[w] == pytest.approx(np.maximum(-low, high).max(), abs=1e-15)
        assert found.gap[w] == np.ptp(x / n)
