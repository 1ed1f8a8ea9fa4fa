"""Commands that write over an older run, and a process that runs them with faults."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc

COMMANDS = ("aggregate", "stream", "audit", "apply", "frontier", "demo", "datasets")
Answer = dict[str, Any]


class Faults:
    """Run commands in ``place``; their output folder is ``place/out``."""

    def __init__(self, folder: Path) -> None:
        self.inputs, self.place, self.kept = (folder / name for name in ("inputs", "place", "kept"))
        for path in (self.inputs, self.place, self.kept):
            path.mkdir()
        for number in (1, 2):
            crowd = fc.simulate_crowd(60, 8, random_state=number)
            data = self.inputs / f"crowd{number}"
            data.mkdir()
            crowd.votes.to_csv(data / "votes.csv", index=False)
            tasks = pd.DataFrame({"group": crowd.sensitive_features, "truth": crowd.truth})
            tasks.rename_axis("task").to_csv(data / "tasks.csv")
        warm_up = ["aggregate", *self.votes(1), "--epsilon", "0.1", "--out", str(self.inputs / "run")]
        program = [sys.executable, str(Path(__file__).with_name("moments.py")), str(self.place), *warm_up]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._whole: dict[tuple[str, int], Path] = {}
        self._moments: dict[str, Answer] = {}

    def __call__(self, arguments: list[str], **how: Any) -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"arguments": arguments, **how}) + "\n")
        self.process.stdin.flush()
        answer: Answer = json.loads(self.process.stdout.readline())
        assert "Traceback" not in answer["err"], answer["err"]
        return answer

    def votes(self, number: int) -> list[str]:
        data = self.inputs / f"crowd{number}"
        return [str(data / "votes.csv"), "--tasks", str(data / "tasks.csv"), "--group", "group"]

    def command(self, name: str, number: int) -> list[str]:
        """Return a command in one of two variants, whose files differ."""
        out = str(self.place / "out")
        epsilon, report = ("0.2", "--report") if number == 1 else ("0.02", "--no-report")
        arguments = {
            "aggregate": ["aggregate", *self.votes(number), "--epsilon", epsilon, report],
            "stream": ["aggregate", *self.votes(number), "--engine", "stream", "--epsilon", epsilon, "--no-report"],
            "audit": ["audit", *self.votes(number), "--replicates", "20", report],
            "apply": ["apply", str(self.inputs / "run" / "rule.json"), *self.votes(number)],
            "frontier": ["frontier", *self.votes(number), "--method", "majority"],
            "demo": ["demo", "--random-state", str(number)],
            "datasets": ["datasets", f"crowd{number}", "--data", str(self.inputs)],
        }
        return [*arguments[name], "--out", f"{out}/labels.csv" if name == "apply" else out]

    def whole(self, name: str, number: int) -> Path:
        """Return the output folder of a run without a fault, with a file of the user in it."""
        if (name, number) not in self._whole:
            answer = self(self.command(name, number))
            assert (answer["code"], answer["err"]) == (0, "")
            kept = self.kept / f"{name}{number}"
            shutil.copytree(self.place / "out", kept)
            (kept / "notes.txt").write_text("mine", encoding="utf-8")
            self._whole[name, number] = kept
        return self._whole[name, number]

    def moments(self, name: str) -> Answer:
        """Return which files exist at each moment of a run over an older one."""
        if name not in self._moments:
            self.whole(name, 2)
            self._moments[name] = self(self.command(name, 2), fault="look", start=str(self.whole(name, 1)))
        return self._moments[name]


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    pytest.importorskip("duckdb")
    found = Faults(tmp_path_factory.mktemp("faults"))
    yield found
    with found.process:
        found.process.stdin.close()  # type: ignore[union-attr]


@pytest.fixture
def outputs() -> Callable[[dict[str, str]], tuple[dict[str, str], list[str]]]:
    """Divide the files of a place into those of ``out`` and those that no run may leave behind."""

    def divide(tree: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        litter = [name for name in tree if "faircrowd-" in name]
        files = {name.removeprefix("out/"): tree[name] for name in tree if name.startswith("out/")}
        rest = {name for name in tree if not name.startswith("out/")} - {"out", "tmp"} - set(litter)
        assert not rest, f"strange files: {rest}"
        return {name: found for name, found in files.items() if "faircrowd-" not in name}, litter

    return divide
