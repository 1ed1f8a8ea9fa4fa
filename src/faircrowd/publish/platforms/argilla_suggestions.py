"""Argilla: suggestions for the records of a dataset."""

import re
from typing import Any

from faircrowd.errors import InputError, OptionError
from faircrowd.publish.finished_labels import FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, Item, PlatformForm, as_json, by_id, needed_export
from faircrowd.publish.push.argilla_push import argilla_headers, plan_suggestions
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.argilla import ARGILLA

__all__ = ["ARGILLA_SUGGESTIONS"]

_USERS = ".responses.users"
_OF_RECORD = ("id", "status", "_server_id")


def _agent_name(version: str) -> str:
    """Return the version of a model as Argilla allows agents to be called: letters, digits, ``-_:./`` and blanks.

    Examples
    --------
    >>> _agent_name("faircrowd eps=0.05")
    'faircrowd eps:0.05'
    """
    return re.sub(r"[^A-Za-z0-9_:./\s-]+", "_", version.replace("=", ":"))[:200]


def _questions(record: Record) -> list[str]:
    found = record.get("responses")
    named = list(found) if isinstance(found, dict) else []
    return named or [name.removesuffix(_USERS) for name in record if name.endswith(_USERS)]


def _value(options: list[str], is_set: bool, answers: Any) -> Any:
    """Return a label as the question has its answers: a text, a number or a list."""
    first = answers[0] if isinstance(answers, list) and answers else answers
    first = first.get("value") if isinstance(first, dict) else first
    if is_set or isinstance(first, list):
        return options
    if isinstance(first, int) and not isinstance(first, bool):
        try:
            return int(options[0])
        except ValueError:
            raise InputError(f"{options[0]!r} is no whole number, as the answers in the export are.") from None
    return options[0]


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    labels.refuse_made_labels("Argilla")
    found = needed_export(export, "Argilla", "the records' fields")
    records = by_id(found.records(), "id")
    labels = labels.named(records, ARGILLA)
    known = list(dict.fromkeys(name for record in records.values() for name in _questions(record)))
    question = options.question or labels.question or (known[0] if len(known) == 1 else None)
    if question is None or question not in known:
        raise OptionError(
            f"{found.path} has answers to {', '.join(known) or 'no question'}; name the one that the labels answer "
            "with question=..."
        )
    is_flat = not any(isinstance(record.get("responses"), dict) for record in records.values())
    answers = next((one for record in records.values() if (one := _answers(record, question))), None)
    agent = _agent_name(labels.model_version)
    items = []
    for one in labels.labels:
        value = _value(labels.options(one.label), labels.has_sets, answers)
        suggestion = {"value": value, "score": one.score, "agent": agent}
        items.append(_item(records[one.task], question, suggestion, is_flat))
    mapping = {f"{question}.{part}": f"{question}.suggestion.{part}" for part in ("score", "agent")}
    how = f"dataset.records.log(json.load(open(FILE)), mapping={mapping}) imports it as suggestions"
    return Form(items, as_json(items), question, how=how if is_flat else "")


def _answers(record: Record, question: str) -> Any:
    found = record.get("responses")
    return found.get(question) if isinstance(found, dict) else record.get(f"{question}.responses")


def _item(record: Record, question: str, suggestion: Item, is_flat: bool) -> Item:
    """Return a record with a suggestion and without responses, which Argilla keeps as they are."""
    if not is_flat:
        kept = {name: record.get(name) for name in ("id", "fields", "metadata", "_server_id") if record.get(name)}
        return {**kept, "suggestions": {question: suggestion}, "responses": {}}
    plain = {
        name: value
        for name, value in record.items()
        if name not in _OF_RECORD and ".responses" not in name and ".suggestion" not in name and value is not None
    }
    more = {f"{question}.{part}": suggestion[part] for part in ("score", "agent")}
    return {"id": record["id"], **plain, question: suggestion["value"], **more}


ARGILLA_SUGGESTIONS = PlatformForm(
    "argilla",
    "Argilla",
    ".json",
    _fill,
    "dataset.records.from_json(FILE) imports it as suggestions; or let push=... do so",
    plan_suggestions,
    argilla_headers,
)
