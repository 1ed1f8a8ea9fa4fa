"""The files of a run, and its summary."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from faircrowd.cli.console import Console
from faircrowd.cli.fitting import Fitted, make_labels_fair, method_name
from faircrowd.errors import InputError

__all__ = [
    "CHECKPOINT",
    "FILES",
    "SPARK_LABELS",
    "audit_of",
    "draw",
    "fill_folder",
    "run_facts",
    "show_run",
    "story_of",
    "tell_run",
    "write_run",
]

ALWAYS = ("labels.csv", "workers.csv", "summary.json")
MODEL = ("model.json", "model.npz")
FAIR = ("rule.json", "certificate.json")
PAGE = ("report.html",)
FILES = (*ALWAYS, *MODEL, *FAIR, *PAGE, "evidence.json")
"""What a run may write."""
SPARK_LABELS = "labels.parquet"
"""The folder of labels that a run in Spark writes in place of labels.csv."""
CHECKPOINT = "checkpoint.npz"
"""Where a run keeps its rounds until its files are written."""


class Run(NamedTuple):
    """A run that is done but for its files."""

    fitted: Fitted
    fair: Any
    summary: Any
    workers: Any
    story: dict[str, Any] | None


def write_run(
    console: Console,
    out: Path,
    fitted: Fitted,
    fair: Any,
    *,
    report: bool = True,
    charts: Path | None = None,
) -> None:
    """Write labels, workers, model, rule, certificate, page and evidence of a run, and print its summary."""
    from faircrowd.report import OutputFolder

    run = tell_run(console, fitted, fair, story=report or charts is not None)
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.forget(CHECKPOINT)
        fill_folder(console, folder, run, report=report)
    if charts is not None and run.story is not None:
        draw(console, charts, run.story)
    show_run(console, out, run, folder.names)


def tell_run(console: Console, fitted: Fitted, fair: Any, *, story: bool = True) -> Run:
    """Summarise a run, audit its workers, and tell its story if asked."""
    from faircrowd.audit.crowd_audit import audit_by_truth
    from faircrowd.report import summarise

    model, options = fitted.model, fitted.options
    table, posterior, method = model.votes_, model.posterior_, options["method"]
    name = method_name(model, method)
    labels = None if fair is None else fair.solved.labels
    summary = summarise(name, model, table, posterior, fitted.truth, options, in_sample=fitted.in_sample, fair=labels)
    audit = workers = told = None
    if table.groups is not None and len(table.groups) > 1 and table.n_classes > 1:
        with console.waiting("auditing the workers"):
            if story:
                audit = audit_of(fitted, labels)
            workers = audit_by_truth(table, fitted.truth, posterior.values) if audit is None else audit.workers
    if story:
        with console.waiting("telling the story"):
            told = story_of(fitted, fair, summary, audit)
    return Run(fitted, fair, summary, workers, told)


def fill_folder(
    console: Console, folder: Any, run: Run, *, report: bool = True, inputs: dict[str, Path] | None = None
) -> None:
    """Write the files of a run into an open folder.

    Parameters
    ----------
    inputs : dict, optional
        Where votes and tasks lie now, if not yet where the options say.
    """
    from faircrowd.aggregate.saved import model_files
    from faircrowd.report import label_tables, workers_table
    from faircrowd.report.evidence import EVIDENCE, evidence
    from faircrowd.report.page import render_page
    from faircrowd.report.reasons import Reasons
    from faircrowd.report.worker_rows import audited_workers

    fair, model, options = run.fair, run.fitted.model, run.fitted.options
    table, posterior = model.votes_, model.posterior_
    labels = None if fair is None else fair.solved.labels
    folder.forget(*FILES, SPARK_LABELS)
    why = None if fair is None else Reasons(fair).columns
    folder.write_csv("labels.csv", label_tables(table, posterior, labels, why))
    used = posterior.label_codes if labels is None else labels
    people = workers_table(table, used)
    if run.workers is not None:
        people = _joined(people, audited_workers(run.workers))
    folder.write_csv("workers.csv", people)
    folder.write_json("summary.json", run.summary.to_dict())
    try:
        for file, content in model_files(model).items():
            folder.write_bytes(file, content)
    except InputError as error:
        console.note(f"the model is not saved, so new tasks cannot be labelled by it: {error}")
    if fair is not None:
        folder.write_text("rule.json", fair.rule.to_json() + "\n")
        folder.write_json("certificate.json", fair.certificate.to_dict())
    places = inputs or {role: Path(options[role]) for role in ("votes", "tasks") if options[role] is not None}
    proof = evidence("aggregate", options, {**places}, None if fair is None else fair.certificate.to_dict())
    for role, given in proof["inputs"].items():
        given["path"] = options[role]
    if report and run.story is not None:
        folder.write_text("report.html", render_page(run.story, run_facts(run.summary, table, proof)))
    hashes = {name: value for name, value in folder.hashes().items() if name in FILES}
    folder.write_json(EVIDENCE, {**proof, "outputs": hashes})


def show_run(console: Console, out: Path, run: Run, names: Sequence[str], **more: Any) -> None:
    """Print the summary of a run whose files are written."""
    from faircrowd.report import fair_lines

    files = ", ".join(file for file in FILES if file in names)
    if run.fair is not None:
        more["certificate"] = run.fair.certificate.to_dict()
    lines = [] if run.fair is None else fair_lines(run.fair.certificate)
    notes = run.fitted.model.votes_.notes()
    console.summary(run.summary, notes, f"{out}/{files}", lines, out=str(out), **more)


def draw(console: Console, folder: Path, story: dict[str, Any]) -> None:
    """Draw the charts of a story as PNG and SVG."""
    from faircrowd.report import OutputFolder
    from faircrowd.report.charts import images

    with console.waiting(f"drawing charts in {folder}"), OutputFolder(folder) as pictures:
        for title, chart in story.get("charts", {}).items():
            for file, content in images(title, chart).items():
                pictures.write_bytes(file, content)


def audit_of(fitted: Fitted, labels: Any, **settings: Any) -> Any:
    """Audit the crowd of a fitted model."""
    from faircrowd.audit.crowd_audit import audit_crowd

    model = fitted.model
    used = model.posterior_.label_codes if labels is None else labels
    return audit_crowd(model.votes_, used, truth=fitted.truth, posterior=model.posterior_.values, **settings)


def story_of(fitted: Fitted, fair: Any, summary: Any, audit: Any) -> dict[str, Any]:
    """Return the story of a run for its page."""
    from faircrowd.report.story import fair_story, plain_story

    if audit is None:
        return plain_story(summary)
    model = fitted.model
    free = {"epsilon": 1.0, "objective": "accuracy", "decision": "deterministic", "random_state": 0}
    result = make_labels_fair(model, free) if fair is None else fair
    return fair_story(
        summary, model.votes_, model.posterior_, result, audit, asked=fair is not None, truth=fitted.truth
    )


def run_facts(summary: Any, table: Any, proof: dict[str, Any]) -> dict[str, Any]:
    """Return how to repeat a run, for its page."""
    rounds = "" if summary.rounds is None else f" in {summary.rounds} rounds"
    rounds += " (NOT converged: the rounds ran out)" if summary.converged is False else ""
    versions = [("faircrowd", proof["version"]), ("Python", proof["python"]), *proof["libraries"].items()]
    hashes = [(f"SHA-256 of {Path(given['path']).name}", given["sha256"]) for given in proof["inputs"].values()]
    return {
        "method": summary.method,
        "rounds": rounds,
        "notes": [line[0].upper() + line[1:] for line in (*table.notes(), *summary.notes())],
        "command": command_line(),
        "versions": [*((name, value) for name, value in versions if value), *hashes],
    }


def command_line() -> str:
    """Return the command that is running, as one can type it."""
    return shlex.join(["faircrowd", *sys.argv[1:]])


def _joined(people: Any, audited: Any) -> Any:
    for name in audited.column_names:
        if name not in people.column_names:
            people = people.append_column(name, audited[name])
    return people
