"""Prodigy: JSON lines that ``prodigy db-in`` imports, as answers of a session of their own."""

from faircrowd.errors import OptionError
from faircrowd.publish.finished_labels import NAME, FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, Item, PlatformForm, as_json_lines, by_id, needed_export
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.prodigy import PRODIGY

__all__ = ["PRODIGY_ANSWERS"]

_OF_ANSWER = ("accept", "answer", "_timestamp", "_annotator_id", "_session_id")
_ANSWERS = {"accept", "reject"}


def _is_binary(records: dict[str | int, Record]) -> bool:
    """Return whether each task proposes a label that is accepted or rejected, instead of options to choose from."""
    return not any("accept" in record or "options" in record for record in records.values())


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    labels.refuse_made_labels("Prodigy")
    found = needed_export(export, "Prodigy", "the tasks")
    asked = options.question or labels.question
    records = by_id(
        (one for one in found.records() if "label" not in one or asked in (None, one["label"])), "_input_hash"
    )
    labels = labels.named(records, PRODIGY)
    is_binary = _is_binary(records)
    if is_binary and not set(labels.classes) <= _ANSWERS:
        raise OptionError(
            f"The tasks are accepted or rejected, and the labels are {', '.join(labels.classes)}; publish them with "
            "to='csv'."
        )
    items: list[Item] = []
    for one in labels.labels:
        task = {name: value for name, value in records[one.task].items() if name not in _OF_ANSWER}
        answer: Item = {"answer": one.label} if is_binary else {"accept": labels.options(one.label), "answer": "accept"}
        meta = task.get("meta") if isinstance(task.get("meta"), dict) else {}
        more = {"meta": {**(meta or {}), "faircrowd_p": one.score, "faircrowd_version": labels.model_version}}
        items.append({**task, **more, **answer, "_annotator_id": NAME, "_session_id": NAME})
    return Form(items, as_json_lines(items))


PRODIGY_ANSWERS = PlatformForm("prodigy", "Prodigy", ".jsonl", _fill, "prodigy db-in DATASET FILE imports it")
