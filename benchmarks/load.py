"""Measure many runs at once, many runs in one process, and crowds of extreme shape: time and memory.

``python benchmarks/load.py`` prints the figures of each part; ``--only together soak shapes`` selects parts.
"""

import argparse
import gc
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import faircrowd as fc


def votes(n_tasks: int, per_task: int, n_workers: int, n_classes: int, seed: int = 0) -> pd.DataFrame:
    """Return votes of which two thirds are right, with the group of each task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), per_task)
    group = rng.integers(0, 2, n_tasks)
    truth = (rng.random(n_tasks) * n_classes * (0.7 + 0.3 * group)).astype(int)
    worker = (rng.integers(0, n_workers, n_tasks)[task] + np.tile(np.arange(per_task), n_tasks) * 7919) % n_workers
    label = np.where(rng.random(task.size) < 0.67, truth[task], rng.integers(0, n_classes, task.size))
    return pd.DataFrame({"task": task, "worker": worker, "label": label, "group": group[task]})


def together(folder: Path, runs: int) -> None:
    """Run several commands at once, and the same number in turn."""
    source = folder / "votes.parquet"
    votes(40_000, 5, 500, 2).to_parquet(source)

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "faircrowd", "aggregate", str(source), "--group", "group", "--epsilon", "0.05"]
        return subprocess.Popen([*command, "--no-report", "--out", str(folder / name)], stdout=subprocess.DEVNULL)

    start("warm").wait()
    begin = time.perf_counter()
    codes = [start(f"in-turn-{i}").wait() for i in range(runs)]
    in_turn = time.perf_counter() - begin
    begin = time.perf_counter()
    codes += [process.wait() for process in [start(f"at-once-{i}") for i in range(runs)]]
    at_once = time.perf_counter() - begin
    found = {
        hashlib.sha256((path / "labels.csv").read_bytes()).hexdigest() for path in folder.iterdir() if path.is_dir()
    }
    print(f"{runs} runs in turn {in_turn:.1f} s, at once {at_once:.1f} s ({at_once / in_turn:.2f} of that)")
    print(f"  exit codes {sorted(set(codes))}, {len(found)} distinct labels.csv")


def resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(runs: int) -> None:
    """Fit repeatedly in one process and watch the memory."""
    crowd = votes(4_000, 5, 200, 3)
    model = fc.FairCrowd(fc.DawidSkene(by_group=True, n_iter=5, tol=-1), epsilon=0.05)
    seen = []
    for run in range(runs):
        model.fit(crowd, sensitive_features="group")
        if run % (runs // 10) == runs // 10 - 1:
            gc.collect()
            seen.append(resident())
    slope = np.polyfit(np.arange(5), seen[-5:], 1)[0] * 10  # slope over the second half, scaled to all runs
    print(f"{runs} runs in one process: {seen[0]:.0f} MB after a tenth, {seen[-1]:.0f} MB at the end")
    print(f"  {slope:+.1f} MB per {runs} runs, estimated from the second half")


def shapes() -> None:
    """Fit crowds of unusual shape."""
    rng = np.random.default_rng(0)
    one = np.arange(1_000_000)
    crowds: dict[str, tuple[pd.DataFrame, Callable[[], fc.MajorityVote | fc.DawidSkene]]] = {
        "1M workers with one vote each, Dawid-Skene": (
            pd.DataFrame({"task": one // 5, "worker": one, "label": rng.integers(0, 2, one.size)}),
            lambda: fc.DawidSkene(n_iter=5, tol=-1),
        ),
        "one task with 1M votes, Dawid-Skene": (
            pd.DataFrame({"task": one * 0, "worker": one % 700_001, "label": rng.integers(0, 2, one.size)}),
            lambda: fc.DawidSkene(n_iter=5, tol=-1),
        ),
        "10,000 classes, majority": (votes(40_000, 5, 500, 10_000), fc.MajorityVote),
    }
    for name, (crowd, make) in crowds.items():
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(crowd)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(f"{name}: {seconds:.1f} s, {len(model.labels_):,} labels, peak of the process so far {peak:,.0f} MB")


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", choices=("together", "soak", "shapes"), default=["together", "soak", "shapes"]
    )
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--runs", type=int, default=200)
    asked = parser.parse_args()
    if "together" in asked.only:
        with tempfile.TemporaryDirectory() as folder:
            together(Path(folder), asked.at_once)
    if "soak" in asked.only:
        soak(asked.runs)
    if "shapes" in asked.only:
        shapes()


if __name__ == "__main__":
    main()
