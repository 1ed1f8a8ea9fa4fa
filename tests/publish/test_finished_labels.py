from pathlib import Path

import pytest

from faircrowd.errors import FileError, InputError, OptionError
from faircrowd.publish.finished_labels import read_finished
from publish.finished_runs import write_run

ROWS = [(1, "a", "a", 0.9), (2, "b", "a", 0.4), (3, "b", "b", 1.0)]


def test_labels_scores_and_changes(tmp_path: Path) -> None:
    found = read_finished(write_run(tmp_path, ROWS))
    assert [(one.task, one.label, one.score, one.changed) for one in found.labels] == [
        (1, "a", 0.9, False),
        (2, "b", 0.4, True),
        (3, "b", 1.0, False),
    ]
    assert found.model_version == "faircrowd eps=0.05"
    assert any("often too sure" in note for note in found.notes())


def test_only_what_changed(tmp_path: Path) -> None:
    found = read_finished(write_run(tmp_path, ROWS), changed_only=True)
    assert [one.task for one in found.labels] == [2]
    assert found.in_all == 3
    assert "2 of 3 tasks are not published" in found.notes()[0]


def test_tasks_that_a_person_labels_are_left_out(tmp_path: Path) -> None:
    found = read_finished(write_run(tmp_path, ROWS, review=[1]))
    assert [one.task for one in found.labels] == [1, 3]
    assert found.left_out == {"they are left to a person": 1}


def test_what_the_labels_keep_is_their_version(tmp_path: Path) -> None:
    folder = write_run(tmp_path, ROWS, epsilon=None, require=["ratio(race, label=b) >= 0.8"])
    assert read_finished(folder).model_version == "faircrowd ratio(race, label=b) >= 0.8"
    assert read_finished(folder, model_version="mine").model_version == "mine"
    for wrong in ("", " ", "a\nb", "x" * 201):
        with pytest.raises(OptionError, match="model_version"):
            read_finished(folder, model_version=wrong)


def test_calibrated_scores_are_not_warned_of(tmp_path: Path) -> None:
    assert read_finished(write_run(tmp_path, ROWS, calibrated=True)).notes() == []


def test_names_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [(1, "=a", "=a", 0.7), (2, "b", "b", 0.6)])
    text = (folder / "labels.csv").read_text().replace('"=a"', '"\'=a"').replace('"posterior_=a"', '"posterior_=a"')
    (folder / "labels.csv").write_text(text)
    assert [one.label for one in read_finished(folder).labels] == ["=a", "b"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace('2,"b"', '2,"zzz"'), "labels that summary.json beside it does not know"),
        (lambda text: text.replace("0.9", "1.9"), "not between 0 and 1"),
        (lambda text: text.replace('3,"b"', '2,"b"'), "a task twice"),
        (lambda text: "nothing\n", "column"),
    ],
)
def test_edited_labels_are_refused(tmp_path: Path, edit: object, message: str) -> None:
    folder = write_run(tmp_path, ROWS)
    (folder / "labels.csv").write_text(edit((folder / "labels.csv").read_text()))  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        read_finished(folder)


def test_folders_without_a_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no folder"):
        read_finished(tmp_path / "none")
    with pytest.raises(FileError, match=r"has no labels\.csv"):
        read_finished(tmp_path)
    write_run(tmp_path, ROWS)
    for text in ("[]", "{}", '{"options": 3}', "not json"):
        (tmp_path / "summary.json").write_text(text)
        with pytest.raises(InputError):
            read_finished(tmp_path)


def test_a_file_is_not_the_folder_of_a_run(tmp_path: Path) -> None:
    export = tmp_path / "export.json"
    export.write_text("[]")
    with pytest.raises(FileError, match="is a file; publish takes the folder that aggregate has written"):
        read_finished(export)
