"""A second process compiles what the first run needs later, if there is something to compile and a processor for it."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from faircrowd.cli import compile_ahead as ahead

SCRIPT = """
import json, sys
from pathlib import Path
import numba
from faircrowd.cli import app
from faircrowd.cli.compile_ahead import compile_kernels

def signatures():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("faircrowd.fair.thresholds.", "faircrowd.audit.")):
            for kernel in vars(module).values():
                if hasattr(kernel, "py_func") and kernel.py_func.__module__ == name:
                    found[f"{name}.{kernel.py_func.__name__}"] = len(kernel.signatures)
    return found

compile_kernels()
before = signatures()
code = app.run(sys.argv[2:])
Path(sys.argv[1]).write_text(json.dumps([code, before, signatures()]))
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Processes that would be started."""
    names: list[str] = []

    def process(**given: object) -> object:
        assert given["daemon"]  # it ends with this process
        return SimpleNamespace(start=lambda: names.append(str(given["name"])))

    monkeypatch.setattr(multiprocessing, "get_context", lambda how: SimpleNamespace(Process=process))
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__="bin/faircrowd"))
    monkeypatch.setenv("FAIRCROWD_THREADS", "2")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    return names


@pytest.mark.parametrize(
    "main",
    [
        SimpleNamespace(__file__="bin/faircrowd"),
        SimpleNamespace(__file__="faircrowd.exe"),
        SimpleNamespace(__file__="faircrowd/__main__.py", __spec__=SimpleNamespace(name="faircrowd.__main__")),
    ],
)
def test_a_process_is_started_where_nothing_is_compiled(
    main: SimpleNamespace, started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ahead.compile_ahead()
    assert started == ["faircrowd-compile"]


@pytest.mark.parametrize(
    "case", ["compiled", "one thread", "no compiler", "of a pool", "a script", "beside the package"]
)
def test_no_process_is_started(case: str, started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    if case == "compiled":
        (tmp_path / "thresholds_0").mkdir()
        (tmp_path / "thresholds_0" / "flip_cost.price_to_close_gap-50.py311.nbi").touch()
    elif case == "one thread":
        monkeypatch.setenv("FAIRCROWD_THREADS", "1")
    elif case == "no compiler":
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    elif case == "pool":
        monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace())
    elif case == "script":  # the new process would run it, too
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__="my_script.py"))
    else:
        monkeypatch.delenv("NUMBA_CACHE_DIR")
        monkeypatch.setattr(ahead.faircrowd, "__file__", str(tmp_path / "__init__.py"))
        (tmp_path / "fair" / "thresholds" / "__pycache__").mkdir(parents=True)
        ahead.compile_ahead()
        assert started
        started.clear()
        (tmp_path / "fair/thresholds/__pycache__/flip_cost.price_to_close_gap-50.py313.nbi").touch()
    ahead.compile_ahead()
    assert not started


def test_a_folder_that_cannot_be_written_to(
    started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(ahead.faircrowd, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    ahead.compile_ahead()
    assert not started


def test_what_it_compiles_is_what_a_run_needs(tmp_path: Path) -> None:
    """Compiled for other types, it would be of no use: a run finds every kernel that it shares with it ready."""
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({"task": np.repeat(np.arange(60), 4), "worker": np.tile(np.arange(4), 60)})
    votes["label"] = rng.integers(0, 2, len(votes))
    votes.to_csv(tmp_path / "votes.csv", index=False)
    pd.DataFrame({"task": np.arange(60), "group": np.arange(60) % 2}).to_csv(tmp_path / "tasks.csv", index=False)
    asked = ["aggregate", str(tmp_path / "votes.csv"), "--tasks", str(tmp_path / "tasks.csv"), "--group", "group"]
    out = tmp_path / "found.json"
    command = [sys.executable, "-c", SCRIPT, str(out), *asked, "--epsilon", "0.1", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code, before, after = json.loads(out.read_text())
    assert code == 0
    ready = {name for name, n in before.items() if n}
    assert {
        "faircrowd.fair.thresholds.flip_cost.price_to_close_gap",
        "faircrowd.audit.workers.influence._leave_out",
    } <= ready
    assert {name: after[name] for name in ready} == {name: before[name] for name in ready}


def test_the_process_itself(tmp_path: Path) -> None:
    """It starts in a new Python, says nothing, and ends well."""
    script = (
        "import multiprocessing\n"
        "from faircrowd.cli import compile_ahead\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=compile_ahead._main)\n"
        "    process.start(); process.join(); print(process.exitcode)\n"
    )
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
