"""Votes from a file or a frame to a :class:`VoteTable`."""

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import check_choice, warn
from faircrowd._types import ByTask, FrameLike, TableLike
from faircrowd.errors import DataWarning, FaircrowdError, InputError, MissingColumnError
from faircrowd.votes.encode import encode
from faircrowd.votes.frames import column_of, find_column, frame_of, is_frame
from faircrowd.votes.groups import attach_groups
from faircrowd.votes.readers import Source, open_source, read_header
from faircrowd.votes.style import Style
from faircrowd.votes.table import VoteTable, build_table
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["as_votes", "check_label_lengths", "find_roles", "read_votes"]

_LONGEST_LABEL = 100_000
"""Characters of the longest label that is taken for a class."""


def read_votes(
    source: TableLike,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    sensitive_features: ByTask | None = None,
    tasks: TableLike | None = None,
    on_duplicate: str = "last",
    on_missing: str = "drop",
    delimiter: str | None = None,
    format: str | None = None,
    on_missing_group: str = "error",
    min_group: int = 1,
    small_groups: str = "leave-out",
) -> VoteTable:
    """Read votes into a compact table, with an account of every row.

    Parameters
    ----------
    source : path or frame
        A .csv, .tsv or .jsonl file (also with .gz, .bz2 or .zst), a .parquet file, or a frame of pandas,
        polars, pyarrow or any other library that narwhals knows; one row per vote.
    task, worker, label : str, optional
        Names of the columns. By default ``task`` (or ``item``, ``question``), ``worker`` (or ``annotator``,
        ``annotator_id``, ``performer``) and ``label`` (or ``answer``).
    sensitive_features : optional
        The sensitive group of each task: a pandas Series indexed by task, a dict, a frame with a task column
        and one or more group columns, or the name (a list of names) of columns of the votes or of ``tasks``. Several
        columns are intersected.
    tasks : path or frame, optional
        A table with one row per task, where the columns named in ``sensitive_features`` are looked up.
    on_duplicate : {"last", "first", "all", "error"}
        What to do where a worker votes more than once on a task.
    on_missing : {"drop", "error"}
        What to do with rows that lack a task, a worker or a label.
    delimiter : str, optional
        The separator of a text file, if it is not the one its name suggests.
    format : str, optional
        The format of the file, one of :data:`faircrowd.votes.readers.READERS` ("csv", "tsv", "jsonl", "parquet"), if
        it is not the one its name suggests.
    on_missing_group : {"error", "drop", "own"}
        What to do with tasks without a group: raise, leave them out of every constraint on the groups, or make them a
        group of their own. In both of the latter cases the group is called "missing".
    min_group : int
        Groups with fewer tasks than this are small; 1 compares every group.
    small_groups : {"leave-out", "merge", "error"}
        What to do with small groups: leave them out of every constraint on the groups (unless fewer than two groups
        would remain), merge them into one group "other", or raise.

    Returns
    -------
    VoteTable
        Its ``report`` lists what was set aside, why, and by which option; a
        :class:`~faircrowd.errors.DataWarning` reports it too.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = read_votes(pd.DataFrame({
    ...     "task": ["a", "a", "b"], "worker": [1, 2, 1], "label": ["yes", "no", "yes"],
    ... }))
    >>> votes
    VoteTable(3 votes, 2 tasks, 2 workers, 2 classes)
    >>> votes.report.rows_aside
    0
    """
    check_choice("on_duplicate", on_duplicate, ("last", "first", "all", "error"))
    check_choice("on_missing", on_missing, ("drop", "error"))
    explicit = {"task": task, "worker": worker, "label": label}
    where = "the votes"
    left_out: dict[str, int] = {}
    table: Source | FrameLike
    if isinstance(source, str | os.PathLike):
        where = str(source)
        table = open_source(source, format=format, delimiter=delimiter)
        roles = find_roles(table.header(), explicit, where, tasks)
        columns = table.columns(list(roles.values()))
        left_out = table.left_out()
        style = Style()
    elif is_frame(source):
        table = source
        frame = frame_of(source)
        roles = find_roles(list(frame.columns), explicit, where)
        columns = {name: column_of(frame, name) for name in roles.values()}
        style = Style.follow(frame, roles)
    else:
        raise InputError(
            f"Votes must be a path or a frame (pandas, polars, pyarrow, ...), not {type(source).__name__}."
        )

    def encoded(role: str) -> tuple[Codes, Vocabulary]:
        codes, vocabulary = encode(columns.pop(roles[role]))
        if role == "label":
            check_label_lengths(vocabulary, where)
        return codes, vocabulary

    votes = build_table(encoded, on_missing=on_missing, on_duplicate=on_duplicate, style=style)
    votes = replace(votes, report=votes.report.with_left_out(left_out))
    if sensitive_features is not None:
        known = table, roles["task"]
        policy: dict[str, Any] = {"min_group": min_group, "small_groups": small_groups}
        policy["on_missing_group"] = on_missing_group
        votes = attach_groups(votes, sensitive_features, votes=known, tasks=tasks, delimiter=delimiter, **policy)
    for line in votes.notes():
        warn(line, DataWarning)
    return votes


def as_votes(data: TableLike | VoteTable, sensitive_features: ByTask | None = None) -> VoteTable:
    """Return votes given as a table, a path or a frame as a table, with groups if these are given."""
    if not isinstance(data, VoteTable):
        return read_votes(data, sensitive_features=sensitive_features)
    return data if sensitive_features is None else attach_groups(data, sensitive_features)


def find_roles(
    names: list[str], explicit: Mapping[str, str | None], where: str, tasks: TableLike | None = None
) -> dict[str, str]:
    """Return the columns of task, worker and label, named or found by their usual names.

    Where the votes lack one, and a file of tasks has them all, the message asks whether the two were swapped.
    """
    try:
        roles = {role: find_column(role, names, name, where=where) for role, name in explicit.items()}
    except MissingColumnError:
        if isinstance(tasks, str | os.PathLike) and _are_votes(tasks, explicit):
            raise InputError(
                f"{where} lacks a column that votes have, and {tasks} has all of them; were votes and tasks swapped?"
            ) from None
        raise
    for first, second in combinations(roles, 2):
        if roles[first] == roles[second]:
            raise InputError(
                f"Column {roles[first]!r} of {where} was named as {first} and as {second}; name two columns."
            )
    return roles


def _are_votes(path: str | os.PathLike[str], explicit: Mapping[str, str | None]) -> bool:
    """Return whether a file has the columns of votes."""
    try:
        return len(find_roles(read_header(path), explicit, str(path))) == len(explicit)
    except FaircrowdError:
        return False


def check_label_lengths(classes: Vocabulary, where: str) -> None:
    """Raise if a label is too long to be the name of a class."""
    if classes.is_mixed or not (
        pa.types.is_string(classes.values.type) or pa.types.is_large_string(classes.values.type)
    ):
        return
    lengths = np.asarray(pc.utf8_length(classes.values))
    if lengths.size and lengths.max() > _LONGEST_LABEL:
        raise InputError(
            f"A label in {where} is {lengths.max():,} characters long (at most {_LONGEST_LABEL:,} are taken); "
            "does the label column hold classes, or texts?"
        )
