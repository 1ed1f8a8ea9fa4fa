"""SageMaker Ground Truth: an augmented manifest with one more label attribute."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from faircrowd.errors import FileError, OptionError
from faircrowd.publish.finished_labels import FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, PlatformForm, as_json_lines, needed_export
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.ground_truth import GROUND_TRUTH, manifest_lines

__all__ = ["GROUND_TRUTH_MANIFEST"]

_TYPES = "groundtruth/"
_METADATA = "-metadata"
_SEVERAL = "-multilabel"
"""How the kind of a job ends whose items have several classes."""


def _kinds(lines: list[Record]) -> Iterator[str]:
    for line in lines:
        for name, value in line.items():
            if name.endswith(_METADATA) and isinstance(value, dict) and str(value.get("type", "")).startswith(_TYPES):
                yield str(value["type"])


def _known_numbers(line: Record) -> Iterator[tuple[Any, Any]]:
    """Yield the names of classes in a line of a manifest with their numbers."""
    for name, value in line.items():
        if name.endswith(_METADATA) and isinstance(value, dict):
            yield value.get("class-name"), line.get(name.removesuffix(_METADATA))
            several = value.get("class-map")
            for number, label in several.items() if isinstance(several, dict) else ():
                yield label, int(number) if number.isascii() and number.isdecimal() else None


def _numbers(lines: list[Record], classes: Iterable[str]) -> dict[str, int]:
    """Return the number of each class: the one that the manifest has for it, else the next that is free."""
    known: dict[str, set[int]] = {}
    for line in lines:
        for label, number in _known_numbers(line):
            if isinstance(label, str) and isinstance(number, int) and not isinstance(number, bool):
                known.setdefault(label, set()).add(number)
    classes = list(dict.fromkeys(classes))
    found = {label: min(numbers) for label, numbers in known.items() if label in classes and len(numbers) == 1}
    taken = [number for numbers in known.values() for number in numbers]
    if len(set(found.values())) < len(found):  # two classes under one number: two jobs with numbers of their own
        found, taken = {}, []
    free = max(taken, default=-1) + 1
    rest = [label for label in classes if label not in found]
    numbers = found | {label: free + k for k, label in enumerate(rest)}
    return {label: numbers[label] for label in classes}


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    labels.refuse_made_labels("Ground Truth")
    name = options.attribute
    if not re.fullmatch(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,126}", name) or name.endswith(("metadata", "-ref")):
        raise OptionError(
            f"attribute={name!r} must be letters, digits and hyphens, and end neither in 'metadata' nor in '-ref'.",
            parameter="attribute",
        )
    found = needed_export(export, "Ground Truth", "the manifest")
    lines = manifest_lines(found)
    if not any(lines):
        raise FileError(f"{found.path} has no output.manifest; name the manifest of the job with export=...")
    if any(name in line for line in lines):
        raise OptionError(f"The manifest has an attribute {name!r} already; choose another with attribute=...")
    labels = labels.named((row for row, line in enumerate(lines) if line), GROUND_TRUTH)
    usual = "groundtruth/text-classification" if any("source" in line for line in lines) else ""
    is_set = labels.has_sets
    kind = next(_kinds(lines), usual or "groundtruth/image-classification").removesuffix(_SEVERAL)
    kind += _SEVERAL if is_set else ""
    written = datetime.fromtimestamp(labels.path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    code = _numbers(lines, (option for label in labels.classes for option in labels.options(label)))
    items: list[dict[str, Any]] = []
    for one in labels.labels:
        chosen = {code[option]: option for option in labels.options(one.label)}
        metadata = {
            **(_of_several(chosen, one.score) if is_set else {"class-name": one.label, "confidence": one.score}),
            "human-annotated": "yes",
            "creation-date": written,
            "type": kind,
            "job-name": f"labeling-job/{name}",
            "model-version": labels.model_version,
        }
        value = list(chosen) if is_set else code[one.label]
        items.append({**lines[int(one.task)], name: value, f"{name}{_METADATA}": metadata})
    notes = [f"the numbers of {name!r} stand for {', '.join(f'{k}: {label}' for label, k in code.items())}"]
    if is_set:
        notes.append("the confidence of each class is the probability of the whole set, which is at most its own")
    return Form(items, as_json_lines(items), None, tuple(notes))


def _of_several(chosen: Mapping[int, str], score: float) -> dict[str, Any]:
    """Return the part of the metadata that names the classes of a set."""
    classes = {str(number): option for number, option in chosen.items()}
    return {"class-map": classes, "confidence-map": dict.fromkeys(classes, score)}


GROUND_TRUTH_MANIFEST = PlatformForm(
    "ground-truth",
    "Ground Truth",
    ".manifest",
    _fill,
    "upload it to S3 and name it as the input manifest of a job, or as training data",
)
