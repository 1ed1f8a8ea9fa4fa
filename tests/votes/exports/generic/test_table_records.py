"""Votes as a JSON array or a spreadsheet."""

import importlib.util
from pathlib import Path
from zipfile import ZipFile

import pytest

from faircrowd import _extras
from faircrowd.errors import MissingPackageError
from votes.exports.reading import read, refusal, rows, write

ROWS = [
    {"task": 1, "worker": "a", "label": "yes", "about": {"sex": "f"}},
    {"task": 1, "worker": "b", "label": "no", "about": {"sex": "f"}},
    {"task": 2, "worker": "a", "label": "no", "about": {"sex": "m"}},
]
EXPECTED = {("1", "a", "yes"), ("1", "b", "no"), ("2", "a", "no")}


def test_a_json_array(tmp_path: Path) -> None:
    votes = read(write(tmp_path / "v.json", ROWS), sensitive_features="about.sex")
    assert rows(votes) == EXPECTED
    assert votes.tasks.to_list() == [1, 2]
    assert votes.groups is not None
    assert votes.groups.to_list() == ["f", "m"]


def test_other_names_are_given(tmp_path: Path) -> None:
    renamed = [{"hit": one["task"], "who": one["worker"], "judgement": one["label"]} for one in ROWS]
    path = write(tmp_path / "v.json", renamed)
    assert "is no export that is known" in refusal(path)
    assert rows(read(path, format="records", task="hit", worker="who", label="judgement")) == EXPECTED


def test_times_decide_between_repeated_rows(tmp_path: Path) -> None:
    later = {**ROWS[0], "label": "no", "time": "2026-01-02"}
    timed = [later, *({**one, "time": "2026-01-01"} for one in ROWS)]
    assert ("1", "a", "no") in rows(read(write(tmp_path / "v.json", timed)))
    assert ("1", "a", "yes") in rows(read(write(tmp_path / "w.json", [{**one, "time": "?"} for one in timed])))


def test_a_spreadsheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for row in [("task", "worker", "label", "sex"), *((r["task"], r["worker"], r["label"], "f") for r in ROWS)]:
        book.active.append(row)
    book.save(tmp_path / "v.xlsx")
    votes = read(tmp_path / "v.xlsx", sensitive_features="sex")
    assert rows(votes) == EXPECTED
    assert votes.tasks.to_list() == [1, 2]
    book.create_sheet("more").append((1, 2))
    book.save(tmp_path / "two.xlsx")
    assert "2 sheets with rows" in refusal(tmp_path / "two.xlsx", format="records")


def test_a_spreadsheet_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(tmp_path / "v.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    if importlib.util.find_spec("python_calamine") is not None:
        assert "is no spreadsheet that can be read" in refusal(tmp_path / "v.xlsx")
    monkeypatch.setattr(_extras, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"v\.xlsx needs .*'faircrowd\[exports\]', or save it as CSV"):
        read(tmp_path / "v.xlsx")
