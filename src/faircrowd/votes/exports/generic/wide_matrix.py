"""A matrix with one row per task and one column per worker; blank cells are no votes.

A table of votes whose columns have unusual names can look like one. So a matrix is recognised only where nothing speaks
for a table of votes, and is else read as what users call it (``format="wide"``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from faircrowd.errors import FaircrowdError, FileError
from faircrowd.votes.exports.answers import Answer, ExportFormat
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.frames import ALIASES, has_role
from faircrowd.votes.readers.reader import Source

__all__ = ["WIDE", "may_be_matrix"]

_LEAST_WORKERS, _MOST_CLASSES, _LOOKED_AT = 3, 20, 1000
_TASKS = (*ALIASES["task"], "task_id", "id", "index", "")
_FACTS = ("truth", "true_label", "label", "gold", "golden", "agg_label", "majority")
"""Columns that look like workers, and are none."""
_PEOPLE = {
    *("worker", "annotator", "performer", "judge", "person", "user", "rater", "labeler", "labeller", "coder"),
    *("turker", "participant", "reviewer", "respondent", "evaluator", "expert"),
}
"""What the column of workers is called in tables of votes."""
_ID_WORDS = {"id", "ids", "name", "no", "nr", "number", "code", "key", "email"}

Row = Sequence[object]


@dataclass(frozen=True)
class _Layout:
    """Which columns of a matrix are what.

    Attributes
    ----------
    names : list of str
        The first row if it is a header, else the numbers of the columns.
    has_header : bool
    task : int or None
        The column of ids; without one, tasks are the numbers of the rows.
    workers, facts : list of int
    classes : set of str
        The values of the workers.
    """

    names: list[str]
    has_header: bool
    task: int | None
    workers: list[int]
    facts: list[int]
    classes: set[str]


def _layout(rows: Sequence[Row]) -> _Layout | None:
    """Find out which columns are workers: those whose values are the same few ones; None if there are no such."""
    width = max((len(row) for row in rows), default=0)
    columns = [[row[j] for row in rows[1:] if j < len(row) and row[j] is not None] for j in range(width)]
    values = [set(map(str, column)) for column in columns]
    small = [j for j in range(width) if 0 < len(values[j]) <= _MOST_CLASSES]
    if not small:
        return None
    commonest = Counter(value for j in small for value in values[j]).most_common(1)[0][0]
    alike = [j for j in small if commonest in values[j]]
    classes = set().union(*(values[j] for j in alike))
    first = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    first += [""] * (width - len(first))
    has_header = any(cell and cell not in classes for cell in first)
    names = first if has_header else [str(j + 1) for j in range(width)]
    folded = [name.casefold() for name in names]
    task = next((j for j in range(width) if has_header and folded[j] in _TASKS), None)
    if task is None and has_header and 0 not in alike and len(values[0]) == len(columns[0]) > 1:
        task = 0
    known = {j for j in range(width) if has_header and folded[j] in _FACTS} | ({task} if task is not None else set())
    workers = [j for j in range(width) if j not in known and (values[j] <= classes) and (values[j] or names[j])]
    facts = [j for j in range(width) if has_header and j not in workers and j != task and values[j]]
    is_matrix = len(workers) >= _LEAST_WORKERS and 2 <= len(classes) <= _MOST_CLASSES
    share = sum(len(values[j]) for j in workers) / max(1, len(workers) * len(classes))
    return _Layout(names, has_header, task, workers, facts, classes) if is_matrix and share > 0.2 else None


def _recognises(export: ExportFile) -> bool:
    rows = _first_rows(export)
    if len(rows) < 2 or _has_roles(rows[0]) or not export.named.isdisjoint(map(str, rows[0])):
        return False
    found = _layout(rows)
    if found is None or len(found.names) <= _LEAST_WORKERS or len(found.facts) > len(found.workers):
        return False
    return _is_plainly_headed(rows, found) if found.has_header else _is_plain(rows, found)


def may_be_matrix(source: Source) -> bool:
    """Return whether a table, which is not taken for a matrix of votes, could be one."""
    with suppress(FaircrowdError):
        rows = _first_rows(ExportFile(source.path, source.delimiter))
        return len(rows) > 1 and not _has_roles(rows[0]) and _layout(rows) is not None
    return False


def _first_rows(export: ExportFile) -> Sequence[Row]:
    if export.kind == "table":
        return export.first_cells(_LOOKED_AT)
    return list(islice(export.cells(), _LOOKED_AT)) if export.kind == "xlsx" else []


def _is_plainly_headed(rows: Sequence[Row], layout: _Layout) -> bool:
    """Return whether nothing in a table with a header says that one row is one vote."""
    folded = [name.casefold() for name in layout.names]
    if 0 < sum(map(_is_person, layout.names)) < _LEAST_WORKERS:
        return False
    if (layout.task is None or folded[layout.task] not in _TASKS) and all(
        layout.names[j] in layout.classes for j in layout.workers
    ):
        return False  # the first row holds votes
    facts = [j for j in layout.facts if folded[j] not in _FACTS]
    if layout.task is None:
        return not facts
    # One row is one task, so no task is there twice; what is there twice may be the task or the worker of a vote.
    return all(_is_distinct(rows[1:], j) for j in (layout.task, *facts))


def _is_plain(rows: Sequence[Row], layout: _Layout) -> bool:
    """Return whether a table without a header is a matrix: all columns hold the same values, or cells are blank."""
    cells = [[row[j] if j < len(row) else None for row in rows] for j in range(len(layout.names))]
    values = [{str(cell) for cell in column if cell is not None} for column in cells]
    if not all(known <= layout.classes for known in values):
        return False
    return any(None in column for column in cells) or all(known == layout.classes for known in values)


def _is_distinct(rows: Sequence[Row], j: int) -> bool:
    values = [row[j] for row in rows if j < len(row) and row[j] is not None]
    return len(set(values)) == len(values)


def _is_person(name: str) -> bool:
    """Return whether a column is called as that of the workers is in a table of votes.

    Examples
    --------
    >>> [_is_person(name) for name in ("person", "User ID", "crowdWorker", "rater_2", "user_gender")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    words = [word for word in words if word not in _ID_WORDS]
    return bool(words) and words[-1] in _PEOPLE


def _has_roles(first: Row) -> bool:
    """Return whether the first row names a worker or a label: one row is then one vote."""
    names = [str(cell) for cell in first if cell is not None]
    return any(has_role(role, names) for role in ("worker", "label"))


def _answers(export: ExportFile) -> Iterator[Answer]:
    layout = _layout(list(islice(export.cells(), _LOOKED_AT)))
    if layout is None:
        raise FileError(
            f"{export.path} is no matrix of votes: at least {_LEAST_WORKERS} columns with the same 2 to "
            f"{_MOST_CLASSES} values are needed, one per worker."
        )
    names = layout.names
    if again := [names[j] for j in layout.workers if [names[i] for i in layout.workers].count(names[j]) > 1]:
        raise FileError(f"{export.path}: {again[0]!r} is the name of several columns; give each worker one of its own.")
    for number, row in enumerate(islice(export.cells(), int(layout.has_header), None), start=1):
        cells = [*row, *([None] * (len(names) - len(row)))]
        task = number if layout.task is None else cells[layout.task]
        facts = {names[j]: cells[j] for j in layout.facts}
        for j in layout.workers:
            if cells[j] is not None:
                worker: str | int = names[j] if layout.has_header else j + 1
                yield Answer(
                    task if isinstance(task, str | int) else str(task), worker, {"label": cells[j]}, facts=facts
                )


WIDE = ExportFormat(
    "wide",
    "a matrix with one row per task and one column per worker",
    _recognises,
    _answers,
    "several columns with the same few values, one per worker, with or without a header",
)
