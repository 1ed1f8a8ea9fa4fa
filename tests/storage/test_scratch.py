"""Folders of processes that were killed are removed by the next run; those of processes that live are not."""

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from faircrowd.storage.scratch import Scratch, remove_left

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders are distinguished by user and lock")

HOLD = """
import sys, time
from faircrowd.storage.scratch import Scratch
scratch = Scratch(sys.argv[1])
(scratch.path / "worker").write_bytes(b"votes")
print(scratch.path, flush=True)
time.sleep(600)
"""


def held(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
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
    for number in (os.getpid(), 4194305):
        (tmp_path / f"faircrowd-{number}-1-abcdefgh").mkdir()
    assert remove_left(tmp_path) is None  # without a lock, and new: perhaps another system's, which makes it now
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 61,) * 2)
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


def test_an_interrupt_while_a_forgotten_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector lets no exception out, so the folder must go all the same, and its lock."""

    def interrupted(*given: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        real(*given, **named)

    real = os.rmdir
    opened = len(os.listdir("/dev/fd"))
    scratch = Scratch(tmp_path)
    monkeypatch.setattr(os, "rmdir", interrupted)
    del scratch
    gc.collect()
    assert not list(tmp_path.iterdir())
    assert len(os.listdir("/dev/fd")) == opened


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
def test_an_interrupt_that_is_not_pythons_comes_after_the_block(before: signal.Handlers) -> None:
    code = """
import signal, sys
from faircrowd.storage.scratch import uninterrupted
signal.signal(signal.SIGINT, signal.Handlers(int(sys.argv[1])))
with uninterrupted():
    signal.raise_signal(signal.SIGINT)
    print("block", flush=True)
print("after", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code, str(int(before))], capture_output=True, text=True, check=False)
    ends = {signal.SIG_DFL: (-signal.SIGINT, "block\n"), signal.SIG_IGN: (0, "block\nafter\n")}
    assert (done.returncode, done.stdout) == ends[before], done.stderr


def test_a_handler_that_python_did_not_set_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda number: None)  # as in a program that Python is embedded in
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("the handler was changed"))
    Scratch(tmp_path).remove()
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
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.cli.app import run
Checkpoint.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
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
    os.utime(place / "faircrowd-4194305-1-abcdefgh", (0, 0))
    printed = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
    assert any("killed run" in note for note in json.loads(printed.stdout)["notes"])
