"""What untrusted names and files may not do: run code, reach the network, become formulas, or leave their folder."""

import ast
import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from faircrowd.errors import FileError
from faircrowd.report import OutputFolder
from source_trees import MODULES, SOURCE, walk

Run = Callable[..., tuple[int, str, str]]
RUNS_CODE = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "subprocess", "pty", "runpy"}
NETWORK = {"socket", "ssl", "http", "urllib", "urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "pooch"}
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "spawnl", "spawnv", "execv", "execvp", "startfile"}
MAY_REACH = {
    "datasets/download.py": {"pooch", "urllib"},  # the data sets
    "publish/push/http_client.py": {"http", "urllib"},  # labels to a platform, where the user says so
    "report/dossier/croissant.py": {"urllib"},  # quotes names of files in addresses
    "report/dossier/fact_book.py": {"urllib"},  # the same
    "serve/http_server.py": {"http", "urllib"},  # listens, and asks nobody; parses addresses
    "studio/access.py": {"urllib"},  # parses addresses
    "studio/studio_app.py": {"urllib"},  # parses and quotes addresses
    "studio/studio_server.py": {"socket"},  # listens, on this machine alone
}


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in MODULES:
        name = path.relative_to(SOURCE).as_posix()
        yield from ((name, node) for node in walk(path))


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {node.module.partition(".")[0]} if isinstance(node, ast.ImportFrom) and node.module else set()


def test_no_module_that_runs_code_or_reaches_the_network() -> None:
    found = [(file, name) for file, node in nodes() for name in imported(node) & (RUNS_CODE | NETWORK)]
    assert {file: {name for other, name in found if other == file} for file, _ in found} == MAY_REACH


def test_no_call_that_runs_code() -> None:
    """Of methods only those of os and of yaml count: re.compile is another thing."""
    for file, node in nodes():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS, f"{file}:{node.lineno}"
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            called = (node.func.value.id, node.func.attr)
            assert called[0] not in ("os", "builtins") or called[1] not in CALLS, f"{file}:{node.lineno}"
            assert called not in (("yaml", "load"), ("np", "load")), f"{file}:{node.lineno}"
        for keyword in node.keywords:
            value = getattr(keyword.value, "value", None)
            assert (keyword.arg, value) not in (("shell", True), ("allow_pickle", True)), f"{file}:{node.lineno}"


def test_the_network_is_not_touched(tmp_path: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert faircrowd("demo", "--out", tmp_path / "demo")[0] == 0
    assert faircrowd("verify", tmp_path / "demo")[0] == 0


FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=cmd|'/c calc'!A1",
    "'=1",
]


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would compute a cell rather than show it."""
    if not cell or cell[0] not in "=+-@\t\r\n":
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    """Formulas for ids, labels and groups, as JSON lines, which hold any text."""
    rows = []
    for i in range(60):
        for j in range(3):
            vote = {
                "task": f"{FORMULAS[i % 8]}{i}",
                "worker": FORMULAS[(i + j) % 8],
                "label": FORMULAS[(i + j // 2) % 2],
            }
            rows.append({**vote, "=group()": FORMULAS[2 + i % 2]})
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_no_cell_is_a_formula(formulas: Path, faircrowd: Run) -> None:
    given = [formulas / "votes.jsonl", "--group", "=group()"]
    runs = {
        "aggregate": ["aggregate", *given, "--epsilon", 0.1, "--method", "majority"],
        "audit": ["audit", *given, "--replicates", 10],
        "frontier": ["frontier", *given, "--method", "majority"],
    }
    cells = 0
    for name, arguments in runs.items():
        code, _, err = faircrowd(*arguments, "--out", formulas / name)
        assert (code, err) == (0, "")
    new = formulas / "new" / "labels.csv"
    assert faircrowd("apply", formulas / "aggregate" / "rule.json", *given, "--out", new)[0] == 0
    files = sorted(path for path in formulas.rglob("*.csv"))
    assert {path.name for path in files} == {
        *("labels.csv", "workers.csv", "groups.csv", "frontier.csv", "bound.csv"),
        *("agreement.csv", "pairs.csv", "task_agreement.csv"),
    }
    for path in files:
        with path.open(newline="", encoding="utf-8") as stream:
            for row in csv.reader(stream):
                assert not any(map(is_formula, row)), (path.name, row)
                cells += len(row)
    assert cells > 500
    labels = pd.read_csv(formulas / "aggregate" / "labels.csv")
    assert set(labels["label"]) <= {f"'{text}" for text in FORMULAS[:2]}  # nothing but the apostrophe was added


def test_terminals_obey_no_name(formulas: Path, faircrowd: Run) -> None:
    path = formulas / "votes.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("cmd", "\\u001b[2J\\u0007"), encoding="utf-8")
    code, out, _ = faircrowd("aggregate", path, "--group", "=group()", "--method", "majority", "--out", formulas / "o")
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out
    faircrowd(
        "aggregate", path, "--group", "=group()", "--epsilon", 0.1, "--method", "majority", "--out", formulas / "o"
    )
    code, out, _ = faircrowd("check", formulas / "o" / "labels.csv", "--group", "group", "--epsilon", 0.5)
    assert code in (0, 1, 3)
    assert "\x1b" not in out


NAMES = ["../../x", "/etc/x", "..", ".", "a/b", "nul\x00", "~", "C:\\x", "labels.csv", "%2e%2e%2fx", "x" * 300]


def test_no_name_becomes_a_path(tmp_path: Path, faircrowd: Run) -> None:
    names = [name for name in NAMES if "\x00" not in name]
    rows = [
        {
            "task": f"{names[i % 10]}{i}",
            "worker": names[(i + j) % 10],
            "label": names[(i + j // 2) % 2],
            "g/../h": names[i % 2],
        }
        for i in range(40)
        for j in range(3)
    ]
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = ["--group", "g/../h", "--method", "majority", "--charts", inner / "charts"]
    code, _, err = faircrowd("aggregate", inner / "votes.jsonl", *given, "--epsilon", 0.2, "--out", inner / "run")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["a", "b", "charts", "run"]
    assert all(path.suffix in (".png", ".svg") for path in (inner / "charts").iterdir())
    assert all(path.stem.replace("-", "").isalnum() for path in (inner / "charts").iterdir())


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "..", ".", ""])
def test_output_files_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not a valid name for a file"), OutputFolder(tmp_path / "run") as folder:
        folder.write_text(name, "x")
    assert list(tmp_path.iterdir()) == []


def test_out_may_go_up_when_the_user_says_so(tmp_path: Path, faircrowd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert faircrowd("demo", "--out", os.path.join("..", "there"))[0] == 0
    assert (tmp_path / "there" / "labels.csv").exists()
    assert list((tmp_path / "here").iterdir()) == []


def test_a_link_in_the_output_folder_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs.txt").write_text("theirs", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").symlink_to(tmp_path / "theirs.txt")
    with OutputFolder(tmp_path / "run") as folder:
        folder.write_json("summary.json", {})
        folder.write_json("other.json", {})
    assert (tmp_path / "theirs.txt").read_text(encoding="utf-8") == "theirs"
    assert not (tmp_path / "run" / "summary.json").is_symlink()
