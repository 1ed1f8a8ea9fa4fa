"""Tests of data sets use neither the user's folders nor the network."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the tests away from the user's folders and from the network."""
    monkeypatch.setenv("FAIRCROWD_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
