"""Doccano: JSON lines with the labels of each text, for a new project."""

from collections.abc import Iterator

from faircrowd.errors import InputError
from faircrowd.publish.finished_labels import FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, PlatformForm, as_json_lines, by_id, needed_export
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.doccano import DOCCANO

__all__ = ["DOCCANO_LABELS"]

_NOT_FACTS = ("id", "label", "cats", "Comments", "text", "data")
_TEXTS = ("text", "data")
"""What doccano calls the text: older versions wrote ``data``."""


def _records(export: ExportFile) -> Iterator[Record]:
    if not export.members:
        yield from export.records()
    for name in export.members:
        if name.endswith((".jsonl", ".csv", ".json")):
            yield from export.inside(name).records()


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    labels.refuse_made_labels("doccano")
    found = needed_export(export, "doccano", "the texts")
    records = by_id(_records(found), "id")
    labels = labels.named(records, DOCCANO)
    items = []
    for one in labels.labels:
        record = records[one.task]
        text = next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)
        if text is None:
            raise InputError(f"{found.path}: task {one.task} has no text; is it an export of doccano?")
        facts = {name: value for name, value in record.items() if name not in _NOT_FACTS and _is_plain(value)}
        version = {"faircrowd_p": one.score, "faircrowd_version": labels.model_version}
        items.append({"text": text, "label": labels.options(one.label), **facts, "source_id": one.task, **version})
    replaced = sum("source_id" in record for record in records.values())
    notes = (f"source_id, which {replaced:,} texts had, is now the id in the old project",) if replaced else ()
    return Form(items, as_json_lines(items), None, notes)


DOCCANO_LABELS = PlatformForm(
    "doccano", "doccano", ".jsonl", _fill, "import it into a new project as JSONL, with the column `label`"
)
