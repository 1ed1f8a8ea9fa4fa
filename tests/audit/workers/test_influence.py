"""What workers do to the gap and to labels, tables of small counts, and agreement: against plain counting."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.audit.agreement import krippendorff_alpha
from faircrowd.audit.workers.influence import Influence, _share_out, worker_influence
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.votes import VoteTable

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
    """Eight tasks, four workers, three classes, two groups; workers may vote again on a task."""
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
    votes = np.array([*counts, 7])  # nobody asked for the last
    order = np.array([1, 2, 0])
    for rule, ties in enumerate(("split", "first", "last")):
        mass = np.full(4, 5, dtype=np.int64)
        top, second = _share_out(order, votes, rule, mass)
        ranked = sorted(counts)
        assert (top, second) == (ranked[-1], ranked[-2])
        share = majority([k for k, n in enumerate(counts) for _ in range(n)], ties)
        whole = mass[:3].sum()
        assert whole == (2520 << 20 if any(counts) else 0)
        assert mass.tolist() == [*(share.get(k, 0) * whole for k in range(3)), 5]


def test_small_tables_are_tested_exactly() -> None:
    tables = [
        (x, n, y, m) for n, m in [*product(range(5), repeat=2), (9, 4)] for x in range(n + 1) for y in range(m + 1)
    ]
    found = fisher_tests(*np.array(tables).T)
    for i, (x, n, y, m) in enumerate(tables):
        law = {z: comb(n, z) * comb(m, x + y - z) for z in range(n + 1) if 0 <= x + y - z <= m}
        whole = comb(n + m, x + y)
        p_values = {z: sum(p for p in law.values() if p <= law[z]) / whole for z in law}
        assert found.p_value[i] == pytest.approx(p_values[x], rel=1e-12)
        assert found.least[i] == pytest.approx(min(p_values.values()), rel=1e-12)
        assert max(found.p_value[i], found.least[i]) <= 1


def test_large_tables_neither_overflow_nor_vanish() -> None:
    n = 1200  # the most likely outcome is more than 1e700 times as likely as the rarest
    for x in (0, 500, 600, 610, n):
        found = fisher_tests(x, n, n - x, n)
        law = [comb(n, z) ** 2 for z in range(n + 1)]
        want = Fraction(sum(p for p in law if p <= law[x]), comb(2 * n, n))
        assert float(found.p_value) == pytest.approx(float(want), rel=1e-9, abs=1e-300)
        assert float(found.least) == 0


def test_shapes_of_tests_are_those_of_the_input() -> None:
    found = fisher_tests([[1, 2], [3, 4]], 5, 2, [[6], [7]])
    for i, j in product(range(2), repeat=2):
        assert found.p_value[i, j] == fisher_tests(1 + 2 * i + j, 5, 2, 6 + i).p_value
    assert benjamini_hochberg([np.nan, np.nan]).shape == (2,)
    assert np.isnan(benjamini_hochberg([np.nan])).all()
    assert benjamini_hochberg([0.02, 0.01, 0.9]).tolist() == [0.03, 0.03, 0.9]


def test_agreement_by_hand() -> None:
    rows = [
        *((0, w, k) for w, k in enumerate("aab")),
        *((1, w, k) for w, k in enumerate("bb")),
        (2, 0, "a"),
        (3, 0, "b"),
    ]
    rows += [*((4, w, k) for w, k in enumerate("abcb"))]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = krippendorff_alpha(fc.read_votes(frame, sensitive_features=dict(enumerate("xxyxy"))))
    # Pairs that differ, over one less than the votes: 4 / 2, 0 / 1, and 10 / 3; by chance, of 3 a, 5 b and 1 c.
    assert found.alpha == pytest.approx(1 - (2 + 10 / 3) * 8 / (3 * 6 + 5 * 4 + 1 * 8), abs=1e-15)
    np.testing.assert_allclose(found.by_group, [1 - 2 * 4 / (2 * 3 * 2), 1 - 10 / 3 * 3 / (3 + 4 + 3)], atol=1e-15)
    assert (found.tasks.tolist(), found.votes.tolist(), found.single) == ([2, 1], [5, 4], 2)
    alone = krippendorff_alpha(fc.read_votes(frame))
    assert alone.alpha == found.alpha
    assert (alone.by_group.size, alone.groups, alone.tasks.tolist(), alone.votes.tolist()) == (0, None, [3], [9])
