"""Sensitive columns in every form that they may have: each gives the same labels, or an error that says what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from faircrowd import FairCrowd, MajorityVote, make_fair, simulate_crowd
from faircrowd.constraints import ChangeBudget, Constraint, DemographicParity
from faircrowd.errors import DataWarning, InputError
from faircrowd.fair.tasks.group_columns import read_group_columns
from faircrowd.votes import Vocabulary

CROWD = simulate_crowd(120, 12, random_state=0)
IDS = [f"t{i}" for i in range(120)]  # sorted by text, t10 comes before t2
VOTES = CROWD.votes.assign(task=CROWD.votes["task"].map(lambda i: f"t{i}"))
FRAME = pd.DataFrame(
    {"side": CROWD.sensitive_features.map({0: "l", 1: "r"}).to_numpy(), "unit": np.arange(120) % 2},
    index=pd.Index(IDS, name="task"),
)
POSTERIOR = MajorityVote().fit(VOTES).probas_.reindex(IDS)
PLAIN = FRAME.reset_index()
SIDE = DemographicParity(0.05, group="side")
NUMBERED = FRAME.set_axis([0, 1], axis=1)

Form = tuple[Any, Constraint]
BY_ID: dict[str, Form] = {
    "frame by task": (FRAME, SIDE),
    "in another order": (FRAME.sample(frac=1, random_state=1), SIDE),
    "an index without a name": (FRAME.rename_axis(None), SIDE),
    "a task column": (PLAIN, SIDE),
    "a task column in another order": (PLAIN.sample(frac=1, random_state=2), SIDE),
    "a column task_id": (PLAIN.rename(columns={"task": "task_id"}), SIDE),
    "a column Task ID": (PLAIN.rename(columns={"task": "Task ID"}), SIDE),
    "ids twice": (pd.concat([FRAME, FRAME.iloc[:7]]), SIDE),
    "more tasks than there are": (
        pd.concat([FRAME, pd.DataFrame({"side": ["z"], "unit": [9]}, index=["other"])]),
        SIDE,
    ),
    "numbers as columns": (NUMBERED, DemographicParity(0.05, group="0")),
    "a number as group": (NUMBERED, DemographicParity(0.05, group=0)),  # type: ignore[arg-type]
    "polars": (pl.from_pandas(PLAIN), SIDE),
    "polars, lazy": (pl.from_pandas(PLAIN).lazy(), SIDE),
    "arrow": (pa.Table.from_pandas(PLAIN), SIDE),
    "a Series": (FRAME["side"], SIDE),
    "a Series without a name": (FRAME["side"].rename(None), SIDE),
    "a dict by task": (FRAME["side"].to_dict(), SIDE),
    "a dict of Series": (dict(FRAME.items()), SIDE),
    "a dict of dicts": ({"side": FRAME["side"].to_dict()}, SIDE),
    "a missing value of another column": (FRAME.assign(unit=FRAME["unit"].where(FRAME["unit"] > 0)), SIDE),
    "categories": (FRAME.astype({"side": "category"}), SIDE),
}
BY_POSITION: dict[str, Form] = {
    "an array": (FRAME["side"].to_numpy(), SIDE),
    "an array of two columns": (FRAME.to_numpy(), DemographicParity(0.05, group="0")),
    "a list of rows": (FRAME.to_numpy().tolist(), DemographicParity(0.05, group="0")),
    "a dict of lists": (FRAME.to_dict("list"), SIDE),
    "a dict of arrays": ({"side": FRAME["side"].to_numpy()}, SIDE),
}
EXPECTED = make_fair(POSTERIOR, FRAME["side"], constraints=[SIDE]).labels


def of_votes(given: Any, asked: list[Constraint]) -> FairCrowd:
    return FairCrowd(MajorityVote(), constraints=asked, min_group=1).fit(VOTES, sensitive_features=given)


@pytest.mark.parametrize("name", BY_ID | BY_POSITION)
def test_every_form_gives_the_same_labels(name: str) -> None:
    given, asked = (BY_ID | BY_POSITION)[name]
    found = make_fair(POSTERIOR, given, constraints=[asked])
    assert found.labels.tolist() == EXPECTED.tolist()
    plain = make_fair(POSTERIOR, FRAME, constraints=[SIDE]).rule
    assert found.rule.predict(POSTERIOR, given).tolist() == plain.predict(POSTERIOR, FRAME).tolist()


@pytest.mark.parametrize("name", BY_ID)
def test_votes_take_every_form_by_id(name: str) -> None:
    given, asked = BY_ID[name]
    fair = of_votes(given, [asked])
    plain = of_votes(FRAME, [SIDE])
    pd.testing.assert_series_equal(fair.labels_, plain.labels_)
    pd.testing.assert_series_equal(
        fair.predict(VOTES, sensitive_features=given), plain.predict(VOTES, sensitive_features=FRAME)
    )


@pytest.mark.parametrize("name", BY_POSITION)
def test_votes_have_no_order_for_positions(name: str) -> None:
    """The order of the tasks of votes is ours, not the user's: an array would go to the wrong tasks."""
    given, asked = BY_POSITION[name]
    with pytest.raises(InputError, match="groups go by task, not by position: give a frame"):
        of_votes(given, [asked])
    fair = of_votes(FRAME, [DemographicParity(0.05, group="side")])
    with pytest.raises(InputError, match=r"not by position|speaks of the column 'side'"):
        fair.predict(VOTES, sensitive_features=given)


def test_probabilities_of_groups_have_no_order_for_votes_either() -> None:
    certain = np.stack([FRAME["side"] == "l", FRAME["side"] == "r"], axis=1).astype(float)
    unsure = 0.9 * certain + 0.05
    with pytest.raises(InputError, match="groups go by task, not by position"):
        of_votes(unsure, [SIDE, ChangeBudget(0.9)])
    with pytest.warns(DataWarning, match="known by probabilities"):
        make_fair(POSTERIOR, unsure, constraints=[SIDE, ChangeBudget(0.9)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FRAME.reset_index(drop=True), r"no column 'task' and no index of its own.*such as 't0', 't1', 't1?2?0?'"),
        (
            pl.from_pandas(PLAIN).drop("task"),
            r"no column 'task', which says whose groups .* columns are 'side', 'unit'",
        ),
        (pl.Series("side", FRAME["side"].to_list()), "not Series, which has an index only in pandas"),
        (FRAME["side"].reset_index(drop=True), "is a Series without an index of its own"),
        (FRAME["side"].rename("other"), "speaks of the column 'side'; the sensitive columns are 'other'"),
        (FRAME.iloc[:100], "20 of 120 tasks have no group in column 'side'"),
        (FRAME.iloc[:0], "120 of 120 tasks have no group in column 'side'.*do the task ids match"),
        (FRAME[[]], "the sensitive columns are none"),
        (FRAME.assign(side=FRAME["side"].where(FRAME["unit"] > 0)), "60 of 120 tasks have no group in column 'side'"),
        (
            pd.concat([FRAME, FRAME.assign(side="z").iloc[:3]]),
            "3 tasks have more than one group in column 'side': 't0'",
        ),
        (pd.concat([FRAME, FRAME[["side"]]], axis=1), "several columns of one name: 'side' 2 times"),
        (FRAME.rename(columns={"unit": 1}).assign(**{"1": 0}), "two columns whose names have the text '1'"),
        (None, "give sensitive_features"),
        (7, "go by task: .* not int"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
@pytest.mark.parametrize("way", ["make_fair", "FairCrowd"])
def test_what_cannot_be_read_is_told(way: str, given: Any, message: str) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "make_fair": lambda: make_fair(POSTERIOR, given, constraints=[SIDE]),
        "FairCrowd": lambda: of_votes(given, [SIDE]),
    }
    with pytest.raises(InputError, match=message):
        ways[way]()


def test_all_columns_are_meant_where_none_is_named() -> None:
    """But not the ids: with a task column, parity between all groups is that of the other columns."""
    asked = [DemographicParity(0.1), ChangeBudget(1.0)]
    expected = make_fair(POSTERIOR, FRAME, constraints=[DemographicParity(0.1, group=("side", "unit"))]).labels
    for given in (FRAME, PLAIN, NUMBERED, pl.from_pandas(PLAIN), dict(FRAME.items()), FRAME.to_numpy()):
        assert make_fair(POSTERIOR, given, constraints=asked).labels.tolist() == expected.tolist()


def test_names_of_columns_are_texts_in_a_constraint() -> None:
    assert DemographicParity(0.1, group=3, within=[1, "b"]) == DemographicParity(0.1, group="3", within=("1", "b"))  # type: ignore[arg-type,list-item]
    assert DemographicParity(0.1, group={"b", "a"}).group == ("a", "b")  # type: ignore[arg-type]


def test_the_column_of_ids_has_its_name_in_the_table_and_in_the_votes() -> None:
    tasks = Vocabulary.of(["t1", "t0"])
    table = pd.DataFrame({"thing": ["t0", "t1"], "side": ["l", "r"]})
    votes = pd.DataFrame({"thing": ["t0", "t1"], "worker": [1, 1], "label": [0, 1], "kind": ["a", "b"]})
    found = read_group_columns(tasks, ["side", "kind"], votes=(votes, "thing"), table=table)
    assert {name: one.groups.take(one.group).to_list() for name, one in found.items()} == {
        "side": ["r", "l"],
        "kind": ["b", "a"],
    }
