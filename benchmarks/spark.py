"""Measure a round of Dawid-Skene in memory and in Spark, on the same votes and in the same run.

python benchmarks/spark.py --votes 5000000 --masters 'local[1]' 'local[2]'

Seconds of a round are the lowest of several. Processor seconds are those of Python, Java and all processes that these
started (Linux); where other programs use the same cores, they vary less. The ratio is that of the seconds of a round.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

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


class Spent(NamedTuple):
    """Seconds of the clock and of all processors."""

    seconds: float
    processor: float

    @classmethod
    def now(cls) -> "Spent":
        """Return the clock, and what this process and those below it have used so far."""
        return cls(time.perf_counter(), _processor_seconds())

    def since(self, before: "Spent") -> "Spent":
        """Return what was spent after another point in time."""
        return Spent(self.seconds - before.seconds, self.processor - before.processor)


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of all running processes below it; NaN without ``/proc``."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(entry.parent.name)
        parents[number] = int(fields[1])
        used[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while below := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= below
    return sum(used[number] for number in ours) if os.getpid() in used else float("nan")


def rounds(votes: Any, count: int) -> tuple[Confusion, Spent]:
    """Run some rounds after a warm-up.

    Return the parameters, the seconds of the fastest round, and the mean of the processor seconds of all.
    """
    model = DawidSkene()
    counter = VoteCounter(votes, by_group=False)
    used = model._maximise(counter.from_shares(), model.smoothing)
    used = model._maximise(counter.expected(used)[0], model.smoothing)
    seconds = []
    begin = Spent.now()
    for _ in range(count):
        before = time.perf_counter()
        used = model._maximise(counter.expected(used)[0], model.smoothing)
        seconds.append(time.perf_counter() - before)
    return used, Spent(min(seconds), Spent.now().since(begin).processor / count)


def in_spark(master: str, memory: str, path: str, count: int) -> tuple[Confusion, Spent, Spent]:
    """Return the parameters, what a round takes, and what the build takes."""
    session = spark_session(master, **SETTINGS, **{"spark.driver.memory": memory})
    session.sparkContext.setLogLevel("ERROR")
    begin = Spent.now()
    votes = spark_votes(session.read.parquet(path))
    built = Spent.now().since(begin)
    result = rounds(votes, count)
    session.stop()
    return *result, built


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--masters", nargs="+", default=["local[1]", "local[2]"])
    parser.add_argument("--memory", default="4g", help="heap size of the driver")
    parser.add_argument("--path", default="/tmp/faircrowd-votes.parquet", help="where the votes are written")  # noqa: S108
    asked = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

    crowd(asked.votes, asked.workers, asked.classes, asked.path)
    begin = Spent.now()
    table: VoteTable = read_votes(asked.path)
    built = Spent.now().since(begin)
    wanted, base = rounds(table, asked.rounds)
    print(f"{asked.votes:,} votes, {asked.workers:,} workers, {asked.classes} classes")
    names = ("build s", "processor", "round s", "processor", "ratio")
    print(f"{'engine':<24}{''.join(f'{name:>11}' for name in names)}  parameters")
    show("memory", built, base, 1.0, "")
    for master in asked.masters:
        found, spent, built = in_spark(master, asked.memory, asked.path, asked.rounds)
        same = all(np.array_equal(own, other) for own, other in zip(found, wanted, strict=True))
        show(master, built, spent, spent.seconds / base.seconds, "equal" if same else "DIFFERENT")


def show(engine: str, built: Spent, spent: Spent, ratio: float, parameters: str) -> None:
    """Print a line of the table."""
    builds, per_round = (f"{seconds:>11.{digits}f}" for seconds, digits in ((built.seconds, 2), (spent.seconds, 3)))
    processor = [f"{built.processor:>11.2f}", f"{spent.processor:>11.3f}"]
    print(f"{engine:<24}{builds}{processor[0]}{per_round}{processor[1]}{ratio:>11.1f}  {parameters}", flush=True)


if __name__ == "__main__":
    main()
