"""Exports of doccano."""

import json
from pathlib import Path

import pytest

from faircrowd.errors import FileError
from faircrowd.votes.exports import find_export
from votes.exports.examples import doccano_files, packed
from votes.exports.reading import see, write


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_the_name_of_a_file_is_the_worker(ending: str, tmp_path: Path) -> None:
    seen = see(packed(doccano_files() | {"admin.jsonl": "", ".DS_Store": "x"}, tmp_path / f"out{ending}"), multi="set")
    assert set(seen.rows) == {(1, "ann", "yes"), (1, "bob", "no"), (2, "bob", "no|yes")}
    assert seen.left_out == {"not answered": 1}


def test_users_called_by_their_address_get_codes(tmp_path: Path) -> None:
    files = {f"{name}@example.org.jsonl": content for name, content in zip("ab", doccano_files().values(), strict=True)}
    seen = see(packed(files, tmp_path / "out.zip"), multi="set")
    assert "example.org" not in str(seen.cells) + seen.notes
    assert seen.workers == 2


def test_spans_are_no_labels(tmp_path: Path) -> None:
    row = {"id": 1, "text": "abc", "label": [[0, 2, "PER"]], "Comments": []}
    with pytest.raises(FileError, match="1 spans of text"):
        see(packed({"ann.jsonl": json.dumps(row)}, tmp_path / "out.zip"))


@pytest.mark.parametrize("name", ["all.zip", "all.jsonl", "ann.jsonl"])
def test_files_that_do_not_say_who_answered_are_refused(name: str, tmp_path: Path) -> None:
    row = {"id": 1, "text": "abc", "label": ["yes"], "Comments": []}
    path = tmp_path / name
    _ = packed({"all.jsonl": row}, path) if path.suffix == ".zip" else write(path, [row])
    with pytest.raises(FileError, match="give the whole zip, which has one file per user"):
        see(path)


def test_labels_that_faircrowd_wrote_are_pointed_out(tmp_path: Path) -> None:
    files = {
        f"{user}.jsonl": json.dumps({"id": 1, "text": "t", "faircrowd_p": 0.9, "label": ["yes"], "Comments": []})
        for user in ("admin", "ann")
    }
    assert "imported with labels of faircrowd" in see(packed(files, tmp_path / "out.zip")).notes


def test_files_of_a_data_set_are_no_users(tmp_path: Path) -> None:
    files = dict.fromkeys(("train.csv", "test.csv"), "id,text,label\n1,a,x\n2,b,y\n")
    assert find_export(packed(files, tmp_path / "data.zip")) is None


def test_a_sign_that_joins_labels_may_end_one(tmp_path: Path) -> None:
    files = {"ann.csv": "id,text,label,Comments\n1,a,C#,\n2,b,C#Java,\n3,b,C,\n", "bob.csv": "\n"}
    assert [label for _, _, label in see(packed(files, tmp_path / "out.zip"), multi="set").rows] == [
        "C#",
        "C|Java",
        "C",
    ]
