"""Votes regrouped on disk are the votes read in memory: every array, every value, every count."""

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples

pytest.importorskip("duckdb")

from faircrowd.engines.stream.read_stream import read_votes_on_disk
from faircrowd.errors import DataWarning, FaircrowdError, FileError, InputError, OptionError
from faircrowd.votes import VoteTable, read_votes

SMALL = 256 << 20


def assert_same(stream: VoteTable, memory: VoteTable) -> None:
    for name in ("offsets", "worker", "label", "group"):
        ours, theirs = getattr(stream, name), getattr(memory, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    for name in ("tasks", "workers", "classes", "groups"):
        ours, theirs = getattr(stream, name), getattr(memory, name)
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs.is_mixed:
            assert ours.to_list() == theirs.to_list()
        elif ours is not None:
            assert ours.values.equals(theirs.values), name
    assert stream.report == memory.report
    assert stream.style == memory.style


def both(path: Path, **options: Any) -> None:
    """Read in both ways; the tables, or the words of the errors, must be the same, and nothing may be left."""
    found: list[Any] = []
    for read, more in ((read_votes_on_disk, {"memory_limit": SMALL, "folder": path.parent}), (read_votes, {})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found.append(read(path, **options, **more))  # type: ignore[operator]
            except FaircrowdError as error:
                found.append((type(error), str(error)))
        found.append([(line.category, str(line.message)) for line in caught])
    assert found[1] == found[3]
    if isinstance(found[2], VoteTable):
        assert isinstance(found[0], VoteTable), found[0]
        assert_same(found[0], found[2])
    else:
        assert found[0] == found[2]
    del found
    assert not list(path.parent.glob("faircrowd-*"))


IDS = {
    "numbers": st.integers(-3, 3),
    "wide": st.sampled_from([-(2**62), 0, 7, 2**62]),
    "texts": st.sampled_from(["", "a", "A", "ä", "é", "Z", "10", "9", "\U0001f600", "\uffee", "a b", "nan"]),
    "floats": st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")]),
    "bools": st.booleans(),
}


def columns() -> st.SearchStrategy[list[list[Any]]]:
    def rows(kinds: tuple[str, ...]) -> st.SearchStrategy[list[list[Any]]]:
        row = st.tuples(*(st.none() | IDS[kind] for kind in kinds))
        return st.lists(row, min_size=1, max_size=30).map(
            lambda found: [list(part) for part in zip(*found, strict=True)]
        )

    return st.tuples(*[st.sampled_from(sorted(IDS))] * 3).flatmap(
        lambda kinds: rows(kinds).map(lambda found: [*found, list(kinds)])
    )


TYPES = {
    "numbers": pa.int16(),
    "wide": pa.int64(),
    "texts": pa.string(),
    "floats": pa.float64(),
    "bools": pa.bool_(),
}


@given(
    columns(),
    st.integers(1, 40),
    st.sampled_from(["last", "first", "all", "error"]),
    st.sampled_from(["drop", "error"]),
)
@settings(deadline=None, max_examples=examples(40))
def test_parquet_of_any_kind(found: list[list[Any]], row_group: int, on_duplicate: str, on_missing: str) -> None:
    *values, kinds = found
    arrays = [pa.array(column, type=TYPES[kind]) for column, kind in zip(values, kinds, strict=True)]
    with scratch() as folder:
        path = folder / "votes.parquet"
        pa.parquet.write_table(pa.table(arrays, names=["task", "worker", "label"]), path, row_group_size=row_group)
        both(path, on_duplicate=on_duplicate, on_missing=on_missing)


CELLS = st.sampled_from(
    ["1", "1.0", "01", "2", "-3", "10", "9", "x", "ä", "", "nan", "NaN", "null", '"', "a,b", "a\nb", " "]
)
PLAIN = st.sampled_from(["1", "2", "-3", "10", "9", ""])


@given(
    st.tuples(*[st.sampled_from([CELLS, PLAIN])] * 3).flatmap(
        lambda kinds: st.lists(st.tuples(*kinds), min_size=1, max_size=25)
    ),
    st.sampled_from(["last", "first", "all", "error"]),
    st.sampled_from(["votes.csv", "votes.tsv", "votes.csv.gz"]),
)
@settings(deadline=None, max_examples=examples(40))
def test_text_files(rows: list[tuple[str, ...]], on_duplicate: str, name: str) -> None:
    with scratch() as folder:
        path, mark = folder / name, "\t" if "tsv" in name else ","
        lines = ["worker", "label", "task"], *rows
        quoted = "\n".join(mark.join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines)
        with pa.output_stream(str(path), compression="gzip" if name.endswith("gz") else None) as file:
            file.write(quoted.encode())
        both(path, on_duplicate=on_duplicate)


class scratch:  # noqa: N801 - a folder per drawn example; fixtures live as long as the test
    def __enter__(self) -> Path:
        import tempfile

        self.path = Path(tempfile.mkdtemp())
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path)


def crowd(n_votes: int = 30_000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    task = rng.integers(0, n_votes // 5, n_votes)
    return pa.table(
        {
            "item": pa.array([f"täsk-{t}" for t in task]),
            "annotator": pa.array(rng.integers(0, 300, n_votes), type=pa.uint32()),
            "answer": pa.array(rng.choice(["no", "yes", "maybe"], n_votes)).dictionary_encode(),
            "place": pa.array(np.where(task % 3 == 0, "north", "south")),
            "age": pa.array(task % 2),
        }
    )


@pytest.mark.parametrize("row_group", [100, 7_000, 1 << 20])
@pytest.mark.parametrize("groups", ["place", ["place", "age"]])
def test_groups_in_the_votes(tmp_path: Path, row_group: int, groups: Any) -> None:
    pa.parquet.write_table(crowd(), tmp_path / "votes.parquet", row_group_size=row_group)
    both(tmp_path / "votes.parquet", sensitive_features=groups)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_groups_in_a_table_of_tasks(tmp_path: Path, ending: str) -> None:
    votes = crowd()
    tasks = votes.select(["item", "place", "age"]).group_by(["item", "place", "age"]).aggregate([])
    pa.csv.write_csv(tasks, tmp_path / "tasks.csv")
    votes = votes.drop_columns(["place", "age"])
    path = tmp_path / f"votes.{ending}"
    if ending == "csv":
        pa.csv.write_csv(votes.set_column(2, "answer", votes["answer"].cast(pa.string())), path)
    else:
        pa.parquet.write_table(votes, path)
    both(path, sensitive_features=["place", "age"], tasks=tmp_path / "tasks.csv")
    both(path, sensitive_features="colour", tasks=tmp_path / "tasks.csv")


def test_a_clash_of_groups_and_a_wrong_name_give_the_same_message(tmp_path: Path) -> None:
    table = pa.table({"task": [1, 1, 2], "worker": [1, 2, 1], "label": [0, 1, 0], "group": ["a", "b", "a"]})
    pa.parquet.write_table(table, tmp_path / "votes.parquet")
    both(tmp_path / "votes.parquet", sensitive_features="group")
    both(tmp_path / "votes.parquet", sensitive_features="grup")
    both(tmp_path / "votes.parquet", worker="wroker")


def test_results_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    votes = crowd()
    order = np.random.default_rng(1).permutation(len(votes))
    found = []
    for name, table in (("a", votes), ("b", votes.take(order))):
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1_000)
        with pytest.warns(DataWarning):
            found.append(read_votes_on_disk(tmp_path / f"{name}.parquet", on_duplicate="all", memory_limit=SMALL))
    assert_same(*found)


JSON = [
    '{"task": "b", "worker": 1, "label": true}',
    '{"task": "a", "worker": 2, "label": false, "more": [1]}',
    "",
    '{"task": "a", "label": true}',
    '{"task": null, "worker": 3, "label": true}',
    '{"worker": 2, "task": "\\u00e4", "label": true}',
]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join(JSON), encoding="utf-8")
    both(path)


@pytest.mark.parametrize(
    "odd",
    [
        '{"task": 1.5, "worker": 1, "label": true}',
        '{"task": "a", "worker": "x", "label": true}',
        '{"task": "2024-01-02", "worker": 1, "label": "2024-01-02T10:00:00"}',
        '{"task": 1, "worker": 1, "label": 1}\n{"task": 1.0, "worker": "1", "label": 1.0}',
        '{"task": -0.0, "worker": 1, "label": 0.0}\n{"task": 0.0, "worker": 2, "label": NaN}',
        '{"task": 1e2, "worker": 12345678901234567890123, "label": "x"}\n{"task": 100.0, "label": "\\u0078"}',
    ],
)
def test_values_of_any_types_are_streamed(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join([*JSON, odd]), encoding="utf-8")
    both(path)


def test_dates_and_floats_are_streamed(tmp_path: Path) -> None:
    """Arrow would make times of texts and floats of large integers."""
    rows = [
        {"task": f"2024-01-0{t}", "worker": w / 2, "label": ["2024-01-01", "2025-01-01"][(t + w) % 2], "group": t % 2}
        for t in range(1, 9)
        for w in range(3)
    ]
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = read_votes_on_disk(path, sensitive_features="group")
    assert_same(table, read_votes(path, sensitive_features="group"))
    assert table.classes.to_list() == ["2024-01-01", "2025-01-01"]


def test_errors_in_json_lines_name_the_line_in_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join([*JSON, '{"task": 1.5', "[]"]), encoding="utf-8")
    with pytest.raises(FileError, match="line 7: not JSON"):
        read_votes_on_disk(path)
    path.write_text("\n".join([*JSON, '{"task": [1], "worker": 1, "label": true}']), encoding="utf-8")
    for read in (read_votes, read_votes_on_disk):
        with pytest.raises(InputError, match=r"must be hashable|nested"):
            read(path)


def test_types_that_duckdb_would_change_are_sent_to_memory(tmp_path: Path) -> None:
    day = pa.array([1, 2], type=pa.date32())
    pa.parquet.write_table(pa.table({"task": day, "worker": [1, 1], "label": [0, 1]}), tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"column 'task' is of type date32.*engine='memory'"):
        read_votes_on_disk(tmp_path / "votes.parquet")


def test_a_broken_file_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    pa.parquet.write_table(crowd(), path, row_group_size=1_000, compression="none")
    content = bytearray(path.read_bytes())
    content[10_000:60_000] = bytes(50_000)
    path.write_bytes(content)
    with pytest.raises(FileError, match="cannot be"):
        read_votes_on_disk(path, folder=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["votes.parquet"]


def test_too_little_memory_is_reported(tmp_path: Path) -> None:
    pa.parquet.write_table(crowd(), tmp_path / "votes.parquet")
    with pytest.raises(OptionError, match=r"too few to regroup .*votes.parquet; raise memory_limit"):
        read_votes_on_disk(tmp_path / "votes.parquet", memory_limit=100_000, folder=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["votes.parquet"]


def test_files_go_with_the_table_and_with_the_process(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    pa.parquet.write_table(crowd().slice(0, 1), path)
    table = read_votes_on_disk(path, folder=tmp_path)
    assert len(list(tmp_path.glob("faircrowd-*/worker"))) == 1
    del table
    assert not list(tmp_path.glob("faircrowd-*"))
    code = "import pathlib, sys; from faircrowd.engines import read_votes_on_disk; path, folder = sys.argv[1:]; "
    code += "kept = read_votes_on_disk(path, folder=folder); print(len(list(pathlib.Path(folder).glob('faircrowd-*'))))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"
    assert not list(tmp_path.glob("faircrowd-*"))


def test_codes_are_renumbered_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers and labels that lose all their votes leave no code behind."""
    monkeypatch.setattr("faircrowd.engines.stream.read_stream._RECODED_AT_ONCE", 3)
    rows = [(t, w, None if w == "b" else "xyz"[(t + ord(w)) % 3] if t else None) for t in range(9) for w in "abcd"]
    rows += [(3, "d", "gone"), (3, "d", "x")]
    table = pa.table(dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True)))
    pa.parquet.write_table(table, tmp_path / "votes.parquet")
    both(tmp_path / "votes.parquet")
    with pytest.warns(DataWarning):
        votes = read_votes_on_disk(tmp_path / "votes.parquet", memory_limit=SMALL, folder=tmp_path)
    assert votes.workers.to_list() == ["a", "c", "d"]
    assert not votes.worker.flags.writeable
