"""Arguments and options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer

from faircrowd.aggregate.registry import AGGREGATORS

__all__ = [
    "AsJson",
    "ByGroup",
    "Charts",
    "Delimiter",
    "EngineName",
    "Gold",
    "Group",
    "Label",
    "Master",
    "MemoryLimit",
    "Method",
    "NIter",
    "Objective",
    "OnDuplicate",
    "OnMissing",
    "OutFolder",
    "RandomState",
    "Report",
    "Resume",
    "Task",
    "Tasks",
    "Ties",
    "Tol",
    "Truth",
    "Votes",
    "Worker",
    "number",
]


def number(text: str) -> float:
    """Read a number; say how to write one given in percent or with a comma."""
    try:
        return float(text)
    except ValueError:
        found = re.fullmatch(r"\s*([0-9]+)(?:[.,]([0-9]+))?\s*(%?)\s*", text, re.ASCII)
        if found is None:
            raise typer.BadParameter(f"{text!r} is no number.") from None
        value = float(f"{found[1]}.{found[2] or 0}") / (100 if found[3] else 1)
        raise typer.BadParameter(f"{text!r} is no number; did you mean {value:g}?") from None


_LEARNS = ", ".join(kind.name for kind in AGGREGATORS.values() if kind.gold == "required")
_GROUPED = ", ".join(kind.name for kind in AGGREGATORS.values() if kind.by_group)

# Whether a file is readable is said by its reader: it knows why not.
Votes = Annotated[
    Path, typer.Argument(readable=False, help="Votes, a row each: .csv, .tsv, .jsonl (also compressed) or .parquet.")
]
OutFolder = Annotated[Path, typer.Option(help="Folder for the results.")]
Method = Annotated[str, typer.Option(help=f"One of {', '.join(AGGREGATORS)}.")]
Tasks = Annotated[Path | None, typer.Option(readable=False, help="Table with a row per task: groups, truth, gold.")]
Group = Annotated[
    list[str] | None,
    typer.Option(help="Column with the sensitive group, of the tasks or the votes; several intersect."),
]
Truth = Annotated[
    str | None,
    typer.Option(help=f"Column of the tasks with true labels to score by ({_LEARNS} learn from it)."),
]
Gold = Annotated[str | None, typer.Option(help="Column of the tasks with known labels to learn from.")]
ByGroup = Annotated[bool, typer.Option(help=f"{_GROUPED}: learn each worker in each group.")]
Task = Annotated[str | None, typer.Option(help="Name of the task column.")]
Worker = Annotated[str | None, typer.Option(help="Name of the worker column.")]
Label = Annotated[str | None, typer.Option(help="Name of the label column.")]
Delimiter = Annotated[str | None, typer.Option(help="Separator of a text file.")]
OnDuplicate = Annotated[str, typer.Option(help="A worker's repeated votes: last, first, all, error.")]
OnMissing = Annotated[str, typer.Option(help="Rows that lack a value: drop, error.")]
Ties = Annotated[str, typer.Option(help="A tie goes to the first or the last class in order.")]
NIter = Annotated[int | None, typer.Option(help="Most rounds of an iterative method.")]
Tol = Annotated[
    float | None, typer.Option(parser=number, metavar="NUMBER", help="Rise of the objective per vote at which to stop.")
]
Objective = Annotated[str, typer.Option(help="What fair labels maximise: accuracy, f1.")]
RandomState = Annotated[int, typer.Option(help="Seed of ties between equal tasks, and of draws.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Whether to write the page report.html.")]
Charts = Annotated[Path | None, typer.Option(help="Folder for the page's charts as PNG and SVG.")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine", help="Where the votes lie: memory, stream (on disk), spark, or auto by size and free memory."
    ),
]
MemoryLimit = Annotated[str | None, typer.Option(help="Memory that the run may take, such as 3GB (auto, stream).")]
Master = Annotated[
    str | None, typer.Option(help="Spark: local[2], spark://host:7077, or sc://host:15002 for Spark Connect.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last round of a run that was ended.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
