"""MT-Bench: judgments of FastChat, one line per comparison of two models or per score of one.

A comparison is made in both orders (``g1_winner``, ``g2_winner``); judges that disagree with themselves, as with the
swapped answers, are counted as a tie. ``judge`` is a name, or a list of the model and the name of its prompt. A judge
that gave no verdict has the winner ``error``, or the score -1.
"""

from collections.abc import Iterator

from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.judges.pairs import FIRST, SECOND, TIE, ordered

__all__ = ["MT_BENCH"]

_WINNERS = {"model_1": FIRST, "model_a": FIRST, "model_2": SECOND, "model_b": SECOND, "tie": TIE}
_INCONSISTENT = ("inconsistent", "tie (inconsistent)")
_NO_VERDICT = "no verdict"


def _recognises(export: ExportFile) -> bool:
    verdicts = {"g1_winner", "winner", "score"} & export.columns
    return export.kind in ("json", "jsonl", "parquet") and {"question_id", "judge"} <= export.columns and bool(verdicts)


def _answers(export: ExportFile) -> Iterator[Answer]:
    for record in export.records():
        yield _of_score(record) if "model" in record and "score" in record else _of_pair(record)


def _of_pair(record: Record) -> Answer:
    models = [str(record.get(f"model_{one}", record.get(f"model_{two}"))) for one, two in (("1", "a"), ("2", "b"))]
    verdict = _verdict(record)
    first, second, verdict = ordered(models[0], models[1], verdict or "")
    parts = (record.get("question_id"), record.get("turn"), first, second)
    return Answer(
        "/".join(str(part) for part in parts if part is not None),
        _judge(record),
        {"winner": verdict or None},
        record.get("tstamp"),
        {"question_id": record.get("question_id"), "turn": record.get("turn"), "first": first, "second": second},
        left_out=None if verdict else _NO_VERDICT,
    )


def _verdict(record: Record) -> str | None:
    """Return who won; a judge that is not of one mind in both orders sees a tie."""
    given = [record["winner"]] if "winner" in record else [record.get("g1_winner"), record.get("g2_winner")]
    named = [TIE if one in _INCONSISTENT else _WINNERS.get(str(one)) for one in given]
    if None in named:
        return None
    return named[0] if len(set(named)) == 1 else TIE


def _of_score(record: Record) -> Answer:
    score = record.get("score")
    is_score = isinstance(score, int | float) and not isinstance(score, bool) and score >= 0
    parts = (record.get("question_id"), record.get("turn"), record.get("model"))
    return Answer(
        "/".join(str(part) for part in parts if part is not None),
        _judge(record),
        {"score": score if is_score else None},
        record.get("tstamp"),
        {name: record.get(name) for name in ("question_id", "turn", "model")},
        left_out=None if is_score else _NO_VERDICT,
    )


def _judge(record: Record) -> str | int | None:
    """Return the model that judges: which of its prompts is used depends on the question and the turn."""
    judge = record.get("judge")
    return an_id(judge[0] if isinstance(judge, list) and judge else judge)


MT_BENCH = ExportFormat(
    "mt-bench",
    "judgments of MT-Bench",
    _recognises,
    _answers,
    "JSONL with `question_id`, `judge` and `g1_winner`, `winner` or `score`",
)
