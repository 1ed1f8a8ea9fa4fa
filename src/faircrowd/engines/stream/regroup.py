"""Votes in any order to votes grouped by task, by DuckDB, which sorts under a memory limit and spills to disk."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd._extras import need
from faircrowd._threads import available_threads
from faircrowd.engines.stream.staging import Staged
from faircrowd.errors import FileError, InputError, OptionError
from faircrowd.votes.encode import encode
from faircrowd.votes.vocabulary import Codes, Vocabulary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["ROLES", "Sorter", "Written", "opened_sorter", "refuse_repeated", "write_votes"]

ROLES = ("task", "worker", "label")


class Written(NamedTuple):
    """What was written: the number of votes of each task, the repeated rows, and which codes are in use."""

    counts: NDArray[np.int64]
    repeated: int
    first_repeated: tuple[int, int]
    used: dict[str, NDArray[np.bool_]]


class Sorter:
    """Distinct values, counts and sorted codes of a file of votes, as streams of Arrow.

    Parameters
    ----------
    database : duckdb.DuckDBPyConnection
    staged : Staged
    roles : dict of str to str
        The columns of task, worker and label.
    """

    def __init__(self, database: "DuckDBPyConnection", staged: Staged, roles: dict[str, str]) -> None:
        self.database, self.staged, self.roles = database, staged, roles
        self._codes: dict[str, str] = {}
        self._joins = ""
        if any(map(pa.types.is_floating, staged.types.values())):
            # The statistics of a Parquet file leave NaN out; conclusions from them are wrong where there is one.
            self.database.execute("SET disabled_optimizers = 'statistics_propagation'")
        columns = ", ".join(f"{self._clean(name)} AS {role}" for role, name in roles.items())
        rows = f"SELECT file_row_number AS row, {columns} FROM {self._file}"  # noqa: S608
        self.database.execute(f"CREATE VIEW votes AS {rows}")

    def account(self) -> tuple[int, dict[str, int], dict[str, int]]:
        """Return the number of rows, how many lack each role (by the first that is missing), and the first such row."""
        sums = "count(*), count(*) FILTER (task IS NULL), count(*) FILTER (worker IS NULL AND task IS NOT NULL), "
        sums += "count(*) FILTER (label IS NULL AND worker IS NOT NULL AND task IS NOT NULL), "
        sums += ", ".join(f"min(row) FILTER ({role} IS NULL)" for role in ROLES)
        ((rows, *found),) = self.database.execute(f"SELECT {sums} FROM votes").fetchall()  # noqa: S608
        missing = {role: count for role, count in zip(ROLES, found[:3], strict=True) if count}
        return rows, missing, dict(zip(ROLES, found[3:], strict=True))

    def encoded(self, role: str) -> Vocabulary:
        """Find the values of a column and keep the code of each for ``sorted_codes``."""
        query = f"SELECT DISTINCT {role} AS value FROM votes WHERE {role} IS NOT NULL"  # noqa: S608
        found = self._stream(query).read_all()
        codes, vocabulary = encode(self.staged.values(self.roles[role], found["value"]))
        low = _low_of_range(found["value"].type, vocabulary)
        if low is not None:
            self._codes[role] = f"CAST(CAST(votes.{role} AS BIGINT) - ({low}) AS INTEGER)"
            return vocabulary
        self.database.register(f"{role}_codes", found.append_column("code", pa.array(codes)))
        self._codes[role] = f"{role}_codes.code"
        self._joins += f" JOIN {role}_codes ON votes.{role} = {role}_codes.value"
        return vocabulary

    def sorted_codes(self, last: str) -> pa.RecordBatchReader:
        """Yield blocks of (task, worker, label) codes in order of task and worker, equal ones in order of ``last``."""
        codes = ", ".join(f"{code} AS {role}_code" for role, code in self._codes.items())
        complete = " AND ".join(f"votes.{role} IS NOT NULL" for role in ROLES)
        order = f"ORDER BY task_code, worker_code, {last}"
        query = f"SELECT {codes} FROM votes{self._joins} WHERE {complete} {order}"  # noqa: S608
        return self._stream(query)

    def distinct(self, names: Sequence[str]) -> pa.Table:
        """Return the distinct rows of some columns, as the reader in memory gives them."""
        columns = ", ".join(f"{self._clean(name)} AS c{i}" for i, name in enumerate(names))
        found = self._stream(f"SELECT DISTINCT {columns} FROM {self._file}").read_all()  # noqa: S608
        values = {name: self.staged.values(name, found[f"c{i}"]) for i, name in enumerate(names)}
        try:
            return pa.table(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise InputError(
                f"{self.staged.source.path}: tasks or groups are of mixed types; give the groups in a table of tasks, "
                "tasks=..., or read the votes in memory (engine='memory')."
            ) from None

    @property
    def _file(self) -> str:
        path = str(self.staged.path).replace("'", "''")
        return f"read_parquet('{path}', file_row_number = true)"

    def _clean(self, name: str) -> str:
        """Return a column with NaN as missing, and one zero."""
        column = '"' + name.replace('"', '""') + '"'
        if not pa.types.is_floating(self.staged.types[name]):
            return column
        return f"CASE WHEN isnan({column}) THEN NULL WHEN {column} = 0 THEN abs({column}) ELSE {column} END"

    def _stream(self, query: str) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self.database.sql(query))


@contextmanager
def opened_sorter(staged: Staged, roles: dict[str, str], folder: Path, memory_limit: int) -> Iterator[Sorter]:
    """Open a database with a limit of memory that spills to a folder."""
    need("duckdb", "stream", "Streaming")
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_limit}B",
        "temp_directory": str(folder / "spill"),
        "threads": available_threads(),
        "preserve_insertion_order": False,
    }
    try:
        with duckdb.connect(config=settings) as database:
            yield Sorter(database, staged, roles)
    except duckdb.OutOfMemoryException:
        raise OptionError(
            f"{memory_limit / 1e9:.2g} GB of memory are too few to regroup {staged.source.path}; raise memory_limit."
        ) from None
    except duckdb.Error as error:
        raise FileError(f"{staged.source.path} cannot be regrouped: {' '.join(str(error).split())[:300]}") from None


def write_votes(blocks: Iterable[pa.RecordBatch], folder: Path, sizes: dict[str, int], *, keep_all: bool) -> Written:
    """Write sorted codes to the files ``worker`` and ``label``; of equal (task, worker) pairs the first is kept."""
    counts = np.zeros(sizes["task"], dtype=np.int64)
    used = {role: np.zeros(sizes[role], dtype=np.bool_) for role in ("worker", "label")}
    before, repeated, first_repeated = -1, 0, (-1, -1)
    with open(folder / "worker", "wb") as workers, open(folder / "label", "wb") as labels:
        for block in blocks:
            task, worker, label = (column.to_numpy() for column in block.columns)
            if not task.size:
                continue
            pair = (task.astype(np.int64) << 32) | worker
            again = np.diff(pair, prepend=before) == 0
            before = pair[-1]
            if again.any():
                if not repeated:
                    first_repeated = _first(again, task, worker)
                repeated += int(np.count_nonzero(again))
                if not keep_all:
                    task, worker, label = task[~again], worker[~again], label[~again]
            if task.size:
                found = np.bincount(task - task[0])  # tasks come in order: a short range
                counts[task[0] : task[0] + found.size] += found
            used["worker"][worker] = True
            used["label"][label] = True
            workers.write(worker.data)  # unlike tofile, it raises when the disk is full
            labels.write(label.data)
    return Written(counts, repeated, first_repeated, used)


def _low_of_range(kind: pa.DataType, vocabulary: Vocabulary) -> int | None:
    """Return the lowest of consecutive integers, whose codes need no look-up; None for other values."""
    if not pa.types.is_integer(kind) or pa.types.is_uint64(kind) or not len(vocabulary):
        return None
    low, high = vocabulary.some([0, len(vocabulary) - 1])
    return int(low) if high - low + 1 == len(vocabulary) else None


def _first(again: NDArray[np.bool_], task: Codes, worker: Codes) -> tuple[int, int]:
    place = int(np.argmax(again))
    return int(task[place]), int(worker[place])


def refuse_repeated(written: Written, tasks: Vocabulary, workers: Vocabulary) -> None:
    """Raise because of repeated votes, as the reader in memory does."""
    task, worker = written.first_repeated
    raise InputError(
        f"{written.repeated:,} rows repeat a (task, worker) pair, such as task {few(tasks.some([task]))} and worker "
        f"{few(workers.some([worker]))}; "
        "keep one with on_duplicate='last' or 'first', or all with 'all'."
    )
