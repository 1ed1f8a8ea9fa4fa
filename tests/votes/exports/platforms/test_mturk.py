"""Batch results of Mechanical Turk."""

import json
from pathlib import Path

import pytest

from faircrowd.errors import FileError, InputError
from votes.exports.examples import MTURK
from votes.exports.reading import see, write

LABEL = "Answer.category.label"


def test_rejected_and_empty_answers_are_no_votes(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "batch.csv", MTURK), multi="set")
    assert seen.left_out == {"rejected": 1, "not answered": 1}
    assert set(seen.rows) == {("h1", "W1", "cat"), ("h2", "W1", "cat|dog"), ("h3", "W3", "dog")}
    assert seen.header == ["task", "worker", LABEL, "Input.id", "Input.gender"]


def test_checkboxes_joined_by_a_bar_are_several_options(tmp_path: Path) -> None:
    path = write(tmp_path / "batch.csv", MTURK)
    with pytest.raises(InputError, match=r"several options of .* in 1 of 3 answers"):
        see(path)
    assert set(see(path, multi="each", label=f"{LABEL}.dog").rows) == {
        ("h1", "W1", "no"),
        ("h2", "W1", "yes"),
        ("h3", "W3", "yes"),
    }


def test_hits_posted_again_are_noticed_and_can_be_one_task(tmp_path: Path) -> None:
    path = write(tmp_path / "batch.csv", MTURK)
    assert "1 HITs show the same inputs" in see(path, multi="set").notes
    seen = see(path, multi="set", task="Input.id")
    assert (seen.tasks, seen.votes) == (2, 3)


def test_forms_of_crowd_elements_are_json(tmp_path: Path) -> None:
    form = [{"category": {"label": "cat"}, "sure": {"yes": True, "no": False}, "comment": "fine"}]
    cell = json.dumps(form).replace('"', '""')
    path = write(tmp_path / "b.csv", f'HITId,WorkerId,Answer.taskAnswers\nh1,W1,"{cell}"\nh1,W2,"[{{}}]"\nh1,W3,"{{"\n')
    seen = see(path, label="Answer.category")
    assert seen.rows == [("h1", "W1", "cat")]
    assert seen.left_out == {"not answered": 2}
    assert see(path, label="Answer.sure").rows == [("h1", "W1", "yes")]


def test_columns_of_options_are_one_question(tmp_path: Path) -> None:
    text = "HITId,WorkerId,Answer.tone.good,Answer.tone.bad\nh1,W1,true,false\nh1,W2,false,true\nh2,W1,true,true\n"
    assert see(write(tmp_path / "b.csv", text), multi="set").rows == [
        ("h1", "W1", "good"),
        ("h1", "W2", "bad"),
        ("h2", "W1", "bad|good"),
    ]


def test_a_batch_without_answers_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="1 not answered"):
        see(write(tmp_path / "b.csv", "HITId,WorkerId,Input.x\nh1,W1,3\n"))


def test_the_names_of_the_file_itself_may_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "batch.csv", MTURK)
    assert see(path, multi="set", task="HITId", worker="WorkerId", label=LABEL).rows == see(path, multi="set").rows
