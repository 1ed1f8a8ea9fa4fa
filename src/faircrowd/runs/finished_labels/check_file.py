"""The labels in a file against a limit of the gap, or against any list of constraints."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd._checks import check_confidence, check_number, few
from faircrowd.audit.constraint_gate import RequirementsVerdict, check_constraints
from faircrowd.audit.gate import Verdict, check_labels
from faircrowd.errors import FaircrowdError, InputError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.grammar import parse_constraint
from faircrowd.fair.constraints.listed import about_columns, is_about_all, listed_constraints, needed_columns
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

__all__ = ["CheckOptions", "check_file", "read_labels_file"]

_BEFORE, _REVIEW = "label_before", "review"


@dataclass(frozen=True)
class CheckOptions:
    """Where labels and groups are, and what they must keep.

    Attributes
    ----------
    labels : Path
        A file with one row per task.
    epsilon : float or None
        The largest gap between groups allowed; None if ``require`` says all there is to keep.
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
    require : tuple of str
        Constraints in text.
    truth : str or None
        The column with true labels, of the tasks or the labels, for constraints that speak of the truth.
    """

    labels: Path
    epsilon: float | None
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
    require: tuple[str, ...] = ()
    truth: str | None = None

    def constraints(self) -> tuple[Constraint, ...]:
        """Return what ``require`` and ``epsilon`` ask for; what names no columns is about those of ``group``."""
        found = listed_constraints(self.epsilon, [parse_constraint(text) for text in self.require])
        for one in found:
            if is_about_all(one) and not self.group:
                raise OptionError(f"{one} names no column, and group=... is not given.", parameter="group")
        return about_columns(found, self.group)

    def to_dict(self) -> dict[str, Any]:
        """Return what the labels were read from, ready for JSON."""
        tasks = None if self.tasks is None else str(self.tasks)
        policy = {name: getattr(self, name) for name in ("partial", "min_group", "small_groups", "on_missing_group")}
        asked = {"require": list(self.require), "truth": self.truth} if self.require else {}
        return {"labels": str(self.labels), "tasks": tasks, "group": list(self.group), **policy, **asked}


def check_file(options: CheckOptions, progress: Progress = QUIET) -> tuple[Verdict | RequirementsVerdict, list[str]]:
    """Check the labels in a file; return the verdict, and what there is to note."""
    if options.epsilon is not None:
        check_number("epsilon", options.epsilon, low=0, high=1)
    check_confidence("confidence", options.confidence)
    if options.require:
        return _check_requirements(options, progress)
    if options.epsilon is None:
        raise OptionError("Give epsilon=..., the largest gap allowed, or require=...", parameter=("epsilon", "require"))
    if not options.group:
        raise OptionError("The gap is between groups; give group=...")
    with progress.waiting(f"reading {options.labels}"):
        labels, columns, notes, unlabelled = read_labels_file(options, options.group)
        reviewed = _read_reviewed(options)
        labels, notes = _labelled(labels, reviewed), [*notes, *_review_notes(reviewed)]
        groups = pa.table({"task": columns[0].task, **{str(i): column.fact for i, column in enumerate(columns)}})
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
    _refuse_unlabelled(unlabelled, options)
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


def _check_requirements(options: CheckOptions, progress: Progress) -> tuple[RequirementsVerdict, list[str]]:
    """Check labels against constraints."""
    constraints = options.constraints()
    if options.small_groups != "leave-out":
        raise OptionError(
            "small_groups goes with epsilon alone; with require, small groups are left out.",
            parameter=("small_groups", "epsilon", "require"),
        )
    if options.truth is None and (about := [one for one in constraints if one.is_about_truth]):
        raise OptionError(f"{about[0]} is about the truth; give truth=..., the column with true labels.")
    with progress.waiting(f"reading {options.labels}"):
        names = needed_columns([one for one in constraints if one.group_columns])
        extra = [] if options.truth is None else [options.truth]
        labels, columns, notes, unlabelled = read_labels_file(options, [*names, *extra])
        found = dict(zip([*names, *extra], columns, strict=True))
        _refuse_unlabelled(unlabelled, options)
        reviewed, by_own_label = _read_reviewed(options), any(one.by_own_label for one in constraints)
        before = _read_before(options, labels) if by_own_label or reviewed is not None else None
        if reviewed is not None and before is not None:
            labels = Facts(labels.task, _instead(labels.fact, before.fact, reviewed))
        verdict = check_constraints(
            labels,
            constraints,
            sensitive_features={name: found[name] for name in names},
            truth=None if options.truth is None else found[options.truth],
            reviewed=reviewed,
            labels_before=before if by_own_label else None,
            confidence=options.confidence,
            these_tasks=options.these_tasks,
            min_group=options.min_group,
            on_missing_group=options.on_missing_group,
        )
    return verdict, [*notes, *_review_notes(reviewed), *([unlabelled] if unlabelled else []), *verdict.notes]


def _read_before(options: CheckOptions, labels: Facts) -> Facts:
    """Return the labels before they were made fair, which ``aggregate`` writes beside them."""
    names = read_header(options.labels, delimiter=options.delimiter)
    if _BEFORE not in names:
        raise InputError(
            f"{options.labels} has no column {_BEFORE!r}, which says what labels were before they were changed; "
            "labels.csv of faircrowd aggregate has it."
        )
    return Facts(labels.task, _read_beside(options, names, _BEFORE))


def _read_reviewed(options: CheckOptions) -> NDArray[np.bool_] | None:
    """Return which tasks a person is still to label, in the order of the file; None if the file does not tell.

    Files of ``aggregate`` and ``apply`` tell, in a column ``review``, under a review budget.
    """
    names = read_header(options.labels, delimiter=options.delimiter)
    if not {_BEFORE, _REVIEW} <= set(names):
        return None
    texts = [str(value).lower() for value in _arrow(_read_beside(options, names, _REVIEW)).to_pylist()]
    if not set(texts) <= {"true", "false"}:
        return None
    found = np.array([text == "true" for text in texts])
    if found.all() and found.size:
        raise InputError(f"All tasks in {options.labels} are sent to a person, and have no label to check yet.")
    return found


def _read_beside(options: CheckOptions, names: Sequence[str], column: str) -> Column:
    """Return a further column of the file of labels, in the order of its rows; ``names`` are those of all columns."""
    key = options.task if options.task in names else None
    _, (values,) = from_table(options.labels, key, [column], str(options.labels), options.delimiter)
    return values


def _review_notes(reviewed: NDArray[np.bool_] | None) -> list[str]:
    """Return how many tasks have no label because a person is still to label them, if any."""
    if reviewed is None or not reviewed.any():
        return []
    return [
        f"{int(reviewed.sum()):,} of {reviewed.size:,} tasks are sent to a person and have no label yet (column "
        f"{_REVIEW!r}): they count in no rate, and not as changed; check again when their labels are back"
    ]


def _labelled(labels: Facts, reviewed: NDArray[np.bool_] | None) -> Facts:
    """Return the labels of the tasks that have one."""
    if reviewed is None or not reviewed.any():
        return labels
    keep = pa.array(~reviewed)
    return Facts(_arrow(labels.task).filter(keep), _arrow(labels.fact).filter(keep))


def _arrow(column: Column) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray) else column


def _instead(labels: Column, before: Column, reviewed: NDArray[np.bool_]) -> Column:
    """Return labels with those before in place of what stands for a review, as one type."""
    texts, others = (pa.array([str(value) for value in _arrow(part).to_pylist()]) for part in (labels, before))
    found = pc.if_else(pa.array(reviewed), others, texts)
    kind = _arrow(before).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        return found.cast(kind)
    except pa.ArrowInvalid:  # a label that is no number, where all labels before are
        return found


def _refuse_unlabelled(unlabelled: str, options: CheckOptions) -> None:
    if unlabelled and not options.partial:
        raise InputError(f"{unlabelled}; label them, or check the others alone with partial=True.")


def read_labels_file(options: CheckOptions, wanted: Sequence[str]) -> tuple[Facts, list[Facts], list[str], str]:
    """Return the label of each task and the columns that are wanted, what there is to note, and who has no label."""
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
        if not set(wanted) <= set(names) - set(of_tasks):
            source, there = tasks, of_tasks
    in_labels = [name for name in wanted if source is not labels and name not in there and name in names]
    others = [name for name in wanted if name not in in_labels]
    if others or source is not labels:
        named = task if task in there else None
        place, columns = from_table(source, named, others or [there[0]], str(source), options.delimiter)
    else:
        place, columns = key, []
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
    found = {name: Facts(place, column) for name, column in zip(others, columns, strict=False)}
    if in_labels:
        _, beside = from_table(labels, task, in_labels, str(labels), options.delimiter)
        found |= {name: Facts(key, column) for name, column in zip(in_labels, beside, strict=True)}
    return Facts(key, values), [found[name] for name in wanted], notes, unlabelled


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
