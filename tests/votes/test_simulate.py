"""Simulated crowds follow the distributions they were asked to follow."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import SimulatedCrowd, simulate_crowd
from faircrowd.errors import OptionError

# The crowds of the paper: section 5.2 (the defaults), and 5.1 (a) competent, (b) adversarial, (c) uninformed.
EVEN = {"group_shares": (0.5, 0.5), "class_shares": (0.5, 0.5)}
CROWDS: dict[str, dict[str, Any]] = {
    "comparison": {},
    "competent": {**EVEN, "skill_ranges": ((0.5, 1.0), (0.6, 1.0)), "votes_per_task": None, "n_workers": 40},
    "adversarial": {**EVEN, "skill_ranges": ((0.2, 0.6), (0.1, 0.6)), "votes_per_task": None, "n_workers": 20},
    "uninformed": {**EVEN, "skill_ranges": (0.49, 0.51), "votes_per_task": None, "n_workers": 15},
    "five classes, three groups": {
        "group_shares": (0.2, 0.3, 0.5),
        "class_shares": ((0.1, 0.2, 0.3, 0.4, 0.0), (0.2,) * 5, (0.0, 0.1, 0.2, 0.3, 0.4)),
        "skill_ranges": ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9)),
        "votes_per_task": 3,
    },
}
DEFAULTS = {
    "n_workers": 100,
    "votes_per_task": 5,
    "group_shares": (0.4, 0.6),
    "class_shares": ((0.6, 0.4), (0.4, 0.6)),
    "skill_ranges": ((0.5, 1.0), (0.6, 1.0)),
}
# A share among n draws is within 5 standard errors of its probability but for one seed in a million; seeds are fixed.
ERRORS = 5.0


def tolerance(share: float, n: int) -> float:
    return ERRORS * math.sqrt(share * (1 - share) / n) + 1e-12


@pytest.fixture(scope="module", params=CROWDS)
def drawn(request: pytest.FixtureRequest) -> tuple[dict[str, Any], SimulatedCrowd]:
    settings = CROWDS[request.param]
    return {**DEFAULTS, **settings}, simulate_crowd(20_000, random_state=1, **settings)


def test_shares_of_groups_and_classes(drawn: tuple[dict[str, Any], SimulatedCrowd]) -> None:
    asked, crowd = drawn
    group, truth = crowd.sensitive_features, crowd.truth
    n_groups = len(asked["group_shares"])
    classes = np.broadcast_to(np.atleast_2d(asked["class_shares"]), (n_groups, np.shape(asked["class_shares"])[-1]))
    for a, share in enumerate(asked["group_shares"]):
        assert (group == a).mean() == pytest.approx(share, abs=tolerance(share, len(group)))
        for k, probability in enumerate(classes[a]):
            inside = truth[group == a]
            assert (inside == k).mean() == pytest.approx(probability, abs=tolerance(probability, len(inside)))


def test_votes_are_right_with_the_skill_of_their_worker(drawn: tuple[dict[str, Any], SimulatedCrowd]) -> None:
    _, crowd = drawn
    votes = crowd.votes.assign(
        group=crowd.votes["task"].map(crowd.sensitive_features),
        right=crowd.votes["label"].to_numpy() == crowd.votes["task"].map(crowd.truth).to_numpy(),
    )
    for (worker, a), rights in votes.groupby(["worker", "group"])["right"]:
        skill = crowd.skills[worker, a]
        assert rights.mean() == pytest.approx(skill, abs=tolerance(skill, len(rights)))


def test_wrong_votes_are_uniform_over_the_other_classes(drawn: tuple[dict[str, Any], SimulatedCrowd]) -> None:
    asked, crowd = drawn
    n_classes = np.shape(asked["class_shares"])[-1]
    truth = crowd.votes["task"].map(crowd.truth).to_numpy()
    label = crowd.votes["label"].to_numpy()
    shift = ((label - truth) % n_classes)[label != truth]
    for k in range(1, n_classes):
        assert (shift == k).mean() == pytest.approx(1 / (n_classes - 1), abs=tolerance(1 / (n_classes - 1), shift.size))


def test_skills_fill_their_range(drawn: tuple[dict[str, Any], SimulatedCrowd]) -> None:
    asked, crowd = drawn
    n_groups = len(asked["group_shares"])
    ranges = np.broadcast_to(np.atleast_2d(asked["skill_ranges"]), (n_groups, 2))
    assert crowd.skills.shape == (asked["n_workers"], n_groups)
    for a, (low, high) in enumerate(ranges):
        skills = crowd.skills[:, a]
        assert low <= skills.min()
        assert skills.max() <= high
        error = (high - low) / math.sqrt(12 * len(skills))
        assert skills.mean() == pytest.approx((low + high) / 2, abs=ERRORS * error)
        assert np.ptp(skills) > 0.7 * (high - low)


def test_every_task_gets_its_votes_without_replacement(drawn: tuple[dict[str, Any], SimulatedCrowd]) -> None:
    asked, crowd = drawn
    each = asked["votes_per_task"] or asked["n_workers"]
    by_task = crowd.votes.groupby("task")["worker"]
    assert set(by_task.size()) == {each}
    assert set(by_task.nunique()) == {each}
    share = each / asked["n_workers"]
    for votes in crowd.votes["worker"].value_counts():
        assert votes / 20_000 == pytest.approx(share, abs=tolerance(share, 20_000))


def test_all_pools_are_as_likely() -> None:
    votes = simulate_crowd(30_000, 5, 3, random_state=3).votes
    pools = votes.groupby("task")["worker"].agg(frozenset).value_counts()
    assert len(pools) == math.comb(5, 3)
    for count in pools:
        assert count / 30_000 == pytest.approx(0.1, abs=tolerance(0.1, 30_000))


def test_the_defaults_are_the_crowd_of_the_comparison() -> None:
    crowd = simulate_crowd()
    assert len(crowd.votes) == 10_000
    assert crowd.votes["task"].nunique() == 2000
    assert crowd.skills.shape == (100, 2)
    assert list(crowd.votes.columns) == ["task", "worker", "label"]
    assert (crowd.sensitive_features.name, crowd.truth.name) == ("group", "truth")
    assert crowd.truth.index.equals(pd.RangeIndex(2000))


def test_a_seed_decides_everything() -> None:
    one, same, other = (simulate_crowd(200, random_state=seed) for seed in (7, np.random.default_rng(7), 8))
    pd.testing.assert_frame_equal(one.votes, same.votes)
    pd.testing.assert_series_equal(one.truth, same.truth)
    pd.testing.assert_series_equal(one.sensitive_features, same.sensitive_features)
    np.testing.assert_array_equal(one.skills, same.skills)
    assert not one.votes.equals(other.votes)
    assert not one.truth.equals(other.truth)


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(7)
    assert not simulate_crowd(200, random_state=rng).votes.equals(simulate_crowd(200, random_state=rng).votes)


def test_certain_laws() -> None:
    crowd = simulate_crowd(50, 4, 2, group_shares=(1.0,), class_shares=(0.0, 1.0, 0.0), skill_ranges=(1.0, 1.0))
    assert set(crowd.votes["label"]) == {1}
    one_class = simulate_crowd(50, 4, 2, class_shares=(1.0,))
    assert set(one_class.votes["label"]) == {0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_tasks": 0}, "n_tasks must be a whole number of at least 1; got 0"),
        ({"n_tasks": 2.5}, "n_tasks must be a whole number"),
        ({"n_tasks": True}, "n_tasks must be a whole number"),
        ({"n_workers": -1}, "n_workers must be a whole number of at least 1; got -1"),
        ({"votes_per_task": 0}, "votes_per_task must be a whole number of at least 1"),
        ({"votes_per_task": 101}, "votes_per_task=101 is more than the 100 workers there are"),
        ({"group_shares": (0.5, 0.6)}, "group_shares must be probabilities that sum to one"),
        ({"group_shares": (0.5, 0.50001)}, "group_shares must be probabilities that sum to one"),
        ({"group_shares": (1.5, -0.5)}, "group_shares must be probabilities"),
        ({"group_shares": (math.nan, 1.0)}, "group_shares must be probabilities"),
        ({"group_shares": ()}, "group_shares must be probabilities"),
        ({"group_shares": ("a", "b")}, "group_shares must be numbers"),
        ({"group_shares": ((0.5, 0.5), (0.5, 0.5))}, "group_shares needs one row"),
        (
            {"class_shares": ((0.5, 0.5),) * 3},
            r"class_shares needs one row, or one for each of the 2 groups; .* \(3, 2\)",
        ),
        ({"class_shares": ((0.5, 0.5), (0.5,))}, "class_shares must be numbers, one row per group"),
        ({"class_shares": (0.5, 0.6)}, "class_shares must be probabilities"),
        ({"skill_ranges": (0.5,)}, "skill_ranges needs a pair"),
        ({"skill_ranges": (0.9, 0.5)}, "skill_ranges needs a pair"),
        ({"skill_ranges": (-0.1, 0.5)}, "skill_ranges needs a pair"),
        ({"skill_ranges": (0.5, 1.1)}, "skill_ranges needs a pair"),
        ({"skill_ranges": (math.nan, 1.0)}, "skill_ranges needs a pair"),
        ({"random_state": None}, "random_state must be a whole number of at least 0; got None"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0; got -1"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        simulate_crowd(**settings)
