"""A run on a Spark cluster: votes there to labels on a disk that it shares."""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircrowd import __version__
from faircrowd._checks import check_choice
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.em import Iterative
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.aggregate.saved import MODEL_FILES, model_files
from faircrowd.engines.spark.differences import frame_differences
from faircrowd.engines.spark.files import on_disk, read_frame, write_parquet
from faircrowd.engines.spark.java import running
from faircrowd.engines.spark.votes import SparkVotes, spark_votes
from faircrowd.errors import FaircrowdError, InputError, OptionError
from faircrowd.fair import Certificate
from faircrowd.fair.tasks.spark_problem import SparkProblem
from faircrowd.report import OutputFolder, Summary, fair_lines
from faircrowd.report.evidence import EVIDENCE, VERSIONS, evidence
from faircrowd.report.summary import estimate_facts, group_facts
from faircrowd.report.words.belief_notes import independence_of
from faircrowd.runs.convert import votes_and_facts
from faircrowd.runs.file_differences import Compared, Difference
from faircrowd.runs.options import JUDGING, ReadOptions, RunOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.write import FAIR_FILES, RUN_FILES, SPARK_LABELS, Written, check_out, earlier_files
from faircrowd.votes.groups import settle_groups
from faircrowd.votes.readers import Source
from faircrowd.votes.vocabulary import value_name

__all__ = ["SparkRun", "compare_labels", "fill_in_spark", "run_in_spark"]

_FILES = (SPARK_LABELS, *FAIR_FILES, *MODEL_FILES, "summary.json", EVIDENCE)
_QUIET_SPARK = {"spark.ui.showConsoleProgress": "false"}


@dataclass(frozen=True, eq=False)
class SparkRun:
    """What comes to the driver of a run in Spark; its labels are written where the executors are.

    Attributes
    ----------
    summary : Summary
    certificate : Certificate or None
    notes : tuple of str
    written : Written
    warnings : tuple of str
        What speaks against using the labels.
    """

    summary: Summary
    certificate: Certificate | None
    notes: tuple[str, ...]
    written: Written
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[tuple[str, str]]:
        """Return the run as pairs of a heading and a text."""
        more = [] if self.certificate is None else fair_lines(self.certificate)
        return [*self.summary.lines(), *(("warning", warning) for warning in self.warnings), *more]

    def all_notes(self, *more: str) -> list[str]:
        """Return what a reader should know before trusting the numbers."""
        return [*self.notes, *more, *self.summary.notes()]

    def details(self) -> dict[str, Any]:
        """Return the certificate, if there is one, as plain values, ready for JSON."""
        return {} if self.certificate is None else {"certificate": self.certificate.to_dict()}


def run_in_spark(options: RunOptions, out: Path, progress: Progress = QUIET) -> SparkRun:
    """Fit a model to votes in Spark, make its labels fair if asked, and write them; no vote or label is collected.

    Parameters
    ----------
    options : RunOptions
    out : Path
        A folder that the executors share with this machine.
    """
    if re.match(r"[A-Za-z][\w+.-]+:/", str(out)):
        raise OptionError(f"{out} is not on a disk of this machine; name a folder that the executors share with it.")
    check_out(out, (*RUN_FILES, SPARK_LABELS), options.files.values())
    with OutputFolder(out) as folder:
        done = fill_in_spark(options, folder, progress)
    return replace(done, written=replace(done.written, notes=earlier_files(folder)))


def fill_in_spark(
    options: RunOptions,
    folder: OutputFolder,
    progress: Progress = QUIET,
    *,
    places: Mapping[str, Path] | None = None,
    recorded: Mapping[str, Any] | None = None,
    master: str | None = None,
) -> SparkRun:
    """Do a run in Spark, which has ended when this returns, and write its files into an open folder.

    Parameters
    ----------
    places : mapping of str to Path, optional
        Where votes and tasks are now, by role, if not where the options say.
    recorded : mapping, optional
        The evidence of the run that this one repeats: its versions are written instead of today's.
    master : str, optional
        Another cluster than that of the options; results do not depend on it.
    """
    check_choice("method", options.model.method, tuple(name for name, kind in AGGREGATORS.items() if kind.in_spark))
    check_choice("on_duplicate", options.read.on_duplicate, ("last", "first", "all", "error"))
    options.check()
    here = options.at(places or {})
    model, fair = options.model.make(), None
    gold = [] if options.learned is None else [options.learned]
    with ExitStack() as stack:
        with progress.waiting("starting Spark"):
            session = stack.enter_context(running(master or options.engine.master, **_QUIET_SPARK))
        with progress.waiting(f"grouping {options.read.votes} by task"):
            table: Any = _read(session, here.read, options.learned)
        if table.n_classes < 2 or table.n_workers < 2:
            raise InputError(
                f"{options.read.votes} has fewer than two workers or classes; a consensus needs at least two of each."
            )
        with progress.rounds(options.model.method) as on_round:
            more: dict[str, Any] = {"on_round": on_round} if isinstance(model, Iterative | CalibratedCrowd) else {}
            if options.fair is None:
                model.fit(table, *gold, **more)
            else:
                fair = options.fair.estimator(model, options.read).fit(table, *gold, **more)
                model = fair.estimator_
        posterior: Any = model.posterior_
        result: Any = None if fair is None else fair.result_
        problem: Any = SparkProblem(posterior) if fair is None else result.problem
        labels = problem.own_labels() if fair is None else result.solved.labels
        summary = _summary(model, problem, labels, options)
        certificate: Any = None if fair is None else fair.certificate_
        with progress.waiting(f"writing {folder.path}"):
            folder.forget(*RUN_FILES)  # also those of a run in memory, which would be of other labels
            folder.write_json("summary.json", summary.to_dict())
            for file, content in model_files(model).items():
                folder.write_bytes(file, content)
            if fair is not None:
                folder.write_text("rule.json", result.rule.to_json() + "\n")
                folder.write_json("certificate.json", fair.certificate_.to_dict())
            write_parquet(problem.table(labels), folder.new_folder(SPARK_LABELS))
            proof = _evidence(options, here, certificate, recorded)
            folder.write_json(EVIDENCE, {**proof, "outputs": folder.hashes()})
        table.close()
    notes = tuple(table.notes())
    if isinstance(model, CalibratedCrowd):
        notes += model.calibration_.notes
        notes += ("whether the known labels look like a random sample of the tasks is not checked in Spark",)
        notes += ("the accuracy of fair labels is not estimated in Spark",) if fair is not None else ()
    alarms = () if fair is None or not fair.result_.alarm else (fair.result_.alarm,)
    written = Written(folder.path, tuple(file for file in _FILES if file in folder.names))
    return SparkRun(summary, certificate, notes, written, alarms)


def _evidence(
    options: RunOptions, here: RunOptions, certificate: Certificate | None, recorded: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the evidence of a run but for the hashes of its outputs; inputs that only Spark can reach have no hash."""
    local = {role: path for role, path in ((role, on_disk(path)) for role, path in here.files.items()) if path.exists()}
    said = None if certificate is None else certificate.to_dict()
    proof = evidence(options.command, options.to_dict(), local, said)
    proof["inputs"] = {
        role: {**proof["inputs"].get(role, {"in_spark": True}), "path": str(path)}
        for role, path in options.files.items()
    }
    return proof if recorded is None else {**proof, **{name: recorded[name] for name in VERSIONS}}


def compare_labels(written: Path, expected: Path, master: str | None = None) -> Compared:
    """Compare two folders of labels in Spark, task by task, whatever the order of their rows and files.

    Parameters
    ----------
    written, expected : Path
        Folders that a run has written; executors must have access to them.
    """
    found = Compared()
    with running(master, **_QUIET_SPARK) as session:
        try:
            one, other = (read_frame(session, path.absolute().as_uri()) for path in (written, expected))
            differences, rounded = frame_differences(one, other, "task")
        except FaircrowdError as error:
            found.differences.append(f"{written.name} cannot be read: {str(error).removesuffix('.')}")
            return found
    lines = (Difference(written.name, *line) for line in differences)
    found.add(written.name, lines, rounded)
    return found


def _read(session: Any, read: ReadOptions, gold: str | None) -> SparkVotes:
    """Read votes and facts about tasks as frames, and pack them."""
    facts = None if read.tasks is None else read_frame(session, str(read.tasks), read.delimiter)
    report, task, worker, label = None, read.task, read.worker, read.label
    if isinstance(source := read.votes_table, Source):  # an export is read by the driver, and repeated votes with it
        in_votes = [*read.group, *([gold] if gold else [])] if facts is None else []
        table, report = votes_and_facts(source, read, in_votes)
        frame = session.createDataFrame(table)
        task, worker, label = "task", "worker", "label"
    else:
        frame = read_frame(session, str(read.votes), read.delimiter, read.format)
    votes = spark_votes(
        frame,
        task=task,
        worker=worker,
        label=label,
        on_missing=read.on_missing,
        # Rows of Spark have no order, so the last of repeated votes is not known: there must be none.
        on_duplicate="all" if read.on_duplicate == "all" else "error",
        sensitive_features=read.group,
        true_labels=gold,
        tasks=facts,
        on_missing_group=read.on_missing_group,
        **{name: read.columns[name] for name in JUDGING if name in read.columns},
    )
    votes = votes if report is None else replace(votes, report=report)
    return settle_groups(votes, min_group=read.min_group, small_groups=read.small_groups)


def _summary(model: Aggregator, problem: Any, labels: Any, options: RunOptions) -> Summary:
    votes = problem.votes
    tally = problem.tally(labels)
    counts = tally.tasks.sum(axis=1)
    believed_before, believed = tally.accuracies
    names = problem.classes.names
    shares = counts.sum(axis=0) / counts.sum()
    grouped = {} if votes.groups is None else group_facts(counts, votes.groups.names, names, votes.left_out)
    grouped |= {} if votes.groups is None else {"merged_groups": list(map(value_name, votes.merged_groups))}
    return Summary(
        method=options.model.name,
        rows=votes.report.to_dict(),
        votes=votes.n_votes,
        tasks=votes.n_tasks,
        workers=votes.n_workers,
        classes=votes.n_classes,
        rounds=getattr(model, "n_iter_", None),
        converged=getattr(model, "converged_", None),
        agreement=problem.agreement(labels),
        class_shares=dict(zip(names, map(float, shares), strict=True)),
        believed_accuracy=believed,
        believed_accuracy_before=None if options.fair is None else believed_before,
        **estimate_facts(model, None, is_fair=options.fair is not None),
        independence=independence_of(model),
        made_fair=options.fair is not None if grouped else None,
        options=options.to_dict(),
        version=__version__,
        **grouped,
    )
