"""Fisher's exact test and q-values: against scipy, all tables, and the step-up rule."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from strategies import examples


def test_small_tables_are_tested_exactly() -> None:
    tables = [
        (x, n, y, m) for n, m in [*product(range(5), repeat=2), (9, 4)] for x in range(n + 1) for y in range(m + 1)
    ]
    found = fisher_tests(*np.array(tables).T)
    for i, (x, n, y, m) in enumerate(tables):
        chances = {z: comb(n, z) * comb(m, x + y - z) for z in range(n + 1) if 0 <= x + y - z <= m}
        total = comb(n + m, x + y)
        p_values = {z: sum(p for p in chances.values() if p <= chances[z]) / total for z in chances}
        assert found.p_value[i] == pytest.approx(p_values[x], rel=1e-12)
        assert found.least[i] == pytest.approx(min(p_values.values()), rel=1e-12)
        assert max(found.p_value[i], found.least[i]) <= 1


def test_large_tables_neither_overflow_nor_vanish() -> None:
    n = 1200  # the most likely outcome is more than 1e700 times as likely as the rarest
    for x in (0, 500, 600, 610, n):
        found = fisher_tests(x, n, n - x, n)
        chances = [comb(n, z) ** 2 for z in range(n + 1)]
        want = Fraction(sum(p for p in chances if p <= chances[x]), comb(2 * n, n))
        assert float(found.p_value) == pytest.approx(float(want), rel=1e-9, abs=1e-300)
        assert float(found.least) == 0


def test_shapes_of_tests_are_those_of_the_input() -> None:
    found = fisher_tests([[1, 2], [3, 4]], 5, 2, [[6], [7]])
    for i, j in product(range(2), repeat=2):
        assert found.p_value[i, j] == fisher_tests(1 + 2 * i + j, 5, 2, 6 + i).p_value
    assert benjamini_hochberg([np.nan, np.nan]).shape == (2,)
    assert np.isnan(benjamini_hochberg([np.nan])).all()
    assert benjamini_hochberg([0.02, 0.01, 0.9]).tolist() == [0.03, 0.03, 0.9]


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 4), min_size=1, max_size=8))
@settings(max_examples=examples(60))
def test_fisher_is_scipys(tables: list[tuple[int, int, int, int]]) -> None:
    x1, m1, x2, m2 = np.array(tables).T
    found = fisher_tests(x1, x1 + m1, x2, x2 + m2)
    for i, (a, b, c, d) in enumerate(tables):
        want = fisher_exact([[a, b], [c, d]]).pvalue if (a + b) * (c + d) * (a + c) * (b + d) else 1.0
        assert found.p_value[i] == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("n1", "n2", "hits"), [(5, 7, 4), (1, 9, 3), (6, 6, 6), (3, 3, 0), (0, 4, 2)])
def test_least_p_value_is_the_least_of_all_tables(n1: int, n2: int, hits: int) -> None:
    tables = [(x, hits - x) for x in range(n1 + 1) if 0 <= hits - x <= n2]
    least = min(float(fisher_tests(x, n1, y, n2).p_value) for x, y in tables)
    for x, y in tables:
        assert float(fisher_tests(x, n1, y, n2).least) == pytest.approx(least)


def test_fisher_of_large_counts() -> None:
    found = fisher_tests([50_000, 400_000], 500_000, [51_000, 100_000], 500_000)
    assert found.p_value[0] == pytest.approx(fisher_exact([[50_000, 450_000], [51_000, 449_000]]).pvalue, rel=1e-5)
    assert found.p_value[1] == 0  # below the smallest number
    assert found.least.tolist() == [0, 0]


@given(st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), max_size=9))
def test_q_values_are_those_of_the_step_up_rule(p_values: list[float]) -> None:
    p = np.array(p_values)
    q = benjamini_hochberg(p)
    made = p[~np.isnan(p)]
    for i, value in enumerate(p):
        if np.isnan(value):
            assert np.isnan(q[i])
            continue
        steps = [made.size * other / (made <= other).sum() for other in made if other >= value]
        assert q[i] == pytest.approx(min(min(steps), 1.0))
