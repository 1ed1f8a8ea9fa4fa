"""LeWiDi (learning with disagreements): one JSON object of items with annotators and annotations.

The editions of 2021 and 2023 write both as text with commas; that of 2025 writes annotations as an object by
annotator, in which several labels of one annotator are joined by commas.
"""

from collections.abc import Iterator
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import plain_options
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LEWIDI"]

_FACTS = ("other_info", "lang", "split", "annotation task", "text")


def _recognises(export: ExportFile) -> bool:
    if export.kind not in ("object", "jsonl"):
        return False
    items = list(export.whole.values())
    return bool(items) and all(isinstance(one, dict) and _is_item(one) for one in items[:20])


def _is_item(item: Record) -> bool:
    return isinstance(item.get("annotators"), str) and isinstance(item.get("annotations"), str | dict)


def _answers(export: ExportFile) -> Iterator[Answer]:
    for key, item in export.whole.items():
        if not isinstance(item, dict) or not _is_item(item):
            raise FileError(f"{export.path}: item {key!r} has no text 'annotators' with 'annotations' beside it.")
        people = [one.strip() for one in item["annotators"].split(",") if one.strip()]
        given = _by_annotator(item["annotations"], people, f"{export.path}, item {key!r}")
        facts = {name: item[name] for name in _FACTS if name in item}
        for worker, label in given.items():
            left_out = "not answered" if label in (None, "", []) else None
            yield Answer(key, worker, {"annotations": label}, facts=facts, left_out=left_out)


def _by_annotator(annotations: Any, people: list[str], where: str) -> dict[str, Any]:
    if isinstance(annotations, dict):
        return {str(name): plain_options(value, ",") for name, value in annotations.items()}
    labels: list[str] = [one.strip() for one in annotations.split(",")] if annotations.strip() else []
    if len(set(people)) < len(people) or (labels and len(labels) != len(people)):
        raise FileError(f"{where} has {len(people)} annotators and {len(labels)} annotations; each needs one.")
    return dict(zip(people, labels or [""] * len(people), strict=True))


LEWIDI = ExportFormat(
    "lewidi",
    "a data set of LeWiDi",
    _recognises,
    _answers,
    "a JSON object of items with `annotators` and `annotations`",
)
