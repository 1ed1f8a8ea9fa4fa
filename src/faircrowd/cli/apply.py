"""``faircrowd apply``: the same rule on new tasks."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console, plain
from faircrowd.cli.exit_codes import end_missed
from faircrowd.cli.json_output import print_json
from faircrowd.runs.options import ReadOptions
from faircrowd.runs.wording import spoken

__all__ = ["apply"]


def apply(
    rule: Annotated[
        Path, typer.Argument(readable=False, help="The rule.json of an earlier run; its model is in the same folder.")
    ],
    votes: Annotated[Path, typer.Argument(readable=False, help="Votes on new tasks, one per row.")],
    out: Annotated[Path, typer.Option(parser=arg.place, metavar="PATH", help="File for the labels (.csv).")],
    tasks: arg.Tasks = None,
    group: arg.Group = None,
    unknown: Annotated[
        str, typer.Option(help="Tasks of groups the rule does not know: error, or own (the aggregator's own label).")
    ] = "error",
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
    probability: arg.Probability = None,
    run: arg.RunColumn = None,
    family: arg.Family = None,
    abstained: arg.Abstained = None,
    abstain_label: arg.AbstainLabel = None,
    as_json: arg.AsJson = False,
) -> None:
    """Label new tasks with the model and the fair rule of an earlier run.

    Exit code 4 means that labels were written, but they miss epsilon, or a constraint, by more than chance explains.
    """
    from faircrowd.report.evidence import evidence_name
    from faircrowd.runs.new_tasks.apply_rule import apply_saved_rule, notes_of

    read = ReadOptions(
        votes,
        tasks,
        tuple(group or ()),
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
        **arg.judging(probability, run, family, abstained, abstain_label),
    )
    console = Console(as_json)
    applied = apply_saved_rule(rule, read, out, unknown=unknown, progress=console)
    notes = [spoken(note) for note in notes_of(applied)]
    if as_json:
        print_json({**applied.to_dict(), "out": str(out), "notes": notes})
    else:
        wrote = f"{out}, {evidence_name(out.name)}"
        console.pairs([*applied.lines(), *(("note", plain(note)) for note in notes), ("wrote", wrote)])
    end_missed(applied.missed, as_json=as_json)
