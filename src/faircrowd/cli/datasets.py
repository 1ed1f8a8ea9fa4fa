"""``faircrowd datasets``: list the data sets, or write one of them as tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircrowd._checks import check_choice
from faircrowd.cli import arguments as arg
from faircrowd.cli.completion import data_sets
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import InputError, OptionError

if TYPE_CHECKING:
    from faircrowd.datasets.crowd import Crowd

__all__ = ["datasets"]

_FILES = ("votes.csv", "tasks.csv")


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Name of a data set; by default all are listed.", autocompletion=data_sets)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=arg.place, metavar="PATH", help="Folder for votes.csv and tasks.csv of the data set."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; by default FAIRCROWD_DATA, or one in the user's cache.")
    ] = None,
    as_json: arg.AsJson = False,
) -> None:
    """List the data sets, or write one as votes.csv and tasks.csv; missing files are downloaded."""
    from faircrowd.datasets.catalogue import ABOUT
    from faircrowd.datasets.download import find_home

    console = Console(as_json)
    home = find_home(data)
    names = [*ABOUT, *_ready(home)]
    if name is None:
        if out is not None:
            raise OptionError("Name the data set to write: faircrowd datasets NAME --out DIR.")
        with console.waiting(f"reading {home}"):
            rows = [_listed(one, home) for one in names]
        if as_json:
            print_json({"data": str(home), "datasets": rows})
        else:
            console.pairs([(row["name"], _line(row)) for row in rows])
        return
    check_choice("NAME", name, names)
    if out is None:
        row = _described(name, home)
    else:
        from faircrowd.runs.write import check_out

        check_out(out, _FILES, (home / name / file for file in _FILES))
        crowd = _load(name, home)
        row = {**_counted(name, crowd), "out": str(out)}
        _write(crowd, out)
    if as_json:
        print_json(row)
        return
    lines = [("data set", f"{name}: {row['description']}"), ("holds", _line(row))]
    lines += [(fact, row[fact]) for fact in ("citation", "source")]
    lines += [("note", f"{count:,} {reason}") for reason, count in row.get("aside", {}).items()]
    console.pairs([*lines, *([("wrote", f"{out}/{', '.join(_FILES)}")] if out is not None else [])])


def _ready(home: Path) -> list[str]:
    """Return the names of folders with votes.csv and tasks.csv, up to two levels down."""
    found = [path.parent for pattern in ("*/votes.csv", "*/*/votes.csv") for path in home.glob(pattern)]
    return sorted(path.relative_to(home).as_posix() for path in found if (path / "tasks.csv").is_file())


def _load(name: str, home: Path) -> "Crowd":
    from faircrowd.datasets.loaders import LOADERS, load_tables

    return LOADERS[name](home) if name in LOADERS else load_tables(home / name)


def _listed(name: str, home: Path) -> dict[str, Any]:
    try:
        return _described(name, home)
    except InputError as error:  # one broken table must not hide the others
        return {"name": name, "here": False, "folder": str(home / name), "problem": str(error)}


def _described(name: str, home: Path) -> dict[str, Any]:
    """Return what is known about a data set without a download."""
    from faircrowd.datasets.catalogue import ABOUT
    from faircrowd.datasets.download import find_files

    about = ABOUT.get(name)
    found = {} if about is None else find_files(about, home)
    if about is not None and len(found) < len(about.files):
        facts = {fact: getattr(about, fact) for fact in ("name", "description", "licence", "citation", "source")}
        missing = [file.name for file in about.files if file.name not in found]
        return {**facts, "here": False, "folder": str(home / name), "missing": missing}
    folders = sorted({str(path.parent) for path in found.values()}) or ([str(home / name)] if about is None else [])
    return {**_counted(name, _load(name, home)), "folder": ", ".join(folders) or None}


def _counted(name: str, crowd: "Crowd") -> dict[str, Any]:
    """Return the facts about a crowd, and how many tasks, workers, votes, classes and groups it has."""
    from faircrowd.votes import as_votes

    table = as_votes(crowd.votes, crowd.groups)
    facts = {fact: getattr(crowd, fact) for fact in ("description", "licence", "citation", "source", "aside")}
    counts = {"tasks": table.n_tasks, "workers": table.n_workers, "votes": table.n_votes, "classes": table.n_classes}
    groups = 0 if table.groups is None else len(table.groups)
    return {"name": name, **facts, "here": True, **counts, "groups": groups}


def _line(row: dict[str, Any]) -> str:
    if "problem" in row:
        return f"cannot be read: {row['problem']}"
    if not row["here"]:
        return f"not here: put {', '.join(row['missing'])} into {row['folder']}; licence: {row['licence']}"
    counts = ", ".join(f"{row[what]:,} {what}" for what in ("tasks", "workers", "votes", "classes", "groups"))
    place = f"; in {row['folder']}" if row.get("folder") else ""
    return f"{counts}; licence: {row['licence']}{place}"


def _write(crowd: "Crowd", out: Path) -> None:
    from faircrowd.datasets.crowd import arrow_tables
    from faircrowd.report import OutputFolder

    with OutputFolder(out) as folder:
        for file, table in zip(_FILES, arrow_tables(crowd), strict=True):
            folder.write_csv(file, table)
