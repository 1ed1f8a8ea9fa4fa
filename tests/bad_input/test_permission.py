"""Files without read permission, in a process that cannot read everything, even if root runs the tests."""

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bad_input.catalogue import GOOD

Spawn = Callable[..., subprocess.CompletedProcess[str]]
_DROP, _RIGHTS = 24, (1, 2)  # PR_CAPBSET_DROP; CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def give_up_rights() -> None:
    """Drop the capabilities of root with the next program, so that the permissions of a file count."""
    for right in _RIGHTS:
        if ctypes.CDLL(None, use_errno=True).prctl(_DROP, right, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "rights cannot be given up")


@pytest.fixture
def reader(spawn: Spawn) -> Spawn:
    """Run a command that reads only what the permissions of a file allow."""

    def call(*arguments: Any) -> subprocess.CompletedProcess[str]:
        if os.geteuid() != 0:
            return spawn(*arguments)
        try:
            return spawn(*arguments, preexec_fn=give_up_rights)
        except (subprocess.SubprocessError, AttributeError) as error:
            pytest.skip(f"root reads everything here: {error}")

    return call


@pytest.mark.parametrize(("hidden", "file"), [("votes.csv", "votes.csv"), ("inner", "inner/votes.csv")])
def test_no_permission(hidden: str, file: str, tmp_path: Path, reader: Spawn) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(GOOD)
    (tmp_path / hidden).chmod(0)
    try:
        done = reader("aggregate", path, "--out", tmp_path / "out")
    finally:
        (tmp_path / hidden).chmod(0o700)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("faircrowd: ")
    assert done.stderr.count("\n") == 1
    assert "cannot be read" in done.stderr
    assert "Permission denied" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_tasks_table_without_permission(tmp_path: Path, reader: Spawn) -> None:
    (tmp_path / "votes.csv").write_text(GOOD)
    (tmp_path / "tasks.csv").write_text("task,group\n1,g\n2,h\n3,g\n")
    (tmp_path / "tasks.csv").chmod(0)
    files = [tmp_path / "votes.csv", "--tasks", tmp_path / "tasks.csv", "--group", "group"]
    done = reader("aggregate", *files, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
