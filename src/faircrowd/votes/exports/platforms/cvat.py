"""CVAT: tags of frames, by the jobs of its API (``jobs``, ``annotations`` and ``labels`` as JSON) or in XML.

A job with ``consensus_replicas`` is done several times, each time in a replica (``parent_job_id``); what the parent
itself holds was merged from the replicas. The answers of a job of type ``ground_truth`` are known labels.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from faircrowd.errors import FileError
from faircrowd.votes.exports.answer_values import an_id
from faircrowd.votes.exports.answers import Answer, ExportFormat, Record
from faircrowd.votes.exports.export_file import ExportFile
from faircrowd.votes.exports.platforms.cvat_xml import is_cvat_xml, xml_answers

__all__ = ["CVAT"]

_PARTS = ("jobs", "annotations", "labels")
_TAG = "tag"
_MOST_FRAMES = 1_000_000


def _recognises(export: ExportFile) -> bool:
    if export.kind == "xml":
        return is_cvat_xml(export.head)
    if not export.holds_files:
        return False
    first = next((name for name in export.members if name.endswith(".xml")), None)
    return set(_PARTS) <= set(_files(export)) or (
        first is not None and any(is_cvat_xml(content) for _, content in export.contents(lambda name: name == first))
    )


def _files(export: ExportFile) -> dict[str, str]:
    """Return the JSON files of an export by their names without the ending, if all that it holds is in one folder."""
    found = {PurePosixPath(name).stem: name for name in export.members if name.endswith(".json")}
    folders = {PurePosixPath(name).parent for name in export.members}
    return found if len(folders) == 1 else {}


def _answers(export: ExportFile) -> Iterator[Answer]:
    files = _files(export) if export.kind != "xml" else {}
    if set(_PARTS) <= set(files):
        yield from _of_jobs(export, {files[part]: part for part in _PARTS})
    elif export.kind == "xml":
        with export.open() as stream:
            yield from xml_answers(stream.read(), str(export.path), export.stem)
    else:
        for name, content in export.contents(lambda name: name.endswith(".xml")):
            yield from xml_answers(content, f"{export.path}, {name}", name)


def _of_jobs(export: ExportFile, names: dict[str, str]) -> Iterator[Answer]:
    parts = {names[name]: value for name, value in export.parts(lambda name: name in names)}
    labels = {an_id(one.get("id")): one for one in _results(parts["labels"], export)}
    jobs = _results(parts["jobs"], export)
    by_job = parts["annotations"].get("job") if isinstance(parts["annotations"], dict) else None
    if not isinstance(by_job, dict):
        raise FileError(f"{export.path}: annotations.json has no object 'job' with the annotations of each job.")
    has_replicas = any(job.get("type") == "consensus_replica" for job in jobs)
    for job in sorted(jobs, key=lambda job: str(job.get("id"))):
        annotations = by_job.get(str(job.get("id")))
        tags = annotations.get("tags") if isinstance(annotations, dict) else None
        yield from _of_job(job, tags if isinstance(tags, list) else [], labels, has_replicas)


def _results(part: Any, export: ExportFile) -> list[Record]:
    if isinstance(part, dict) and part.get("next"):
        raise FileError(
            f"{export.path}: jobs.json or labels.json is one page of several; ask for all with page_size=..."
        )
    found = part.get("results") if isinstance(part, dict) else part
    if not isinstance(found, list):
        raise FileError(f"{export.path}: jobs.json and labels.json must have a list 'results', as CVAT's API returns.")
    return [one for one in found if isinstance(one, dict)]


def _of_job(job: Record, tags: list[Any], labels: dict[Any, Record], has_replicas: bool) -> Iterator[Answer]:
    """Yield what a job says about each of its frames."""
    frames: dict[int, dict[str, list[str]]] = {}
    first, last = job.get("start_frame"), job.get("stop_frame")
    if isinstance(first, int) and isinstance(last, int) and job.get("media_type") != "audio":
        frames = {frame: {} for frame in range(first, min(last, first + _MOST_FRAMES) + 1)}
    for tag in tags:
        label = labels.get(an_id(tag.get("label_id"))) if isinstance(tag, dict) else None
        if label is not None and isinstance(tag.get("frame"), int):
            found = frames.setdefault(tag["frame"], {})
            found.setdefault(_TAG, []).append(str(label.get("name")))
            for name, value in _attributes(tag, label):
                found.setdefault(f"{label.get('name')}.{name}", []).append(value)
    is_golden = job.get("type") == "ground_truth"
    reason = _reason(job, has_replicas)
    assignee = job.get("assignee")
    worker = assignee.get("id") if isinstance(assignee, dict) else None
    for frame, answers in sorted(frames.items()):
        if reason and not answers:
            continue
        golden = {name: given[0] for name, given in answers.items() if len(given) == 1} if is_golden else {}
        yield Answer(
            f"{job.get('task_id')}/{frame}",
            an_id(worker) if worker is not None else f"job-{job.get('id')}",
            answers,
            facts={"task_id": job.get("task_id"), "task_name": job.get("task_name"), "frame": frame},
            golden=golden,
            left_out=reason or (None if answers else "not answered"),
        )


def _reason(job: Record, has_replicas: bool) -> str | None:
    """Return why a job is no vote."""
    if job.get("type") == "ground_truth":
        return "ground truth"
    if job.get("state") == "rejected":
        return "rejected"
    if job.get("consensus_replicas"):
        return "merged from replicas"
    return "not a replica" if has_replicas and job.get("type") != "consensus_replica" else None


def _attributes(tag: Record, label: Record) -> Iterator[tuple[str, str]]:
    known, given = label.get("attributes"), tag.get("attributes")
    specs = [one for one in known if isinstance(one, dict)] if isinstance(known, list) else []
    names = {an_id(one.get("id")): str(one.get("name")) for one in specs}
    for one in given if isinstance(given, list) else ():
        name = names.get(an_id(one.get("spec_id"))) if isinstance(one, dict) else None
        if name is not None and str(one.get("value") or "").strip():
            yield name, str(one["value"])


CVAT = ExportFormat(
    "cvat",
    "tags of CVAT",
    _recognises,
    _answers,
    "a folder with `jobs.json`, `annotations.json` and `labels.json`, or XML with `annotations` and `image`",
)
