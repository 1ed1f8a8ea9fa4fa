"""The audit of workers against scipy, brute force, and crowds whose leanings are known."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

import faircrowd as fc
from faircrowd.audit.intervals import gap_interval, newcombe
from faircrowd.audit.workers.influence import worker_influence
from faircrowd.audit.workers.leaning import judge
from faircrowd.audit.workers.shrinkage import normal_prior, shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.audit.workers.worker_audit import LEANS, NO_SIGN, TOO_FEW, audit_workers
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import VoteTable
from strategies import examples


def crowd(
    seed: int, n_tasks: int, n_workers: int, n_classes: int, n_groups: int, repeats: bool = False
) -> pd.DataFrame:
    """Random votes, with a column of groups; some workers miss groups, some tasks have one vote."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(n_tasks):
        group = task if task < n_groups else rng.integers(n_groups)
        voters = rng.choice(n_workers, rng.integers(1, n_workers + 1), replace=repeats)
        rows += [(task, int(worker), int(rng.integers(n_classes)), int(group)) for worker in voters]
    return pd.DataFrame(rows, columns=["task", "worker", "label", "group"])


def read(frame: pd.DataFrame) -> VoteTable:
    groups = frame.drop_duplicates("task").set_index("task")["group"]
    return fc.read_votes(frame[["task", "worker", "label"]], sensitive_features=groups, on_duplicate="all")


def majority_gap(frame: pd.DataFrame, ties: str) -> float:
    tasks, task = np.unique(frame["task"], return_inverse=True)
    counts, group = np.zeros((tasks.size, frame["label"].max() + 1)), np.empty(tasks.size)
    np.add.at(counts, (task, frame["label"]), 1)
    group[task] = frame["group"]
    highest = counts == counts.max(axis=1, keepdims=True)
    mass = highest / highest.sum(axis=1, keepdims=True)
    if ties != "split":
        winner = highest.argmax(axis=1) if ties == "first" else counts.shape[1] - 1 - highest[:, ::-1].argmax(axis=1)
        mass = np.eye(counts.shape[1])[winner]
    rates = np.array([mass[group == a].mean(axis=0) for a in np.unique(group)])
    return float(np.ptp(rates, axis=0).max()) if len(rates) > 1 else np.nan


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 3), st.booleans())
@settings(max_examples=examples(25))
def test_influence_is_that_of_leaving_workers_out(seed: int, n_classes: int, n_groups: int, repeats: bool) -> None:
    frame = crowd(seed, 8, 4, n_classes, n_groups, repeats)
    votes = read(frame)
    for ties in ("split", "first", "last"):
        found = worker_influence(votes, ties=ties)
        assert found.gap == pytest.approx(majority_gap(frame, ties), abs=1e-12)
        for code, worker in enumerate(votes.workers.to_list()):
            rest = frame[frame["worker"] != worker]
            want = np.nan if rest.empty else majority_gap(rest, ties)
            np.testing.assert_allclose(found.without[code], want, atol=1e-12)
            np.testing.assert_allclose(found.influence[code], found.gap - want, atol=1e-12)


def test_influence_by_hand() -> None:
    # Worker 0 decides task a alone, and is half of the tie on task b.
    frame = pd.DataFrame(
        [("a", 0, 1, 0), ("b", 0, 0, 1), ("b", 1, 1, 1), ("c", 1, 0, 0), ("d", 1, 0, 1)],
        columns=["task", "worker", "label", "group"],
    )
    found = worker_influence(read(frame))
    assert found.gap == 0.25  # rates of class 1: a=1, c=0 against b=1/2, d=0
    np.testing.assert_allclose(found.without, [0.5, 1.0])  # c=0 against b=1, d=0; a=1 against b=0
    assert found.changed.tolist() == [2, 3]
    assert found.ranking.tolist() == [0, 1]
    first = worker_influence(read(frame), ties="first")
    assert first.gap == 0.5
    assert first.changed.tolist() == [2, 2]  # task b is 0 with and without worker 1
    with pytest.raises(OptionError, match="ties"):
        worker_influence(read(frame), ties="coin")


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


def test_direction_is_that_of_the_surest_difference() -> None:
    # Class 2 differs by 1 among three votes; class 0 by .5 among hundreds.
    counts = np.array([[[[200, 100, 0], [50, 250, 0], [0, 0, 1]]]])
    found = judge(counts, 0.95)
    assert found.gap[0] == 1
    assert (found.more[0], found.less[0]) in {(0, 1), (1, 0)}
    assert found.label[0] in (0, 1)


def test_true_classes_are_compared_within() -> None:
    # All says are right; the groups differ in truth alone. Shape (workers, truth, groups, labels).
    honest = [[[80, 0], [20, 0]], [[0, 20], [0, 80]]]
    unjust = [[[80, 0], [10, 10]], [[0, 20], [0, 80]]]
    found = judge(np.array([honest, unjust]), 0.95)
    np.testing.assert_allclose(found.gap, [0, 0.5])
    assert np.isnan(found.q_value[0])
    assert found.q_value[1] < 1e-5
    assert (found.truth[1], found.label[1], found.more[1], found.less[1]) == (0, 1, 1, 0)


def test_false_accusations_are_rare_and_leaning_is_found() -> None:
    """2000 workers who do not lean and 200 who do: the share of false accusations is what was promised."""
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


def test_prior_by_hand() -> None:
    mean, variance = normal_prior(np.array([0.0, 1.0]), np.array([0.1, 0.1]))
    # Q = 2 * 10 * .25 = 5; (5 - 1) / (20 - 200 / 20) = .4
    assert (mean, variance) == pytest.approx((0.5, 0.4))
    assert normal_prior(np.array([0.4, 0.5]), np.array([1.0, 3.0])) == pytest.approx((0.425, 0.0))


def test_two_groups_shrink_the_difference_itself() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(1, 40, (30, 2))
    ones = rng.binomial(n, rng.uniform(0.2, 0.8, (30, 2)))
    crowd_rate = ones.sum() / n.sum()
    pooled = (ones.sum(axis=1) + 2 * crowd_rate) / (n.sum(axis=1) + 2)
    difference = ones[:, 1] / n[:, 1] - ones[:, 0] / n[:, 0]
    variance = pooled * (1 - pooled) * (1 / n[:, 0] + 1 / n[:, 1])
    mean, between = normal_prior(difference, variance)
    want = mean + between / (between + variance) * (difference - mean)
    counts = np.stack([n - ones, ones], axis=2)[:, None]
    np.testing.assert_allclose(shrunken_gaps(counts), np.abs(want), atol=1e-12)


def test_shrunken_gaps_are_nearer_the_truth() -> None:
    rng = np.random.default_rng(2)
    lean = rng.normal(0.1, 0.08, 400)
    n = rng.integers(2, 30, (400, 3))
    rates = np.clip(0.5 + lean[:, None] * [-0.5, 0.0, 0.5], 0.01, 0.99)
    ones = rng.binomial(n, rates)
    ones[:, 2] = np.where(n[:, 2] < 4, 0, ones[:, 2])
    n[:, 2] = np.where(n[:, 2] < 4, 0, n[:, 2])  # some have not voted in every group
    counts = np.stack([n - ones, ones], axis=2)[:, None]
    seen = n[:, 2] > 0
    truth = np.abs(lean)
    raw, shrunken = judge(counts, 0.95).gap, shrunken_gaps(counts)
    assert np.mean((shrunken - truth)[seen] ** 2) < 0.1 * np.mean((raw - truth)[seen] ** 2)
    assert np.isfinite(shrunken).all()


def test_nothing_to_shrink_toward() -> None:
    alone = np.array([[[[2, 8], [5, 1]]]])
    np.testing.assert_allclose(shrunken_gaps(alone), [0.8 - 1 / 6])
    nobody_says_one = np.array([[[[2, 0], [5, 0]]], [[[3, 0], [4, 0]]], [[[3, 0], [0, 0]]]])
    np.testing.assert_allclose(shrunken_gaps(nobody_says_one), [0, 0, np.nan])


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(2, 3))
@settings(max_examples=examples(25))
def test_counts_and_confusion_are_those_of_loops(seed: int, n_classes: int, n_groups: int) -> None:
    frame = crowd(seed, 12, 5, n_classes, n_groups)
    votes, rng = read(frame), np.random.default_rng(seed)
    classes, workers = votes.classes.to_list(), votes.workers.to_list()
    truth = rng.integers(-1, len(classes), votes.n_tasks)
    posterior = rng.dirichlet(np.ones(len(classes)), votes.n_tasks)
    counts = np.zeros((len(workers), n_groups, len(classes)))
    gold, model = (np.zeros((len(workers), n_groups, len(classes), len(classes))) for _ in range(2))
    for task, worker, label, group in frame.itertuples(index=False):
        w, k = workers.index(worker), classes.index(label)
        counts[w, group, k] += 1
        model[w, group, :, k] += posterior[task]
        if truth[task] >= 0:
            gold[w, group, truth[task], k] += 1
    by_gold = audit_workers(votes, truth=truth)
    by_model = audit_workers(votes, posterior=posterior)
    np.testing.assert_array_equal(by_gold.counts, counts)
    np.testing.assert_array_equal(by_gold.votes, counts.sum(axis=2))
    np.testing.assert_array_equal(by_gold.confusion, gold)
    np.testing.assert_allclose(by_model.confusion, model, atol=1e-12)
    assert (by_gold.source, by_gold.basis, by_model.source, by_model.basis) == ("gold", "truth", "model", "rates")
    for w, a in itertools.product(range(len(workers)), range(n_groups)):
        if counts[w, a].sum() == 0:
            assert np.isnan(by_model.accuracy[w, a])
            assert np.isnan(by_model.rates[w, a]).all()
            continue
        np.testing.assert_allclose(by_model.rates[w, a], counts[w, a] / counts[w, a].sum())
        np.testing.assert_allclose(by_model.accuracy[w, a], np.trace(model[w, a]) / model[w, a].sum())
        if gold[w, a].sum():
            np.testing.assert_allclose(by_gold.accuracy[w, a], np.trace(gold[w, a]) / gold[w, a].sum())
    certain = audit_workers(votes, posterior=np.eye(len(classes))[np.maximum(truth, 0)])
    known = audit_workers(votes, truth=np.maximum(truth, 0))
    np.testing.assert_allclose(certain.given_truth.gap, known.given_truth.gap, atol=1e-12)
    np.testing.assert_allclose(certain.confusion_rates, known.confusion_rates, atol=1e-12)
    assert np.isnan(certain.given_truth.p_value).all()


def leaning_crowd(seed: int = 0) -> tuple[pd.DataFrame, dict[int, int], dict[int, int]]:
    """Truth differs by group. Workers 0-7 are good; worker 8 says 1 in group 1 whatever is true; 9 votes little."""
    rng = np.random.default_rng(seed)
    group = {task: task % 2 for task in range(2000)}
    truth = {task: int(rng.random() < (0.3, 0.7)[task % 2]) for task in range(2000)}
    rows = []
    for task in range(2000):
        for worker in range(9 if task > 12 else 10):
            right = truth[task] if rng.random() < 0.9 else 1 - truth[task]
            rows.append((task, worker, 1 if worker == 8 and group[task] == 1 else right))
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), group, truth


def test_verdicts() -> None:
    frame, group, truth = leaning_crowd()
    votes = fc.read_votes(frame, sensitive_features=group)
    codes = np.array([truth[task] for task in votes.tasks.to_list()])
    audit = audit_workers(votes, truth=codes)
    assert audit.verdict.tolist() == [NO_SIGN] * 8 + [LEANS, TOO_FEW]
    assert audit.judged is audit.given_truth
    assert (audit.judged.label[8], audit.judged.more[8], audit.judged.less[8]) == (1, 1, 0)
    assert audit.influence.ranking[0] == 8
    by_rates = audit_workers(votes)  # the truth differs by group, so all good workers' votes do
    assert by_rates.verdict.tolist() == [LEANS] * 9 + [TOO_FEW]
    assert by_rates.judged is by_rates.leaning
    assert (by_rates.confusion, by_rates.given_truth, by_rates.accuracy, by_rates.confusion_rates) == (None,) * 4
    assert np.isnan(audit_workers(votes, shrink=False).leaning.shrunken).all()


def test_order_of_rows_does_not_matter() -> None:
    frame, group, _ = leaning_crowd()
    posterior = np.random.default_rng(0).dirichlet(np.ones(2), 2000)
    one, two = (
        audit_workers(fc.read_votes(rows, sensitive_features=group), posterior=posterior)
        for rows in (frame, frame.sample(frac=1, random_state=3))
    )
    np.testing.assert_array_equal(one.confusion, two.confusion)
    np.testing.assert_array_equal(one.leaning.shrunken, two.leaning.shrunken)
    np.testing.assert_array_equal(one.influence.without, two.influence.without)
    np.testing.assert_array_equal(one.verdict, two.verdict)


def test_what_cannot_be_audited_is_said() -> None:
    frame = crowd(0, 8, 3, 2, 2)
    votes = read(frame)
    with pytest.raises(InputError, match="no groups"):
        audit_workers(fc.read_votes(frame[["task", "worker", "label"]]))
    with pytest.raises(InputError, match="all tasks are of group"):
        audit_workers(read(frame.assign(group=1)))
    with pytest.raises(OptionError, match="not both"):
        audit_workers(votes, truth=np.zeros(8, dtype=int), posterior=np.full((8, 2), 0.5))
    with pytest.raises(InputError, match="a class code for each"):
        audit_workers(votes, truth=np.zeros(7, dtype=int))
    with pytest.raises(InputError, match="-1 stands for not known"):
        audit_workers(votes, truth=np.full(8, -2))
    with pytest.raises(InputError, match="row for each"):
        audit_workers(votes, posterior=np.full((7, 2), 0.5))
    with pytest.raises(InputError, match="sums to"):
        audit_workers(votes, posterior=np.full((8, 2), 0.6))
    with pytest.raises(OptionError, match="confidence"):
        audit_workers(votes, confidence=95)
    with pytest.raises(OptionError, match="tolerance"):
        audit_workers(votes, tolerance=2)


@pytest.mark.real
def test_real_crowd_of_many_groups(data_folder: Path) -> None:
    folder = data_folder / "faces-4class"
    votes = fc.read_votes(folder / "votes.csv", sensitive_features="orientation", tasks=folder / "tasks.csv")
    audit = audit_workers(votes, ties="first")
    assert audit.counts.sum() == votes.n_votes
    assert set(audit.verdict) <= {LEANS, NO_SIGN, TOO_FEW}
    assert audit.influence.gap == pytest.approx(0.233, abs=5e-4)
