"""Labelbox: the NDJSON of an export of a project, one line per data row with all its labels.

A radio question has ``radio_answer``, a checklist ``checklist_answers``, a text ``text_answer``; questions inside an
answer are in its ``classifications``. Where a data row is a benchmark, the other labels name the benchmark label in
``performance_details.benchmark_reference_label``.
"""

from collections.abc import Iterator
from typing import Any

from faircrowd.votes.exports.answer_values import an_id, only_option
from faircrowd.votes.exports.answers import Answer, ExportFormat, FreeText, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LABELBOX"]

_DEEPEST = 10
_OF_ROW = ("id", "global_key", "external_id", "row_data")


def _recognises(export: ExportFile) -> bool:
    return export.kind in ("json", "jsonl", "object") and {"data_row", "projects"} <= export.columns


def _answers(export: ExportFile) -> Iterator[Answer]:
    for record in export.records() if export.kind != "object" else [export.whole]:
        yield from _of_record(record)


def _of_record(record: Record) -> Iterator[Answer]:
    row = _object(record.get("data_row"))
    facts = {"data_row": {name: _without_query(row[name]) for name in _OF_ROW if name in row}, **_metadata(record)}
    task = an_id(row.get("id", row.get("global_key")))
    for project in _object(record.get("projects")).values():
        labels = [one for one in _list(_object(project).get("labels")) if isinstance(one, dict)]
        named = [_object(one.get("performance_details")).get("benchmark_reference_label") for one in labels]
        benchmarks = {an_id(one) for one in named if one is not None}
        for one in labels:
            yield _of_label(task, one, facts, an_id(one.get("id")) in benchmarks)


def _of_label(task: str | int | None, label: Record, facts: Record, is_benchmark: bool) -> Answer:
    details = _object(label.get("label_details"))
    answers = _classified(_object(label.get("annotations")).get("classifications"), "", 1)
    left_out = None
    if _object(label.get("performance_details")).get("skipped"):
        left_out = "skipped"
    elif is_benchmark:
        left_out = "benchmark"
    elif not answers:
        left_out = "empty"
    golden = {name: only_option(value) for name, value in answers.items()} if is_benchmark else {}
    time = details.get("content_last_updated_at") or details.get("updated_at") or details.get("created_at")
    return Answer(task, an_id(details.get("created_by")), answers, time, facts, golden, left_out)


def _classified(given: object, prefix: str, depth: int) -> dict[str, Any]:
    """Return the answers to questions and to those inside their answers, whose names follow a dot."""
    found: dict[str, Any] = {}
    for one in _list(given):
        question = _object(one)
        name = f"{prefix}{question.get('name') or question.get('value')}"
        radio, text = _object(question.get("radio_answer")), _object(question.get("text_answer"))
        checked = [_object(option) for option in _list(question.get("checklist_answers"))]
        if radio:
            found[name] = _name(radio)
        elif "checklist_answers" in question:
            found[name] = [_name(option) for option in checked]
        elif text:
            found[name] = FreeText(text.get("content"))
        for inner in (radio, *checked):
            if depth < _DEEPEST:
                found |= _classified(inner.get("classifications"), f"{name}.", depth + 1)
    return found


def _name(option: Record) -> Any:
    value = option.get("value") or option.get("name")
    return value if isinstance(value, str | int | float) else None


def _metadata(record: Record) -> dict[str, Any]:
    fields = [_object(one) for one in _list(record.get("metadata_fields"))]
    named = {str(one.get("schema_name") or one.get("name")): one.get("value") for one in fields}
    plain = {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in named.items()}
    return {"metadata_fields": plain} if plain else {}


def _without_query(value: object) -> object:
    """Return an address without its query, which may hold a signature."""
    is_address = isinstance(value, str) and value.startswith(("http://", "https://"))
    return str(value).split("?", 1)[0] if is_address else value


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


LABELBOX = ExportFormat(
    "labelbox",
    "an export of Labelbox",
    _recognises,
    _answers,
    "NDJSON with `data_row` and `projects`",
)
