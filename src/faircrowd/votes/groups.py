"""Facts about tasks, from wherever they are kept: sensitive groups and true labels."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError, MissingColumnError
from faircrowd.votes.encode import encode
from faircrowd.votes.files import read_columns, read_header
from faircrowd.votes.frames import array_of, column_of, find_column, frame_of, is_frame
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

__all__ = ["attach_groups", "gold_codes", "gold_pairs", "read_facts", "values_by"]


def attach_groups(
    table: VoteTable,
    sensitive_features: Any,
    *,
    votes: tuple[Any, str] | None = None,
    tasks: Any = None,
    delimiter: str | None = None,
) -> VoteTable:
    """Give each task of a table its sensitive group.

    Parameters
    ----------
    sensitive_features
        As in :func:`faircrowd.read_votes`.
    votes : (source, task column), optional
        Where the votes came from, for groups that stand in a column of theirs.
    tasks : path or frame, optional
        A table of tasks, for groups that stand in a column of it.

    Raises
    ------
    InputError
        If a task has no group, or two different ones.
    """
    key, columns = _key_and_columns(sensitive_features, votes, tasks, delimiter)
    coded = [encode(column) for column in columns]
    codes, groups = coded[0] if len(coded) == 1 else _intersect(coded)
    place = table.tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    group = np.full(table.n_tasks, -1, dtype=np.int32)
    group[place[known]] = codes[known]
    clash = known.copy()
    clash[known] = group[place[known]] != codes[known]
    if clash.any():
        several = np.unique(place[clash])
        raise InputError(
            f"{several.size:,} tasks have more than one group: {few(table.tasks.some(several[:5]), several.size)}; "
            "a task belongs to one."
        )
    lacking = np.flatnonzero(group < 0)
    if lacking.size:
        raise InputError(
            f"{lacking.size:,} of {table.n_tasks:,} tasks have no group: "
            f"{few(table.tasks.some(lacking[:5]), lacking.size)}; give each task a group, or leave its votes out."
        )
    used = np.zeros(len(groups), dtype=bool)
    used[group] = True
    return table.with_groups(groups.take(np.flatnonzero(used)), (np.cumsum(used) - 1).astype(np.int32)[group])


def gold_codes(table: VoteTable, true_labels: Any) -> tuple[VoteTable, Codes]:
    """Find the known true label of each task.

    Returns
    -------
    table : VoteTable
        The same votes; true labels that nobody voted for are added to its classes.
    gold : ndarray of int32, shape (n_tasks,)
        The class of each task's true label, -1 where it is not known.
    """
    task, label, classes = gold_pairs(table, true_labels)
    if len(classes) > table.n_classes:
        table = table.with_classes(classes)
    gold = np.full(table.n_tasks, -1, dtype=np.int32)
    gold[task] = label
    clash = np.unique(task[gold[task] != label])
    if clash.size:
        raise InputError(
            f"{clash.size:,} tasks have more than one true label: {few(table.tasks.some(clash[:5]), clash.size)}."
        )
    return table, gold


def gold_pairs(table: VoteTable, true_labels: Any) -> tuple[Codes, Codes, Vocabulary]:
    """Return the (task, label) pairs of true labels for tasks of the table, and the classes that code them."""
    key, (column, *more) = _key_and_columns(true_labels, None, None, None, names=("label", "truth", "true_label"))
    if more:
        raise InputError("True labels must be one column; got several. Name them 'label' or 'truth'.")
    codes, truths = encode(column)
    place = table.tasks.code_of(key)
    known = (place >= 0) & (codes >= 0)
    if len(truths) == 0:
        return place[known], codes[known], table.classes
    # A truth by text (from a file) and a class by number are the same class: `code_of` compares their text.
    found = table.classes.code_of(truths.values)
    new = truths.take(np.flatnonzero(found < 0)).to_list()
    classes = table.classes
    if new:
        classes = encode(as_objects([*classes.to_list(), *new]))[1]
        found = classes.code_of(truths.values)
    return place[known], found[codes[known]], classes


def read_facts(source: Any, column: str, *, delimiter: str | None = None) -> pa.Table:
    """Read one column of a table of tasks, as a table of task and label."""
    key, (facts,) = _key_and_columns(column, None, source, delimiter)
    return pa.table({"task": key, "label": facts})


def values_by(vocabulary: Vocabulary, given: Any, role: str = "worker") -> NDArray[np.float64]:
    """Return the number given for each value of a vocabulary, by a Series, dict or frame; NaN where none is."""
    out = np.full(len(vocabulary), np.nan)
    if given is None:
        return out
    if not isinstance(given, Mapping) and is_frame(given):
        names = _names(given, None)
        keyed = find_column(role, names, where="the table")
        key, (column, *_) = _from_table(given, keyed, [name for name in names if name != keyed][:1], "the table", None)
    else:
        key, (column,) = _key_and_columns(given, None, None, None)
    place = vocabulary.code_of(key)
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The values given by {role} must be numbers.") from None
    out[place[place >= 0]] = numbers[place >= 0]
    return out


def _intersect(coded: Sequence[tuple[Codes, Vocabulary]]) -> tuple[Codes, Vocabulary]:
    stacked = np.stack([codes for codes, _ in coded], axis=1)
    rows, codes = np.unique(stacked, axis=0, return_inverse=True)
    names = [tuple(parts) for parts in zip(*(v.some(rows[:, j]) for j, (_, v) in enumerate(coded)), strict=True)]
    codes = np.where((stacked < 0).any(axis=1), -1, codes.reshape(-1))
    return np.asarray(codes, dtype=np.int32), Vocabulary(as_objects(names))


def _key_and_columns(
    facts: Any,
    votes: tuple[Any, str] | None,
    tasks: Any,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    """Return the tasks that facts speak of, and the facts, a column each."""
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
            return _from_table(tasks, None, wanted, "the tasks table", delimiter)
        if votes is not None:
            return _from_table(votes[0], votes[1], wanted, "the votes", delimiter)
        raise InputError(f"Columns {few(wanted)} were named, but there is no table to find them in.")
    if isinstance(facts, os.PathLike) or is_frame(facts):
        return _from_table(facts, None, None, "the table of tasks", delimiter, names)
    series = nw.from_native(facts, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.implementation.is_pandas():
        return _pandas_array(facts.index), [_pandas_array(facts)]
    raise InputError(
        "Groups and true labels go by task: a pandas Series indexed by task, a dict, or a frame; "
        f"not {type(facts).__name__}."
    )


def _names(source: Any, delimiter: str | None) -> list[str]:
    if isinstance(source, str | os.PathLike):
        return read_header(source, delimiter=delimiter)
    return list(nw.from_native(source).collect_schema().names())


def _from_table(
    source: Any,
    key: str | None,
    wanted: Sequence[str] | None,
    where: str,
    delimiter: str | None,
    names: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    if isinstance(source, str | os.PathLike):
        where = str(source)
    columns = _names(source, delimiter)
    indexed = None
    if key is None and not isinstance(source, str | os.PathLike):
        native = nw.to_native(source, pass_through=True)
        if "task" not in columns and getattr(getattr(native, "index", None), "name", None) is not None:
            indexed = _pandas_array(native.index)  # a pandas frame indexed by task
    if indexed is None:
        key = key or find_column("task", columns, where=where)
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
    if isinstance(column, np.ndarray):
        if column.dtype != object:
            return pa.array(column)
        return Vocabulary.of(column.tolist()).values if len(column) else pa.array([], type=pa.null())
    return column


def _pandas_array(values: Any) -> Any:
    series = nw.from_native(values.to_series() if hasattr(values, "to_series") else values, series_only=True)
    return _arrow(array_of(series))
