"""The workers of a plan: the ways to give skills, skills estimated from votes, and what is refused."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from audit.planner.plans import ONES, check_answer
from faircrowd.audit.planner import plan_crowd
from faircrowd.audit.planner.worker_pool import read_pool
from faircrowd.errors import InputError, NotFittedError, OptionError


def test_the_ways_to_give_skills_agree() -> None:
    plans = [
        plan_crowd([0.8, 0.7], priors=ONES, delta=0.01, most=30),
        plan_crowd({"x": 0.8, "y": 0.7}, priors={"y": 0.35, "x": 0.6}, delta=0.01, most=30),
        plan_crowd([[0.8, 0.7]] * 30, priors=ONES, delta=0.01),
        plan_crowd({"x": [0.8] * 30, "y": [0.7] * 30}, priors=ONES, delta=0.01),
        plan_crowd(np.repeat([[[0.8], [0.7]]] * 30, 2, axis=2), priors=ONES, delta=0.01),
    ]
    for plan in plans:
        np.testing.assert_allclose(plan.curve.gap, plans[0].curve.gap, atol=1e-13)
        assert plan.votes == plans[0].votes
        check_answer(plan)
    by_truth = np.random.default_rng(5).uniform(0.6, 1, (3, 2, 2))
    named = plan_crowd({"x": by_truth[:, 0], "y": by_truth[:, 1].tolist()}, priors=ONES, delta=0.01)
    np.testing.assert_array_equal(named.curve.gap, plan_crowd(by_truth, priors=ONES, delta=0.01).curve.gap)
    assert plans[1].groups == ["x", "y"]
    assert [plan.workers for plan in plans] == [None, None, 30, 30, 30]
    mixed = plan_crowd([[0.9, 0.6], [0.7, 0.8]] * 20, priors=0.5, delta=0.01)
    np.testing.assert_allclose(mixed.skills, [0.8, 0.7])
    assert mixed.priors == [0.5, 0.5]


def test_skills_estimated_from_votes() -> None:
    crowd = fc.simulate_crowd(3000, 60, 8, random_state=2)
    for model, vote in itertools.product((fc.OneCoinDawidSkene, fc.DawidSkene), ("majority", "bayes")):
        fitted = model(by_group=True).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
        plan = plan_crowd(fitted, delta=0.02, vote=vote)
        known = plan_crowd(crowd.skills, priors=[0.4, 0.6], delta=0.02, vote=vote)
        np.testing.assert_allclose(plan.skills, crowd.skills.mean(axis=0), atol=0.03)
        np.testing.assert_allclose(plan.priors, [0.4, 0.6], atol=0.05)
        assert plan.groups == ["0", "1"]
        assert abs(plan.votes - known.votes) <= 2
        check_answer(plan)
    shuffled = crowd.votes.sample(frac=1, random_state=0)
    again = fc.DawidSkene(by_group=True).fit(shuffled, sensitive_features=crowd.sensitive_features)
    assert plan_crowd(again, delta=0.02, vote="bayes").to_dict() == plan.to_dict()
    assert plan_crowd(fitted, priors={0: 0.5, 1: 0.5}, delta=0.02).truth_gap == 0


def test_models_that_are_refused() -> None:
    crowd = fc.simulate_crowd(200, 10, 3, random_state=0)
    with pytest.raises(OptionError, match="MajorityVote does not estimate skills; fit OneCoinDawidSkene"):
        plan_crowd(fc.MajorityVote().fit(crowd.votes), delta=0.1)
    with pytest.raises(NotFittedError):
        plan_crowd(fc.DawidSkene(), delta=0.1)
    with pytest.raises(InputError, match="no groups"):
        plan_crowd(fc.OneCoinDawidSkene().fit(crowd.votes), delta=0.1)
    three = fc.simulate_crowd(200, 10, 3, class_shares=[[0.3, 0.3, 0.4]], random_state=0)
    model = fc.DawidSkene().fit(fc.read_votes(three.votes, sensitive_features=three.sensitive_features))
    with pytest.raises(InputError, match="two classes; these votes have 3"):
        plan_crowd(model, delta=0.1)


@pytest.mark.parametrize(
    ("skills", "options", "message"),
    [
        ([0.8], {}, "Parity compares groups; got the skills of '0' only"),
        ([0.8, 1.2], {}, "from 0 to 1; got 0.8, 1.2"),
        ([0.8, float("nan")], {}, "from 0 to 1"),
        (["a", "b"], {}, "must be numbers"),
        ([[[0.8] * 3] * 2], {}, r"got shape \(1, 2, 3\)"),
        ({"a": [0.8], "b": [0.8, 0.7]}, {}, "one per worker and group"),
        ([0.8, 0.7], {"priors": [0.5]}, "each of 2 groups"),
        ([0.8, 0.7], {"priors": 2.0}, "from 0 to 1"),
        ({"a": 0.8, "b": 0.7}, {"priors": {"a": 0.5}}, "priors lack group 'b'; the groups are 'a', 'b'"),
        ({"a": 0.8, "b": 0.7}, {"priors": {"a": 0.5, "b": 0.5, "c": 0.1}}, "unknown group 'c'"),
        ([0.8, 0.7], {"delta": -1}, "delta"),
        ([0.8, 0.7], {"vote": "mean"}, "vote"),
        ([0.8, 0.7], {"ties": "coin"}, "ties"),
        ([0.8, 0.7], {"most": 0}, "most"),
    ],
)
def test_skills_and_options_that_are_refused(skills: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        plan_crowd(skills, **{"delta": 0.1, **options})


def slow_pool(model: Any, votes: pd.DataFrame, groups: pd.Series, one_coin: bool) -> tuple[np.ndarray, list[float]]:
    """Skills and priors from the posterior of a model, vote by vote."""
    p = model.probas_
    workers, names = sorted(votes["worker"].unique()), sorted(groups.unique())
    right, total = (np.zeros((len(workers), len(names), 2)) for _ in range(2))
    for task, worker, label in votes.itertuples(index=False):
        at = workers.index(worker), names.index(groups[task])
        for truth in (0, 1):
            right[(*at, truth)] += p.loc[task, truth] * (label == truth)
            total[(*at, truth)] += p.loc[task, truth]
    if one_coin:
        right[:], total[:] = right.sum(axis=2, keepdims=True), total.sum(axis=2, keepdims=True)
    skills = np.empty(right.shape)
    for w, a, y in np.ndindex(right.shape):
        crowd = right[:, a, y].sum() / total[:, a, y].sum() if total[:, a, y].sum() > 0 else 0.5
        skills[w, a, y] = (right[w, a, y] + 2 * crowd) / (total[w, a, y] + 2)
    return skills, [float(p.loc[groups[p.index] == name, 1].mean()) for name in names]


@pytest.mark.parametrize("kind", [fc.OneCoinDawidSkene, fc.DawidSkene])
@pytest.mark.parametrize("sure", [False, True])
def test_estimated_skills_against_plain_loops(kind: Any, sure: bool) -> None:
    """Also of workers without votes in a group, and of a group where all tasks are known to be 0."""
    crowd = fc.simulate_crowd(90, 6, 3, random_state=4)
    groups = crowd.sensitive_features
    votes = crowd.votes[(crowd.votes["worker"] != 0) | (crowd.votes["task"].map(groups) == 0)]
    known = dict.fromkeys(groups.index[groups == 1], 0) if sure else None
    model = kind().fit(votes, *([known] if sure else []), sensitive_features=groups)
    skills, priors = slow_pool(model, votes, groups, kind is fc.OneCoinDawidSkene)
    pool = read_pool(model, None)
    np.testing.assert_allclose(pool.right, skills, atol=1e-9)
    np.testing.assert_allclose(pool.priors, priors, atol=1e-9)
    assert (pool.groups, pool.endless) == (["0", "1"], False)
    if sure:
        assert pool.priors.tolist()[1] == 0.0
        assert kind is fc.OneCoinDawidSkene or (pool.right[:, 1, 1] == 0.5).all()
    assert len(set(pool.right[:, 0, 0])) > 1
    given = read_pool(model, [0.25, 0.75])
    assert given.priors.tolist() == [0.25, 0.75]
    np.testing.assert_array_equal(given.right, pool.right)


def test_shares_of_the_true_classes() -> None:
    pool = read_pool([[0.8, 0.7]], [0.25, 1.0])
    assert pool.shares.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert read_pool([[0.8, 0.7, 0.6]], None).shares.tolist() == [[0.5, 0.5]] * 3
    assert read_pool([0.8, 0.7], 0.25).shares.tolist() == [[0.75, 0.25]] * 2


def test_shapes_of_skills() -> None:
    """One number per group, one row per worker, and a third axis for the truth; by group, its own axis comes first."""
    flat, rows = read_pool([0.8, 0.7], None), read_pool([[0.8, 0.7], [0.6, 0.9]], None)
    assert flat.endless
    assert flat.right.tolist() == [[[0.8, 0.8], [0.7, 0.7]]]
    assert not rows.endless
    assert rows.right.tolist() == [[[0.8, 0.8], [0.7, 0.7]], [[0.6, 0.6], [0.9, 0.9]]]
    named = read_pool({"x": [0.8, 0.6], "y": [0.7, 0.9]}, None)
    assert (named.right.tolist(), named.groups, rows.groups) == (rows.right.tolist(), ["x", "y"], ["0", "1"])
    assert read_pool([0.0, 1.0], None).right.tolist() == [[[0.0, 0.0], [1.0, 1.0]]]
    for wrong in (np.full((0, 2), 0.5), np.full((1, 2, 2, 2), 0.5), np.full((1, 2, 1), 0.5), 0.5):
        with pytest.raises(OptionError, match=r"third axis for the skill where the truth is 0 .*; got shape \("):
            read_pool(wrong, None)
    with pytest.raises(OptionError, match=r"got 0\.5, 2\.0, 0\.5, 0\.5, 0\.5 and 2 more\.$"):
        read_pool([0.5, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5], None)
    with pytest.raises(OptionError, match=r"^priors lack group 'a', 'c'; the groups are 'a', 'b', 'c'\.$"):
        read_pool({"a": 0.8, "b": 0.7, "c": 0.7}, {"b": 0.5})
