"""What a plan says, sentence by sentence, and the borders of its answer."""

from typing import Any

import numpy as np
import pytest

from faircrowd.audit.planner.crowd_plan import CrowdPlan, _obstacle, plan_crowd
from faircrowd.audit.planner.plan_curve import PlanCurve
from faircrowd.audit.planner.worker_pool import Pool

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
    ("changes", "said"),
    [
        (
            {},
            "3 votes a task bring the majority's gap within 0.02 of the truth's: 0.2200 against 0.2000, and more keep "
            "it there (exact, up to 3).",
        ),
        (
            {"votes": 1, "fewest": 1, "vote": "bayes"},
            "1 vote a task brings the Bayesian vote's gap within 0.02 of the truth's: 0.3500 against 0.2000, and more "
            "keep it there (exact, up to 3).",
        ),
        (
            {"fewest": 1},
            "3 votes a task bring the majority's gap within 0.02 of the truth's: 0.2200 against 0.2000, and more keep "
            "it there (exact, up to 3). 1 vote would do, but not every larger number.",
        ),
        (
            {"votes": 2, "fewest": 1, "method": "bound"},
            "2 votes a task bring the majority's gap within 0.02 of the truth's: off by at most 0.2500 (a bound; fewer "
            "may be enough).",
        ),
        (NEVER, "Never, with this crowd: they are wrong; the gaps come close all the same."),
        ({**NEVER, "delta": 0.019}, "Never, with this crowd: they are wrong."),
        ({**NEVER, "method": "bound"}, "Never, with this crowd: they are wrong."),
        (
            NOT_ENOUGH,
            "Not with 3 votes a task: the majority's gap is then off by 0.0200, not within 0.02 of the truth's.",
        ),
        (
            {**NOT_ENOUGH, "workers": 3, "fewest": 2},
            "Not with these 3 workers on every task: the majority's gap is then off by 0.0200, not within 0.02 of the "
            "truth's. 2 votes would do, but not every larger number.",
        ),
        (
            {**NOT_ENOUGH, "workers": 4, "method": "bound"},
            "Not with 3 votes a task: the majority's gap is then off by up to 0.1250, not within 0.02 of the truth's.",
        ),
    ],
)
def test_sentences(changes: dict[str, Any], said: str) -> None:
    plan = CrowdPlan(**{**PLAN, **changes})
    assert str(plan) == said
    assert plan.to_dict()["sentence"] == said


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


def test_what_stands_in_the_way() -> None:
    def pool(right: list, priors: list | None = None) -> Pool:
        return Pool(["a", "b"], np.array(right), False, None if priors is None else np.array(priors))

    fine = [[0.9, 0.6], [0.7, 0.8]]
    assert _obstacle(pool([fine]), "majority") is None
    assert _obstacle(pool([fine]), "bayes") is None
    words = "so the majority does not come to the truth, however many vote"
    half = [[0.9, 0.6], [0.5, 0.5]]
    assert _obstacle(pool([half]), "majority") == (
        f"in group b workers are right with a mean probability of 0.5, not above 1/2, {words}"
    )
    assert _obstacle(pool([fine, [[0.9, 0.25], [0.7, 0.8]]]), "majority") == (
        f"in group a workers are right with a mean probability of 0.425 where the truth is 1, not above 1/2, {words}"
    )
    assert _obstacle(pool([[[0.9, 0.1], [0.7, 0.8]]], [0.0, 0.4]), "majority") is None  # group a has no ones
    coins = "all votes are coins, which tell nothing of the truth"
    assert _obstacle(pool([half]), "bayes") == f"in group b {coins}"
    assert _obstacle(pool([[[0.75, 0.25], [0.7, 0.8]]]), "bayes") == f"in group a {coins}"  # the same whatever is true
    assert _obstacle(pool([half, fine]), "bayes") is None  # somebody tells
    assert _obstacle(pool([half], [0.5, 1.0]), "bayes") is None  # nothing to be told in group b
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
