"""Every case of the catalogue: by the command line, and in Python."""

import csv
import json
import shlex
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faircrowd as fc
from bad_input.case import Case, read
from bad_input.catalogue import CASES, GOOD, TASKS
from faircrowd.cli.app import run
from faircrowd.errors import DataWarning, InputError

csv.field_size_limit(1 << 24)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def earlier_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a rule on the good votes."""
    place = tmp_path_factory.mktemp("earlier")
    (place / "votes.csv").write_text(GOOD)
    (place / "tasks.csv").write_text(TASKS)
    files = ["aggregate", f"{place}/votes.csv", "--tasks", f"{place}/tasks.csv", "--out", f"{place}/run"]
    assert run([*files, "--group", "group", "--epsilon", "0.1", "--min-group", "1", "--no-report"]) == 0
    return place / "run"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the files of a case."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lay_out(case: Case, place: Path, earlier_run: Path) -> None:
    if case.command.startswith("apply"):
        shutil.copytree(earlier_run, place / "run")
    for name, content in {"votes.csv": GOOD, "tasks.csv": TASKS, **case.files}.items():
        if callable(content):
            content(place / name)
        else:
            (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("name", CASES)
def test_command(name: str, place: Path, earlier_run: Path, faircrowd: Run) -> None:
    case = CASES[name]
    lay_out(case, place, earlier_run)
    arguments = shlex.split(case.command)
    before = sorted(place.rglob("*"))
    code, out, err = faircrowd(*arguments)
    assert "this is a bug" not in err
    assert (code, "Traceback" in out + err) == (case.code, False), err
    if code == 2:
        assert out == ""
        assert err.startswith("faircrowd: ")
        assert len(err.splitlines()) == 1
        assert len(err) < 600
        assert case.says in err
        code, out, err = faircrowd(*arguments, "--json")
        assert (code, err) == (2, "")
        assert case.says in json.loads(out)["error"]
        assert sorted(place.rglob("*")) == before
        return
    assert err == ""
    assert case.says in out
    if case.labels is not None:
        with (place / "out" / "labels.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["task"]: row["label"] for row in rows} == case.labels
        assert len(rows) == len(case.labels)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.in_python])
def test_python(name: str, place: Path, earlier_run: Path) -> None:
    case = CASES[name]
    lay_out(case, place, earlier_run)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always", DataWarning)
        if case.error is not None:
            with pytest.raises(case.error) as caught:
                case.python(place) if case.python else read(place, case)
            assert type(caught.value) is case.error
            assert len(str(caught.value).splitlines()) == 1
            return
        if case.python is not None:
            case.python(place)
            return
        expected = case.labels if case.answer is None else case.answer
        if not expected:
            with pytest.raises(InputError, match="There is no vote to learn from"):
                fc.MajorityVote().fit_predict(read(place, case))
            return
        labels = fc.MajorityVote().fit_predict(read(place, case))
    found = dict(zip(labels.index.tolist(), labels.tolist(), strict=True))
    assert [(k, v, type(v)) for k, v in found.items()] == [(k, v, type(v)) for k, v in sorted_like(expected, found)]
    if case.code == 0:
        assert any(case.says in line for line in map(str, (warning.message for warning in recorded))) or not case.says


def sorted_like(expected: Any, found: dict[Any, Any]) -> list[tuple[Any, Any]]:
    assert set(expected) == set(found)
    return [(key, expected[key]) for key in found]
