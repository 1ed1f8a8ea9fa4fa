"""With --json, standard output holds JSON and nothing else, whoever writes there."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli.json_output import json_only, print_json

NOISY = """
import ctypes, json, os, subprocess, sys, threading
import faircrowd.runs.fit, faircrowd.audit.gate, faircrowd.runs.finished_labels.check_file
import faircrowd.runs.new_tasks.apply_rule
import faircrowd.runs.verify, faircrowd.runs.options, faircrowd.votes.readers as readers

def shout():
    os.write(1, b"a line of a library\\n")
    ctypes.CDLL(None).puts(b"a line of the C library")
    ctypes.CDLL(None).fflush(None)
    print("a line of Python")
    subprocess.run(["echo", "a line of another process"])
    thread = threading.Thread(target=lambda: os.write(1, b"a line of a thread\\n"))
    thread.start(); thread.join()

found = readers.reader_of
def noisy(*arguments, **options):
    shout()
    return found(*arguments, **options)

import faircrowd.votes.exports as exports
exports.reader_of = readers.reader_of = noisy
from faircrowd.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit:
        pass
    for stream in (sys.stdout, sys.stderr):
        print("end of a command", file=stream, flush=True)
"""


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    rows = [f"{task},{worker},{(task + worker // 2) % 2},{task % 2}" for task in range(40) for worker in range(3)]
    path.write_text("\n".join(["task,worker,label,group", *rows]) + "\n")
    return path


def noisy(commands: list[tuple[Any, ...]]) -> list[tuple[str, str]]:
    """What each of several commands writes to standard output and to standard error, all in one process."""
    given = json.dumps([[str(argument) for argument in arguments] for arguments in commands])
    done = subprocess.run([sys.executable, "-c", NOISY, given], capture_output=True, text=True, check=True)
    outs, errs = (text.split("end of a command\n") for text in (done.stdout, done.stderr))
    assert (outs.pop(), errs.pop()) == ("", "")
    return list(zip(outs, errs, strict=True))


def in_a_shell(votes: Path, out: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    given = f"{votes} --method majority --no-report --out {out} --json"
    command = f"{sys.executable} -m faircrowd aggregate {given} {redirection}"
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602


def test_a_library_that_prints_does_not_reach_standard_output(votes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fair = ("aggregate", votes, "--group", "group", "--epsilon", "0.1", "--method", "majority", "--no-report")
    asked = {
        "aggregate": (*fair, "--out", out),
        "apply": ("apply", out / "rule.json", votes, "--out", tmp_path / "new.csv"),
        "check": ("check", out / "labels.csv", "--group", "group", "--epsilon", "1"),
        "verify": ("verify", out),
        "frontier": ("frontier", votes, "--group", "group", "--method", "majority", "--out", tmp_path / "f"),
        "an error": ("aggregate", votes, "--label", "nothing", "--out", out),
    }
    printed = noisy([(*arguments, "--json") for arguments in asked.values()])
    for name, (printed_out, printed_err) in zip(asked, printed, strict=True):
        assert isinstance(json.loads(printed_out), dict), (name, printed_out, printed_err)
        assert printed_out.count("\n") == 1, name
        for line in ("a library", "the C library", "Python", "another process", "a thread"):
            assert f"a line of {line}" in printed_err, (name, line)


def test_standard_output_is_restored(capfd: pytest.CaptureFixture[str]) -> None:
    with json_only():
        os.write(1, b"inside\n")
        sys.stdout.write("inside, too\n")
        thread = threading.Thread(target=print, args=("in a thread",))
        thread.start()
        thread.join()  # on a busy machine it would print after the block
        print_json({"a": 1})
        ctypes.CDLL(None).puts(b"in C")
        ctypes.CDLL(None).fflush(None)
    sys.stdout.write("after\n")
    sys.stdout.flush()
    os.write(1, b"after, too\n")
    printed = capfd.readouterr()
    assert sorted(printed.out.splitlines()) == ["after", "after, too", '{"a": 1}']
    assert {"inside", "inside, too", "in a thread", "in C"} <= set(printed.err.splitlines())


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_is_no_error(closed: str, votes: Path, tmp_path: Path) -> None:
    done = in_a_shell(votes, tmp_path / "out", f"{closed}>&-")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["tasks"] == 40) if closed == "2" else done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_printed_is_an_error(votes: Path, tmp_path: Path) -> None:
    done = in_a_shell(votes, tmp_path / "out", "> /dev/full")
    assert done.returncode == 2
    assert "the output cannot be printed: No space left on device" in done.stderr


def test_help_is_printed_where_it_always_is(faircrowd: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = faircrowd("check", "--help", "--json")
    assert (code, "--epsilon" in out) == (0, True)
