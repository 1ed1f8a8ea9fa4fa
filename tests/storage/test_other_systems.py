"""What Windows and macOS lack is done without: simulated here, and run on them by .github/workflows/test.yml."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import faircrowd as fc
from faircrowd.storage.content_hash import content_files

SOURCE = Path(fc.__file__).parent

AS_ON_WINDOWS = """
import os, sys
for module in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[module] = None
for name in ("chown", "getuid", "geteuid", "fork", "sysconf", "sched_getaffinity", "killpg"):
    delattr(os, name)
import mmap
del mmap.MADV_DONTNEED
from faircrowd.storage import publish
publish._exchanging_rename = lambda: None
from faircrowd.cli.app import run
codes = []
for engine in sys.argv[1:]:
    for _ in range(2):  # into a new folder, then over the files of the first run
        codes.append(run(["aggregate", "votes.csv", "--group", "kind", "--epsilon", "0.1", "--method", "majority",
                          "--no-report", "--out", engine, "--engine", engine]))
    codes.append(run(["verify", engine]))
sys.exit(any(codes))
"""


def test_a_run_without_calls_that_only_posix_has(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    engines = ("memory", "stream")
    rows = [f"{t},{w},{'xy'[(t * 7 + w * 3) % 5 % 2]},{'ab'[t % 2]}" for t in range(60) for w in range(3)]
    (tmp_path / "votes.csv").write_text("\n".join(["task,worker,label,kind", *rows]) + "\n", encoding="utf-8")
    command = [sys.executable, "-c", AS_ON_WINDOWS, *engines]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    for engine in engines:
        assert json.loads((tmp_path / engine / "certificate.json").read_text(encoding="utf-8"))["gap"] <= 0.1
    assert not list(tmp_path.rglob(".faircrowd-*"))


def test_text_files_are_opened_in_the_same_way_on_every_system() -> None:
    """An encoding is always named; lines of files that are written end as on Linux."""
    calls = 0
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            named = {word.arg for word in node.keywords}
            mode = next((one.value for one in node.args if isinstance(one, ast.Constant)), None)
            if name == "read_text" or (name == "open" and mode in ("r", "w", "a")):
                assert "encoding" in named, f"{path}:{node.lineno}"
            if (name == "write_text" and len(node.args) == 1) or (name == "open" and mode in ("w", "a")):
                assert {"encoding", "newline"} <= named, f"{path}:{node.lineno}"
                calls += 1
    assert calls >= 3


def test_files_of_a_folder_are_in_the_same_order_on_every_system(tmp_path: Path) -> None:
    for name in ("b.csv", "A.csv", "a/z.csv", "B/z.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [file.relative_to(tmp_path).as_posix() for file in content_files(tmp_path)]
    assert found == ["A.csv", "B/z.csv", "a/z.csv", "b.csv"]
