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
from faircrowd.runs.finished_labels.check_file import CheckOptions, check_file
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
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_that_holds_rows_is_refused(read: Any, end: str, tmp_path: Path) -> None:
    """Otherwise 500 votes were lost, and a strange label found, without an error."""
    for changes, words in (
        ({2000: '"b', 2500: 'a"'}, "ends in line 2,501, and would take the 500 rows after it for a part of its value"),
        ({2000: '"b', 2001: 'a"'}, "ends in line 2,002, and would take the row after it for a part of its value"),
        ({2000: '"b', 3000: 'a"'}, "ends in line 3,001, and would take the 1,000 rows after it"),
    ):
        path = written(tmp_path / "votes.csv", changes, end=end)
        with pytest.raises(FileError, match=rf"opens in row 2,000 \(line 2,001\) {words}") as raised:
            read(path)
        assert "each of these lines has 3 columns, as the header has. Was it left open?" in str(raised.value)
        assert str(raised.value).endswith("if it is meant, give the table as Parquet or JSON lines.")
    path.write_bytes(path.read_bytes().rstrip())  # the last row has no line break
    with pytest.raises(FileError, match="would take the 1,000 rows after it"):
        read(path)


@READ
def test_a_quote_that_holds_rows_of_a_column_that_is_not_read_is_refused(read: Any, tmp_path: Path) -> None:
    rows = [f"{task},w{worker},{label},{note}" for task, worker, label, note in _noted({40: '"fine', 44: 'good"'})]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["task,worker,label,note", *rows]) + "\n")
    with pytest.raises(FileError, match=r"opens in row 41 \(line 42\) ends in line 46, and would take the 4 rows"):
        read(path)
    for note in ('"fine\nand good"', '"well,\nyes, no, or, perhaps"', '"so\n\nbe it"', '"x\nyes, a, b, c"'):
        rows = [f"{task},w{worker},{label},{note}" for task, worker, label, note in _noted({40: note})]
        path.write_text("\n".join(["task,worker,label,note", *rows]) + "\n")
        assert read(path).report.rows_read == 100


def _noted(notes: dict[int, str]) -> list[tuple[int, int, str, str]]:
    return [(i // 2, i % 2, "ab"[i % 3 == 0], notes.get(i, "")) for i in range(100)]


@READ
def test_a_label_with_a_line_break_is_noted(read: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", {2000: '"b\nc, d"'})
    with pytest.warns(DataWarning, match=r"1 label has a line break in it: 'b\\nc, d'; .*quote was left open"):
        table = read(path)
    assert table.report.rows_read == 3000
    assert table.report.line_breaks["label"] == (1, "b\nc, d")
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
    with pytest.raises(FileError, match="would take the 400 rows after it"):
        check_file(CheckOptions(labels, 0.1, ("group",)))
    rows[500], rows[900] = '500,0,"1\n2"', rows[900].removesuffix('"')
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


def holds_rows(text: bytes) -> bool:
    """Whether all lines of a row with line breaks would be rows, by cutting out quoted values within a line."""
    rows, row, state, start = list[tuple[str, str]](), "", "start", 0  # each row as it is, and without such values
    short = ""
    for c in text.decode().replace("\r\n", "\n").replace("\r", "\n") + "\n":
        if state == "closed" and c != '"' and "\n" not in short[start:]:
            short = short[:start]  # the value was within a line
        if state == "closed" and c == '"':
            state = "quoted"
        elif state == "quoted":
            state = "closed" if c == '"' else state
        elif c == "\n":
            rows.append((row, short))
            row, short, state = "", "", "start"
            continue
        elif c == ",":
            state = "start"
        elif c == '"' and state == "start":
            state, start = "quoted", len(short)
        else:
            state = "plain"
        row, short = row + c, short + c
    shorts = [short for row, short in rows if row]
    columns = shorts[0].count(",") + 1 if shorts else 0
    for short in shorts[1:]:
        lines = short.replace('"', "").split("\n")
        ids = [{c.isdigit() for c in line.split(",")[0]} for line in lines]
        named = short[:1] not in ("", '"', ",")
        are_full = len(lines) > 1 and columns > 1 and all(line.count(",") + 1 == columns for line in lines)
        if are_full and (not named or all(kinds == ids[0] for kinds in ids)):
            return True
    return False


def test_rows_in_a_quote_are_found_however_the_text_is_cut() -> None:
    choose = random.Random(3)  # noqa: S311
    found = 0
    for _ in range(20_000):
        text = ("a,b\n" + "".join(choose.choice('"",,\n\nab1') for _ in range(choose.randrange(26)))).encode()
        if naive(text)[0]:
            continue
        expected = holds_rows(text)
        found += expected
        for counts in (True, False):
            cuts = sorted(choose.randrange(len(text) + 1) for _ in range(3))
            scan = _Scan()
            for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True):
                scan = scan if scan.is_found else scan.after(text[i:j], ord(","), counts=counts)
            scan = scan if scan.is_found else scan.after(b"\n", ord(","), counts=counts)
            assert (scan.swallowed_line > 0) == expected, (text, cuts, counts)
    assert found > 60


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
            if not counted.is_found:
                counted = counted.after(piece, ord(","))
            if not quick.is_found:
                quick = quick.after(piece, ord(","), counts=False)
        assert counted.is_broken == quick.is_broken, text
        if counted.swallowed_line:
            continue  # rows in a quote; see above
        assert counted.is_broken == expected, text
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
        scan = _Scan().after(text.encode(), ord(","))
        assert scan.is_broken == is_open or scan.swallowed_line, text
    assert min(seen.values()) > 200


def test_arrow_takes_the_rest_of_a_file_for_one_value() -> None:
    """What is refused here is what Arrow would read without a word; if that changes, so may this module."""
    options = pa.csv.ParseOptions(newlines_in_values=True)
    read = pa.csv.read_csv(io.BytesIO(b'task,label\n1,"b\n2,c\n3,d\n'), parse_options=options)
    assert read.to_pylist() == [{"task": 1, "label": "b\n2,c\n3,d\n"}]
