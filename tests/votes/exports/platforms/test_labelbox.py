"""Exports of Labelbox."""

import copy
from pathlib import Path

from votes.exports.examples import LABELBOX
from votes.exports.reading import see, write


def test_labels_of_a_data_row(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "export.ndjson", LABELBOX))
    assert [(task, label) for task, _, label in seen.rows] == [("row1", "yes"), ("row1", "no")]
    assert seen.left_out == {"benchmark": 1, "skipped": 1, "empty": 1}
    assert seen.golden == {"row1": "yes"}
    assert seen.cells["metadata_fields.gender"] == ["f", "f"]


def test_neither_addresses_nor_signatures_are_read(tmp_path: Path) -> None:
    seen = see(write(tmp_path / "export.ndjson", LABELBOX))
    told = str(seen.cells) + seen.notes
    assert "example.com/a.jpg" in told
    assert not [word for word in ("@", "Signature", "owner") if word in told]


def test_questions_inside_answers_and_checklists(tmp_path: Path) -> None:
    records = copy.deepcopy(LABELBOX)
    for number, label in enumerate(records[0]["projects"]["p1"]["labels"][:2]):
        (radio, _) = label["annotations"]["classifications"]
        radio["radio_answer"]["classifications"] = [
            {"name": "How", "checklist_answers": [{"name": "slur", "value": "slur"}, {"value": "threat"}][: number + 1]}
        ]
    path = write(tmp_path / "export.json", records)
    seen = see(path, label="Toxic?.How", multi="set")
    assert [label for _, _, label in seen.rows] == ["slur", "slur|threat"]
