"""Label Studio: JSON (also of versions before 1.0), JSON_MIN, CSV and TSV."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from faircrowd.votes.exports.answer_values import ROWS_FOR_QUESTIONS, as_json, scalars, varying_columns
from faircrowd.votes.exports.answers import Answer, ExportFormat, FreeText, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LABEL_STUDIO", "OWN_RESULT", "answer_of_annotation", "listed_objects"]

OWN_RESULT = "faircrowd"
"""How the ids of results begin that faircrowd wrote back: they are no votes, and no known labels either."""
_OF_ANNOTATION = frozenset(
    {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "annotation_agreement"}
)
"""Columns of the short forms that are neither questions nor data."""
_LISTS = ("annotations", "completions")
_IN_WORDS = "textarea"


def _recognises(export: ExportFile) -> bool:
    if {"annotation_id", "annotator"} <= export.columns:
        return True
    return export.kind in ("json", "jsonl") and any(
        isinstance(found, list) and all(isinstance(one, dict) and "result" in one for one in found)
        for record in export.first
        if "id" in record
        for found in (record.get(name) for name in _LISTS)
    )


def _answers(export: ExportFile) -> Iterator[Answer]:
    if {"annotation_id", "annotator"} <= export.columns:
        yield from _of_rows(export)
    else:
        for task in export.records():
            yield from _of_task(task)


def _of_task(task: Record) -> Iterator[Answer]:
    """Yield the annotations of a task of the JSON form."""
    facts = {name: task[name] for name in ("data", "meta") if isinstance(task.get(name), dict)}
    for name in _LISTS:
        for annotation in listed_objects(task.get(name)):
            yield answer_of_annotation(task.get("id"), annotation, facts)
    for draft in task.get("drafts") or ():
        yield Answer(task.get("id"), None, left_out="draft" if isinstance(draft, dict) else "draft (an id alone)")


def listed_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; none of anything else.

    Examples
    --------
    >>> listed_objects([{"id": 1}, 7]), listed_objects(7)
    ([{'id': 1}], [])
    """
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def answer_of_annotation(task: Any, annotation: Record, facts: Record) -> Answer:
    """Return what an annotation of a task says, or why it is no vote."""
    results = listed_objects(annotation.get("result"))
    answers = _of_results(results)
    golden: Record = {}
    left_out = None
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        left_out = "skipped"
    elif any(str(one.get("id", "")).startswith(OWN_RESULT) for one in results) or (
        annotation.get("ground_truth") and OWN_RESULT in facts.get("meta", {})
    ):  # what we wrote is neither a vote nor a known label to learn from
        left_out = "written back by faircrowd"
    elif annotation.get("ground_truth"):
        left_out, golden = "ground truth, or labels that were written back", answers
    elif annotation.get("last_action") == "rejected":
        left_out = "rejected"
    elif not results:
        left_out = "empty"
    return Answer(
        task,
        _worker(annotation.get("completed_by")),
        answers,
        annotation.get("updated_at") or annotation.get("created_at"),
        facts,
        golden,
        left_out,
    )


def _worker(given: object) -> str | int | None:
    """Return the id of a worker, which is a number or an object with it."""
    if isinstance(given, dict):
        found = given.get("id", given.get("email"))
        return found if isinstance(found, str | int) else None
    return given if isinstance(given, str | int) else None


def _of_results(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers by question; regions of one question (boxes, spans) are several answers."""
    found: dict[str, list[Any]] = {}
    texts = set()
    for result in results:
        name, value = result.get("from_name"), result.get("value")
        if not isinstance(name, str) or not isinstance(value, dict):
            continue
        kind = str(result.get("type"))
        given = value.get(kind, value.get("text") if kind == _IN_WORDS else None)
        if given is None and kind != _IN_WORDS:
            given = next(
                (value[key] for key in ("choices", "rating", "number", "taxonomy", "labels") if key in value), None
            )
        if kind == _IN_WORDS:
            texts.add(name)
        found.setdefault(name, []).extend(given if isinstance(given, list) else [given])
    return {name: _answer(values, is_text=name in texts) for name, values in found.items()}


def _answer(values: list[Any], *, is_text: bool) -> Any:
    plain = scalars(
        " / ".join(map(str, one)) if isinstance(one, list) else one for one in values
    )  # paths of a taxonomy
    if is_text:
        return FreeText("\n".join(map(str, plain))) if plain else None
    return plain


def _of_rows(export: ExportFile) -> Iterator[Answer]:
    """Yield the rows of the short forms, in which questions and data are columns side by side.

    A data column that is called like another is ``_data_x``.
    """
    questions = _questions(export)
    for row in export.records():
        answers = {name: _plain(row.get(name)) for name in questions}
        data = {
            name.removeprefix("_data_"): value
            for name, value in row.items()
            if name not in questions and name not in _OF_ANNOTATION
        }
        is_empty = bool(questions) and all(value in (None, []) for value in answers.values())
        yield Answer(
            row.get("id"),
            _worker(row.get("annotator")),
            answers,
            row.get("updated_at") or row.get("created_at"),
            {"data": data},
            left_out="empty" if is_empty else None,
        )


def _questions(export: ExportFile) -> list[str]:
    """Return which columns are questions; no file says it.

    JSON_MIN has them between ``id`` and ``annotator``. In text, those are questions that differ between the annotations
    of a task.
    """
    if export.kind in ("json", "jsonl"):
        found: dict[str, None] = {}
        for row in islice(export.records(), ROWS_FOR_QUESTIONS):
            names = list(row)
            found |= dict.fromkeys(names[names.index("id") + 1 : names.index("annotator")] if "id" in row else ())
        return [name for name in found if name not in _OF_ANNOTATION]
    varying = varying_columns(export.records(), "id")
    return [name for name in varying if name not in _OF_ANNOTATION and not name.startswith("_data_")]


def _plain(value: object) -> Any:
    """Return an answer of the short forms: a text, or JSON such as ``{"choices": [..]}`` or ``[{"rating": 3}]``."""
    value = as_json(value)
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return list(value["choices"])
    if isinstance(value, list):
        return scalars(one["rating"] if isinstance(one, dict) and "rating" in one else one for one in value)
    return value


LABEL_STUDIO = ExportFormat(
    "label-studio",
    "an export of Label Studio",
    _recognises,
    _answers,
    "JSON with `annotations` (or `completions`); JSON_MIN, CSV and TSV with `annotation_id` and `annotator`",
    own_names={"id": "task", "annotator": "worker"},
)
