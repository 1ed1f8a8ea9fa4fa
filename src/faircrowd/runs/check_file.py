"""The gap of the labels in a file against a limit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faircrowd._checks import check_confidence, check_number, few
from faircrowd.audit.gate import Verdict, check_labels
from faircrowd.errors import FaircrowdError, InputError, OptionError
from faircrowd.fair.gap import within
from faircrowd.fair.tolerances import SLACK
from faircrowd.report.evidence import EVIDENCE, read_evidence
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.storage.content_hash import content_hash
from faircrowd.storage.output_folder import FORMULA
from faircrowd.votes import Vocabulary
from faircrowd.votes.encode import encode
from faircrowd.votes.facts import Facts, from_table
from faircrowd.votes.frames import ALIASES, find_column
from faircrowd.votes.group_policy import MIN_GROUP, left_out_lines
from faircrowd.votes.line_breaks import line_break_line, line_breaks
from faircrowd.votes.readers import read_header
from faircrowd.votes.vocabulary import Column

__all__ = ["CheckOptions", "check_file"]


@dataclass(frozen=True)
class CheckOptions:
    """Where labels and groups are, and how large the gap may be.

    Attributes
    ----------
    labels : Path
        A file with one row per task.
    epsilon : float
        The largest gap between groups allowed.
    group : tuple of str
        Columns with the sensitive group, of the tasks or the labels; several are intersected.
    tasks : Path or None
        A table with one row per task and its group, if that is not in ``labels``.
    confidence : float
        How sure a pass or a fail must be.
    task, label, delimiter : str or None
        Names of the columns, and the separator of a text file.
    these_tasks : bool
        Whether to judge the labels of these tasks alone.
    partial : bool
        Whether tasks of the table may lack a label.
    min_group, small_groups, on_missing_group
        Which groups are compared, as in :func:`faircrowd.read_votes`.
    """

    labels: Path
    epsilon: float
    group: tuple[str, ...]
    tasks: Path | None = None
    confidence: float = 0.95
    task: str | None = None
    label: str | None = None
    delimiter: str | None = None
    these_tasks: bool = False
    partial: bool = False
    min_group: int = MIN_GROUP
    small_groups: str = "leave-out"
    on_missing_group: str = "error"

    def to_dict(self) -> dict[str, Any]:
        """Return what the labels were read from, ready for JSON."""
        tasks = None if self.tasks is None else str(self.tasks)
        policy = {name: getattr(self, name) for name in ("partial", "min_group", "small_groups", "on_missing_group")}
        return {"labels": str(self.labels), "tasks": tasks, "group": list(self.group), **policy}


def check_file(options: CheckOptions, progress: Progress = QUIET) -> tuple[Verdict, list[str]]:
    """Check the gap of the labels in a file; return the verdict, and what there is to note."""
    check_number("epsilon", options.epsilon, low=0, high=1)
    if not options.group:
        raise OptionError("The gap is between groups; give group=...")
    check_confidence("confidence", options.confidence)
    with progress.waiting(f"reading {options.labels}"):
        labels, groups, notes, unlabelled = _read(options)
    with progress.waiting("finding the limits of the gap"):
        asked: dict[str, Any] = {
            "epsilon": options.epsilon,
            "confidence": options.confidence,
            "these_tasks": options.these_tasks,
            "min_group": options.min_group,
            "small_groups": options.small_groups,
            "on_missing_group": options.on_missing_group,
        }
        verdict = check_labels(labels, groups, **asked)
        certificate = _certificate(options, verdict) if options.these_tasks else None
        if certificate is not None:
            verdict = check_labels(labels, groups, **asked, gap_allowed=certificate["gap_allowed"])
            if not within(verdict.gap, options.epsilon):
                allowed = f"a gap of {certificate['gap_allowed']:.4f}"
                why = f": {certificate['why']}" if certificate["why"] else ""
                notes.append(f"these labels have a certificate, in {EVIDENCE} beside them; it allows {allowed}{why}")
    if unlabelled and not options.partial:
        raise InputError(f"{unlabelled}; label them, or check the others alone with partial=True.")
    more = [unlabelled] if unlabelled else []
    return verdict, [*notes, *more, *left_out_lines(verdict.left_out, verdict.groups)]


def _certificate(options: CheckOptions, verdict: Verdict) -> dict[str, Any] | None:
    """Return the certificate of labels that lie as ``aggregate`` has written them, if it is about this check.

    That is, about these groups, the gap that was found, and an epsilon that is no larger.
    """
    labels = options.labels
    try:
        said = read_evidence(labels.absolute().parent)
        certificate = said["certificate"]
        is_theirs = (
            said["outputs"][labels.name] == content_hash(labels)
            and said["options"]["group"] == list(options.group)
            and certificate["epsilon"] <= options.epsilon
            and abs(certificate["gap"] - verdict.gap) <= SLACK
            and 0 <= certificate["gap_allowed"] <= 1
        )
        return {"why": "", **certificate} if is_theirs else None
    except (FaircrowdError, LookupError, TypeError, AttributeError, ValueError):  # none, or of something else
        return None


def _read(options: CheckOptions) -> tuple[Facts, pa.Table, list[str], str]:
    """Return the label and the groups of each task, what there is to note, and which tasks have no label."""
    labels, tasks, task, label = options.labels, options.tasks, options.task, options.label
    names = read_header(labels, delimiter=options.delimiter)
    if task is not None:
        find_column("task", names, task, where=str(labels))
    if label is None and "agg_label" in names and not set(names) & set(ALIASES["label"]):
        label = "agg_label"  # as aggregators call it
    column = find_column("label", names, label, where=str(labels))
    key, (values,) = from_table(labels, task, [column], str(labels), options.delimiter)

    source, there = labels, names
    if tasks is not None:
        of_tasks = read_header(tasks, delimiter=options.delimiter)
        if not set(options.group) <= set(names) - set(of_tasks):
            source, there = tasks, of_tasks
    place, columns = from_table(source, task if task in there else None, options.group, str(source), options.delimiter)
    notes = []
    known = encode(place)[1]
    if source is not labels:
        key, undone = _without_apostrophes(key, known)
        if undone:
            notes.append(
                f"{undone:,} task ids in {labels} begin with an apostrophe, which keeps spreadsheets from running them "
                f"as formulas; they were found in {source} without it"
            )
    labelled = encode(key)[1]
    strange = np.flatnonzero(known.code_of(labelled.values) < 0)
    if strange.size:
        raise InputError(
            f"{strange.size:,} of {len(labelled):,} labelled tasks are not in {source}: "
            f"{few(labelled.some(strange[:5]), strange.size)}; do the task ids match?"
        )
    broken = line_breaks({"task": labelled, "label": encode(values)[1]})
    notes += [f"{labels}: {line_break_line(role, *found)}" for role, found in broken.items()]
    lacking, unlabelled = np.flatnonzero(labelled.code_of(known.values) < 0), ""
    if lacking.size:
        unlabelled = f"{lacking.size:,} of {len(known):,} tasks in {source} have no label in {labels}: "
        unlabelled += few(known.some(lacking[:5]), lacking.size)
    groups = pa.table({"task": place, **{str(i): part for i, part in enumerate(columns)}})
    return Facts(key, values), groups, notes, unlabelled


def _without_apostrophes(key: Column, known: Vocabulary) -> tuple[Column, int]:
    """Undo the apostrophes that :class:`OutputFolder` puts before ids that look like formulas, where ids are not known.

    Returns the ids, and how many were changed.
    """
    if not isinstance(key, np.ndarray) and pa.types.is_dictionary(key.type):
        key = key.cast(key.type.value_type)
    if isinstance(key, np.ndarray) or not (pa.types.is_string(key.type) or pa.types.is_large_string(key.type)):
        return key, 0
    bare = pc.replace_substring_regex(key, rf"^'({FORMULA})", r"\1")
    undone = pa.array((known.code_of(key) < 0) & (known.code_of(bare) >= 0))
    return pc.if_else(undone, bare, key), int(pc.sum(undone).as_py() or 0)
