"""Votes from a million up: seconds and peak memory of the engines, from the file of votes to the labels.

``python benchmarks/scale.py`` runs 1 and 10 million votes; ``--votes 1e8`` more. Each run is a process of its own:
``faircrowd aggregate`` with 20 rounds of Dawid-Skene, by default with the exact fair rule for two groups. Seconds a
round are the median of those between two rounds of the run.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

VOTES_A_TASK = 5
CHUNK = 1 << 20
ROUNDS = 20
CHILD = """
import json, sys, time
from faircrowd.aggregate.em import watch_rounds
from faircrowd.cli.app import run
times = []
with watch_rounds(lambda *_: times.append(time.perf_counter())):
    code = run(sys.argv[2:])
open(sys.argv[1], "w").write(json.dumps(times))
sys.exit(code)
"""


def write_crowd(folder: Path, n_votes: int, n_workers: int = 10_000) -> None:
    """Write votes.parquet, its rows in no order, and tasks.parquet with two groups."""
    n_tasks = n_votes // VOTES_A_TASK
    n_votes = n_tasks * VOTES_A_TASK
    stride = next(a for a in range(int(n_votes * 0.618) | 1, 2 * n_votes) if math.gcd(a, n_votes) == 1)
    skill = np.random.default_rng(0).uniform(0.6, 0.95, n_workers)
    with pyarrow.parquet.ParquetWriter(folder / "tasks.parquet", _schema("task", "group")) as file:
        for first in range(0, n_tasks, CHUNK):
            task = np.arange(first, min(first + CHUNK, n_tasks))
            file.write(pa.table({"task": task, "group": _group(task)}))
    with pyarrow.parquet.ParquetWriter(folder / "votes.parquet", _schema("task", "worker", "label")) as file:
        for first in range(0, n_votes, CHUNK):
            row = np.arange(first, min(first + CHUNK, n_votes))
            vote = row * stride % n_votes  # every vote once, far from its neighbours
            task = vote // VOTES_A_TASK
            worker = (task * 7919 + vote % VOTES_A_TASK * 1237) % n_workers
            rng = np.random.default_rng([1, first])
            wrong = rng.random(row.size) > skill[worker] - 0.1 * _group(task)
            file.write(pa.table({"task": task, "worker": worker, "label": _truth(task) ^ wrong}))


def _schema(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int64()) for name in names])


def _group(task: np.ndarray) -> np.ndarray:
    return (task * 2654435761 >> 7) % 3 // 2


def _truth(task: np.ndarray) -> np.ndarray:
    return ((task * 40503 >> 5) % 100 < 30 + 20 * _group(task)).astype(np.int64)


def run(folder: Path, engine: str, *, fair: bool, limit: str | None) -> dict[str, Any]:
    """Run the command; return its seconds and the largest memory it had resident, in MB."""
    out, times = folder / f"out-{engine}", folder / "times.json"
    command = [sys.executable, "-c", CHILD, str(times), "aggregate", str(folder / "votes.parquet"), "--out", str(out)]
    command += ["--engine", engine, "--n-iter", str(ROUNDS), "--tol", "-1", "--no-report", "--json"]
    if fair:
        command += ["--tasks", str(folder / "tasks.parquet"), "--group", "group", "--epsilon", "0.02"]
    if limit and engine == "stream":
        command += ["--memory-limit", limit]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{engine} failed: {command[4:]}")
    return {
        "seconds": time.perf_counter() - began,
        "peak_mb": usage.ru_maxrss / 1024,
        "seconds_a_round": float(np.median(np.diff(json.loads(times.read_text(encoding="utf-8"))))),
        "labels": out / "labels.csv",
    }


def same(first: Path, second: Path) -> bool:
    with first.open("rb") as a, second.open("rb") as b:
        while (block := a.read(1 << 24)) == b.read(1 << 24):
            if not block:
                return True
    return False


def measure(folder: Path, n_votes: int, engines: list[str], *, fair: bool, limit: str | None) -> dict[str, Any]:
    """Measure one size in a folder."""
    began = time.perf_counter()
    write_crowd(folder, n_votes)
    print(f"{n_votes:,} votes written in {time.perf_counter() - began:.0f} s", flush=True)
    found: dict[str, Any] = {"votes": n_votes, "fair": fair}
    labels = []
    for engine in engines:
        found[engine] = run(folder, engine, fair=fair, limit=limit)
        labels.append(found[engine].pop("labels"))
        shown = ", ".join(f"{name} {value:.3g}" for name, value in found[engine].items())
        print(f"  {engine}: {shown}", flush=True)
    if len(labels) > 1:
        found["same_labels"] = all(same(labels[0], other) for other in labels[1:])
        print(f"  labels.csv are {'the same' if found['same_labels'] else 'NOT THE SAME'}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--engines", nargs="+", default=["memory", "stream"])
    parser.add_argument("--memory-limit")
    parser.add_argument("--plain", action="store_true", help="without groups and the fair rule")
    parser.add_argument("--folder", type=Path, help="where files are made (default: temporary)")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    rows = []
    for n_votes in given.votes:
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            fair = not given.plain
            rows.append(measure(Path(place), int(n_votes), given.engines, fair=fair, limit=given.memory_limit))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if not all(row.get("same_labels", True) for row in rows):
        raise SystemExit("the engines disagree")


if __name__ == "__main__":
    main()
