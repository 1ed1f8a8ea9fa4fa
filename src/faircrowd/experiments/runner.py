"""Run experiments on all cores, and keep what is finished, so that a run can be resumed."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from faircrowd._checks import check_choice, check_count
from faircrowd._types import PathOrText
from faircrowd.errors import FileError
from faircrowd.experiments.comparison import DESIGNS, comparison_rows, comparison_units
from faircrowd.experiments.convergence_experiment import convergence_rows, convergence_units
from faircrowd.experiments.figures import comparison_chart, convergence_chart, extra_chart
from faircrowd.experiments.other_crowds import extra_rows, extra_units
from faircrowd.experiments.result_tables import comparison_table, convergence_table, extra_table
from faircrowd.fair.certificate import EARLIER_NAMES

__all__ = ["EXPERIMENTS", "Finished", "reproduce"]

Row: TypeAlias = dict[str, Any]


class Experiment(NamedTuple):
    """An experiment: its units of work, their rows, and how the rows are shown.

    Attributes
    ----------
    units : callable
        Return the units for a number of seeds; a unit is a tuple that JSON can hold.
    rows : callable
        Run a unit, with the folder of data sets; return its rows.
    table, chart : callable
        Return the rows as Markdown, and as Vega-Lite.
    """

    units: Callable[[int], Sequence[tuple[Any, ...]]]
    rows: Callable[[Any, str | None], list[Row]]
    table: Callable[[Sequence[Row]], str]
    chart: Callable[[Sequence[Row]], dict[str, Any]]


_EXPERIMENTS = {
    "convergence": Experiment(
        convergence_units, lambda unit, data_home: convergence_rows(unit), convergence_table, convergence_chart
    ),
    **{
        name: Experiment(
            partial(comparison_units, name),
            comparison_rows,
            partial(comparison_table, name),
            partial(comparison_chart, name),
        )
        for name in DESIGNS
    },
    "extra": Experiment(lambda seeds: extra_units(), extra_rows, extra_table, extra_chart),
}

EXPERIMENTS = tuple(_EXPERIMENTS)
"""The names of the experiments."""


class Finished(NamedTuple):
    """A finished experiment: its files, and the number of its rows."""

    name: str
    files: list[str]
    rows: int


def reproduce(
    names: Iterable[str],
    out: PathOrText,
    *,
    data_home: PathOrText | None = None,
    seeds: int = 10,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Finished]:
    """Run experiments and write their rows, tables and pictures.

    Parameters
    ----------
    names : iterable of str
        Names from ``EXPERIMENTS``.
    out : path
        Folder for ``<experiment>.csv``, ``.md``, ``.png`` and ``.svg``. Finished units are kept in ``cells`` there;
        with the same folder a run continues where the last one stopped.
    data_home : path, optional
        Folder with the data sets.
    seeds : int
        Number of resamples, or of random crowds.
    jobs : int, optional
        Number of processes; by default as many as there are cores.
    progress : callable
        Called with the experiment's name, the number of finished units, and the number of all units.
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
            units = _EXPERIMENTS[name].units(seeds)
            kept = Cells(place / "cells" / f"{name}.jsonl")
            todo = [unit for unit in units if _key(unit) not in kept.rows]
            progress(name, len(units) - len(todo), len(units))
            for future in as_completed(running := {pool.submit(_run, name, unit, home): unit for unit in todo}):
                kept.add(_key(running[future]), future.result())
                progress(name, sum(_key(unit) in kept.rows for unit in units), len(units))
            rows = [row for unit in units for row in kept.rows[_key(unit)]]
            finished.append(_write(name, place, rows))
    return finished


def workers(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of processes that end with this one, even if it is killed."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # otherwise the worker would wait for work for ever


class Cells:
    """Rows of finished units, one line of JSON per unit; a line that was cut short by a crash is run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[Row]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    found = json.loads(line)
                    rows = [{EARLIER_NAMES.get(k, k): value for k, value in row.items()} for row in found["rows"]]
                    self.rows[found["unit"]] = rows
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue
            # Start from complete lines, so that what is added is not appended to a broken one.
            lines = [json.dumps({"unit": key, "rows": rows}) + "\n" for key, rows in self.rows.items()]
            complete = path.with_suffix(".new")
            complete.write_text("".join(lines), encoding="utf-8", newline="\n")
            os.replace(complete, path)

    def add(self, key: str, rows: list[Row]) -> None:
        """Keep the rows of a unit."""
        self.rows[key] = rows
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"unit": key, "rows": rows}) + "\n")


def _run(name: str, unit: tuple[Any, ...], data_home: str | None) -> list[Row]:
    return _EXPERIMENTS[name].rows(unit, data_home)


def _write(name: str, place: Path, rows: list[Row]) -> Finished:
    import pyarrow as pa

    from faircrowd.report import OutputFolder
    from faircrowd.report.charts import images

    with OutputFolder(place) as folder:
        columns = list(rows[0])
        folder.write_csv(f"{name}.csv", pa.table({column: [row[column] for row in rows] for column in columns}))
        folder.write_text(f"{name}.md", _EXPERIMENTS[name].table(rows))
        for file, content in images(name, _EXPERIMENTS[name].chart(rows)).items():
            folder.write_bytes(file, content)
        names = folder.names
    return Finished(name, names, len(rows))


def _key(unit: tuple[Any, ...]) -> str:
    return json.dumps(unit)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let each process compute with one thread: the cores are busy with other units."""
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
