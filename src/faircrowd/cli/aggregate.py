"""``faircrowd aggregate``: votes in a file to labels in a folder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd._checks import check_choice, check_number
from faircrowd.cli import options as opt
from faircrowd.cli.console import Console
from faircrowd.cli.engines import Engine
from faircrowd.cli.fitting import fit_votes, guard, make_labels_fair
from faircrowd.cli.writing import CHECKPOINT, FILES, SPARK_LABELS, write_run
from faircrowd.errors import OptionError

__all__ = ["aggregate"]


def aggregate(
    votes: opt.Votes,
    out: opt.OutFolder,
    method: opt.Method = "dawid-skene",
    tasks: opt.Tasks = None,
    group: opt.Group = None,
    truth: opt.Truth = None,
    gold: opt.Gold = None,
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
    epsilon: Annotated[
        float | None,
        typer.Option(parser=opt.number, metavar="NUMBER", help="Make the labels fair: the largest gap between groups."),
    ] = None,
    objective: opt.Objective = "accuracy",
    decision: Annotated[str, typer.Option(help="Fair labels without a coin, or with: deterministic, randomized.")] = (
        "deterministic"
    ),
    strict: Annotated[bool, typer.Option(help="Many classes or groups: keep epsilon to the letter.")] = False,
    confidence: Annotated[
        float | None,
        typer.Option(
            parser=opt.number,
            metavar="NUMBER",
            help="Tighten epsilon so that new tasks keep it too, with this probability.",
        ),
    ] = None,
    random_state: opt.RandomState = 0,
    report: opt.Report = True,
    charts: opt.Charts = None,
    engine: opt.EngineName = "auto",
    memory_limit: opt.MemoryLimit = None,
    master: opt.Master = None,
    resume: opt.Resume = False,
    as_json: opt.AsJson = False,
) -> None:
    """Merge the votes in a file into one label per task; with --epsilon, into fair labels."""
    guard(out, (*FILES, SPARK_LABELS), votes, tasks)
    check_choice("--objective", objective, ("accuracy", "f1"))
    check_choice("--decision", decision, ("deterministic", "randomized"))
    if epsilon is not None:
        check_number("--epsilon", epsilon, low=0, high=1)
        if not group:
            raise OptionError("--epsilon bounds the gap between groups; give --group COLUMN.")
    elif strict or confidence is not None:
        raise OptionError("--strict and --confidence go with --epsilon; give it, or leave them out.")
    console = Console(as_json)
    reader = Engine.asked(engine, memory_limit, checkpoint=out / CHECKPOINT, resume=resume)
    reading = {"task": task, "worker": worker, "label": label, "delimiter": delimiter}
    reading |= {"on_duplicate": on_duplicate, "on_missing": on_missing}
    settings: dict[str, Any] = {"ties": ties, "n_iter": n_iter, "tol": tol}
    asked: dict[str, Any] = {"epsilon": epsilon, "objective": objective, "decision": decision}
    asked |= {"strict": strict, "random_state": random_state, "confidence": confidence}
    if master is not None and engine != "spark":
        raise OptionError("--master is for --engine spark.")
    if engine == "spark":
        from faircrowd.cli.spark import aggregate_in_spark

        for name, given in (
            ("--truth", truth),
            ("--charts", charts),
            ("--resume", resume),
            ("--memory-limit", memory_limit),
        ):
            if given:
                raise OptionError(f"{name} is not for --engine spark; leave it out.")
        aggregate_in_spark(
            console,
            votes,
            out,
            master=master,
            method=method,
            tasks=tasks,
            group=group,
            gold=gold,
            by_group=by_group,
            reading=reading,
            settings={name: value for name, value in settings.items() if value is not None},
            fair=None if epsilon is None else asked,
        )
        return
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
        settings=settings,
        engine=reader,
    )
    fair = None
    if epsilon is not None:
        fitted.options.update(asked)
        with console.waiting("making the labels fair"):
            fair = make_labels_fair(fitted.model, asked)
    write_run(console, Path(out), fitted, fair, report=report, charts=charts)
    reader.forget()
