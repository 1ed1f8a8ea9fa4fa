"""The answer of a plan: sentence by sentence, at its borders, and for crowds that never converge."""

import math
import re
from typing import Any

import numpy as np
import pytest

from audit.planner.plans import ONES, check_answer
from faircrowd.audit.planner.crowd_plan import CrowdPlan, _obstacle, beyond, plan_crowd
from faircrowd.audit.planner.plan_curve import PlanCurve
from faircrowd.audit.planner.worker_pool import Pool


@pytest.mark.parametrize(
    ("skills", "vote", "sentence"),
    [
        (
            {"a": 0.8, "b": 0.5},
            "majority",
            "in group b workers are right with a mean probability of 0.5, not above 1/2",
        ),
        ({"a": [0.9, 0.2, 0.1], "b": [0.8, 0.8, 0.8]}, "majority", "in group a .* of 0.4, not above"),
        ([[[0.9, 0.4], [0.9, 0.8]]], "majority", "in group 0 .* of 0.4 where the truth is 1, not above"),
        ({"a": 0.5, "b": 0.9}, "bayes", "in group a all votes are random guesses"),
        ([[[0.9, 0.8], [0.7, 0.3]]], "bayes", "in group 1 all votes are random guesses"),
    ],
)
def test_never_with_this_crowd(skills: object, vote: str, sentence: str) -> None:
    for priors in (ONES, None):
        plan = plan_crowd(skills, priors=priors, delta=0.01, vote=vote)
        assert (plan.status, plan.votes, plan.fewest) == ("never", None, None)
        assert re.match(f"Never, with this crowd: {sentence}", str(plan))
        check_answer(plan)


def test_a_crowd_that_is_wrong_in_all_groups_is_not_enough() -> None:
    plan = plan_crowd([0.3, 0.3], priors=ONES, delta=0.01)
    assert plan.curve.distance[-1] < 1e-3  # reversed labels have the truth's gap
    assert plan.status == "never"
    assert str(plan).endswith("however many vote; the gaps come close all the same.")
    mirrored = [plan_crowd([p, p], priors=ONES, delta=0.01, vote="bayes") for p in (0.3, 0.7)]
    assert mirrored[0].votes == mirrored[1].votes == 24  # known errors cost nothing


def test_skills_in_a_class_that_a_group_does_not_have_do_not_matter() -> None:
    right = [[[0.9, 0.1], [0.9, 0.8]]] * 9  # group 0 has no ones to be wrong about
    assert plan_crowd(right, priors=[0.0, 0.4], delta=0.02).status == "enough"
    assert plan_crowd(right, priors=[0.1, 0.4], delta=0.02).status == "never"


def test_a_pool_or_a_limit_that_ends_too_soon() -> None:
    pool = plan_crowd([[0.6, 0.65], [0.7, 0.6], [0.55, 0.6]], priors=ONES, delta=0.01)
    assert pool.status == "not enough"
    assert str(pool).startswith("Not with these 3 workers on every task: the majority's gap is then off by 0.")
    limit = plan_crowd([0.52, 0.53], priors=ONES, delta=0.01)
    assert str(limit).startswith("Not with 201 votes per task: the majority's gap is then off by 0.")
    assert plan_crowd([0.52, 0.53], priors=ONES, delta=0.01, most=5001).votes > 201
    bound = plan_crowd([[0.6, 0.65], [0.7, 0.6]], priors=ONES, delta=0.01, vote="bayes")
    assert "is then off by up to 0." in str(bound)
    ends_even = plan_crowd([[0.8, 0.7]] * 5, priors=[0.6, 0.4], delta=0.02)
    assert (ends_even.votes, ends_even.fewest) == (None, 4)
    assert str(ends_even).endswith("4 votes would do, but not every larger number.")
    assert str(plan_crowd([1.0, 1.0], priors=ONES, delta=0)).startswith("1 vote per task brings")


CURVE = PlanCurve(
    votes=np.array([1, 2, 3]),
    gap=np.array([0.35, 0.25, 0.22]),
    distance=np.array([0.15, 0.05, 0.02]),
    bound=np.array([0.5, 0.25, 0.125]),
)


PLAN: dict[str, Any] = {
    "votes": 3,
    "fewest": 3,
    "status": "enough",
    "method": "exact",
    "curve": CURVE,
    "truth_gap": 0.2,
    "delta": 0.02,
    "vote": "majority",
    "ties": "first",
    "groups": ["a", "b"],
    "skills": [0.8, 0.7],
    "priors": [0.6, 0.4],
    "workers": None,
    "obstacle": None,
}


NEVER = {"status": "never", "votes": None, "fewest": None, "obstacle": "they are wrong"}


NOT_ENOUGH = {"status": "not enough", "votes": None, "fewest": None}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {},
            "3 votes per task bring the majority's gap within 0.02 of the truth's: 0.2200 against 0.2000, and more "
            "keep it there (exact, up to 3).",
        ),
        (
            {"votes": 1, "fewest": 1, "vote": "bayes"},
            "1 vote per task brings the Bayesian vote's gap within 0.02 of the truth's: 0.3500 against 0.2000, and "
            "more keep it there (exact, up to 3).",
        ),
        (
            {"fewest": 1},
            "3 votes per task bring the majority's gap within 0.02 of the truth's: 0.2200 against 0.2000, and more "
            "keep it there (exact, up to 3). 1 vote would do, but not every larger number.",
        ),
        (
            {"votes": 2, "fewest": 1, "method": "bound"},
            "2 votes per task bring the majority's gap within 0.02 of the truth's: off by at most 0.2500 (a bound; "
            "fewer may be enough).",
        ),
        (NEVER, "Never, with this crowd: they are wrong; the gaps come close all the same."),
        ({**NEVER, "delta": 0.019}, "Never, with this crowd: they are wrong."),
        ({**NEVER, "method": "bound"}, "Never, with this crowd: they are wrong."),
        (
            NOT_ENOUGH,
            "Not with 3 votes per task: the majority's gap is then off by 0.0200, not within 0.02 of the truth's.",
        ),
        (
            {**NOT_ENOUGH, "workers": 3, "fewest": 2},
            "Not with these 3 workers on every task: the majority's gap is then off by 0.0200, not within 0.02 of the "
            "truth's. 2 votes would do, but not every larger number.",
        ),
        (
            {**NOT_ENOUGH, "workers": 4, "method": "bound"},
            "Not with 3 votes per task: the majority's gap is then off by up to 0.1250, not within 0.02 of the "
            "truth's.",
        ),
    ],
)
def test_sentences(changes: dict[str, Any], sentence: str) -> None:
    plan = CrowdPlan(**{**PLAN, **changes})
    assert str(plan) == sentence
    assert plan.to_dict()["sentence"] == sentence


def test_what_is_not_known_is_none_in_a_dict() -> None:
    unknown = PlanCurve(CURVE.votes, np.full(3, np.nan), np.array([np.nan, 0.05, 0.02]), CURVE.bound)
    found = CrowdPlan(**{**PLAN, "curve": unknown}).to_dict()["curve"]
    assert found == {
        "votes": [1, 2, 3],
        "gap": [None, None, None],
        "distance": [None, 0.05, 0.02],
        "bound": [0.5, 0.25, 0.125],
    }


def test_a_distance_of_delta_is_within() -> None:
    free = plan_crowd([0.8, 0.7], priors=[0.6, 0.4], delta=1, most=6)
    assert (free.votes, free.fewest, free.status) == (1, 1, "enough")
    distance = free.curve.distance
    for size in range(1, 7):
        plan = plan_crowd([0.8, 0.7], priors=[0.6, 0.4], delta=float(distance[size - 1]), most=6)
        within = [n for n in range(1, 7) if distance[n - 1] <= distance[size - 1]]
        last = max((n for n in range(1, 7) if n not in within), default=0)
        assert plan.fewest == within[0]
        assert plan.votes == (last + 1 if last < 6 else None)
        assert plan.status == ("enough" if last < 6 else "not enough")
    assert plan_crowd([0.8, 0.7], priors=[0.6, 0.4], delta=0, most=6).fewest is None
    assert plan_crowd([0.8, 0.7], priors=[0.6, 0.4], delta=0.1).curve.votes.tolist() == list(range(1, 202))


def test_obstacles() -> None:
    def pool(right: list, priors: list | None = None) -> Pool:
        return Pool(["a", "b"], np.array(right), False, None if priors is None else np.array(priors))

    fine = [[0.9, 0.6], [0.7, 0.8]]
    assert _obstacle(pool([fine]), "majority") is None
    assert _obstacle(pool([fine]), "bayes") is None
    words = "so the majority does not come close to the truth, however many vote"
    half = [[0.9, 0.6], [0.5, 0.5]]
    assert _obstacle(pool([half]), "majority") == (
        f"in group b workers are right with a mean probability of 0.5, not above 1/2, {words}"
    )
    assert _obstacle(pool([fine, [[0.9, 0.25], [0.7, 0.8]]]), "majority") == (
        f"in group a workers are right with a mean probability of 0.425 where the truth is 1, not above 1/2, {words}"
    )
    assert _obstacle(pool([[[0.9, 0.1], [0.7, 0.8]]], [0.0, 0.4]), "majority") is None  # group a has no ones
    coins = "all votes are random guesses, which say nothing about the truth"
    assert _obstacle(pool([half]), "bayes") == f"in group b {coins}"
    # The votes in group a do not depend on the truth.
    assert _obstacle(pool([[[0.75, 0.25], [0.7, 0.8]]]), "bayes") == f"in group a {coins}"
    assert _obstacle(pool([half, fine]), "bayes") is None  # somebody is informative
    assert _obstacle(pool([half], [0.5, 1.0]), "bayes") is None  # group b has one class only
    assert _obstacle(pool([[[0.1, 0.2], [0.3, 0.3]]]), "bayes") is None


def test_skills_and_priors_of_a_plan() -> None:
    right = [[[0.9, 0.6], [0.7, 0.8]], [[0.8, 0.7], [0.9, 0.6]]]
    plan = plan_crowd(right, priors=[0.25, 0.75], delta=0.1)
    assert plan.skills == pytest.approx([0.75 * 0.85 + 0.25 * 0.65, 0.25 * 0.8 + 0.75 * 0.7])
    assert (plan.priors, plan.truth_gap, plan.workers, plan.groups) == ([0.25, 0.75], 0.5, 2, ["0", "1"])
    assert (plan.vote, plan.ties, plan.delta, plan.method) == ("majority", "first", 0.1, "exact")
    blind = plan_crowd(right, delta=0.1)
    assert blind.skills == pytest.approx([0.75, 0.75])
    assert (blind.priors, blind.truth_gap, blind.method) == (None, None, "bound")
    assert plan_crowd([0.9, 0.8], delta=0.5).workers is None


@pytest.mark.parametrize("size", [9, 11, 21])
def test_a_distance_that_is_nearly_delta_is_shown_on_its_side(size: int) -> None:
    """In four digits, "off by 0.0442, not within 0.0442" would contradict itself and the table."""
    crowd: dict[str, Any] = {"skills": {"men": 0.8, "women": 0.7}, "priors": {"men": 0.6, "women": 0.4}}
    distance = float(plan_crowd(**crowd, delta=0.5).curve.distance[size - 1])
    delta = math.floor(distance * 1e4) / 1e4  # a delta of four digits, as people give it, just below
    said = str(plan_crowd(**crowd, delta=delta, most=size))
    off, within = re.search(r"off by ([\d.]+), not within ([\d.]+) of", said).groups()  # type: ignore[union-attr]
    assert float(off) > float(within) == delta
    assert float(off) == pytest.approx(distance, abs=5e-5)
    assert beyond(delta, delta) == f"{delta:.4f}"
