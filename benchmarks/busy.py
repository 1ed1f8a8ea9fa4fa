"""How much longer jobs take while other processes keep the processors busy.

    python benchmarks/busy.py [--tasks 1000000] [--others 2] [--repeat 3]

Every job runs in a process of its own, first on the machine as it is, then beside busy processes. Printed are ratios:
the job beside them to the job alone, and the same for a loop of plain Python, which shows what the machine leaves to a
process that uses one thread.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PLAIN = "sum(i * i for i in range(10_000_000))"
PREPARE = """
import json, sys, time
import numpy as np
import faircrowd as fc
from faircrowd import make_fair
n = int(sys.argv[1])
r = np.random.default_rng(0)
group = r.integers(0, 3, n)
more = np.array([[0.3, 0.5, 0.7, 0.9, 1.1], [1.1, 0.9, 0.7, 0.5, 0.3], [0.5, 0.5, 1.0, 0.5, 0.5]])[group]
gains = r.standard_gamma(more)
posterior = gains / gains.sum(axis=1, keepdims=True)
two = posterior[:, :2] / posterior[:, :2].sum(axis=1, keepdims=True)
crowd = fc.simulate_crowd(max(n // 10, 100), random_state=0)
small = fc.simulate_crowd(200, random_state=0)
fc.DawidSkene().fit(small.votes)
make_fair(posterior[:1000], group[:1000], epsilon=0.02)
make_fair(two[:1000], group[:1000], epsilon=0.02)
"""
JOBS = {
    "plain Python, one thread": PLAIN,
    "fair labels, 5 classes": "make_fair(posterior, group, epsilon=0.02)",
    "fair labels, 2 classes": "make_fair(two, group, epsilon=0.02)",
    "Dawid-Skene, a tenth of the tasks": "fc.DawidSkene().fit(crowd.votes)",
}


def seconds(job: str, tasks: int) -> float:
    timed = f"{PREPARE}\nstart = time.perf_counter()\n{job}\nprint(json.dumps(time.perf_counter() - start))"
    done = subprocess.run([sys.executable, "-c", timed, str(tasks)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def busy(others: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--others", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"{'job':36s} alone   beside {given.others} busy processes   ratio")
    for name, job in JOBS.items():
        alone, beside = [], []
        for _ in range(given.repeat):
            alone.append(seconds(job, given.tasks))
            with busy(given.others):
                beside.append(seconds(job, given.tasks))
        quiet, crowded = statistics.median(alone), statistics.median(beside)
        print(f"{name:36s} {quiet:5.2f} s {crowded:8.2f} s {crowded / quiet:21.2f}")


if __name__ == "__main__":
    main()
