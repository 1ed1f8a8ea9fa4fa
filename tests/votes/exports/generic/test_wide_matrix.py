"""Matrices of tasks and workers."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from faircrowd.engines import read_votes_on_disk
from faircrowd.votes import VoteTable
from faircrowd.votes.exports import EXPORTS, find_export
from faircrowd.votes.read import opened_export
from votes.exports.reading import read, refusal, rows

QUESTIONS = ["doc,person,toxic,insult,threat", "a,p,1,0,0", "a,q,0,0,1", "b,p,1,1,0", "b,q,1,0,1"]
"""Votes on several questions, one row per task and worker."""


def test_the_real_matrix_has_no_header(platforms: Path) -> None:
    path = platforms / "wide" / "mace_rte.standardized.csv"
    with path.open(encoding="utf-8") as file:
        cells = [
            (str(i), str(j), cell) for i, row in enumerate(csv.reader(file), 1) for j, cell in enumerate(row, 1) if cell
        ]
    votes = read(path)
    assert rows(votes) == set(cells)
    assert (votes.n_votes, votes.n_tasks, votes.n_workers, votes.n_classes) == (8000, 800, 164, 2)


def test_names_ids_facts_and_truth(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    lines = ["id,ann,bob,cy,gender,truth", "t1,yes,no,,f,yes", "t2,,no,no,m,no", "t3,yes,yes,no,m,yes"]
    path.write_text("\n".join(lines), encoding="utf-8")
    votes = read(path, sensitive_features="gender", format="wide")
    assert rows(votes) == {
        *(("t1", "ann", "yes"), ("t1", "bob", "no"), ("t2", "bob", "no"), ("t2", "cy", "no")),
        *(("t3", "ann", "yes"), ("t3", "bob", "yes"), ("t3", "cy", "no")),
    }
    assert votes.groups is not None
    assert votes.groups.to_list() == ["f", "m"]


@pytest.mark.parametrize(
    "lines",
    [
        ["hit,turker,judgement", *(f"{i},{i % 7},{i % 2}" for i in range(50))],  # one row per vote, unusual names
        ["age,race,sex", *("young,a,f" if i % 2 else "old,b,m" for i in range(50))],  # facts, not votes
        ["task,worker,label", "1,2,1", "2,1,2", "2,2,1"],
        QUESTIONS,
        [line.replace("person", "who") for line in QUESTIONS],  # the same document is there twice
        [f"{i or 'id'},{line}" for i, line in enumerate(line.replace("person", "who") for line in QUESTIONS)],
        ["1,1,0", "1,2,1", "2,1,1", "2,2,0"],  # task, worker and label without a header
        ["1,1,0,1", "1,2,1,1", "2,1,1,0", "3,2,0,1"],  # and with a truth
        ["t1,yes,no,yes", "t2,no,no,no", "t3,no,yes,yes"],  # a matrix that lacks a header, but not the ids
    ],
)
def test_other_tables_are_not_taken_for_a_matrix(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    if "worker" in lines[0]:
        assert read(path).n_votes == 3
    else:
        assert "No columns 'task'" in refusal(path)


@pytest.mark.parametrize("reader", [read, read_votes_on_disk])
def test_columns_that_are_named_are_those_of_votes(tmp_path: Path, reader: Callable[..., VoteTable]) -> None:
    """Also where the rest looks like a matrix: the names are columns of the file."""
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(QUESTIONS), encoding="utf-8")
    votes = reader(path, task="doc", worker="person", label="toxic")
    assert rows(votes) == {("a", "p", "1"), ("a", "q", "0"), ("b", "p", "1"), ("b", "q", "1")}
    path.write_text("id,ann,bob,cy\nt1,1,0,1\nt2,0,0,1\n", encoding="utf-8")
    assert find_export(path) is EXPORTS["wide"]
    assert find_export(path, named=(None, "ann", None)) is None
    assert opened_export(path) is not None
    assert opened_export(path, worker="ann") is None


@pytest.mark.parametrize(
    "lines",
    [
        ["id,text,ann,bob,cy,truth", "t1,one,1,0,,1", "t2,two,0,0,1,0"],
        ["rater_1,rater_2,rater_3,rater_4", "1,0,1,1", "0,0,1,0"],
        ["1,0,,1", "0,,1,0", "1,1,0,1"],
        ["1,0,0,1", "0,1,1,0", "1,1,0,0"],
    ],
)
def test_plain_matrices_are_recognised(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert find_export(path) is EXPORTS["wide"]


def test_the_message_says_how_a_matrix_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("ann,bob,cy\n1,0,1\n0,0,1\n", encoding="utf-8")
    assert refusal(path).endswith(
        "Name them with task=..., worker=... and label=...; if each worker has a column, give format='wide'."
    )
    assert read(path, format="wide").n_votes == 6


def test_a_matrix_that_is_named_as_one_must_be_one(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert "is no matrix of votes" in refusal(path, format="wide")
