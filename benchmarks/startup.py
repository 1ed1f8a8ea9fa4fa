"""What people wait for in small jobs, as ratios to importing numpy, scipy.optimize and pandas.

    python benchmarks/startup.py [--repeat 5] [--first]

Every command runs in a process of its own, as in a terminal; the base runs before each of them, so that both meet the
same machine. ``--first`` also runs the first job as on a new installation, where nothing is compiled yet.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

BASE = [sys.executable, "-c", "import numpy, scipy.optimize, pandas"]
COMMAND = [sys.executable, "-m", "faircrowd"]
KEPT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def write_crowd(folder: Path, n_tasks: int, n_classes: int, per_task: int) -> list[str]:
    """Write votes of workers who are right more often in one group; return the arguments of a run."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n_tasks)
    truth = np.where(rng.random(n_tasks) < 0.35 + 0.15 * group, 0, rng.integers(0, n_classes, n_tasks))
    skill = rng.uniform(0.5, 0.9, max(20, n_tasks // 50))
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = rng.integers(0, skill.size, task.size)
    is_right = rng.random(task.size) < skill[worker] - 0.1 * group[task]
    label = np.where(is_right, truth[task], rng.integers(0, n_classes, task.size))
    folder.mkdir()
    pd.DataFrame({"task": task, "worker": worker, "label": label}).to_csv(folder / "votes.csv", index=False)
    pd.DataFrame({"task": np.arange(n_tasks), "group": group}).to_csv(folder / "tasks.csv", index=False)
    files = [str(folder / "votes.csv"), "--tasks", str(folder / "tasks.csv"), "--out", str(folder / "out")]
    return ["aggregate", *files, "--group", "group", "--epsilon", "0.02"]


def seconds(command: list[str], environment: dict[str, str] = KEPT) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def show(name: str, command: list[str], repeat: int) -> None:
    seconds(command)  # compiles what is not compiled yet
    both = [(seconds(BASE), seconds(command)) for _ in range(repeat)]
    base, ours = (statistics.median(times) for times in zip(*both, strict=True))
    ratio = statistics.median(job / alone for alone, job in both)
    print(f"{name:<44}{ours:>7.2f} s{base:>7.2f} s{ratio:>7.2f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--first", action="store_true", help="also without anything compiled")
    given = options.parse_args()
    print(f"{'':<44}{'job':>9}{'base':>9}{'ratio':>7}")
    show("faircrowd --version", [*COMMAND, "--version"], given.repeat)
    show("faircrowd --help", [*COMMAND, "--help"], given.repeat)
    with tempfile.TemporaryDirectory() as name:
        small = write_crowd(Path(name) / "small", 1000, 2, 20)
        three = write_crowd(Path(name) / "three", 3000, 3, 10)
        for page, more in (("with the page", []), ("no page", ["--no-report"])):
            show(f"1,000 tasks, 20,000 votes, 2 classes, {page}", [*COMMAND, *small, *more], given.repeat)
            show(f"3,000 tasks, 30,000 votes, 3 classes, {page}", [*COMMAND, *three, *more], given.repeat)
        if given.first:
            alone = seconds(BASE)
            first = seconds([*COMMAND, *small], {**KEPT, "NUMBA_CACHE_DIR": str(Path(name) / "compiled")})
            print(f"{'1,000 tasks, nothing compiled yet':<44}{first:>7.2f} s{alone:>7.2f} s{first / alone:>7.2f}")


if __name__ == "__main__":
    main()
