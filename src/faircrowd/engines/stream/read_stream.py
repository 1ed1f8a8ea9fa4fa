"""Votes beyond memory: grouped by task once on disk, then mapped, so that every model works on them unchanged."""

import os
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from faircrowd._checks import check_choice, warn
from faircrowd.engines.engine_choice import memory_to_regroup
from faircrowd.engines.free_memory import free_memory
from faircrowd.engines.stream.regroup import ROLES, Sorter, opened_sorter, refuse_repeated, write_votes
from faircrowd.engines.stream.staging import stage
from faircrowd.errors import DataWarning, FaircrowdError, FileError
from faircrowd.storage.scratch import Scratch, clear_left
from faircrowd.votes.account import VotesReport, refuse_missing
from faircrowd.votes.exports import no_answer_notes, open_votes
from faircrowd.votes.facts import are_in_tasks
from faircrowd.votes.frames import find_column
from faircrowd.votes.groups import attach_groups
from faircrowd.votes.judges.judge_columns import refuse_judge_columns
from faircrowd.votes.line_breaks import line_breaks
from faircrowd.votes.read import answer_options, check_label_lengths, find_roles
from faircrowd.votes.readers import Source
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["read_votes_on_disk"]

_RECODED_AT_ONCE = 1 << 20
"""Codes in a file are renumbered this many at a time."""


def read_votes_on_disk(
    source: str | os.PathLike[str] | Source,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    sensitive_features: str | list[str] | None = None,
    tasks: str | os.PathLike[str] | None = None,
    on_duplicate: str = "last",
    on_missing: str = "drop",
    delimiter: str | None = None,
    format: str | None = None,
    memory_limit: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    on_missing_group: str = "error",
    min_group: int = 1,
    small_groups: str = "leave-out",
    multi: str = "error",
    bins: str | Sequence[float] | None = None,
    keep_golden: bool = False,
    **judging: Any,
) -> VoteTable:
    """Read a file of votes of any size; the result equals that of ``read_votes``, bit for bit.

    The votes are kept in files that are mapped into memory, so that only what is in use takes memory. What exists once
    per task (ids, groups, later posteriors and labels) is held in memory. The files are removed with the table, or at
    the end of the process. Import it as ``from faircrowd.engines import read_votes_on_disk``.

    Parameters
    ----------
    source, task, worker, label, on_duplicate, on_missing, delimiter, format, on_missing_group, min_group, \
    small_groups, multi, bins, keep_golden
        As in :func:`faircrowd.read_votes`; the source is a file.
    sensitive_features : str or list of str, optional
        Names of columns of the votes or of ``tasks``.
    tasks : path, optional
        A table with one row per task.
    memory_limit : int, optional
        Bytes that regrouping may take; by default less than half of the free memory, at most 1.5 GB.
    folder : path, optional
        Where a folder for the files is made; by default where the system has temporary files.
    **judging
        ``probability``, ``run``, ``family``, ``abstained`` and ``abstain_label`` of :func:`faircrowd.read_votes`. Such
        columns are read in memory only: a table that has one is refused, unless it is not to be used (False).
    """
    check_choice("on_duplicate", on_duplicate, ("last", "first", "all", "error"))
    check_choice("on_missing", on_missing, ("drop", "error"))
    answers = answer_options(label, multi, bins, keep_golden)
    explicit = {"task": task, "worker": worker, "label": label}
    opened = open_votes(source, format=format, delimiter=delimiter, answers=answers, named=tuple(explicit.values()))
    where, names = str(opened.path), opened.header()
    roles = find_roles(opened, explicit, where, tasks)
    wanted = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features or ())
    in_votes = not are_in_tasks(wanted, (opened, roles["task"]), tasks, delimiter)
    for name in wanted if in_votes else ():
        opened.check_name(name)
    own = [find_column("group", names, name, where=where) for name in wanted] if in_votes else []
    taken = [*roles.values(), *wanted, *opened.fact_names()]
    refuse_judge_columns(names, where, "from disk", taken=taken, **judging)
    limit = memory_limit or memory_to_regroup(free_memory() // 2)
    try:
        clear_left(folder)
        scratch = Scratch(folder)
    except OSError as error:
        raise _no_room(folder, error) from None
    place = scratch.path
    try:
        staged = stage(opened, list(dict.fromkeys([*roles.values(), *own])), place)
        with opened_sorter(staged, roles, place, limit) as sorter:
            table = _regrouped(sorter, place, on_missing=on_missing, on_duplicate=on_duplicate)
            groups = sorter.distinct([roles["task"], *own]) if own else opened
        notes = [*opened.notes(), *no_answer_notes(opened, table.classes)]
        table = replace(table, report=table.report.with_reading(opened.left_out(), notes))
        for file in place.glob("*.parquet"):
            file.unlink()
        pa.default_memory_pool().release_unused()
        if wanted:
            table = attach_groups(
                table,
                own or wanted,
                votes=(groups, roles["task"]),
                tasks=None if own else tasks,
                delimiter=delimiter,
                on_missing_group=on_missing_group,
                min_group=min_group,
                small_groups=small_groups,
            )
        for line in table.notes():
            warn(line, DataWarning)
    except BaseException as error:
        scratch.remove()
        if isinstance(error, OSError):
            raise _no_room(place.parent, error) from None
        raise
    weakref.finalize(table.worker, scratch.remove, at_end=True)
    return table


def _no_room(folder: str | os.PathLike[str] | None, error: OSError) -> FileError:
    where = "The folder for temporary files" if folder is None else folder
    return FileError(f"{where} cannot be written: {error.strerror or error}; TMPDIR names another one.")


def _regrouped(sorter: Sorter, place: Path, *, on_missing: str, on_duplicate: str) -> VoteTable:
    rows, missing, first_missing = sorter.account()
    if missing and on_missing == "error":
        name, count = next(iter(missing.items()))
        refuse_missing(name, count, rows, first_missing[name])
    vocabularies = {role: sorter.encoded(role) for role in ROLES}
    check_label_lengths(vocabularies["label"], str(sorter.staged.source.path))
    # The first of equal pairs is kept: to keep the last, the order of rows among them is reversed.
    last = {"first": "row", "all": "label_code"}.get(on_duplicate, "row DESC")
    sizes = {role: len(vocabulary) for role, vocabulary in vocabularies.items()}
    written = write_votes(sorter.sorted_codes(last), place, sizes, keep_all=on_duplicate == "all")
    if written.repeated and on_duplicate == "error":
        refuse_repeated(written, vocabularies["task"], vocabularies["worker"])
    account = VotesReport(
        rows_read=rows,
        rows_missing=missing,
        rows_repeated=written.repeated,
        on_missing=on_missing,
        on_duplicate=on_duplicate,
        tasks_without_votes=tuple(vocabularies["task"].some(np.flatnonzero(written.counts == 0))),
    )
    n_votes = int(written.counts.sum())
    if n_votes != rows - account.rows_aside:
        raise FaircrowdError(f"{rows - account.rows_aside:,} votes went into the sort and {n_votes:,} came out.")
    kept = np.flatnonzero(written.counts)
    (place / "offsets").write_bytes(np.concatenate([[0], np.cumsum(written.counts[kept])]).astype(np.int64).data)
    worker, workers = _in_use(place / "worker", vocabularies["worker"], written.used["worker"])
    label, classes = _in_use(place / "label", vocabularies["label"], written.used["label"])
    tasks = vocabularies["task"] if kept.size == sizes["task"] else vocabularies["task"].take(kept)
    report = replace(account, line_breaks=line_breaks({"task": tasks, "worker": workers, "label": classes}))
    return VoteTable(tasks, workers, classes, _mapped(place / "offsets", np.int64), worker, label, report=report)


def _mapped(path: Path, kind: DTypeLike = np.int32) -> NDArray[Any]:
    """Map a file to be read, as a plain array, for which kernels are compiled. An empty file cannot be mapped."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype=kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))


def _in_use(path: Path, vocabulary: Vocabulary, used: NDArray[np.bool_]) -> tuple[Codes, Vocabulary]:
    """Map a file of codes, and drop the values that no vote has; the codes are renumbered in the file."""
    if used.all():
        return _mapped(path), vocabulary
    place = (np.cumsum(used) - 1).astype(np.int32)
    with path.open("r+b") as file:
        while (codes := np.fromfile(file, dtype=np.int32, count=_RECODED_AT_ONCE)).size:
            file.seek(-codes.nbytes, os.SEEK_CUR)
            file.write(place[codes].data)
    return _mapped(path), vocabulary.take(np.flatnonzero(used))
