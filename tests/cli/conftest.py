"""Two ways to run a command."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from faircrowd.cli.app import run


@pytest.fixture
def faircrowd(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; return its code and what it printed."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def spawn() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in a process of its own."""

    def call(*arguments: Any, **settings: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "faircrowd", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8", **settings)

    return call
