"""Measure seconds per round of Dawid-Skene in memory and in Spark, on the same votes and in the same run.

python benchmarks/spark.py --votes 5000000 --masters 'local[1]' 'local[2]'
"""

import argparse
import os
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faircrowd import DawidSkene, VoteTable, read_votes
from faircrowd.aggregate.confusion import Confusion, VoteCounter
from faircrowd.engines import spark_session, spark_votes

WORKERS_PER_TASK = 5
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.showConsoleProgress": "false",
}


def crowd(n_votes: int, n_workers: int, n_classes: int, path: str) -> None:
    """Write votes of workers of different skill as Parquet, in random order."""
    rng = np.random.default_rng(0)
    n_tasks = n_votes // WORKERS_PER_TASK
    task = np.repeat(np.arange(n_tasks), WORKERS_PER_TASK)
    # The workers of a task are distinct: equal steps from a random start.
    start = np.repeat(rng.integers(n_workers, size=n_tasks), WORKERS_PER_TASK)
    worker = (start + np.tile(np.arange(WORKERS_PER_TASK), n_tasks) * (n_workers // WORKERS_PER_TASK)) % n_workers
    truth = rng.integers(n_classes, size=n_tasks)[task]
    right = rng.random(task.size) < rng.uniform(0.55, 0.95, n_workers)[worker]
    label = np.where(right, truth, rng.integers(n_classes, size=task.size))
    order = rng.permutation(task.size)
    pq.write_table(pa.table({"task": task[order], "worker": worker[order], "label": label[order]}), path)


def rounds(votes: Any, count: int) -> tuple[Confusion, float]:
    """Run some rounds after a warm-up round; return the parameters and the seconds per round."""
    model = DawidSkene()
    counter = VoteCounter(votes, by_group=False)
    used = model._maximise(counter.from_shares(), model.smoothing)
    used = model._maximise(counter.expected(used)[0], model.smoothing)
    begin = time.perf_counter()
    for _ in range(count):
        used = model._maximise(counter.expected(used)[0], model.smoothing)
    return used, (time.perf_counter() - begin) / count


def in_spark(master: str, memory: str, path: str, count: int) -> tuple[Confusion, float, float]:
    session = spark_session(master, **SETTINGS, **{"spark.driver.memory": memory})
    session.sparkContext.setLogLevel("ERROR")
    begin = time.perf_counter()
    votes = spark_votes(session.read.parquet(path))
    built = time.perf_counter() - begin
    result = rounds(votes, count)
    session.stop()
    return *result, built


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--masters", nargs="+", default=["local[1]", "local[2]"])
    parser.add_argument("--memory", default="4g", help="heap size of the driver")
    parser.add_argument("--path", default="/tmp/faircrowd-votes.parquet", help="where the votes are written")  # noqa: S108
    asked = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

    crowd(asked.votes, asked.workers, asked.classes, asked.path)
    begin = time.perf_counter()
    table: VoteTable = read_votes(asked.path)
    built = time.perf_counter() - begin
    wanted, base = rounds(table, asked.rounds)
    print(f"{asked.votes:,} votes, {asked.workers:,} workers, {asked.classes} classes")
    print(f"{'engine':<12}{'build s':>9}{'round s':>9}{'ratio':>7}  parameters")
    print(f"{'memory':<12}{built:>9.2f}{base:>9.3f}{1:>7.1f}")
    for master in asked.masters:
        found, seconds, built = in_spark(master, asked.memory, asked.path, asked.rounds)
        same = all(np.array_equal(own, other) for own, other in zip(found, wanted, strict=True))
        print(f"{master:<12}{built:>9.2f}{seconds:>9.3f}{seconds / base:>7.1f}  {'equal' if same else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
