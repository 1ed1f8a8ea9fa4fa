"""``faircrowd verify``: recompute the evidence of a folder from its inputs, and name what differs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json

if TYPE_CHECKING:
    from faircrowd.runs.verify import Verification

__all__ = ["verify"]


def verify(
    folder: Annotated[Path, typer.Argument(help="A folder that faircrowd wrote, or the labels of faircrowd apply.")],
    votes: Annotated[Path | None, typer.Option(help="The votes, if they have moved.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The tasks, if they have moved.")] = None,
    rule: Annotated[
        Path | None, typer.Option(help="The rule.json that apply was given, if it has moved with its model.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="The Spark cluster, if not that of the run: results do not depend on it.")
    ] = None,
    as_json: arg.AsJson = False,
) -> None:
    """Do a run again, and compare every file with it: exit code 0 if all is alike, 1 if something differs, else 2."""
    from faircrowd.runs import verify as runs

    console = Console(as_json)
    found = runs.verify(folder, votes=votes, tasks=tasks, rule=rule, master=master, progress=console)
    if as_json:
        print_json(found.to_dict())
    else:
        console.pairs([*_outcome(found), *(("note", note) for note in found.notes)])
    if not found.verified:
        raise typer.Exit(1 if found.differences else 2)


def _outcome(found: "Verification") -> list[tuple[str, str]]:
    missing = [("not checked", line) for line in found.unverified]
    if found.differences:
        number = f"{len(found.differences)} difference{'s' * (len(found.differences) > 1)}"
        return [("NOT verified", number), *(("differs", line) for line in found.differences), *missing]
    words = f"{found.checks} checks: inputs and outputs unchanged, every file recomputed alike"
    if missing:
        words = f"{found.checks} checks: outputs unchanged, and what can be recomputed is alike"
    return [("in part" if missing else "verified", words), ("run", found.run), *missing]
