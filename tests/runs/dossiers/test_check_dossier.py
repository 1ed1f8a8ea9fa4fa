"""``verify`` finds a changed number in any file of a dossier."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import faircrowd as fc
from faircrowd.report.evidence import read_evidence
from faircrowd.runs.dossiers.check_dossier import check_dossiers
from faircrowd.runs.file_differences import Compared
from runs.dossiers.finished_folders import aggregate, write_crowd

Run = Callable[..., tuple[int, str, str]]
FILES = ("dossier.html", "README.md", "croissant.json", "ll144.csv", "dossier.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("verify")
    folder = aggregate(write_crowd(place), place / "run", "--group", "sex", "--truth", "truth", "--epsilon", "0.02")
    fc.write_dossier(folder, selected=1, title="Seven 7")
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def differences(folder: Path) -> list[str]:
    found = Compared()
    check_dossiers(folder, read_evidence(folder), found)
    return [str(line) for line in found.differences]


@pytest.mark.parametrize("name", FILES)
def test_a_changed_number_is_found(name: str, folder: Path) -> None:
    path = folder / "dossier" / name
    text = path.read_text()
    assert differences(folder) == []
    places = [found.start() for found in re.finditer(r"\d", text)]
    for place in places[:: max(len(places) // 12, 1)]:
        path.write_text(f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}")
        assert any(line.startswith("dossier/") for line in differences(folder)), place
    path.unlink()
    assert any(f"dossier/{name}" in line and "missing" in line for line in differences(folder))


def test_every_number_that_is_shown_is_checked(folder: Path) -> None:
    """Each number of the page, changed where it is shown."""
    page = folder / "dossier" / "dossier.html"
    lines = page.read_text().split("\n")
    numbered = [i for i, line in enumerate(lines) if re.search(r'">[\d.,%]+</a>', line)]
    assert len(numbered) > 20
    changed = [
        re.sub(r'">([\d.,%]+)</a>', '">9999</a>', line) if i in numbered else line for i, line in enumerate(lines)
    ]
    page.write_text("\n".join(changed))
    found = " ".join(differences(folder))
    assert f"line {numbered[0] + 1} " in found
    assert f"{len(numbered) - 20:,} more differences" in found


def test_verify_tells_of_dossiers(folder: Path, faircrowd: Run) -> None:
    code, out, _ = faircrowd("verify", folder, "--json")
    assert (code, json.loads(out)["differences"]) == (0, [])
    table = folder / "dossier" / "ll144.csv"
    table.write_text(table.read_text().replace('"f",', '"f",1', 1))
    code, out, _ = faircrowd("verify", folder, "--json")
    (line,) = json.loads(out)["differences"]
    assert code == 1
    assert line.startswith("dossier/ll144.csv: row 1 (attribute sex), column number is '1")


def test_dossiers_elsewhere_in_the_folder_are_found(folder: Path) -> None:
    shutil.rmtree(folder / "dossier")
    assert differences(folder) == []
    for where, prefix in ((folder, ""), (folder / "paper", "paper/")):
        fc.write_dossier(folder, where)
        assert differences(folder) == []
        card = where / "README.md"
        card.write_text(card.read_text().replace("150 tasks", "151 tasks"))
        assert any(line.startswith(f"{prefix}README.md: line ") for line in differences(folder))
        card.write_text(card.read_text().replace("151 tasks", "150 tasks"))


def test_a_dossier_of_another_run_is_told_and_aggregate_says_so(folder: Path, finished: Path, faircrowd: Run) -> None:
    given = (finished.parent / "votes.csv", "--tasks", finished.parent / "tasks.csv", "--group", "sex")
    more = ("--method", "majority", "--epsilon", "0.3", "--no-report", "--out", folder)
    code, out, _ = faircrowd("aggregate", *given, *more)
    assert code == 0
    assert f"{folder}/dossier is the dossier of an earlier run; write it again" in out
    assert any(line.startswith("dossier/dossier.html") for line in differences(folder))
    labels = folder / "labels.csv"
    labels.write_text(labels.read_text() + "\n")
    assert ["labels.csv" in line and "not compared" in line for line in differences(folder)] == [True]


def test_a_damaged_index_is_told(folder: Path) -> None:
    path = folder / "dossier" / "dossier.json"
    index = json.loads(path.read_text())
    for damaged in (
        "{",
        json.dumps({**index, "options": {"x": 1}}),
        json.dumps([]),
        json.dumps({**index, "options": 1}),
    ):
        path.write_text(damaged)
        assert any(line.startswith("dossier/dossier.json is not that of a dossier") for line in differences(folder))
    path.write_text(json.dumps({**index, "options": {**index["options"], "selected": "nobody"}}))
    assert differences(folder)
