"""``faircrowd next``: which tasks of a run are worth another vote."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json

__all__ = ["next_votes"]


def next_votes(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", readable=False, help="The folder of a run of aggregate with fair labels.")
    ],
    top: Annotated[int, typer.Option(help="How many tasks to list at most.")] = 20,
    tasks: Annotated[
        Path | None,
        typer.Option(readable=False, help="Table of tasks of a run with --require, if it is no longer in its place."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(parser=arg.place, metavar="PATH", help="File for the list (.csv).")
    ] = None,
    as_json: arg.AsJson = False,
) -> None:
    """List the tasks of a run on which another vote is worth most: where it is likely to change the label, and gain."""
    from faircrowd.runs.next_votes import votes_worth_asking
    from faircrowd.runs.write import check_out

    console = Console(as_json)
    if out is not None:
        check_out(out.parent, [out.name], [folder / "labels.csv", folder / "rule.json", tasks])
    found = votes_worth_asking(folder, top=top, tasks=tasks)
    if out is not None:
        found.write(out)
    if as_json:
        print_json({**found.to_dict(), "out": None if out is None else str(out)})
        return
    if found.table.num_rows:
        console.table(*found.rows())
    console.pairs([*found.lines(), *([] if out is None else [("wrote", str(out))])])
