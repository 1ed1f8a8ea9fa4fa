"""The page of the demo: offered at a terminal, opened on request, its path printed last."""

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from faircrowd.cli import demo
from faircrowd.cli.console import open_in_browser


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: found.append(url) is None)
    return found


def test_the_page_opens_on_request_and_its_path_is_last(
    opened: list[str], tmp_path: Path, faircrowd: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "my demo" / "report.html"
    code, out, _ = faircrowd("demo", "--out", page.parent, "--open")
    assert code == 0
    assert opened == [page.as_uri()]
    assert out.splitlines()[-1] == f"The page: {page}"
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    open_in_browser(page.as_uri())  # nothing to open it with: said, and no error


@pytest.mark.parametrize(
    ("terminal", "ci", "answer", "asked"),
    [(True, "", True, True), (True, "", False, False), (True, "true", True, False), (False, "", True, False)],
)
def test_only_a_terminal_is_asked(
    terminal: bool, ci: str, answer: bool, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, type("Stream", (), {"isatty": lambda self: terminal})())
    calls: list[str] = []
    monkeypatch.setattr(typer, "confirm", lambda text, default: (calls.append(text), answer)[1])
    assert demo._is_asked(Path("report.html")) is asked
    assert bool(calls) is (terminal and not ci)


def test_no_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "")
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True, raising=False)

    def stop(*_: Any, **__: Any) -> bool:
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", stop)
    assert demo._is_asked(Path("report.html")) is False
