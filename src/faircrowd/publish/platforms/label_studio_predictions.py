"""Label Studio: predictions for the tasks of a project, or tasks with predictions for a new one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import InputError, OptionError
from faircrowd.publish.finished_labels import FinishedLabels
from faircrowd.publish.platform_form import Form, FormOptions, Item, PlatformForm, as_json, by_id
from faircrowd.publish.push.label_studio_push import label_studio_headers, plan_predictions
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.label_studio import LABEL_STUDIO, listed_objects

__all__ = ["LABEL_STUDIO_PREDICTIONS", "Control", "controls_of", "prediction"]

_TEXTS = ("textarea",)
_PLAIN = ("choices", "rating", "number", "taxonomy")
"""The controls whose answers are labels of whole tasks."""


@dataclass(frozen=True, slots=True)
class Control:
    """A question of a project, as results name it: ``from_name``, ``to_name`` and ``type``."""

    name: str
    about: str
    kind: str

    def result(self, options: Sequence[str]) -> Item:
        """Return the options of a label as the result of this control.

        Examples
        --------
        >>> Control("sentiment", "text", "choices").result(["good"])["value"]
        {'choices': ['good']}
        >>> Control("stars", "text", "rating").result(["4"])["value"]
        {'rating': 4}
        """
        return {"from_name": self.name, "to_name": self.about, "type": self.kind, "value": self._value(options)}

    def _value(self, options: Sequence[str]) -> dict[str, Any]:
        if self.kind in ("rating", "number"):
            try:
                number = float(options[0])
            except ValueError:
                raise InputError(
                    f"{options[0]!r} is no number, as {self.name!r} of type {self.kind} asks for."
                ) from None
            return {self.kind: int(number) if number.is_integer() else number}
        if self.kind == "taxonomy":
            return {self.kind: [option.split(" / ") for option in options]}
        return {self.kind: list(options)}


def prediction(control: Control, options: Sequence[str], score: float, version: str) -> Item:
    """Return a prediction for one task.

    Its results have no ids: an annotator who submits what was predicted casts a vote, and the reader of exports would
    take a result whose id begins with ``faircrowd`` for one that was written back.
    """
    return {"model_version": version, "score": score, "result": [control.result(options)]}


def controls_of(tasks: Iterable[Record]) -> dict[str, Control]:
    """Return the questions that the annotations of tasks answer, but for those answered in words."""
    found: dict[str, Control] = {}
    for task in tasks:
        for name in ("annotations", "completions"):
            for annotation in listed_objects(task.get(name)):
                for result in listed_objects(annotation.get("result")):
                    control = _control(result)
                    if control is not None:
                        found.setdefault(control.name, control)
    return found


def _control(result: Record) -> Control | None:
    name, about, kind = (result.get(part) for part in ("from_name", "to_name", "type"))
    if not (isinstance(name, str) and isinstance(about, str) and isinstance(kind, str)) or kind in _TEXTS:
        return None
    return Control(name, about, kind)


def _find_control(labels: FinishedLabels, known: Mapping[str, Control], options: FormOptions) -> Control:
    name = options.question or labels.question
    if name is None and len(known) == 1:
        name = next(iter(known))
    if name is None:
        listed = f": {few(sorted(known))}" if known else ""
        raise OptionError(f"Label Studio asks which question the labels answer; name it with question=...{listed}.")
    control = known.get(name)
    about, kind = options.to_name or (control and control.about), options.control_type or (control and control.kind)
    if not about:
        where = "no export of JSON is at hand" if not known else f"the export has answers to {few(sorted(known))} alone"
        raise OptionError(
            f"Label Studio asks what {name!r} is about (toName in the labelling configuration), and {where}; name it "
            "with to_name=..., or give export=..., the JSON export."
        )
    kind = kind or "choices"
    if kind not in _PLAIN:
        raise OptionError(
            f"{name!r} is a control of type {kind!r}, whose answers are parts of a task; labels of whole tasks are "
            f"written to {few(_PLAIN)} (control_type=...)."
        )
    return Control(name, about, kind)


def _fill(labels: FinishedLabels, export: ExportFile | None, options: FormOptions) -> Form:
    labels.refuse_made_labels("Label Studio")
    labels.refuse_other_ids(LABEL_STUDIO)
    tasks = [] if export is None else list(export.records())
    is_json = export is not None and export.kind in ("json", "jsonl")
    control = _find_control(labels, controls_of(tasks) if is_json else {}, options)
    records = by_id(tasks, "id")
    if records:
        labels = labels.named(records, LABEL_STUDIO)
    wrong = [one.task for one in labels.labels if not str(one.task).isdecimal()]
    if wrong and not options.with_data:
        raise InputError(f"{labels.path}: {few(wrong)} are no ids of Label Studio, which are whole numbers.")
    items = []
    for one in labels.labels:
        made = prediction(control, labels.options(one.label), one.score, labels.model_version)
        if not options.with_data:
            items.append({"task": int(one.task), **made})
            continue
        record = records.get(one.task, {})
        if not isinstance(record.get("data"), dict):
            raise OptionError(
                f"Task {one.task} has no data, which a new project needs; give export=..., the JSON export."
            )
        extra = {"meta": record["meta"]} if isinstance(record.get("meta"), dict) and record["meta"] else {}
        items.append({"data": record["data"], **extra, "predictions": [made]})
    return Form(items, as_json(items), control.name)


LABEL_STUDIO_PREDICTIONS = PlatformForm(
    "label-studio",
    "Label Studio",
    ".json",
    _fill,
    "POST it to /api/projects/N/import/predictions, or let push=... do so; with_data=True writes tasks that a new "
    "project imports",
    plan_predictions,
    label_studio_headers,
)
