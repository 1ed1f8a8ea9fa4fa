"""Print the walk of a job through the package: every function that is entered from another file, in order.

    python benchmarks/walk.py aggregate     # faircrowd aggregate on a small crowd, two classes and groups
    python benchmarks/walk.py make_fair 2   # make_fair with two classes
    python benchmarks/walk.py make_fair 5   # make_fair with five classes
    python benchmarks/walk.py constraints   # make_fair with a list of constraints over two columns

A hop is the first call of a public function from a function of another file of the package. Properties, compiled
kernels, checks of arguments and calls inside a file are not counted. docs/architecture.md has the main line of each
walk, and tests/test_walks.py compares it with what this module sees.
"""

import ast
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import faircrowd
from faircrowd import make_fair, simulate_crowd

SOURCE = Path(faircrowd.__file__).parent
NOT_COUNTED = ("_checks.py", "errors.py")


def not_followed() -> set[tuple[str, int]]:
    """Return file and first line of every property and compiled kernel: a reader takes them at their name."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                if "property" in decorators or "kernel" in decorators:
                    found.add((str(path), node.decorator_list[0].lineno))
    return found


def walk(job: Callable[[], Any]) -> list[tuple[str, str]]:
    """Run a job and return its hops as (file, function)."""
    skipped = not_followed()
    hops: dict[tuple[str, str], None] = {}
    source = f"{SOURCE}/"

    def is_ours(code: CodeType) -> bool:
        return code.co_filename.startswith(source) and not code.co_name.startswith("<")

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not is_ours(code) or code.co_name.startswith("_"):
            return
        if (code.co_filename, code.co_firstlineno) in skipped or code.co_filename.endswith(NOT_COUNTED):
            return
        caller = frame.f_back
        while caller is not None and not is_ours(caller.f_code):
            if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(source):
                return  # while a module is imported
            caller = caller.f_back
        if caller is None or caller.f_code.co_filename != code.co_filename:
            hops[code.co_filename.removeprefix(source), code.co_name] = None

    sys.setprofile(profile)
    try:
        job()
    finally:
        sys.setprofile(None)
    return list(hops)


def aggregate() -> None:
    """Run ``faircrowd aggregate`` on a crowd of 300 tasks."""
    from faircrowd.cli.app import run

    crowd = simulate_crowd(n_tasks=300, n_workers=30, votes_per_task=5, random_state=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crowd.votes.to_csv(folder / "votes.csv", index=False)
        crowd.sensitive_features.rename("group").to_frame().to_csv(folder / "tasks.csv")
        arguments = ["aggregate", f"{folder}/votes.csv", "--tasks", f"{folder}/tasks.csv", "--group", "group"]
        with contextlib.redirect_stdout(io.StringIO()):
            hops = walk(lambda: run([*arguments, "--epsilon", "0.05", "--out", f"{folder}/out"]))
    show(hops)


def fair(n_classes: int) -> None:
    """Run ``make_fair`` on 400 tasks."""
    random = np.random.default_rng(0)
    posterior = random.dirichlet(np.ones(n_classes), 400)
    groups = (random.random(400) < posterior[:, 0]).astype(int)
    show(walk(lambda: make_fair(posterior, groups, epsilon=0.02)))


def constraints() -> None:
    """Run ``make_fair`` on 400 tasks under a list of constraints."""
    from faircrowd.constraints import ChangeBudget, DemographicParity, RateRatio

    random = np.random.default_rng(0)
    posterior = random.dirichlet(np.ones(3), 400)
    columns = np.stack([random.random(400) < posterior[:, 0], random.integers(0, 3, 400)], axis=1).astype(int)
    asked = [DemographicParity(0.03, group="0"), RateRatio(0.8, group="1", label=2), ChangeBudget(0.2)]
    show(walk(lambda: make_fair(posterior, columns, constraints=asked)))


def show(hops: list[tuple[str, str]]) -> None:
    """Print the hops with their numbers, and how often each folder is entered."""
    for number, (file, name) in enumerate(hops, 1):
        print(f"{number:3d}  {file}:{name}")
    folders = [folder for folder, _ in groupby(file.split("/")[0] for file, _ in hops)]
    entered = ", ".join(f"{folder} {folders.count(folder)}" for folder in dict.fromkeys(folders))
    print(f"{len(hops)} hops in {len({file for file, _ in hops})} files; folders entered: {entered}")


if __name__ == "__main__":
    if sys.argv[1:] == ["aggregate"]:
        aggregate()
    elif sys.argv[1:] == ["constraints"]:
        constraints()
    elif sys.argv[1:2] == ["make_fair"] and len(sys.argv) == 3:
        fair(int(sys.argv[2]))
    else:
        sys.exit(__doc__)
