"""Toloka: the TSV of a pool's assignments."""

import json
from collections.abc import Iterator

from faircrowd.errors import FileError
from faircrowd.votes.exports.answers import GOLDEN, Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["TOLOKA"]

_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_ITS_OWN = ("ASSIGNMENT:", "CONFIDENCE:")
_TASK, _WORKER, _STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
_TIMES = ("ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:started")
_NOT_DONE = {"REJECTED": "rejected", "SKIPPED": "skipped", "EXPIRED": "expired", "ACTIVE": "not submitted"}


def _recognises(export: ExportFile) -> bool:
    return any(name.startswith(_ITS_OWN) for name in export.columns)


def _answers(export: ExportFile) -> Iterator[Answer]:
    if not any(name.startswith((*_ITS_OWN, _INPUT, _OUTPUT)) for name in export.columns):
        raise FileError(
            f"{export.path} is no export of Toloka: no column begins with {_ITS_OWN[0]!r}, {_INPUT!r} or {_OUTPUT!r}; "
            "is format='toloka' right?"
        )
    if _WORKER not in export.columns:
        what = "aggregated results" if any(name.startswith("CONFIDENCE:") for name in export.columns) else "results"
        raise FileError(
            f"{export.path} holds {what} of Toloka without workers; download the assignments of the pool instead."
        )
    for row in export.records():
        inputs = {name: value for name, value in row.items() if name.startswith(_INPUT)}
        golden = _part(row, _GOLDEN)
        left_out = _NOT_DONE.get(str(row.get(_STATUS)).upper(), GOLDEN if golden else None)
        if all(value is None for value in row.values()):
            left_out = "blank line between assignments"
        yield Answer(
            row.get(_TASK) or _key(inputs),
            row.get(_WORKER),
            _part(row, _OUTPUT),
            next((row[name] for name in _TIMES if row.get(name)), None),
            inputs,
            golden,
            left_out,
        )


def _part(row: Record, prefix: str) -> dict[str, object]:
    """Return the columns of one kind that have a value, under the names of the outputs."""
    found = {name: value for name, value in row.items() if name.startswith(prefix) and value is not None}
    return {_OUTPUT + name.removeprefix(prefix): value for name, value in found.items()}


def _key(inputs: Record) -> str | None:
    """Return an id for a task that has none: all that it shows to workers."""
    given = {name.removeprefix(_INPUT): value for name, value in inputs.items() if value is not None}
    return json.dumps(given, ensure_ascii=False, sort_keys=True) if given else None


TOLOKA = ExportFormat(
    "toloka",
    "an export of Toloka",
    _recognises,
    _answers,
    "columns `ASSIGNMENT:...`, `INPUT:...` and `OUTPUT:...`",
    own_names={"ASSIGNMENT:task_id": "task", "ASSIGNMENT:worker_id": "worker"},
)
