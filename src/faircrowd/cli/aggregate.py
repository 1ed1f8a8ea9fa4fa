"""``faircrowd aggregate``: votes in a file to labels in a folder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd._checks import check_number
from faircrowd.cli import options as opt
from faircrowd.cli.console import Console
from faircrowd.cli.fitting import fit_votes, guard, make_labels_fair
from faircrowd.errors import InputError, OptionError

__all__ = ["FILES", "aggregate", "finish"]

FILES = ("labels.csv", "workers.csv", "summary.json")
"""What every run writes."""

MODEL = ("model.json", "model.npz")
FAIR = ("rule.json", "certificate.json")
"""What a run with epsilon writes besides."""


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
    epsilon: Annotated[float | None, typer.Option(help="Make the labels fair: the largest gap between groups.")] = None,
    objective: opt.Objective = "accuracy",
    decision: Annotated[str, typer.Option(help="Fair labels without a coin, or with: deterministic, randomized.")] = (
        "deterministic"
    ),
    strict: Annotated[bool, typer.Option(help="Many classes or groups: keep epsilon to the letter.")] = False,
    random_state: opt.RandomState = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Merge the votes in a file into one label per task; with --epsilon, into fair labels."""
    guard(out, (*FILES, *MODEL, *FAIR), votes, tasks)
    if epsilon is not None:
        check_number("--epsilon", epsilon, low=0, high=1)
        if not group:
            raise OptionError("--epsilon bounds the gap between groups; give --group COLUMN.")
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
    model, options, fair = fitted.model, fitted.options, None
    if epsilon is not None:
        asked: dict[str, Any] = {"epsilon": epsilon, "objective": objective, "decision": decision}
        asked |= {"strict": strict, "random_state": random_state}
        options |= asked
        with console.waiting("making the labels fair"):
            fair = make_labels_fair(model, asked)
    finish(console, out, method, model, fitted.truth, options, fair=fair, in_sample=fitted.in_sample)


def finish(
    console: Console,
    out: Path,
    method: str,
    model: Any,
    truth: Any,
    options: dict[str, Any],
    *,
    fair: Any = None,
    in_sample: bool = False,
    **more: Any,
) -> None:
    """Write the files of a run and print its summary."""
    from faircrowd.aggregate.saved import model_files
    from faircrowd.report import OutputFolder, fair_lines, labels_table, summarise, workers_table

    table, posterior = model.votes_, model.posterior_
    name = f"{method} by group" if model.get_params().get("by_group") else method
    labels = None if fair is None else fair.solved.labels
    summary = summarise(name, model, table, posterior, truth, options, in_sample=in_sample, fair=labels)
    files = [*FILES]
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.forget(*MODEL, *FAIR)
        folder.write_csv("labels.csv", labels_table(table, posterior, labels))
        folder.write_csv("workers.csv", workers_table(table, posterior.label_codes if labels is None else labels))
        folder.write_json("summary.json", summary.to_dict())
        try:
            for file, content in model_files(model).items():
                folder.write_bytes(file, content)
                files.append(file)
        except InputError as error:
            console.note(f"the model is not saved, so new tasks cannot be labelled by it: {error}")
        if fair is not None:
            folder.write_text("rule.json", fair.rule.to_json() + "\n")
            folder.write_json("certificate.json", fair.certificate.to_dict())
            files += FAIR
    if fair is not None:
        more["certificate"] = fair.certificate.to_dict()
    lines = [] if fair is None else fair_lines(fair.certificate)
    console.summary(summary, table.report.lines(), f"{out}/{', '.join(files)}", lines, out=str(out), **more)
