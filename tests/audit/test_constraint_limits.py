"""Limits of constraints: that they fail as rarely as they say, and agree with the gate of the gap."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from faircrowd.audit.constraint_gate import check_constraints
from faircrowd.audit.constraint_limits import clopper_pearson, miss_limits
from faircrowd.audit.gate import check_labels
from faircrowd.audit.metrics.counted_labels import count_labels
from faircrowd.constraints import Comparison, Constraint, Difference, GroupedTasks, Range
from strategies import examples


@given(st.integers(1, 200), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_one_rate_has_the_limits_of_scipy(size: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, size))
    found = binomtest(hits, size).proportion_ci(0.9, method="exact")
    assert clopper_pearson(hits, size, 0.05) == pytest.approx((found.low, found.high), abs=1e-9)


def drawn(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels and groups with these counts."""
    n_groups, n_classes = counts.shape
    group, label = np.divmod(np.repeat(np.arange(n_groups * n_classes), counts.ravel()), n_classes)
    return label, group


@given(st.lists(st.lists(st.integers(1, 60), min_size=2, max_size=3), min_size=2, max_size=3))
@settings(max_examples=examples(30), deadline=None)
def test_parity_has_the_limits_of_the_gap(rows: list[list[int]]) -> None:
    n_classes = min(map(len, rows))
    label, group = drawn(np.array([row[:n_classes] for row in rows]))
    gate = check_labels(label, group, epsilon=0.2, confidence=0.9)
    found = check_constraints(label, ["parity <= 0.2"], sensitive_features=group, confidence=0.9)
    (one,) = found.constraints
    assert (one.measured.level, one.low, one.high) == pytest.approx((gate.gap, gate.low, gate.high), abs=1e-12)
    assert found.status == gate.status


def status(counts: NDArray[np.int64], text: str, confidence: float) -> str:
    label, group = drawn(counts)
    if not counts.any(axis=0).all():
        return "not enough evidence"  # a label that never occurs is an error
    return check_constraints(label, [text], sensitive_features=group, confidence=confidence).status


@pytest.mark.parametrize(
    "text",
    ["ratio(label=1) >= 0.8", "ratio(label=1) >= 0.5", "rate(*, label=1) >= 0.3", "0.2 <= rate(*, label=1) <= 0.6"],
)
def test_a_wrong_verdict_is_as_rare_as_promised(text: str) -> None:
    """All samples of two groups, weighted by their probability, at rates on either side of the limit."""
    m, n, confidence = 12, 15, 0.8
    found = np.array(
        [[status(np.array([[m - x, x], [n - y, y]]), text, confidence) for y in range(n + 1)] for x in range(m + 1)]
    )
    assert len(set(found.ravel().tolist())) > 1
    (counted,) = count_labels([0, 1, 0, 1], [text], sensitive_features=[0, 0, 1, 1])
    for p, q in itertools.product(np.linspace(0.02, 0.98, 17), repeat=2):
        chance = np.outer(binom.pmf(range(m + 1), m, p), binom.pmf(range(n + 1), n, q))
        is_kept = counted.comparisons[0].excess(np.array([p, q])) <= 0
        wrong = chance[found == ("fail" if is_kept else "pass")].sum()
        assert wrong <= 1 - confidence + 1e-9, (p, q)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("odds <= 0.1", False),
        ("odds <= 0.6", True),
        ("accuracy <= 0.1", False),
        ("ratio >= 0.7", False),
        ("ratio >= 0.2", True),
    ],
)
def test_simulated_verdicts_of_many_groups_and_classes(text: str, kept: bool) -> None:
    """Three groups, three classes: a wrong verdict comes up in at most one of ten samples, and some verdict in most."""
    rng = np.random.default_rng(7)
    confusion = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    other = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    found = []
    for _ in range(20):
        group = rng.integers(0, 3, 900)
        truth = rng.integers(0, 3, 900)
        shares = np.where((group == 2)[:, None], other[truth], confusion[truth])
        label = (rng.random((900, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        found.append(check_constraints(label, [text], sensitive_features=group, truth=truth, confidence=0.9).status)
    wrong = found.count("fail" if kept else "pass")
    assert wrong <= 20 * 0.1 + 3 * math.sqrt(20 * 0.1 * 0.9)
    if text.startswith(("odds", "ratio >= 0.2")):
        assert found.count("pass" if kept else "fail") > 10


@dataclass(frozen=True)
class SameGroup(Constraint):
    """A constraint of one's own: two rates of the same group differ little, which are not independent."""

    epsilon: float
    word: ClassVar[str] = "same"
    level_name: ClassVar[str] = "epsilon"
    compares_groups: ClassVar[bool] = False

    def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
        return [
            Difference([tasks.rate(a, 0), tasks.rate(a, 1)], self.epsilon, "two labels")
            for _, members in tasks.strata
            for a in members
        ]


def test_rates_of_one_group_are_not_taken_for_independent() -> None:
    """Labels 0 and 1 of one group: their difference is 2 p - 1, with twice the error of p."""
    label = np.array([0] * 60 + [1] * 40)
    (counted,) = count_labels(label, [SameGroup(0.1)], sensitive_features=np.zeros(100, dtype=int))
    limits = miss_limits(counted, 0.05, 0.05)
    below, above = clopper_pearson(60, 100, 0.025)
    assert limits.high == pytest.approx(2 * above - 1)
    assert limits.low == max(2 * below - 1, 0.0)


def test_a_ratio_is_at_least_that_of_two_rates_which_hold_together() -> None:
    """The intervals of both rates, each with half of the error, hold together; of three groups, the extremes count."""
    label, group = drawn(np.array([[30, 20], [25, 25], [27, 23]]))
    (counted,) = count_labels(label, ["ratio(label=1) >= 0.8"], sensitive_features=group)
    limits = miss_limits(counted, 0.1, 0.05)
    smaller, larger = (binomtest(hits, 50).proportion_ci(0.9, method="exact") for hits in (20, 25))
    assert limits.low == pytest.approx(smaller.low / larger.high, abs=1e-9)
    assert limits.most == pytest.approx(0.8 - limits.low)


def test_what_is_no_rate_has_hoeffdings_limits() -> None:
    @dataclass(frozen=True)
    class Margin(Constraint):
        floor: float
        level_name: ClassVar[str] = "floor"
        is_floor: ClassVar[bool] = True
        compares_groups: ClassVar[bool] = False

        def comparisons(self, tasks: GroupedTasks) -> list[Comparison]:
            return [Range([tasks.rate(0, 0) - 0.5 * tasks.rate(0, 1)], low=self.floor)]

    label = np.array([0] * 60 + [1] * 30 + [2] * 10)
    (counted,) = count_labels(label, [Margin(0.1)], sensitive_features=np.zeros(100, dtype=int))
    limits = miss_limits(counted, 0.05, 0.05)
    width = 1.5 * math.sqrt(math.log(20) / 200)
    assert limits.low == pytest.approx(0.45 - width)
    assert limits.high == pytest.approx(0.45 + width)


def test_limits_hold_the_level_and_narrow_with_more_tasks() -> None:
    texts: list[Any] = ["parity <= 0.1", "ratio(label=1) >= 0.8", "rate(*, label=1) <= 0.6"]
    width = {}
    for times in (1, 10, 100):
        label, group = drawn(np.array([[30, 20], [25, 25]]) * times)
        for one in check_constraints(label, texts, sensitive_features=group).constraints:
            assert one.low <= one.measured.level <= one.high
            before = width.get(one.measured.text, 2.0)
            width[one.measured.text] = one.high - one.low
            assert one.high - one.low < before
