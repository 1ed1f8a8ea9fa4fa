"""How leanings add up in the majority: against all outcomes, by hand, and with what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from audit.majority.outcomes import count_probabilities
from faircrowd.audit.majority.majority_gap import crowd_gap, group_rates, majority_rates
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import Vocabulary, VoteTable
from strategies import examples


@pytest.mark.parametrize("bad", [[[0.5, np.nan]], [[1.2, 0.1]], [["a", "b"]], 0.5])
def test_rates_that_are_not_probabilities_are_refused(bad: object) -> None:
    with pytest.raises(OptionError, match="Rates"):
        majority_rates(bad)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_majority_is_that_of_all_outcomes(n_voters: int, seed: int) -> None:
    rates = np.random.default_rng(seed).random((n_voters, 3))
    found = majority_rates(rates)
    distributions = np.array([count_probabilities(column) for column in rates.T])
    counts = np.arange(n_voters + 1)
    strict, loose = distributions @ (counts > n_voters / 2), distributions @ (counts >= n_voters / 2)
    np.testing.assert_allclose(found.strict, strict, atol=1e-14)
    np.testing.assert_allclose(found.loose, loose, atol=1e-14)
    assert found.gap_strict == pytest.approx(np.ptp(strict), abs=1e-14)
    assert found.gap_loose == pytest.approx(np.ptp(loose), abs=1e-14)


def small_crowd(seed: int, n_tasks: int = 30, n_workers: int = 7) -> tuple[pd.DataFrame, dict[int, str]]:
    rng = np.random.default_rng(seed)
    rows = [
        (task, worker, int(rng.integers(2)))
        for task in range(n_tasks)
        for worker in rng.permutation(n_workers)[: rng.integers(1, n_workers + 1)]
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), {task: "ab"[task % 2] for task in range(n_tasks)}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(12))
def test_implied_gap_averages_the_majority_of_each_tasks_voters(seed: int) -> None:
    frame, groups = small_crowd(seed)
    rng = np.random.default_rng(seed)
    votes = fc.read_votes(frame, sensitive_features=groups)
    truth = rng.integers(0, 2, votes.n_tasks).astype(np.int32)
    truth[4:9] = -1
    rates = rng.random((7, 2, 2))
    known = votes.workers.to_list()
    for given_truth in (False, True):
        implied: dict[str, list[list[float]]] = {"a": [], "b": []}
        observed: dict[str, list[list[bool]]] = {"a": [], "b": []}
        for task, of_task in frame.groupby("task"):
            if given_truth and truth[task] < 0:
                continue
            group = groups[task]
            own = rates[of_task["worker"], "ab".index(group), truth[task] if given_truth else 0]
            chance, n = count_probabilities(own), len(of_task)
            counts = np.arange(n + 1)
            implied[group].append([chance[counts > n / 2].sum(), chance[counts >= n / 2].sum()])
            ones = of_task["label"].sum()
            observed[group].append([ones > n / 2, ones >= n / 2])
        used = rates[known] if given_truth else rates[known][:, :, 0]
        found = crowd_gap(votes, used, truth=truth if given_truth else None)
        want = np.array([np.mean(implied[a], axis=0) for a in "ab"])
        seen = np.array([np.mean(observed[a], axis=0) for a in "ab"])
        np.testing.assert_allclose([found.implied.strict, found.implied.loose], want.T, atol=1e-12)
        np.testing.assert_allclose([found.observed.strict, found.observed.loose], seen.T, atol=1e-12)
    own_gap = np.abs(rates[frame["worker"], 0, 0] - rates[frame["worker"], 1, 0])
    assert crowd_gap(votes, rates[known][:, :, 0]).mean_gap == pytest.approx(own_gap.mean())


def test_implied_gap_of_independent_votes_is_the_observed_one() -> None:
    rng = np.random.default_rng(3)
    n_tasks, rates = 40_000, rng.random((5, 2))
    group = rng.integers(0, 2, n_tasks)
    label = (rng.random((n_tasks, 5)) < rates[:, group].T).astype(int)
    frame = pd.DataFrame(
        {"task": np.repeat(np.arange(n_tasks), 5), "worker": np.tile(np.arange(5), n_tasks), "label": label.ravel()}
    )
    votes = fc.read_votes(frame, sensitive_features=dict(enumerate(group.tolist())))
    found = crowd_gap(votes, rates)
    np.testing.assert_allclose(found.implied.strict, majority_rates(rates).strict, atol=1e-12)
    np.testing.assert_allclose(found.implied.strict, found.observed.strict, atol=0.015)  # four standard errors


def test_what_cannot_be_added_up_is_refused() -> None:
    frame, groups = small_crowd(0)
    votes = fc.read_votes(frame, sensitive_features=groups)
    rates = np.full((7, 2), 0.5)
    with pytest.raises(InputError, match="no groups"):
        crowd_gap(fc.read_votes(frame), rates)
    with pytest.raises(OptionError, match=r"shape \(7, 2\)"):
        crowd_gap(votes, rates[1:])
    with pytest.raises(InputError, match="lacks the rate") as lacking:
        crowd_gap(votes, np.where(np.arange(7)[:, None] == 3, np.nan, rates))
    theirs = frame.loc[frame["worker"] == 3, "task"].unique()
    few_tasks = ", ".join(map(repr, votes.tasks.some(votes.tasks.code_of(np.sort(theirs)[:5]))))
    assert few_tasks in str(lacking.value)
    with pytest.raises(InputError, match="two classes"):
        crowd_gap(votes.with_classes(fc.votes.Vocabulary.of([0, 1, 2])), rates)
    with pytest.raises(InputError, match="no task with a known truth"):
        crowd_gap(votes, np.full((7, 2, 2), 0.5), truth=np.where(votes.group == 0, 1, -1))
    with pytest.raises(InputError, match="coded from 0 to 1"):
        crowd_gap(votes, np.full((7, 2, 2), 0.5), truth=np.full(votes.n_tasks, 2))


def read(rows: list[tuple[int, str, int]], groups: str) -> VoteTable:
    """Votes (task, worker, label); tasks are 0, 1, ..., and ``groups`` has one letter per task."""
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return fc.read_votes(frame, sensitive_features=dict(enumerate(groups)))


SMALL = [(0, "u", 0), (0, "v", 1), (1, "u", 1), (1, "v", 1), (2, "u", 1), (3, "u", 0), (3, "v", 1), (4, "v", 0)]


def test_by_hand() -> None:
    votes = read(SMALL, "aabba")
    found = crowd_gap(votes, [[0.5, 1.0], [0.25, 0.0]])
    # Both vote on tasks 0 and 1 (a) and 3 (b), v alone on 4 (a), u alone on 2 (b).
    assert found.implied.strict.tolist() == [(0.125 + 0.125 + 0.25) / 3, (1 + 0) / 2]
    assert found.implied.loose.tolist() == [(0.625 + 0.625 + 0.25) / 3, (1 + 1) / 2]
    assert found.observed.strict.tolist() == [(0 + 1 + 0) / 3, (1 + 0) / 2]
    assert found.observed.loose.tolist() == [(1 + 1 + 0) / 3, (1 + 1) / 2]
    assert found.mean_gap == (4 * 0.5 + 4 * 0.25) / 8
    assert found.implied.gap_strict == 0.5 - 0.5 / 3
    assert found.implied.gap_loose == 0.5


def test_certain_votes_are_exact() -> None:
    votes = read(SMALL, "aabba")
    for rate in (0.0, 1.0):
        found = crowd_gap(votes, np.full((2, 2), rate))
        assert found.implied.strict.tolist() == found.implied.loose.tolist() == [rate, rate]


def test_only_tasks_of_known_truth_count() -> None:
    votes = read(SMALL, "aabba")
    rates = np.array([[[0.5, 0.25], [1.0, 0.0]], [[0.125, 0.75], [0.5, 1.0]]])
    found = crowd_gap(votes, rates, truth=np.array([-1, 0, 1, -1, 1]))
    assert found.implied.strict.tolist() == [(0.0625 + 0.75) / 2, 0]
    assert found.implied.loose.tolist() == [(1 - 0.5 * 0.875 + 0.75) / 2, 0]
    assert found.observed.strict.tolist() == found.observed.loose.tolist() == [0.5, 1]
    assert found.mean_gap == (4 * 0.5 + 4 * 0.375) / 8  # a worker's gap is the larger of those by true class


def test_one_task_leaves_nothing_to_the_next() -> None:
    # Four and two voters at random, then more voters who hardly ever say 1, whose distribution is filled less far.
    rows = [(0, f"w{i}", i % 2) for i in range(4)] + [(1, f"w{i}", 1) for i in range(2)]
    rows += [(2, f"v{i}", 0) for i in range(8)] + [(3, f"v{i}", 0) for i in range(4)]
    votes = read(rows, "aabb")
    rare = np.array([name.startswith("v") for name in votes.workers.to_list()])
    rates = np.where(rare[:, None], [np.nan, 1e-30], [0.5, np.nan])
    found = crowd_gap(votes, rates)
    assert found.implied.strict.tolist() == [(5 / 16 + 1 / 4) / 2, 0]
    assert found.implied.loose.tolist() == [(11 / 16 + 3 / 4) / 2, 0]
    assert math.isnan(found.mean_gap)  # nobody has a rate in both groups
    reversed_rows = [(3 - task, worker, label) for task, worker, label in rows]
    again = crowd_gap(read(reversed_rows, "bbaa"), rates)
    assert again.implied.loose.tolist() == found.implied.loose.tolist()


def test_the_mean_gap_is_over_votes_whose_worker_has_one() -> None:
    votes = read([*SMALL, (0, "x", 1)], "aabba")
    found = crowd_gap(votes, [[0.5, 0.75], [0.25, 0.5], [0.5, np.nan]])
    assert found.mean_gap == 0.25
    assert crowd_gap(votes, [[0.5, 0.75], [0.25, 0.25], [1.0, np.nan]]).mean_gap == 0.125


def test_tasks_without_a_rate_are_named() -> None:
    rows = [(task, "u", 1) for task in range(9)] + [(1, "v", 0), (8, "v", 0)]
    votes = read(rows, "aababbaab")
    rates = np.array([[np.nan, 0.5], [0.5, 0.5]])
    with pytest.raises(InputError, match=r"lacks the rate of a worker who voted on 0, 1, 3, 6, 7\.$"):
        crowd_gap(votes, rates)
    with pytest.raises(InputError, match=r"voted on 0, 1, 3, 6, 7 and 1 more\.$"):
        crowd_gap(read([*rows, (9, "u", 0)], "aababbaaba"), rates)
    by_truth = np.stack([rates, np.full((2, 2), 0.5)], axis=2)  # no rate where the truth is 0 in group a
    with pytest.raises(InputError, match=r"voted on 6\.$"):
        crowd_gap(votes, by_truth, truth=np.array([-1, 1, 0, 1, 0, 0, 0, -1, 1]))
    assert crowd_gap(votes, by_truth, truth=np.array([-1, 1, 0, 1, 0, 0, 1, -1, 1])).implied.strict[1] == 0.4375
    with pytest.raises(InputError, match=r"voted on 1, 8\.$"):  # the first of two voters has a rate
        crowd_gap(votes, [[0.5, 0.5], [np.nan, np.nan]])


def test_rates_are_checked() -> None:
    votes = read(SMALL, "aabba")
    for bad in (-0.01, 1.01):
        with pytest.raises(OptionError, match=r"must be probabilities of shape \(2, 2\); got shape \(2, 2\)"):
            crowd_gap(votes, [[0.5, 0.5], [0.5, bad]])
    with pytest.raises(OptionError, match=r"of shape \(2, 2, 2\); got shape \(2, 2\)"):
        crowd_gap(votes, np.full((2, 2), 0.5), truth=np.zeros(5, dtype=int))
    with pytest.raises(InputError, match="computed for two classes; these votes have 3"):
        crowd_gap(votes.with_classes(Vocabulary.of([0, 1, 2])), np.full((2, 2), 0.5))
    for shape in ((3,), (0, 2), (2, 0)):
        with pytest.raises(OptionError, match="Rates need one row per voter and one column per group; got shape"):
            group_rates(np.zeros(shape))
    assert group_rates([[1]]).shape == (1, 1)


def test_rates_of_a_majority() -> None:
    one = majority_rates([[0.25, 1.0]])
    assert one.strict.tolist() == one.loose.tolist() == [0.25, 1]
    two = majority_rates([[0.5, 1.0], [0.25, 0.0]])
    assert (two.strict.tolist(), two.loose.tolist()) == ([0.125, 0], [0.625, 1])
    assert (two.gap_strict, two.gap_loose) == (0.125, 0.375)
    many = majority_rates(np.random.default_rng(0).uniform(0.9, 1, (40, 50)))  # some sums are rounded above 1
    assert many.strict.max() == many.loose.max() == 1


def test_tasks_without_a_rate_are_named_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faircrowd.engines.local.VOTES_PER_BLOCK", 8)
    votes = read([(task, worker, task % 2) for task in range(40) for worker in "uv"], "a" * 39 + "b")
    with pytest.raises(InputError, match=r"lacks the rate of a worker who voted on 39\.$"):
        crowd_gap(votes, [[0.5, np.nan], [0.5, 0.5]])
