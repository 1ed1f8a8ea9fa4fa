"""Groups and true labels from wherever they are kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from faircrowd import FairCrowd, MajorityVote, VoteTable, make_fair, read_votes
from faircrowd.constraints import ChangeBudget, DemographicParity
from faircrowd.errors import FileError, InputError, MissingColumnError
from faircrowd.votes.facts import Numbers, read_facts
from faircrowd.votes.groups import attach_groups, gold_codes, gold_pairs, truth_codes

VOTES = pd.DataFrame(
    {
        "task": [1, 1, 2, 3],
        "worker": ["a", "b", "a", "b"],
        "label": ["x", "y", "x", "y"],
        "sex": ["m", "m", "f", "m"],
        "age": [30, 30, 40, 40],
        "holes": [1, None, 2, 2],
        "hole": ["p", "p", None, "q"],
    }
)
TASKS = pd.DataFrame({"task": [3, 1, 2, 9], "sex": ["m", "m", "f", "q"], "age": [40, 30, 40, 0]})
BY_TASK = {1: "m", 2: "f", 3: "m"}


def groups_of(table: VoteTable) -> dict[Any, Any]:
    assert table.groups is not None
    assert table.group is not None
    names = table.groups.to_list()
    assert set(table.group.tolist()) == set(range(len(names)))  # every group has a task
    return dict(zip(table.tasks.to_list(), (names[code] for code in table.group), strict=True))


GIVEN: dict[str, Any] = {
    "series": pd.Series(BY_TASK),
    "series of categories": pd.Series(BY_TASK).astype("category"),
    "series by text": pd.Series(BY_TASK).rename(str),
    "series by float": pd.Series(BY_TASK).set_axis([1.0, 2.0, 3.0]),
    "series by category": pd.Series(BY_TASK).set_axis(pd.CategoricalIndex([1, 2, 3])),
    "series by unsigned": pd.Series(BY_TASK).set_axis(np.array([1, 2, 3], dtype=np.uint64)),
    "series by big-endian": pd.Series(BY_TASK).set_axis(np.array([1, 2, 3], dtype=">i4")),
    "series by mixed": pd.Series(BY_TASK).set_axis(pd.Index([1, "2", 3.0], dtype=object)),
    "series, twice": pd.concat([pd.Series(BY_TASK)] * 2),
    "dict": BY_TASK,
    "dict with more": BY_TASK | {"other": "q", 99: None},
    "dict by text": {str(task): sex for task, sex in BY_TASK.items()},
    "dict by numpy": {np.int64(task): sex for task, sex in BY_TASK.items()},
    "frame": TASKS[["task", "sex"]],
    "frame by alias": TASKS[["task", "sex"]].rename(columns={"task": "question"}),
    "frame by index": TASKS.set_index("task")[["sex"]],
    "frame by an index of another name": TASKS.set_index("task")[["sex"]].rename_axis("id"),
    "frame with an alias and a named index": TASKS[["task", "sex"]].rename(columns={"task": "item"}).rename_axis("row"),
    "polars": pl.from_pandas(TASKS[["task", "sex"]]),
    "polars categories": pl.from_pandas(TASKS[["task", "sex"]]).cast({"sex": pl.Categorical}),
    "polars lazy": pl.from_pandas(TASKS[["task", "sex"]]).lazy(),
    "pyarrow": pa.Table.from_pandas(TASKS[["task", "sex"]]),
    "column of the votes": "sex",
    "list of one column": ["sex"],
}


@pytest.mark.parametrize("name", GIVEN)
def test_groups_by_task(name: str) -> None:
    assert groups_of(read_votes(VOTES, sensitive_features=GIVEN[name])) == BY_TASK


@pytest.mark.parametrize("name", [name for name in GIVEN if "column" not in name])
def test_groups_of_votes_that_were_read(name: str) -> None:
    assert groups_of(attach_groups(read_votes(VOTES), GIVEN[name])) == BY_TASK


@pytest.mark.parametrize(
    "ids", [{1: "t1", 2: "t2", 3: "t3"}, {1: 10**18, 2: 2**53, 3: 2**53 + 1}, {1: "é", 2: 5, 3: True}]
)
def test_groups_for_other_ids(ids: dict[int, Any]) -> None:
    votes = VOTES.assign(task=VOTES["task"].map(ids).astype(object))
    expected = {ids[task]: sex for task, sex in BY_TASK.items()}
    assert groups_of(read_votes(votes, sensitive_features=expected)) == expected
    assert groups_of(read_votes(votes, sensitive_features="sex")) == expected


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("as_text", [False, True])
def test_groups_from_files(ending: str, as_text: bool, tmp_path: Path) -> None:
    path = tmp_path / f"tasks{ending}"
    tasks = TASKS.astype({"task": str}) if as_text else TASKS
    if ending == ".csv":
        tasks.to_csv(path, index=False)
    elif ending == ".jsonl":
        tasks.to_json(path, orient="records", lines=True)
    else:
        tasks.to_parquet(path)
    assert groups_of(read_votes(VOTES, sensitive_features="sex", tasks=path)) == BY_TASK
    assert groups_of(read_votes(VOTES, sensitive_features="sex", tasks=str(path))) == BY_TASK
    both = groups_of(read_votes(VOTES, sensitive_features=path))
    assert both == {1: ("m", 30), 2: ("f", 40), 3: ("m", 40)}


def test_groups_from_a_column_of_a_file_of_votes(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    VOTES.to_csv(path, index=False)
    assert groups_of(read_votes(path, sensitive_features="sex")) == BY_TASK
    assert groups_of(read_votes(path, sensitive_features=["sex", "age"])) == {1: ("m", 30), 2: ("f", 40), 3: ("m", 40)}
    assert groups_of(read_votes(path, sensitive_features="task")) == {1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (["sex", "age"], {}),
        (TASKS, {}),
        (TASKS.set_index("task"), {}),
        (["sex", "age"], {"tasks": TASKS}),
        (["sex", "age"], {"tasks": TASKS.set_index("task")}),
        (["sex", "age"], {"tasks": pl.from_pandas(TASKS)}),
    ],
)
def test_several_columns_are_intersected(given: Any, options: dict[str, Any]) -> None:
    table = read_votes(VOTES, sensitive_features=given, **options)
    assert groups_of(table) == {1: ("m", 30), 2: ("f", 40), 3: ("m", 40)}
    assert table.groups is not None
    assert table.groups.to_list() == [("f", 40), ("m", 30), ("m", 40)]


def test_a_column_is_looked_for_in_the_tasks_then_in_the_votes() -> None:
    other = TASKS.assign(sex="u")
    assert set(groups_of(read_votes(VOTES, sensitive_features="sex", tasks=other)).values()) == {"u"}
    assert groups_of(read_votes(VOTES, sensitive_features="sex", tasks=other.drop(columns="sex"))) == BY_TASK


def test_one_row_of_a_task_may_lack_its_group() -> None:
    assert groups_of(read_votes(VOTES, sensitive_features="holes")) == {1: 1, 2: 2, 3: 2}


MANY = pd.DataFrame({"task": range(8), "worker": 1, "label": 1})


@pytest.mark.parametrize(
    ("votes", "given", "message"),
    [
        (VOTES, {1: "m"}, "2 of 3 tasks have no group: 2, 3; give each task a group, or leave these tasks out"),
        (VOTES, {}, "3 of 3 tasks have no group: 1, 2, 3;"),
        (VOTES, {"1": "m", 2: None, 3: float("nan")}, "2 of 3 tasks have no group: 2, 3;"),
        (VOTES, "hole", "1 of 3 tasks have no group: 2;"),
        (VOTES, ["sex", "hole"], "1 of 3 tasks have no group: 2;"),
        (VOTES, TASKS.assign(none=None), "3 of 3 tasks have no group"),
        (MANY, {0: "a"}, "7 of 8 tasks have no group: 1, 2, 3, 4, 5 and 2 more;"),
        (VOTES.assign(task=["01", "01", "02", "03"]), BY_TASK, "3 of 3 tasks have no group: '01', '02', '03'"),
        (VOTES, "worker", "1 tasks have more than one group: 1; a task belongs to one"),
        (VOTES, pd.concat([TASKS, TASKS.assign(sex="z")]), "3 tasks have more than one group: 1, 2, 3;"),
        (VOTES, ["m", 1], "go by task: .* not list"),
        (VOTES, np.array(["m", "f", "m"]), "go by task: .* not ndarray"),
        (VOTES, pl.Series(["m", "f", "m"]), "go by task: .* not Series"),
        (VOTES, 5, "go by task: .* not int"),
        (VOTES, {1: ["m"], 2: ["f"], 3: ["m"]}, "hashable"),
    ],
)
def test_groups_that_do_not_fit(votes: pd.DataFrame, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_votes(votes, sensitive_features=given)


@pytest.mark.parametrize(
    ("given", "tasks", "message"),
    [
        ("sx", None, "No column 'sx' in the votes; its columns are .* Did you mean 'sex'"),
        ("sx", TASKS, "No column 'sx' in the tasks table; its columns are 'task', 'sex', 'age'. Did you mean 'sex'"),
        (["sex", "hole"], TASKS, "No column 'hole' in the tasks table"),
        ("sex", TASKS.drop(columns="task"), "No column 'task' .or item, question. in the tasks table"),
        (TASKS[["task"]], None, "the table of tasks has no column besides 'task'"),
        (TASKS[["sex"]], None, "No column 'task'"),
    ],
)
def test_columns_that_are_not_there(given: Any, tasks: Any, message: str) -> None:
    with pytest.raises(MissingColumnError, match=message):
        read_votes(VOTES, sensitive_features=given, tasks=tasks)


def test_tables_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="There is no file"):
        read_votes(VOTES, sensitive_features="sex", tasks=tmp_path / "none.csv")
    with pytest.raises(InputError, match="several columns of one name: 'sex' 2 times"):
        read_votes(VOTES, sensitive_features="sex", tasks=pd.concat([TASKS, TASKS[["sex"]]], axis=1))
    with pytest.raises(InputError, match="Columns 'sex' were named, but there is no table"):
        attach_groups(read_votes(VOTES), "sex")


# name: (labels of the votes, truth, classes, class of each task)
GOLD: dict[str, tuple[list[Any], Any, list[Any], list[int]]] = {
    "series": (list("xyxy"), pd.Series({1: "x", 3: "y"}), ["x", "y"], [0, -1, 1]),
    "dict with unknown tasks": (list("xyxy"), {1: "x", 77: "z"}, ["x", "y"], [0, -1, -1]),
    "label nobody voted for": (list("xyxy"), {1: "w"}, ["w", "x", "y"], [0, -1, -1]),
    "frame": (list("xyxy"), pd.DataFrame({"task": [1], "label": ["y"]}), ["x", "y"], [1, -1, -1]),
    "frame with more": (list("xyxy"), pd.DataFrame({"task": [1], "n": 1, "truth": ["y"]}), ["x", "y"], [1, -1, -1]),
    "polars": (list("xyxy"), pl.DataFrame({"task": [1], "true_label": ["y"]}), ["x", "y"], [1, -1, -1]),
    "none known": (list("xyxy"), {1: None, 2: float("nan")}, ["x", "y"], [-1, -1, -1]),
    "empty": (list("xyxy"), {}, ["x", "y"], [-1, -1, -1]),
    "numbers as text": ([0, 1, 0, 1], {1: "0", 2: "1"}, [0, 1], [0, 1, -1]),
    "numbers as float": ([0, 1, 0, 1], pd.Series([1.0, np.nan, 0.0], index=[1, 2, 3]), [0, 1], [1, -1, 0]),
    "text as numbers": (list("0101"), {1: 0, 2: 1}, ["0", "1"], [0, 1, -1]),
    "new number among texts": (list("0101"), {1: 0, 2: 7}, [7, "0", "1"], [1, 0, -1]),
    "bools as text": ([True, False, True, False], {1: "True", 2: "False"}, [False, True], [1, 0, -1]),
    "bools as lower text": ([True, False, True, False], {1: "true"}, [False, True], [1, -1, -1]),
    "text as bools": (["True", "False"] * 2, {1: True, 2: False}, ["False", "True"], [1, 0, -1]),
    "given twice": (list("xyxy"), pd.DataFrame({"task": [1, 1], "label": ["y", "y"]}), ["x", "y"], [1, -1, -1]),
}


@pytest.mark.parametrize("name", GOLD)
def test_gold_codes(name: str) -> None:
    labels, truth, classes, codes = GOLD[name]
    before = read_votes(VOTES.assign(label=labels))
    table, gold = gold_codes(before, truth)
    assert table.classes.to_list() == classes
    assert gold.tolist() == codes
    values = table.classes.to_list()
    assert [values[code] for code in table.label] == labels  # the votes still stand for the same labels


def test_gold_pairs_keep_every_pair() -> None:
    truth = pd.DataFrame({"task": [1, 1, 3, 9, 2], "label": ["y", "x", "z", "x", None]})
    task, label, classes = gold_pairs(read_votes(VOTES), truth)
    assert classes.to_list() == ["x", "y", "z"]
    assert list(zip(task.tolist(), label.tolist(), strict=True)) == [(0, 1), (0, 0), (2, 2)]


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (pd.DataFrame({"task": [1, 1, 2, 2], "label": list("xyxy")}), "2 tasks have more than one true label: 1, 2"),
        (
            pd.DataFrame({"task": [1], "a": [1], "b": [2]}),
            "must be one column; got several. Name them 'label' or 'truth'",
        ),
        (["x", "y", "x"], "these 3 look like values of tasks: 'x', 'y'"),
        (3, "go by task"),
    ],
)
def test_gold_that_does_not_fit(truth: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gold_codes(read_votes(VOTES), truth)


def test_facts_of_mixed_types(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"task": 1, "truth": "x"}\n{"task": "2", "truth": 5}\n{"task": 3}\n')
    table, gold = gold_codes(read_votes(VOTES), read_facts(path, "truth"))
    assert table.classes.to_list() == [5, "x", "y"]
    assert gold.tolist() == [1, 0, -1]
    with pytest.raises(MissingColumnError, match=r"No column 'turth' .* Did you mean 'truth'"):
        read_facts(path, "turth")


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        (None, [np.nan, np.nan]),
        ({"b": 2, "c": 3}, [np.nan, 2.0]),
        (pd.Series({"a": 0.5, "b": 1.0}), [0.5, 1.0]),
        (pd.DataFrame({"worker": ["b", "a"], "skill": [1, 2]}), [2.0, 1.0]),
        (pl.DataFrame({"performer": ["b"], "skill": [0.25], "more": ["x"]}), [np.nan, 0.25]),
        (pd.DataFrame({"worker": ["a"], "skill": pd.array([None], dtype="Float64")}), [np.nan, np.nan]),
    ],
)
def test_numbers_by_worker(given: Any, numbers: list[float]) -> None:
    np.testing.assert_array_equal(Numbers.read(given).of(read_votes(VOTES).workers), numbers)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "high"}, "The values given by worker must be numbers"),
        (pd.DataFrame({"skill": [1]}), "No column 'worker'"),
        (pd.DataFrame({"worker": ["a"]}), "has no column besides 'worker'"),
    ],
)
def test_numbers_that_are_none(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Numbers.read(given).of(read_votes(VOTES).workers)


def test_true_labels_in_a_table_with_other_columns() -> None:
    """A column named as labels are is taken; several columns without such a name are refused."""
    table = read_votes(pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": ["a", "b"]}))
    rows = pd.DataFrame({"task": [1, 2], "note": ["x", "y"], "truth": ["b", "c"]})
    truth, strange = truth_codes(table, rows)
    assert (truth.tolist(), strange) == ([1, -2], ["c"])
    assert gold_codes(table, rows)[1].tolist() == [1, 2]
    readers: tuple[Any, ...] = (truth_codes, gold_codes)
    for read in readers:
        with pytest.raises(InputError, match="True labels must be one column; got several"):
            read(table, rows.rename(columns={"truth": "other"}))


def test_lists_of_values_are_told_from_names_of_columns() -> None:
    """A list of texts names columns; values in their place, which repeat, get a message that says what to write."""
    values = ["m", "f", "m"]
    for tasks in (None, TASKS):
        with pytest.raises(InputError, match=r"these 3 look like values of tasks: 'm', 'f'. Values go by task"):
            read_votes(VOTES[["task", "worker", "label"]], sensitive_features=values, tasks=tasks)
    with pytest.raises(InputError, match="look like values of tasks"):
        FairCrowd(MajorityVote(), constraints=[ChangeBudget(0.5), DemographicParity(0.5)]).fit(
            VOTES[["task", "worker", "label"]], sensitive_features=values
        )
    assert groups_of(read_votes(VOTES, sensitive_features=["sex", "sex"]))[1] == ("m", "m")
    posterior = pd.DataFrame({"x": [0.5, 0.6, 0.1], "y": [0.5, 0.4, 0.9]}, index=[1, 2, 3])
    with pytest.raises(InputError, match=r"has 1 row for 3 tasks. If 'sex' is the name .* frame\[\['sex'\]\]"):
        make_fair(posterior, ["sex"], epsilon=0.5)
    with pytest.raises(InputError, match=r"there is no table to find them in; give the values .* frame\['sex'\]"):
        make_fair(posterior, "sex", epsilon=0.5)


def test_a_score_takes_the_name_of_a_column_in_a_list() -> None:
    votes, truth = VOTES[["task", "worker", "label"]], {1: "x", 2: "x", 3: "x"}
    tasks = TASKS.assign(truth=TASKS.task.map(truth))
    fair = FairCrowd(MajorityVote(), epsilon=1.0, min_group=1).fit(votes, sensitive_features="sex", tasks=tasks)
    assert fair.score(["truth"]) == fair.score("truth") == fair.score(truth)
    with pytest.raises(InputError, match="look like values of tasks: 'x'"):
        fair.score(["x", "x", "x"])
