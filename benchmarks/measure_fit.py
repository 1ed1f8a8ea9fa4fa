"""Measure one fit in a process of its own: seconds and peak memory, from data frame to labels.

Run by speed.py as ``python measure_fit.py '{"package": ..., "method": ..., ...}'``; prints one line of JSON.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd


def crowd(votes: int, classes: int, names: str) -> pd.DataFrame:
    """Return five votes per task in random order, with one worker per thousand votes (at least a hundred workers)."""
    rng = np.random.default_rng(0)
    n_tasks, n_workers = votes // 5, max(100, votes // 1000)
    task = np.repeat(np.arange(n_tasks), 5)
    worker = (rng.integers(0, n_workers, n_tasks)[:, None] + np.arange(5) * (n_workers // 5)).ravel() % n_workers
    truth, skill = rng.integers(0, classes, n_tasks), rng.uniform(0.5, 1.0, n_workers)
    right = rng.random(votes) < skill[worker]
    label = np.where(right, truth[task], rng.integers(0, classes, votes))
    order = rng.permutation(votes)
    frame = pd.DataFrame({"task": task[order], "worker": worker[order], "label": label[order]})
    if names == "text":
        frame = frame.assign(task="task-" + frame.task.astype(str), worker="worker-" + frame.worker.astype(str))
    return frame


def model(package: str, method: str, rounds: int) -> object:
    kind = getattr(import_module({"crowd-kit": "crowdkit.aggregation"}.get(package, package)), method)
    never = {"n_iter": rounds, "tol": -1.0 if package == "faircrowd" else -np.inf}
    return kind(**(never if method in ("DawidSkene", "OneCoinDawidSkene") else {}))


def memory(field: str) -> float:
    """Return VmRSS or VmHWM of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return float("nan")


def main() -> None:
    warnings.simplefilter("ignore")
    job = json.loads(sys.argv[1])
    frame = crowd(job["votes"], job["classes"], job.get("names", "numbers"))
    if not job.get("first"):
        warm = crowd(1000, job["classes"], job.get("names", "numbers"))
        model(job["package"], job["method"], 2).fit_predict(warm)
    seconds, extra = [], []
    for _ in range(job.get("repeat", 1)):
        Path("/proc/self/clear_refs").write_text("5")  # reset the high-water mark
        before = memory("VmRSS")
        start = time.perf_counter()
        model(job["package"], job["method"], job["rounds"]).fit_predict(frame)
        seconds.append(time.perf_counter() - start)
        extra.append(memory("VmHWM") - before)
    print(json.dumps({"seconds": min(seconds), "peak": memory("VmHWM"), "extra": max(extra)}))


if __name__ == "__main__":
    main()
