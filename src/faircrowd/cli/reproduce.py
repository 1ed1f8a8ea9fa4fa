"""``faircrowd reproduce``: the paper's experiments."""

from pathlib import Path
from typing import Annotated

import typer

from faircrowd.cli import arguments as arg
from faircrowd.cli.completion import experiments
from faircrowd.cli.console import Console
from faircrowd.cli.json_output import print_json
from faircrowd.errors import FileError, OptionError

__all__ = ["reproduce"]


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(
            help="convergence, synthetic, crowd-judgement, jigsaw, hate-speech, extra, or all.",
            autocompletion=experiments,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            parser=arg.place,
            metavar="PATH",
            help="Folder for tables and figures; a run that was stopped continues there.",
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="Folder with the data sets (else FAIRCROWD_DATA, or downloads).")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of resamples.")] = 10,
    jobs: Annotated[int | None, typer.Option(help="Number of processes; by default one per core.")] = None,
    as_json: arg.AsJson = False,
) -> None:
    """Run the paper's experiments: rows (CSV), tables (Markdown) and figures (PNG, SVG)."""
    from faircrowd.experiments import EXPERIMENTS
    from faircrowd.experiments import reproduce as run
    from faircrowd.experiments.experiment_data import load_material

    if data is not None and not data.is_dir():
        raise OptionError(f"--data {data} is not a folder.")
    console = Console(as_json)
    chosen = list(EXPERIMENTS) if "all" in experiments else experiments
    if "all" in experiments:
        try:
            load_material("hate-speech", None if data is None else str(data))
        except FileError as error:
            chosen.remove("hate-speech")
            console.note(f"hate-speech was left out: {error}")
    with console.cells() as progress:
        done = run(chosen, out, data_home=data, seeds=seeds, jobs=jobs, progress=progress)
    if as_json:
        print_json({"experiments": [one._asdict() for one in done], "notes": console.notes, "out": str(out)})
        return
    lines = [(one.name, f"{one.rows:,} rows; {', '.join(one.files)}") for one in done]
    console.pairs([*lines, *(("note", note) for note in console.notes), ("wrote", str(out))])
