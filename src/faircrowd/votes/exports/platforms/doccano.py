"""doccano: the zip of a project that is not shared, with one file per user (JSONL or CSV)."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id, plain_options
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.frames import ALIASES

__all__ = ["DOCCANO"]

_ENDINGS = (".jsonl", ".csv")
_SHARED = "all"
"""The only file of a project that users share: nothing in it says who gave a label."""
_LABELS = ("label", "labels")
_NOT_FACTS = ("id", "Comments", *_LABELS)
_OWN_COLUMN = "faircrowd_p"


def _recognises(export: ExportFile) -> bool:
    if export.kind == "jsonl":
        return _is_row(export.columns)
    names = _files(export)
    return bool(names) and len(names) == len(export.members) and any(_is_row(one.columns) for _, one in _open(export))


def _is_row(columns: frozenset[str]) -> bool:
    return {"id", "Comments"} <= columns and bool(columns & set(_LABELS)) and not columns & set(ALIASES["worker"])


def _files(export: ExportFile) -> list[str]:
    if export.kind not in ("zip", "folder"):
        return []
    return [name for name in export.members if name.endswith(_ENDINGS) and "/" not in name]


def _open(export: ExportFile) -> Iterator[tuple[str, ExportFile]]:
    """Yield the users and their files; a user who did nothing has an empty one."""
    for name in _files(export):
        one = export.inside(name)
        if one.head.strip():
            yield PurePosixPath(name).stem, one


def _answers(export: ExportFile) -> Iterator[Answer]:
    if export.kind == "jsonl" or [PurePosixPath(name).stem for name in _files(export)] == [_SHARED]:
        raise FileError(
            f"{export.path}: nothing here says which user gave a label. Export a project that its users do not share "
            "(without 'Share annotations across all users') and give the whole zip, which has one file per user."
        )
    for user, file in _open(export):
        for row in file.records():
            yield _of_row(user, row)


def _of_row(user: str, row: Record) -> Answer:
    given = next((row[name] for name in _LABELS if row.get(name) is not None), None)
    facts = {name: value for name, value in row.items() if name not in _NOT_FACTS}
    spans = isinstance(given, list) and any(isinstance(one, list | dict) for one in given)
    options: Any = plain_options(given, "#")
    left_out = "spans of text" if spans else "not answered" if options in (None, "", []) else None
    return Answer(an_id(row.get("id")), user, {"label": options}, facts=facts, left_out=left_out)


def _notes(export: ExportFile) -> Sequence[str]:
    if not any(_OWN_COLUMN in file.columns for _, file in _open(export)):
        return []
    return [
        f"the texts have {_OWN_COLUMN!r}: they were imported with labels of faircrowd, which doccano counts as answers "
        "of the user who imported them; leave out the file of that user"
    ]


DOCCANO = ExportFormat(
    "doccano",
    "an export of doccano",
    _recognises,
    _answers,
    "a zip with one JSONL or CSV file per user, with `id`, `label` and `Comments`",
    _notes,
)
