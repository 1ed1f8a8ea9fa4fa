"""Known labels in other capitals or with spaces are refused; names of columns in other capitals are found."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from faircrowd import DawidSkene, read_votes
from faircrowd.errors import DataWarning, InputError, MissingColumnError
from faircrowd.votes.groups import gold_codes, truth_codes

VOTES = pd.DataFrame(
    {"task": [1, 1, 2, 2, 3, 3], "worker": [1, 2] * 3, "label": ["yes", "no", "no", "no", "yes", "yes"]}
)


@pytest.mark.parametrize("known", ["Yes", "YES", " yes", "yes ", "y\u00a0es"])
def test_a_known_label_in_other_words_is_refused(known: str) -> None:
    table = read_votes(VOTES)
    if known == "y\u00a0es":  # a space inside is another word
        assert gold_codes(table, {1: known})[0].n_classes == 3
        return
    for read in (gold_codes, truth_codes):
        with pytest.raises(InputError, match=r"The known label '.*' is no label of the votes; did you mean 'yes'\?"):
            read(table, {1: known, 2: "no"})
    with pytest.raises(InputError, match="did you mean 'yes'"):
        DawidSkene().fit(VOTES, {1: known})


def test_known_labels_that_are_classes_or_new_are_taken() -> None:
    both = VOTES.replace({"label": {"no": "Yes"}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = read_votes(both)
    assert gold_codes(table, {1: "Yes", 2: "yes", 3: "maybe"})[0].classes.to_list() == ["Yes", "maybe", "yes"]


@pytest.mark.parametrize(
    "names",
    [
        ("Task", "WORKER", "Label"),
        ("TASK ", "Annotator ID", "Answer"),
        ("Item", "annotator-id", " label"),
        ("QUESTION", "Performer", "LABEL"),
    ],
)
def test_columns_in_other_capitals_are_found(names: tuple[str, ...], tmp_path: Path) -> None:
    given = VOTES.set_axis(list(names), axis=1)
    wanted = read_votes(VOTES)
    assert read_votes(given).n_votes == wanted.n_votes
    given.to_csv(tmp_path / "votes.csv", index=False)
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    for read in (read_votes, read_votes_on_disk):
        found: Any = read(tmp_path / "votes.csv")
        assert found.label.tolist() == wanted.label.tolist()
        assert found.tasks.to_list() == [1, 2, 3]


def test_several_candidates_are_an_error() -> None:
    for names, message in (
        (["Task", "TASK", "worker", "label"], "Both 'Task' and 'TASK'"),
        (["Item", "Question", "worker", "label"], "Both 'Item' and 'Question'"),
        (["Task", "item", "worker", "label"], "Both 'item' and 'Task'"),
    ):
        frame = pd.DataFrame([[1, 2, 3, 4]], columns=names)
        with pytest.raises(InputError, match=message):
            read_votes(frame)
    exact = pd.DataFrame([[1, 2, 3, 4]], columns=["task", "Task", "worker", "label"])
    assert read_votes(exact).tasks.to_list() == [1]
    with pytest.raises(MissingColumnError, match="Did you mean 'Task'"):
        read_votes(exact.rename(columns={"task": "t"}), task="TASK")


def test_tables_of_tasks_are_read_by_the_same_names(tmp_path: Path) -> None:
    tasks = pd.DataFrame({"Task ID": [1, 2, 3], "sex": ["f", "m", "f"]})
    votes = read_votes(VOTES, tasks=tasks, sensitive_features="sex")
    assert votes.groups is not None
    assert (votes.groups.to_list(), votes.report.repeated_tasks) == (["f", "m"], 0)
    VOTES.to_csv(tmp_path / "votes.csv", index=False)
    pd.concat([tasks, tasks[:2]]).to_csv(tmp_path / "tasks.csv", index=False)
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    for read in (read_votes, read_votes_on_disk):
        with pytest.warns(DataWarning, match="2 rows repeat a task in the table of tasks, with the same group"):
            again: Any = read(tmp_path / "votes.csv", tasks=tmp_path / "tasks.csv", sensitive_features="sex")
        assert again.report.repeated_tasks == again.report.to_dict()["repeated_tasks"] == 2
        assert again.group.tolist() == [0, 1, 0]


def test_several_columns_in_one_text_are_explained() -> None:
    tasks = pd.DataFrame({"task": [1, 2, 3], "sex": ["f", "m", "f"], "age": [1, 1, 2]})
    with pytest.raises(
        MissingColumnError, match=r"Give several columns as a list: sensitive_features=\['sex', 'age'\]"
    ):
        read_votes(VOTES, tasks=tasks, sensitive_features="sex, age")
    with pytest.raises(MissingColumnError, match=r"One column has the label; name 'worker' or 'label'\.$"):
        read_votes(VOTES, label="worker,label")


def test_swapped_files_are_recognised(tmp_path: Path) -> None:
    votes, tasks = tmp_path / "votes.csv", tmp_path / "tasks.csv"
    VOTES.to_csv(votes, index=False)
    pd.DataFrame({"task": [1, 2, 3], "sex": ["f", "m", "f"]}).to_csv(tasks, index=False)
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    for read in (read_votes, read_votes_on_disk):
        with pytest.raises(
            InputError, match=r"tasks.csv lacks .* and .*votes.csv has all of them; were votes and tasks"
        ):
            read(tasks, tasks=votes, sensitive_features="sex")
        with pytest.raises(MissingColumnError, match="looks like a table of tasks"):
            read(tasks, tasks=tasks, sensitive_features="sex")
