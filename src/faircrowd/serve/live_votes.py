"""The votes of a project so far: updated task by task, and annotation by annotation."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from faircrowd.errors import InputError
from faircrowd.publish.platforms.label_studio_predictions import Control, controls_of
from faircrowd.votes.exports.answers import FreeText, Record, microseconds
from faircrowd.votes.exports.platforms.label_studio import answer_of_annotation

__all__ = ["LiveVotes", "fingerprint", "whole_number"]

_MOST_ANNOTATIONS = 5_000_000
"""How many annotations are kept at most."""


@dataclass(frozen=True, slots=True)
class _Annotation:
    """What an annotation says: the label by question."""

    worker: str | None
    labels: Mapping[str, str | None]
    time: int
    left_out: str | None


@dataclass
class _Task:
    groups: tuple[str | None, ...]
    annotations: dict[int, _Annotation] = field(default_factory=dict)


@dataclass
class LiveVotes:
    """The annotations of one project, as they stand.

    Attributes
    ----------
    question : str, optional
        The question whose answers are the labels; by default the only one that is not answered in words.
    group : tuple of str
        Where the groups are in a task, such as ``data.gender``.
    controls : dict
        The questions that annotations answer, by name.
    left_out : dict
        How many annotations the last :meth:`table` left out, by reason.
    """

    question: str | None = None
    group: tuple[str, ...] = ()
    controls: dict[str, Control] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    _tasks: dict[int, _Task] = field(default_factory=dict)
    _count: int = 0

    @property
    def n_tasks(self) -> int:
        """How many tasks are known."""
        return len(self._tasks)

    def set_task(self, task: Record) -> bool:
        """Take a task with all its annotations instead of what was known about it; return whether that is new.

        Raises
        ------
        InputError
            If it has no id, or holds text that is none; then all is as before.
        """
        number = whole_number(task.get("id"))
        if number is None:
            raise InputError("A task has no id, or one that is no whole number.")
        annotations = task.get("annotations") or ()
        if not isinstance(annotations, list | tuple):
            raise InputError(f"The annotations of task {number} are no list.")
        after, controls = _Task(self._groups(task)), dict[str, Control]()
        for annotation in annotations:
            if isinstance(annotation, dict):
                key, read, asked = _read_annotation(number, annotation)
                after.annotations[key] = read
                controls = asked | controls
        before = self._tasks.get(number)
        self._add(len(after.annotations) - (0 if before is None else len(before.annotations)))
        self._tasks[number] = after
        self.controls = controls | self.controls
        return before != after

    def set_annotation(self, task: object, annotation: Record, of_task: Record | None = None) -> None:
        """Take one annotation of a task; a later state of the same annotation replaces it.

        Parameters
        ----------
        of_task : mapping, optional
            The task, with its data.

        Raises
        ------
        InputError
            If it has no id or no task, or holds text that is none; then all is as before.
        """
        number = whole_number(task)
        if number is None:
            raise InputError("An annotation has no id or no task, or one that is no whole number.")
        key, read, controls = _read_annotation(number, annotation)
        groups = None if of_task is None else self._groups(of_task)
        known = self._tasks.get(number, _Task((None,) * len(self.group)))
        self._add(int(key not in known.annotations))
        known.annotations[key] = read
        known.groups = known.groups if groups is None else groups
        self._tasks[number] = known
        self.controls = controls | self.controls

    def _add(self, count: int) -> None:
        if count > 0 and self._count + count > _MOST_ANNOTATIONS:
            raise InputError(f"There are more than {_MOST_ANNOTATIONS:,} annotations.")
        self._count += count

    def _groups(self, task: Record) -> tuple[str | None, ...]:
        found = tuple(_value_at(task, path) for path in self.group)
        _check_text(found)
        return found

    def remove_annotations(self, keys: Iterable[object]) -> None:
        """Forget annotations that were deleted."""
        gone = {whole_number(key) for key in keys}
        for task in self._tasks.values():
            for key in gone & set(task.annotations):
                if key is not None:
                    del task.annotations[key]
                    self._count -= 1

    def remove_tasks(self, numbers: Iterable[object]) -> None:
        """Forget tasks that were deleted."""
        for number in numbers:
            key = whole_number(number)
            task = None if key is None else self._tasks.pop(key, None)
            self._count -= 0 if task is None else len(task.annotations)

    def control(self) -> Control | None:
        """Return the question whose answers are the labels; None if nobody has answered it.

        Raises
        ------
        InputError
            If there are several to choose from.
        """
        if self.question is not None:
            return self.controls.get(self.question)
        if len(self.controls) > 1:
            names = ", ".join(sorted(self.controls))
            raise InputError(f"The project has several questions ({names}); start the server with label=...")
        return next(iter(self.controls.values()), None)

    def table(self) -> pa.Table:
        """Return the votes as a table: ``task``, ``worker``, ``label`` and the columns of the groups."""
        control = self.control()
        self.left_out = {}
        rows = [] if control is None else list(self._rows(control.name))
        names = ("task", "worker", "label", *self.group)
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        kinds = {"task": pa.int64()}
        return pa.table({n: pa.array(list(c), kinds.get(n, pa.string())) for n, c in zip(names, columns, strict=True)})

    def _rows(self, question: str) -> Iterator[tuple[Any, ...]]:
        for number in sorted(self._tasks):
            task = self._tasks[number]
            last: dict[str, tuple[int, int, str]] = {}
            for key, one in task.annotations.items():
                label, why = one.labels.get(question), one.left_out
                if why is None and label is not None and one.worker is not None:
                    at = (one.time, key, label)
                    last[one.worker] = max(last.get(one.worker, at), at)
                else:
                    why = why or "no answer, or several at once"
                    self.left_out[why] = self.left_out.get(why, 0) + 1
            for worker in sorted(last):
                yield (number, worker, last[worker][2], *task.groups)


def _read_annotation(task: int, annotation: Record) -> tuple[int, _Annotation, dict[str, Control]]:
    """Return the number of an annotation, what it says, and the questions that it answers."""
    key = whole_number(annotation.get("id"))
    if key is None:
        raise InputError("An annotation has no id or no task, or one that is no whole number.")
    controls = controls_of([{"annotations": [annotation]}])
    answer = answer_of_annotation(task, annotation, {})
    worker = None if answer.worker is None else str(answer.worker)
    labels = {name: _label(value) for name, value in answer.answers.items()}
    _check_text([worker, *labels, *labels.values()])
    for control in controls.values():
        _check_text([control.name, control.about, control.kind])
    return key, _Annotation(worker, labels, microseconds(answer.time) or 0, answer.left_out), controls


def _check_text(values: Iterable[str | None]) -> None:
    """Raise if a text is none: JSON may hold halves of characters, which no file or table can."""
    try:
        "".join(value for value in values if value is not None).encode()
    except UnicodeEncodeError:
        raise InputError("The request holds text that cannot be written as UTF-8.") from None


def fingerprint(table: pa.Table) -> str:
    """Return a short text that differs where votes differ."""
    found = hashlib.sha256()
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.update(repr(row).encode())
    return found.hexdigest()[:8]


def _value_at(facts: Record, path: str) -> str | None:
    """Return a fact by its dotted name, as text; ``gender`` alone is looked up in ``data``, too.

    Examples
    --------
    >>> _value_at({"data": {"gender": "w", "age": 3}}, "data.gender"), _value_at({"data": {"gender": "w"}}, "gender")
    ('w', 'w')
    """
    for start in (facts, facts.get("data")):
        found: Any = start
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None and not isinstance(found, Mapping | list):
            return str(found) or None
    return None


def _label(answer: object) -> str | None:
    if isinstance(answer, list):
        answer = answer[0] if len(answer) == 1 else None
    return None if answer is None or isinstance(answer, FreeText) else str(answer) or None


def whole_number(value: object) -> int | None:
    """Return an id as Label Studio has them; None for anything else.

    Examples
    --------
    >>> whole_number(7), whole_number("7"), whole_number([7]), whole_number(True)
    (7, None, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None
