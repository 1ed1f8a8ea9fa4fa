"""Folders of processes that were killed are removed by the next run; those of processes that live are not."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from faircrowd.engines.scratch import Scratch, remove_left

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders are told apart by user and lock")

HOLD = """
import sys, time
from faircrowd.engines.scratch import Scratch
scratch = Scratch(sys.argv[1])
(scratch.path / "worker").write_bytes(b"votes")
print(scratch.path, flush=True)
time.sleep(600)
"""


def held(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_goes(tmp_path: Path) -> None:
    process, path = held(tmp_path)
    with process:
        assert f"-{process.pid}-" in path.name
        assert remove_left(tmp_path) is None
        assert (path / "worker").exists()
        process.send_signal(signal.SIGKILL)
    assert remove_left(tmp_path) == f"removed a folder that a killed run left in {tmp_path}"
    assert not path.exists()
    assert remove_left(tmp_path) is None


def test_a_lock_counts_where_the_process_is_not_seen(tmp_path: Path) -> None:
    """In another container the number of a process stands for nothing here."""
    own = Scratch(tmp_path)
    unseen = tmp_path / "faircrowd-4194305-77-abcdefgh"  # no process has so high a number
    own.path.rename(unseen)
    assert remove_left(tmp_path) is None
    own.remove()  # gives the lock up
    assert remove_left(tmp_path) is not None
    assert not list(tmp_path.iterdir())


def test_a_number_that_another_process_has_now(tmp_path: Path) -> None:
    (tmp_path / f"faircrowd-{os.getpid()}-1-abcdefgh").mkdir()
    (tmp_path / "faircrowd-4194305-1-abcdefgh").mkdir()
    assert remove_left(tmp_path) == f"removed 2 folders that killed runs left in {tmp_path}"


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    (tmp_path / "faircrowd-data").mkdir()
    (tmp_path / "faircrowd-4194305-1-file").touch()
    (tmp_path / "faircrowd-4194305-1-link").symlink_to(tmp_path / "faircrowd-data")
    assert remove_left(tmp_path) is None
    assert len(list(tmp_path.iterdir())) == 3


def test_removed_folders_hold_no_file_open(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.remove()
    scratch.remove()
    assert not scratch.path.exists()


def test_nothing_is_left_by_an_interrupt_before_anybody_holds_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def interrupted(*given: Any, **named: Any) -> str:
        made.append(real(*given, **named))
        signal.raise_signal(signal.SIGINT)
        return str(made[0])

    real = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        Scratch(tmp_path)
        pytest.fail("the interrupt was lost")
    assert len(made) == 1
    assert not list(tmp_path.iterdir())


def test_a_fork_does_not_remove_the_folder_of_its_parent(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    if (child := os.fork()) == 0:
        scratch.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert scratch.path.is_dir()
    scratch.remove()
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from faircrowd.aggregate.em import watch_rounds
from faircrowd.cli.app import run
with watch_rounds(lambda *_: os.kill(os.getpid(), signal.SIGKILL)):
    run(sys.argv[1:])
"""


def test_a_killed_stream_is_cleared_up_by_the_next(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rows = "".join(f"{t},{w},{(t * w) % 3 % 2}\n" for t in range(20) for w in range(5))
    (tmp_path / "votes.csv").write_text(f"task,worker,label\n{rows}", encoding="utf-8")
    place = tmp_path / "temporary"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    arguments = ["aggregate", str(tmp_path / "votes.csv"), "--out", str(tmp_path / "out"), "--engine", "stream"]
    arguments.append("--no-report")
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments], env=environment).returncode == -9
    assert len(list(place.glob("faircrowd-*"))) == 1
    command = [sys.executable, "-m", "faircrowd", *arguments]
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert again.stderr == f"removed a folder that a killed run left in {place}\n"
    assert not list(place.glob("faircrowd-*"))
    (place / "faircrowd-4194305-1-abcdefgh").mkdir()
    told = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
    assert any("killed run" in note for note in json.loads(told.stdout)["notes"])
