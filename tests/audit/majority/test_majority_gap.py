"""The gap that workers' rates imply, in small crowds by hand: borders, tasks that do not count, and what is said."""

import math

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.audit.majority.bounds import MajorityBound, eta, majority_gap_bound, majority_gap_bound_as_printed
from faircrowd.audit.majority.majority_gap import crowd_gap, group_rates, majority_rates
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import Vocabulary, VoteTable


def read(rows: list[tuple[int, str, int]], groups: str) -> VoteTable:
    """Votes (task, worker, label); tasks are 0, 1, ..., with a letter each for the group."""
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


def test_sure_votes_are_exact() -> None:
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


def test_one_law_leaves_nothing_to_the_next() -> None:
    # Four and two tossed coins, then more voters who hardly ever say 1, so that their law is never filled so far.
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


def test_what_lacks_a_rate_is_named() -> None:
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
    rates = np.random.default_rng(0).uniform(0.9, 1, (40, 50))  # sums of some of these laws are rounded above 1
    law = majority_rates(rates)
    assert law.strict.max() == law.loose.max() == 1


def test_bounds_by_hand() -> None:
    rates = np.array([[0.5, 0.75, 0.5], [0.25, 0.5, 0.25], [0.125, 0.5, 0.0]])
    own, pairs = rates * (1 - rates), [(0, 1), (0, 2), (1, 2)]
    fair, printed = [], []
    for a, b in pairs:
        gaps = abs(rates[:, a] - rates[:, b])
        least = [min(sum(np.delete(own[:, c], r)) for c in (a, b)) for r in range(3)]
        fair.append(sum(d * min(1, eta() / math.sqrt(v)) for d, v in zip(gaps, least, strict=True)))
        printed.append(eta() * sum(gaps) / math.sqrt(min(sum(own[:, a]), sum(own[:, b]))))
        assert majority_gap_bound(rates[:, [a, b]]).value == pytest.approx(fair[-1], rel=1e-14)
        assert majority_gap_bound_as_printed(rates[:, [a, b]]).value == pytest.approx(printed[-1], rel=1e-14)
    assert majority_gap_bound(rates).value == pytest.approx(max(fair), rel=1e-14)
    assert majority_gap_bound_as_printed(rates).value == pytest.approx(max(printed), rel=1e-14)
    for bound in (majority_gap_bound, majority_gap_bound_as_printed):
        assert bound(rates[:, :1]).value == 0
    assert MajorityBound(1.0).vacuous
    assert not MajorityBound(0.999).vacuous
    assert majority_gap_bound_as_printed([[0.0, 0.0], [1.0, 1.0]]).value == 0
    assert majority_gap_bound_as_printed([[0.0, 0.5], [0.0, 0.5]]).value == math.inf
    assert majority_gap_bound_as_printed([[0.0, 0.0, 0.5], [1.0, 1.0, 0.5]]).value == math.inf
