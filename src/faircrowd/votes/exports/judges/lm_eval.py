"""lm-evaluation-harness: the samples that it logs, ``samples_<task>_<time>.jsonl``, one file or a folder of them.

A line has ``doc_id``, ``doc``, ``target``, ``resps`` and ``filtered_resps``, and one key per metric. Where answers
are filtered in several ways, there is a line per filter.
"""

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat, FreeText, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["LM_EVAL"]

_RESPONSE = "filtered_resps"
_NOT_METRICS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", _RESPONSE, "filter", "metrics", "doc_hash", "prompt_hash"}
    | {"target_hash", "input"}
)
_FILE = re.compile(r"samples_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl")


def _recognises(export: ExportFile) -> bool:
    if export.kind == "jsonl":
        return {"doc_id", _RESPONSE} <= export.columns
    first = next(iter(_files(export)), None)
    return first is not None and {"doc_id", _RESPONSE} <= export.inside(first).columns


def _files(export: ExportFile) -> list[str]:
    packed = export.members if export.holds_files else ()
    return [name for name in packed if _FILE.fullmatch(PurePosixPath(name).name)]


def _answers(export: ExportFile) -> Iterator[Answer]:
    if export.kind == "jsonl":
        yield from _of_file(export, export.stem, "")
        return
    names = _files(export)
    asked = {name: _FILE.sub(r"\1", PurePosixPath(name).name) for name in names}
    several = len(set(asked.values())) > 1
    folders = [(PurePosixPath(name).parent, asked[name]) for name in names]
    for name in names:
        folder = PurePosixPath(name).parent
        is_models = folder.name and folders.count((folder, asked[name])) == 1
        worker = folder.as_posix() if is_models else PurePosixPath(name).with_suffix("").as_posix()
        yield from _of_file(export.inside(name), worker, f"{asked[name]}/" if several else "")


def _of_file(file: ExportFile, worker: str, prefix: str) -> Iterator[Answer]:
    """Yield the answers of one model; the lines of a document, one per filter, are one answer."""
    filters = {str(record.get("filter")) for record in file.records()}
    found: dict[Any, tuple[dict[str, Any], Any, Any]] = {}
    for record in file.records():
        suffix = f",{record.get('filter')}" if len(filters) > 1 else ""
        answers, _, _ = found.setdefault(an_id(record.get("doc_id")), ({}, record.get("doc"), record.get("target")))
        answers |= {f"{name}{suffix}": value for name, value in _metrics(record).items()}
        response = record.get(_RESPONSE)
        response = response[0] if isinstance(response, list) and response else response
        if isinstance(response, str):
            answers[f"{_RESPONSE}{suffix}"] = FreeText(response)
    for doc_id, (answers, doc, target) in found.items():
        golden = {name: target for name in answers if name.startswith(_RESPONSE) and isinstance(target, str)}
        facts = {"doc": doc, "target": target if not isinstance(target, dict | list) else json.dumps(target)}
        yield Answer(
            f"{prefix}{doc_id}" if prefix else doc_id,
            worker,
            answers,
            facts=facts,
            golden=golden,
            left_out=None if answers else "not scored",
        )


def _metrics(record: Record) -> dict[str, Any]:
    named = record.get("metrics")
    names = named if isinstance(named, list) else [name for name in record if name not in _NOT_METRICS]
    found = {name: record.get(name) for name in names if isinstance(name, str)}
    return {name: value for name, value in found.items() if isinstance(value, int | float | str)}


LM_EVAL = ExportFormat(
    "lm-eval",
    "samples of lm-evaluation-harness",
    _recognises,
    _answers,
    "JSONL with `doc_id` and `filtered_resps`, or a folder of `samples_*.jsonl`",
)
