"""Lists of workers and answers side by side."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faircrowd.errors import FileError
from faircrowd.votes.exports import find_export
from votes.exports.examples import LISTS
from votes.exports.reading import see, write

ROWS = [("a", "u1", 1), ("a", "u2", 0), ("b", "u1", 1), ("b", "u3", 1), ("b", "u2", 0)]


def test_lists_in_any_form(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(LISTS), tmp_path / "lists.parquet")
    for path in (write(tmp_path / "l.jsonl", LISTS), write(tmp_path / "l.json", LISTS), tmp_path / "lists.parquet"):
        seen = see(path)
        assert seen.rows == ROWS
        assert seen.cells["group"] == ["f", "f", "m", "m", "m"]


def test_tokens_with_tags_are_no_votes(tmp_path: Path) -> None:
    rows = [{"id": 1, "tokens": ["a", "b"], "ner_tags": [0, 1]}]
    assert find_export(write(tmp_path / "ner.jsonl", rows)) is None


def test_lists_of_different_lengths_are_refused(tmp_path: Path) -> None:
    rows = LISTS * 15 + [{"id": "c", "annotators": ["u1", "u2"], "labels": [1], "tokens": []}]
    with pytest.raises(FileError, match=r"record 31: 'labels' has 1 values and 'annotators' has 2"):
        see(write(tmp_path / "lists.jsonl", rows))


def test_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    rows = [{"worker_ids": ["u", "v"], "annotations": ["x", "y"]}, {"worker_ids": ["u"], "annotations": ["x"]}]
    assert see(write(tmp_path / "lists.jsonl", rows)).rows == [(1, "u", "x"), (1, "v", "y"), (2, "u", "x")]


def test_answers_in_the_form_of_lists_need_workers(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no column of lists is called like workers"):
        see(write(tmp_path / "l.jsonl", [{"id": 1, "a": [1], "b": [2]}]), format="lists")
