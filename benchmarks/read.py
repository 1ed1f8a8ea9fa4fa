"""Measure reading votes from a CSV file, seconds and peak memory, as ratios to pyarrow and pandas on the same file.

``python benchmarks/read.py`` reads ten million votes with integer ids, and with text ids; ``--votes 2e7 --per-task 1
--ids text`` reads twenty million tasks. Each reading is a process of its own that has loaded its package and compiled
code before the clock starts; readers take turns, and the fastest of ``--repeat`` counts. Processor seconds (user and
system, all threads) depend less on other work on the same machine than seconds. pyarrow and pandas only parse the file:
they neither give codes to ids nor sort the votes by task.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

CHUNK = 1 << 20
READERS = {
    "faircrowd": "import faircrowd; read = faircrowd.read_votes",
    "pyarrow": "import pyarrow.csv; read = pyarrow.csv.read_csv",
    "pandas": "import pandas; read = pandas.read_csv",
}
CHILD = """
import json, os, resource, sys, time, warnings
warnings.simplefilter("ignore")
exec(sys.argv[1])
read(sys.argv[2])
began, used = time.perf_counter(), sum(os.times()[:2])
found = read(sys.argv[3])
seconds, processor = time.perf_counter() - began, sum(os.times()[:2]) - used
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
print(json.dumps({"seconds": seconds, "processor": processor, "peak_gb": peak}))
"""


def write_votes(path: Path, n_votes: int, per_task: int, ids: str, n_workers: int = 10_000) -> None:
    """Write votes in no order, of two classes; ids are integers, or texts such as ``task-00012345`` and ``w17``."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(-(-n_votes // per_task), dtype=np.int32), per_task)[:n_votes]
    rng.shuffle(task)
    kind = pa.int32() if ids == "integers" else pa.string()
    schema = pa.schema([("task", kind), ("worker", kind), ("label", pa.string())])
    with pyarrow.csv.CSVWriter(path, schema, write_options=pyarrow.csv.WriteOptions(quoting_style="none")) as file:
        for i in range(0, n_votes, CHUNK):
            some = pa.array(task[i : i + CHUNK])
            worker = pa.array(rng.integers(0, n_workers, len(some), dtype=np.int32))
            label = pa.array(["no", "yes"]).take(pa.array(rng.integers(0, 2, len(some))))
            if ids == "text":
                some = pc.binary_join_element_wise("task", pc.utf8_lpad(some.cast(kind), 8, "0"), "-")
                worker = pc.binary_join_element_wise("w", worker.cast(kind), "")
            file.write(pa.table([some, worker, label], schema=schema))


def measure(reader: str, warm: Path, path: Path) -> dict[str, float]:
    """Read a file in a process of its own."""
    command = [sys.executable, "-c", CHILD, READERS[reader], str(warm), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(folder: Path, n_votes: int, per_task: int, ids: str, readers: list[str], repeat: int) -> dict[str, object]:
    """Measure all readers on one file, and print a line each."""
    path, warm = folder / "votes.csv", folder / "warm.csv"
    write_votes(path, n_votes, per_task, ids)
    write_votes(warm, 100_000, per_task, ids)
    size = path.stat().st_size / 1e6
    print(f"{n_votes:,} votes, {per_task} per task, ids are {ids}, {size:,.0f} MB", flush=True)
    runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for _ in range(repeat):
        for reader in readers:
            runs[reader].append(measure(reader, warm, path))
    best = {
        reader: {what: min(run[what] for run in some) for what in ("seconds", "processor", "peak_gb")}
        for reader, some in runs.items()
    }
    print(f"  {'':<10}{'seconds':>9}{'processor':>11}{'peak GB':>9}   {readers[0]} is so many times each")
    for reader, found in best.items():
        ratios = "".join(f"{best[readers[0]][what] / found[what]:>8.1f}" for what in found)
        shown = f"{found['seconds']:>9.2f}{found['processor']:>11.2f}{found['peak_gb']:>9.2f}"
        print(f"  {reader:<10}{shown}{ratios}", flush=True)
    return {"votes": n_votes, "per_task": per_task, "ids": ids, "megabytes": size, **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=float, nargs="+", default=[1e7])
    parser.add_argument("--per-task", type=int, default=5)
    parser.add_argument("--ids", nargs="+", choices=("integers", "text"), default=["integers", "text"])
    parser.add_argument("--readers", nargs="+", choices=tuple(READERS), default=list(READERS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where files are written (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    rows = []
    for n_votes in given.votes:
        for ids in given.ids:
            with tempfile.TemporaryDirectory(dir=given.folder) as place:
                rows.append(compare(Path(place), int(n_votes), given.per_task, ids, given.readers, given.repeat))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
