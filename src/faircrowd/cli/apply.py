"""``faircrowd apply``: the same rule on new tasks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd.cli import options as opt
from faircrowd.cli.console import Console, plain, print_json, spoken
from faircrowd.cli.fitting import guard
from faircrowd.errors import FileError, InputError, OptionError

__all__ = ["apply"]


def apply(
    rule: Annotated[
        Path, typer.Argument(readable=False, help="The rule.json of an earlier run; its model lies beside it.")
    ],
    votes: Annotated[Path, typer.Argument(readable=False, help="Votes on new tasks, a row each.")],
    out: Annotated[Path, typer.Option(help="File for the labels (.csv).")],
    tasks: opt.Tasks = None,
    group: opt.Group = None,
    unknown: Annotated[
        str, typer.Option(help="Tasks of groups the rule does not know: error, or own (the aggregator's own label).")
    ] = "error",
    task: opt.Task = None,
    worker: opt.Worker = None,
    label: opt.Label = None,
    delimiter: opt.Delimiter = None,
    on_duplicate: opt.OnDuplicate = "last",
    on_missing: opt.OnMissing = "drop",
    as_json: opt.AsJson = False,
) -> None:
    """Label new tasks with the model and the fair rule of an earlier run."""
    if out.is_dir():
        raise OptionError(f"--out {out} is a folder; name a file for the labels.")
    guard(out.parent, [out.name], rule, votes, tasks)

    import numpy as np

    from faircrowd.aggregate.saved import load_model
    from faircrowd.fair.estimator import from_posterior
    from faircrowd.fair.gap import gap_of
    from faircrowd.fair.rule import FairRule
    from faircrowd.report import OutputFolder, labels_table
    from faircrowd.votes import read_votes
    from faircrowd.votes.value_names import value_names

    console = Console(as_json)
    learned = FairRule.from_json(_text(rule))
    model = load_model(rule.parent)
    columns = group or _columns_of(rule.parent)
    with console.waiting(f"reading {votes}"):
        table = read_votes(
            votes,
            task=task,
            worker=worker,
            label=label,
            delimiter=delimiter,
            on_duplicate=on_duplicate,
            on_missing=on_missing,
            sensitive_features=columns,
            tasks=tasks,
        )
    if table.n_votes == 0:
        raise InputError(f"{votes} has no vote to use. Is it the right file?")
    posterior = model.posterior_of(table).in_memory()
    problem = from_posterior(posterior, table)
    labels = learned.label_codes(problem, unknown)
    tally = problem.tally(labels)
    groups = value_names(problem.groups)
    strange = int(np.count_nonzero(learned.group_codes(problem) < 0))
    new = int(np.count_nonzero(model.votes_.workers.code_of(table.workers.values) < 0))
    with console.waiting(f"writing {out}"), OutputFolder(out.parent) as folder:
        folder.write_csv(out.name, labels_table(table, posterior, labels))
    said: dict[str, Any] = {
        "tasks": table.n_tasks,
        "changed": int((labels != posterior.label_codes).sum()),
        "gap": gap_of(tally.rates) if len(groups) > 1 else None,
        "gap_before": gap_of(tally.rates_before) if len(groups) > 1 else None,
        "epsilon": learned.epsilon,
        "group_tasks": {name: int(count) for name, count in zip(groups, tally.tasks.sum(axis=(1, 2)), strict=True)},
        "tasks_of_unknown_groups": strange,
        "unknown_workers": new,
        "out": str(out),
    }
    notes = [*map(spoken, table.notes())]
    if new:
        notes.append(f"{new:,} of {table.n_workers:,} workers are new to the model; they count as the crowd's average")
    if strange:
        notes.append(f"{strange:,} tasks of unknown groups got the aggregator's own label (--unknown own)")
    if as_json:
        print_json({**said, "notes": notes})
        return
    lines = [
        ("rule", " | ".join(map(str.strip, str(learned).splitlines()))),
        ("labels", f"{said['tasks']:,} tasks, {said['changed']:,} differ from the aggregator's own label"),
    ]
    if said["gap"] is not None:
        lines.append(
            (
                "gap",
                f"{said['gap']:.3f} on these tasks ({said['gap_before']:.3f} before); the rule aims at "
                f"{learned.epsilon:g}: tied tasks are drawn, and new ones vary by chance",
            )
        )
    console.pairs([*lines, *(("note", plain(note)) for note in notes), ("wrote", str(out))])


def _text(path: Path) -> str:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the rule.json in it.")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is no rule of faircrowd: it is not text.") from None


def _columns_of(folder: Path) -> list[str]:
    """Return the group columns that the earlier run was given."""
    from faircrowd.storage.untrusted import read_json

    try:
        columns = read_json(folder / "summary.json", "summary")["options"]["group"]
    except (InputError, KeyError, TypeError):
        columns = None
    if not isinstance(columns, list) or not columns:
        raise OptionError("The rule goes by group; give --group COLUMN.")
    return columns
