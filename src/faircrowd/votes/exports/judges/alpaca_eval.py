"""AlpacaEval: ``annotations.json``, in which annotators prefer one of two outputs.

``preference`` is 1 for the first output and 2 for the second, a tie is 0 or 1.5, and annotators with weights write a
number in between.
"""

import hashlib
from collections.abc import Iterator, Sequence

from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.judges.pairs import FIRST, SECOND, TIE, ordered

__all__ = ["ALPACA_EVAL"]

_MIDDLE = 1.5


def _recognises(export: ExportFile) -> bool:
    needed = {"instruction", "generator_1", "generator_2", "annotator", "preference"}
    return export.kind in ("json", "jsonl", "parquet") and needed <= export.columns


def _answers(export: ExportFile) -> Iterator[Answer]:
    for record in export.records():
        first, second, verdict = ordered(
            str(record.get("generator_1")), str(record.get("generator_2")), _verdict(record.get("preference")) or ""
        )
        instruction = str(record.get("instruction"))
        key = hashlib.sha256("\n".join((instruction, first, second)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        facts = {"instruction": instruction, "first": first, "second": second, "dataset": record.get("dataset")}
        yield Answer(
            key,
            an_id(record.get("annotator")),
            {"preference": verdict or None},
            facts=facts,
            left_out=None if verdict else "no preference",
        )


def _verdict(preference: object) -> str | None:
    """Return which output is preferred; None if there is no preference from 1 to 2."""
    if isinstance(preference, bool) or not isinstance(preference, int | float):
        return None
    if preference in (0, _MIDDLE):
        return TIE
    if not 1 <= preference <= 2:
        return None
    return FIRST if preference < _MIDDLE else SECOND


def _notes(export: ExportFile) -> Sequence[str]:
    weighted = sum(
        isinstance(value := record.get("preference"), float) and 1 < value < 2 and value != _MIDDLE
        for record in export.records()
    )
    return [f"{weighted:,} preferences are weights between 1 and 2; the nearer output counts"] if weighted else []


ALPACA_EVAL = ExportFormat(
    "alpaca-eval",
    "annotations of AlpacaEval",
    _recognises,
    _answers,
    "JSON with `instruction`, `generator_1`, `generator_2`, `annotator` and `preference`",
    _notes,
)
