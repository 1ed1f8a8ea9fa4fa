"""Facts about tasks (or workers) from wherever they are kept: a Series, a dict, a frame, a file, a named column."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.votes.frames import ALIASES, array_of, column_of, find_column, frame_of, is_frame, names_of
from faircrowd.votes.readers.files import read_columns, read_header
from faircrowd.votes.vocabulary import Vocabulary, as_objects

__all__ = ["Facts", "find_facts", "from_table", "pandas_array", "read_facts"]


_IDS = ("task_id", "id")
"""Further names of the task column, in tables that hold a row a task."""


class Facts(NamedTuple):
    """One fact a task, as read from a table: columns ready for ``encode``."""

    task: Any
    fact: Any


def read_facts(source: Any, column: str, *, task: str | None = None, delimiter: str | None = None) -> Facts:
    """Read one column of a table of tasks; ``task`` is the name of the task column, where the table has it."""
    named = task if task is not None and task in _names(source, delimiter) else None
    key, (fact,) = from_table(source, named, [column], "the tasks table", delimiter)
    return Facts(key, fact)


def find_facts(
    facts: Any,
    votes: tuple[Any, str] | None,
    tasks: Any,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    """Return the tasks that facts speak of, and the facts, a column each."""
    if isinstance(facts, Facts):
        return facts.task, [facts.fact]
    if isinstance(facts, Mapping):
        return _objects(list(facts)), [_objects(list(facts.values()))]
    if isinstance(facts, str) or (isinstance(facts, Sequence) and facts and all(isinstance(f, str) for f in facts)):
        wanted = [facts] if isinstance(facts, str) else list(facts)
        if (
            tasks is not None
            and votes is not None
            and set(wanted) <= set(_names(votes[0], delimiter)) - set(_names(tasks, delimiter))
        ):
            tasks = None
        if tasks is not None:
            named = votes[1] if votes is not None and votes[1] in _names(tasks, delimiter) else None
            return from_table(tasks, named, wanted, "the tasks table", delimiter)
        if votes is not None:
            return from_table(votes[0], votes[1], wanted, "the votes", delimiter)
        raise InputError(f"Columns {few(wanted)} were named, but there is no table to find them in.")
    if isinstance(facts, os.PathLike) or is_frame(facts):
        return from_table(facts, None, None, "the table of tasks", delimiter, names)
    series = nw.from_native(facts, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.implementation.is_pandas():
        return pandas_array(facts.index), [pandas_array(facts)]
    raise InputError(
        "Groups and true labels go by task: a pandas Series indexed by task, a dict, or a frame; "
        f"not {type(facts).__name__}."
    )


def _names(source: Any, delimiter: str | None) -> list[str]:
    if isinstance(source, str | os.PathLike):
        return read_header(source, delimiter=delimiter)
    return names_of(source)


def from_table(
    source: Any,
    key: str | None,
    wanted: Sequence[str] | None,
    where: str,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    """Return the keys of a table (by default its tasks) and the columns wanted of it.

    Where none are named, the first of ``names`` that the table has is wanted, or else all its columns.
    """
    if isinstance(source, str | os.PathLike):
        where = str(source)
    columns = _names(source, delimiter)
    indexed = None
    if key is None and not isinstance(source, str | os.PathLike):
        native = nw.to_native(source, pass_through=True)
        name = getattr(getattr(native, "index", None), "name", None)
        if name is not None and not set(ALIASES["task"]) & set(columns):
            indexed = pandas_array(native.index)  # a pandas frame indexed by task
    if indexed is None and key is None:
        known = [name for name in (*ALIASES["task"], *_IDS) if name in columns]
        key = known[0] if known else find_column("task", columns, where=where)
    if wanted is None:
        rest = [name for name in columns if name != key]
        wanted = next(([name] for name in names or () if name in rest), rest)
        if not wanted:
            raise MissingColumnError(f"{where} has no column besides {key!r}.")
    wanted = [find_column("group", columns, name, where=where) for name in wanted]
    if isinstance(source, str | os.PathLike):
        read = read_columns(source, [str(key), *wanted], delimiter=delimiter)
        return read[str(key)], [read[name] for name in wanted]
    frame = frame_of(source)
    task = indexed if indexed is not None else column_of(frame, str(key))
    return _arrow(task), [column_of(frame, name) for name in wanted]


def _objects(values: list[Any]) -> NDArray[Any] | Any:
    """Python values as a column: Arrow where they are of one type."""
    return _arrow(as_objects(values))


def _arrow(column: Any) -> Any:
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind in "biufSUMm":
        return pa.array(column.astype(column.dtype.newbyteorder("="), copy=False))
    return Vocabulary.of(column.tolist()).values if len(column) else pa.array([], type=pa.null())


def pandas_array(values: Any) -> Any:
    """Return a pandas Series or Index as a column."""
    series = nw.from_native(values.to_series() if hasattr(values, "to_series") else values, series_only=True)
    return _arrow(array_of(series))
