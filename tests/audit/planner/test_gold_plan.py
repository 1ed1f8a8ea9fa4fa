"""Known labels: the width of intervals by hand, and by simulation."""

import numpy as np
import pytest

from faircrowd.audit import plan_gold
from faircrowd.audit.intervals import wilson
from faircrowd.errors import OptionError


def test_the_interval_is_that_of_the_share() -> None:
    found = plan_gold(50, accuracy=0.9)
    low, high = wilson(45, 50)
    assert (found.overall.low, found.overall.high) == (float(low), float(high))
    assert found.overall.width == float(high) - float(low)
    assert (found.groups, found.overall.group, found.overall.gold) == ((), None, 50)


def test_groups_have_their_share_of_the_labels() -> None:
    found = plan_gold(200, accuracy=0.8, shares={"a": 0.25, "b": 0.75}, confidence=0.9)
    for group, n in zip(found.groups, (50, 150), strict=True):
        low, high = wilson(0.8 * n, n, 0.9)
        assert (group.gold, group.low, group.high) == (n, pytest.approx(float(low)), pytest.approx(float(high)))


def test_of_few_tasks_known_labels_tell_more() -> None:
    endless, many, few = (plan_gold(100, tasks=tasks).overall.width for tasks in (None, 10**9, 150))
    assert many == pytest.approx(endless)
    assert few < 0.7 * endless
    assert plan_gold(100, tasks=100, shares={"a": 0.5, "b": 0.5}).groups[0].width == 0


def test_half_the_tasks_known_by_simulation() -> None:
    """The spread of the share among 100 of 200 tasks is what the interval is made for."""
    rng = np.random.default_rng(0)
    right = np.arange(200) < 160
    shares = [rng.permutation(right)[:100].mean() for _ in range(20_000)]
    assert plan_gold(100, accuracy=0.8, tasks=200).overall.width == pytest.approx(2 * 1.96 * np.std(shares), abs=0.003)


def test_a_group_without_tasks_is_not_known_at_all() -> None:
    found = plan_gold(10, shares={"a": 1.0, "b": 0.0}, tasks=50)
    assert (found.groups[1].gold, found.groups[1].low, found.groups[1].high) == (0, 0, 1)


def test_as_plain_values() -> None:
    said = plan_gold(1, shares={"a": 0.5, "b": 0.5}).to_dict()
    assert said["sentence"].startswith("1 known label would give")
    assert [group["group"] for group in said["groups"]] == ["a", "b"]
    assert said["overall"]["width"] == said["overall"]["high"] - said["overall"]["low"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"gold": 0}, "gold must be a whole number of at least 1"),
        ({"gold": 10, "accuracy": 1.2}, "accuracy must be a number from 0 to 1"),
        ({"gold": 10, "tasks": 9}, "gold is 10, more than the 9 tasks"),
        ({"gold": 10, "shares": {"a": 0.5, "b": 0.2}}, "shares must add up to 1"),
        ({"gold": 10, "shares": {"a": -0.5, "b": 1.5}}, "shares must be a number from 0 to 1"),
        ({"gold": 10, "confidence": 1}, "confidence must be below 1"),
    ],
)
def test_what_it_refuses(given: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        plan_gold(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.25, 0.75, 1.0])
def test_a_group_of_few_tasks_by_the_formula(share: float) -> None:
    """Of N_a tasks of a group n_a are known, as if n_a (N_a - 1) / (N_a - n_a) were known of infinitely many."""
    plan = plan_gold(60, accuracy=0.7, shares={"a": share, "b": 1 - share}, tasks=400, confidence=0.8)
    n, size = 60 * share, 400 * share
    worth = n * (size - 1) / (size - n)
    low, high = wilson(0.7 * worth, worth, 0.8)
    found = plan.groups[0]
    assert (found.group, found.gold) == ("a", n)
    assert (found.low, found.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    if share == 1:
        assert (found.low, found.high) == (plan.overall.low, plan.overall.high)


def test_a_group_of_less_than_one_task_is_not_known_at_all() -> None:
    rare = plan_gold(10, shares={"a": 0.99, "b": 0.01}, tasks=50).groups[1]
    assert (rare.gold, rare.low, rare.high) == (pytest.approx(0.1), 0, 1)


def test_all_labels_known_is_the_accuracy_itself() -> None:
    found = plan_gold(100, accuracy=0.7, tasks=100, shares={"a": 0.25, "b": 0.75})
    for interval, n in zip((found.overall, *found.groups), (100, 25, 75), strict=True):
        assert (interval.low, interval.high, interval.width, interval.gold) == (0.7, 0.7, 0, n)
    assert plan_gold(99, accuracy=0.7, tasks=100).overall.width > 0


def test_the_least_that_can_be_asked_for() -> None:
    assert plan_gold(1).overall.gold == 1
    assert plan_gold(1, tasks=1).overall.width == 0
    assert [plan_gold(9, accuracy=accuracy).accuracy for accuracy in (0, 1)] == [0, 1]
    plan = plan_gold(9)
    assert (plan.gold, plan.accuracy, plan.tasks, plan.confidence, plan.groups) == (9, 0.8, None, 0.95, ())


def test_shares_may_miss_1_by_rounding_only() -> None:
    assert len(plan_gold(10, shares={"a": 0.5, "b": 0.5 + 9e-7}).groups) == 2
    for off in (2e-6, -2e-6):
        with pytest.raises(OptionError, match="shares must add up to 1"):
            plan_gold(10, shares={"a": 0.5, "b": 0.5 + off})
    with pytest.raises(OptionError, match=r"^shares must add up to 1; 0\.5, 0\.25 add up to 0\.75\.$"):
        plan_gold(10, shares={"a": 0.5, "b": 0.25})


def test_the_sentence_of_many_labels() -> None:
    plan = plan_gold(2000, accuracy=0.75, confidence=0.9)
    low, high = (float(end) for end in wilson(1500, 2000, 0.9))
    assert str(plan) == (
        f"2,000 known labels would give an interval {100 * (high - low):.1f} points wide for an accuracy of 75.0%: "
        f"from {low:.1%} to {high:.1%} (90% confidence)."
    )
    said = plan_gold(20, shares={7: 1.0}, tasks=30).to_dict()
    assert (said["gold"], said["tasks"], said["accuracy"], said["confidence"]) == (20, 30, 0.8, 0.95)
    assert said["groups"] == [{**said["overall"], "group": "7"}]
