"""An export of a platform as plain tables: votes, tasks with what the export knows about them, and known labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.runs.how_to_repeat import how_to_calibrate, how_to_convert
from faircrowd.runs.options import ReadOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.write import check_out
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.votes import Vocabulary, VotesReport, VoteTable, read_votes
from faircrowd.votes.encode import encode
from faircrowd.votes.exports import open_votes
from faircrowd.votes.exports.answers import GOLDEN
from faircrowd.votes.exports.questions import AnswerOptions
from faircrowd.votes.facts import from_table
from faircrowd.votes.groups import value_of_each
from faircrowd.votes.read import find_roles
from faircrowd.votes.readers import Source
from faircrowd.votes.vocabulary import Codes

__all__ = ["Converted", "convert", "votes_and_facts"]

_FILES = ("votes.csv", "tasks.csv", "gold.csv", "account.json")


@dataclass(frozen=True, eq=False)
class Converted:
    """An export as plain tables.

    Attributes
    ----------
    read : ReadOptions
        How it is read.
    source : Source
        The export.
    table : VoteTable
        The votes.
    tasks : pyarrow.Table
        One row per task: ``task``, facts under dotted names, and ``golden`` where there are known labels.
    gold : pyarrow.Table or None
        ``task`` and ``label`` of all tasks whose label is known, also of those without votes.
    notes : tuple of str
        What is to be known besides the account of the rows.
    """

    read: ReadOptions
    source: Source
    table: VoteTable
    tasks: pa.Table
    gold: pa.Table | None
    notes: tuple[str, ...]

    @property
    def votes(self) -> pa.Table:
        """One row per vote: ``task``, ``worker``, ``label``."""
        return _vote_rows(self.table)

    def to_dict(self) -> dict[str, Any]:
        """Return the account of the rows as plain values, ready for JSON."""
        table = self.table
        return {
            "export": str(self.source.path),
            "format": self.source.reader.name,
            "votes": table.n_votes,
            "tasks": table.n_tasks,
            "workers": table.n_workers,
            "classes": list(table.classes.names),
            "facts": [name for name in self.tasks.column_names if name not in ("task", GOLDEN)],
            "golden_tasks": 0 if self.gold is None else self.gold.num_rows,
            "rows": table.report.to_dict(),
            "notes": self.all_notes(),
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return the numbers as pairs of a heading and a text."""
        table = self.table
        found = [
            ("votes", f"{table.n_votes:,} of {table.n_workers:,} workers on {table.n_tasks:,} tasks"),
            ("labels", few(table.classes.to_list()[:12], table.n_classes)),
            ("facts", few([name for name in self.tasks.column_names if name != "task"], limit=12) or "none"),
        ]
        return [*found, *([("gold", f"{self.gold.num_rows:,} known labels")] if self.gold is not None else [])]

    def all_notes(self) -> list[str]:
        """Return what a reader should know."""
        return [*self.table.notes(), *self.notes]

    def how_to_learn(self, folder: Path) -> str:
        """Return how known labels are used, with the command; empty if there are none."""
        if self.gold is None:
            return ""
        command = how_to_calibrate(folder / "votes.csv", folder / "tasks.csv", GOLDEN)
        if GOLDEN in self.tasks.column_names:
            return f"learn from the known labels, which are also in the column {GOLDEN} of tasks.csv: {command}"
        first = how_to_convert(replace(self.read, keep_golden=True), folder)
        return f"the votes on these tasks are left out; to learn from them: {first} && {command}"

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write votes.csv, tasks.csv, gold.csv where there are known labels, and account.json; return their names."""
        check_out(folder, _FILES, (self.source.path,))
        with OutputFolder(folder) as out:
            out.forget(*_FILES)
            out.write_csv("votes.csv", self.votes)
            out.write_csv("tasks.csv", self.tasks)
            if self.gold is not None:
                out.write_csv("gold.csv", self.gold)
            out.write_json("account.json", self.to_dict())
            return tuple(out.names)


def convert(read: ReadOptions, progress: Progress = QUIET) -> Converted:
    """Read an export as plain tables.

    Parameters
    ----------
    read : ReadOptions
        The export, and how it is read.

    Raises
    ------
    InputError
        If it is a table of votes already.
    """
    source = read.votes_table
    if not isinstance(source, Source):
        if source is not None:
            open_votes(source, format=read.format, delimiter=read.delimiter)  # raises if it is no table either
        raise InputError(f"{read.votes} is a table of votes, not an export of a platform; there is nothing to convert.")
    with progress.waiting(f"reading {read.votes}"):
        table = read_votes(source, **read.arguments)
        named = {"task": read.task, "worker": read.worker, "label": read.label}
        roles = find_roles(source, named, str(source.path))
        key = roles["task"]
        facts = [name for name in source.fact_names() if name not in roles.values()]
        columns: dict[str, pa.Array] = {"task": _values(table.tasks)}
        notes, unsteady = [], []
        in_export = source.columns([key, *facts])
        for name in facts:
            codes, values, several = value_of_each(table.tasks, in_export[key], in_export.pop(name))
            if several.size:
                unsteady.append(name)
            else:
                columns[name] = _taken(values, codes)
        if unsteady:
            notes.append(
                f"left out of tasks.csv, as they differ between the answers to a task: {few(unsteady, limit=12)}"
            )
        gold = _gold(source, key)
        if gold is not None:
            place = Vocabulary(gold["task"].combine_chunks()).code_of(table.tasks.values)
            if (place >= 0).any():
                columns[GOLDEN] = gold["label"].combine_chunks().take(pa.array(place, mask=place < 0))
    return Converted(read, source, table, pa.table(columns), gold, tuple(notes))


def _vote_rows(table: VoteTable) -> pa.Table:
    """Return votes as a table with one row per vote: ``task``, ``worker``, ``label``."""
    codes = {
        "task": (table.tasks, _task_of_each_vote(table)),
        "worker": (table.workers, table.worker),
        "label": (table.classes, table.label),
    }
    return pa.table({name: _taken(values, code) for name, (values, code) in codes.items()})


def _task_of_each_vote(table: VoteTable) -> Codes:
    return np.repeat(np.arange(table.n_tasks, dtype=np.int32), table.votes_per_task)


def votes_and_facts(source: Source, read: ReadOptions, names: Sequence[str]) -> tuple[pa.Table, VotesReport]:
    """Return the votes of an export as a table, with some of its columns beside them, and the account of its rows.

    Parameters
    ----------
    names : sequence of str
        Columns of the export, as users name them; those of the table are called so.
    """
    table = read_votes(source, **read.arguments)
    rows, task = _vote_rows(table), _task_of_each_vote(table)
    for name in dict.fromkeys(names):
        key, (column,) = from_table(source, read.task, [name], str(source.path), None)
        codes, values, several = value_of_each(table.tasks, key, column)
        if several.size:
            raise InputError(f"{source.path}: some tasks have more than one {name!r}.")
        rows = rows.append_column(name, _taken(values, codes[task]))
    return rows, table.report


def _values(vocabulary: Vocabulary) -> pa.Array:
    """Return values as Arrow; those of mixed types as their names."""
    return pa.array(vocabulary.names) if vocabulary.is_mixed else vocabulary.values


def _taken(vocabulary: Vocabulary, codes: Codes | NDArray[np.intp]) -> pa.Array:
    """Return the value of each code; null for -1."""
    return _values(vocabulary).take(pa.array(codes, mask=codes < 0))


def _gold(source: Source, key: str) -> pa.Table | None:
    """Return the known labels, one row per task; None if there are none."""
    if GOLDEN not in source.header():
        return None
    all_rows = replace(source, answers=replace(source.answers or AnswerOptions(), keep_golden=True))
    read = all_rows.columns([key, GOLDEN])
    tasks = encode(read[key])[1]
    codes, labels, _ = value_of_each(tasks, read[key], read[GOLDEN])
    known = np.flatnonzero(codes >= 0)
    if not known.size:
        return None
    return pa.table({"task": _taken(tasks, known), "label": _taken(labels, codes[known])})
