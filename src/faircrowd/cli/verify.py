"""``faircrowd verify``: recompute the evidence of a folder from its inputs, and name what differs."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json

__all__ = ["verify"]


def verify(
    folder: Annotated[Path, typer.Argument(help="A folder that faircrowd wrote.")],
    votes: Annotated[Path | None, typer.Option(help="The votes, if they have moved.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The tasks, if they have moved.")] = None,
    as_json: arg.AsJson = False,
) -> None:
    """Compare the files of a run with its evidence, and with a new run: exit code 0 if nothing differs, else 1."""
    from faircrowd.runs import verify as runs

    console = Console(as_json)
    found = runs.verify(folder, votes=votes, tasks=tasks, progress=console)
    if as_json:
        print_json(found.to_dict())
    elif found.verified:
        words = f"{found.checks} checks: inputs and outputs unchanged, results recomputed alike"
        console.pairs([("verified", words), ("run", found.run)])
    else:
        number = f"{len(found.differences)} difference{'s' * (len(found.differences) > 1)}"
        console.pairs([("NOT verified", number), *(("differs", line) for line in found.differences)])
    if not found.verified:
        raise typer.Exit(1)
