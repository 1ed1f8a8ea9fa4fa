"""Input that cannot be used: one line with the error, exit code 2, and nothing written."""

import contextlib
import gzip
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faircrowd as fc
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.cli.app import app, run
from strategies import examples, vote_frames

Run = Callable[..., tuple[int, str, str]]
Spawn = Callable[..., subprocess.CompletedProcess[str]]

GOOD = "task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n3,b,y\n"
TASKS = "task,group,truth\n1,g,x\n2,h,x\n3,g,y\n"
JSON = b"".join(
    b'{"task": %d, "worker": "w%d", "label": %s}\n' % (i // 3, i % 3, (b"1", b'"x"', b"true", b"1.5")[i % 4])
    for i in range(9)
)
SPLINTERS = [
    b"",
    b",",
    b'"',
    b"\n",
    b"\r",
    b"\0",
    b"{",
    b"]",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"NaN",
    b"1e999",
    b"9" * 25,
]
BROKEN_GZIP = gzip.compress(GOOD.encode() * 1000)[:-20]


def parquet(cut: int | None = None) -> bytes:
    frame = pd.DataFrame([line.split(",") for line in GOOD.splitlines()[1:]], columns=["task", "worker", "label"])
    return frame.to_parquet()[:cut]


# name: (name of the votes file, its content or None, more arguments, part of the message)
FILES: dict[str, tuple[str, str | bytes | None, list[str], str]] = {
    "no file": ("vots.csv", None, [], "There is no file vots.csv. Did you mean 'votes.csv'?"),
    "empty file": ("empty.csv", "", [], "empty.csv is empty (0 bytes)"),
    "spaces": ("v.csv", "  \n \n", [], "No columns 'task'"),
    "header only": ("v.csv", "task,worker,label\n", [], "v.csv has no vote to use"),
    "header without a newline": ("v.csv", "task,worker,label", [], "v.csv cannot be read: it has no rows"),
    "wrong columns": ("v.csv", "a,b,c\n1,2,3\n", [], "its columns are 'a', 'b', 'c'"),
    "no header": (
        "v.csv",
        GOOD.partition("\n")[2],
        [],
        "No columns 'task' (or item, question), 'worker' (or annotator",
    ),
    "wrong delimiter": ("v.csv", GOOD.replace(",", ";"), [], "'task;worker;label'. Is the delimiter right?"),
    "delimiter of two": ("v.csv", GOOD, ["--delimiter", "||"], "delimiter='||' must be one plain character"),
    "not UTF-8": ("v.csv", GOOD.replace("x", "é").encode("latin-1"), [], "v.csv is not UTF-8 text"),
    "header not UTF-8": ("v.csv", GOOD.replace("label", "labél").encode("latin-1"), [], "v.csv is not UTF-8 text"),
    "UTF-16": ("v.csv", GOOD.encode("utf-16"), [], "v.csv holds NUL bytes; it is not text, or it is UTF-16"),
    "NUL bytes": ("v.csv", GOOD.replace("x", "x\0"), [], "v.csv holds NUL bytes"),
    "ragged, short": ("v.csv", GOOD + "4,a\n", [], "Row #7: Expected 3 columns, got 2: 4,a"),
    "ragged, long": ("v.csv", GOOD + "4,a,x,y\n", [], "Row #7: Expected 3 columns, got 4: 4,a,x,y"),
    "quote not closed": (
        "v.csv",
        GOOD + '4,"a,x\n5,b,y\n',
        [],
        "ends inside a quote: the one that opens in row 6",
    ),
    "truncated gzip": ("v.csv.gz", BROKEN_GZIP, [], "v.csv.gz cannot be read: Truncated compressed stream"),
    "no gzip": ("v.csv.gz", GOOD, [], "v.csv.gz cannot be read: zlib inflate failed"),
    "empty gzip": ("v.csv.gz", gzip.compress(b""), [], "v.csv.gz cannot be read: it has no rows"),
    "truncated Parquet": ("v.parquet", parquet(-10), [], "v.parquet cannot be read: Parquet magic bytes not found"),
    "first bytes of Parquet": ("v.parquet", parquet(3), [], "v.parquet cannot be read: Parquet file size is 3 bytes"),
    "CSV called Parquet": ("v.parquet", GOOD, [], "v.parquet cannot be read: Parquet magic bytes not found"),
    "Parquet called CSV": ("v.csv", parquet(), [], "v.csv holds NUL bytes; it is not text"),
    "broken JSON": ("v.jsonl", '{"task": 1}\n{"task\n', [], "v.jsonl, line 2: not JSON"),
    "JSON of lists": ("v.jsonl", "[1, 2, 3]\n", [], "v.jsonl, line 1: not a JSON object"),
    "JSON in JSON": ("v.jsonl", '{"task": {"a": 1}, "worker": 1, "label": 1}\n', [], "holds nested values"),
    "ending": ("v.xlsx", GOOD, [], "the ending '.xlsx' is not known; use .csv"),
    "one vote": ("v.csv", "task,worker,label\n1,a,x\n", [], "v.csv has only one vote to use"),
    "one worker": ("v.csv", "task,worker,label\n1,a,x\n2,a,y\n", [], "v.csv has only one worker ('a') to use"),
    "one class": ("v.csv", "task,worker,label\n1,a,x\n1,b,x\n", [], "v.csv has only one class ('x') to use"),
    "a label of 1 MB": ("v.csv", GOOD + f"4,a,{'x' * 10**6}\n", [], "A label in v.csv is 1,000,000 characters long"),
    "all labels missing": ("v.csv", "task,worker,label\n1,a,\n1,b,\n", [], "v.csv has no vote to use"),
    "missing as an error": (
        "v.csv",
        GOOD + "4,a,\n",
        ["--on-missing", "error"],
        "1 of 6 rows have no label (the first is",
    ),
    "repeated as an error": ("v.csv", GOOD + "1,b,x\n", ["--on-duplicate", "error"], "such as task 1 and worker 'b'"),
    "unknown column": ("v.csv", GOOD, ["--label", "lable"], "No column 'lable' in v.csv; its columns are"),
    "one column for two": ("v.csv", GOOD, ["--worker", "task"], "was named as task and as worker"),
    "two columns for one": ("v.csv", GOOD.replace("worker", "label"), [], "Column 'label' occurs 2 times"),
    "repeated header": ("v.csv", "task,worker,label,label\n1,a,x,y\n", [], "Column 'label' occurs 2 times"),
}

WITH_TASKS = ["--tasks", "tasks.csv"]

# name: (tasks.csv or None, more arguments, part of the message); the votes are good
OPTIONS: dict[str, tuple[str | None, list[str], str]] = {
    "unknown method": (None, ["--method", "dawid"], "--method dawid is not known; use one of 'majority'"),
    "unknown option": (None, ["--methd", "majority"], "No such option: --methd"),
    "number that is none": (None, ["--n-iter", "many"], "Invalid value for '--n-iter'"),
    "number out of range": (None, ["--n-iter", "-1"], "--n-iter must be a whole number of at least 0; got -1"),
    "option of other methods": (None, ["--method", "majority", "--n-iter", "3"], "majority has no option --n-iter"),
    "unknown tie": (None, ["--ties", "random"], "--ties random is not known; use one of 'first', 'last'"),
    "unknown policy": (None, ["--on-duplicate", "frist"], "Did you mean 'first'?"),
    "truth without tasks": (
        None,
        ["--truth", "truth"],
        "--truth and --gold name columns of the tasks table; give --tasks",
    ),
    "bayes without truth": (TASKS, [*WITH_TASKS, "--method", "bayes"], "learns from known labels; give --tasks FILE"),
    "truth in other words": (
        TASKS.replace(",x", ",u").replace(",y", ",v"),
        [*WITH_TASKS, "--truth", "truth"],
        "No value in column 'truth' of tasks.csv is a label of the votes",
    ),
    "gold that is not used": (TASKS, [*WITH_TASKS, "--gold", "truth", "--method", "wawa"], "leave --gold out"),
    "by group without group": (None, ["--by-group"], "--by-group needs --group COLUMN"),
    "by group, other method": (
        TASKS,
        [*WITH_TASKS, "--group", "group", "--by-group", "--method", "glad"],
        "--by-group is for --method dawid-skene and one-coin",
    ),
    "no tasks file": (None, [*WITH_TASKS, "--group", "group"], "There is no file tasks.csv"),
    "group nowhere": (None, ["--group", "group"], "No column 'group' in votes.csv"),
    "group not in tasks": (TASKS, [*WITH_TASKS, "--group", "grup"], "No column 'grup' in tasks.csv; its columns"),
    "truth not in tasks": (TASKS, [*WITH_TASKS, "--truth", "turth"], "Did you mean 'truth'?"),
    "tasks without a task": ("nr,group\n1,g\n", [*WITH_TASKS, "--group", "group"], "No column 'task'"),
    "group missing for some": (
        TASKS.replace("2,h", "2,").replace("3,g", "9,g"),
        [*WITH_TASKS, "--group", "group"],
        "2 of 3 tasks have no group: 2, 3; give each task a group",
    ),
    "two groups for a task": (
        TASKS + "1,h,x\n",
        [*WITH_TASKS, "--group", "group"],
        "1 tasks have more than one group: 1",
    ),
    "two truths for a task": (TASKS + "1,g,y\n", [*WITH_TASKS, "--truth", "truth"], "more than one true label: 1"),
    "no truth that fits": (
        TASKS.replace("\n1", "\n01").replace("\n2", "\n02").replace("\n3", "\n03"),
        [*WITH_TASKS, "--truth", "truth"],
        "No task of votes.csv has a value in column 'truth' of tasks.csv; do the task ids match?",
    ),
    "ragged tasks": (TASKS + "4\n", [*WITH_TASKS, "--group", "group"], "tasks.csv cannot be read"),
}


def check(faircrowd: Run, folder: Path, arguments: list[Any], message: str) -> None:
    """Both ways to fail: a line for people, an object for machines; and no trace on the disk."""
    before = sorted(folder.rglob("*"))
    code, out, err = faircrowd(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("faircrowd: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert message in err
    assert "Traceback" not in err
    assert "this is a bug" not in err
    assert len(err) < 600
    code, out, err = faircrowd(*arguments, "--json")
    assert (code, err) == (2, "")
    said = json.loads(out)
    assert list(said) == ["error"]
    assert message in said["error"]
    assert sorted(folder.rglob("*")) == before


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, place: Path, faircrowd: Run) -> None:
    file, content, more, message = FILES[name]
    if content is not None:
        (place / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    check(faircrowd, place, ["aggregate", file, "--out", "out/run", *more], message)


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str, place: Path, faircrowd: Run) -> None:
    tasks, more, message = OPTIONS[name]
    if tasks is not None:
        (place / "tasks.csv").write_text(tasks)
    check(faircrowd, place, ["aggregate", "votes.csv", "--out", "out/run", *more], message)


def test_the_good_votes_are_good(place: Path, faircrowd: Run) -> None:
    (place / "tasks.csv").write_text(TASKS)
    more = ["--tasks", "tasks.csv", "--group", "group", "--truth", "truth"]
    assert faircrowd("aggregate", "votes.csv", "--out", "out/run", *more)[0] == 0


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("votes.csv", "votes.csv is a file; name a folder for the output"),
        ("votes.csv/below", "votes.csv/below cannot be written: Not a directory"),
        ("new/" + "x" * 300, "cannot be written: File name too long"),
        ("o\udcff", "is not UTF-8 text; rename"),
    ],
)
def test_places_for_the_output(out: str, message: str, place: Path, faircrowd: Run) -> None:
    check(faircrowd, place, ["aggregate", "votes.csv", "--method", "majority", "--out", out], message)


def test_a_folder_for_votes(place: Path, faircrowd: Run) -> None:
    (place / "folder.csv").mkdir()
    check(faircrowd, place, ["aggregate", "folder.csv", "--out", "out"], "folder.csv is a folder; name a file in it")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'. See faircrowd --help."),
        (["aggregate", "votes.csv", "--methd", "x"], "See faircrowd aggregate --help."),
        (["aggregate", "votes.csv", "--group", "a", "--group", "a", "--out", "out"], "--group a is given 2 times"),
        (["apply", ".", "votes.csv", "--out", "new.csv"], ". is a folder; name the rule.json in it."),
        (["aggregate"], "Missing argument"),
        (["aggregate", "votes.csv"], "Missing option '--out'"),
        (["demo", "--out", "votes.csv"], "votes.csv is a file"),
        (["demo", "--random-state", "-1"], "--random-state must be a whole number of at least 0; got -1"),
        (["demo", "--random-state", "one"], "Invalid value for '--random-state'"),
    ],
)
def test_commands(arguments: list[str], message: str, place: Path, faircrowd: Run) -> None:
    check(faircrowd, place, arguments, message)


@pytest.mark.parametrize("arguments", [["--json"], ["--json", "aggregate", "votes.csv", "--out", "out"]])
def test_json_before_the_command(arguments: list[str], place: Path, faircrowd: Run) -> None:
    code, out, err = faircrowd(*arguments)
    assert (code, err) == (2, "")
    assert json.loads(out) == {"error": "--json goes after the command: faircrowd COMMAND --json ..."}
    assert not (place / "out").exists()


def test_old_output_survives_a_failure(place: Path, faircrowd: Run) -> None:
    (place / "out").mkdir()
    (place / "out" / "labels.csv").write_text("old")
    check(faircrowd, place, ["aggregate", "none.csv", "--out", "out"], "There is no file none.csv")
    assert (place / "out" / "labels.csv").read_text() == "old"


def test_a_name_with_control_characters(place: Path, faircrowd: Run) -> None:
    code, _, err = faircrowd("aggregate", "\x1b[2J\nx.csv", "--out", "out")
    assert code == 2
    assert err == "faircrowd: There is no file �[2J x.csv.\n"


@pytest.mark.parametrize("name", ["no file", "truncated gzip", "one class"])
def test_in_a_process_of_its_own(name: str, place: Path, spawn: Spawn) -> None:
    file, content, more, message = FILES[name]
    if content is not None:
        (place / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = spawn("aggregate", file, "--out", "out/run", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("faircrowd: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not (place / "out").exists()


@pytest.mark.filterwarnings("ignore::faircrowd.FaircrowdWarning")
@given(st.data())
def test_no_bytes_are_a_bug(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever a file holds, it is read or refused in one line."""
    ending, content = data.draw(st.sampled_from([(".csv", GOOD.encode()), (".jsonl", JSON), (".parquet", parquet())]))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))
        cut = data.draw(st.integers(0, 12))
        content = content[:place] + data.draw(st.sampled_from(SPLINTERS)) + content[place + cut :]
    path = tmp_path_factory.mktemp("bytes") / f"votes{ending}"
    path.write_bytes(content)
    message = ""
    try:
        table = fc.read_votes(path, on_duplicate="all")
    except fc.FaircrowdError as error:
        message = str(error)
    else:
        assert table.n_votes + table.report.rows_aside == table.report.rows_read
    assert "\n" not in message


@pytest.mark.filterwarnings("ignore::faircrowd.FaircrowdWarning")
@settings(max_examples=examples(50))
@given(votes=vote_frames(allow_missing=True, allow_repeats=True, min_rows=4), method=st.sampled_from(list(AGGREGATORS)))
def test_no_table_is_a_bug(votes: pd.DataFrame, method: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever votes a file holds, there are labels for all its tasks, or one line and no files."""
    folder = tmp_path_factory.mktemp("table")
    rows = votes.astype(object).where(votes.notna(), None).to_dict("records")
    (folder / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = ["--tasks", folder / "votes.jsonl", "--truth", "worker"] if method in ("bayes", "gold-majority") else []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(
            [str(a) for a in ("aggregate", folder / "votes.jsonl", "--method", method, "--out", folder / "o", *more)]
        )
    assert (code == 0) == (folder / "o").exists()
    if code == 0:
        labels = pd.read_csv(folder / "o" / "labels.csv", dtype=str, keep_default_na=False)
        assert labels["task"].is_unique
        assert len(labels) == json.loads((folder / "o" / "summary.json").read_text())["tasks"]
        total = labels.filter(regex="^posterior_").astype(float).sum(axis=1)
        np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-9)
    else:
        assert (code, out.getvalue()) == (2, "")
        assert err.getvalue().count("\n") == 1
        assert "this is a bug" not in err.getvalue()


def test_a_bug_is_one_line_too(place: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("faircrowd.votes.read_votes", broken)
    code, _, err = faircrowd("aggregate", "votes.csv", "--out", "out")
    assert code == 2
    assert err.startswith("faircrowd: this is a bug, please report it: ZeroDivisionError: a b (")
    assert err.count("\n") == 1
    monkeypatch.setenv("FAIRCROWD_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        faircrowd("aggregate", "votes.csv", "--out", "out")


def test_too_large_for_memory(place: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def large(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("faircrowd.votes.read_votes", large)
    check(faircrowd, place, ["aggregate", "votes.csv", "--out", "out"], "not enough memory for votes of this size")


def test_an_interrupted_run_writes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from faircrowd.cli import main

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("faircrowd.runs.write.label_tables", stop)
    with pytest.raises(SystemExit) as ended:
        main(["aggregate", "votes.csv", "--method", "majority", "--out", "out/run"])
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == "faircrowd: interrupted; no results were written."
    assert not (place / "out").exists()


def test_every_command_has_json() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert "as_json" in command.callback.__annotations__


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        (["1,a,x,f", "1,b,x,m"], [], "only one class ('x') to use; a consensus needs at least two. Its labels"),
        (
            ["1,a,x,f", "2,a,y,m"],
            [],
            "only one worker ('a') to use; a consensus needs at least two. Its workers",
        ),
        (
            ["1,a,x,f", "1,b,y,f"],
            ["--label", "who"],
            "column 'who'; if another column is meant ('label'), name",
        ),
    ],
)
def test_one_class_or_worker_says_where_it_looked(
    rows: list[str], more: list[str], message: str, tmp_path: Path, faircrowd: Run
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["task,worker,label,who", *rows]))
    check(faircrowd, tmp_path, ["aggregate", path, *more, "--out", "out"], message)


def test_one_judge_says_which_question_was_read(platforms: Path, tmp_path: Path, faircrowd: Run) -> None:
    export = str(platforms / "label-studio" / "export.json")
    message = "the labels are the answers to 'sev'; if another question is meant ('better', 'flags', 'note'), name it"
    check(faircrowd, tmp_path, ["aggregate", export, "--label", "sev", "--out", "out"], message)
    one = str(platforms / "judges" / "promptfoo_export.json")
    message = "only one judge ('llm-rubric') to use, and no probabilities: the labels of one judge alone"
    check(faircrowd, tmp_path, ["aggregate", one, "--out", "out"], message)
