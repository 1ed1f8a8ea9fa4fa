"""Run experiments: over all cores, with what is finished kept, so that a run can be taken up again."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NamedTuple

from faircrowd._checks import check_choice, check_count
from faircrowd.errors import FileError
from faircrowd.experiments import comparison
from faircrowd.experiments import convergence_figure as convergence
from faircrowd.experiments import other_crowds as extra
from faircrowd.experiments.figures import chart_of
from faircrowd.experiments.tables import table_of

__all__ = ["EXPERIMENTS", "Finished", "reproduce"]

EXPERIMENTS = ("convergence", *comparison.DESIGNS, "extra")


class Finished(NamedTuple):
    """An experiment that is done: where its files are, and how many rows it has."""

    name: str
    files: list[str]
    rows: int


def reproduce(
    names: Iterable[str],
    out: str | os.PathLike[str],
    *,
    data_home: str | os.PathLike[str] | None = None,
    seeds: int = 10,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Finished]:
    """Run experiments and write their rows, tables and pictures.

    Parameters
    ----------
    names : iterable of str
        Of ``EXPERIMENTS``.
    out : path
        Folder for ``<experiment>.csv``, ``.md``, ``.png`` and ``.svg``. Finished cells are kept in ``cells`` there;
        with the same folder a run goes on where the last one stopped.
    data_home : path, optional
        Folder with the data sets.
    seeds : int
        Number of resamples, or of crowds drawn.
    jobs : int, optional
        Number of processes; by default as many as there are cores.
    progress : callable
        Called with the experiment's name, and how many of its cells are done.
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        check_choice("experiment", name, EXPERIMENTS)
    seeds = check_count("seeds", seeds, least=1)
    jobs = os.cpu_count() or 1 if jobs is None else check_count("jobs", jobs, least=1)
    place = Path(out)
    home = None if data_home is None else str(data_home)
    try:
        (place / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{place} cannot be written: {error.strerror or error}.") from None
    finished = []
    with _one_thread_each(), workers(jobs) as pool:
        for name in chosen:
            units = _units(name, seeds)
            kept = Cells(place / "cells" / f"{name}.jsonl")
            todo = [unit for unit in units if _key(unit) not in kept.rows]
            progress(name, len(units) - len(todo), len(units))
            for future in as_completed(running := {pool.submit(_work, name, unit, home): unit for unit in todo}):
                kept.add(_key(running[future]), future.result())
                progress(name, sum(_key(unit) in kept.rows for unit in units), len(units))
            rows = [row for unit in units for row in kept.rows[_key(unit)]]
            finished.append(_write(name, place, rows))
    return finished


def workers(jobs: int) -> ProcessPoolExecutor:
    """Return processes to work in, which end with this one, also if it is killed."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # a worker would wait for work for ever


class Cells:
    """Rows of finished units, a line of JSON each; a line that was cut short by a crash is done again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[dict[str, Any]]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    found = json.loads(line)
                    self.rows[found["unit"]] = found["rows"]
                except (ValueError, KeyError, TypeError):
                    continue
            # Start from whole lines, so that what is added does not join a broken one.
            lines = [json.dumps({"unit": key, "rows": rows}) + "\n" for key, rows in self.rows.items()]
            whole = path.with_suffix(".new")
            whole.write_text("".join(lines), encoding="utf-8")
            os.replace(whole, path)

    def add(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a unit."""
        self.rows[key] = rows
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"unit": key, "rows": rows}) + "\n")


def _units(name: str, seeds: int) -> list[Any]:
    if name == "convergence":
        return convergence.convergence_units(seeds)
    return extra.extra_units() if name == "extra" else comparison.comparison_units(name, seeds)


def _work(name: str, unit: Any, data_home: str | None) -> list[dict[str, Any]]:
    if name == "convergence":
        return convergence.convergence_rows(unit)
    if name == "extra":
        return extra.extra_rows(unit, data_home)
    return comparison.comparison_rows(unit, data_home)


def _write(name: str, place: Path, rows: list[dict[str, Any]]) -> Finished:
    import pyarrow as pa

    from faircrowd.report import OutputFolder
    from faircrowd.report.charts import images

    with OutputFolder(place) as folder:
        columns = list(rows[0])
        folder.write_csv(f"{name}.csv", pa.table({column: [row[column] for row in rows] for column in columns}))
        folder.write_text(f"{name}.md", table_of(name, rows))
        for file, content in images(name, chart_of(name, rows)).items():
            folder.write_bytes(file, content)
        names = folder.names
    return Finished(name, names, len(rows))


def _key(unit: Any) -> str:
    return json.dumps(unit)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let each process compute with one thread: the cores are busy with cells."""
    names = ("FAIRCROWD_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
