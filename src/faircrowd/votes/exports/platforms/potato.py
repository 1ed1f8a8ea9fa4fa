"""Potato: the CSV, TSV and JSONL of its exporter, or the folder of ``user_state.json`` files that it keeps.

A row is what one user said about one instance. The exporter writes a column ``schema.label`` per option, JSONL an
object ``labels`` of schemas, options and values; ``user_state.json`` a list of pairs of an object with ``schema`` and
``name`` and of a value. The value of an option that was chosen is a mark (``True``, ``on``), the option itself, or
its key; that of a slider, a number or a menu is the answer.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from faircrowd._checks import few
from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id, has_answer
from faircrowd.votes.exports.answers import Answer, ExportFormat, FreeText, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.frames import ALIASES

__all__ = ["POTATO"]

_STATE = re.compile(r"(?:.*/)?([^/]+)/user_state\.json")
_TEXTS = frozenset({"text_box", "text_area", "textarea", "text", "free_response"})
"""Options that hold words."""
_CHOSEN, _NOT_CHOSEN = frozenset({"true", "on"}), frozenset({"false", "off", ""})
_NOT_ANSWERS = ("._spans", "._room", "._room_id")
_OF_USER = ("instance_id", "user_id", "annotator_origin")
_ENOUGH = 2
"""How many values of an option are looked at."""

Labels: TypeAlias = dict[str, dict[str, Any]]


def _recognises(export: ExportFile) -> bool:
    if export.holds_files:
        return any(_STATE.fullmatch(name) for name in export.members)
    if not {"instance_id", "user_id"} <= export.columns:
        return False
    if export.kind in ("json", "jsonl"):
        return any(isinstance(record.get("labels"), dict) for record in export.first)
    return any("." in name for name in export.columns) and not export.columns & set(ALIASES["label"])


def _answers(export: ExportFile) -> Iterator[Answer]:
    values: dict[tuple[str, str], set[str]] = {}
    for _, _, labels in _rows(export):
        for schema, options in labels.items():
            for option, value in options.items():
                seen = values.setdefault((schema, option), set())
                if len(seen) < _ENOUGH:
                    seen.add(str(value).strip())
    choices, marked = _choices(values), _with_marks(values)
    for instance, user, labels in _rows(export):
        answers: dict[str, Any] = {}
        for schema, options in labels.items():
            answers |= _of_schema(schema, options, is_choice=schema in choices, has_marks=schema in marked)
        left_out = None if has_answer(answers) else "not answered"
        yield Answer(an_id(instance), an_id(user), answers, left_out=left_out)


def _rows(export: ExportFile) -> Iterator[tuple[object, object, Labels]]:
    """Yield who said what about which instance, as values by schema and option."""
    if export.holds_files:
        folders = {str(PurePosixPath(name).parent.parent) for name in export.members if _STATE.fullmatch(name)}
        if len(folders) > 1:
            raise FileError(f"{export.path} holds users of {len(folders)} projects ({few(sorted(folders))}); name one.")
        for name, state in export.parts(lambda name: _STATE.fullmatch(name) is not None):
            if isinstance(state, dict):
                yield from _of_state(state, _STATE.sub(r"\1", name))
        return
    for row in export.records():
        labels = row.get("labels")
        yield row.get("instance_id"), row.get("user_id"), _tidy(labels) if isinstance(labels, dict) else _of_row(row)


def _of_row(row: Record) -> Labels:
    """Return the columns of a row by schema and option; beside these, a column of the schema repeats the last."""
    found: Labels = {}
    plain: Labels = {}
    for column, value in row.items():
        schema, dot, option = column.partition(".")
        if value is None or column.startswith(_OF_USER) or column.endswith(_NOT_ANSWERS):
            continue
        (found if dot else plain).setdefault(schema, {})[option] = value
    return plain | found


def _of_state(state: Mapping[str, Any], folder: str) -> Iterator[tuple[object, object, Labels]]:
    instances = state.get("instance_id_to_label_to_value")
    for instance, given in instances.items() if isinstance(instances, dict) else ():
        pairs: Labels = {}
        for pair in given if isinstance(given, list) else ():
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], dict):
                pairs.setdefault(str(pair[0].get("schema")), {})[str(pair[0].get("name"))] = pair[1]
        yield instance, state.get("user_id") or folder, _tidy(given) if isinstance(given, dict) else pairs


def _tidy(labels: Mapping[str, Any]) -> Labels:
    """Return labels by schema and option, without the object ``labels`` that some versions put around the options."""
    found: Labels = {}
    for schema, options in labels.items():
        inner = options.get("labels") if isinstance(options, dict) else None
        options = inner if isinstance(inner, dict) else options
        found[str(schema)] = options if isinstance(options, dict) else {"": options}
    return found


def _choices(values: Mapping[tuple[str, str], set[str]]) -> set[str]:
    """Return the schemas whose options are the answers: a mark is stored with each, or always the same key."""
    options: dict[str, list[set[str]]] = {}
    marked: dict[str, bool] = {}
    for (schema, option), seen in values.items():
        if option not in _TEXTS:
            options.setdefault(schema, []).append(seen)
            is_mark = all(_is_mark(option, value) or value.casefold() in _NOT_CHOSEN for value in seen)
            marked[schema] = marked.get(schema, True) and is_mark
    return {
        schema for schema, seen in options.items() if marked[schema] or (len(seen) > 1 and max(map(len, seen)) == 1)
    }


def _is_mark(option: str, value: str) -> bool:
    return value.casefold() in _CHOSEN or (option != "" and value == option)


def _with_marks(values: Mapping[tuple[str, str], set[str]]) -> set[str]:
    """Return the schemas in which "false" or "off" marks what was not chosen: it is stored with another option too."""
    return {
        schema
        for (schema, option), seen in values.items()
        if any(value and value != option and value.casefold() in _NOT_CHOSEN for value in seen)
    }


def _is_given(option: str, value: object, *, has_marks: bool) -> bool:
    """Return whether a value is an answer; an option called "false" that holds its own name was chosen."""
    if value is None or value is False:
        return False
    text = str(value).strip()
    return text.casefold() not in _NOT_CHOSEN or (text != "" and text == option and not has_marks)


def _of_schema(schema: str, options: Mapping[str, Any], *, is_choice: bool, has_marks: bool) -> dict[str, Any]:
    """Return the answers to one schema: the options chosen, or the values given, as those of a slider."""
    found: dict[str, Any] = {}
    words = {option: str(value).strip() for option, value in options.items() if option in _TEXTS and value is not None}
    others = {
        option: value
        for option, value in options.items()
        if option not in _TEXTS and _is_given(option, value, has_marks=has_marks)
    }
    if is_choice and others:
        found[schema] = list(others)
    elif not is_choice:
        for option, value in others.items():
            name = f"{schema}.{option}" if option and len(others) > 1 else schema
            found[name] = value if isinstance(value, str | int | float) else None
    for option, text in words.items():
        found[f"{schema}.{option}" if others else schema] = FreeText(text)
    return found


POTATO = ExportFormat(
    "potato",
    "an export of Potato",
    _recognises,
    _answers,
    "CSV, TSV or JSONL with `instance_id` and `user_id`, or a folder with `<user>/user_state.json`",
    own_names={"instance_id": "task", "user_id": "worker"},
)
