"""Data sets of LeWiDi."""

import json
from pathlib import Path

import pytest

from faircrowd.errors import FileError
from votes.exports.examples import LEWIDI
from votes.exports.reading import see, write

ROWS = [("1", "Ann1", "0"), ("1", "Ann2", "1"), ("1", "Ann3", "1"), ("2", "Ann2", "1"), ("2", "Ann3", "0")]


def test_texts_with_commas(tmp_path: Path) -> None:
    for content in (json.dumps(LEWIDI, indent=2), json.dumps(LEWIDI)):
        seen = see(write(tmp_path / "train.json", content))
        assert seen.rows == ROWS
        assert seen.cells["other_info.group"] == ["a", "a", "a", "b", "b"]


def test_annotations_by_annotator(tmp_path: Path) -> None:
    items = {
        "1": {"annotators": "Ann1,Ann2,Ann3", "annotations": {"Ann1": "neutral", "Ann2": "a,b", "Ann3": ""}},
        "2": {"annotators": "Ann1", "annotations": {"Ann1": "neutral"}},
    }
    seen = see(write(tmp_path / "dev.json", items), multi="set")
    assert seen.rows == [("1", "Ann1", "neutral"), ("1", "Ann2", "a|b"), ("2", "Ann1", "neutral")]
    assert seen.left_out == {"not answered": 1}


def test_annotators_without_annotations_are_refused(tmp_path: Path) -> None:
    items = {"1": {"annotators": "Ann1,Ann2", "annotations": "0,1,1"}}
    with pytest.raises(FileError, match=r"item '1' has 2 annotators and 3 annotations"):
        see(write(tmp_path / "dev.json", items))
