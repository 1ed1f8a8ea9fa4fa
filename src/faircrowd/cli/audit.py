"""``faircrowd audit``: who leans, how the crowd adds it up, and what chance leaves open."""

from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd._checks import check_confidence, check_count
from faircrowd.cli import options as opt
from faircrowd.cli.console import Console
from faircrowd.cli.fitting import Fitted, fit_votes, guard
from faircrowd.cli.writing import audit_of, draw, run_facts, story_of
from faircrowd.errors import OptionError

__all__ = ["audit", "full_audit"]

FILES = ("workers.csv", "groups.csv", "audit.json", "report.html", "evidence.json")


def audit(
    votes: opt.Votes,
    out: opt.OutFolder,
    method: opt.Method = "majority",
    tasks: opt.Tasks = None,
    group: opt.Group = None,
    truth: opt.Truth = None,
    gold: opt.Gold = None,
    control: Annotated[
        str | None, typer.Option(help="Column of the tasks that may explain a gap; also shown within its values.")
    ] = None,
    by_group: opt.ByGroup = False,
    task: opt.Task = None,
    worker: opt.Worker = None,
    label: opt.Label = None,
    delimiter: opt.Delimiter = None,
    on_duplicate: opt.OnDuplicate = "last",
    on_missing: opt.OnMissing = "drop",
    ties: opt.Ties = "first",
    n_iter: opt.NIter = None,
    tol: opt.Tol = None,
    confidence: Annotated[float, typer.Option(parser=opt.number, metavar="NUMBER", help="Of the intervals.")] = 0.95,
    replicates: Annotated[int, typer.Option(help="Draws of tasks and workers for the bootstrap; 0 for none.")] = 2000,
    random_state: opt.RandomState = 0,
    report: opt.Report = True,
    charts: opt.Charts = None,
    as_json: opt.AsJson = False,
) -> None:
    """Audit workers and crowd: who leans, how leanings add up, agreement, ties, intervals."""
    if not group:
        raise OptionError("An audit compares groups; give --group COLUMN.")
    if control is not None and tasks is None:
        raise OptionError("--control names a column of the tasks table; give --tasks FILE.")
    check_confidence("--confidence", confidence)
    check_count("--replicates", replicates)
    guard(out, FILES, votes, tasks)

    from faircrowd.fair.tasks.read_posterior import check_groups
    from faircrowd.report import OutputFolder, summarise
    from faircrowd.report.audit_text import audit_dict, audit_lines, groups_table
    from faircrowd.report.evidence import EVIDENCE, evidence
    from faircrowd.report.page import render_page
    from faircrowd.report.worker_rows import audited_workers

    console = Console(as_json)
    reading = {"task": task, "worker": worker, "label": label, "delimiter": delimiter}
    reading |= {"on_duplicate": on_duplicate, "on_missing": on_missing}
    fitted = fit_votes(
        console,
        votes,
        method=method,
        tasks=tasks,
        group=group,
        truth=truth,
        gold=gold,
        by_group=by_group,
        reading=reading,
        settings={"ties": ties, "n_iter": n_iter, "tol": tol},
    )
    model, table = fitted.model, fitted.model.votes_
    check_groups(table.groups)
    asked: dict[str, Any] = {"confidence": confidence, "replicates": replicates, "random_state": random_state}
    asked["control"] = control
    fitted.options.update(asked)
    with console.waiting("auditing the crowd"):
        found = full_audit(fitted, asked)
    name = f"{method} by group" if by_group else method
    summary = summarise(name, model, table, model.posterior_, fitted.truth, fitted.options, in_sample=fitted.in_sample)
    story = story_of(fitted, None, summary, found) if report or charts is not None else None
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.forget(*FILES)
        folder.write_csv("workers.csv", audited_workers(found.workers))
        folder.write_csv("groups.csv", groups_table(table, model.posterior_, fitted.truth, confidence))
        folder.write_json("audit.json", audit_dict(found))
        inputs = {"votes": votes, "tasks": tasks}
        proof = evidence("audit", fitted.options, inputs, None)
        if report and story is not None:
            folder.write_text("report.html", render_page(story, run_facts(summary, table, proof)))
        folder.write_json(EVIDENCE, {**proof, "outputs": folder.hashes()})
        names = [name for name in FILES if name in folder.names]
    if charts is not None and story is not None:
        draw(console, Path(charts), story)
    wrote, more = f"{out}/{', '.join(names)}", {"audit": audit_dict(found), "out": str(out)}
    console.summary(summary, table.notes(), wrote, audit_lines(found), **more)


def full_audit(fitted: Fitted, asked: dict[str, Any]) -> Any:
    """Audit the crowd of a fitted model, with the strata of a control column where one is named."""
    from faircrowd.report.audit_text import control_values

    settings, column = dict(asked), asked["control"]
    if column is not None:
        reading, tasks = fitted.options["reading"], Path(fitted.options["tasks"])
        where = {name: reading.get(name) for name in ("task", "delimiter")}
        settings["control"] = control_values(fitted.model.votes_, tasks, column, **where)
    return audit_of(fitted, None, **settings)
