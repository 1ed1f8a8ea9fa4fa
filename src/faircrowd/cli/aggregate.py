"""``faircrowd aggregate``: votes in a file to labels in a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd._checks import check_choice
from faircrowd.cli.console import Console
from faircrowd.errors import InputError, OptionError

__all__ = ["METHODS", "aggregate"]

METHODS = ("majority", "wawa", "zero-based", "gold-majority", "dawid-skene", "one-coin", "glad", "bayes")


def aggregate(
    votes: Annotated[Path, typer.Argument(help="Votes, a row each: .csv, .tsv, .jsonl (also .gz) or .parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for labels.csv, workers.csv and summary.json.")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "dawid-skene",
    tasks: Annotated[Path | None, typer.Option(help="Table with a row a task: groups, truth.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="Column with the sensitive group; several intersect.")] = None,
    truth: Annotated[str | None, typer.Option(help="Column of the tasks table with known true labels.")] = None,
    by_group: Annotated[bool, typer.Option(help="Dawid-Skene, one-coin: learn each worker in each group.")] = False,
    task: Annotated[str | None, typer.Option(help="Name of the task column.")] = None,
    worker: Annotated[str | None, typer.Option(help="Name of the worker column.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the label column.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Separator of a text file.")] = None,
    on_duplicate: Annotated[str, typer.Option(help="A worker's repeated votes: last, first, all, error.")] = "last",
    on_missing: Annotated[str, typer.Option(help="Rows that lack a value: drop, error.")] = "drop",
    ties: Annotated[str, typer.Option(help="A tie goes to the first or the last class in order.")] = "first",
    n_iter: Annotated[int | None, typer.Option(help="Most rounds of an iterative method.")] = None,
    tol: Annotated[float | None, typer.Option(help="Rise of the objective, a vote, at which to stop.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Merge the votes in a file into a label a task."""
    check_choice("--method", method, METHODS)
    if method in ("bayes", "gold-majority") and truth is None:
        raise OptionError(f"--method {method} learns from known labels; give --tasks FILE --truth COLUMN.")
    if by_group and (not group or method not in ("dawid-skene", "one-coin")):
        raise OptionError("--by-group needs --group COLUMN, and --method dawid-skene or one-coin.")
    if truth is not None and tasks is None:
        raise OptionError("--truth names a column of the tasks table; give --tasks FILE.")

    from faircrowd.votes import read_votes
    from faircrowd.votes.facts import read_facts
    from faircrowd.votes.groups import gold_codes

    console = Console(as_json)
    with console.waiting(f"reading {votes}"):
        table = read_votes(
            votes,
            task=task,
            worker=worker,
            label=label,
            delimiter=delimiter,
            on_duplicate=on_duplicate,
            on_missing=on_missing,
            sensitive_features=group or None,
            tasks=tasks,
        )
        require_crowd(table, votes)
        facts = None if truth is None or tasks is None else read_facts(tasks, truth, delimiter=delimiter)
        table, gold = (table, None) if facts is None else gold_codes(table, facts)
        if gold is not None and not (gold >= 0).any():
            raise InputError(
                f"No task of {votes} has a true label in column {truth!r} of {tasks}; do the task ids match?"
            )
    settings = {"ties": ties, "n_iter": n_iter, "tol": tol, "by_group": by_group or None}
    model = make_model(method, {name: value for name, value in settings.items() if value is not None})
    given = (facts,) if method in ("bayes", "gold-majority") else ()
    with console.rounds(f"{method}"):
        model.fit(table, *given)
    finish(console, out, method, model, gold)


def require_crowd(table: Any, source: Path) -> None:
    """Raise unless there is something to merge: several votes, workers and classes."""
    for count, name in ((table.n_votes, "vote"), (table.n_workers, "worker"), (table.n_classes, "class")):
        if count < 2:
            found = f"only one {name}" if count else f"no {name}"
            raise InputError(f"{source} has {found} to use; a consensus needs at least two. Is it the right file?")


def make_model(method: str, settings: dict[str, Any]) -> Any:
    """Build an aggregator from its name on the command line; settings it does not have are refused."""
    import faircrowd as fc

    kinds: dict[str, Callable[..., Any]] = {
        "majority": fc.MajorityVote,
        "wawa": fc.Wawa,
        "zero-based": fc.ZeroBasedSkill,
        "gold-majority": fc.GoldMajorityVote,
        "dawid-skene": fc.DawidSkene,
        "one-coin": fc.OneCoinDawidSkene,
        "glad": fc.GLAD,
        "bayes": fc.BayesVote,
    }
    model = kinds[method]()
    for name in settings:
        if name not in model.get_params():
            raise OptionError(f"--method {method} has no option --{name.replace('_', '-')}.")
    return model.set_params(**settings)


def finish(console: Console, out: Path, method: str, model: Any, gold: Any, **more: Any) -> Any:
    """Write the files of a run and print its summary."""
    from faircrowd.report import OutputFolder, labels_table, summarise, workers_table

    table, posterior = model.votes_, model.posterior_
    summary = summarise(method, model, table, posterior, gold)
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.write_csv("labels.csv", labels_table(table, posterior))
        folder.write_csv("workers.csv", workers_table(table, posterior))
        folder.write_json("summary.json", summary.to_dict())
    console.summary(summary, table.report.lines(), out, **more)
    return summary
