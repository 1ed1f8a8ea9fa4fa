"""Little memory, and the same answers: lookups in place of arrays, selection in place of sorting."""

import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircrowd import make_fair
from faircrowd.errors import InputError
from faircrowd.exact.hashing import task_keys
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.read_posterior import RowNumbers, read_posterior
from faircrowd.fair.thresholds import sorted_group
from faircrowd.fair.thresholds.relaxed import relaxed_thresholds
from faircrowd.fair.thresholds.sorted_group import (
    make_sorted_group,
    new_value_cache,
    rate_at_count,
    sort_groups,
    value_at_count,
)
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes import Vocabulary
from faircrowd.votes.encode import keep_used
from inner_kernels import from_python
from strategies import examples

first_count_with_rate = from_python(sorted_group.first_count_with_rate)

SEEDS = st.integers(0, 2**32 - 1)


def crowd(n_tasks: int, votes: int | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of two groups that differ; tied if made of a few votes."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n_tasks) % 3 > 0).astype(np.int64)
    p = rng.beta(1 + group, 2 - group)
    if votes is not None:
        p = rng.binomial(votes, p) / votes
    return np.stack([1 - p, p], axis=1), group


# Memory, in arrays of a float a task.


@pytest.mark.parametrize("votes", [None, 5], ids=["untied", "tied"])
def test_labels_and_certificate_take_three_arrays(votes: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "1")  # what several hold at the same moment depends on the machine
    n_tasks = 400_000
    posterior, group = crowd(n_tasks, votes)
    make_fair(posterior, group, epsilon=0.05)  # compiled, and imported
    tracemalloc.start()
    fair = make_fair(posterior, group, epsilon=0.05)
    kept = tracemalloc.get_traced_memory()[0] / (8 * n_tasks)
    labels = fair.labels
    peak = tracemalloc.get_traced_memory()[1] / (8 * n_tasks)
    tracemalloc.stop()
    assert kept < 1.6  # group, own label and label of each task, half an array each: nothing of what was sorted
    assert peak < 2.9
    assert labels.size == n_tasks


def test_gains_take_no_array_of_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "1")
    n_tasks = 400_000
    posterior, group = crowd(n_tasks)
    gains = [[2.0, -1.0], [-3.0, 1.0]]
    make_fair(posterior, group, epsilon=0.05, objective=gains)
    tracemalloc.start()
    fair = make_fair(posterior, group, epsilon=0.05, objective=gains)
    peak = tracemalloc.get_traced_memory()[1] / (8 * n_tasks)
    tracemalloc.stop()
    assert peak < 2.9
    worth = (posterior @ gains)[np.arange(n_tasks), fair.labels]
    assert fair.certificate.value == pytest.approx(math.fsum(worth) / n_tasks, abs=1e-14)


# One side.


@given(st.integers(1, 400), st.booleans(), st.booleans(), SEEDS)
@settings(max_examples=examples(60))
def test_rates_and_values_of_every_count(n: int, tied: bool, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = np.sort(rng.integers(-3, 4, n) / 5 if tied else rng.uniform(-1, 1, n))
    weights = rng.uniform(0.5, 3.0, n) if weighted else np.ones(n)
    total = 1.7 * n
    side = make_sorted_group(costs, weights if weighted else None, int((costs < 0).sum()), total)
    rates = np.append(0.0, np.cumsum(weights) / weights.sum())
    rates[-1] = 1.0
    forwards, backwards, again = new_value_cache(), new_value_cache(), {}
    for count in range(n + 1):
        value = -math.fsum(weights[:count] * costs[:count]) / total
        again[count] = value_at_count(side, count, forwards)
        assert again[count] == pytest.approx(value, abs=3e-16)
        assert rate_at_count(side, count) == pytest.approx(rates[count], abs=1e-15)
    for count in rng.permutation(n + 1):
        assert value_at_count(side, count, backwards) == again[count]


@given(st.integers(1, 300), st.booleans(), SEEDS)
@settings(max_examples=examples(60))
def test_counts_are_found_as_in_an_array_of_rates(n: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    side = make_sorted_group(
        np.sort(rng.uniform(-1, 1, n)), rng.uniform(0.5, 3.0, n) if weighted else None, 0, float(n)
    )
    rates = np.array([rate_at_count(side, count) for count in range(n + 1)])
    some = rng.choice(rates, 20)
    for rate in (*some, *(some - 0.05), *(some + 0.05 + SLACK), *np.nextafter(some, 2), *np.nextafter(some, -1), -3, 3):
        assert first_count_with_rate(side, rate, False) == np.searchsorted(rates, rate, side="left")
        assert first_count_with_rate(side, rate, True) == np.searchsorted(rates, rate, side="right")


# Which of the tied are marked.


@given(st.integers(4, 200), st.booleans(), st.sampled_from(["first", "last"]), SEEDS)
@settings(max_examples=examples(60))
def test_labels_are_the_best_of_each_group_in_order(n_tasks: int, by_evidence: bool, ties: str, seed: int) -> None:
    posterior, group = crowd(n_tasks, votes=3, seed=seed)
    evidence = np.random.default_rng(seed).integers(1, 4, n_tasks) if by_evidence else None
    fair = make_fair(posterior, group, epsilon=0.1, evidence=evidence, ties=ties, random_state=seed % 7)
    rank = task_keys(RowNumbers(n_tasks), np.arange(n_tasks), seed % 7)
    for a in (0, 1):
        rows = np.flatnonzero(group == a)
        more = np.zeros(rows.size) if evidence is None else evidence[rows]
        order = rows[np.lexsort((rank[rows], -more, -posterior[rows, 1]))]
        count = fair.labels[rows].sum()
        assert fair.labels[order[:count]].all()


# Row numbers that nobody writes out.


def test_row_numbers_are_a_vocabulary() -> None:
    lean, plain = RowNumbers(1000), Vocabulary(pa.array(np.arange(1000)))
    codes = np.array([999, 0, 7, 7])
    assert len(lean) == len(plain)
    assert lean.values.equals(plain.values)
    assert lean.to_list() == plain.to_list()
    assert lean.take(codes).to_list() == lean.some(codes) == codes.tolist()
    assert repr(lean) == repr(plain)
    for other in (pa.array([5, 1000, -1]), pa.array(["5", "x", "999"])):
        np.testing.assert_array_equal(lean.code_of(other), plain.code_of(other))


def test_row_numbers_are_hashed_without_writing_them_out() -> None:
    ids = np.array([0, 9, 10, 99, 100, 101, 12_345_678_901, 10**14 - 1])
    found = task_keys(RowNumbers(10**14), ids, 5)
    np.testing.assert_array_equal(found, task_keys(Vocabulary.of([str(i) for i in ids]), np.arange(ids.size), 5))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True), st.integers(0, 2**64 - 1))
def test_a_number_has_the_hash_of_its_text(ids: list[int], seed: int) -> None:
    rows = np.arange(len(ids))
    numbers, texts = Vocabulary(pa.array(ids)), Vocabulary.of([str(i) for i in ids])
    np.testing.assert_array_equal(task_keys(numbers, rows, seed), task_keys(texts, rows, seed))
    assert task_keys(numbers, rows[:0], seed).size == 0


@given(st.lists(st.integers(-1, 5), max_size=30))
def test_unused_values_are_dropped(codes: list[int]) -> None:
    given = np.array(codes, dtype=np.int32)
    kept, vocabulary, dropped = keep_used(given, Vocabulary.of(list("abcdef")))
    used = sorted({code for code in codes if code >= 0})
    assert vocabulary.to_list() == ["abcdef"[code] for code in used]
    assert [used[code] if code >= 0 else -1 for code in kept] == codes
    assert dropped.tolist() == [code for code in range(6) if code not in used]


# The randomized solution, and the frontier.


@pytest.mark.parametrize("votes", [None, 5], ids=["untied", "tied"])
def test_the_randomized_solution_gives_the_rates_and_the_value_of_the_split(votes: int | None) -> None:
    posterior, group = crowd(500, votes)
    problem = read_posterior(posterior, group)
    split = relaxed_thresholds(sort_groups(problem, make_gain("accuracy", 2), 0).groups, 0.05)
    chances = make_fair(posterior, group, epsilon=0.05, decision="randomized").probabilities[:, 1]
    assert np.mean(chances[group == 1]) - np.mean(chances[group == 0]) == pytest.approx(split.signed_gap, abs=1e-12)
    assert abs(split.signed_gap) == pytest.approx(0.05, abs=1e-12)
    assert np.mean((posterior[:, 1] - posterior[:, 0]) * chances) == pytest.approx(split.value, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_frontier_of_gains_knows_their_accuracy(weighted: bool) -> None:
    posterior, group = crowd(300)
    gains = np.array([[2.0, -1.0], [-3.0, 1.0]])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300) if weighted else None
    settings = {"objective": gains, "decision": "randomized", "sample_weight": weights}
    frontier = make_fair(posterior, group, epsilon=0.1, **settings).frontier
    for epsilon in (0.0, 0.03, 0.1, 0.2):
        alone = make_fair(posterior, group, epsilon=epsilon, **settings).probabilities
        point = frontier.at(epsilon)
        assert point.believed_accuracy == pytest.approx(
            np.average((posterior * alone).sum(axis=1), weights=weights), abs=1e-12
        )
        worth = ((posterior @ gains) * alone).sum(axis=1)
        assert point.value == pytest.approx(np.average(worth, weights=weights), abs=1e-12)


def test_logarithms_that_say_nothing_are_refused() -> None:
    posterior, group = crowd(9)
    logs = np.log(posterior)
    logs[3] = -np.inf
    with pytest.raises(InputError, match="all impossible"):
        make_fair(posterior, group, epsilon=0.1, log_posterior=logs)
