"""Measure seconds and peak memory of the engines on a million votes and more, from the file of votes to the labels.

``python benchmarks/scale.py`` runs 1 and 10 million votes; ``--votes 1e8`` runs more. Each run is a process of its own:
``faircrowd aggregate`` with 20 rounds of Dawid-Skene, by default with the exact fair rule for two groups. Seconds per
round are the median over the rounds of the run; the fastest round, and the processor seconds, depend less on other work
on the same machine. ``--kill 10`` also kills a stream after 10 rounds, continues it with ``--resume``, and compares the
files.
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

VOTES_PER_TASK = 5
CHUNK = 1 << 20
ROUNDS = 20
FILES = ("labels.csv", "workers.csv", "rule.json", "model.json", "model.npz", "summary.json")
CHILD = """
import json, os, signal, sys, time
from faircrowd.aggregate import dawid_skene
from faircrowd.cli.app import run
times = []
def end_round(number, *_):
    times.append((time.perf_counter(), time.process_time()))
    if number == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
iterate = dawid_skene.iterate
dawid_skene.iterate = lambda *given, **named: iterate(*given, **{**named, "on_round": end_round})
code = run(sys.argv[3:])
open(sys.argv[1], "w").write(json.dumps(times))
sys.exit(code)
"""


def write_crowd(folder: Path, n_votes: int, n_workers: int = 10_000) -> None:
    """Write votes.parquet, with its rows shuffled, and tasks.parquet with two groups."""
    n_tasks = n_votes // VOTES_PER_TASK
    n_votes = n_tasks * VOTES_PER_TASK
    stride = next(a for a in range(int(n_votes * 0.618) | 1, 2 * n_votes) if math.gcd(a, n_votes) == 1)
    skill = np.random.default_rng(0).uniform(0.6, 0.95, n_workers)
    with pyarrow.parquet.ParquetWriter(folder / "tasks.parquet", _schema("task", "group")) as file:
        for first in range(0, n_tasks, CHUNK):
            task = np.arange(first, min(first + CHUNK, n_tasks))
            file.write(pa.table({"task": task, "group": _group(task)}))
    with pyarrow.parquet.ParquetWriter(folder / "votes.parquet", _schema("task", "worker", "label")) as file:
        for first in range(0, n_votes, CHUNK):
            row = np.arange(first, min(first + CHUNK, n_votes))
            vote = row * stride % n_votes  # each vote once, far from its neighbours
            task = vote // VOTES_PER_TASK
            worker = (task * 7919 + vote % VOTES_PER_TASK * 1237) % n_workers
            rng = np.random.default_rng([1, first])
            wrong = rng.random(row.size) > skill[worker] - 0.1 * _group(task)
            file.write(pa.table({"task": task, "worker": worker, "label": _truth(task) ^ wrong}))


def _schema(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int64()) for name in names])


def _group(task: np.ndarray) -> np.ndarray:
    return (task * 2654435761 >> 7) % 3 // 2


def _truth(task: np.ndarray) -> np.ndarray:
    return ((task * 40503 >> 5) % 100 < 30 + 20 * _group(task)).astype(np.int64)


def run(
    folder: Path, engine: str, *, fair: bool, limit: str | None, out: Path, kill: int = 0, resume: bool = False
) -> dict[str, Any]:
    """Run the command; return its seconds and its peak resident memory in MB."""
    times = folder / "times.json"
    command = [sys.executable, "-c", CHILD, str(times), str(kill), "aggregate", str(folder / "votes.parquet")]
    command += ["--out", str(out), "--engine", engine, "--n-iter", str(ROUNDS), "--tol", "-1", "--no-report", "--json"]
    if fair:
        command += ["--tasks", str(folder / "tasks.parquet"), "--group", "group", "--epsilon", "0.02"]
    if limit and engine == "stream":
        command += ["--memory-limit", limit]
    if resume:
        command.append("--resume")
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status and not kill:
        raise SystemExit(f"{engine} failed: {command[5:]}")
    found: dict[str, Any] = {"seconds": time.perf_counter() - began, "peak_mb": usage.ru_maxrss * 1024 / 1e6}
    if not kill:
        rounds = np.diff(json.loads(times.read_text(encoding="utf-8")), axis=0)
        median, processor = np.median(rounds, axis=0)
        found |= {"per_round": median, "fastest_round": rounds[:, 0].min(), "processor_per_round": processor}
    return found


def same(first: Path, second: Path) -> bool:
    with first.open("rb") as a, second.open("rb") as b:
        while (block := a.read(1 << 24)) == b.read(1 << 24):
            if not block:
                return True
    return False


def differing(first: Path, second: Path) -> list[str]:
    """Return the names of the files that are not equal byte by byte."""
    return [name for name in FILES if (first / name).exists() and not same(first / name, second / name)]


def measure(
    folder: Path, n_votes: int, engines: list[str], *, fair: bool, limit: str | None, kill: int
) -> dict[str, Any]:
    """Measure one number of votes, with files in this folder."""
    began = time.perf_counter()
    write_crowd(folder, n_votes)
    print(f"{n_votes:,} votes written in {time.perf_counter() - began:.0f} s", flush=True)
    found: dict[str, Any] = {"votes": n_votes, "fair": fair}
    for engine in engines:
        found[engine] = run(folder, engine, fair=fair, limit=limit, out=folder / engine)
        found[engine]["fastest_per_million"] = found[engine]["fastest_round"] / n_votes * 1e6
        found[engine]["processor_per_million"] = found[engine]["processor_per_round"] / n_votes * 1e6
        show(engine, found[engine])
    others = engines[1:]
    if kill:
        out, others = folder / "resumed", [*others, "resumed"]
        show("killed", run(folder, "stream", fair=fair, limit=limit, out=out, kill=kill))
        found["resumed"] = run(folder, "stream", fair=fair, limit=limit, out=out, resume=True)
        show("resumed", found["resumed"])
    wrong = [f"{other}/{name}" for other in others for name in differing(folder / engines[0], folder / other)]
    found["same_files"] = not wrong
    if others:
        print(f"  files are {f'NOT THE SAME: {wrong}' if wrong else 'the same'}", flush=True)
    return found


def show(name: str, found: dict[str, Any]) -> None:
    print(f"  {name}: {', '.join(f'{key} {value:.3g}' for key, value in found.items())}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--engines", nargs="+", default=["memory", "stream"])
    parser.add_argument("--memory-limit")
    parser.add_argument("--kill", type=int, default=0, help="also kill a stream after this many rounds, and resume it")
    parser.add_argument("--plain", action="store_true", help="without groups and the fair rule")
    parser.add_argument("--folder", type=Path, help="where files are written (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    rows = []
    for n_votes in given.votes:
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            asked = {"fair": not given.plain, "limit": given.memory_limit, "kill": given.kill}
            rows.append(measure(Path(place), int(n_votes), given.engines, **asked))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if not all(row["same_files"] for row in rows):
        raise SystemExit("the engines disagree")


if __name__ == "__main__":
    main()
