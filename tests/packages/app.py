"""The extra app: the command line, from a file of votes to a page, pictures, a check and a verification."""

import io
import json
import os
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"  # compiling takes longer than all else
from faircrowd.cli.app import run


def faircrowd(*arguments: str, code: int = 0) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        assert run(list(arguments)) == code, arguments
    return printed.getvalue()


rows = [f"{t},{w},{'xy'[(t * 7 + w * 3) % 5 % 2]},{'ab'[t % 2]}" for t in range(60) for w in range(3)]
Path("votes.csv").write_text("\n".join(["task,worker,label,kind", *rows]) + "\n", encoding="utf-8")
assert faircrowd("--version").startswith("faircrowd ")
command = [
    *("faircrowd", "aggregate", "votes.csv", "--group", "kind", "--epsilon", "0.1", "--method", "majority"),
    *("--out", "labels", "--charts", "pictures", "--json"),
]
done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
assert json.loads(done.stdout)["certificate"]["gap"] <= 0.1
assert "<svg" in Path("labels/report.html").read_text(encoding="utf-8")  # with charts
assert [path.suffix for path in Path("pictures").iterdir()].count(".png") > 0
rows = [f"{t},{'ab'[t % 2]}" for t in range(60)]
Path("tasks.csv").write_text("\n".join(["task,kind", *rows]) + "\n", encoding="utf-8")
given = ("check", "labels/labels.csv", "--tasks", "tasks.csv", "--group", "kind")
assert "PASS" in faircrowd(*given, "--epsilon", "0.1", "--these-tasks")
assert "NOT ENOUGH EVIDENCE" in faircrowd(*given, "--epsilon", "0.1", code=3)
faircrowd("verify", "labels")
