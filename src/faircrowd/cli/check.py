"""``faircrowd check``: a gate for pipelines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircrowd._checks import check_number, few
from faircrowd.cli import options as opt
from faircrowd.cli.console import Console, print_json
from faircrowd.errors import InputError, OptionError

if TYPE_CHECKING:
    from faircrowd.audit.gate import Verdict
    from faircrowd.votes.facts import Facts

__all__ = ["EXIT_CODES", "check"]

EXIT_CODES = {"pass": 0, "fail": 1, "not enough evidence": 3}
"""Errors exit with 2."""

_MOST_CLASSES = 8


def check(
    labels: Annotated[
        Path, typer.Argument(readable=False, help="Labels, a row per task: .csv, .tsv, .jsonl or .parquet.")
    ],
    epsilon: Annotated[
        float, typer.Option(parser=opt.number, metavar="NUMBER", help="The largest gap between groups allowed.")
    ],
    tasks: Annotated[
        Path | None,
        typer.Option(readable=False, help="Table with a row per task and its group, if that is not in LABELS."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Column with the sensitive group, of the tasks or the labels; several intersect."),
    ] = None,
    confidence: Annotated[
        float, typer.Option(parser=opt.number, metavar="NUMBER", help="How sure a pass or a fail must be.")
    ] = 0.95,
    task: opt.Task = None,
    label: opt.Label = None,
    delimiter: opt.Delimiter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check the gap of labels: exit code 0 pass, 1 fail, 3 not enough evidence, 2 errors."""
    check_number("--epsilon", epsilon, low=0, high=1)
    if not group:
        raise OptionError("The gap is between groups; give --group COLUMN.")

    from faircrowd._checks import check_confidence
    from faircrowd.audit.gate import check_labels

    check_confidence("--confidence", confidence)
    console = Console(as_json)
    with console.waiting(f"reading {labels}"):
        given, groups, notes = _read(labels, tasks, group, task, label, delimiter)
        verdict = check_labels(given, groups, epsilon=epsilon, confidence=confidence)
    if as_json:
        options = {"labels": str(labels), "tasks": None if tasks is None else str(tasks), "group": group}
        print_json({**verdict.to_dict(), "notes": notes, "options": options})
    else:
        _show(console, verdict, notes)
    raise typer.Exit(EXIT_CODES[verdict.status])


def _read(
    labels: Path, tasks: Path | None, group: list[str], task: str | None, label: str | None, delimiter: str | None
) -> tuple["Facts", Any, list[str]]:
    """Return the label and the groups of each task, and what there is to note."""
    import numpy as np
    import pyarrow as pa

    from faircrowd.votes.encode import encode
    from faircrowd.votes.facts import Facts, from_table
    from faircrowd.votes.frames import ALIASES, find_column
    from faircrowd.votes.readers import read_header

    names = read_header(labels, delimiter=delimiter)
    if task is not None:
        find_column("task", names, task, where=str(labels))
    if label is None and "agg_label" in names and not set(names) & set(ALIASES["label"]):
        label = "agg_label"  # as aggregators call it
    column = find_column("label", names, label, where=str(labels))
    key, (values,) = from_table(labels, task, [column], str(labels), delimiter)

    source, there = labels, names
    if tasks is not None:
        of_tasks = read_header(tasks, delimiter=delimiter)
        if not set(group) <= set(names) - set(of_tasks):
            source, there = tasks, of_tasks
    place, columns = from_table(source, task if task in there else None, group, str(source), delimiter)
    labelled, known = encode(key)[1], encode(place)[1]
    strange = np.flatnonzero(known.code_of(labelled.values) < 0)
    if strange.size:
        raise InputError(
            f"{strange.size:,} of {len(labelled):,} labelled tasks are not in {source}: "
            f"{few(labelled.some(strange[:5]), strange.size)}; do the task ids match?"
        )
    notes = []
    if len(known) > len(labelled):
        notes.append(f"{len(known) - len(labelled):,} of {len(known):,} tasks in {source} have no label in {labels}")
    groups = pa.table({"task": place, **{str(i): part for i, part in enumerate(columns)}})
    return Facts(key, values), groups, notes


def _show(console: Console, verdict: "Verdict", notes: list[str]) -> None:
    name, highest, lowest = verdict.widest
    rates = verdict.rates
    classes = list(rates[highest])
    where = f"class {name}: {rates[highest][name]:.1%} in group {highest}, {rates[lowest][name]:.1%} in group {lowest}"
    sure = f"{100 * verdict.confidence:g}% confidence in each end"
    shown = classes if len(classes) <= _MOST_CLASSES else [name]
    lines = [
        ("labels", f"{sum(verdict.groups.values()):,} tasks, {len(rates):,} groups, {len(classes):,} classes"),
        ("gap", f"{verdict.gap:.4f}" + (f" ({where})" if verdict.gap else "")),
        ("limits", f"{verdict.low:.4f} to {verdict.high:.4f} for all tasks like these ({sure})"),
    ]
    for group, counts in verdict.counts.items():
        shares = [f"{k}: {counts[k]:,} ({rates[group][k]:.1%})" for k in shown]
        more = f" and {len(classes) - len(shown):,} more classes" if len(shown) < len(classes) else ""
        lines.append((f"group {group}", f"{verdict.groups[group]:,} tasks, {', '.join(shares)}{more}"))
    lines += [("note", note) for note in notes]
    console.pairs([*lines, ("verdict", f"{verdict.status.upper()}: {verdict.reason}")])
