"""Inspect: logs of evaluations, as ``.eval`` (a zip with one JSON file per sample) or as JSON.

A sample has an ``id``, an ``epoch`` and ``scores`` by the name of the scorer; a score's ``value`` is a text such as
``C`` and ``I``, a number, or an object of these.
"""

import re
from collections.abc import Iterator
from typing import Any

from faircrowd.votes.exports.answer_values import an_id, scalars
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.lookup import is_missing

__all__ = ["INSPECT"]

_SAMPLE = re.compile(r"samples/.*_epoch_(\d+)\.json")
_NOT_SCORED = "not scored"


def _recognises(export: ExportFile) -> bool:
    if export.kind in ("zip", "folder"):
        return any(_SAMPLE.fullmatch(name) for name in export.members)
    return export.kind in ("object", "jsonl") and {"eval", "samples"} <= export.columns and _samples(export) is not None


def _samples(export: ExportFile) -> list[Any] | None:
    found = export.whole.get("samples")
    return found if isinstance(found, list) and isinstance(export.whole.get("eval"), dict) else None


def _answers(export: ExportFile) -> Iterator[Answer]:
    if export.kind in ("zip", "folder"):
        names = {name: match[1] for name in export.members if (match := _SAMPLE.fullmatch(name))}
        several = len(set(names.values())) > 1
        for _, sample in export.parts(lambda name: name in names):
            yield from _of_sample(sample if isinstance(sample, dict) else {}, several)
        return
    samples = [one for one in _samples(export) or () if isinstance(one, dict)]
    several = len({str(one.get("epoch")) for one in samples}) > 1
    for sample in samples:
        yield from _of_sample(sample, several)


def _of_sample(sample: Record, several_epochs: bool) -> Iterator[Answer]:
    task = an_id(sample.get("id"))
    if several_epochs:
        task = f"{task}/{sample.get('epoch')}"
    facts = {name: sample.get(name) for name in ("id", "epoch", "metadata", "target") if sample.get(name) is not None}
    scores = sample.get("scores")
    if not isinstance(scores, dict) or not scores:
        yield Answer(task, None, facts=facts, left_out="error" if sample.get("error") else _NOT_SCORED)
        return
    for scorer, score in scores.items():
        answers = _values(score.get("value") if isinstance(score, dict) else None)
        left_out = None if answers else _NOT_SCORED
        yield Answer(task, scorer, answers, facts=facts, left_out=left_out)


def _values(value: Any) -> dict[str, Any]:
    """Return the values of a score by question; a score that is not a number is none."""
    given = {f"value.{name}": one for name, one in value.items()} if isinstance(value, dict) else {"value": value}
    found = {name: scalars(one) if isinstance(one, list) else one for name, one in given.items()}
    return {
        name: one
        for name, one in found.items()
        if isinstance(one, list | str | int | float) and one != [] and (isinstance(one, list) or not is_missing(one))
    }


INSPECT = ExportFormat(
    "inspect",
    "a log of Inspect",
    _recognises,
    _answers,
    "`.eval` with `samples/*_epoch_*.json`, or a JSON log with `eval` and `samples`",
    no_answer="N",
)
