"""The exact test of a difference of two rates: its statistic, its p-values by brute force, its level and its limits."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import barnard_exact, binom

from faircrowd.audit import difference_test
from faircrowd.audit.difference_test import (
    _statistic,
    ordered_differences,
    p_value_below,
    upper_limit,
)

SIZES = [(3, 4), (7, 5), (10, 2), (6, 6), (1, 9)]


def likely_statistic(x: int, m: int, y: int, n: int, delta: float) -> float:
    """The same statistic, with the likeliest rates found by search."""

    def cost(q: float) -> float:
        return -(binom.logpmf(x, m, min(max(q + delta, 0), 1)) + binom.logpmf(y, n, q))

    low, high = max(0.0, -delta), min(1.0, 1.0 - delta)
    grid = np.linspace(low, high, 400)
    start = grid[np.argmin([cost(q) for q in grid])]
    step = (high - low) / 399
    bounds = max(low, start - step), min(high, start + step)
    q = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    q = min((q, low, high), key=cost)
    p = q + delta
    return (x / m - y / n - delta) / np.sqrt(p * (1 - p) / m + q * (1 - q) / n)


@pytest.mark.parametrize("delta", [-0.4, -0.05, 0.0, 0.1, 0.6])
@pytest.mark.parametrize("counts", [(3, 10, 4, 12), (0, 5, 3, 30), (9, 9, 1, 4), (40, 50, 10, 20)])
def test_the_statistic_has_the_likeliest_rates(counts: tuple[int, ...], delta: float) -> None:
    expected = likely_statistic(*counts, delta)
    assert _statistic(*counts, delta) == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("delta", [-0.7, -0.1, 0.0, 0.05, 0.3])
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_the_statistic_rises_in_one_count_and_falls_in_the_other(m: int, n: int, delta: float) -> None:
    table = np.array([[_statistic(x, m, y, n, delta) for y in range(n + 1)] for x in range(m + 1)])
    assert all(b >= a - 1e-9 for column in table.T for a, b in itertools.pairwise(column))
    assert all(b <= a + 1e-9 for row in table for a, b in itertools.pairwise(row))


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.05, 0.2])
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_p_values_equal_brute_force(m: int, n: int, delta: float) -> None:
    """Add up all samples that are as extreme, at each of many rates, and take the largest."""
    table = np.array([[_statistic(x, m, y, n, delta) for y in range(n + 1)] for x in range(m + 1)])
    q = np.linspace(max(0, -delta), min(1, 1 - delta), 3001)
    first = binom.pmf(np.arange(m + 1)[:, None], m, np.clip(q + delta, 0, 1))
    second = binom.pmf(np.arange(n + 1)[:, None], n, q)
    for x, y in itertools.product(range(m + 1), range(n + 1)):
        region = (table <= table[x, y] + 1e-9).astype(float)
        expected = np.einsum("xr,xy,yr->r", first, region, second).max()
        assert p_value_below(x, m, y, n, delta) == pytest.approx(expected, abs=2e-5)


def test_p_values_equal_barnard() -> None:
    """SciPy's search over rates may end below the largest probability, never above it."""
    for x, m, y, n in ((7, 15, 12, 15), (1, 8, 7, 30), (20, 40, 25, 35)):
        found = barnard_exact([[x, y], [m - x, n - y]], alternative="less", n=512).pvalue
        assert found * 0.999 <= p_value_below(x, m, y, n, 0.0) <= found * 1.07


def test_groups_can_be_exchanged() -> None:
    """The question about the labels of both groups is the same as about the tasks without it, the other way round."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, n = rng.integers(1, 40, 2).tolist()
        x, y, delta = int(rng.integers(0, m + 1)), int(rng.integers(0, n + 1)), float(rng.uniform(-0.5, 0.5))
        assert p_value_below(x, m, y, n, delta) == pytest.approx(p_value_below(n - y, n, m - x, m, delta), abs=1e-6)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (3, 20), (12, 12), (10, 60)])
@pytest.mark.parametrize("delta", [-0.2, 0.0, 0.1])
def test_the_level_is_kept(m: int, n: int, delta: float) -> None:
    """At a difference of delta or more, a p-value is at most a with a probability of at most a."""
    p_values = np.array([[p_value_below(x, m, y, n, delta) for y in range(n + 1)] for x in range(m + 1)])
    for true in (delta, delta + 0.03, delta + 0.2):
        q = np.linspace(max(0, -true), min(1, 1 - true), 501)
        first = binom.pmf(np.arange(m + 1)[:, None], m, np.clip(q + true, 0, 1))
        second = binom.pmf(np.arange(n + 1)[:, None], n, q)
        for level in (0.01, 0.05, 0.2):
            error = np.einsum("xr,xy,yr->r", first, (p_values <= level).astype(float), second).max()
            assert error <= level + 1e-5


def test_many_tasks_are_compared_with_the_normal_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    for counts in ((1250, 2500, 1200, 2600), (300, 2500, 200, 2500), (345, 2100, 3000, 24_000)):
        monkeypatch.setattr(difference_test, "_MOST_EXACT", 5000)
        exact = p_value_below(*counts, 0.05)
        monkeypatch.setattr(difference_test, "_MOST_EXACT", 2000)
        assert p_value_below(*counts, 0.05) == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("counts", [(3, 10, 4, 12), (0, 5, 0, 30), (9, 9, 0, 4), (40, 50, 10, 200), (0, 3, 3, 3)])
@pytest.mark.parametrize("error", [0.01, 0.05, 0.3])
def test_an_upper_limit_is_where_the_test_begins_to_reject(counts: tuple[int, ...], error: float) -> None:
    limit = upper_limit(*counts, error)
    x, m, y, n = counts
    assert x / m - y / n <= limit <= 1
    assert p_value_below(*counts, limit) <= error
    if limit > x / m - y / n:
        assert p_value_below(*counts, limit - 2e-6) > error


def test_ends() -> None:
    assert p_value_below(1, 2, 1, 2, 1.0) == 0
    assert p_value_below(1, 2, 1, 2, -1.0) == 1
    assert 0.99**1000 <= p_value_below(0, 1000, 0, 1000, 0.01) < 0.002
    assert upper_limit(2, 2, 0, 2, 0.05) == 1


def all_differences(counts: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Return every class in every two groups, both ways round."""
    sizes = counts.sum(axis=1).tolist()
    of_class = (zip(column, sizes, strict=True) for column in counts.T.tolist())
    return [(x, m, y, n) for cells in of_class for (x, m), (y, n) in itertools.permutations(cells, 2)]


def test_differences_of_a_table() -> None:
    two = np.array([[3, 1], [2, 6]])
    assert ordered_differences(two) == [(3, 4, 2, 8), (2, 8, 3, 4)]
    three = ordered_differences(np.array([[1, 2, 1], [1, 2, 2], [0, 4, 2]]))
    assert len(three) == 3 * 3 * 2
    assert three[0][0] / three[0][1] - three[0][2] / three[0][3] == 4 / 6 - 2 / 5
    falling = [x / m - y / n for x, m, y, n in three]
    assert falling == sorted(falling, reverse=True)
    same = np.array([[1, 2, 1], [1, 1, 2], [0, 4, 0]])
    assert ordered_differences(same) == [(4, 4, 1, 4), (2, 4, 0, 4), (1, 4, 0, 4)]
    assert ordered_differences(np.array([[2, 2], [2, 2]])) == [(2, 4, 2, 4)]


@pytest.mark.parametrize("seed", range(8))
def test_differences_that_are_left_out_have_no_higher_limit(seed: int) -> None:
    """Groups of few sizes: the limits and the test are those over all pairs of groups."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([3, 4, 9, 12], 6)
    table = np.array([rng.multinomial(size, rng.dirichlet(np.ones(2 + seed % 2))) for size in sizes])
    kept, every = ordered_differences(table), all_differences(table)
    assert set(kept) <= set(every)
    assert len(kept) < len(every)
    assert max(upper_limit(*one, 0.1) for one in kept) == max(upper_limit(*one, 0.1) for one in every)
    assert max(-upper_limit(y, n, x, m, 0.1) for x, m, y, n in kept) == max(
        -upper_limit(y, n, x, m, 0.1) for x, m, y, n in every
    )
    for epsilon in (0.3, 0.6, 0.9):
        of_kept, of_every = ([p_value_below(*one, epsilon) <= 0.3 for one in some] for some in (kept, every))
        assert all(of_kept) == all(of_every)


def test_a_thousand_groups_make_no_more_differences_than_tasks_allow() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 40, (1000, 2)) + 1
    n_sizes = np.unique(table.sum(axis=1)).size
    assert len(ordered_differences(table)) <= n_sizes**2 <= 2 * table.sum()
    assert len(ordered_differences(np.vstack([table, table]))) <= n_sizes**2
