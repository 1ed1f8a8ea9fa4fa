"""One row per vote in a JSON array or a spreadsheet."""

from collections.abc import Iterator
from typing import Any

from faircrowd.errors import InputError
from faircrowd.votes.exports.answers import Answer, ExportFormat
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.frames import find_column

__all__ = ["TABLE"]

_TIMES = ("time", "timestamp", "created_at", "updated_at", "submitted_at")


def _recognises(export: ExportFile) -> bool:
    """Return whether this is a JSON array or a spreadsheet with the usual columns of votes."""
    return export.kind in ("json", "xlsx") and len(_roles(export)) == 3


def _roles(export: ExportFile) -> dict[str, str]:
    """Return the columns of task, worker and label that have their usual names."""
    found = {}
    names = list(dict.fromkeys(name for record in export.first for name in record))
    for role in ("task", "worker", "label"):
        try:
            found[role] = find_column(role, names)
        except InputError:  # none has it, or two do
            continue
    return found


def _answers(export: ExportFile) -> Iterator[Answer]:
    roles = _roles(export)
    task, worker, label = (roles.get(role) for role in ("task", "worker", "label"))
    times = next((name for name in _TIMES if name in export.columns), None)
    for row in export.records():
        taken = {name for name in (task, worker, label) if name is not None}
        yield Answer(
            _id(row.get(task)) if task else None,
            _id(row.get(worker)) if worker else None,
            {label: row.get(label)} if label else {},
            row.get(times) if times else None,
            {name: value for name, value in row.items() if name not in taken},
        )


def _id(value: Any) -> str | int | None:
    return value if value is None or isinstance(value, str | int) else str(value)


TABLE = ExportFormat(
    "records",
    "a table of votes",
    _recognises,
    _answers,
    "a JSON array of objects, or a spreadsheet, with the columns `task`, `worker` and `label`",
)
