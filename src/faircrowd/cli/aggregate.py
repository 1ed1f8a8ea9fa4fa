"""``faircrowd aggregate``: votes in a file to labels in a folder."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd._checks import check_choice, check_number, few
from faircrowd.cli.console import Console
from faircrowd.errors import InputError, OptionError

__all__ = ["METHODS", "aggregate"]

TAUGHT = ("bayes", "gold-majority")
"""Methods that cannot do without known labels."""

FILES = ("labels.csv", "workers.csv", "summary.json", "rule.json", "certificate.json")

METHODS = ("majority", "wawa", "zero-based", "gold-majority", "dawid-skene", "one-coin", "glad", "bayes")


def aggregate(
    votes: Annotated[Path, typer.Argument(help="Votes, a row each: .csv, .tsv, .jsonl (also compressed) or .parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for labels.csv, workers.csv and summary.json.")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "dawid-skene",
    tasks: Annotated[Path | None, typer.Option(help="Table with a row per task: groups, truth, gold.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Column with the sensitive group, of the tasks or the votes; several intersect."),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(help="Column of the tasks with true labels to score by (bayes, gold-majority learn from it)."),
    ] = None,
    gold: Annotated[str | None, typer.Option(help="Column of the tasks with known labels to learn from.")] = None,
    by_group: Annotated[bool, typer.Option(help="Dawid-Skene, one-coin: learn each worker in each group.")] = False,
    task: Annotated[str | None, typer.Option(help="Name of the task column.")] = None,
    worker: Annotated[str | None, typer.Option(help="Name of the worker column.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the label column.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Separator of a text file.")] = None,
    on_duplicate: Annotated[str, typer.Option(help="A worker's repeated votes: last, first, all, error.")] = "last",
    on_missing: Annotated[str, typer.Option(help="Rows that lack a value: drop, error.")] = "drop",
    ties: Annotated[str, typer.Option(help="A tie goes to the first or the last class in order.")] = "first",
    n_iter: Annotated[int | None, typer.Option(help="Most rounds of an iterative method.")] = None,
    tol: Annotated[float | None, typer.Option(help="Rise of the objective per vote at which to stop.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Make the labels fair: the largest gap between groups.")] = None,
    objective: Annotated[str, typer.Option(help="What fair labels maximise: accuracy, f1.")] = "accuracy",
    decision: Annotated[str, typer.Option(help="Fair labels without a coin, or with: deterministic, randomized.")] = (
        "deterministic"
    ),
    strict: Annotated[bool, typer.Option(help="Many classes or groups: keep epsilon to the letter.")] = False,
    random_state: Annotated[int, typer.Option(help="Seed of ties between equal tasks, and of draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Merge the votes in a file into one label per task; with --epsilon, into fair labels."""
    check_choice("--method", method, METHODS)
    learned = gold or (truth if method in TAUGHT else None)
    _check_options(method, tasks, group, truth, gold, by_group)
    guard(out, votes, tasks)
    if epsilon is not None:
        check_number("--epsilon", epsilon, low=0, high=1)
        if not group:
            raise OptionError("--epsilon bounds the gap between groups; give --group COLUMN.")

    from faircrowd.votes import read_votes
    from faircrowd.votes.facts import read_facts
    from faircrowd.votes.groups import truth_codes

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
        facts = {name: read_facts(tasks, name, task=task, delimiter=delimiter) for name in (truth, learned) if name}
        for name, column in facts.items():
            known, strange = truth_codes(table, column)
            if not (known != -1).any():
                raise InputError(f"No task of {votes} has a {name!r} in {tasks}; do the task ids match?")
            if not (known >= 0).any():
                raise InputError(
                    f"No value in column {name!r} of {tasks} is a label of the votes: {few(strange)} against "
                    f"{few(table.classes.some(range(min(5, table.n_classes))), table.n_classes)}."
                )
            if strange:
                console.note(f"column {name!r} of {tasks} has labels that nobody voted for: {few(strange)}")
    settings = {"ties": ties, "n_iter": n_iter, "tol": tol, "by_group": by_group or None}
    model = make_model(method, {name: value for name, value in settings.items() if value is not None})
    with console.rounds(f"{method}"):
        model.fit(table, *([facts[learned]] if learned else []))
    options: dict[str, Any] = {
        "votes": str(votes),
        "tasks": None if tasks is None else str(tasks),
        "group": group or None,
        "truth": truth,
        "gold": learned,
        "parameters": {name: as_plain(value) for name, value in model.get_params().items()},
    }
    # What a model learns from may add to its classes, so the truth is coded by them only now.
    scored = truth_codes(model.votes_, facts[truth])[0] if truth else None
    fair = None
    if epsilon is not None:
        asked: dict[str, Any] = {"epsilon": epsilon, "objective": objective, "decision": decision}
        asked |= {"strict": strict, "random_state": random_state}
        options |= asked
        with console.waiting("making the labels fair"):
            fair = make_labels_fair(model, asked)
    finish(console, out, method, model, scored, options, fair=fair, in_sample=learned == truth)


def as_plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it: infinity as text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def guard(out: Path, *inputs: Path | None) -> None:
    """Raise if an output file would take the place of an input."""
    for given in inputs:
        for name in FILES:
            target = out / name
            if given is not None and target.exists() and given.exists() and os.path.samefile(target, given):
                raise OptionError(f"--out {out} would overwrite the input {given}; choose another folder.")


def _check_options(
    method: str, tasks: Path | None, group: list[str] | None, truth: str | None, gold: str | None, by_group: bool
) -> None:
    if method in TAUGHT and gold is None and truth is None:
        raise OptionError(f"--method {method} learns from known labels; give --tasks FILE --gold COLUMN.")
    if gold is not None and method not in (*TAUGHT, "dawid-skene", "one-coin"):
        raise OptionError(f"--method {method} does not learn from known labels; leave --gold out.")
    if by_group and method not in ("dawid-skene", "one-coin"):
        raise OptionError("--by-group is for --method dawid-skene and one-coin.")
    if by_group and not group:
        raise OptionError("--by-group needs --group COLUMN.")
    if (truth or gold) and tasks is None:
        raise OptionError("--truth and --gold name columns of the tasks table; give --tasks FILE.")


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


def make_labels_fair(model: Any, options: dict[str, Any]) -> Any:
    """Return fair labels from a fitted model, as the options ask for."""
    from faircrowd.fair.estimator import from_posterior
    from faircrowd.fair.make import solve_problem
    from faircrowd.fair.problem import check_groups

    problem = from_posterior(model.posterior_, model.votes_)
    check_groups(problem.groups)
    return solve_problem(problem, **options)


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
    from faircrowd.report import OutputFolder, fair_lines, labels_table, summarise, workers_table

    table, posterior = model.votes_, model.posterior_
    name = f"{method} by group" if model.get_params().get("by_group") else method
    labels = None if fair is None else fair.solved.labels
    summary = summarise(name, model, table, posterior, truth, options, in_sample=in_sample, fair=labels)
    with console.waiting(f"writing {out}"), OutputFolder(out) as folder:
        folder.write_csv("labels.csv", labels_table(table, posterior, labels))
        folder.write_csv("workers.csv", workers_table(table, posterior.label_codes if labels is None else labels))
        folder.write_json("summary.json", summary.to_dict())
        if fair is not None:
            folder.write_text("rule.json", fair.rule.to_json() + "\n")
            folder.write_json("certificate.json", fair.certificate.to_dict())
    if fair is not None:
        more["certificate"] = fair.certificate.to_dict()
    lines = [] if fair is None else fair_lines(fair.certificate)
    files = FILES if fair is not None else FILES[:3]
    console.summary(summary, table.report.lines(), f"{out}/{', '.join(files)}", lines, out=str(out), **more)
