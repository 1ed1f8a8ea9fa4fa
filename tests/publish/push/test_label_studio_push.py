"""Predictions to a server that behaves as Label Studio does, also where it fails."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli.app import run
from publish.finished_runs import label_studio_task, write_run
from publish.push.fake_platform import SECRET, FakePlatform, fake_platform

ROWS = [(n, "12"[n % 2], "1", 0.5 + n / 1000) for n in range(1, 451)]
"""Three batches."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export = tmp_path / "export.json"
    export.write_text(json.dumps([label_studio_task(task, "12") for task, *_ in ROWS]))
    return write_run(tmp_path / "run", ROWS, votes=export)


def push(folder: Path, platform: FakePlatform, *more: str) -> int:
    token = folder.parent / "token"
    token.write_text(SECRET)
    token.chmod(0o600)
    where = ["--push", platform.url, "--project", "3", "--token-file", str(token)]
    return run(["publish", str(folder), "--to", "label-studio", *where, *more])


def pushed(capsys: pytest.CaptureFixture[str]) -> Any:
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    return json.loads(shown.out)


def test_nothing_is_sent_unless_it_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform() as platform:
        assert push(folder, platform) == 0
        assert {method for method, _ in platform.asked} == {"GET"}
        assert platform.predictions == []
    shown = capsys.readouterr().out
    assert "project 3 (crowd): 450 of 450 labels are new there" in shown
    assert "--yes sends them" in shown
    assert '{"task": 1, "model_version": "faircrowd eps=0.05", "score": 0.501' in shown


def test_all_are_sent_and_none_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform() as platform:
        assert push(folder, platform, "--yes", "--json") == 0
        assert pushed(capsys)["pushed"] == {
            "sent": 450,
            "created": 450,
            "confirmed": 450,
            "total": 450,
            "missed": "",
        }
        assert push(folder, platform, "--yes", "--json") == 0
        assert pushed(capsys)["pushed"]["sent"] == 0
        assert len(platform.predictions) == 450
        other = {"id": 999, "task": 1, "model_version": "another model", "score": 0.1, "result": []}
        platform.predictions[0]["score"] = 0.25
        platform.predictions.append(dict(other))
        assert push(folder, platform, "--yes", "--json") == 0
        assert pushed(capsys)["plan"]["changed"] == 1
        assert platform.predictions[0]["score"] == 0.501
        assert platform.predictions[-1] == other  # other versions are left alone


def test_labels_that_are_dropped_silently_are_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform(known={"1"}) as platform:
        assert push(folder, platform, "--yes") == 4
    shown = capsys.readouterr()
    assert "stored 225 of the 450 labels" in shown.err
    with fake_platform(known={"1"}) as platform:
        assert push(folder, platform, "--yes", "--json") == 4
    assert "stored 225 of the 450" in pushed(capsys)["pushed"]["missed"]


@pytest.mark.parametrize("failure", [429, 500, "drop", "drop after"])
def test_failures_on_the_way_send_nothing_twice(
    folder: Path, capsys: pytest.CaptureFixture[str], failure: int | str
) -> None:
    with fake_platform(failures=[failure] * 2, fails_on=lambda method, path: method == "POST") as platform:
        assert push(folder, platform, "--yes", "--json") == 0
        assert pushed(capsys)["pushed"]["confirmed"] == 450
        assert sorted(one["task"] for one in platform.predictions) == [task for task, *_ in ROWS]


def test_a_server_that_stays_broken_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform(failures=[500] * 99, fails_on=lambda method, path: method == "POST") as platform:
        assert push(folder, platform, "--yes") == 2
    shown = capsys.readouterr()
    assert "answered 500" in shown.err
    assert "run the same command again" in shown.err
    assert SECRET not in shown.err + shown.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--with-data"], "--with-data is for a file"),
        (["--project", "three"], "must be the number of a project"),
        (["--changed-only", "--model-version", "x\ny"], "--model-version must be"),
        (["--push", "http://labels.example.com"], "is not encrypted"),
        (["--push", f"https://user:{SECRET}@labels.example.com"], "holds a user or a password"),
        (["--token-file", "/nowhere/token"], "cannot be read"),
    ],
)
def test_wrong_options(folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    with fake_platform() as platform:
        assert push(folder, platform, *more) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert SECRET not in shown.err


def test_options_that_go_with_push(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", str(folder), "--to", "label-studio", "--yes"]) == 2
    assert "go with --push URL" in capsys.readouterr().err
    assert run(["publish", str(folder), "--to", "csv", "--push", "https://x.example.com"]) == 2
    assert "--push URL is for label-studio, argilla" in capsys.readouterr().err
    assert run(["publish", str(folder), "--to", "label-studio", "--push", "https://x.example.com"]) == 2
    assert "--token-file FILE" in capsys.readouterr().err


def test_inputs_are_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("labels.csv", "summary.json", "../export.json"):
        assert run(["publish", str(folder), "--to", "csv", "--out", str(folder / name)]) == 2
        assert "would overwrite the input" in capsys.readouterr().err


def test_the_token_is_in_no_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_platform() as platform:
        assert push(folder, platform, "--yes", "--out", str(tmp_path / "out" / "predictions.json")) == 0
    capsys.readouterr()
    holding = [
        path.name for path in tmp_path.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")
    ]
    assert holding == ["token"]
    assert SECRET not in " ".join(sys.argv)
