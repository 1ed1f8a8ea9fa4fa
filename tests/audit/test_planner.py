"""Plans: curves against all crowds and all outcomes, answers against curves, and crowds that never will."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.audit.planner import CrowdPlan, plan_crowd
from faircrowd.audit.theory import exact_majority_given_truth
from faircrowd.errors import InputError, NotFittedError, OptionError
from strategies import examples

ONES = [0.6, 0.35]


def says_one(right: np.ndarray, outcome: tuple[int, ...]) -> list[float]:
    """The probability of the votes where the truth is 0, and where it is 1; right has a row a voter."""
    votes = np.array(outcome)
    return [np.prod(np.where(votes == y, right[:, y], 1 - right[:, y])) for y in (0, 1)]


def bayes_rates(right: np.ndarray, priors: np.ndarray, ties: str) -> list[float]:
    """The rate of ones of the Bayesian vote of a crowd, by all outcomes; right has axes voters, groups, truth."""
    rates = []
    for a, ones in enumerate(priors):
        rate = 0.0
        for outcome in itertools.product((0, 1), repeat=len(right)):
            zero, one = says_one(right[:, a], outcome)
            odds = ones * one - (1 - ones) * zero
            if odds > 1e-12 or (ties == "last" and odds >= -1e-12):
                rate += ones * one + (1 - ones) * zero
        rates.append(rate)
    return rates


def majority_gaps(right: np.ndarray, priors: np.ndarray) -> np.ndarray:
    errors = np.stack([right[..., 0], 1 - right[..., 0], 1 - right[..., 1], right[..., 1]], -1)
    law = exact_majority_given_truth(errors.reshape(*errors.shape[:2], 2, 2).swapaxes(2, 3), _shares(priors))
    return np.stack([law.first[:, 1], law.last[:, 1]])


def _shares(priors: np.ndarray) -> np.ndarray:
    return np.stack([1 - priors, priors], axis=1)


def check_answer(plan: CrowdPlan) -> None:
    """What the plan says must be what its curve shows."""
    decides = plan.curve.distance if plan.method == "exact" else plan.curve.bound
    within = decides <= plan.delta + 1e-9
    if plan.votes is not None:
        assert plan.status == "enough"
        assert within[plan.votes - 1 :].all()
        assert plan.votes == 1 or not within[plan.votes - 2]
        assert within[plan.fewest - 1]
        assert not within[: plan.fewest - 1].any()
    elif plan.status == "not enough":
        assert not within[-1]
    assert json.loads(json.dumps(plan.to_dict(), allow_nan=False))["sentence"] == str(plan)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.sampled_from(["first", "last"]))
@settings(max_examples=examples(25))
def test_majority_of_a_pool_is_the_mean_over_its_crowds(n_workers: int, seed: int, ties: str) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.uniform(0.55, 1, (n_workers, 2, 2)), rng.random(2)
    plan = plan_crowd(right, priors=priors, delta=0.05, ties=ties)
    assert (plan.method, plan.workers, plan.curve.votes.tolist()) == ("exact", n_workers, [*range(1, n_workers + 1)])
    for size in plan.curve.votes:
        crowds = itertools.combinations(range(n_workers), size)
        rates = np.mean([majority_gaps(right[list(crowd)], priors) for crowd in crowds], axis=0)
        gap = np.ptp(rates[0 if ties == "first" else 1])
        assert plan.curve.gap[size - 1] == pytest.approx(gap, abs=1e-12)
        assert plan.curve.distance[size - 1] == pytest.approx(abs(gap - np.ptp(priors)), abs=1e-12)
    assert (plan.curve.distance <= plan.curve.bound + 1e-12).all()
    check_answer(plan)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["first", "last"]), st.booleans())
@settings(max_examples=examples(20))
def test_bayes_of_alike_workers_is_exact(seed: int, ties: str, with_ties: bool) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.random((2, 2)), rng.random(2)
    if with_ties:
        right, priors = (
            np.repeat(rng.choice([0.0, 0.2, 0.6, 0.8, 1.0], (2, 1)), 2, axis=1),
            rng.choice([0.2, 0.5, 0.8], 2),
        )
    plan = plan_crowd(np.tile(right, (7, 1, 1)), priors=priors, delta=0.05, vote="bayes", ties=ties)
    assert plan.method == "exact"
    for size in plan.curve.votes:
        rates = bayes_rates(np.tile(right, (size, 1, 1)), priors, ties)
        assert plan.curve.gap[size - 1] == pytest.approx(np.ptp(rates), abs=1e-12)
    assert (plan.curve.distance <= plan.curve.bound + 1e-12).all()
    check_answer(plan)


@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(15))
def test_bound_of_bayes_holds_for_the_mean_over_crowds(n_workers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    right, priors = rng.random((n_workers, 2, 2)), rng.random(2)
    plan, blind = (plan_crowd(right, priors=p, delta=0.05, vote="bayes") for p in (priors, None))
    assert plan.method == blind.method == "bound"
    assert np.isnan(plan.curve.gap).all()
    for size in plan.curve.votes:
        crowds = itertools.combinations(range(n_workers), size)
        rates = np.mean([bayes_rates(right[list(crowd)], priors, "first") for crowd in crowds], axis=0)
        off = abs(np.ptp(rates) - np.ptp(priors))
        assert off <= plan.curve.bound[size - 1] + 1e-12
        assert off <= blind.curve.bound[size - 1] + 1e-12
    check_answer(plan)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_without_priors_the_worst_of_them_counts(ties: str) -> None:
    skills = [0.8, 0.7, 0.75]
    plan = plan_crowd(skills, delta=0.02, ties=ties, most=60)
    assert (plan.method, plan.truth_gap, plan.priors) == ("bound", None, None)
    seen = np.zeros(60)
    for priors in itertools.product(np.linspace(0, 1, 6), repeat=3):
        seen = np.maximum(seen, plan_crowd(skills, priors=priors, delta=0.02, ties=ties, most=60).curve.distance)
    assert (seen <= plan.curve.bound + 1e-12).all()
    assert seen[4] == pytest.approx(plan.curve.bound[4])
    check_answer(plan)


def test_votes_that_were_drawn_have_the_planned_gap() -> None:
    rng, n_tasks = np.random.default_rng(4), 200_000
    plan = plan_crowd([0.8, 0.7], priors=ONES, delta=0.02)
    group = rng.integers(0, 2, n_tasks)
    truth = rng.random(n_tasks) < np.array(ONES)[group]
    for votes in (1, 4, plan.votes):
        right = rng.binomial(votes, np.array([0.8, 0.7])[group])
        label = np.where(truth, right, votes - right) > votes / 2
        gap = label[group == 0].mean() - label[group == 1].mean()
        assert gap == pytest.approx(plan.curve.gap[votes - 1], abs=0.01)
    assert plan.curve.distance[plan.votes - 1] <= 0.02
    assert str(plan).startswith(f"{plan.votes} votes a task bring the majority's gap within 0.02 of the truth's: 0.")


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


@pytest.mark.parametrize(
    ("skills", "vote", "said"),
    [
        (
            {"a": 0.8, "b": 0.5},
            "majority",
            "in group b workers are right with a mean probability of 0.5, not above 1/2",
        ),
        ({"a": [0.9, 0.2, 0.1], "b": [0.8, 0.8, 0.8]}, "majority", "in group a .* of 0.4, not above"),
        ([[[0.9, 0.4], [0.9, 0.8]]], "majority", "in group 0 .* of 0.4 where the truth is 1, not above"),
        ({"a": 0.5, "b": 0.9}, "bayes", "in group a all votes are coins"),
        ([[[0.9, 0.8], [0.7, 0.3]]], "bayes", "in group 1 all votes are coins"),
    ],
)
def test_never_with_this_crowd(skills: object, vote: str, said: str) -> None:
    for priors in (ONES, None):
        plan = plan_crowd(skills, priors=priors, delta=0.01, vote=vote)
        assert (plan.status, plan.votes, plan.fewest) == ("never", None, None)
        assert re.match(f"Never, with this crowd: {said}", str(plan))
        check_answer(plan)


def test_a_crowd_that_is_wrong_in_all_groups_is_not_called_right() -> None:
    plan = plan_crowd([0.3, 0.3], priors=ONES, delta=0.01)
    assert plan.curve.distance[-1] < 1e-3  # labels upside down have the truth's gap
    assert plan.status == "never"
    assert str(plan).endswith("however many vote; the gaps come close all the same.")
    mirrored = [plan_crowd([p, p], priors=ONES, delta=0.01, vote="bayes") for p in (0.3, 0.7)]
    assert mirrored[0].votes == mirrored[1].votes == 24  # who knows that they are wrong loses nothing


def test_a_group_of_one_class_asks_nothing_of_the_other() -> None:
    right = [[[0.9, 0.1], [0.9, 0.8]]] * 9  # group 0 has no ones to be wrong about
    assert plan_crowd(right, priors=[0.0, 0.4], delta=0.02).status == "enough"
    assert plan_crowd(right, priors=[0.1, 0.4], delta=0.02).status == "never"


def test_a_pool_or_a_limit_that_ends_too_soon() -> None:
    pool = plan_crowd([[0.6, 0.65], [0.7, 0.6], [0.55, 0.6]], priors=ONES, delta=0.01)
    assert pool.status == "not enough"
    assert str(pool).startswith("Not with these 3 workers on every task: the majority's gap is then off by 0.")
    limit = plan_crowd([0.52, 0.53], priors=ONES, delta=0.01)
    assert str(limit).startswith("Not with 201 votes a task: the majority's gap is then off by 0.")
    assert plan_crowd([0.52, 0.53], priors=ONES, delta=0.01, most=5001).votes > 201
    bound = plan_crowd([[0.6, 0.65], [0.7, 0.6]], priors=ONES, delta=0.01, vote="bayes")
    assert "is then off by up to 0." in str(bound)
    ends_even = plan_crowd([[0.8, 0.7]] * 5, priors=[0.6, 0.4], delta=0.02)
    assert (ends_even.votes, ends_even.fewest) == (None, 4)
    assert str(ends_even).endswith("4 votes would do, but not every larger number.")
    assert str(plan_crowd([1.0, 1.0], priors=ONES, delta=0)).startswith("1 vote a task brings")


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


def test_models_that_cannot_plan_say_why() -> None:
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
def test_what_cannot_be_planned_is_said(skills: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        plan_crowd(skills, **{"delta": 0.1, **options})
