"""promptfoo: the results of an evaluation as JSON or JSONL; the verdicts of models are votes.

A result has ``testIdx``, ``promptIdx`` and the verdicts of its assertions in ``gradingResult.componentResults``. An
assertion may name the model that judges (``provider``) and what is judged (``metric``).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["PROMPTFOO"]

_JUDGED_BY_MODELS = frozenset(
    {
        *("llm-rubric", "g-eval", "factuality", "model-graded-closedqa", "model-graded-factuality"),
        *("answer-relevance", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance"),
        *("agent-rubric", "search-rubric", "trajectory:goal-success", "select-best", "pi", "moderation", "classifier"),
    }
)
"""The assertions of promptfoo 0.121.20 whose handlers ask a model: those that it calls model-graded, and those that ask
a model of another kind (pi, moderation, classifier), turn by turn or output against output. Embeddings
(``similar``) are no verdicts."""
_RED_TEAM = "promptfoo:redteam:"
"""How the assertions of attacks begin, which models judge as well."""


def _recognises(export: ExportFile) -> bool:
    if export.kind in ("json", "jsonl") and {"testIdx", "promptIdx"} <= export.columns:
        return True
    found = _results(export) if export.kind in ("object", "jsonl") and "results" in export.columns else []
    return bool(found) and all(isinstance(one, dict) and "testIdx" in one for one in found[:5])


def _results(export: ExportFile) -> list[Any]:
    results = export.whole.get("results")
    found = results.get("results") if isinstance(results, dict) else results
    return found if isinstance(found, list) else []


def _answers(export: ExportFile) -> Iterator[Answer]:
    is_lines = {"testIdx", "promptIdx"} <= export.columns
    for result in export.records() if is_lines else _results(export):
        if isinstance(result, dict):
            yield from _of_result(result)


def _of_result(result: Record) -> Iterator[Answer]:
    task = f"{result.get('testIdx')}/{result.get('promptIdx', 0)}"
    case, provider, grading = (result.get(name) for name in ("testCase", "provider", "gradingResult"))
    facts = {
        "vars": result.get("vars"),
        "metadata": case.get("metadata") if isinstance(case, dict) else None,
        "provider": provider.get("id") if isinstance(provider, dict) else provider,
    }
    given = grading.get("componentResults") if isinstance(grading, dict) else None
    if not isinstance(given, list) or not given:
        yield Answer(task, None, facts=facts, left_out="without assertions")
        return
    judges: Counter[tuple[str, str]] = Counter()
    for one in given:
        assertion = one.get("assertion") if isinstance(one, dict) else None
        kind = assertion.get("type") if isinstance(assertion, dict) else None
        if not isinstance(assertion, dict) or not _is_judged_by_model(str(kind).removeprefix("not-")):
            yield Answer(task, None, facts=facts, left_out="not judged by a model")
            continue
        judge, question = _judge(assertion), str(assertion.get("metric") or "pass")
        judges[judge, question] += 1
        again = judges[judge, question]
        verdict = one.get("pass")
        left_out = None if isinstance(verdict, bool) and not _has_failed(one) else "no verdict"
        yield Answer(
            task, judge if again == 1 else f"{judge}#{again}", {question: verdict}, facts=facts, left_out=left_out
        )


def _is_judged_by_model(kind: str) -> bool:
    return kind in _JUDGED_BY_MODELS or kind.startswith(_RED_TEAM)


def _has_failed(result: Record) -> bool:
    """Return whether the judge gave no answer that could be read, which promptfoo counts as not passed."""
    metadata = result.get("metadata")
    return isinstance(metadata, dict) and metadata.get("graderError") is True


def _judge(assertion: Record) -> str:
    """Return who judges: the model that is named, else the kind of the assertion."""
    provider = assertion.get("provider")
    provider = provider.get("id") if isinstance(provider, dict) else provider
    return f"{assertion.get('type')} by {provider}" if isinstance(provider, str) else str(assertion.get("type"))


PROMPTFOO = ExportFormat(
    "promptfoo",
    "results of promptfoo",
    _recognises,
    _answers,
    "JSON with `results.results[].testIdx`, or such results as JSONL",
)
