"""Small groups, and tasks without a group: left out, merged, refused, or a group of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from faircrowd import read_votes, simulate_crowd
from faircrowd.engines import read_votes_on_disk
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.group_policy import check_comparable, free_name, left_out_lines, plan_groups
from faircrowd.votes.groups import settle_groups

SIZES = np.array([50, 3, 40, 2, 9])
GROUPS = Vocabulary.of(list("abcde"))


@pytest.mark.parametrize(
    ("least", "small"), [(1, ""), (2, ""), (3, "d"), (4, "bd"), (9, "bd"), (10, "bde"), (41, "bcde")]
)
def test_groups_below_the_limit_are_small(least: int, small: str) -> None:
    plan = plan_groups(GROUPS, SIZES, {}, min_group=least)
    assert "".join(GROUPS.some(list(plan.left_out))) == small
    assert plan.groups is GROUPS
    assert plan.place.tolist() == [0, 1, 2, 3, 4]
    merged = plan_groups(GROUPS, SIZES, {}, min_group=least, small_groups="merge")
    assert "".join(merged.merged) == small
    if small:
        kept = [name for name in "abcde" if name not in small]
        assert merged.groups.to_list() == [*kept, "other"]
        assert [merged.groups.to_list()[code] for code in merged.place] == [
            name if name in kept else "other" for name in "abcde"
        ]
        # Together they may still be small.
        together = int(sum(SIZES["abcde".index(name)] for name in small))
        assert (len(kept) in merged.left_out) == (together < least)
        with pytest.raises(InputError, match=rf"^{len(small)} of 5 groups have fewer than {least} tasks: "):
            plan_groups(GROUPS, SIZES, {}, min_group=least, small_groups="error")


def test_groups_that_are_left_out_already_are_neither_small_nor_merged() -> None:
    before = {1: "no group is known"}
    assert plan_groups(GROUPS, SIZES, before, min_group=10).left_out == {
        1: "no group is known",
        3: "fewer than 10 tasks",
        4: "fewer than 10 tasks",
    }
    merged = plan_groups(GROUPS, SIZES, before, min_group=10, small_groups="merge")
    assert merged.groups.to_list() == ["a", "b", "c", "other"]
    assert merged.left_out == {1: "no group is known"}  # 2 and 9 tasks are enough together


def test_the_name_of_a_new_group_is_free() -> None:
    assert free_name("missing", [1, "other"]) == "missing"
    assert free_name("missing", ["missing", "missing_"]) == "missing__"
    assert free_name("a & b", [("a", "b")]) == "a & b_"


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "10"])
def test_a_limit_that_is_no_number_of_tasks(bad: object) -> None:
    with pytest.raises(OptionError, match="min_group must be a whole number of at least 1"):
        plan_groups(GROUPS, SIZES, {}, min_group=bad)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="small_groups='keep' is not known; use one of 'leave-out', 'merge', 'error'"):
        plan_groups(GROUPS, SIZES, {}, small_groups="keep")


def test_two_groups_must_remain() -> None:
    check_comparable(GROUPS, SIZES, {1: "x", 3: "x", 4: "x"})
    check_comparable(Vocabulary.of(["a"]), SIZES[:1], {})  # a crowd of one group is refused elsewhere
    with pytest.raises(InputError, match=r"1 of 5 are left to compare; left out are 'b' \(3: x\).*Lower min_group"):
        check_comparable(GROUPS, SIZES, {1: "x", 2: "x", 3: "x", 4: "x"})


def test_lines() -> None:
    sizes = dict(zip("abcde", SIZES.tolist(), strict=True))
    assert left_out_lines({}, sizes) == []
    assert left_out_lines({"b": "x", "d": "x", "e": "y"}, sizes, ["p", "q"]) == [
        "2 small groups merged into 'e': 'p', 'q'",
        "5 tasks of 2 groups 'b', 'd' left out of the gap: x",
        "9 tasks of group 'e' left out of the gap: y",
    ]


# From files and frames, in memory and streamed


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 tasks: 60 of group a, 35 of b, 3 of c, 2 without a group."""
    place = tmp_path_factory.mktemp("groups")
    made = simulate_crowd(100, 10, random_state=0)
    made.votes.to_csv(place / "votes.csv", index=False)
    group = ["a"] * 60 + ["b"] * 35 + ["c"] * 3 + [None] * 2
    pd.DataFrame({"task": range(100), "group": group, "same": "x"}).to_csv(place / "tasks.csv", index=False)
    return place


def read(crowd: Path, engine: str = "memory", **given: Any) -> VoteTable:
    reader: Any = read_votes if engine == "memory" else read_votes_on_disk
    given = {"sensitive_features": "group", **given}
    found: VoteTable = reader(crowd / "votes.csv", tasks=crowd / "tasks.csv", **given)
    return found


def counted(votes: VoteTable) -> dict[str, int]:
    assert votes.groups is not None
    return dict(zip(votes.groups.names, votes.tasks_per_group.tolist(), strict=True))


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_tasks_without_a_group(crowd: Path, engine: str) -> None:
    with pytest.raises(InputError, match=r"^2 of 100 tasks have no group: 98, 99; give each task a group, or leave"):
        read(crowd, engine)
    dropped = read(crowd, engine, on_missing_group="drop")
    own = read(crowd, engine, on_missing_group="own")
    assert counted(dropped) == counted(own) == {"a": 60, "b": 35, "c": 3, "missing": 2}
    assert dropped.n_votes == own.n_votes == read_votes(crowd / "votes.csv").n_votes  # no vote is lost
    assert (dropped.left_out, own.left_out) == ({3: "no group is known"}, {})


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_small_groups(crowd: Path, engine: str) -> None:
    given = {"on_missing_group": "drop", "min_group": 10}
    left = read(crowd, engine, **given)
    assert left.left_out == {2: "fewer than 10 tasks", 3: "no group is known"}
    merged = read(crowd, engine, on_missing_group="own", min_group=5, small_groups="merge")
    assert counted(merged) == {"a": 60, "b": 35, "other": 5}
    assert (merged.left_out, merged.merged_groups) == ({}, ("c", "missing"))
    with pytest.raises(InputError, match=r"1 of 4 groups have fewer than 10 tasks: 'c' \(3\)"):
        read(crowd, engine, **given, small_groups="error")
    # Without a constraint there is nothing to protect: groups are compared as they are if fewer than two would remain.
    assert read(crowd, engine, **{**given, "min_group": 50}).left_out == {3: "no group is known"}


def test_all_tasks_without_a_group_are_an_error_whatever_the_policy(crowd: Path) -> None:
    for policy in ("error", "drop", "own"):
        with pytest.raises(InputError, match=r"100 of 100 tasks have no group.*do the task ids match"):
            read_votes(crowd / "votes.csv", sensitive_features={"nobody": 1}, on_missing_group=policy)


def test_one_part_of_several_missing_is_a_missing_group(crowd: Path) -> None:
    found = read(crowd, sensitive_features=["group", "same"], on_missing_group="own")
    assert counted(found) == {"a & x": 60, "b & x": 35, "c & x": 3, "missing": 2}


def test_names_do_not_collide(crowd: Path) -> None:
    groups = {task: "missing" if task < 60 else "other" if task < 97 else f"s{task}" for task in range(99)}
    votes = crowd / "votes.csv"
    found = read_votes(votes, sensitive_features=groups, on_missing_group="own", min_group=3, small_groups="merge")
    assert counted(found) == {"missing": 60, "other": 37, "other_": 3}
    assert found.merged_groups == ("s97", "s98", "missing_")


def test_settling_twice_changes_nothing(crowd: Path) -> None:
    for policy in ("leave-out", "merge"):
        once = read(crowd, on_missing_group="drop", min_group=10, small_groups=policy)
        twice = settle_groups(once, min_group=10, small_groups=policy, required=True)
        assert counted(twice) == counted(once)
        assert (twice.left_out, twice.merged_groups) == (once.left_out, once.merged_groups)


def test_recoded_groups_stay_left_out(crowd: Path) -> None:
    left = read(crowd, on_missing_group="drop")
    assert left.groups is not None
    moved = left.recoded("group", left.groups.take(np.array([3, 2, 1, 0])), np.array([3, 2, 1, 0]))
    assert moved.left_out == {0: "no group is known"}
    assert counted(moved) == {"missing": 2, "c": 3, "b": 35, "a": 60}
