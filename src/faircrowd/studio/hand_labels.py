"""Known labels: entered by hand (tasks drawn at random, one key per label) or from a file, kept as a table of tasks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.runs.options import ReadOptions
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.studio.data_overview import USUAL_TRUTH, read_table, read_texts
from faircrowd.votes import Vocabulary
from faircrowd.votes.facts import task_columns
from faircrowd.votes.groups import value_of_each
from faircrowd.votes.readers import open_source

__all__ = ["KNOWN", "draw_tasks", "read_known", "write_known"]

KNOWN = "known_label"
"""The column of labels entered by hand."""
_LONGEST_TEXT = 4000


def draw_tasks(read: ReadOptions, number: int, column: str | None, seed: int) -> dict[str, Any]:
    """Draw tasks at random for a person to label: each is equally likely, whatever its votes.

    Returns
    -------
    dict
        ``tasks`` (a list of ``task`` and ``text``), and ``classes``.
    """
    table = read_table(read)
    number = min(number, table.n_tasks)
    rows = np.random.default_rng(seed).choice(table.n_tasks, size=number, replace=False)
    names = [table.tasks.names[row] for row in rows]
    texts: list[str | None] = [None] * number
    if column is not None:
        texts = read_texts(read, column, Vocabulary(table.tasks.values.take(pa.array(rows))))
    return {
        "tasks": [
            {"task": name, "text": None if text is None else text[:_LONGEST_TEXT]}
            for name, text in zip(names, texts, strict=True)
        ],
        "classes": list(table.classes.names),
    }


def read_known(read: ReadOptions, path: Path) -> dict[str, str]:
    """Return the known label of each task that a file has one for.

    Tasks of other data are left out; a label that no vote has is an error of :func:`write_known`.

    Raises
    ------
    InputError
        If the file has no column of tasks or not one column of labels, or none of these tasks.
    """
    source = open_source(path, delimiter=read.delimiter)
    header, table = source.header(), read_table(read)
    key = read.task if read.task in header else next(iter(task_columns(header)), None)
    if key is None:
        raise InputError(f"{path.name} has no column of tasks; its columns are {few(header)}.")
    others = [name for name in header if name != key]
    likely = [name for name in others if USUAL_TRUTH.search(name) or name == read.label or name.lower() == "label"]
    if len(others) != 1 and len(likely) != 1:
        raise InputError(f"{path.name} must have one column of labels beside {key}; its columns are {few(header)}.")
    column = others[0] if len(others) == 1 else likely[0]
    found = source.columns([key, column])
    codes, values, several = value_of_each(table.tasks, found[key], found[column])
    if several.size:
        raise InputError(f"{path.name} has several labels in {column} for {table.tasks.names[several[0]]!r}; give one.")
    known = {table.tasks.names[task]: values.names[code] for task, code in enumerate(codes) if code >= 0}
    if not known:
        raise InputError(f"{path.name} knows the label of none of these tasks.")
    return known


def write_known(read: ReadOptions, known: Mapping[str, str], path: Path) -> int:
    """Write the tasks, with what is known about them and a column of labels entered by hand; return how many there are.

    Parameters
    ----------
    known : mapping of str to str
        The label of each task that was labelled, by the task's name.
    """
    table = read_table(read)
    of_task = {name: row for row, name in enumerate(table.tasks.names)}
    wrong = [task for task in known if task not in of_task] or [
        label for label in known.values() if label not in table.classes.names
    ]
    if wrong:
        raise InputError(f"{wrong[0]!r} is neither a task nor a label of these votes.")
    labels: list[str | None] = [None] * table.n_tasks
    for task, label in known.items():
        labels[of_task[task]] = label
    columns: dict[str, Any] = {"task": pa.array(list(table.tasks.names))}
    if read.tasks is not None:
        source = open_source(read.tasks, delimiter=read.delimiter)
        header = source.header()
        key = read.task if read.task in header else next(iter(task_columns(header)), None)
        if key is not None:
            found = source.columns(header)
            for name in header:
                if name not in (key, KNOWN, "task"):
                    codes, values, _ = value_of_each(table.tasks, found[key], found[name])
                    columns[name] = pa.array([values.names[code] if code >= 0 else None for code in codes])
    columns[KNOWN] = pa.array(labels, pa.string())
    with OutputFolder(path.parent) as folder:
        folder.write_csv(path.name, pa.table(columns))
    return sum(label is not None for label in labels)
