"""Which library reads a JSON export of gigabytes: seconds and peak memory of each, one process per library.

The export is made up in the form of Label Studio's JSON (an array of tasks with their annotations) and written to a
temporary folder. Every library does the same work: it counts the choices of all annotations.
``json_parts`` is what faircrowd does: the standard library's ``raw_decode`` on pieces of the file.

    pip install ijson pysimdjson orjson duckdb
    python benchmarks/json_exports.py --gigabytes 1
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LIBRARIES = ("json", "orjson", "simdjson", "ijson", "duckdb", "duckdb+orjson", "json_parts")


def make(path: Path, size: int) -> None:
    """Write an export of about this many bytes."""
    draw = random.Random(0)  # noqa: S311 - no secret
    task = written = 0
    with path.open("w") as file:
        file.write("[")
        while written < size:
            text = json.dumps(_task(task, draw))
            written += file.write(("," if task else "") + "\n" + text)
            task += 1
        file.write("\n]\n")


def _task(number: int, draw: random.Random) -> dict[str, Any]:
    annotations = []
    for position in range(5):
        choice = {"from_name": "better", "to_name": "text", "type": "choices"}
        annotations.append(
            {
                "id": number * 5 + position,
                "completed_by": draw.randrange(1000),
                "result": [{**choice, "value": {"choices": [draw.choice(("yes", "no", "unclear"))]}}],
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": "2026-11-16T15:28:08.640174Z",
                "updated_at": "2026-11-16T15:28:08.640225Z",
                "lead_time": draw.random() * 10,
                "unique_id": f"{draw.getrandbits(128):032x}",
                "prediction": {},
                "result_count": 1,
                "last_action": None,
                "task": number,
                "project": 1,
            }
        )
    words = " ".join(draw.choice(("crowd", "label", "fair", "vote", "größe", "ещё")) for _ in range(60))
    return {"id": number, "annotations": annotations, "data": {"text": words, "gender": draw.choice("ab")}, "meta": {}}


def count(tasks: Iterable[Any]) -> Counter[str]:
    """Return how often each choice was made."""
    return Counter(
        choice
        for task in tasks
        for annotation in task["annotations"]
        for result in annotation["result"]
        for choice in result["value"]["choices"]
    )


def tasks_of(library: str, path: Path) -> Iterator[Any]:
    """Yield the tasks of an export."""
    if library == "json":
        with path.open("rb") as file:
            yield from json.load(file)
    elif library == "orjson":
        import orjson

        yield from orjson.loads(path.read_bytes())
    elif library == "simdjson":
        import simdjson

        for task in simdjson.Parser().load(str(path)):
            yield task.as_dict()
    elif library == "json_parts":
        from faircrowd.votes.exports.json_parts import items

        yield from items(path)
    elif library == "ijson":
        import ijson

        with path.open("rb") as file:
            yield from ijson.items(file, "item", use_float=True)
    else:
        import duckdb

        if library == "duckdb":
            loads = json.loads
        else:
            from orjson import loads
        connection = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
        found = connection.execute(f"SELECT json FROM read_json_objects('{path}', format='array')")  # noqa: S608 - a path of its own
        while rows := found.fetchmany(1000):
            yield from (loads(text) for (text,) in rows)


def main() -> None:
    """Measure every library in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.library is not None:
        start = time.perf_counter()
        found = count(tasks_of(asked.library, asked.path))
        seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{asked.library:<15}{seconds:8.1f} s {peak:8.2f} GB   {sum(found.values()):,} choices")
        return
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "export.json")
        make(path, int(asked.gigabytes * 1e9))
        print(f"{path.stat().st_size / 1e9:.2f} GB")
        for library in LIBRARIES:
            command = [sys.executable, __file__, "--library", library, "--path", str(path)]
            subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
