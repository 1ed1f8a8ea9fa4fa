"""RewardBench: the results per prompt of one model, or a folder of such files.

A file is one object with lists side by side: ``id``, ``subset`` and ``results``, which is 1 if the model prefers the
chosen answer, 0 if the rejected one and 0.5 if neither; ``model`` is its name.
"""

from collections.abc import Iterator
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["REWARD_BENCH"]

_LISTS = ("id", "subset", "results")
_PREFERS = {1: "chosen", 0: "rejected", 0.5: "tie"}


def _recognises(export: ExportFile) -> bool:
    if export.kind in ("object", "jsonl"):
        return _is_result(export.whole)
    packed = export.members if export.holds_files else ()
    first = next(filter(_is_json, packed), None)
    return first is not None and any(_is_result(value) for _, value in export.parts(lambda name: name == first))


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and "model" in value and all(isinstance(value.get(name), list) for name in _LISTS)


def _is_json(name: str) -> bool:
    return name.endswith(".json")


def _answers(export: ExportFile) -> Iterator[Answer]:
    if export.kind in ("object", "jsonl"):
        yield from _of_result(export.whole, str(export.path))
        return
    for name, value in export.parts(_is_json):
        yield from _of_result(value, f"{export.path}, {name}")


def _of_result(value: Any, where: str) -> Iterator[Answer]:
    if not _is_result(value):
        raise FileError(f"{where} has no lists id, subset and results with the name of a model, as RewardBench writes.")
    ids, subsets, results = (value[name] for name in _LISTS)
    if not len(ids) == len(subsets) == len(results):
        raise FileError(f"{where}: id, subset and results have {len(ids)}, {len(subsets)} and {len(results)} values.")
    for task, subset, result in zip(ids, subsets, results, strict=True):
        verdict = _PREFERS.get(result) if isinstance(result, int | float) else None
        yield Answer(
            an_id(task),
            an_id(value["model"]),
            {"results": verdict},
            facts={"subset": subset},
            left_out=None if verdict else "no verdict",
        )


REWARD_BENCH = ExportFormat(
    "reward-bench",
    "results of RewardBench",
    _recognises,
    _answers,
    "a JSON object with the lists `id`, `subset`, `results` and a `model`, or a folder of them",
)
