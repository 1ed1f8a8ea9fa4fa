"""``faircrowd audit``: which workers favour a group, how the crowd adds it up, and what chance leaves open."""

from typing import TYPE_CHECKING, Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.runs.options import AuditOptions, ModelOptions, ReadOptions, RunOptions
from faircrowd.votes.group_policy import MIN_GROUP

if TYPE_CHECKING:
    from faircrowd.audit.impact_table import ImpactTable

__all__ = ["audit", "show_impact"]


def audit(
    votes: arg.Votes,
    out: arg.OutFolder,
    method: arg.AuditMethod = "majority",
    tasks: arg.Tasks = None,
    group: arg.Group = None,
    truth: arg.Truth = None,
    gold: arg.Gold = None,
    control: Annotated[
        str | None,
        typer.Option(help="Column of the tasks that may explain a gap; the gap is also shown within its values."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A further table: ll144 has selection rates and impact ratios by category of each --group column, as "
            "in New York City's Local Law 144.",
        ),
    ] = None,
    selected: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label that counts as selected, with --table.")
    ] = None,
    leave_out_small: Annotated[
        bool,
        typer.Option(
            "--leave-out-small", help="Leave categories with less than 2% of the data out of the ratios of --table."
        ),
    ] = False,
    by_group: arg.ByGroup = False,
    pooling: arg.Pooling = None,
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    on_duplicate: arg.OnDuplicate = "last",
    on_missing: arg.OnMissing = "drop",
    on_missing_group: arg.OnMissingGroup = "error",
    min_group: arg.MinGroup = MIN_GROUP,
    small_groups: arg.SmallGroups = "leave-out",
    ties: arg.Ties = "first",
    n_iter: arg.NIter = None,
    tol: arg.Tol = None,
    confidence: Annotated[
        float, typer.Option(parser=arg.number, metavar="NUMBER", help="Confidence level of the intervals.")
    ] = 0.95,
    replicates: Annotated[int, typer.Option(help="Draws of tasks and workers for the bootstrap; 0 for none.")] = 2000,
    random_state: arg.RandomState = 0,
    report: arg.Report = True,
    charts: arg.Charts = None,
    as_json: arg.AsJson = False,
) -> None:
    """Audit workers and crowd: leanings, how they add up, agreement, ties, intervals."""
    from faircrowd.runs.fit import fit
    from faircrowd.runs.write import AUDIT_FILES, check_out

    read = ReadOptions(
        votes,
        tasks,
        tuple(group or ()),
        truth=truth,
        gold=gold,
        task=task,
        worker=worker,
        label=label,
        delimiter=delimiter,
        on_duplicate=on_duplicate,
        on_missing=on_missing,
        on_missing_group=on_missing_group,
        min_group=min_group,
        small_groups=small_groups,
    )
    options = RunOptions(
        read,
        ModelOptions.given(method, ties=ties, n_iter=n_iter, tol=tol, by_group=by_group or None, pooling=pooling),
        audit=AuditOptions(confidence, replicates, random_state, control, table, selected, leave_out_small),
    )
    check_out(out, AUDIT_FILES, (votes, tasks))
    console = Console(as_json)
    run = fit(options, console)
    written = run.write(out, report=report, charts=charts, progress=console)
    if run.impact is None:
        console.run(run, written)
        return
    console.run(run, written, impact=run.impact.to_dict())
    if not as_json:
        show_impact(console, run.impact)


def show_impact(console: Console, impact: "ImpactTable") -> None:
    """Print a table of selection rates and impact ratios."""
    rows = []
    for row in impact.rows:
        ratio = "left out" if row.ratio is None and row.is_small else "-" if row.ratio is None else f"{row.ratio:.3f}"
        small = "*" if row.is_small else ""
        rows.append(
            [
                f"{row.attribute}: {row.category}{small}",
                f"{row.number:,}",
                f"{row.selected:,}",
                f"{row.rate:.1%}",
                ratio,
            ]
        )
    console.line()
    console.table([f"selected: {impact.rule}", "number", "selected", "rate", "impact ratio"], rows)
    if any(row.is_small for row in impact.rows):
        console.line("* less than 2% of the data")
    for attribute, number in impact.unknown.items():
        console.line(f"{attribute}: {number:,} of {impact.total:,} not known, and in none of the rates")
