"""The files of a run: written together, or not at all."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from faircrowd.aggregate.jury import JuryVote
from faircrowd.aggregate.saved import MODEL_FILES, model_files
from faircrowd.errors import InputError, OptionError
from faircrowd.report import OutputFolder, groups_table, label_tables, workers_table
from faircrowd.report.audit_text import audit_dict
from faircrowd.report.charts import images
from faircrowd.report.constrained.constrained_reasons import constrained_columns
from faircrowd.report.evidence import EVIDENCE, VERSIONS, evidence
from faircrowd.report.opening.about_run import about_run
from faircrowd.report.page import render_page
from faircrowd.report.reasons import Reasons
from faircrowd.report.words.unvoted_labels import with_unvoted_told
from faircrowd.report.worker_tables import audited_workers
from faircrowd.runs.how_to_repeat import COMMAND, how_to_repeat
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.wording import spoken

if TYPE_CHECKING:
    from faircrowd.runs.run import Run

__all__ = [
    "AUDIT_FILES",
    "CHECKPOINT",
    "DOSSIER_INDEX",
    "FAIR_FILES",
    "IMPACT_FILE",
    "RUN_FILES",
    "SPARK_LABELS",
    "Written",
    "check_out",
    "earlier_files",
    "evidence_of",
    "fill",
    "more_columns",
    "prepare",
    "write_evidence",
    "write_page",
    "write_run",
]

PAGE = "report.html"
FAIR_FILES = ("rule.json", "certificate.json")
RUN_FILES = ("labels.csv", "workers.csv", "summary.json", *MODEL_FILES, *FAIR_FILES, PAGE, EVIDENCE)
"""What a run may write."""
AGREEMENT_FILES = ("agreement.csv", "pairs.csv", "task_agreement.csv")
IMPACT_FILE = "impact_ratios.csv"
AUDIT_FILES = ("workers.csv", "groups.csv", *AGREEMENT_FILES, IMPACT_FILE, "audit.json", PAGE, EVIDENCE)
"""What an audit may write."""
SPARK_LABELS = "labels.parquet"
"""The folder of labels that a run in Spark writes in place of labels.csv."""
DOSSIER_INDEX = "dossier.json"
"""The file by which a dossier of a run is known (see ``faircrowd.runs.dossiers``)."""
CHECKPOINT = "checkpoint.npz"
"""Where a run keeps its rounds until its files are written."""


@dataclass(frozen=True)
class Written:
    """What a run has written.

    Attributes
    ----------
    folder : Path
    files : tuple of str
        The names of the files, in the order in which people look for them.
    notes : tuple of str
        What could not be written, and why; and what became of the files of an earlier run.
    """

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.folder}/{', '.join(self.files)}"


def write_run(
    run: "Run", out: Path, *, report: bool = True, charts: Path | None = None, progress: Progress = QUIET
) -> Written:
    """Write the files of a run into a folder, and its charts into another."""
    files = RUN_FILES if run.options.audit is None else AUDIT_FILES
    replaced = files if run.options.audit is not None else (*files, SPARK_LABELS)
    check_out(out, replaced, run.options.files.values())
    prepare(run, report=report or charts is not None, progress=progress)
    with progress.waiting(f"writing {out}"), OutputFolder(out) as folder:
        if run.options.audit is None:
            folder.forget(CHECKPOINT)
        notes = fill(run, folder, report=report)
    if charts is not None:
        with progress.waiting(f"drawing charts in {charts}"):
            draw_charts(run.story, charts)
    return Written(out, tuple(name for name in files if name in folder.names), (*notes, *earlier_files(folder)))


def earlier_files(folder: OutputFolder) -> tuple[str, ...]:
    """Return what became of the files of an earlier run in the same folder."""
    removed = [name for name in folder.removed if name != CHECKPOINT]
    replaced = f"the files of an earlier run in {folder.path} were replaced: {', '.join(folder.replaced)}"
    gone = f"files of an earlier run that this one does not write were removed from {folder.path}: {', '.join(removed)}"
    dossiers = sorted(path.parent for where in ("", "*/") for path in folder.path.glob(f"{where}{DOSSIER_INDEX}"))
    stale = [f"{path} is the dossier of an earlier run; write it again with faircrowd dossier" for path in dossiers]
    return (*([replaced] if folder.replaced else []), *([gone] if removed else []), *stale)


def prepare(run: "Run", *, report: bool = True, progress: Progress = QUIET) -> None:
    """Compute what the files hold, so that a folder is opened only once all of it is there."""
    run.summary, run.impact  # noqa: B018 - computed here, and kept
    if run.compares_groups:
        with progress.waiting("auditing the workers" if run.options.audit is None else "auditing the crowd"):
            run.audit if report or run.options.audit is not None else run.workers  # noqa: B018
    if report:
        with progress.waiting("preparing the report"):
            run.story  # noqa: B018


def fill(
    run: "Run", folder: OutputFolder, *, report: bool = True, recorded: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Write the files of a run into an open folder; return what could not be written.

    Parameters
    ----------
    recorded : mapping, optional
        The evidence of the run that this one repeats: its versions are written instead of today's.
    """
    write = _aggregate_files if run.options.audit is None else _audit_files
    files = RUN_FILES if run.options.audit is None else AUDIT_FILES
    folder.forget(*files)
    notes = write(run, folder)
    proof = evidence_of(run, recorded)
    if report:
        folder.write_text(PAGE, page_of(run, proof))
    write_evidence(proof, folder, files)
    return notes


def write_evidence(proof: Mapping[str, Any], folder: OutputFolder, files: Collection[str]) -> None:
    """Write the evidence of a run, with the hashes of those of its files that are in an open folder."""
    hashes = {name: value for name, value in folder.hashes().items() if name in files}
    folder.write_json(EVIDENCE, {**proof, "outputs": hashes})


def _aggregate_files(run: "Run", folder: OutputFolder) -> tuple[str, ...]:
    result = run.result or run.constrained
    folder.forget(SPARK_LABELS)
    labels = None if result is None else run.labels
    folder.write_csv("labels.csv", label_tables(run.votes, run.posterior, labels, more_columns(run)))
    people = workers_table(run.votes, run.labels)
    if isinstance(run.model, JuryVote):
        people = people.append_column("weight", pa.array(run.model.judge_weights))
    folder.write_csv("workers.csv", people if run.workers is None else _joined(people, audited_workers(run.workers)))
    folder.write_json("summary.json", run.summary.to_dict())
    notes: tuple[str, ...] = ()
    try:
        for file, content in model_files(run.model).items():
            folder.write_bytes(file, content)
    except InputError as error:
        notes = (f"the model is not saved, so it cannot label new tasks: {error}",)
    if result is not None and run.certificate is not None:
        folder.write_text("rule.json", result.rule.to_json() + "\n")
        folder.write_json("certificate.json", run.certificate.to_dict())
    return notes


def more_columns(run: "Run") -> Callable[[slice], dict[str, Any]] | None:
    """Return what gives the reason for the label of each task; None for labels that were not made fair."""
    if run.constrained is not None:
        found = run.constrained
        is_drawn = found.certificate.decision == "randomized"
        columns = constrained_columns(
            found.rule, found.problem.tasks, found.problem.columns, found.solved.outcomes, is_drawn=is_drawn
        )
        return with_unvoted_told(columns, run.votes, run.labels, found.reviewed)
    return None if run.result is None else with_unvoted_told(Reasons.of(run.result).columns, run.votes, run.labels)


def _audit_files(run: "Run", folder: OutputFolder) -> tuple[str, ...]:
    assert run.options.audit is not None  # noqa: S101 - checked by write_run
    agreement, people = run.agreement, run.agreement.workers()
    if run.audit is not None:
        people = _joined(audited_workers(run.audit.workers), people)
        folder.write_csv("groups.csv", groups_table(run.votes, run.posterior, run.truth, run.options.audit.confidence))
    folder.write_csv("workers.csv", people)
    for name, table in zip(AGREEMENT_FILES, (agreement.groups(), agreement.pairs(), agreement.tasks()), strict=True):
        folder.write_csv(name, table)
    if run.impact is not None:
        folder.write_csv(IMPACT_FILE, run.impact.table())
    folder.write_json("audit.json", audit_dict(run.audit, agreement))
    return ()


def evidence_of(run: "Run", recorded: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the evidence of a run but for the hashes of its outputs; with the versions of one that it repeats."""
    options = run.options
    certificate = None if run.certificate is None else run.certificate.to_dict()
    proof = evidence(options.command, options.to_dict(), options.at(run.places).files, certificate)
    for role, given in proof["inputs"].items():
        given["path"] = str(options.files[role])
    proof["inputs"] |= run.in_memory
    return proof if recorded is None else {**proof, **{name: recorded[name] for name in VERSIONS}}


def page_of(run: "Run", proof: Mapping[str, Any]) -> str:
    """Return the page of a run."""
    summary = run.summary
    rounds = "" if summary.rounds is None else f" in {summary.rounds} rounds"
    rounds += " (NOT converged: the rounds ran out)" if summary.converged is False else ""
    versions = [("faircrowd", proof["version"]), ("Python", proof["python"]), *proof["libraries"].items()]
    hashes = [
        (f"SHA-256 of {Path(given['path']).name if 'path' in given else role}", given["sha256"])
        for role, given in proof["inputs"].items()
    ]
    command = how_to_repeat(run.options, in_memory=run.in_memory)
    # The page spells options as the line does that repeats the run: for the command line, or for Python.
    told = spoken if command.startswith(COMMAND) else str
    facts: dict[str, Any] = {
        "method": summary.method,
        "rounds": rounds,
        "notes": [line[0].upper() + line[1:] for line in map(told, (*run.warnings, *run.all_notes()))],
        "command": command,
        "versions": [*((name, value) for name, value in versions if value), *hashes],
    }
    names = ["/".join(path.parts[-2:]) for path in run.options.files.values()]  # many files are called votes.csv
    facts["about"] = about_run(summary, names, run.named_columns, run.options.page.to_dict())
    return render_page(run.story | {"alarms": [*map(told, run.story.get("alarms", []))]}, facts)


def write_page(run: "Run", path: Path) -> None:
    """Write the page of a run alone."""
    check_out(path.parent, (path.name,), run.options.files.values())
    page = page_of(run, evidence_of(run))
    with OutputFolder(path.parent) as folder:
        folder.write_text(path.name, page)


def draw_charts(story: Mapping[str, Any], out: Path) -> None:
    """Draw the charts of a story as PNG and SVG."""
    with OutputFolder(out) as folder:
        for chart in story.get("charts", []):
            for file, content in images(chart.name, chart.specification).items():
                folder.write_bytes(file, content)


def check_out(out: Path, names: Iterable[str], inputs: Iterable[Path | None]) -> None:
    """Raise if an output would replace an input, or a folder that contains one."""
    names = tuple(names)
    for given in inputs:
        for name in names:
            target = out / name
            if given is None or not (target.exists() and given.exists()):
                continue
            if os.path.samefile(target, given) or target.resolve() in given.resolve().parents:
                raise OptionError(f"Results in {out} would overwrite the input {given}; choose another place.")


def _joined(people: pa.Table, audited: pa.Table) -> pa.Table:
    """Add the columns of an audit that a table of workers does not have."""
    known = set(people.column_names)
    more = [name for name in audited.column_names if name not in known]
    columns = [*people.columns, *(audited[name] for name in more)]  # one by one, each would copy those before it
    return pa.table(columns, [*people.column_names, *more])
