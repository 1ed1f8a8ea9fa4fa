"""One record per task with lists side by side: who answered, and what; as in many data sets of Hugging Face."""

import re
from collections.abc import Iterator
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LISTS"]

_WORKERS = re.compile(
    r"([^.]*[_ ])?(annotator|worker|rater|coder|judge|user|performer|participant)(_?ids?)?s?", re.IGNORECASE
)
_TASKS = ("task", "task_id", "item", "item_id", "id", "uid", "_id", "idx", "index", "question_id")


def _recognises(export: ExportFile) -> bool:
    return export.kind in ("json", "jsonl", "parquet") and bool(_lists(export)[1])


def _lists(export: ExportFile) -> tuple[str | None, list[str]]:
    """Return the column of workers and those of answers: lists as long as theirs in every one of the first records."""
    records = export.first
    lists = {name for record in records for name, value in record.items() if _is_list(value)}
    lists = {name for name in lists if all(_is_list(record.get(name)) for record in records)}
    for worker in sorted(name for name in lists if _WORKERS.fullmatch(name)):
        people = [record[worker] for record in records]
        if not any(people) or any(len(set(map(str, one))) < len(one) for one in people):
            continue
        answers = [
            name
            for record in records[:1]
            for name in record
            if name in lists and name != worker and all(len(one[name]) == len(one[worker]) for one in records)
        ]
        if answers:
            return worker, answers
    return None, []


def _is_list(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)


def _answers(export: ExportFile) -> Iterator[Answer]:
    worker, questions = _lists(export)
    if worker is None:
        raise FileError(
            f"{export.path}: no column of lists is called like workers (annotators, worker_ids, ...) with another list "
            f"of the same length beside it; the columns are {few(sorted(export.columns))}."
        )
    task = next((name for name in _TASKS if name in export.columns), None)
    for number, record in enumerate(export.records(), start=1):
        facts = {name: value for name, value in record.items() if name not in (task, worker, *questions)}
        people = _list_in(record, worker, number, export)
        given = {name: _list_in(record, name, number, export) for name in questions}
        if wrong := [name for name, values in given.items() if len(values) != len(people)]:
            raise FileError(
                f"{export.path}, record {number:,}: {wrong[0]!r} has {len(given[wrong[0]])} values and {worker!r} has "
                f"{len(people)}; each worker needs one."
            )
        for place, one in enumerate(people):
            answers = {name: values[place] for name, values in given.items()}
            yield Answer(an_id(record.get(task)) if task else number, an_id(one), answers, facts=facts)


def _list_in(record: Record, name: str, number: int, export: ExportFile) -> list[Any]:
    value = record.get(name)
    if value is None:
        return []
    if not _is_list(value):
        raise FileError(
            f"{export.path}, record {number:,}: {name!r} is no list of plain values, as in the first records."
        )
    return list(value)


LISTS = ExportFormat(
    "lists",
    "records with lists of workers and answers",
    _recognises,
    _answers,
    "JSON, JSONL or Parquet with a list of workers (`annotators`, ...) and lists of answers of the same length",
)
