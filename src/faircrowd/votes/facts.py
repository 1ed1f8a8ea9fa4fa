"""Facts about tasks (or workers) from wherever they are kept: a Series, a dict, a frame, a file, a named column."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.typing import IntoSeries
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd._types import ByTask, FrameLike, TableLike
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.votes.frames import (
    ALIASES,
    alike_columns,
    array_of,
    column_of,
    find_column,
    frame_of,
    has_column,
    is_frame,
    names_of,
)
from faircrowd.votes.readers import Source, open_source
from faircrowd.votes.vocabulary import Column, Vocabulary, as_objects

__all__ = [
    "Facts",
    "Numbers",
    "Table",
    "are_in_tasks",
    "find_facts",
    "from_table",
    "pandas_array",
    "read_facts",
    "refuse_labels",
    "refuse_values",
    "table_columns",
    "task_columns",
]

Table: TypeAlias = TableLike | Source
"""A table: a frame, or a file, the latter also with its format and delimiter."""

_LABELS = ("truth", "true_label", "label", "gold", "agg_label")
"""Columns of tables of tasks that hold labels, and so no groups."""
_FURTHER_TASK_NAMES = ("task_id", "id")
"""Further names of the task column, in tables with one row per task."""


class Facts(NamedTuple):
    """One fact per task, as read from a table: columns ready for ``encode``."""

    task: Column
    fact: Column


class Numbers(NamedTuple):
    """Numbers that users give by worker, task or label (skills, priors): the ids, and the number of each."""

    ids: Vocabulary
    values: NDArray[np.float64]

    @classmethod
    def read(cls, given: ByTask | None, role: str = "worker") -> "Numbers":
        """Read numbers from a Series, dict or frame; None gives none."""
        if given is None:
            return cls(Vocabulary(as_objects([])), np.empty(0))
        if not isinstance(given, Mapping) and is_frame(given):
            keyed = find_column(role, names_of(given), where="the table")
            key, (column, *_) = from_table(given, keyed, None, "the table", None)
        else:
            key, (column,) = find_facts(given, None, None, None)
        try:
            return cls(Vocabulary(key), np.array(column, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"The values given by {role} must be numbers.") from None

    def of(self, vocabulary: Vocabulary) -> NDArray[np.float64]:
        """Return the number of each value of a vocabulary; NaN where none was given."""
        out = np.full(len(vocabulary), np.nan)
        place = vocabulary.code_of(self.ids.values)
        out[place[place >= 0]] = self.values[place >= 0]
        return out


def read_facts(source: Table | None, column: str, *, task: str | None = None, delimiter: str | None = None) -> Facts:
    """Read one column of a table of tasks; ``task`` is the name of the task column, where the table has it."""
    if source is None:
        raise _no_table([column])
    named = task if task is not None and has_column(table_columns(source, delimiter), task) else None
    key, (fact,) = from_table(source, named, [column], "the tasks table", delimiter)
    return Facts(key, fact)


def find_facts(
    facts: ByTask | Facts,
    votes: tuple[Table, str] | None,
    tasks: Table | None,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Column, list[Column]]:
    """Return the tasks that facts are about, and the facts as columns.

    Parameters
    ----------
    facts
        As ``sensitive_features`` of :func:`faircrowd.read_votes`.
    votes : (table, task column), optional
        Where the votes came from, for facts that are columns of theirs.
    tasks : optional
        A table of tasks, for facts that are columns of it.
    delimiter : str, optional
        The separator of text files.
    names : sequence of str, optional
        Columns to prefer in a table given as ``facts``.
    """
    if isinstance(facts, Facts):
        return facts.task, [facts.fact]
    if isinstance(facts, Mapping):
        return _objects(list(facts)), [_objects(list(facts.values()))]
    if (wanted := _named_columns(facts)) is not None:
        refuse_values(wanted, tasks, None if votes is None else votes[0], delimiter=delimiter)
        if tasks is not None and are_in_tasks(facts, votes, tasks, delimiter):
            named = votes[1] if votes is not None and votes[1] in table_columns(tasks, delimiter) else None
            return from_table(tasks, named, wanted, "the tasks table", delimiter)
        if votes is not None:
            try:
                return from_table(votes[0], votes[1], wanted, "the votes", delimiter)
            except MissingColumnError as error:
                if tasks is not None or "Did you mean" in str(error):
                    raise
                raise MissingColumnError(f"{error} If a table of tasks has it, give tasks=...") from None
        raise _no_table(wanted)
    if isinstance(facts, os.PathLike) or is_frame(facts):
        return from_table(facts, None, None, "the table of tasks", delimiter, names)
    series = nw.from_native(facts, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.implementation.is_pandas():
        native: Any = series.to_native()
        return pandas_array(native.index), [pandas_array(native)]
    raise InputError(
        "Groups and true labels go by task: a pandas Series indexed by task, a dict, or a frame; "
        f"not {type(facts).__name__}{', which has an index only in pandas' if isinstance(series, nw.Series) else ''}."
    )


def are_in_tasks(
    facts: ByTask | Facts, votes: tuple[Table, str] | None, tasks: Table | None, delimiter: str | None
) -> bool:
    """Return whether facts are columns that are looked up in the table of tasks: not if only the votes have them."""
    wanted = _named_columns(facts)
    if wanted is None or tasks is None:
        return False
    if votes is None:
        return True
    of_votes, of_tasks = table_columns(votes[0], delimiter), table_columns(tasks, delimiter)
    return not all(has_column(of_votes, name) and not has_column(of_tasks, name) for name in wanted)


def _named_columns(facts: ByTask | Facts) -> list[str] | None:
    """Return the names of columns, if facts are given so."""
    if isinstance(facts, str):
        return [facts]
    if isinstance(facts, Sequence) and facts and all(isinstance(name, str) for name in facts):
        return [str(name) for name in facts]
    return None


def from_table(
    source: Table,
    key: str | None,
    wanted: Sequence[str] | None,
    where: str,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Column, list[Column]]:
    """Return the keys of a table (by default its tasks) and the columns wanted of it.

    Where none are named, the first of ``names`` that the table has is wanted, or else all its columns.
    """
    table = _opened(source, delimiter)
    if isinstance(table, Source):
        where = str(table.path)
    columns = table_columns(table, delimiter)
    indexed = None
    if key is None and not isinstance(table, Source):
        native: Any = nw.to_native(table, pass_through=True)
        name = getattr(getattr(native, "index", None), "name", None)
        if name is not None and not set(ALIASES["task"]) & set(columns):
            indexed = pandas_array(native.index)  # a pandas frame indexed by task
    if key is not None:
        key = find_column("task", columns, key, where=where)
    if indexed is None and key is None:
        known = task_columns(columns)
        key = known[0] if known else find_column("task", columns, where=where)
    if wanted is None:
        rest = [name for name in columns if name != key]
        wanted = next(([name] for name in names or () if name in rest), alike_columns(rest, names or ("",)) or rest)
        if names is None:
            refuse_labels(wanted, where)
        if not wanted:
            raise MissingColumnError(f"{where} has no column besides {key!r}.")
    if isinstance(table, Source):
        for name in wanted:
            table.check_name(name)
    wanted = [find_column("group", columns, name, where=where) for name in wanted]
    if isinstance(table, Source):
        read = table.columns([str(key), *wanted])
        return read[str(key)], [read[name] for name in wanted]
    frame = frame_of(table)
    task = indexed if indexed is not None else column_of(frame, str(key))
    return _arrow(task), [column_of(frame, name) for name in wanted]


def task_columns(columns: Sequence[str]) -> list[str]:
    """Return those columns of a table with one row per task that may be the ids of the tasks, the likeliest first.

    Examples
    --------
    >>> task_columns(["sex", "Task ID"]), task_columns(["id", "task"]), task_columns(["sex"])
    (['Task ID'], ['task', 'id'], [])
    """
    usual = (*ALIASES["task"], *_FURTHER_TASK_NAMES)
    known = [name for name in usual if name in columns]
    alike = [] if known else alike_columns(columns, usual)
    return known or (alike if len(alike) == 1 else [])


def refuse_values(names: Sequence[str], *tables: Table | None, delimiter: str | None = None) -> None:
    """Raise if a list of texts, which names columns, is one of values: some are there twice, and are no columns."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) == len(names):
        return
    known = [name for table in tables if table is not None for name in table_columns(table, delimiter)]
    if not all(has_column(known, name) for name in distinct):
        raise InputError(
            f"A list of texts names columns, and these {len(names):,} look like values of tasks: {few(distinct)}. "
            "Values go by task: give a dict, or a pandas Series indexed by task, pd.Series(values, index=tasks)."
        )


def refuse_labels(columns: Sequence[str], where: str) -> None:
    """Raise if a table whose columns are all taken for groups is a whole table of tasks, with labels or ids."""
    if len(columns) > 1 and (found := [name for name in columns if name in (*_LABELS, *ALIASES["task"])]):
        groups = [name for name in columns if name not in found]
        raise InputError(
            f"Every column of {where} would define groups, also {few(found)}; give only those that do, such as "
            f"frame[{groups[:1] or ['group']!r}]."
        )


def pandas_array(values: IntoSeries) -> Column:
    """Return a pandas Series or Index as a column."""
    plain = values.to_series() if hasattr(values, "to_series") else values
    series: nw.Series[Any] = nw.from_native(plain, series_only=True)
    return _arrow(array_of(series))


def _no_table(wanted: Sequence[str]) -> InputError:
    return InputError(
        f"Columns {few(wanted)} were named, but there is no table to find them in; give the values themselves, such as "
        f"frame[{wanted[0]!r}]."
    )


def _opened(source: Table, delimiter: str | None) -> Source | FrameLike:
    return open_source(source, delimiter=delimiter) if isinstance(source, str | os.PathLike) else source


def table_columns(source: Table, delimiter: str | None) -> list[str]:
    """Return the names of a table's columns."""
    table = _opened(source, delimiter)
    return table.header() if isinstance(table, Source) else names_of(table)


def _objects(values: list[Any]) -> Column:
    """Return Python values as a column: Arrow where they are of one type."""
    return _arrow(as_objects(values))


def _arrow(column: Column) -> Column:
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind in "biufSUMm":
        return pa.array(column.astype(column.dtype.newbyteorder("="), copy=False))
    return Vocabulary.of(column.tolist()).values if len(column) else pa.array([], type=pa.null())
