"""``faircrowd audit``: which workers favour a group, how the crowd adds it up, and what chance leaves open."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.compile_ahead import compile_ahead
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import OptionError
from faircrowd.runs.options import AuditOptions, ModelOptions, PageOptions, ReadOptions, RunOptions
from faircrowd.runs.wording import spoken
from faircrowd.votes.group_policy import MIN_GROUP

if TYPE_CHECKING:
    from faircrowd.audit.impact_table import ImpactTable
    from faircrowd.runs.finished_labels.check_file import CheckOptions

__all__ = ["audit"]


def audit(
    votes: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="Votes, one per row: .csv, .tsv, .jsonl (also compressed) or .parquet; with --table also finished "
            "labels, one row per task.",
        ),
    ],
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
            "in New York City's Local Law 144; of the labels of --method, or of finished labels.",
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
    accelerate: arg.Accelerate = False,
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    delimiter: arg.Delimiter = None,
    format: arg.From = None,
    multi: arg.Multi = None,
    bins: arg.Bins = None,
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
    title: arg.Title = None,
    note: arg.Note = None,
    date: arg.Date = None,
    as_json: arg.AsJson = False,
) -> None:
    """Audit workers and crowd: leanings, how they add up, agreement, ties, intervals."""
    if group:
        compile_ahead()
    from faircrowd.runs.finished_labels.check_file import CheckOptions
    from faircrowd.runs.finished_labels.impact_file import has_finished_labels
    from faircrowd.runs.fit import fit
    from faircrowd.runs.write import AUDIT_FILES, check_out

    asked = AuditOptions(confidence, replicates, random_state, control, table, selected, leave_out_small)
    asked.check()
    if table is not None and selected is not None and has_finished_labels(votes, worker, delimiter):
        finished = CheckOptions(votes, None, tuple(group or ()), tasks, task=task, label=label, delimiter=delimiter)
        of_votes = {"truth": truth, "gold": gold, "control": control, "by_group": by_group, "charts": charts}
        of_votes |= {"title": title, "note": note, "date": date}
        given = {"method": method != "majority", **{name: bool(value) for name, value in of_votes.items()}}
        _audit_labels(finished, selected, leave_out_small, out, given, as_json)
        return
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
        format=format,
        multi=multi,
        bins=bins,
        on_duplicate=on_duplicate,
        on_missing=on_missing,
        on_missing_group=on_missing_group,
        min_group=min_group,
        small_groups=small_groups,
    )
    options = RunOptions(
        read,
        ModelOptions.given(
            method,
            ties=ties,
            n_iter=n_iter,
            tol=tol,
            by_group=by_group or None,
            pooling=pooling,
            accelerate=accelerate or None,
        ),
        audit=asked,
        page=PageOptions.given(title, note, date),
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
        _show_impact(console, run.impact)


def _audit_labels(
    options: "CheckOptions", selected: str, leave_out_small: bool, out: Path, of_votes: dict[str, bool], as_json: bool
) -> None:
    """Make the table of finished labels, of which there are no workers to audit."""
    from faircrowd.runs.finished_labels.impact_file import impact_of_file

    for name, is_given in of_votes.items():
        if is_given:
            raise OptionError(
                f"{name} is about votes, and {options.labels} has finished labels (no column says which worker gave "
                "them); leave it out.",
                parameter=name,
            )
    console = Console(as_json)
    with console.waiting(f"reading {options.labels}"):
        found = impact_of_file(options, selected, leave_out_small=leave_out_small)
    written = found.write(out, options.tasks)
    if as_json:
        print_json({**found.to_dict(), "out": str(out)})
        return
    hits = sum(row.selected for row in found.impact.rows if row.attribute == found.impact.rows[0].attribute)
    told = f"finished: {found.impact.total:,} tasks, of which {hits:,} with a known category are selected"
    console.pairs([("labels", told), *(("note", spoken(note)) for note in found.notes), ("wrote", str(written))])
    _show_impact(console, found.impact)


def _show_impact(console: Console, impact: "ImpactTable") -> None:
    """Print a table of selection rates and impact ratios."""
    from faircrowd.report.words.impact_words import HEADINGS, impact_cells, impact_notes

    console.line()
    console.table([f"selected: {impact.rule}", *HEADINGS], impact_cells(impact))
    for note in impact_notes(impact):
        console.line(note)
