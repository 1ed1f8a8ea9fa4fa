"""A format is one registered reader: memory, stream and the command line then read it, and messages list it."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faircrowd import read_votes
from faircrowd.engines.engine_choice import choose_engine
from faircrowd.errors import DataWarning, FileError, InputError, OptionError
from faircrowd.votes.readers import READERS, Reader, read_columns, read_header, reader_of, register
from faircrowd.votes.vocabulary import as_objects
from votes.readers.toy_format import NAMES, TEXT, registered, toy

FORMATS = ("csv", "tsv", "jsonl", "parquet")


@pytest.fixture(params=[{}, {"streams": False}, {"by_content": True}], ids=["blocks", "columns", "by content"])
def votes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / ("votes.json" if "by_content" in request.param else "votes.toy")
    path.write_text(TEXT)
    with registered(toy(**request.param)):
        yield path


def check(table: Any) -> None:
    assert table.tasks.to_list() == [7, 8, 9, 10]
    assert table.workers.to_list() == ["ann", "bob", "cleo"]
    assert table.groups.to_list() == ["north", "south"]
    assert (table.n_votes, table.group.tolist()) == (11, [0, 1, 0, 1])
    assert table.report.to_dict()["rows_left_out"] == {"a comment": 2}
    assert (table.report.rows_read, table.report.rows_aside) == (13, 2)


def test_a_registered_format_is_read_in_memory(votes: Path) -> None:
    with pytest.warns(DataWarning, match="2 of 13 rows set aside: a comment"):
        check(read_votes(votes, sensitive_features="place"))
    assert choose_engine(votes).engine == "memory"


def test_a_registered_format_is_streamed(votes: Path) -> None:
    pytest.importorskip("duckdb")
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    with pytest.warns(DataWarning, match="2 of 13 rows set aside: a comment"):
        check(read_votes_on_disk(votes, sensitive_features="place"))


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_command_line_takes_a_registered_format(votes: Path, engine: str, faircrowd: Any, tmp_path: Path) -> None:
    if engine == "stream":
        pytest.importorskip("duckdb")
    asked = ("--method", "majority", "--group", "place", "--engine", engine, "--no-report", "--json")
    code, printed, err = faircrowd("aggregate", votes, *asked, "--out", tmp_path / "out")
    assert code == 0, err
    assert json.loads(printed)["votes"] == 11
    rows = (tmp_path / "out" / "labels.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in rows[1:]] == [["7", '"yes"'], ["8", '"no"'], ["9", '"yes"'], ["10", '"no"']]


def test_a_registered_format_may_be_compressed_and_may_hold_tasks(tmp_path: Path) -> None:
    path = tmp_path / "votes.toy.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    with registered(toy()):
        assert read_header(path) == NAMES
        assert read_columns(path, ["task"])["task"].to_pylist() == [7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10]
        with pytest.warns(DataWarning):
            check(read_votes(path, sensitive_features="place", tasks=path))


def test_messages_list_the_registry(tmp_path: Path) -> None:
    path = tmp_path / "votes.txt"
    path.write_text("task,worker,label\n1,a,x\n")
    with pytest.raises(FileError, match=r"'.txt' is not known; use .csv, .tsv, .jsonl, .ndjson \(each also with .gz"):
        read_votes(path)
    with pytest.raises(OptionError, match="format='text' is not known; use one of 'csv', 'tsv', 'jsonl', 'parquet'"):
        read_votes(path, format="text")
    with registered(toy()):
        with pytest.raises(FileError, match=r"ndjson, .toy \(each"):
            read_votes(path)
        with pytest.raises(OptionError, match=r"'parquet', 'toy', .* Did you mean 'toy'"):
            read_votes(path, format="toi")
    with pytest.raises(FileError, match=r"'.toy' is not known"):
        reader_of("votes.toy")
    assert tuple(READERS) == FORMATS


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_format_may_be_named(engine: str, tmp_path: Path) -> None:
    read: Any = read_votes
    if engine == "stream":
        pytest.importorskip("duckdb")
        from faircrowd.engines.stream.read_stream import read_votes_on_disk as read
    path = tmp_path / "votes.txt"
    path.write_text("task\tworker\tlabel\tgroup\n1\ta\tx\tg\n1\tb\ty\tg\n")
    table = read(path, format="tsv", sensitive_features="group")
    assert (table.n_votes, table.groups.to_list(), table.report.rows_left_out) == (2, ["g"], {})
    assert "rows_left_out" not in table.report.to_dict()
    with pytest.raises(InputError, match="not JSON"):
        read(path, format="jsonl")


def test_names_and_endings_are_taken_once() -> None:
    with pytest.raises(OptionError, match="already for 'csv'"):
        register(Reader("csv", (), "", header=list, columns=dict))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"already for \.pq"):
        register(Reader("pq", (".pq",), "", header=list, columns=dict))  # type: ignore[arg-type]


def test_mixed_values_of_a_format_without_blocks_are_sent_to_memory(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from dataclasses import replace

    from faircrowd.engines.stream.read_stream import read_votes_on_disk

    mixed = {name: as_objects([1, "x", 2.5]) for name in NAMES}
    reader = replace(toy(streams=False), columns=lambda source, names: {name: mixed[name] for name in names})
    path = tmp_path / "votes.toy"
    path.write_text(TEXT)
    with registered(replace(reader, is_untyped=False, left_out=None)):
        assert read_votes(path).n_votes == 3
        with pytest.raises(InputError, match="mixed types; read it in memory"):
            read_votes_on_disk(path)
