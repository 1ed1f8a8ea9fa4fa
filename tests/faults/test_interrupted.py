"""Ctrl-C at any moment: exit code 130, one true sentence, complete files, and nothing else left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli import app
from faults.conftest import COMMANDS, Faults
from faults.moments import tree

Outputs = Callable[[dict[str, str]], tuple[dict[str, str], list[str]]]


@pytest.mark.parametrize("part", ["early", "before", "after"])
@pytest.mark.parametrize("name", COMMANDS)
def test_at_every_stage(name: str, part: str, faults: Faults, outputs: Outputs) -> None:
    old, new = (tree(faults.whole(name, number)) for number in (1, 2))
    moments = faults.moments(name)
    change = moments["exchange"] or moments["moved"]
    at = {"early": 3, "before": change, "after": change + 1}[part]
    answer = faults(faults.command(name, 2), fault="interrupt", at=at, start=str(faults.whole(name, 1)))
    files, litter = outputs(answer["tree"])
    files.pop("checkpoint.npz", None)
    assert litter == []
    assert answer["code"] == 130
    if part == "early":
        assert files == old
        assert answer["err"] == "faircrowd: interrupted; no results were written.\n"
    else:  # a replacement that has begun is completed
        assert files == new
        assert answer["err"] == f"faircrowd: interrupted; the files in {faults.place / 'out'} were written.\n"


@pytest.mark.parametrize("name", ["aggregate", "apply"])
def test_while_it_reads(name: str, faults: Faults, outputs: Outputs) -> None:
    old = tree(faults.whole(name, 1))
    near = str(faults.inputs / "crowd2")
    for at in (1, 2):
        answer = faults(faults.command(name, 2), fault="interrupt", at=at, near=near, start=str(faults.whole(name, 1)))
        assert (answer["code"], answer["out"]) == (130, "")
        assert answer["err"] == "faircrowd: interrupted; no results were written.\n"
        assert outputs(answer["tree"]) == (old, [])


@pytest.mark.parametrize("engine", ["stream", "memory"])
def test_while_it_fits(engine: str, faults: Faults, tmp_path: Path) -> None:
    endless = [
        "--method",
        "glad",
        "--n-iter",
        10**9,
        "--tol",
        -1,
        "--engine",
        engine,
        *(["--resume"] if engine == "memory" else []),
    ]
    arguments = ["aggregate", *faults.votes(1), *endless, "--out", tmp_path / "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "faircrowd", *map(str, arguments)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (tmp_path / "out" / "checkpoint.npz").exists():  # the rounds have begun
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.endswith("faircrowd: interrupted; no results were written.\n")
    assert sorted(tree(tmp_path)) == ["out", "out/checkpoint.npz"]


@pytest.mark.parametrize("layers", [1, 2])
def test_in_a_kernel(monkeypatch: pytest.MonkeyPatch, layers: int) -> None:
    """Numba returns from a kernel with the interrupt pending, which Python takes for an error of its own."""

    def end_as_kernels_do(*_: Any, **__: Any) -> None:
        error: BaseException = KeyboardInterrupt()
        for _layer in range(layers):
            error, cause = SystemError("CPUDispatcher returned a result with an exception set"), error
            error.__cause__ = cause
        raise error

    monkeypatch.setattr(app, "_commands", lambda: end_as_kernels_do)
    with pytest.raises(KeyboardInterrupt):
        app.run(["aggregate"])


def test_errors_that_cause_each_other() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert not app._is_interrupt(first)
