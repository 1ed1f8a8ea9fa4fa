"""How processor time grows with the number of groups: each command on the same number of tasks in 10 to 1,000 groups.

``python benchmarks/many_groups.py`` prints processor seconds, and the ratio of the most groups to the fewest, all in
one run. ``--tasks 20000`` has smaller groups, ``--classes 3`` the linear program.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

WORKERS = 2000


def simulate(n_tasks: int, n_groups: int, n_classes: int, votes: Path) -> None:
    """Write the votes of a crowd, 3 to 5 per task; groups differ in the rates of classes."""
    rng = np.random.default_rng(n_groups)
    group = rng.integers(0, n_groups, n_tasks)
    truth = (rng.dirichlet(np.full(n_classes, 5.0), n_groups)[group].cumsum(axis=1) < rng.random((n_tasks, 1))).sum(1)
    task = np.repeat(np.arange(n_tasks), rng.integers(3, 6, n_tasks))
    worker = rng.integers(0, WORKERS, task.size)
    is_right = rng.random(task.size) < rng.uniform(0.6, 0.95, WORKERS)[worker]
    other = (truth[task] + rng.integers(1, n_classes, task.size)) % n_classes
    names = np.array([f"g{a:04}" for a in range(n_groups)])
    label = np.where(is_right, truth[task], other)
    pa.csv.write_csv(pa.table({"task": task, "worker": worker, "label": label, "g": names[group[task]]}), votes)


def seconds(command: Sequence[str]) -> float:
    """Return the processor seconds of a command in a process of its own."""
    before = os.times()
    done = subprocess.run([sys.executable, "-m", "faircrowd", *command], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3, 4):  # of an error
        raise SystemExit(done.stderr)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print one row per command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--groups", type=int, nargs="+", default=[10, 100, 1000])
    given = parser.parse_args()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for n_groups in [given.groups[0], *given.groups]:  # once more, as the first run compiles
            votes, out = Path(place, "votes.csv"), Path(place, f"{n_groups}")
            simulate(given.tasks, n_groups, given.classes, votes)
            by_group = [str(votes), "--group", "g"]
            commands = {
                "aggregate": ["aggregate", *by_group, "--epsilon", ".05", "--out", f"{out}/aggregate"],
                "audit": ["audit", *by_group, "--out", f"{out}/audit"],
                "frontier": ["frontier", *by_group, "--out", f"{out}/frontier"],
                "check": ["check", f"{out}/aggregate/labels.csv", "--group", "group", "--epsilon", ".1"],
            }
            for name, command in commands.items():
                found.setdefault(name, []).append(seconds(command))
    print(f"| {given.tasks:,} tasks | {' | '.join(f'{n:,} groups' for n in given.groups)} | ratio |")
    print("|---" * (len(given.groups) + 2) + "|")
    for name, (_, *times) in found.items():
        print(f"| `{name}` | {' | '.join(f'{time:.1f} s' for time in times)} | {times[-1] / times[0]:.1f} |")


if __name__ == "__main__":
    main()
