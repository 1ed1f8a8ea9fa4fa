"""Change the code in small ways, one at a time, and see whether a test notices.

    python tests/mutants/run.py --sample 500 --seed 1

First every test runs once, to record which lines it reaches. A changed line is then tried with the tests that reach it,
the quickest first, up to a number of seconds. Seconds are those of the processor, so that other work on the machine
changes no outcome. If a kernel is changed, all kernels run as plain Python: numba would load it, and its compiled
callers, from its cache. Outcomes are kept in a folder, so that a run can be resumed.
"""

import argparse
import ast
import importlib.machinery
import json
import math
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from reach import Reach, quick_profile

from mutants import Mutant, mutants_of

FOLDERS = ["src/faircrowd/fair", "src/faircrowd/audit"]
AT_IMPORT = "tests/test_results.py"
"""Detects changes of code that runs at import, which no other test reaches."""
TESTS = [
    AT_IMPORT,
    "tests/fair",
    "tests/audit",
    "tests/bad_input",
    "tests/engines/spark/test_passes.py",
    "tests/runs/test_inputs_in_memory.py",
    "tests/runs/test_same_bytes.py",
    *FOLDERS,
]
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "--doctest-modules", "--assert=plain"]
_NOT_LOADED = 77
_WAIT = 20
"""How many times its processor seconds a change may take on a busy machine."""


def main() -> None:
    """Run what the command line asks for, and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=500, help="number of changes to try; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--most", type=float, default=40.0, help="processor seconds of tests for one change")
    parser.add_argument("--only", default="", help="a pattern for the paths of the files to change")
    parser.add_argument("--changes", type=Path, help="a file with the keys of the changes to try, not a sample")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="which tests, if not all; needs its own --folder")
    parser.add_argument("--folder", type=Path, default=Path("build/mutants"), help="where to keep the outcomes")
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"
    os.environ["CI"] = "true"  # hypothesis draws the same examples each time
    given.folder.mkdir(parents=True, exist_ok=True)
    chosen = [
        mutant for folder in FOLDERS for path in sorted(Path(folder).rglob("*.py")) for mutant in mutants_of(path)
    ]
    total = len(chosen)
    if given.changes:
        by_key = {mutant.key: mutant for mutant in chosen}
        chosen = [by_key[key] for key in given.changes.read_text(encoding="utf-8").splitlines()]
    else:
        random.Random(given.seed).shuffle(chosen)  # noqa: S311 - no security involved
        chosen = chosen[: given.sample or total]
    chosen = [mutant for mutant in chosen if re.search(given.only, mutant.path)]
    kept = given.folder / "outcomes.jsonl"
    known = read_outcomes(kept)
    left = [mutant for mutant in chosen if mutant.key not in known]
    ways = {_compiled(mutant) for mutant in left}
    reached = {
        jit: _reach(given.folder / f"reach-{'jit' if jit else 'plain'}.json", given.tests, jit) for jit in sorted(ways)
    }
    print(f"{total} changes, {len(chosen)} chosen, {len(left)} to try", flush=True)
    workers = [
        multiprocessing.get_context("fork").Process(
            target=_work, args=(left[number :: given.processes], reached, kept, given.most)
        )
        for number in range(given.processes)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    _show(chosen, read_outcomes(kept))


def _reach(out: Path, tests: list[str], jit: bool) -> dict[str, Any]:
    """Run every test once in a separate process, and return which lines each reached."""
    if not out.exists():
        print(f"running the tests {'with' if jit else 'without'} compiled kernels", flush=True)
        child = os.fork()
        if child == 0:
            _settle(jit)
            # Pytest's own tracebacks fail, and end the recording, where a test is interrupted between two lines.
            os._exit(
                int(pytest.main([*tests, *OPTIONS, "--tb=native"], plugins=[Reach(out, FOLDERS, 30 if jit else 6)]))
            )
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            out.unlink(missing_ok=True)
            raise RuntimeError(f"pytest ended with {code} before all tests were recorded")
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def _compiled(mutant: Mutant) -> bool:
    """Return whether kernels may be compiled: the change is in no kernel, nor in what kernels of a file share."""
    code = Path(mutant.path).read_text(encoding="utf-8")
    for node in ast.parse(code).body:
        if node.lineno <= mutant.line <= (node.end_lineno or 0) and isinstance(node, ast.FunctionDef | ast.ClassDef):
            return not any("kernel" in ast.unparse(given) for given in node.decorator_list)
    return "_kernels import" not in code


def _settle(jit: bool) -> None:
    import numba

    numba.config.DISABLE_JIT = not jit


def _work(mutants: list[Mutant], reached: dict[bool, Any], kept: Path, most: float) -> None:
    import hypothesis  # what tests import is imported once, before the forks; faircrowd itself must not be
    import numba
    import pandas
    import polars
    import pyarrow.csv
    import pyarrow.parquet
    import scipy.optimize
    import scipy.sparse
    import scipy.stats

    assert "faircrowd" not in sys.modules, (hypothesis, numba, pandas, polars, pyarrow, scipy)
    for number, mutant in enumerate(mutants):
        jit = _compiled(mutant)
        tests = _tests_for(mutant, reached[jit], most)
        if number % 100 == 0 and tests and _try(mutant._replace(operator=""), tests, jit, math.inf) != "survived":
            raise RuntimeError(f"the tests of {mutant.path}:{mutant.line} fail without a change")
        begun = time.perf_counter()
        limit = 20 + 5 * sum(reached[jit]["seconds"][name] for name in tests)
        outcome = _try(mutant, tests, jit, limit) if tests else "not reached"
        row = {"key": mutant.key, "outcome": outcome, "seconds": round(time.perf_counter() - begun, 1)}
        row |= {"line": mutant.line, "tests": len(tests), "change": mutant.change()}
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _tests_for(mutant: Mutant, reached: dict[str, Any], most: float) -> list[str]:
    """Return the tests that reach the statement of a change, the quickest first."""
    lines, seconds = reached["lines"].get(mutant.path, {}), reached["seconds"]
    first, last, inside = _statement(mutant)
    names = [name for name, seen in lines.items() if not inside or any(first <= line <= last for line in seen)]
    names += [] if inside else [name for name in seconds if name.startswith(AT_IMPORT) and name not in lines]
    chosen, total = [], 0.0
    for name in sorted(names, key=lambda name: (seconds[name], name)):
        total += seconds[name]
        if chosen and total > most:
            break
        chosen.append(name)
    return chosen


def _statement(mutant: Mutant) -> tuple[int, int, bool]:
    """Return the first and last line of the statement, and whether it is in a function: others run at import."""
    best: tuple[int, int, bool] = (mutant.line, mutant.line, False)
    size = math.inf

    def look(node: ast.AST, inside: bool) -> None:
        nonlocal best, size
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and child.lineno <= mutant.line <= (child.end_lineno or 0):
                body = getattr(child, "body", None)
                end = body[0].lineno - 1 if body else child.end_lineno or 0
                end = max(end, child.lineno)
                if child.lineno <= mutant.line <= end and end - child.lineno < size:
                    best, size = (child.lineno, end, inside), end - child.lineno
            look(child, inside or isinstance(child, ast.FunctionDef))

    look(ast.parse(Path(mutant.path).read_text(encoding="utf-8")), False)
    return best


def _try(mutant: Mutant, tests: list[str], jit: bool, limit: float) -> str:
    child = os.fork()
    if child == 0:
        os.setsid()
        if limit < math.inf:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
        _run(mutant, tests, jit)
    until = time.monotonic() + _WAIT * limit  # a process that only waits spends no processor time
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == _NOT_LOADED:
                raise RuntimeError(f"{mutant} was never imported")
            if -code in (signal.SIGXCPU, signal.SIGKILL):
                return "timeout"
            return "survived" if code == 0 else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _run(mutant: Mutant, tests: list[str], jit: bool) -> None:
    """Run tests with the changed file, in a process that ends here."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _settle(jit)
    path, source = os.path.abspath(mutant.path), mutant.source()
    plain = importlib.machinery.SourceFileLoader.get_code
    loaded = []

    def get_code(self: Any, name: str) -> Any:
        if self.path != path:
            return plain(self, name)
        loaded.append(name)
        return compile(source, path, "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]

    class Quick:
        def pytest_sessionstart(self) -> None:
            quick_profile()

    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own
        code = pytest.main([*tests, *OPTIONS, "-x", f"--basetemp={own}/tests"], plugins=[Quick()])
    os._exit(int(code) if loaded else _NOT_LOADED)


def read_outcomes(path: Path) -> dict[str, dict[str, Any]]:
    """Return the outcomes in a file by the keys of their changes."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return {row["key"]: row for row in rows}


def _show(chosen: list[Mutant], known: dict[str, dict[str, Any]]) -> None:
    rows = [known[mutant.key] for mutant in chosen if mutant.key in known]
    count = Counter(row["outcome"] for row in rows)
    killed = count["killed"] + count["timeout"]
    for row in sorted(rows, key=lambda row: (row["key"].split("|")[0], row["line"])):
        if row["outcome"] in ("survived", "not reached"):
            path, operator, _ = row["key"].split("|")
            print(f"{row['outcome']:12}{path}:{row['line']}  {operator.removeprefix('core/')}  {row['change']}")
    spread = 1.96 * math.sqrt(killed * (len(rows) - killed) / max(len(rows), 1) ** 3)
    print(f"{killed} of {len(rows)} noticed: {killed / max(len(rows), 1):.1%} +- {spread:.1%} ({dict(count)})")


if __name__ == "__main__":
    main()
