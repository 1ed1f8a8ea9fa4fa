"""The saved rule and model of a run on new tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faircrowd.aggregate.posterior import Posterior
from faircrowd.aggregate.saved import MODEL_FILES, load_model
from faircrowd.audit.intervals import gap_limits
from faircrowd.errors import FileError, InputError, OptionError
from faircrowd.fair.gap import gap_of
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.rule import FairRule
from faircrowd.fair.rule_forms.rule_json import CONSTRAINED, kind_of_rule
from faircrowd.fair.tasks.from_votes import from_posterior
from faircrowd.report import OutputFolder, label_tables
from faircrowd.report.evidence import VERSIONS, evidence, evidence_name
from faircrowd.report.reasons import Reasons
from faircrowd.report.summary import rule_lines
from faircrowd.report.words.unvoted_labels import unvoted_changes, unvoted_changes_in_words, with_unvoted_told
from faircrowd.runs.new_tasks.apply_constraints import AppliedConstraints, apply_constraints, read_new_votes
from faircrowd.runs.options import ReadOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.write import check_out
from faircrowd.storage.untrusted import read_json
from faircrowd.votes import VoteTable
from faircrowd.votes.group_policy import left_out_lines
from faircrowd.votes.vocabulary import Codes

__all__ = ["Applied", "apply_again", "apply_saved_rule", "notes_of"]

_CONFIDENCE = 0.95
"""Of the statement that new tasks are not like those that the rule was learned from."""


@dataclass(frozen=True, eq=False)
class Applied:
    """Labels of new tasks by the rule of an earlier run.

    Attributes
    ----------
    rule : FairRule
    votes : VoteTable
    posterior : Posterior
        Of the new tasks, by the saved model.
    labels : ndarray of int32
    gap, gap_before : float or None
        Of the labels by the rule and by the aggregator, between the groups that the rule compares; None if all tasks
        are of one group.
    group_tasks : dict
        Number of tasks of each group.
    tasks_of_unknown_groups, unknown_workers : int
        Those that the rule or the model has not seen.
    gap_at_least : float or None
        What the gap of all tasks like these is at least, with 95% confidence: chance explains a gap of the labels, but
        not this one.
    left_out : dict
        The groups that the gap is not about, although the rule knows them, with the reason.
    """

    rule: FairRule
    votes: VoteTable
    posterior: Posterior
    labels: Codes
    gap: float | None
    gap_before: float | None
    group_tasks: dict[str, int]
    tasks_of_unknown_groups: int
    unknown_workers: int
    gap_at_least: float | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """How many labels differ from the aggregator's own."""
        return int((self.labels != self.posterior.label_codes).sum())

    def tables(self) -> Iterator[pa.Table]:
        """Return the table of labels in pieces."""
        problem = from_posterior(self.posterior, self.votes)
        why = Reasons.of_rule(self.rule, problem, self.labels).columns
        return label_tables(self.votes, self.posterior, self.labels, with_unvoted_told(why, self.votes, self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {
            "tasks": self.votes.n_tasks,
            "changed": self.changed,
            "gap": self.gap,
            "gap_before": self.gap_before,
            "epsilon": self.rule.epsilon,
            "group_tasks": self.group_tasks,
            "tasks_of_unknown_groups": self.tasks_of_unknown_groups,
            "unknown_workers": self.unknown_workers,
            "gap_at_least": self.gap_at_least,
            "missed": self.missed,
            "left_out": dict(self.left_out),
        }

    @property
    def missed(self) -> str:
        """In what the labels miss the rule's epsilon by more than chance explains, as a sentence; empty if not."""
        least, epsilon = self.gap_at_least, self.rule.epsilon
        if self.gap is None or least is None or least <= epsilon:
            return ""
        return (
            f"the labels miss the rule's epsilon {epsilon:g}: their gap is {self.gap:.3f}, and with 95% confidence "
            f"that of all tasks like these is at least {least:.3f}, more than chance explains. These tasks are not "
            "like those that the rule was learned from; learn it again from votes that include such tasks."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the numbers as pairs of a heading and a text."""
        lines = [
            *rule_lines(str(self.rule)),
            ("labels", f"{self.votes.n_tasks:,} tasks, {self.changed:,} differ from the aggregator's own label"),
        ]
        if self.gap is not None:
            found = f"{self.gap:.3f} on these tasks ({self.gap_before:.3f} before); the rule aims at "
            found += f"{self.rule.epsilon:g}: tied tasks are drawn, and new ones vary by chance"
            lines.append(("gap", found))
        return lines

    def notes(self) -> list[str]:
        """Return what a reader should know of these labels alone."""
        notes = left_out_lines(self.left_out, self.group_tasks)
        if self.gap is None:
            notes.append("the gap of these tasks is not known: fewer than two groups are left to compare")
        return notes


def notes_of(applied: Applied | AppliedConstraints) -> list[str]:
    """Return what a reader should know; parameters have their Python names."""
    notes, new, strange = applied.votes.notes(), applied.unknown_workers, applied.tasks_of_unknown_groups
    if new:
        notes.append(
            f"{new:,} of {applied.votes.n_workers:,} workers are new to the model; they count as the crowd's average"
        )
    if strange:
        notes.append(f"{strange:,} tasks of unknown groups got the aggregator's own label (unknown='own')")
    unvoted = unvoted_changes(applied.votes, applied.posterior.label_codes, applied.labels)
    if unvoted:
        notes.append(unvoted_changes_in_words(unvoted, applied.changed))
    return [*notes, *applied.notes()]


def _fill(applied: Applied | AppliedConstraints, folder: OutputFolder, name: str, proof: Mapping[str, Any]) -> None:
    """Write the labels as CSV, one row per task, and beside it the evidence, to which their hash is added."""
    folder.write_csv(name, applied.tables())
    folder.write_json(evidence_name(name), {**proof, "outputs": {name: folder.hashes()[name]}})


def apply_saved_rule(
    rule: Path, read: ReadOptions, out: Path, *, unknown: str = "error", progress: Progress = QUIET
) -> Applied | AppliedConstraints:
    """Label new tasks with the model and the rule of an earlier run; write the labels and, beside them, evidence.

    Parameters
    ----------
    rule : Path
        The rule.json of the run; its model is in the same folder.
    read : ReadOptions
        The votes on new tasks; without group columns, those of the earlier run are taken.
    out : Path
        The file for the labels.
    unknown : {"error", "own"}
        What to do with tasks of groups that the rule does not know: ``own`` keeps the aggregator's own label.
    """
    if read.votes is None:
        raise OptionError("A rule is applied to votes in a file; give votes=...")
    if out.is_dir():
        raise OptionError(f"{out} is a folder; name a file for the labels.")
    check_out(out.parent, [out.name, evidence_name(out.name)], _inputs(rule, read).values())
    learned = _rule_of(rule)
    read = replace(read, group=read.group or tuple(_columns_of(rule.parent, learned)))
    applied = _applied(learned, rule.parent, read, unknown, progress)
    with progress.waiting(f"writing {out}"), OutputFolder(out.parent) as folder:
        _fill(applied, folder, out.name, _evidence(rule, read, unknown, {}))
    return applied


def apply_again(said: Mapping[str, Any], places: Mapping[str, Path], folder: OutputFolder) -> None:
    """Write labels of new tasks again into an open folder, as evidence says that they were made.

    Parameters
    ----------
    said : mapping
        The evidence, with the versions of the run.
    places : mapping of str to Path
        Where its inputs are, by role; the model is beside the rule.
    """
    options, given = said["options"], {role: Path(one["path"]) for role, one in said["inputs"].items()}
    read = ReadOptions(given["votes"], given.get("tasks"), tuple(options["group"]), **options["reading"])
    here = replace(read, votes=places["votes"], tasks=places.get("tasks"))
    rule = places["rule"]
    applied = _applied(_rule_of(rule), rule.parent, here, options["unknown"])
    proof = _evidence(given["rule"], read, options["unknown"], places)
    (name,) = said["outputs"]
    _fill(applied, folder, name, {**proof, **{part: said[part] for part in VERSIONS}})


def _inputs(rule: Path, read: ReadOptions) -> dict[str, Path | None]:
    """Return the files that labels of new tasks depend on, by role."""
    model = {name: rule.parent / name for name in MODEL_FILES}
    return {"rule": rule, **model, "votes": read.votes, "tasks": read.tasks}


def _evidence(rule: Path, read: ReadOptions, unknown: str, places: Mapping[str, Path]) -> dict[str, Any]:
    """Return the evidence of labels but for their hash; ``places`` are where inputs are now."""
    options = {
        "rule": str(rule),
        "votes": str(read.votes),
        "tasks": None if read.tasks is None else str(read.tasks),
        "group": list(read.group),
        "unknown": unknown,
        "reading": read.columns,
    }
    given = _inputs(rule, read)
    proof = evidence("apply", options, {**given, **places}, None)
    for role, one in proof["inputs"].items():
        one["path"] = str(given[role])
    return proof


def _rule_of(path: Path) -> FairRule | ConstrainedRule:
    """Read a rule of either kind."""
    text = _text(path)
    return ConstrainedRule.from_json(text) if kind_of_rule(text) == CONSTRAINED else FairRule.from_json(text)


def _applied(
    learned: FairRule | ConstrainedRule, folder: Path, read: ReadOptions, unknown: str, progress: Progress = QUIET
) -> Applied | AppliedConstraints:
    """Label new tasks by a rule and the model in a folder."""
    model = load_model(folder)
    if isinstance(learned, ConstrainedRule):
        with progress.waiting(f"reading {read.votes}"):
            return apply_constraints(learned, model, read, unknown, _CONFIDENCE)
    with progress.waiting(f"reading {read.votes}"):
        table = read_new_votes(read, read.group)
    posterior = model.posterior_of(table).in_memory()
    problem = from_posterior(posterior, table)
    labels = learned.label_codes(problem, unknown)
    tally = problem.tally(labels)
    groups = problem.groups.names
    counts = tally.tasks.sum(axis=(1, 2))
    known = learned.codes_of_groups(problem)
    aside = {a for a in range(len(groups)) if a in table.left_out or known[a] < 0 or known[a] in learned.left_out}
    compared = [a for a in range(len(groups)) if a not in aside]
    several = len(compared) > 1
    left_out = {a: "left out of the rule, too" for a in range(len(groups)) if known[a] in learned.left_out}
    left_out |= {a: why for a, why in table.left_out.items() if a not in left_out and known[a] >= 0}
    return Applied(
        learned,
        table,
        posterior,
        labels,
        gap_of(tally.rates[compared]) if several else None,
        gap_of(tally.rates_before[compared]) if several else None,
        {name: int(count) for name, count in zip(groups, counts, strict=True)},
        int(np.count_nonzero(learned.group_codes(problem) < 0)),
        int(np.count_nonzero(model.votes_.workers.code_of(table.workers.values) < 0)),
        gap_limits(tally.tasks.sum(axis=1)[compared], _CONFIDENCE).low if several else None,
        {groups[a]: why for a, why in sorted(left_out.items())},
    )


def _text(path: Path) -> str:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the rule.json in it.")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is not a rule of faircrowd: it is not text.") from None


def _columns_of(folder: Path, rule: FairRule | ConstrainedRule) -> list[str]:
    """Return the group columns that the earlier run was given; a list of constraints may need none."""
    try:
        columns = read_json(folder / "summary.json", "summary")["options"]["group"]
    except (InputError, KeyError, TypeError):
        columns = None
    if isinstance(rule, ConstrainedRule):
        return columns if isinstance(columns, list) else []
    if not isinstance(columns, list) or not columns:
        raise OptionError("The rule goes by group; give group=...")
    return columns
