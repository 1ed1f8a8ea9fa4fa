"""``faircrowd dossier``: what an auditor files about the labels of a run."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.runs.wording import spoken

__all__ = ["dossier"]


def dossier(
    folder: Annotated[Path, typer.Argument(metavar="DIR", readable=False, help="The folder of a run of aggregate.")],
    out: Annotated[
        Path | None,
        typer.Option(parser=arg.place, metavar="PATH", help="Folder for the dossier; by default DIR/dossier."),
    ] = None,
    selected: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The label that counts as selected in the table of Local Law 144."),
    ] = None,
    leave_out_small: Annotated[
        bool,
        typer.Option("--leave-out-small", help="Leave categories with less than 2% of the data out of its ratios."),
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What the data set is called.")] = None,
    license: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its licence: an identifier such as CC-BY-4.0, or an address.")
    ] = None,
    creator: Annotated[str | None, typer.Option(metavar="TEXT", help="The organization that made it.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Its address.")] = None,
    published: Annotated[
        str | None, typer.Option(metavar="DATE", help="When it was published, such as 2026-01-31.")
    ] = None,
    as_json: arg.AsJson = False,
) -> None:
    """Write what an auditor files about the labels of a run: datasheet, dataset card, Croissant, impact ratios."""
    from faircrowd.runs.dossiers.write_dossier import write_dossier

    console = Console(as_json)
    with console.waiting(f"reading {folder}"):
        found = write_dossier(
            folder,
            out,
            selected=selected,
            leave_out_small=leave_out_small,
            title=title,
            license=license,
            creator=creator,
            url=url,
            published=published,
        )
    notes = [spoken(note) for note in found.notes]
    if as_json:
        print_json({**found.to_dict(), "notes": notes})
        return
    told = f"{found.facts:,} numbers, each with its place; {found.to_fill:,} places are to be filled in"
    claim = "no statement that any law is kept"
    wrote = f"{found.folder}/{', '.join(found.files)}"
    console.pairs([("dossier", told), ("it is", claim), *(("note", note) for note in notes), ("wrote", wrote)])
