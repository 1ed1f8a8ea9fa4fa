"""Votes from a file or a frame to a :class:`VoteTable`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import check_choice, few, warn
from faircrowd._types import ByTask, FrameLike, TableLike
from faircrowd.errors import DataWarning, FaircrowdError, InputError, MissingColumnError, OptionError
from faircrowd.votes.alignment import refuse_rows_of_votes
from faircrowd.votes.encode import encode
from faircrowd.votes.exports import is_export, no_answer_notes, open_votes
from faircrowd.votes.exports.generic.wide_matrix import may_be_matrix
from faircrowd.votes.exports.questions import AnswerOptions, read_bins
from faircrowd.votes.frames import column_of, find_column, frame_of, has_role, is_frame, lacking_columns
from faircrowd.votes.groups import attach_groups
from faircrowd.votes.judges.judge_columns import ColumnChoice, JudgeColumns, find_judge_columns
from faircrowd.votes.judges.judge_table import build_judge_table
from faircrowd.votes.readers import Columns, Source, read_header
from faircrowd.votes.style import Style
from faircrowd.votes.table import VoteTable, build_table
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["answer_options", "as_votes", "check_label_lengths", "find_roles", "opened_export", "read_votes"]

_LONGEST_LABEL = 100_000
"""Characters of the longest label that is taken for a class."""


def read_votes(
    source: TableLike | Source,
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
    multi: str = "error",
    bins: str | Sequence[float] | None = None,
    keep_golden: bool = False,
    probability: ColumnChoice | Sequence[str] = None,
    run: ColumnChoice = None,
    family: ColumnChoice | Mapping[Any, Any] = None,
    abstained: ColumnChoice = None,
    abstain_label: object = None,
) -> VoteTable:
    """Read votes into a compact table, with an account of every row.

    Parameters
    ----------
    source : path or frame
        A .csv, .tsv or .jsonl file (also with .gz, .bz2 or .zst), a .parquet file, or a frame of pandas,
        polars, pyarrow or any other library that narwhals knows; one row per vote. Or an export of a labelling
        platform: a file, a folder or an archive, which is recognised by its content.
    task, worker, label : str, optional
        Names of the columns. By default ``task`` (or ``item``, ``question``), ``worker`` (or ``annotator``,
        ``annotator_id``, ``performer``, ``judge``) and ``label`` (or ``answer``). Of an export, ``label`` is one of its
        questions, and must be given if there are several.
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
        The format of the file, one of :data:`faircrowd.votes.readers.READERS` ("csv", "tsv", "jsonl", "parquet") or
        :data:`faircrowd.votes.exports.EXPORTS` ("label-studio", "toloka", ...), if it is not the one that its content
        or name suggests.
    on_missing_group : {"error", "drop", "own"}
        What to do with tasks without a group: raise, leave them out of every constraint on the groups, or make them a
        group of their own. In both of the latter cases the group is called "missing".
    min_group : int
        Groups with fewer tasks than this are small; 1 compares every group.
    small_groups : {"leave-out", "merge", "error"}
        What to do with small groups: leave them out of every constraint on the groups (unless fewer than two groups
        would remain), merge them into one group "other", or raise.
    multi : {"error", "set", "each"}
        Exports: what to do where several options of a question are chosen at once. "set" takes each set of options for
        a class; "each" asks for each option whether it was chosen, as questions such as ``flags.insult``.
    bins : str or sequence of float, optional
        Exports: numbers at which scores are cut into classes, such as ``"2.5,4"``.
    keep_golden : bool
        Exports: whether answers to golden tasks, whose labels are known, are votes.
    probability : str, list of str or False, optional
        For votes of LLM judges: the column with the probability of the row's label, or the columns with that of each
        class. By default ``probability``, or ``probability_<class>`` for each class, if there are such columns; False
        for none. See docs/juries.md.
    run, family, abstained : str or False (family: also a dict), optional
        Columns with the run (the runs of a judge on a task are averaged into one vote), with the family of judges whose
        errors go together, and with whether the judge abstains. By default ``run``, ``family`` and ``abstain``, if
        there are such columns. The family may also be a dict by judge.
    abstain_label : label or list of labels, optional
        Labels that mean that the judge abstains.

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
    answers = answer_options(label, multi, bins, keep_golden)
    where = "the votes"
    left_out: dict[str, int] = {}
    notes: list[str] = []
    table: Source | FrameLike

    def find_columns(found: Source | list[str], tasks: TableLike | None) -> tuple[dict[str, str], JudgeColumns]:
        names = found.header() if isinstance(found, Source) else found
        by_name = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
        others = [*explicit.values(), *(by_name if isinstance(by_name, list | tuple) else ())]
        of_tasks = found.fact_names() if isinstance(found, Source) else []
        judged = find_judge_columns(
            names,
            where,
            taken=[*of_tasks, *(name for name in others if isinstance(name, str))],
            probability=probability,
            run=run,
            family=family,
            abstained=abstained,
            abstain_label=abstain_label,
        )
        wanted = explicit
        if judged.by_class and label is None and not has_role("label", names):
            wanted = {role: name for role, name in explicit.items() if role != "label"}
        return find_roles(found, wanted, where, tasks), judged

    if isinstance(source, str | os.PathLike | Source):
        table = open_votes(source, format=format, delimiter=delimiter, answers=answers, named=tuple(explicit.values()))
        where = str(table.path)
        roles, judged = find_columns(table, tasks)
        columns = table.columns([*roles.values(), *judged.names])
        left_out, notes = table.left_out(), table.notes()
        style = Style()
    elif is_frame(source):
        if answers != AnswerOptions(label):
            raise OptionError("multi, bins and keep_golden are for exports in files.", parameter=("multi", "bins"))
        table = source
        frame = frame_of(source)
        roles, judged = find_columns(list(frame.columns), None)
        columns = {name: column_of(frame, name) for name in (*roles.values(), *judged.names)}
        style = Style.follow(frame, roles)
    else:
        raise InputError(
            f"Votes must be a path or a frame (pandas, polars, pyarrow, ...), not {type(source).__name__}."
        )

    policies: dict[str, Any] = {"on_missing": on_missing, "on_duplicate": on_duplicate, "style": style}
    if judged.is_needed:
        votes = build_judge_table(columns, roles, judged, where=where, **policies)
        check_label_lengths(votes.classes, where)
    else:
        votes = _build(columns, roles, where, policies)
    notes += no_answer_notes(table, votes.classes) if isinstance(table, Source) else []
    votes = replace(votes, report=votes.report.with_reading(left_out, notes))
    if sensitive_features is not None:
        if not is_frame(sensitive_features):  # a frame needs a column of tasks
            refuse_rows_of_votes(sensitive_features, source, votes.n_tasks, "sensitive_features")
        votes = attach_groups(
            votes,
            sensitive_features,
            votes=(table, roles["task"]),
            tasks=tasks,
            delimiter=delimiter,
            on_missing_group=on_missing_group,
            min_group=min_group,
            small_groups=small_groups,
        )
    for line in votes.notes():
        warn(line, DataWarning)
    return votes


def _build(columns: Columns, roles: Mapping[str, str], where: str, policies: Mapping[str, Any]) -> VoteTable:
    """Return the table of votes; while tasks are encoded, another thread encodes workers and labels."""

    def encode_role(role: str) -> tuple[Codes, Vocabulary]:
        return encode(columns.pop(roles[role]))

    with ThreadPoolExecutor(1) as pool:
        coming = {role: pool.submit(encode_role, role) for role in ("worker", "label")}

        def encoded(role: str) -> tuple[Codes, Vocabulary]:
            codes, vocabulary = coming.pop(role).result() if role in coming else encode_role(role)
            if role == "label":
                check_label_lengths(vocabulary, where)
            return codes, vocabulary

        return build_table(encoded, **policies)


def as_votes(data: TableLike | VoteTable, sensitive_features: ByTask | None = None) -> VoteTable:
    """Return votes given as a table, a path or a frame as a table, with groups if these are given."""
    if not isinstance(data, VoteTable):
        return read_votes(data, sensitive_features=sensitive_features)
    return data if sensitive_features is None else attach_groups(data, sensitive_features)


def answer_options(
    label: str | None, multi: str, bins: str | Sequence[float] | None, keep_golden: bool
) -> AnswerOptions:
    """Return how the answers of an export become votes."""
    return AnswerOptions(label, multi, read_bins(bins), keep_golden)


def opened_export(source: str | os.PathLike[str], **reading: Any) -> Source | None:
    """Return a path as an open export, None if it is a table; ``reading`` are arguments of :func:`read_votes`."""
    given: dict[str, Any] = {name: reading.get(name) for name in ("format", "delimiter")}
    given["named"] = tuple(reading.get(name) for name in ("task", "worker", "label"))
    if not is_export(source, **given):
        return None
    more = reading.get("label"), reading.get("multi") or "error", reading.get("bins"), bool(reading.get("keep_golden"))
    return open_votes(source, **given, answers=answer_options(*more))


def find_roles(
    table: Source | list[str], explicit: Mapping[str, str | None], where: str, tasks: TableLike | None = None
) -> dict[str, str]:
    """Return the columns of task, worker and label, named or found by their usual names.

    Where the votes lack one, and a file of tasks has them all, the message asks whether the two were swapped.
    """
    names = table.header() if isinstance(table, Source) else table
    if isinstance(table, Source):
        explicit = table.roles(explicit)
        for name in explicit.values():
            if name is not None:
                table.check_name(name)
    roles, lacking = dict[str, str](), dict[str, str | None]()
    for role, name in explicit.items():
        try:
            roles[role] = find_column(role, names, name, where=where)
        except MissingColumnError:
            lacking[role] = name
    if lacking:
        error = lacking_columns(lacking, names, where)
        if isinstance(tasks, str | os.PathLike) and _are_votes(tasks, explicit):
            raise InputError(
                f"{where} lacks a column that votes have, and {tasks} has all of them; were votes and tasks swapped?"
            )
        if isinstance(table, Source) and not any(explicit.values()) and may_be_matrix(table):
            raise MissingColumnError(f"{error}; if each worker has a column, give format='wide'.")
        if lacking == {"worker": None, "label": None} and "task" in roles:
            others = few([name for name in names if name != roles["task"]])
            raise MissingColumnError(
                f"This looks like a table of tasks, not of votes: {where} has {roles['task']!r}, and beside it only "
                f"{others or 'nothing'}. Votes have one row per task and worker, with the label; give them first, and "
                "the table of tasks as tasks=...; if these are votes, name their columns with worker=... and label=..."
            )
        raise error
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
