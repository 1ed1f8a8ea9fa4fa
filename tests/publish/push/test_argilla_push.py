"""Suggestions to a server that behaves as Argilla does."""

import json
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli.app import run
from publish.finished_runs import write_run
from publish.push.fake_platform import DATASET, QUESTION, SECRET, FakePlatform, fake_platform

ROWS = [(f"r{n}", "12"[n % 2], "1", 0.9) for n in range(5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export = tmp_path / "records.json"
    nested = {"fields": {"text": "t"}, "responses": {"better": [{"value": "1", "user_id": "u"}]}}
    export.write_text(json.dumps([{"id": task, "_server_id": f"s-{task}", **nested} for task, *_ in ROWS]))
    return write_run(tmp_path / "run", ROWS, votes=export)


def records(**suggestions: Any) -> dict[str, dict[str, Any]]:
    return {
        task: {"id": f"s-{task}", "external_id": task, "suggestions": suggestions.get(task, []), "responses": ["kept"]}
        for task, *_ in ROWS
    }


def push(folder: Path, platform: FakePlatform, *more: str) -> int:
    token = folder.parent / "token"
    token.write_text(SECRET)
    token.chmod(0o600)
    export = ["--export", str(folder.parent / "records.json"), "--json"]
    where = ["--push", platform.url, "--project", DATASET, "--token-file", str(token)]
    return run(["publish", str(folder), "--to", "argilla", *export, *where, *more])


def test_suggestions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = {"question_id": QUESTION, "value": "1", "score": 0.3, "agent": "another"}
    with fake_platform(records=records(r1=[theirs])) as platform:
        assert push(folder, platform) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["plan"] | {"place": ""} == {"place": "", "total": 5, "same": 0, "changed": 1, "new": 4}
        assert any("other agents are replaced: 'another'" in note for note in found["notes"])
        assert all(method == "GET" for method, _ in platform.asked)

        assert push(folder, platform, "--yes") == 0
        assert json.loads(capsys.readouterr().out)["pushed"]["confirmed"] == 5
        found = platform.records["r1"]
        assert found["suggestions"] == [
            {"question_id": QUESTION, "type": "model", "value": "2", "score": 0.9, "agent": "faircrowd eps:0.05"}
        ]
        assert found["responses"] == ["kept"]

        assert push(folder, platform, "--yes") == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["pushed"]["sent"] == 0
        assert SECRET not in shown.out + shown.err


def test_records_that_are_not_there_are_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sending them would make new records."""
    known = records()
    del known["r2"]
    with fake_platform(records=known) as platform:
        assert push(folder, platform, "--yes") == 2
        assert all(method == "GET" for method, _ in platform.asked)
    assert "1 of 5 records are not in dataset" in json.loads(capsys.readouterr().out)["error"]


def test_datasets_and_questions_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform(records=records()) as platform:
        assert push(folder, platform, "--project", "mine") == 2
        assert "id of a dataset" in json.loads(capsys.readouterr().out)["error"]
