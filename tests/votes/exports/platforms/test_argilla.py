"""Records of Argilla."""

import copy
from pathlib import Path

import pytest

from faircrowd.errors import FileError
from votes.exports.examples import ARGILLA_FLAT, ARGILLA_NESTED
from votes.exports.reading import see, write


def test_drafts_and_suggestions_are_no_votes(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "records.json", ARGILLA_FLAT), label="better")
    assert seen.rows == [("r1", "u1", "1"), ("r1", "u3", "1")]
    assert seen.left_out == {"draft": 1}
    assert seen.header == ["task", "worker", "better", "flags", "text", "gender"]


def test_each_question_has_its_own_users(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "records.json", ARGILLA_FLAT), label="flags")
    assert ("r1", "u3", "insult") in seen.rows
    assert seen.votes == 1


def test_lists_of_different_lengths_are_refused(tmp_path: Path) -> None:
    records = copy.deepcopy(ARGILLA_FLAT)
    records[0]["better.responses.users"].pop()
    with pytest.raises(FileError, match=r"record 1: the question 'better' has 3 responses, 2 users and 3 states"):
        see(write(tmp_path / "records.json", records))


def test_to_json_warns_that_drafts_are_counted(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "records.json", ARGILLA_NESTED))
    assert seen.rows == [("r1", "u1", "1"), ("r1", "u2", "2")]
    assert "WARNING" in seen.notes
    assert seen.cells["metadata.gender"] == ["f", "f"]
