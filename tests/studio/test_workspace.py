"""The folder of a studio: names that are safe, files whole or not at all, jobs that are found again."""

from pathlib import Path

import pytest

from faircrowd.errors import FileError, InputError
from faircrowd.studio.workspace import FINAL, Workspace, safe_name


@pytest.mark.parametrize(
    "name",
    ["../../x.csv", "..\\..\\x.csv", "/etc/passwd", "a\x00b", ".part", "..", "", " ", "x" * 500 + ".csv", "é" * 200],
)
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    workspace = Workspace(tmp_path)
    saved = workspace.save(name, [b"1"], limit=10)
    assert saved.parent == tmp_path / "files"
    assert saved in workspace.files()
    assert len(saved.name.encode()) <= 120


def test_endings_stay_where_names_are_cut() -> None:
    assert safe_name("x" * 500 + ".csv").endswith("x.csv")


def test_a_file_never_replaces_another(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    first, second = (workspace.save("v.csv.gz", [text], limit=10) for text in (b"1", b"2"))
    assert (first.name, second.name) == ("v.csv.gz", "v-2.csv.gz")
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")


def test_a_file_that_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with pytest.raises(InputError, match="larger than 5 bytes"):
        workspace.save("v.csv", [b"123", b"456"], limit=5)
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.parametrize("name", ["9999", "..", "../files", "x", ""])
def test_jobs_that_are_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no job"):
        Workspace(tmp_path).job(name)


def test_jobs_are_numbered_and_found_again(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    jobs = [workspace.new_job({"kind": kind}) for kind in ("run", "overview", "run")]
    assert [job.name for job in jobs] == ["0001", "0002", "0003"]
    jobs[2].set_state("done")
    again = Workspace(tmp_path)
    assert [job.name for job in again.jobs("run")] == ["0003", "0001"]
    assert again.job("0003").is_done
    assert again.job("0001").state["state"] not in FINAL


def test_damaged_state_is_a_failed_job(tmp_path: Path) -> None:
    job = Workspace(tmp_path).new_job({"kind": "run"})
    (job.folder / "state.json").write_text("[1]")
    assert job.state["state"] == "failed"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(FileError, match="is a file"):
        Workspace(tmp_path / "x")
