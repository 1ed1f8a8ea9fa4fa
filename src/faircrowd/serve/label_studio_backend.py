"""What Label Studio asks a machine-learning backend for, answered with the fair consensus of the votes so far.

``/predict`` hands over tasks with all their annotations, ``/webhook`` what has changed since. Both update the votes of
the project. ``/setup`` hands over a token of Label Studio, which is neither kept nor shown.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faircrowd.errors import InputError
from faircrowd.publish.platforms.label_studio_predictions import prediction
from faircrowd.serve.live_consensus import Consensus, ConsensusOptions, find_consensus
from faircrowd.serve.live_votes import LiveVotes, fingerprint, whole_number
from faircrowd.votes.exports.answers import Record

__all__ = ["LabelStudioBackend"]

_MOST_PROJECTS = 100
_NEW = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
_GONE, _TASKS_GONE = "ANNOTATIONS_DELETED", "TASKS_DELETED"
"""What webhooks tell that changes votes."""


@dataclass
class _Project:
    votes: LiveVotes
    consensus: Consensus | None = None


@dataclass
class LabelStudioBackend:
    """The state of a backend, and its answers.

    Attributes
    ----------
    options : ConsensusOptions
    question : str, optional
        The question whose answers are the labels.
    tell : function of a line
        Reports what happens.
    """

    options: ConsensusOptions
    question: str | None = None
    tell: Callable[[str], None] = lambda line: None
    _projects: dict[str, _Project] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: str) -> Any:
        """Answer a GET request; None if there is no such page."""
        if path in ("/", "/health"):
            return {"status": "UP", "model_class": "faircrowd"}
        return {"versions": []} if path == "/versions" else None

    def post(self, path: str, body: Any) -> Any:
        """Answer a POST request; None if there is no such page.

        Raises
        ------
        InputError
            If the request is not one of Label Studio.
        """
        answers: dict[str, Callable[[Record], Any]] = {
            "/setup": self._setup,
            "/predict": self._predict,
            "/webhook": self._webhook,
        }
        if path in ("/delete", "/duplicate_model", "/train"):
            return {}
        if path not in answers:
            return None
        if not isinstance(body, dict):
            raise InputError("The request must be a JSON object.")
        with self._lock:
            return answers[path](body)

    def load(self, project: str, tasks: Any) -> int:
        """Take tasks with their annotations, as of an export; return how many."""
        with self._lock:
            known = self._project(project)
            count = 0
            try:
                for task in tasks:
                    known.votes.set_task(task)
                    count += 1
            finally:
                known.consensus = None
        return count

    def _project(self, name: object) -> _Project:
        """Return the project of a request, by its number; Label Studio adds the time when it was made."""
        if isinstance(name, Mapping):
            name = name.get("id")
        key = str(name).split(".", 1)[0] if isinstance(name, str | int) and not isinstance(name, bool) else ""
        if not key.isascii() or not key.isdecimal() or len(key) > 18:
            raise InputError("The request names no project.")
        if key not in self._projects:
            if len(self._projects) >= _MOST_PROJECTS:
                raise InputError(f"There are more than {_MOST_PROJECTS} projects.")
            self._projects[key] = _Project(LiveVotes(self.question, self.options.group))
        return self._projects[key]

    def _setup(self, body: Record) -> Any:
        project = self._project(body.get("project"))
        return {"model_version": self._consensus(project).version}

    def _consensus(self, project: _Project) -> Consensus:
        """Return the consensus of the votes so far; it is found anew only where they have changed."""
        if project.consensus is None:
            table = project.votes.table()
            found = find_consensus(table, self.options)
            version = f"{found.version} #{fingerprint(table)}"  # Label Studio asks again only where the version is new
            project.consensus = replace(found, version=version)
            aside = sum(project.votes.left_out.values())
            line = (
                f"{version}: {table.num_rows:,} votes on {project.votes.n_tasks:,} tasks, {aside:,} annotations aside"
            )
            self.tell(line + (f"; {found.why}" if found.why else ""))
        return project.consensus

    def _predict(self, body: Record) -> Any:
        project = self._project(body.get("project"))
        tasks = body.get("tasks")
        if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
            raise InputError("The request has no list of tasks.")
        is_new = False
        try:
            for task in tasks:
                is_new = project.votes.set_task(task) or is_new
        finally:  # what was taken before a task that is refused counts
            if is_new:
                project.consensus = None
        consensus, control = self._consensus(project), project.votes.control()
        results: list[Any] = []
        for task in tasks:
            found = consensus.labels.get(task["id"])
            results.append(
                [] if control is None or found is None else prediction(control, [found[0]], found[1], consensus.version)
            )
        return {"results": results, "model_version": consensus.version}

    def _webhook(self, body: Record) -> Any:
        action = body.get("action")
        if "project" not in body or action not in (*_NEW, _GONE, _TASKS_GONE):
            return {"status": "ignored"}
        project = self._project(body["project"])
        votes = project.votes
        annotations, tasks = _listed(body, "annotation"), _listed(body, "task")
        try:
            if action in _NEW:
                facts = {number: task for task in tasks if (number := whole_number(task.get("id"))) is not None}
                for annotation in annotations:
                    number = whole_number(annotation.get("task"))
                    votes.set_annotation(number, annotation, None if number is None else facts.get(number))
            elif action == _GONE:
                votes.remove_annotations(annotation.get("id") for annotation in annotations)
            else:
                votes.remove_tasks(task.get("id") for task in tasks)
        finally:  # what was taken before an annotation that is refused counts
            project.consensus = None
        return {"status": "ok"}


def _listed(body: Record, name: str) -> list[Record]:
    """Return what a webhook is about: one object, or several, under the name in the singular or in the plural."""
    found: list[Record] = []
    for key in (name, f"{name}s"):
        value = body.get(key)
        found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
    return found
