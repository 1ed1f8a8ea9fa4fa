"""Exports of a real Label Studio server, in all of its forms."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from votes.exports.reading import read, refusal, rows, write

FORMS = (
    "export.json",
    "snapshot_expanded.json",
    "export_after_writeback.json",
    "export.json-min",
    "export.csv",
    "export.tsv",
)


@pytest.fixture
def exports(platforms: Path) -> Path:
    return platforms / "label-studio"


def expected(exports: Path) -> set[tuple[str, str, str]]:
    """The last choice of each worker on each task, worked out from the JSON alone."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for task in json.loads((exports / "export.json").read_text(encoding="utf-8")):
        for one in task["annotations"]:
            chosen = [part["value"]["choices"][0] for part in one["result"] if part["from_name"] == "better"]
            key = str(task["id"]), str(one["completed_by"])
            if chosen and not one["was_cancelled"]:
                found[key] = max(found.get(key, ("", "")), (one["updated_at"], chosen[0]))
    return {(*key, label) for key, (_, label) in found.items()}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_same_votes(exports: Path, name: str) -> None:
    votes = read(exports / name, label="better", sensitive_features="gender")
    assert rows(votes) == expected(exports)
    assert (votes.n_votes, votes.n_tasks, votes.n_workers, votes.n_classes) == (200, 40, 17, 2)
    assert votes.groups is not None
    assert votes.groups.to_list() == ["men", "other", "women"]


@pytest.mark.parametrize(
    ("name", "rows_read", "left_out"),
    [
        ("export.json", 203, {"skipped": 1, "empty": 1}),
        (
            "export_after_writeback.json",
            243,
            {
                "skipped": 1,
                "empty": 1,
                "written back by faircrowd": 1,  # the task that was marked
                "ground truth, or labels that were written back": 39,
            },
        ),
        ("export.json-min", 202, {"empty": 1}),
        ("export.csv", 202, {"empty": 1}),
        ("export.tsv", 202, {"empty": 1}),
    ],
)
def test_every_row_is_accounted_for(exports: Path, name: str, rows_read: int, left_out: dict[str, int]) -> None:
    report = read(exports / name, label="better").report
    assert (report.rows_read, report.rows_left_out) == (rows_read, left_out)
    assert report.rows_repeated == 1
    assert report.rows_read - report.rows_aside == 200


def test_the_newest_of_repeated_answers_counts_though_it_is_listed_first(exports: Path) -> None:
    with (exports / "export.csv").open(encoding="utf-8") as file:
        given = [row["better"] for row in csv.DictReader(file) if (row["id"], row["annotator"]) == ("1", "6")]
    assert given == ["2", "1"]
    assert ("1", "6", "2") in rows(read(exports / "export.csv", label="better"))


@pytest.mark.parametrize("name", FORMS)
def test_several_questions_are_listed(exports: Path, name: str) -> None:
    message = refusal(exports / name)
    assert "has 4 questions" in message
    assert all(question in message for question in ("better", "flags", "sev", "note"))


@pytest.mark.parametrize("name", FORMS)
def test_several_options_at_once(exports: Path, name: str) -> None:
    assert "in 29 of 29 answers" in refusal(exports / name, label="flags")
    assert read(exports / name, label="flags", multi="set").classes.to_list() == ["insult|slur"]
    each = read(exports / name, label="flags.slur", multi="each")
    labels = [label for _, _, label in rows(each)]
    assert (labels.count("yes"), labels.count("no")) == (28, 172)  # of the 29, one was replaced by a later answer


def test_facts_have_dotted_names(exports: Path) -> None:
    by_meta = read(exports / "export.json", label="better", sensitive_features="meta.target_group")
    assert by_meta.groups is not None
    assert len(by_meta.groups) == 5
    with_key = read(exports / "export.json", label="better", task="data.source_id")
    assert with_key.n_tasks == 40
    assert "--" in str(with_key.tasks.to_list()[0])


def task(annotations: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"text": "x", "email": "a@b.org"}, "annotations": annotations, **more}


def annotation(worker: Any, choice: str = "yes", **more: Any) -> dict[str, Any]:
    result = {"from_name": "q", "to_name": "t", "type": "choices", "value": {"choices": [choice]}}
    return {"completed_by": worker, "result": [result], **more}


def test_old_exports_have_completions(tmp_path: Path) -> None:
    old = {
        "id": 7,
        "data": {"text": "x"},
        "completions": [annotation(1), annotation(2, "no"), annotation(3, skipped=True)],
    }
    votes = read(write(tmp_path / "old.json", [old]))
    assert rows(votes) == {("7", "1", "yes"), ("7", "2", "no")}
    assert votes.report.rows_left_out == {"skipped": 1}


def test_what_is_no_vote(tmp_path: Path) -> None:
    own = annotation(9, "no", ground_truth=True)
    own["result"][0]["id"] = "faircrowd-1"
    given = [annotation(1), annotation(2), own, annotation(3, ground_truth=True), annotation(4, last_action="rejected")]
    votes = read(write(tmp_path / "e.json", [task(given, drafts=[annotation(5)])]))
    assert rows(votes) == {("1", "1", "yes"), ("1", "2", "yes")}
    assert votes.report.rows_left_out == {
        "written back by faircrowd": 1,
        "ground truth, or labels that were written back": 1,
        "rejected": 1,
        "draft": 1,
    }
    golden = read(tmp_path / "e.json", sensitive_features="golden")
    assert golden.groups is not None
    assert golden.groups.to_list() == ["yes"]  # not the label that faircrowd wrote back


def test_personal_data_stays_out(tmp_path: Path) -> None:
    path = write(tmp_path / "e.json", [task([annotation({"email": "ann@example.org"}), annotation({"id": 3})])])
    votes = read(path)
    assert not any("@" in str(worker) for worker in votes.workers.to_list())
    assert 3 in votes.workers.to_list()
    notes = " ".join(votes.notes())
    assert "data.email" in notes
    assert "@" not in notes
    assert "personal data" in refusal(path, sensitive_features="data.email")
