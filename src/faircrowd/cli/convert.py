"""``faircrowd convert``: an export of a labelling platform as plain tables."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.runs.options import ReadOptions
from faircrowd.runs.wording import spoken

__all__ = ["convert"]


def convert(
    export: Annotated[
        Path,
        typer.Argument(readable=False, help="The export: a file, a folder or an archive, as the platform gives it."),
    ],
    out: arg.OutFolder,
    format: arg.From = None,
    task: arg.Task = None,
    worker: arg.Worker = None,
    label: arg.Label = None,
    multi: arg.Multi = None,
    bins: arg.Bins = None,
    keep_golden: Annotated[
        bool, typer.Option("--keep-golden", help="Keep the votes on golden tasks, whose labels are known.")
    ] = False,
    delimiter: arg.Delimiter = None,
    on_duplicate: arg.OnDuplicate = "last",
    on_missing: arg.OnMissing = "drop",
    as_json: arg.AsJson = False,
) -> None:
    """Write an export as votes.csv, tasks.csv, gold.csv (known labels) and account.json (what became of each row)."""
    from faircrowd.runs.convert import convert as convert_export

    read = ReadOptions(
        export,
        task=task,
        worker=worker,
        label=label,
        delimiter=delimiter,
        format=format,
        multi=multi,
        bins=bins,
        keep_golden=keep_golden or None,
        on_duplicate=on_duplicate,
        on_missing=on_missing,
    )
    console = Console(as_json)
    found = convert_export(read, console)
    files = found.write(out)
    learn = spoken(found.how_to_learn(out))
    if as_json:
        notes = [*map(spoken, found.all_notes()), *([f"gold.csv: {learn}"] if learn else [])]
        print_json({**found.to_dict(), "notes": notes, "out": str(out)})
        return
    told = [("note", spoken(note)) for note in found.all_notes()]
    told += [("wrote", f"{out}/{', '.join(files)}"), *([("gold.csv", learn)] if learn else [])]
    console.pairs([*found.lines(), *told])
