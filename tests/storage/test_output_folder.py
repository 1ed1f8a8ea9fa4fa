"""Output files: all or none, safe in a spreadsheet, with the labels and numbers of the model."""

import csv
import errno
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import faircrowd as fc
from faircrowd.errors import DataWarning, FileError
from faircrowd.report import OutputFolder, label_tables, labels_table, summarise, workers_table
from faircrowd.report.reasons import Reasons
from faircrowd.storage import publish

TABLE = pa.table({"task": [1, 2], "label": ["a", "b"]})


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_files_appear_together_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "run"
    with OutputFolder(out) as folder:
        folder.write_csv("labels.csv", TABLE)
        folder.write_json("summary.json", {"é": [1, None]})
        assert not (out / "labels.csv").exists()
    assert tree(out) == ["labels.csv", "summary.json"]
    assert read_csv(out / "labels.csv") == [["task", "label"], ["1", "a"], ["2", "b"]]
    assert (out / "summary.json").read_text(encoding="utf-8") == '{"é": [1, null]}\n'


def test_files_are_on_the_disk_before_they_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = set()

    def sync(number: int) -> None:
        assert list((tmp_path / "run").glob("*.txt")) == []
        synced.add(os.fstat(number).st_ino)

    monkeypatch.setattr(os, "fsync", sync)
    with OutputFolder(tmp_path / "run") as folder:
        folder.write_text("a.txt", "a")
        folder.write_text("b.txt", "b")
    assert synced == {path.stat().st_ino for path in (tmp_path / "run").iterdir()}


def test_files_that_are_not_kept_can_be_read_until_the_end(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "run", keep=False) as folder:
        folder.write_text("a.txt", "a")
        assert folder.waiting("a.txt").read_text(encoding="utf-8") == "a"
    assert list((tmp_path / "run").iterdir()) == []


def test_large_json_is_laid_out(tmp_path: Path) -> None:
    value = {"names": [f"name {i}" for i in range(50)]}
    with OutputFolder(tmp_path) as folder:
        folder.write_json("summary.json", value)
    text = (tmp_path / "summary.json").read_text()
    assert json.loads(text) == value
    assert len(text.splitlines()) > 50


class Stop(BaseException):
    """Neither an error of ours nor any Exception, as KeyboardInterrupt."""


def write_two(out: Path, summary: Any = None, error: BaseException | None = None) -> None:
    with OutputFolder(out) as folder:
        folder.write_csv("labels.csv", TABLE)
        folder.write_json("summary.json", summary)
        if error is not None:
            raise error


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, Stop])
def test_an_error_inside_leaves_nothing(kind: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(kind):
        write_two(tmp_path / "a" / "b" / "run", error=kind())
    assert tree(tmp_path) == []


def test_an_interrupt_while_the_folder_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **named: Any) -> str:
        made = real(*given, **named)
        signal.raise_signal(signal.SIGINT)
        return made

    real = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_two(tmp_path / "a" / "b" / "run")
    assert tree(tmp_path) == []


def test_an_error_inside_leaves_old_files_alone(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "labels.csv").write_text("old")
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="no"):
        write_two(out, error=ValueError("no"))
    assert tree(out) == ["labels.csv", "notes.txt"]
    assert (out / "labels.csv").read_text() == "old"
    write_two(out)
    assert tree(out) == ["labels.csv", "notes.txt", "summary.json"]
    assert (out / "labels.csv").read_text() == '"task","label"\n1,"a"\n2,"b"\n'
    assert (out / "notes.txt").read_text() == "mine"


def test_what_cannot_be_written_is_refused_inside(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_two(tmp_path / "run", float("nan"))
    assert tree(tmp_path) == []


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"run cannot be written: No space left on device\.$"):
        write_two(tmp_path / "run", error=OSError(errno.ENOSPC, "No space left on device"))
    assert tree(tmp_path) == []


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "run" / "summary.json").mkdir(parents=True)
    with pytest.raises(FileError, match=r"cannot be written: summary\.json in it is a folder"):
        write_two(tmp_path / "run")
    assert tree(tmp_path) == ["run", "run/summary.json"]


def test_folders_of_others_are_not_removed(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "run")
    folder.__enter__()
    (tmp_path / "run" / "theirs.txt").write_text("x")
    folder.__exit__(ValueError, ValueError("no"), None)
    assert tree(tmp_path) == ["run", "run/theirs.txt"]


def write_folder(out: Path, error: BaseException | None = None) -> None:
    with OutputFolder(out) as folder:
        folder.forget("labels.csv", "stale")
        path = folder.new_folder("labels.parquet")
        path.mkdir()
        (path / "new").write_text("new")
        folder.write_json("summary.json", None)
        if error is not None:
            raise error


@pytest.mark.parametrize("others", [(), ("mine",)])
def test_a_folder_appears_with_the_files(
    others: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, but beside a folder that is not ours: that cannot be in two places."""
    exchange, exchanged = publish._exchange, list[bool]()
    monkeypatch.setattr(publish, "_exchange", lambda *paths: exchanged.append(exchange(*paths)) or exchanged[-1])
    out = tmp_path / "run"
    for name in ("labels.parquet", "stale", *others):
        (out / name).mkdir(parents=True)
        (out / name / "old").write_text("old")
    (out / "notes.txt").write_text("mine")
    before = tree(out)
    with pytest.raises(ValueError, match="no"):
        write_folder(out, ValueError("no"))
    assert tree(out) == before
    write_folder(out)
    theirs = [path for name in others for path in (name, f"{name}/old")]
    assert tree(tmp_path / "run") == [
        "labels.parquet", "labels.parquet/new", *theirs, "notes.txt", "summary.json"
    ]  # fmt: skip
    assert tree(tmp_path)[0] == "run"
    assert exchanged == ([] if others or sys.platform != "linux" else [True])


def test_a_folder_in_the_place_of_a_file_and_alone(tmp_path: Path) -> None:
    (tmp_path / "labels.parquet").write_text("old")
    for _ in range(2):  # over a file, then over a folder
        with OutputFolder(tmp_path) as folder:
            folder.new_folder("labels.parquet").mkdir()
        assert tree(tmp_path) == ["labels.parquet"]


def test_moves_are_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.parquet").mkdir()
    (tmp_path / "labels.parquet" / "old").write_text("old")
    rename = os.rename

    def full(old: Path, new: Path) -> None:
        if Path(new) == tmp_path / "summary.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        rename(old, new)

    monkeypatch.setattr(publish, "_exchange", lambda *_: False)
    monkeypatch.setattr(publish.os, "rename", full)
    with pytest.raises(FileError, match="No space left on device"):
        write_folder(tmp_path)
    assert tree(tmp_path) == ["labels.parquet", "labels.parquet/old"]


def test_others_may_pass_to_a_folder_that_waits(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "run") as folder:
        path = folder.new_folder("labels.parquet")
        path.mkdir()
        assert all(place.stat().st_mode & 0o1 for place in (path.parent, path.parent.parent))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "file is a file; name a folder"),
        ("file/below", "cannot be written: Not a directory"),
        ("new/" + "x" * 300, "cannot be written: File name too long"),
        ("new\udcff", "not UTF-8 text; rename"),
    ],
)
def test_places_that_cannot_be_written(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match=message), OutputFolder(tmp_path / name):
        pytest.fail("was entered")
    assert tree(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\n=x", "'\n=x"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("-5\n=x", "'-5\n=x"),
        ("-1-1", "'-1-1"),
        ("a=b", "a=b"),
        ('say "hi", é\n', 'say "hi", é\n'),
        ("", ""),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_formulas_are_neutralised(text: str, written: str, kind: pa.DataType, tmp_path: Path) -> None:
    with OutputFolder(tmp_path) as folder:
        folder.write_csv("t.csv", pa.table({text: pa.array([text, "plain"], kind), "n": [-1, 1]}))
    assert read_csv(tmp_path / "t.csv") == [[written, "n"], [written, "-1"], ["plain", "1"]]


def fitted(frame: pd.DataFrame, **options: Any) -> Any:
    return fc.MajorityVote().fit(fc.read_votes(frame, **options))


def columns(table: pa.Table) -> dict[str, list[Any]]:
    return table.to_pydict()


def test_labels_and_workers() -> None:
    votes = pd.DataFrame(
        [("t1", 1, "x"), ("t1", 2, "x"), ("t1", 3, "y"), ("t2", 1, "y"), ("t2", 2, "x"), ("t2", 3, "y")],
        columns=["task", "worker", "label"],
    )
    model = fitted(votes, sensitive_features={"t1": "g", "t2": "h"})
    assert columns(labels_table(model.votes_, model.posterior_)) == {
        "task": ["t1", "t2"],
        "label": ["x", "y"],
        "votes": [3, 3],
        "posterior_x": [2 / 3, 1 / 3],
        "posterior_y": [1 / 3, 2 / 3],
        "group": ["g", "h"],
    }
    assert columns(workers_table(model.votes_, model.posterior_.label_codes)) == {
        "worker": [1, 2, 3],
        "votes": [2, 2, 2],
        "agreement": [1.0, 0.5, 0.5],
    }


@pytest.mark.filterwarnings("ignore:.* have a line break in them:faircrowd.errors.DataWarning")
@pytest.mark.parametrize("piece", [1, 7, 100, 500])
def test_labels_in_pieces_are_the_same_bytes(piece: int, tmp_path: Path) -> None:
    crowd = fc.simulate_crowd(500, 20, random_state=3)
    tasks = crowd.votes["task"].map(lambda task: f'=task, "{task}"' if task % 3 else f"-{task}\n")
    groups = dict(zip(tasks, crowd.sensitive_features.loc[crowd.votes["task"]], strict=True))
    fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.01).fit(crowd.votes.assign(task=tasks), sensitive_features=groups)
    model, result = fair.estimator_, fair.result_
    given = model.votes_, model.posterior_, result.solved.labels, Reasons.of(result).columns
    with OutputFolder(tmp_path) as folder:
        folder.write_csv("at_once.csv", pa.concat_tables(label_tables(*given)))
        folder.write_csv("pieces.csv", label_tables(*given, piece))
    assert (tmp_path / "at_once.csv").read_bytes() == (tmp_path / "pieces.csv").read_bytes()
    assert len(pd.read_csv(tmp_path / "at_once.csv")) == 500


def test_several_attributes_are_one_group() -> None:
    votes = pd.DataFrame({"task": [1, 2], "worker": 1, "label": ["x", "y"], "side": ["l", "r"], "age": [1, 2]})
    model = fitted(votes, sensitive_features=["side", "age"])
    table = columns(labels_table(model.votes_, model.posterior_))
    assert table["group"] == ["l & 1", "r & 2"]
    assert "posterior_x" in table


@pytest.mark.filterwarnings("ignore::faircrowd.errors.DataWarning")
def test_values_that_look_alike_keep_their_names() -> None:
    votes = pd.DataFrame({"task": [1, "1", 2], "worker": ["w", b"w", "v"], "label": [True, "True", 1]}, dtype=object)
    model = fitted(votes)
    assert columns(labels_table(model.votes_, model.posterior_)) == {
        "task": ["1", "2", "'1'"],
        "label": ["True", "1", "'True'"],
        "votes": [1, 1, 1],
        "posterior_True": [1.0, 0.0, 0.0],
        "posterior_1": [0.0, 1.0, 0.0],
        "posterior_'True'": [0.0, 0.0, 1.0],
    }
    assert columns(workers_table(model.votes_, model.posterior_.label_codes))["worker"] == ["b'w'", "v", "'w'"]
    summary = summarise("majority", model, model.votes_, model.posterior_, None)
    assert summary.class_shares == {"True": 1 / 3, "1": 1 / 3, "'True'": 1 / 3}


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_bytes_are_written_as_text(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"task": pa.array([b"=1", b"\xff2"], kind), "worker": [1, 1], "label": ["x", "y"]})
    model = fc.MajorityVote().fit(table)
    with OutputFolder(tmp_path) as folder:
        folder.write_csv("labels.csv", labels_table(model.votes_, model.posterior_))
    assert [row[0] for row in read_csv(tmp_path / "labels.csv")] == ["task", "'=1", "\\xff2"]


@pytest.mark.parametrize(
    "labels",
    [
        [True, False],
        pd.to_datetime(["2020", "2021"]),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020", periods=2, freq="Y"),
        pd.Categorical(["b", "a"]),
        [("a", 1), ("b", 2)],
        [2**70, 1],
        [0.1, 0.30000000000000004],
    ],
)
def test_labels_of_any_type_can_be_written(labels: Any, tmp_path: Path) -> None:
    model = fitted(pd.DataFrame({"task": [1, 2], "worker": 1, "label": labels}))
    with OutputFolder(tmp_path) as folder:
        folder.write_csv("labels.csv", labels_table(model.votes_, model.posterior_))
    header, *rows = read_csv(tmp_path / "labels.csv")
    assert len(header) == 5
    assert len({row[1] for row in rows}) == 2


def test_a_summary_counts_right() -> None:
    votes = pd.DataFrame({"task": [1, 2, 3, 4, 4], "worker": [1, 1, 1, 1, 2], "label": list("xyyyx")})
    model = fitted(votes, sensitive_features={1: "g", 2: "g", 3: "h", 4: "h"})
    truth = np.array([0, 0, 1, -1], dtype=np.int32)
    summary = summarise("majority", model, model.votes_, model.posterior_, truth)
    assert (summary.votes, summary.tasks, summary.workers, summary.classes) == (5, 4, 2, 2)
    assert summary.class_shares == {"x": 0.5, "y": 0.5}  # the tie of task 4 goes to the first class
    assert summary.group_shares == {"g": {"x": 0.5, "y": 0.5}, "h": {"x": 0.5, "y": 0.5}}
    assert summary.gap == 0.0
    assert summary.agreement == 4 / 5
    assert (summary.accuracy, summary.truths) == (2 / 3, 3)
    assert (summary.rounds, summary.converged) == (None, None)
    lines = dict(summary.lines())
    assert lines["accuracy"] == "66.7% of the 3 tasks whose truth is known"
    assert summary.believed_accuracy == 3.5 / 4
    assert lines["believed"] == "87.5% accuracy: the mean posterior probability of the labels"
    assert (summary.accuracy_before, summary.believed_accuracy_before, summary.real_price) == (None, None, None)
    assert not {"true gap", "warning"} & set(lines)  # three true labels, one of them of h, are too few to say
    assert json.loads(json.dumps(summary.to_dict(), allow_nan=False)) == summary.to_dict()


def test_the_gap_is_the_largest_difference_of_a_class() -> None:
    labels = {"g": "xxxy", "h": "xyyz"}
    rows = [(f"{group}{i}", 1, label, group) for group, all_ in labels.items() for i, label in enumerate(all_)]
    model = fitted(pd.DataFrame(rows, columns=["task", "worker", "label", "group"]), sensitive_features="group")
    summary = summarise("majority", model, model.votes_, model.posterior_, None)
    assert summary.gap == 0.5
    assert dict(summary.lines())["group h"] == "4 tasks, x: 25.0%, y: 50.0%, z: 25.0%"
    assert dict(summary.lines())["gap"] == "0.500 (class x: 75.0% in group g, 25.0% in group h)"


def test_what_a_killed_run_left_is_removed_with_a_word(tmp_path: Path) -> None:
    (tmp_path / ".faircrowd-4194305-1-abcdefgh").mkdir()
    os.utime(tmp_path / ".faircrowd-4194305-1-abcdefgh", (0, 0))
    with pytest.warns(DataWarning, match="removed a folder that a killed run left"), OutputFolder(tmp_path) as folder:
        folder.write_json("summary.json", {})
    assert tree(tmp_path) == ["summary.json"]
