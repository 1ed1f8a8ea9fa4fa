"""SageMaker Ground Truth: the output folder of a labelling job, or an archive of it.

Answers are in ``annotations/worker-response/iteration-N/<row>/<time>.json``, where the row is that of the manifest.
Lines of ``output.manifest`` that a model labelled say ``"human-annotated": "no"`` in the metadata of the job.
"""

import re
from collections.abc import Iterator
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id, has_answer
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.json_parts import document
from faircrowd.votes.exports.platforms.crowd_form import form_answers
from faircrowd.votes.readers.shared import explained

__all__ = ["GROUND_TRUTH", "manifest_lines"]

_RESPONSE = re.compile(r"(?:.*/)?worker-response/iteration-\d+/(\d{1,18})/(?!\.)[^/]+\.json")
_MANIFEST = re.compile(r"(?:.*/)?output\.manifest")
_METADATA = "-metadata"


def _recognises(export: ExportFile) -> bool:
    return export.holds_files and any(_RESPONSE.fullmatch(name) for name in export.members)


def _answers(export: ExportFile) -> Iterator[Answer]:
    jobs = sorted({name.partition("worker-response/")[0] for name in export.members if _RESPONSE.fullmatch(name)})
    if len(jobs) > 1:
        raise FileError(
            f"{export.path} holds {len(jobs)} jobs ({few(jobs)}), whose rows have the same numbers; name one."
        )
    manifest = [_of_line(line) for line in manifest_lines(export)]
    answered = set()
    for name, found in export.parts(lambda name: _RESPONSE.fullmatch(name) is not None):
        row = int(_RESPONSE.sub(r"\1", name))
        answered.add(row)
        facts = manifest[row][0] if row < len(manifest) else {}
        given = found.get("answers") if isinstance(found, dict) else None
        for one in given if isinstance(given, list) else ():
            if isinstance(one, dict):
                yield _of_worker(row, one, facts)
    for row, (facts, by_model) in enumerate(manifest):
        if row not in answered:
            yield Answer(row, None, facts=facts, left_out="labelled by a model" if by_model else "not answered")


def _of_worker(row: int, one: Record, facts: Record) -> Answer:
    content = one.get("answerContent")
    answers = form_answers(content) if isinstance(content, dict) else {}
    left_out = None if has_answer(answers) else "not answered"
    return Answer(row, an_id(one.get("workerId")), answers, one.get("submissionTime"), facts, left_out=left_out)


def manifest_lines(export: ExportFile) -> list[Record]:
    """Return the lines of the manifest by the row that answers name: blank lines count, and are empty here.

    The manifest is the file itself, or the output manifest in a folder or an archive; none if there is no such one.
    """
    if export.kind == "jsonl":
        with explained(export.path), export.open() as stream:
            return _lines(stream.read(), str(export.path))
    name = min((name for name in export.members if _MANIFEST.fullmatch(name)), key=len, default=None)
    found = export.contents(lambda one: one == name)
    return [line for _, content in found for line in _lines(content, f"{export.path}, {name}")]


def _lines(content: bytes, where: str) -> list[Record]:
    found: list[Record] = []
    for number, line in enumerate(content.splitlines(), start=1):
        value = document(line, f"{where}, line {number}") if line.strip() else {}
        found.append(value if isinstance(value, dict) else {})
    return found


def _of_line(line: Record) -> tuple[dict[str, Any], bool]:
    """Return a line of the manifest without the labels of the job, and whether a model gave these."""
    jobs = {key: value for key, value in line.items() if key.endswith(_METADATA) and isinstance(value, dict)}
    labels = {key.removesuffix(_METADATA) for key in jobs} | set(jobs)
    by_model = any(value.get("human-annotated") == "no" for value in jobs.values())
    return {key: value for key, value in line.items() if key not in labels}, by_model


GROUND_TRUTH = ExportFormat(
    "ground-truth",
    "the output of a job of SageMaker Ground Truth",
    _recognises,
    _answers,
    "a folder or archive with `worker-response/iteration-N/<row>/*.json`",
)
