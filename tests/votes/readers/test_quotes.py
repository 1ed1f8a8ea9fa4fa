"""Quotes that are left open: refused with the row where they open, in every way a text file is read."""

import bz2
import csv
import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from faircrowd import read_votes
from faircrowd.errors import DataWarning, FileError
from faircrowd.runs.check_file import CheckOptions, check_file
from faircrowd.votes.readers import open_source, read_columns, read_header
from faircrowd.votes.readers.quotes import _Scan

ROWS = [(task, f"w{worker}", "ab"[(task + worker) % 2]) for task in range(1000) for worker in range(3)]


def written(path: Path, changes: dict[int, str], separator: str = ",", end: str = "\n") -> Path:
    """Write 3,000 votes; ``changes`` gives what is written for the label of a row, rows counted from 1."""
    lines = [separator.join(("task", "worker", "label"))]
    for number, (task, worker, label) in enumerate(ROWS, start=1):
        lines.append(separator.join((str(task), worker, changes.get(number, label))))
    text = (end.join(lines) + end).encode()
    packed: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}
    path.write_bytes(packed.get(path.suffix, bytes)(text))
    return path


def on_disk(path: Path, **options: Any) -> Any:
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    return read_votes_on_disk(path, **options)


READ = pytest.mark.parametrize("read", [read_votes, on_disk], ids=["memory", "stream"])


@READ
@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.csv.gz", "votes.csv.bz2"])
def test_a_file_that_ends_inside_a_quote_is_refused_with_the_row(read: Any, name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, {2000: '"b'}, "\t" if "tsv" in name else ",")
    with pytest.raises(FileError, match=r"ends inside a quote: the one that opens in row 2,000 \(line 2,001\)"):
        read(path)


@READ
def test_the_row_is_counted_past_quoted_line_breaks_and_empty_lines(read: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", {10: '"a\r\nb"', 20: "a\r\n\r\n\r\n", 2000: '"b'}, end="\r\n")
    with pytest.raises(FileError, match=r"opens in row 2,000 \(line 2,005\)"):
        read(path)


@READ
def test_a_quote_that_the_next_one_closes_is_refused(read: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", {2000: '"b', 2500: '"a"'})
    with pytest.raises(FileError, match=r"opens in row 2,000 \(line 2,001\) ends in line 2,501 inside another value"):
        read(path)
    everywhere = {number: f'"{label}"' for number, (_, _, label) in enumerate(ROWS, start=1)}
    path = written(tmp_path / "quoted.csv", everywhere | {2000: '"b'})
    with pytest.raises(FileError, match=r"opens in row 2,000 \(line 2,001\) ends in line 2,002 inside"):
        read(path)


@READ
def test_a_label_with_a_line_break_is_noted(read: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", {2000: '"b', 2500: 'a"'})
    with pytest.warns(DataWarning, match=r"1 label has a line break in it: 'b\\n666,w2,a\\n.*quote was left open"):
        table = read(path)
    assert table.report.rows_read == 2500
    count, first = table.report.line_breaks["label"]
    assert (count, first.startswith("b\n666,w2,a\n667,")) == (1, True)
    assert table.report.to_dict()["line_breaks"].keys() == {"label"}


@READ
def test_quotes_that_are_closed_or_inside_a_value_are_read(
    read: Any, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = written(tmp_path / "votes.csv", {5: '"a"', 6: '"a ""b"""', 7: '5"', 8: '""', 9: '"x"y'})
    table = read(path, on_missing="drop")
    assert table.classes.to_list() == ['5"', "a", 'a "b"', "b", "xy"]
    assert table.report.line_breaks == {}
    assert [str(warning.message) for warning in recwarn] == ["1 of 3,000 rows set aside: no label (on_missing='drop')"]


def test_a_header_with_an_open_quote_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,"label\n' + "1,a,x\n" * 5)
    with pytest.raises(FileError, match=r"the one that opens in the header \(line 1\) is not closed"):
        read_header(path)


def test_tables_of_tasks_and_files_of_labels_are_refused(tmp_path: Path) -> None:
    votes = written(tmp_path / "votes.csv", {})
    tasks = tmp_path / "tasks.csv"
    notes = ['"' if task == 600 else "x" for task in range(1000)]
    tasks.write_text("task,group,note\n" + "".join(f"{task},{task % 2},{note}\n" for task, note in enumerate(notes)))
    for read in (read_votes, on_disk):
        with pytest.raises(FileError, match=r"tasks.csv ends inside a quote: the one that opens in row 601"):
            read(votes, tasks=tasks, sensitive_features="group")
    labels = tmp_path / "labels.csv"
    rows = [f"{t},{t % 2},{t % 3 % 2}" for t in range(1000)]
    rows[500] = '500,0,"1'
    labels.write_text("\n".join(["task,group,label", *rows]))
    with pytest.raises(FileError, match="row 501"):
        check_file(CheckOptions(labels, 0.1, ("group",)))
    rows[900] += '"'
    labels.write_text("\n".join(["task,group,label", *rows]))
    _, notes = check_file(CheckOptions(labels, 0.1, ("group",)))
    assert any("1 label has a line break in it" in note for note in notes)


def test_an_open_quote_explains_what_the_parser_reports(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"  # the row with the quote has too few columns, and is longer than a block
    path.write_text("task,worker,label\n" + "1,a,x\n" * 100 + '1,"b,x\n' + "1,a,x\n" * 3_000_000)
    with pytest.raises(FileError, match="ends inside a quote: the one that opens in row 101"):
        read_columns(path, ["task", "worker", "label"])


def test_the_delimiter_is_the_one_given(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", {2000: '"b'}, ";")
    with pytest.raises(FileError, match="row 2,000"):
        open_source(path, delimiter=";").columns(["task"])


def naive(text: bytes) -> tuple[bool, int]:
    """Follow the quotes one character at a time, as Arrow documents its parser; return whether they are broken."""
    state, is_long, opened = "start", False, 0
    for place, character in enumerate(text):
        c = chr(character)
        if state == "quoted":
            is_long = is_long or c in "\r\n"
            state = "closed" if c == '"' else state
        elif state == "closed" and c == '"':
            state = "quoted"
        elif state == "closed" and is_long and c not in ",\r\n":
            return True, opened
        elif c in ",\r\n":
            state = "start"
        elif c == '"' and state == "start":
            state, is_long, opened = "quoted", False, place
        else:
            state = "plain"
    return state == "quoted", opened


def test_the_scan_is_that_of_one_character_at_a_time_however_the_text_is_cut() -> None:
    choose = random.Random(0)  # noqa: S311
    broken = 0
    for _ in range(4000):
        text = "".join(choose.choice('"",\n\rab') for _ in range(choose.randrange(30))).encode()
        expected, opened = naive(text)
        broken += expected
        cuts = sorted(choose.randrange(len(text) + 1) for _ in range(3))
        pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        counted, quick = _Scan(), _Scan()
        for piece in pieces:
            if not counted.broken_line:
                counted = counted.after(piece, ord(","))
            if not quick.broken_line:
                quick = quick.after(piece, ord(","), counts=False)
        assert counted.is_broken == quick.is_broken == expected, text
        if expected:
            before = text[:opened].decode()
            assert counted.opened_line == 1 + len(before.replace("\r\n", "\n").replace("\r", "\n")) - len(
                before.replace("\r\n", "").replace("\n", "").replace("\r", "")
            )
    assert 500 < broken < 3500


def test_the_csv_module_agrees_on_where_a_file_ends() -> None:
    choose = random.Random(1)  # noqa: S311
    seen = {True: 0, False: 0}
    for _ in range(4000):
        text = "".join(choose.choice('"",\nab') for _ in range(choose.randrange(25)))
        try:
            list(csv.reader(io.StringIO(text, newline=""), strict=True))
            is_open = False
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                continue  # a value goes on after its closing quote, which is refused only across lines
            is_open = True
        seen[is_open] += 1
        assert _Scan().after(text.encode(), ord(",")).is_broken == is_open, text
    assert min(seen.values()) > 200


def test_arrow_takes_the_rest_of_a_file_for_one_value() -> None:
    """What is refused here is what Arrow would read without a word; if that changes, so may this module."""
    options = pa.csv.ParseOptions(newlines_in_values=True)
    read = pa.csv.read_csv(io.BytesIO(b'task,label\n1,"b\n2,c\n3,d\n'), parse_options=options)
    assert read.to_pylist() == [{"task": 1, "label": "b\n2,c\n3,d\n"}]
