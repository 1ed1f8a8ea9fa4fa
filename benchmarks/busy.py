"""How long jobs take as ratios: to a plain operation, beside busy processes, and in another version of the package.

    python benchmarks/busy.py [--before PYTHON] [--others 2] [--repeat 5] [--scale 1] [--only WORD]

Every job runs in processes of its own: on the machine as it is, then beside processes that keep the processors busy. In
each process, the job and a plain operation on the same data take turns, so that both meet the same machine, and the
median of their ratios counts. ``--before`` names the Python of an environment in which another version is installed;
both versions take turns, too. The first line is plain Python: what busy processes leave to a job that uses one thread.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

KEPT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Work(NamedTuple):
    """A job and the plain operation it is compared with, ready to be called."""

    base: Callable[[], Any]
    job: Callable[[], Any]


class Job(NamedTuple):
    """What a line of the table measures."""

    name: str
    base: str
    prepare: Callable[[int, Path], Work]
    size: int


def plain_python(size: int, folder: Path) -> Work:
    def add() -> int:
        return sum(i * i for i in range(size))

    return Work(add, add)


def command(size: int, folder: Path, *, n_classes: int, per_task: int) -> Work:
    from startup import BASE, write_crowd

    place = folder / f"crowd-{size}-{n_classes}"
    arguments = write_crowd(place, size, n_classes, per_task)

    def run(command: list[str]) -> None:
        subprocess.run(command, env=KEPT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    return Work(partial(run, BASE), partial(run, [sys.executable, "-m", "faircrowd", *arguments]))


def aggregate(size: int, folder: Path, *, method: str, **options: Any) -> Work:
    import faircrowd
    from measure_fit import crowd

    votes = faircrowd.read_votes(crowd(size, 2, "numbers"))
    model = getattr(faircrowd, method)
    numbers = np.random.default_rng(0).random(size)
    model(**options).fit(faircrowd.read_votes(crowd(1000, 2, "numbers")))
    return Work(lambda: np.sort(numbers), lambda: model(**options).fit(votes).labels_)


def fair_labels(size: int, folder: Path, *, n_classes: int, frontier: bool = False, **options: Any) -> Work:
    from fair import crowd
    from faircrowd import make_fair

    def run(data: Any) -> Any:
        found = make_fair(data.posterior, data.group, epsilon=0.05, **options)
        return found.labels, found.certificate, found.frontier if frontier else None

    data = crowd(size, n_classes, 2, tied=False)
    numbers = np.random.default_rng(0).random(1_000_000)
    run(crowd(min(size, 5000), n_classes, 2, tied=False))
    return Work(lambda: np.sort(numbers), lambda: run(data))


def read(size: int, folder: Path, *, ids: str) -> Work:
    import pyarrow.csv

    import faircrowd
    from read import write_votes

    path, few = folder / f"{ids}-{size}.csv", folder / f"{ids}-few.csv"
    for place, n_votes in ((few, 200_000), (path, size)):
        if not place.exists():
            write_votes(place, n_votes, 5, ids)
    faircrowd.read_votes(few)
    return Work(lambda: pyarrow.csv.read_csv(path), lambda: faircrowd.read_votes(path))


IMPORTS = "import numpy, scipy.optimize, pandas"
SORT = "np.sort of a million numbers"
JOBS = [
    Job("plain Python, one thread", "itself", plain_python, 5_000_000),
    Job("aggregate, 1,000 tasks, 2 classes, page", IMPORTS, partial(command, n_classes=2, per_task=20), 1000),
    Job("aggregate, 3,000 tasks, 3 classes, page", IMPORTS, partial(command, n_classes=3, per_task=10), 3000),
    Job(
        "Dawid-Skene, 10M votes, 20 rounds",
        "np.sort of as many",
        partial(aggregate, method="DawidSkene", n_iter=20, tol=-1.0),
        10_000_000,
    ),
    Job("GLAD, 1M votes", "np.sort of as many", partial(aggregate, method="GLAD"), 1_000_000),
    Job("fair labels, 1M tasks, 2 classes", SORT, partial(fair_labels, n_classes=2), 1_000_000),
    Job(
        "the same, randomized",
        SORT,
        partial(fair_labels, n_classes=2, decision="randomized", random_state=0),
        1_000_000,
    ),
    Job("fair labels, 1M tasks, 5 classes", SORT, partial(fair_labels, n_classes=5), 1_000_000),
    Job("frontier, 100k tasks, 5 classes", SORT, partial(fair_labels, n_classes=5, frontier=True), 100_000),
    Job("CSV, 10M votes", "pyarrow.csv", partial(read, ids="integers"), 10_000_000),
    Job("CSV, 10M votes, ids as text", "pyarrow.csv", partial(read, ids="text"), 10_000_000),
]


class Measured(NamedTuple):
    """Seconds of a job and of its plain operation, and the median of their ratios."""

    job: float
    base: float
    ratio: float


def work(name: str, scale: float, repeat: int, folder: Path) -> Measured:
    """Measure one job in this process."""
    warnings.simplefilter("ignore")
    job = next(job for job in JOBS if job.name == name)
    ready = job.prepare(max(int(job.size * scale), 1000), folder)
    # The first turn finds files and memory as no other does.
    turns = [[_seconds(ready.base), _seconds(ready.job)] for _ in range(repeat + 1)]
    bases, jobs = np.array(turns[1:]).T
    return Measured(statistics.median(jobs), statistics.median(bases), statistics.median(jobs / bases))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@contextmanager
def busy(others: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(python: str, name: str, given: argparse.Namespace) -> Measured:
    """Measure one job in a process of some environment."""
    with tempfile.TemporaryDirectory() as folder:
        child = [python, __file__, "--job", name, "--folder", folder, "--repeat", str(given.repeat)]
        done = subprocess.run(
            [*child, "--scale", str(given.scale)], env=KEPT, stdout=subprocess.PIPE, text=True, check=True
        )
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--before", help="the Python of another version of faircrowd")
    options.add_argument("--others", type=int, default=2, help="number of busy processes")
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--scale", type=float, default=1.0, help="0.1 makes each job a tenth")
    options.add_argument("--only", default="", help="jobs with this word in their names")
    options.add_argument("--job", help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.job:
        print(json.dumps(work(given.job, given.scale, given.repeat, given.folder)))
        return
    versions = {"now": sys.executable} | ({"before": given.before} if given.before else {})
    print(f"{'':42}{'':8}{'alone':>9}{'x base':>8}{'busy':>9}{'x base':>8}{'busy / alone':>14}   base")
    for job in JOBS:
        if given.only not in job.name:
            continue
        alone = {version: measure(python, job.name, given) for version, python in versions.items()}
        with busy(given.others):
            beside = {version: measure(python, job.name, given) for version, python in versions.items()}
        for version in versions:
            quiet, crowded = alone[version], beside[version]
            print(
                f"{job.name:42}{version:8}{quiet.job:7.3f} s{quiet.ratio:8.2f}{crowded.job:7.3f} s{crowded.ratio:8.2f}"
                f"{crowded.job / quiet.job:14.2f}   {job.base}",
                flush=True,
            )
        if given.before:
            quiet, crowded = (found["now"].ratio / found["before"].ratio for found in (alone, beside))
            print(f"{'':42}{'now / before':12}{quiet:13.2f}{crowded:17.2f}", flush=True)


if __name__ == "__main__":
    main()
