"""Exports of Prodigy."""

from pathlib import Path

from votes.exports.examples import PRODIGY
from votes.exports.reading import see, write


def test_choices(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "out.jsonl", PRODIGY))
    assert set(seen.rows) == {(-101, "news-ann", "yes"), (-101, "news-bob", "no"), (102, "news-ann", "no")}
    assert seen.left_out == {"ignored": 1, "rejected": 1, "written back by faircrowd": 1, "review": 1}
    assert seen.golden == {-101: "yes"}
    assert seen.cells["meta.race"][0] == "a"


def test_binary_decisions_are_about_their_label(tmp_path: Path) -> None:
    rows = [
        {"text": "t", "label": "SPORTS", "_input_hash": 1, "answer": answer, "_annotator_id": user}
        for answer, user in [("accept", "a"), ("reject", "b"), ("ignore", "c")]
    ]
    seen = see(write(tmp_path / "out.jsonl", rows))
    assert seen.rows == [(1, "a", "accept"), (1, "b", "reject")]
    assert seen.header[2] == "SPORTS"


def test_no_option_chosen_is_a_no_to_each(tmp_path: Path) -> None:
    rows = [
        {"_input_hash": 1, "accept": chosen, "answer": "accept", "_annotator_id": user}
        for chosen, user in [(["x", "y"], "a"), ([], "b")]
    ]
    path = write(tmp_path / "out.jsonl", rows)
    assert see(path, multi="each", label="accept.x").rows == [(1, "a", "yes"), (1, "b", "no")]
    assert see(path, multi="set").left_out == {"no label": 1}


def test_spans_are_no_labels(tmp_path: Path) -> None:
    rows = [
        {"text": "t", "_input_hash": 1, "answer": "accept", "spans": [{"start": 0, "end": 1}], "_annotator_id": "a"},
        {"text": "t", "_input_hash": 2, "answer": "accept", "_annotator_id": "a"},
    ]
    seen = see(write(tmp_path / "out.jsonl", rows))
    assert seen.left_out == {"spans of text": 1}
    assert seen.rows == [(2, "a", "accept")]
