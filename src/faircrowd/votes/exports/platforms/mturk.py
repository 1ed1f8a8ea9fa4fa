"""Amazon Mechanical Turk: the results of a batch as CSV, one row per assignment.

The column ``AssignmentStatus`` is ``Submitted``, ``Approved`` or ``Rejected``. Checkboxes of one name arrive joined
by a bar; a form of crowd elements as a list of JSON in ``Answer.taskAnswers``.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from faircrowd.votes.exports.answer_values import an_id, as_json, has_answer, is_yes, plain_options
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.crowd_form import form_answers

__all__ = ["MTURK"]

_INPUT, _ANSWER, _FORM = "Input.", "Answer.", "Answer.taskAnswers"
_TRUTH_VALUES = ("true", "false", None)


def _recognises(export: ExportFile) -> bool:
    return {"HITId", "WorkerId"} <= export.columns


def _answers(export: ExportFile) -> Iterator[Answer]:
    options = _option_columns(export)
    for row in export.records():
        answers = _of_row(row, options)
        left_out = None
        if str(row.get("AssignmentStatus")).strip().casefold() == "rejected" or row.get("RejectionTime"):
            left_out = "rejected"
        elif not has_answer(answers):
            left_out = "not answered"
        yield Answer(
            an_id(row.get("HITId")),
            an_id(row.get("WorkerId")),
            answers,
            row.get("SubmitTime"),
            _inputs(row),
            left_out=left_out,
        )


def _inputs(row: Record) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name.startswith(_INPUT)}


def _of_row(row: Record, options: dict[str, str]) -> dict[str, Any]:
    """Return the answers of a row; columns of options are one question."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if not name.startswith(_ANSWER):
            continue
        if name == _FORM:
            form = as_json(value)
            form = form[0] if isinstance(form, list) and form else form
            found |= form_answers(form, _ANSWER) if isinstance(form, dict) else {}
        elif name in options:
            question = options[name]
            found.setdefault(question, [])
            if is_yes(value):
                found[question].append(name.removeprefix(f"{question}."))
        else:
            found[name] = plain_options(value, "|")
    return found


def _option_columns(export: ExportFile) -> dict[str, str]:
    """Return the columns that are options, such as ``Answer.sure.yes``, with their questions: all are true or false."""
    candidates: dict[str, list[str]] = {}
    for name in export.columns:
        question, dot, _ = name.removeprefix(_ANSWER).rpartition(".")
        if name.startswith(_ANSWER) and dot:
            candidates.setdefault(_ANSWER + question, []).append(name)
    groups = {question: names for question, names in candidates.items() if len(names) > 1}
    if not groups:
        return {}
    others: set[str] = set()
    for row in export.records():
        for names in groups.values():
            cells = (row.get(name) for name in names)
            others.update(
                name
                for name, cell in zip(names, cells, strict=True)
                if (None if cell is None else str(cell).strip().casefold()) not in _TRUTH_VALUES
            )
    return {name: question for question, names in groups.items() if not others & set(names) for name in names}


def _notes(export: ExportFile) -> Sequence[str]:
    shown: dict[str, set[object]] = {}
    for row in export.records():
        inputs = _inputs(row)
        if inputs:
            shown.setdefault(json.dumps(inputs, sort_keys=True, default=str), set()).add(row.get("HITId"))
    again = sum(len(hits) - 1 for hits in shown.values())
    if not again or len(shown) < 2:
        return []
    return [
        f"{again:,} HITs show the same inputs as another HIT, as HITs that were posted again do; if they are the same "
        "task, name a column that tells tasks apart, such as task='Input.id'"
    ]


MTURK = ExportFormat(
    "mturk",
    "results of a batch of Mechanical Turk",
    _recognises,
    _answers,
    "CSV with `HITId`, `WorkerId`, `Input.*` and `Answer.*`",
    _notes,
    own_names={"HITId": "task", "WorkerId": "worker"},
)
