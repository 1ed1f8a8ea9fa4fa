"""Prodigy: the JSONL of ``db-out``, one line per decision.

Each task has the keys ``_input_hash``, ``_task_hash`` and ``answer`` (accept, reject or ignore). The interface
*choice* writes the options chosen in ``accept``; *classification* asks whether one ``label`` holds. The recipe
*review* writes the decisions that it merged in ``versions``.
"""

from collections.abc import Iterator
from typing import Any

from faircrowd.votes.exports.answer_values import an_id, only_option, scalars
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["PRODIGY"]

_OWN_SESSION = "faircrowd"
_NOT_FACTS = (
    "answer",
    "accept",
    "options",
    "label",
    "spans",
    "tokens",
    "config",
    "versions",
    "sessions",
    "image",
    "audio",
)


def _recognises(export: ExportFile) -> bool:
    return export.kind in ("json", "jsonl") and {"_input_hash", "answer"} <= export.columns


def _answers(export: ExportFile) -> Iterator[Answer]:
    for record in export.records():
        yield _of_record(record)


def _of_record(record: Record) -> Answer:
    decision, accepted, label = record.get("answer"), record.get("accept"), record.get("label")
    worker = record.get("_annotator_id") or record.get("_session_id")
    answers: dict[str, Any] = {}
    left_out = None
    if isinstance(accepted, list):
        answers = {"accept": scalars(accepted)}
        left_out = "rejected" if decision == "reject" else None
    elif isinstance(label, str):
        answers = {label: decision}
    elif "spans" in record or "relations" in record:
        left_out = "spans of text"
    else:
        answers = {"answer": decision}
    golden = {}
    if decision not in ("accept", "reject"):
        left_out = "ignored" if decision == "ignore" else "not answered"
    elif worker == _OWN_SESSION:
        left_out = "written back by faircrowd"
    elif isinstance(record.get("versions"), list) and left_out is None:
        left_out, golden = "review", {name: only_option(value) for name, value in answers.items()}
    facts = {name: value for name, value in record.items() if not str(name).startswith("_") and name not in _NOT_FACTS}
    return Answer(
        an_id(record.get("_input_hash")), an_id(worker), answers, record.get("_timestamp"), facts, golden, left_out
    )


PRODIGY = ExportFormat(
    "prodigy",
    "an export of Prodigy",
    _recognises,
    _answers,
    "JSONL with `_input_hash` and `answer`",
    own_names={"_input_hash": "task", "_annotator_id": "worker"},
)
