"""CSV and TSV: how many columns a file may have."""

import time
from pathlib import Path

import pytest

from faircrowd import read_votes
from faircrowd.errors import FileError
from faircrowd.votes.readers.text import MAX_COLUMNS


def wide(path: Path, columns: int, delimiter: str = ",") -> Path:
    names = ["task", "worker", "label", *(f"c{i}" for i in range(columns - 3))]
    path.write_text(f"{delimiter.join(names)}\n{delimiter.join(['1'] * columns)}\n")
    return path


def test_a_million_columns_are_refused_at_once(tmp_path: Path) -> None:
    path = wide(tmp_path / "votes.csv", 1_000_000)
    start = time.process_time()
    with pytest.raises(FileError, match=r"the first line has 1,000,000 columns, and at most 10,000 are read"):
        read_votes(path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("name", "delimiter"), [("votes.csv", ","), ("votes.tsv", "\t")])
def test_as_many_columns_as_are_allowed_are_read(tmp_path: Path, name: str, delimiter: str) -> None:
    assert read_votes(wide(tmp_path / name, MAX_COLUMNS, delimiter)).n_votes == 1
    with pytest.raises(FileError, match="columns, and at most"):
        read_votes(wide(tmp_path / name, MAX_COLUMNS + 1, delimiter))


def test_commas_in_the_rows_are_not_columns(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('task,worker,label\n1,2,"' + "," * 2 * MAX_COLUMNS + '"\n')
    assert read_votes(path).n_classes == 1
