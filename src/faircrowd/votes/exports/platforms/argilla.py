"""Argilla 2: records as flat columns (``to_list(flatten=True)``, ``to_datasets``), or as ``to_json`` writes them."""

from collections.abc import Iterator, Sequence
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id, scalars
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["ARGILLA"]

_RESPONSES, _USERS, _STATUS = ".responses", ".responses.users", ".responses.status"
_OF_RECORD = ("id", "status", "_server_id", "inserted_at", "updated_at")
_NOT_SENT = ("draft", "discarded")


def _recognises(export: ExportFile) -> bool:
    return export.kind in ("json", "jsonl", "parquet") and (_is_flat(export) or _is_nested(export))


def _is_flat(export: ExportFile) -> bool:
    return any(name.endswith(_USERS) for name in export.columns)


def _is_nested(export: ExportFile) -> bool:
    return {"responses", "_server_id"} <= export.columns


def _answers(export: ExportFile) -> Iterator[Answer]:
    of_record = _of_flat if _is_flat(export) else _of_nested
    for number, record in enumerate(export.records(), start=1):
        yield from of_record(record, f"{export.path}, record {number:,}")


def _of_flat(record: Record, where: str) -> Iterator[Answer]:
    """Yield the responses of a record; lists are side by side for one question, and differ between questions."""
    responses: dict[Any, tuple[dict[str, Any], Any]] = {}
    for name in record:
        if not name.endswith(_USERS):
            continue
        question = name.removesuffix(_USERS)
        lists = [record.get(f"{question}{end}") for end in (_RESPONSES, _USERS, _STATUS)]
        values, users, states = (one if isinstance(one, list) else [] for one in lists)
        if len(values) != len(users) or len(states) not in (0, len(users)):
            raise FileError(
                f"{where}: the question {question!r} has {len(values)} responses, {len(users)} users and {len(states)} "
                "states, which must be as many; export the records again."
            )
        for user, value, state in zip(users, values, states or [None] * len(users), strict=True):
            answers, _ = responses.setdefault(an_id(user), ({}, state))
            answers[question] = _value(value)
    facts = {
        name: value
        for name, value in record.items()
        if name not in _OF_RECORD and _RESPONSES not in name and ".suggestion" not in name
    }
    for user, (answers, state) in responses.items():
        left_out = str(state) if state in _NOT_SENT else None
        yield Answer(an_id(record.get("id")), user, answers, facts=facts, left_out=left_out)


def _of_nested(record: Record, where: str) -> Iterator[Answer]:
    responses: dict[Any, dict[str, Any]] = {}
    given = record.get("responses")
    for question, listed in given.items() if isinstance(given, dict) else ():
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict):
                responses.setdefault(an_id(one.get("user_id")), {})[question] = _value(one.get("value"))
    facts = {name: record[name] for name in ("metadata", "fields") if isinstance(record.get(name), dict)}
    for user, answers in responses.items():
        yield Answer(an_id(record.get("id")), user, answers, facts=facts)


def _value(value: Any) -> Any:
    """Return a response; a ranking or spans, which are lists of objects, are no classes."""
    if isinstance(value, list):
        return scalars(value)
    return value if isinstance(value, str | int | float | bool) else None


def _notes(export: ExportFile) -> Sequence[str]:
    if _is_flat(export):
        return []
    return [
        "WARNING: to_json of Argilla does not write the status of responses, so drafts and discarded responses are "
        "counted as votes; export with dataset.records.to_datasets() or to_list(flatten=True) instead"
    ]


ARGILLA = ExportFormat(
    "argilla",
    "records of Argilla",
    _recognises,
    _answers,
    "JSON, JSONL or Parquet with `<question>.responses.users`, or `to_json` with `responses` and `_server_id`",
    _notes,
    own_names={"id": "task", "user_id": "worker"},
)
