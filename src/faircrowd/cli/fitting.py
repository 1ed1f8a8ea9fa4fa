"""From the options of a command to a fitted model."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from faircrowd._checks import check_choice, few
from faircrowd.aggregate.registry import AGGREGATORS, kind_named
from faircrowd.cli.console import Console
from faircrowd.cli.engines import Engine
from faircrowd.errors import InputError, OptionError

__all__ = [
    "Fitted",
    "check_options",
    "fit_votes",
    "guard",
    "make_labels_fair",
    "make_model",
    "method_name",
    "read_table",
    "run_options",
]


class Fitted(NamedTuple):
    """A fitted model, the truth to score it by, and what it was given."""

    model: Any
    truth: Any
    in_sample: bool
    options: dict[str, Any]


def fit_votes(
    console: Console,
    votes: Path,
    *,
    method: str,
    tasks: Path | None,
    group: list[str] | None,
    truth: str | None,
    gold: str | None,
    by_group: bool,
    reading: dict[str, Any],
    settings: dict[str, Any],
    engine: Engine | None = None,
) -> Fitted:
    """Read votes and facts, and fit the model that the options ask for.

    Parameters
    ----------
    reading : dict
        Options of ``read_votes``.
    settings : dict
        Parameters of the model; None for its default.
    engine : Engine, optional
        Where the votes lie; by default in memory.
    """
    from faircrowd.aggregate.em import Iterative
    from faircrowd.votes.facts import read_facts
    from faircrowd.votes.groups import truth_codes

    check_choice("--method", method, tuple(AGGREGATORS))
    learned = gold or (truth if kind_named(method).gold == "required" else None)
    check_options(method, tasks, group, truth, gold, by_group)
    engine = (engine or Engine()).settled(console, votes)
    engine.clear_up(console)
    with console.waiting(f"reading {votes}"):
        table = read_table(votes, tasks, group, reading, engine)
        engine.check_memory(table)
        read = {name: read_facts(tasks, name, **_where(reading)) for name in (truth, learned) if name}
        for name, column in read.items():
            _check_truth(console, table, column, name, votes, tasks)
    given = {**settings, "by_group": by_group or None}
    model = make_model(method, {name: value for name, value in given.items() if value is not None})
    checkpoint = engine.checkpoint_of(model, table, method, learned, tasks if learned else None)
    with console.rounds(method) as on_round:
        rounds = {"checkpoint": checkpoint, "on_round": on_round} if isinstance(model, Iterative) else {}
        model.fit(table, *([read[learned]] if learned else []), **rounds)
    options = run_options(votes, tasks, group, truth, learned, method, reading, model)
    # What a model learns from may add to its classes, so the truth is coded by them only now.
    scored = truth_codes(model.votes_, read[truth])[0] if truth else None
    return Fitted(model, scored, learned == truth, options)


def run_options(
    votes: Path,
    tasks: Path | None,
    group: list[str] | None,
    truth: str | None,
    gold: str | None,
    method: str,
    reading: dict[str, Any],
    model: Any,
) -> dict[str, Any]:
    """Return what a run was given, enough to repeat it."""
    return {
        "votes": str(votes),
        "tasks": None if tasks is None else str(tasks),
        "group": group or None,
        "truth": truth,
        "gold": gold,
        "method": method,
        "reading": {name: value for name, value in reading.items() if value is not None},
        "parameters": {name: _as_plain(value) for name, value in model.get_params().items()},
    }


def read_table(
    votes: Path,
    tasks: Path | None,
    group: list[str] | None,
    reading: dict[str, Any],
    engine: Engine | None = None,
) -> Any:
    """Read votes with their groups; raise unless there is something to merge: several votes, workers and classes."""
    table = (engine or Engine()).read(votes, sensitive_features=group or None, tasks=tasks, **reading)
    for count, name in ((table.n_votes, "vote"), (table.n_workers, "worker"), (table.n_classes, "class")):
        if count < 2:
            found = f"only one {name}" if count else f"no {name}"
            raise InputError(f"{votes} has {found} to use; a consensus needs at least two. Is it the right file?")
    return table


def make_model(method: str, settings: dict[str, Any]) -> Any:
    """Build an aggregator from its name on the command line; settings it does not have are refused."""
    model = kind_named(method).load()()
    for name in settings:
        if name not in model.get_params():
            raise OptionError(f"--method {method} has no option --{name.replace('_', '-')}.")
    return model.set_params(**settings)


def method_name(model: Any, method: str) -> str:
    """Return what a summary calls a method."""
    return f"{method} by group" if model.get_params().get("by_group") else method


def make_labels_fair(model: Any, options: dict[str, Any]) -> Any:
    """Return fair labels from a fitted model, as the options ask for."""
    from faircrowd.fair.estimator import from_posterior
    from faircrowd.fair.make import solve_problem
    from faircrowd.fair.tasks.read_posterior import check_groups

    problem = from_posterior(model.posterior_, model.votes_)
    check_groups(problem.groups)
    return solve_problem(problem, **options)


def guard(out: Path, names: Iterable[str], *inputs: Path | None) -> None:
    """Raise if an output would take the place of an input, or of a folder that it lies in."""
    for given in inputs:
        for name in names:
            target = out / name
            if given is None or not (target.exists() and given.exists()):
                continue
            if os.path.samefile(target, given) or target.resolve() in given.resolve().parents:
                raise OptionError(f"--out {out} would overwrite the input {given}; choose another place.")


def check_options(
    method: str, tasks: Path | None, group: list[str] | None, truth: str | None, gold: str | None, by_group: bool
) -> None:
    """Raise if options of a command do not fit its method, or each other."""
    kind = kind_named(method)
    if kind.gold == "required" and gold is None and truth is None:
        raise OptionError(f"--method {method} learns from known labels; give --tasks FILE --gold COLUMN.")
    if gold is not None and kind.gold == "unused":
        raise OptionError(f"--method {method} does not learn from known labels; leave --gold out.")
    if by_group and not kind.by_group:
        grouped = " and ".join(kind.name for kind in AGGREGATORS.values() if kind.by_group)
        raise OptionError(f"--by-group is for --method {grouped}.")
    if by_group and not group:
        raise OptionError("--by-group needs --group COLUMN.")
    columns = group or []
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise OptionError(f"--group {repeated[0]} is given {columns.count(repeated[0])} times; once will do.")
    if (truth or gold) and tasks is None:
        raise OptionError("--truth and --gold name columns of the tasks table; give --tasks FILE.")


def _check_truth(console: Console, table: Any, column: Any, name: str, votes: Path, tasks: Path | None) -> None:
    from faircrowd.votes.groups import truth_codes

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


def _where(reading: dict[str, Any]) -> dict[str, Any]:
    return {name: reading.get(name) for name in ("task", "delimiter")}


def _as_plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it: infinity as text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
