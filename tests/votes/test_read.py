"""Votes from files and frames: the same table from every source, and an account of every row."""

import gzip
import json
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd import VoteTable, read_votes
from faircrowd.errors import DataWarning, FileError, InputError, MissingColumnError, OptionError
from faircrowd.votes import VotesReport
from faircrowd.votes.readers import read_header
from strategies import shuffles, vote_frames

pytestmark = pytest.mark.filterwarnings("ignore:.* line break in it:faircrowd.errors.DataWarning")

ROWS = [("t2", 7, "no"), ("t1", 7, "yes"), ("t1", 3, "no"), ("t3 é,\n", 12, 'y"s'), ("t2", 3, "no")]
VOTES = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


def csv_text(frame: pd.DataFrame = VOTES, delimiter: str = ",") -> str:
    return frame.to_csv(index=False, sep=delimiter, lineterminator="\n")


def json_text(frame: pd.DataFrame = VOTES) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in frame.to_dict("records"))


def rows_of(table: VoteTable) -> list[tuple[Any, Any, Any]]:
    """All votes as values, in the table's order."""
    tasks, workers, classes = table.tasks.to_list(), table.workers.to_list(), table.classes.to_list()
    return [
        (tasks[task], workers[table.worker[vote]], classes[table.label[vote]])
        for task in range(table.n_tasks)
        for vote in range(table.offsets[task], table.offsets[task + 1])
    ]


def quietly(source: Any, **options: Any) -> VoteTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read_votes(source, **options)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
        return path

    return write


SOURCES: dict[str, Callable[[Any], Any]] = {
    "csv": lambda write: write("votes.csv", csv_text()),
    "path as text": lambda write: str(write("votes.csv", csv_text())),
    "upper case": lambda write: write("VOTES.CSV", csv_text()),
    "csv.gz": lambda write: write("votes.csv.gz", csv_text()),
    "csv.GZ": lambda write: write("votes.csv.GZ", csv_text()),
    "dots in the name": lambda write: write("votes.v1.2.csv", csv_text()),
    "tsv": lambda write: write("votes.tsv", csv_text(delimiter="\t")),
    "tsv.gz": lambda write: write("votes.tsv.gz", csv_text(delimiter="\t")),
    "BOM": lambda write: write("votes.csv", "\ufeff" + csv_text()),
    "no last newline": lambda write: write("votes.csv", csv_text().rstrip("\n")),
    "blank lines": lambda write: write("votes.csv", csv_text().replace("t1,7", "\nt1,7") + "\n\n"),
    "more columns": lambda write: write("votes.csv", csv_text(VOTES.assign(note="é", task_2=1))),
    "jsonl": lambda write: write("votes.jsonl", json_text()),
    "jsonl.gz": lambda write: write("votes.jsonl.gz", json_text()),
    "ndjson": lambda write: write("votes.ndjson", json_text()),
    "jsonl BOM": lambda write: write("votes.jsonl", "\ufeff" + json_text()),
    "jsonl CRLF": lambda write: write("votes.jsonl", json_text().replace("\n", "\r\n")),
    "jsonl blank lines": lambda write: write("votes.jsonl", "\n" + json_text().replace("\n", "\n\n")),
    "pandas": lambda write: VOTES,
    "pandas objects": lambda write: VOTES.astype(object),
    "pandas categories": lambda write: VOTES.astype("category"),
    "pandas arrow": lambda write: VOTES.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, odd index": lambda write: VOTES.set_axis([5, 5, 1, 0, 2]),
    "polars": lambda write: pl.from_pandas(VOTES),
    "polars lazy": lambda write: pl.from_pandas(VOTES).lazy(),
    "polars categories": lambda write: pl.from_pandas(VOTES).cast({"task": pl.Categorical, "label": pl.Categorical}),
    "pyarrow": lambda write: pa.Table.from_pandas(VOTES),
    "pyarrow chunks": lambda write: pa.concat_tables(pa.Table.from_pandas(part) for part in (VOTES[:2], VOTES[2:])),
}


def parquet(write: Any) -> Path:
    path = write("votes.parquet", b"")
    pq.write_table(pa.Table.from_pandas(VOTES), path, row_group_size=2)
    return path


SOURCES["parquet"] = parquet


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_table(name: str, write: Callable[..., Path]) -> None:
    table = read_votes(SOURCES[name](write))
    assert rows_of(table) == sorted(ROWS)
    assert repr(table) == "VoteTable(5 votes, 3 tasks, 3 workers, 3 classes)"
    assert [type(worker) for worker in table.workers.to_list()] == [int] * 3
    assert table.votes_per_task.tolist() == [2, 2, 1]
    assert table.votes_per_worker.tolist() == [2, 2, 1]
    assert table.report == VotesReport(rows_read=5, line_breaks={"task": (1, "t3 é,\n")})


def test_a_csv_of_crlf_lines_keeps_quoted_newlines(write: Callable[..., Path]) -> None:
    path = write("votes.csv", 'task,worker,label\r\n1,"a\r\nb",x\r\n')
    assert rows_of(read_votes(path)) == [(1, "a\r\nb", "x")]


@pytest.mark.parametrize("delimiter", [";", "|", "\t", "\\t", " "])
def test_delimiters(delimiter: str, write: Callable[..., Path]) -> None:
    path = write("votes.csv", csv_text(delimiter=delimiter.replace("\\t", "\t")))
    assert rows_of(read_votes(path, delimiter=delimiter)) == sorted(ROWS)


@pytest.mark.parametrize("delimiter", ["", "||", "；", "\n", '"'])
def test_delimiters_that_are_none(delimiter: str, write: Callable[..., Path]) -> None:
    with pytest.raises(OptionError, match="must be one plain character"):
        read_votes(write("votes.csv", csv_text()), delimiter=delimiter)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["7", "-3", "0", "10"], [-3, 0, 7, 10]),
        (["999999999999999999", "1"], [1, 999999999999999999]),
        (["007", "8"], ["007", "8"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["+1", "2"], ["+1", "2"]),
        (["-0", "2"], ["-0", "2"]),
        (["1e3", "2"], ["1e3", "2"]),
        (["1 ", "2"], ["1 ", "2"]),
        (["1234567890123456789", "1"], ["1", "1234567890123456789"]),
        (["True", "False"], ["False", "True"]),
        (["NA", "null", "None"], ["NA", "None", "null"]),
        (["2020-01-01", "2021-01-01"], ["2020-01-01", "2021-01-01"]),
    ],
)
def test_cells_of_a_csv_stay_as_written(cells: list[str], values: list[Any], write: Callable[..., Path]) -> None:
    path = write("votes.csv", "task,worker,label\n" + "".join(f"{cell},w,l\n" for cell in cells))
    found = read_votes(path).tasks.to_list()
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_json_values_keep_their_types(write: Callable[..., Path]) -> None:
    tasks = [1, "1", 1.5, True, 2**70, "2020-01-01", "a\u2028b", 12345678901234567891]
    path = write("votes.jsonl", json_text(pd.DataFrame({"task": tasks, "worker": "w", "label": "l"}, dtype=object)))
    found = read_votes(path).tasks.to_list()
    assert sorted(map(repr, found)) == sorted(map(repr, tasks))


@pytest.mark.parametrize(
    "tasks",
    [[12345678901234567890, 12345678901234567891], [2**53, 2**53 + 1, 0.5], [1, 2.5], ["2020-01-01", "2020-01-02"]],
)
def test_json_numbers_and_dates_are_not_rounded_to_arrow(tasks: list[Any], write: Callable[..., Path]) -> None:
    path = write("votes.jsonl", json_text(pd.DataFrame({"task": tasks, "worker": "w", "label": "l"}, dtype=object)))
    assert sorted(map(repr, read_votes(path).tasks.to_list())) == sorted(map(repr, tasks))


def test_a_json_field_may_lack_in_some_lines(write: Callable[..., Path]) -> None:
    path = write("votes.jsonl", '{"label": "a", "task": 1}\n{"task": 1, "worker": 2, "label": "b"}\n{"task": 2}\n')
    assert read_header(path) == ["label", "task", "worker"]
    with pytest.warns(DataWarning) as caught:
        table = read_votes(path)
    assert rows_of(table) == [(1, 2, "b")]
    assert [str(warning.message) for warning in caught] == [
        "2 of 3 rows set aside: no worker (on_missing='drop')",
        "1 task left with no vote: 2",
    ]


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["item", "annotator", "answer"], {}),
        (["question", "performer", "label"], {}),
        (["task", "annotator_id", "answer"], {}),
        (["row", "who", "what"], {"task": "row", "worker": "who", "label": "what"}),
        (["label", "task", "worker"], {"task": "label", "worker": "task", "label": "worker"}),
    ],
)
def test_names_of_columns(names: list[str], options: dict[str, str], write: Callable[..., Path]) -> None:
    frame = VOTES.set_axis(names, axis=1)
    assert rows_of(read_votes(frame, **options)) == sorted(ROWS)
    assert rows_of(read_votes(write("votes.csv", csv_text(frame)), **options)) == sorted(ROWS)


def test_the_proper_name_wins_over_an_alias() -> None:
    assert rows_of(read_votes(VOTES.assign(item=0, answer="x"))) == sorted(ROWS)


@pytest.mark.parametrize(
    ("frame", "options", "kind", "message"),
    [
        (
            VOTES.drop(columns="label"),
            {},
            MissingColumnError,
            "No column 'label' .or answer. in the votes; its columns are",
        ),
        (VOTES.rename(columns={"task": "tsk"}), {}, MissingColumnError, "Did you mean 'tsk'. Name it with task="),
        (VOTES, {"task": "tasc"}, MissingColumnError, "No column 'tasc' in the votes.* Did you mean 'task'.$"),
        (VOTES.drop(columns="task").assign(item=1, question=2), {}, InputError, "Both 'item' and 'question'"),
        (pd.concat([VOTES, VOTES[["label"]]], axis=1), {}, InputError, "several columns of one name: 'label' 2 times"),
        (VOTES, {"worker": "task"}, InputError, "'task' of the votes was named as task and as worker"),
        (VOTES.set_axis([0, 1, 2], axis=1), {}, MissingColumnError, "its columns are 0, 1, 2"),
        (pd.DataFrame(), {}, MissingColumnError, "its columns are none"),
        (VOTES.assign(label=[["x"]] * 5), {}, InputError, "hashable"),
        ([1, 2], {}, InputError, "must be a path or a frame .*, not list"),
        (None, {}, InputError, "not NoneType"),
        (VOTES["task"], {}, InputError, "not Series"),
        (VOTES, {"on_duplicate": "lst"}, OptionError, "on_duplicate='lst' is not known.* Did you mean 'last'"),
        (VOTES, {"on_missing": "keep"}, OptionError, "on_missing='keep' is not known; use one of 'drop', 'error'"),
    ],
)
def test_what_cannot_be_read(frame: Any, options: dict[str, str], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        read_votes(frame, **options)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.csv", b"task,worker,label\n1,2\n", "Row #2: Expected 3 columns, got 2"),
        ("v.csv", b"task,worker,label\n1,2,3,4\n", "Row #2: Expected 3 columns, got 4"),
        ("v.csv", b"task,worker,label", "has no rows"),
        ("v.csv", b"\n \n", "No column|no rows"),
        ("v.csv", b"task,worker,label,label\n1,2,3,4\n", "'label' occurs 2 times"),
        ("v.csv", b"task;worker;label\n1;2;3\n", "columns are 'task;worker;label'. Is the delimiter right"),
        ("v.csv", b"task,worker,label\n1,\x00,3\n", "NUL bytes"),
        ("v.csv", b"task,worker,label\n1,\xff,3\n", "not UTF-8"),
        ("v.csv", "task,worker,label\n1,é,3\n".encode("utf-16"), "NUL bytes.*UTF-16"),
        ("v.jsonl", b'{"task": 1}\n[1]\n', "line 2: not a JSON object"),
        ("v.jsonl", b'{"task": 1}\n\n{"task"\n', "line 3: not JSON"),
        ("v.jsonl", b'{"task": ' + b"[" * 100_000, "line 1: not JSON .maximum recursion"),
        ("v.jsonl", b'{"task": ' + b"9" * 5000 + b"}", "line 1: not JSON .Exceeds the limit"),
        ("v.jsonl", b'{"task": 1, "worker": "\xff", "label": 1}\n', "not UTF-8"),
        ("v.jsonl", b'{"task": 1, "worker": "\\ud800", "label": 1}\n', "half a character"),
        ("v.jsonl", b'{"task": 1, "worker": [1], "label": 1}\n', "nested"),
        ("v.jsonl", b'{"task": 1, "worker": {"a": 1}, "label": 1}\n{"task": 1, "worker": 2, "label": 1}\n', "hashable"),
        ("v.parquet", b"PAR1 and more", "magic bytes"),
        ("v.txt", b"task", "ending '.txt' is not known"),
        ("v", b"task", "ending '.none.' is not known"),
        ("v.parquet.gz", b"", "ending '.gz' is not known"),
        ("v.csv.zip", b"task", "ending '.zip' is not known"),
        ("v.csv", b"", "is empty .0 bytes"),
    ],
)
def test_broken_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content or (b"" if name == "v.csv" else b"x"))
    with pytest.raises(InputError, match=message) as caught:
        read_votes(path)
    assert "\n" not in str(caught.value)


def test_a_bad_row_far_down_is_numbered(write: Callable[..., Path]) -> None:
    rows = 600_000
    path = write("votes.csv", "task,worker,label\n" + "123456789,some worker,some label\n" * rows + "1,2\n")
    with pytest.raises(FileError, match=rf"Row #{rows + 2}: Expected 3 columns, got 2: 1,2"):
        read_votes(path)


@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.jsonl", "votes.parquet"])
def test_a_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    missing = tmp_path / name.replace("votes", "votse")
    with pytest.raises(FileError, match=rf"There is no file .*{missing.name}. Did you mean '{name}'"):
        read_votes(missing)


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        read_votes(tmp_path)
    with pytest.raises(FileError, match="too long"):
        read_votes("x" * 5000 + ".csv")
    with pytest.raises(FileError, match="There is no file"):
        read_votes("a\0b.csv")
    with pytest.raises(FileError, match="not UTF-8 text; rename"):
        read_votes("a\udcff.csv")


REPEATED = pd.DataFrame(
    [(1, "a", "x"), (1, "b", "x"), (1, "a", "y"), (2, "a", "y"), (1, "a", "z"), (2, "a", "y")],
    columns=["task", "worker", "label"],
)


@pytest.mark.parametrize(
    ("policy", "rows", "aside", "warning"),
    [
        (
            "last",
            [(1, "a", "z"), (1, "b", "x"), (2, "a", "y")],
            3,
            "3 of 6 rows set aside: same task and worker, the last vote counts (on_duplicate='last')",
        ),
        (
            "first",
            [(1, "a", "x"), (1, "b", "x"), (2, "a", "y")],
            3,
            "3 of 6 rows set aside: same task and worker, the first vote counts (on_duplicate='first')",
        ),
        (
            "all",
            [(1, "a", "x"), (1, "a", "y"), (1, "a", "z"), (1, "b", "x"), (2, "a", "y"), (2, "a", "y")],
            0,
            "3 rows repeat a task and worker and were kept (on_duplicate='all')",
        ),
    ],
)
def test_repeated_votes(policy: str, rows: list[Any], aside: int, warning: str) -> None:
    with pytest.warns(DataWarning) as caught:
        table = read_votes(REPEATED, on_duplicate=policy)
    assert rows_of(table) == rows
    assert [str(one.message) for one in caught] == [warning]
    assert (table.report.rows_repeated, table.report.rows_aside) == (3, aside)
    assert table.report.rows_read == table.n_votes + aside
    used = {label for _, _, label in rows}
    assert set(table.classes.to_list()) == used  # a class that lost its only votes is gone


def test_repeated_votes_can_be_an_error() -> None:
    with pytest.raises(InputError, match=r"3 rows repeat a .* pair, such as task 1 and worker 'a'; keep one"):
        read_votes(REPEATED, on_duplicate="error")
    long = pd.DataFrame({"task": ["x" * 10_000] * 2, "worker": 1, "label": 1})
    with pytest.raises(InputError) as caught:
        read_votes(long, on_duplicate="error")
    assert len(str(caught.value)) < 300


def test_many_votes_on_one_task_keep_the_order_of_rows() -> None:
    frame = pd.DataFrame({"task": 0, "worker": [5, 3] * 100, "label": range(200)})
    assert rows_of(quietly(frame)) == [(0, 3, 199), (0, 5, 198)]
    assert rows_of(quietly(frame, on_duplicate="first")) == [(0, 3, 1), (0, 5, 0)]


MISSING = pd.DataFrame(
    [
        (None, None, None),
        ("a", None, None),
        ("b", 1, None),
        ("c", 1, "x"),
        ("d", None, "y"),
        ("c", 2, None),
        (None, 3, "z"),
    ],
    columns=["task", "worker", "label"],
)


def test_missing_values_are_dropped_and_counted() -> None:
    with pytest.warns(DataWarning) as caught:
        table = read_votes(MISSING)
    assert rows_of(table) == [("c", 1, "x")]
    assert (table.n_tasks, table.n_workers, table.n_classes) == (1, 1, 1)
    assert table.report.rows_missing == {"task": 2, "worker": 2, "label": 2}
    assert table.report.rows_aside == 6
    assert table.report.tasks_without_votes == ("a", "b", "d")
    assert [str(one.message) for one in caught] == [
        "2 of 7 rows set aside: no task (on_missing='drop')",
        "2 of 7 rows set aside: no worker (on_missing='drop')",
        "2 of 7 rows set aside: no label (on_missing='drop')",
        "3 tasks left with no vote: 'a', 'b', 'd'",
    ]
    assert table.report.to_dict()["n_tasks_without_votes"] == 3


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("task", "1 of 5 rows have no task .the first is row 3.; fill them in"),
        ("worker", "1 of 5 rows have no worker .the first is row 3."),
        ("label", "1 of 5 rows have no label .the first is row 3.*on_missing='drop'"),
    ],
)
def test_missing_values_can_be_an_error(column: str, message: str) -> None:
    frame = VOTES.astype(object)
    frame.loc[2, column] = None
    with pytest.raises(InputError, match=message):
        read_votes(frame, on_missing="error")
    assert read_votes(VOTES, on_missing="error").n_votes == 5


@pytest.mark.parametrize("cell", ["", '""', "NaN", "nan", "<NA>"])
def test_missing_cells_of_a_csv(cell: str, write: Callable[..., Path]) -> None:
    path = write("votes.csv", f"task,worker,label\n1,2,{cell}\n1,3,x\n")
    with pytest.warns(DataWarning, match="1 of 2 rows set aside: no label"):
        assert rows_of(read_votes(path)) == [(1, 3, "x")]


def test_names_of_lost_tasks_are_cut_short() -> None:
    frame = pd.DataFrame({"task": range(8), "worker": 1, "label": ["x", *[None] * 7]})
    with pytest.warns(DataWarning, match="no label"), pytest.warns(DataWarning, match="1, 2, 3, 4, 5 and 2 more$"):
        read_votes(frame)


@given(vote_frames(allow_missing=True, allow_repeats=True), st.sampled_from(["last", "first", "all"]))
def test_every_row_is_accounted_for(frame: pd.DataFrame, policy: str) -> None:
    table = quietly(frame, on_duplicate=policy)
    report = table.report
    assert report.rows_read == len(frame)
    assert table.n_votes + report.rows_aside == report.rows_read
    assert bool(report.lines()) == bool(report.rows_aside or report.rows_repeated or report.line_breaks)
    complete = frame[~frame.isna().any(axis=1)]
    kept = list(zip(*(complete[name] for name in frame), strict=True))
    if policy != "all":
        pairs: dict[Any, Any] = {}
        for task, worker, label in kept if policy == "last" else kept[::-1]:
            pairs[typed(task), typed(worker)] = typed(label)
        expected = Counter((*pair, label) for pair, label in pairs.items())
    else:
        expected = Counter(tuple(map(typed, row)) for row in kept)
    assert Counter(tuple(map(typed, row)) for row in rows_of(table)) == expected
    gone = {typed(task) for task in frame["task"].dropna()} - {typed(task) for task in complete["task"]}
    assert {typed(task) for task in report.tasks_without_votes} == gone


def typed(value: Any) -> tuple[type, Any]:
    value = value.item() if hasattr(value, "item") else value
    return type(value), value


@given(vote_frames(allow_missing=True).flatmap(lambda frame: st.tuples(st.just(frame), shuffles(frame))))
def test_the_order_of_rows_leaves_no_trace(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    same(*(quietly(frame) for frame in frames))


@given(vote_frames(allow_repeats=True).flatmap(lambda frame: st.tuples(st.just(frame), shuffles(frame))))
def test_nor_where_all_repeated_votes_count(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    same(*(quietly(frame, on_duplicate="all") for frame in frames))


def same(one: VoteTable, other: VoteTable) -> None:
    assert one.report == other.report
    for role in ("tasks", "workers", "classes"):
        assert list(map(typed, getattr(one, role).to_list())) == list(map(typed, getattr(other, role).to_list()))
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.worker.tolist() == other.worker.tolist()
    assert one.label.tolist() == other.label.tolist()


@given(frame=vote_frames(ids=("str", "int", "unicode"), labels=("str", "int", "unicode"), allow_repeats=True))
def test_files_and_frames_agree(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    frame.to_json(folder / "votes.jsonl", orient="records", lines=True, force_ascii=False)
    frame.to_parquet(folder / "votes.parquet")
    expected = quietly(frame)
    for path in sorted(folder.iterdir()):
        same(quietly(path), expected)
    same(quietly(pl.from_pandas(frame)), expected)
    frame.to_csv(folder / "votes.csv", index=False)
    rows = rows_of(quietly(folder / "votes.csv"))  # a column of "1" and "2" becomes integers
    assert Counter(tuple(map(str, row)) for row in rows) == Counter(tuple(map(str, row)) for row in rows_of(expected))


def test_a_label_may_not_be_a_text() -> None:
    frame = pd.DataFrame({"task": 1, "worker": [1, 2], "label": ["x" * 100_000, "y"]})
    assert read_votes(frame).n_classes == 2
    with pytest.raises(InputError, match="A label in the votes is 100,001 characters long"):
        read_votes(frame.replace("x" * 100_000, "x" * 100_001))


def test_no_rows() -> None:
    table = read_votes(VOTES[:0])
    assert (table.n_votes, table.n_tasks, table.n_workers, table.n_classes) == (0, 0, 0, 0)
    assert table.offsets.tolist() == [0]
    assert table.report.lines() == []
