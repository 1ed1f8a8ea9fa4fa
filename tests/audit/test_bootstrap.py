"""The bootstrap over workers and tasks: the same for any order and threads, equal to plain code, wide enough."""

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import read_votes, simulate_crowd
from faircrowd.audit import bootstrap
from faircrowd.audit.bootstrap import _interval, _replicate, bootstrap_gap
from faircrowd.audit.intervals import GapInterval, gap_interval
from faircrowd.engines import LocalEngine
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import VoteTable

REPEATS = 1000 if os.environ.get("FAIRCROWD_SLOW") else 150
"""Number of random crowds to measure coverage with; FAIRCROWD_SLOW=1 draws more."""


def table_of(frame: pd.DataFrame, groups: pd.Series) -> VoteTable:
    return read_votes(frame, sensitive_features=groups)


def small(seed: int = 0, n_classes: int = 3) -> VoteTable:
    shares = np.full(n_classes, 1 / n_classes)
    crowd = simulate_crowd(150, 12, 4, class_shares=[shares, shares], random_state=seed)
    return table_of(crowd.votes, crowd.sensitive_features)


def leaning(rng: np.random.Generator, n_tasks: int, n_workers: int, each: int, effect: float = 0.7) -> tuple:
    """Draw workers who lean, each in their own way in each group: who votes on each task, how, and the groups."""
    group = rng.integers(0, 2, n_tasks)
    truth = rng.random(n_tasks) < 1 / (1 + np.exp(-effect * (2 * group - 1)))
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :each]
    lean = rng.normal(0, 1, (n_workers, 1)) + rng.normal(0, 1, (n_workers, 2))
    odds = 1.5 * (2 * truth[:, None] - 1) + lean[worker, group[:, None]]
    return worker, rng.random((n_tasks, each)) < 1 / (1 + np.exp(-odds)), group


def frame_of(worker: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    tasks = np.repeat(np.arange(len(worker)), worker.shape[1])
    return pd.DataFrame({"task": tasks, "worker": worker.ravel(), "label": label.ravel().astype(int)})


def over_tasks(counts: Any, replicates: int = 2000) -> GapInterval:
    """Return the interval if workers have no weights: only tasks are drawn."""
    table = np.array(counts, dtype=float)
    masses = np.broadcast_to(table, (replicates, *table.shape))
    return _interval(table, masses, 0.95, np.random.default_rng(0), "tasks only")


def test_the_same_for_any_order_of_rows_and_any_seed_repeats() -> None:
    crowd = simulate_crowd(300, 20, random_state=4)
    here = bootstrap_gap(table_of(crowd.votes, crowd.sensitive_features), replicates=200, random_state=5)
    mixed = crowd.votes.sample(frac=1, random_state=1)
    assert bootstrap_gap(table_of(mixed, crowd.sensitive_features), replicates=200, random_state=5) == here
    other = bootstrap_gap(table_of(mixed, crowd.sensitive_features), replicates=200, random_state=6)
    assert other != here
    assert other.high == pytest.approx(here.high, abs=0.03)


def test_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate_crowd(30_000, 40, random_state=1)
    votes = table_of(crowd.votes, crowd.sensitive_features)
    assert len(LocalEngine(votes).blocks) > 1
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FAIRCROWD_THREADS", threads)
        found.append(bootstrap_gap(votes, replicates=20))
    assert found[0] == found[1]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_replicate_equals_plain_code(n_classes: int) -> None:
    votes = small(n_classes=n_classes)
    weights = np.random.default_rng(0).exponential(size=(votes.n_workers, 3))
    (mass,) = LocalEngine(votes, by_group=True).reduce(_replicate, weights, len(votes.groups), n_classes)
    expected = np.zeros_like(mass)
    for task in range(votes.n_tasks):
        span = slice(votes.offsets[task], votes.offsets[task + 1])
        for b in range(3):
            given = weights[votes.worker[span], b]
            label = np.bincount(votes.label[span], weights=given, minlength=n_classes).argmax()
            expected[votes.group[task], label, b] += given.mean()
    np.testing.assert_allclose(mass, expected)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_the_gap_is_that_of_majority_labels(ties: str) -> None:
    from faircrowd import MajorityVote

    crowd = simulate_crowd(200, 10, 4, random_state=2)
    labels = MajorityVote(ties=ties).fit(crowd.votes).labels_
    rates = labels.groupby(crowd.sensitive_features).mean()
    found = bootstrap_gap(table_of(crowd.votes, crowd.sensitive_features), ties=ties, replicates=50)
    assert found.gap == pytest.approx(abs(rates[1] - rates[0]))
    assert 0 <= found.low <= found.gap <= found.high <= 1


@pytest.mark.parametrize(("n_tasks", "n_workers", "each"), [(300, 15, 5), (300, 12, 1), (600, 5, 1)])
def test_coverage_where_workers_lean(n_tasks: int, n_workers: int, each: int) -> None:
    """Intervals over tasks alone often miss the gap of such crowds; intervals over workers and tasks do not."""
    rng = np.random.default_rng(3)

    def draw() -> tuple:
        worker, label, group = leaning(rng, n_tasks, n_workers, each)
        marked = label.sum(axis=1) * 2 > each
        counts = [[np.sum(marked[group == a] == k) for k in (0, 1)] for a in (0, 1)]
        return frame_of(worker, label), pd.Series(group), np.array(counts)

    tables = np.array([draw()[2] for _ in range(1500)])
    gap = np.ptp((tables[:, :, 1] / tables.sum(axis=2)).mean(axis=0))
    both, tasks_only = [], []
    for _ in range(REPEATS):
        frame, group, counts = draw()
        found = bootstrap_gap(table_of(frame, group), replicates=200)
        assert found.gap == pytest.approx(gap_interval(counts).gap)
        both.append(found.low <= gap <= found.high)
        closed = gap_interval(counts)
        tasks_only.append(closed.low <= gap <= closed.high)
    assert np.mean(both) > 0.92
    assert np.mean(tasks_only) < 0.9


def test_few_workers_widen_their_part_by_students_quantile() -> None:
    from scipy.stats import norm, t

    for given, w in (([7] * 5, 5.0), ([1, 1, 2], 16 / 6), ([100, 1], 2.0)):
        ratio = t.ppf(0.95, w - 1) / norm.ppf(0.95)
        assert bootstrap._few_workers(np.array(given), 0.0, 0.9) == pytest.approx(ratio)
        assert bootstrap._few_workers(np.array(given), 1.0, 0.9) == pytest.approx(ratio * np.sqrt((w + 1) / (w - 1)))
    counts, rng = np.array([[50.0, 50.0], [80.0, 20.0]]), np.random.default_rng(0)
    masses = rng.dirichlet([10, 10], (3000, 2))
    plain, wide = (_interval(counts, masses, 0.95, np.random.default_rng(1), "", widen) for widen in (1.0, 2.0))
    ends = [found.high - found.gap for found in (plain, wide)]
    # Beta(10, 10) has a standard deviation of .109; drawing 100 tasks adds about .05.
    for end, factor in zip(ends, (1, 2), strict=True):
        assert end == pytest.approx(1.96 * np.sqrt(2 * ((factor * 0.109) ** 2 + 0.05**2)), rel=0.1)


def test_a_lone_worker_still_counts() -> None:
    """If each task has one voter, the sample size is the number of workers: twenty, not a thousand."""
    rng = np.random.default_rng(0)
    worker = np.repeat(np.arange(20), 50)[:, None]
    says = rng.random(20) < 0.5  # each worker gives all tasks one label
    votes = table_of(frame_of(worker, says[worker]), pd.Series(np.arange(1000) % 40 // 20))
    wide = bootstrap_gap(votes, replicates=500)
    group, label = votes.group, votes.label
    narrow = gap_interval([[np.sum((group == a) & (label == k)) for k in (0, 1)] for a in (0, 1)])
    assert wide.high - wide.gap > 1.5 * (narrow.high - narrow.gap)


@pytest.mark.parametrize("rates", [(0.5, 0.4), (0.03, 0.05)])
def test_coverage_over_tasks(rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(11)
    sizes = np.array([80, 150])
    held = []
    for _ in range(4 * REPEATS):
        ones = rng.binomial(sizes, rates)
        found = over_tasks(np.stack([sizes - ones, ones], axis=1), replicates=300)
        held.append(found.low <= abs(rates[0] - rates[1]) <= found.high)
    assert np.mean(held) > 0.92


def test_over_tasks_it_agrees_with_the_closed_form() -> None:
    counts = [[300, 500, 200], [250, 500, 250]]
    bootstrap, closed = over_tasks(counts, replicates=5000), gap_interval(counts)
    assert bootstrap.gap == closed.gap
    assert bootstrap.high == pytest.approx(closed.high, abs=0.01)
    assert bootstrap.low == pytest.approx(closed.low, abs=0.01)


def test_a_rate_of_zero_is_not_certain() -> None:
    assert over_tasks([[5, 0], [9, 0]]).high > 0.1
    assert over_tasks([[5_000, 0], [9_000, 0]]).high < 0.01


def test_bad_input() -> None:
    crowd = simulate_crowd(50, 10)
    with pytest.raises(InputError, match="sensitive_features"):
        bootstrap_gap(read_votes(crowd.votes))
    with pytest.raises(InputError, match="Parity compares groups"):
        bootstrap_gap(table_of(crowd.votes, crowd.sensitive_features * 0))
    votes = table_of(crowd.votes, crowd.sensitive_features)
    for wrong in ({"ties": "random"}, {"replicates": 0}, {"confidence": 1.0}, {"random_state": -1}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            bootstrap_gap(votes, **wrong)


class Fixed:
    """Stands in for a generator: records the probabilities it is given, and draws fixed counts."""

    def __init__(self, counts: list) -> None:
        self.counts = np.array(counts)

    def multinomial(self, sizes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        self.sizes, self.probabilities = sizes, probabilities
        return self.counts


def test_an_interval_by_hand() -> None:
    counts = np.array([[1.0, 3.0], [4.0, 4.0]])
    rng = Fixed([[[2, 2], [4, 4]], [[4, 0], [4, 4]], [[0, 4], [4, 4]], [[2, 2], [2, 6]]])
    masses = np.array([[[1.0, 3.0], [2.0, 6.0]]] * 4)
    found = _interval(counts, masses, 0.75, rng, "by hand")
    assert rng.sizes.tolist() == [4, 8]
    assert rng.probabilities.tolist() == [[[(1 + 0.5) / 5, (3 + 0.5) / 5], [(2 + 0.5) / 9, (6 + 0.5) / 9]]] * 4
    # Rates of class 0: 1/2, 1, 0, 1/2 (mean 1/2) and 1/2, 1/2, 1/2, 1/4 (mean 7/16).
    errors = sorted([1 / 16, 1 / 2 - 1 / 16, 1 / 2 + 1 / 16, 3 / 16])
    assert (found.gap, found.low, found.high) == (0.25, 0, 0.25 + 1 / 2 + 1 / 16)
    assert _interval(counts, masses, 0.5, rng, "by hand").high == 0.25 + errors[2]
    assert (found.confidence, found.method) == (0.75, "by hand")
    wide = _interval(np.array([[4.0, 0.0], [0.0, 8.0]]), masses, 0.5, rng, "by hand")
    assert (wide.gap, wide.low, wide.high) == (1, 1 - errors[2], 1)


def test_three_classes_share_the_task_that_is_added() -> None:
    rng = Fixed([[[1, 1, 0], [0, 1, 1]]])
    _interval(np.array([[1.0, 1, 0], [0, 1, 1]]), np.array([[[2.0, 2, 0], [0, 1, 3]]]), 0.9, rng, "")
    np.testing.assert_allclose(
        rng.probabilities, [[[4 / 9, 4 / 9, 1 / 9], [1 / 9, (0.5 + 1 / 3) / 3, (1.5 + 1 / 3) / 3]]]
    )


def test_defaults_and_names() -> None:
    frame = pd.DataFrame({"task": [0, 0, 1, 1], "worker": [0, 1, 0, 2], "label": [0, 1, 1, 1]})
    votes = table_of(frame, pd.Series(["a", "b"]))
    found = bootstrap_gap(votes)
    assert found == bootstrap_gap(votes, ties="first", replicates=2000, confidence=0.95, random_state=0)
    assert found.method == "bootstrap of workers and tasks, 2,000 replicates"
    assert over_tasks([[3, 4], [5, 1]], replicates=1).high >= 0
    assert bootstrap_gap(votes, replicates=1).gap == 1


def test_replicates_are_drawn_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, shapes = small(), []
    whole = bootstrap_gap(votes, replicates=300)

    class Watched(LocalEngine):
        def reduce(self, kernel: Any, *args: Any) -> Any:
            if kernel is _replicate:
                shapes.append(args[0].shape)
            return super().reduce(kernel, *args)

    monkeypatch.setattr(bootstrap, "LocalEngine", Watched)
    for most, steps in ((1 << 22, [128, 128, 44]), (12 * 100 + 11, [100] * 3), (3, [1] * 300)):
        monkeypatch.setattr(bootstrap, "_MAX_WEIGHTS_AT_ONCE", most)
        shapes.clear()
        assert bootstrap_gap(votes, replicates=300) == whole
        assert shapes == [(12, n) for n in steps]
