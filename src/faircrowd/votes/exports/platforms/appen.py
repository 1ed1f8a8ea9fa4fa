"""Appen (CrowdFlower, Figure Eight): the full report as CSV, one row per judgment."""

from collections.abc import Iterator
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id, has_answer, is_yes, only_option, plain_options, varying_columns
from faircrowd.votes.exports.answers import GOLDEN, Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["APPEN"]

_UNIT, _WORKER = "_unit_id", "_worker_id"
_GOLD = "_gold"
_OF_GOLD = (_GOLD, "_gold_reason")


def _recognises(export: ExportFile) -> bool:
    return _UNIT in export.columns and bool({_WORKER, "_trusted_judgments"} & export.columns)


def _answers(export: ExportFile) -> Iterator[Answer]:
    if not {_UNIT, _WORKER} & export.columns:
        raise FileError(f"{export.path} is no report of Appen: it has no {_UNIT!r}; is format='appen' right?")
    if _WORKER not in export.columns:
        raise FileError(
            f"{export.path} is the aggregated report of Appen, without workers; download the full report, which has "
            "one row per judgment."
        )
    questions = _questions(export)
    for row in export.records():
        answers = {name: plain_options(row.get(name), "\n") for name in questions}
        golden = {}
        left_out = None
        if is_yes(row.get("_tainted")):
            left_out = "tainted"
        if is_yes(row.get("_golden")):
            left_out, golden = left_out or GOLDEN, _known(row, questions)
        elif left_out is None and questions and not has_answer(answers):
            left_out = "not answered"
        yield Answer(
            an_id(row.get(_UNIT)), an_id(row.get(_WORKER)), answers, row.get("_created_at"), _facts(row, questions),
            golden, left_out,
        )  # fmt: skip


def _questions(export: ExportFile) -> list[str]:
    """Return which columns are questions: those with a column of gold, and those that differ between judgments."""
    golden = [name for name in export.columns if f"{name}{_GOLD}" in export.columns]
    found = [*varying_columns(export.records(), _UNIT), *sorted(golden)]
    return [
        name for name in dict.fromkeys(found) if not name.startswith(("_", "orig_")) and not name.endswith(_OF_GOLD)
    ]


def _known(row: Record, questions: list[str]) -> dict[str, Any]:
    """Return the known labels of a test question; one that accepts several answers has none."""
    return {name: only_option(plain_options(row.get(f"{name}{_GOLD}"), "\n")) for name in questions}


def _facts(row: Record, questions: list[str]) -> dict[str, Any]:
    """Return the data of a unit; columns that begin with an underscore are about the judgment and its worker."""
    return {
        name: value
        for name, value in row.items()
        if name not in questions and not name.startswith(("_", "orig_")) and not name.endswith(_OF_GOLD)
    }


APPEN = ExportFormat(
    "appen",
    "a full report of Appen",
    _recognises,
    _answers,
    "CSV with `_unit_id` and `_worker_id`",
    own_names={"_unit_id": "task", "_worker_id": "worker"},
)
