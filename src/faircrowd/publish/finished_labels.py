"""The labels of a finished run, as they go back to a platform: read from its folder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import few
from faircrowd.errors import FileError, InputError, OptionError
from faircrowd.storage.output_folder import neutralised
from faircrowd.storage.untrusted import FAULTS, read_json
from faircrowd.votes.exports.answers import ExportFormat
from faircrowd.votes.exports.questions import JOIN
from faircrowd.votes.readers import read_columns, read_header

__all__ = ["NAME", "FinishedLabels", "Id", "TaskLabel", "read_finished", "version_of"]

NAME = "faircrowd"
"""How the version of a model, the agent or the session begins under which labels are written back."""
_LABELS, _SUMMARY = "labels.csv", "summary.json"
_MAKING_LABELS = ("multi", "bins")
"""How a run may have made labels that are no answers on the platform."""
_TASK = "task"
"""What readers of exports call the id of a task."""

Id: TypeAlias = str | int
"""The id of a task, as the platform has it."""


@dataclass(frozen=True, slots=True)
class TaskLabel:
    """The label of one task.

    Attributes
    ----------
    task : str or int
    label : str
    score : float
        The probability of the label, as the run has it.
    changed : bool
        Whether it differs from the aggregator's own label.
    """

    task: Id
    label: str
    score: float
    changed: bool


@dataclass(frozen=True, eq=False)
class FinishedLabels:
    """The labels of a run, and what the run says about them.

    Attributes
    ----------
    folder : Path
    labels : list of TaskLabel
        In the order of the run.
    classes : tuple of str
        All classes of the run.
    model_version : str
        What the platform is told that they come from, such as ``faircrowd eps=0.05``.
    is_calibrated : bool
        Whether the scores were calibrated on known labels.
    votes : Path or None
        The file of votes of the run, often the export of the platform; None if the votes were in memory.
    reading : mapping
        How it was read: the question (``label``), ``format``, ``multi``, ``bins``.
    in_all : int
        How many tasks the run has.
    left_out : mapping
        How many of them are not published, by reason.
    is_table : bool
        Whether the votes are a plain table, which knows tasks by the ids that its author gave them.
    """

    folder: Path
    labels: list[TaskLabel]
    classes: tuple[str, ...]
    model_version: str
    is_calibrated: bool
    votes: Path | None
    reading: Mapping[str, Any]
    in_all: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    is_table: bool = False

    @property
    def path(self) -> Path:
        """The file of the labels."""
        return self.folder / _LABELS

    @property
    def question(self) -> str | None:
        """The question that the votes answer, if the run was told."""
        found = self.reading.get("label")
        return found if isinstance(found, str) else None

    @property
    def has_sets(self) -> bool:
        """Whether a label is a set of options."""
        return bool(self.reading.get("multi") == "set")

    @property
    def n_changed(self) -> int:
        """How many of the labels differ from the aggregator's own."""
        return sum(one.changed for one in self.labels)

    def refuse_other_ids(self, platform: ExportFormat) -> None:
        """Raise if the run knows tasks by another name than the platform, whose ids may be equal by accident."""
        task = self.reading.get("task")
        if self.is_table:  # the platform's ids may be in any column
            return
        if task not in (None, _TASK) and platform.own_names.get(task) != _TASK:
            raise InputError(
                f"The run in {self.folder} took {task!r} for the id of a task, which the platform does not know tasks "
                "by; aggregate again without task=..., or publish a table with to='csv'."
            )

    def named(self, tasks: Iterable[Id], platform: ExportFormat) -> "FinishedLabels":
        """Return the labels with the ids of an export instead of the texts under which labels.csv has them.

        Parameters
        ----------
        tasks : iterable of str or int
            The ids of the export.
        platform : ExportFormat
            How the export is read.

        Raises
        ------
        InputError
            If a task of the run is not in the export, or the run has ids of another kind.
        """
        self.refuse_other_ids(platform)
        known = list(tasks)
        texts = neutralised(pa.chunked_array([[str(task) for task in known]], pa.string()))
        ids = dict(zip(texts.to_pylist(), known, strict=True))
        lacking = [one.task for one in self.labels if str(one.task) not in ids]
        if lacking:
            raise InputError(
                f"{len(lacking):,} of the {len(self.labels):,} tasks to publish are not in the export, such as "
                f"{few(lacking)}; is it the export that the votes of {self.folder} were read from? Name it with "
                "export=..."
            )
        return replace(self, labels=[replace(one, task=ids[str(one.task)]) for one in self.labels])

    def refuse_made_labels(self, where: str) -> None:
        """Raise if the labels are no answers that the platform knows: bins of scores, or yes and no to one option."""
        for name in _MAKING_LABELS:
            if self.reading.get(name) not in (None, "error", "set", [], ()):
                raise OptionError(
                    f"The labels of {self.folder} were made with {name}={self.reading[name]!r}, so {where} does not "
                    "know them as answers; publish them as a table with to='csv'."
                )

    def options(self, label: str) -> list[str]:
        """Return the options that a label stands for: one, or those of a set."""
        return label.split(JOIN) if self.has_sets else [label]

    def notes(self) -> list[str]:
        """Return what a reader should know about the labels."""
        found = [f"{count:,} of {self.in_all:,} tasks are not published: {why}" for why, count in self.left_out.items()]
        if self.is_table:
            task = self.reading.get("task") or _TASK
            found.append(
                f"tasks go by the column {task!r} of {self.votes}; make sure that it has the platform's own ids"
            )
        if not self.is_calibrated:
            found.append(
                "scores are the posterior probabilities of the model, which is often too sure; calibrate=... of "
                "aggregate learns from known labels what they are worth"
            )
        return found


def read_finished(folder: Path, *, changed_only: bool = False, model_version: str | None = None) -> FinishedLabels:
    """Read the labels of a run from its folder.

    Parameters
    ----------
    folder : Path
        As ``faircrowd aggregate`` or ``FairCrowd.write`` wrote it.
    changed_only : bool
        Whether to take only the labels that differ from the aggregator's own.
    model_version : str, optional
        What the platform is told that the labels come from; by default faircrowd and what the labels keep.
    """
    if folder.is_file():
        raise FileError(
            f"{folder} is a file; publish takes the folder that aggregate has written its labels into (the export that "
            "the votes came from is named with export=..., if it has moved)."
        )
    if not folder.is_dir():
        raise FileError(f"There is no folder {folder}.")
    if not (folder / _LABELS).exists():
        raise FileError(f"{folder} has no {_LABELS}; give the folder of a run of aggregate.")
    summary = read_json(folder / _SUMMARY, "summary")
    try:
        options = summary["options"]
        classes = tuple(map(str, summary["class_shares"]))
        is_fair, reading = bool(summary["made_fair"]), dict(options["reading"])
        votes = None if options["votes"] is None else Path(options["votes"])
        calibrated = bool(options.get("calibrated")) or options["method"] == "calibrated"
        version = _checked(model_version) if model_version is not None else _version(options, is_fair)
        kept, in_all = _read_labels(folder / _LABELS, classes, is_fair)
    except (KeyError, *FAULTS) as error:
        if isinstance(error, FileError | InputError | OptionError):
            raise
        raise InputError(f"{folder} is not the folder of a run that can be published: {error!r}.") from None
    left_out = {"they are left to a person": in_all - len(kept)} if len(kept) < in_all else {}
    if changed_only:
        changed = [one for one in kept if one.changed]
        if len(changed) < len(kept):
            left_out["their label is the aggregator's own"] = len(kept) - len(changed)
        kept = changed
    return FinishedLabels(folder, kept, classes, version, calibrated, votes, reading, in_all, left_out)


def _read_labels(path: Path, classes: tuple[str, ...], is_fair: bool) -> tuple[list[TaskLabel], int]:
    """Return the rows of labels.csv that have a label, and how many rows there are: a person labels the others."""
    posteriors = [_in_file(f"posterior_{name}") for name in classes]
    header = read_header(path)
    names = ["task", "label", *(["changed"] if is_fair else []), *posteriors]
    table = pa.table(read_columns(path, [*names, *(["review"] if "review" in header else [])]))
    seen = pa.array([str(one) for one in table["task"].to_pylist()])
    if len(pc.unique(seen)) < table.num_rows:
        raise InputError(f"{path} has a task twice; was it edited?")
    found = table.filter(pa.array([not one for one in _truths(table["review"])])) if "review" in header else table
    label = [str(cell) for cell in found["label"].to_pylist()]
    code = {_in_file(name): k for k, name in enumerate(classes)}
    unknown = sorted(set(label) - set(code))
    if unknown:
        raise InputError(f"{path} has labels that {_SUMMARY} beside it does not know: {few(unknown)}.")
    probabilities = np.column_stack([np.asarray(found[name]).astype(np.float64) for name in posteriors])
    chosen = np.array([code[one] for one in label], dtype=np.intp)
    scores = probabilities[np.arange(chosen.size), chosen]
    if not ((scores >= 0) & (scores <= 1 + 1e-9)).all():
        raise InputError(f"{path} has a posterior probability that is not between 0 and 1; was it edited?")
    changed = _truths(found["changed"]) if is_fair else [False] * len(label)
    rows = [
        TaskLabel(task, classes[k], min(float(score), 1.0), is_changed)
        for task, k, score, is_changed in zip(found["task"].to_pylist(), chosen, scores, changed, strict=True)
    ]
    return rows, table.num_rows


def _truths(column: Any) -> list[bool]:
    return [str(cell).lower() == "true" for cell in column.to_pylist()]


def _in_file(name: str) -> str:
    """Return a text as it stands in a file for spreadsheets."""
    return str(neutralised(pa.chunked_array([[name]]))[0].as_py())


def _version(options: Mapping[str, Any], is_fair: bool) -> str:
    """Return faircrowd with what the labels keep, or else with the method."""
    return version_of(options.get("epsilon"), options.get("require", [])) if is_fair else f"{NAME} {options['method']}"


def version_of(epsilon: float | None, require: Sequence[str]) -> str:
    """Return faircrowd with what labels keep.

    Examples
    --------
    >>> version_of(0.05, []), version_of(None, ["changed <= 0.1"])
    ('faircrowd eps=0.05', 'faircrowd changed <= 0.1')
    """
    kept = [] if epsilon is None else [f"eps={epsilon:g}"]
    return f"{NAME} {'; '.join([*kept, *require])}"


def _checked(version: str) -> str:
    if not version.strip() or len(version) > 200 or not version.isprintable():
        raise OptionError("model_version must be a text of 1 to 200 characters on one line.", parameter="model_version")
    return version
