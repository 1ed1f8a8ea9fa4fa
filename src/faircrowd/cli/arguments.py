"""Arguments and options that several commands share."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.cli import completion
from faircrowd.runs.options import ENGINES
from faircrowd.votes.group_policy import ON_MISSING_GROUP, SMALL_GROUPS

__all__ = [
    "Abstain",
    "AbstainLabel",
    "Abstained",
    "Accelerate",
    "AsJson",
    "AuditMethod",
    "Believed",
    "Bins",
    "ByGroup",
    "Calibrate",
    "Charts",
    "Date",
    "Delimiter",
    "EngineName",
    "Family",
    "From",
    "Gold",
    "Group",
    "Label",
    "Master",
    "MemoryLimit",
    "Method",
    "MinGroup",
    "Multi",
    "NIter",
    "Note",
    "Objective",
    "OnDuplicate",
    "OnMissing",
    "OnMissingGroup",
    "OutFolder",
    "Pooling",
    "Positive",
    "Probability",
    "RandomState",
    "Report",
    "Require",
    "Resume",
    "RunColumn",
    "SmallGroups",
    "Task",
    "Tasks",
    "Ties",
    "Title",
    "Tol",
    "Truth",
    "Vary",
    "Votes",
    "Worker",
    "judging",
    "number",
    "place",
    "votes_or_learned",
]


def number(text: str) -> float:
    """Read a number; the message proposes how to write one given in percent or with a comma."""
    try:
        return float(text)
    except ValueError:
        found = re.fullmatch(r"\s*([0-9]+)(?:[.,]([0-9]+))?\s*(%?)\s*", text, re.ASCII)
        if found is None:
            raise typer.BadParameter(f"{text!r} is not a number.") from None
        value = float(f"{found[1]}.{found[2] or 0}") / (100 if found[3] else 1)
        raise typer.BadParameter(f"{text!r} is not a number; did you mean {value:g}?") from None


def place(text: str | Path) -> Path:
    """Read the path of a file or folder to write; a text that is empty, as of a variable without a value, is none."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty; name a place for the results, such as results.")
    return Path(text)


def judging(
    probability: list[str] | None,
    run: str | None,
    family: str | None,
    abstained: str | None,
    abstain_label: list[str] | None,
) -> dict[str, Any]:
    """Return the options of votes of judges as ``ReadOptions`` takes them."""
    columns = probability[0] if probability and len(probability) == 1 else tuple(probability or ()) or None
    more = {"probability": columns, "abstain_label": tuple(abstain_label or ()) or None}
    return {**more, "run": run, "family": family, "abstained": abstained}


def votes_or_learned(text: str) -> float | str:
    """Read how strongly workers are pooled: a number of votes, or the words learned or none."""
    if text in ("learned", "none"):
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number of votes nor learned or none.") from None


_LEARN = ", ".join(kind.name for kind in AGGREGATORS.values() if kind.gold == "required")
_GROUPED = ", ".join(kind.name for kind in AGGREGATORS.values() if kind.by_group)

# Whether a file is readable is checked by its reader, which can say why it is not.
Votes = Annotated[
    Path,
    typer.Argument(
        readable=False,
        help="Votes, one per row: .csv, .tsv, .jsonl (also compressed) or .parquet; or an export of a platform.",
    ),
]
OutFolder = Annotated[Path, typer.Option(parser=place, metavar="PATH", help="Folder for the results.")]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(AGGREGATORS)}; by default dawid-skene or, with --calibrate, calibrated.",
        autocompletion=completion.methods,
    ),
]
AuditMethod = Annotated[str, typer.Option(help=f"One of {', '.join(AGGREGATORS)}.", autocompletion=completion.methods)]
Tasks = Annotated[Path | None, typer.Option(readable=False, help="Table with one row per task: groups, truth, gold.")]
Group = Annotated[
    list[str] | None,
    typer.Option(help="Column with the sensitive group, of the tasks or the votes; several are intersected."),
]
Truth = Annotated[
    str | None,
    typer.Option(help=f"Column of the tasks with true labels to score by ({_LEARN} learn from it)."),
]
Gold = Annotated[str | None, typer.Option(help="Column of the tasks with known labels to learn from.")]
Calibrate = Annotated[
    str | None,
    typer.Option(
        help="Column of the tasks with known labels of some of them, a random sample: calibrate the probabilities, and "
        "estimate the real accuracy."
    ),
]
ByGroup = Annotated[bool, typer.Option(help=f"{_GROUPED}: learn each worker (calibrated: each class) in each group.")]
Task = Annotated[str | None, typer.Option(help="Name of the task column.")]
Worker = Annotated[str | None, typer.Option(help="Name of the worker column.")]
Label = Annotated[str | None, typer.Option(help="Name of the label column; of an export, one of its questions.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        autocompletion=completion.formats,
        help="The format of the votes, if their content does not tell it: label-studio, toloka, ...; list names all.",
    ),
]
Multi = Annotated[
    str | None,
    typer.Option(
        help="Exports, several options chosen at once: error, set (each set is a class), each (one yes/no question per "
        "option, such as --label flags.insult).",
        autocompletion=completion.one_of("error", "set", "each"),
    ),
]
Bins = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="Exports: cut scores into classes at these numbers, such as 2.5,4."),
]
Delimiter = Annotated[str | None, typer.Option(help="Separator of a text file.")]
OnDuplicate = Annotated[
    str,
    typer.Option(
        help="Which of a worker's repeated votes count: last, first, all, error.",
        autocompletion=completion.one_of("last", "first", "all", "error"),
    ),
]
OnMissing = Annotated[
    str,
    typer.Option(help="Rows that lack a value: drop, error.", autocompletion=completion.one_of("drop", "error")),
]
OnMissingGroup = Annotated[
    str,
    typer.Option(
        help="Tasks without a group: error, drop (left out of the gap, with their own label), own (a group 'missing').",
        autocompletion=completion.one_of(*ON_MISSING_GROUP),
    ),
]
MinGroup = Annotated[int, typer.Option(help="Groups with fewer tasks are small; 1 compares every group.")]
SmallGroups = Annotated[
    str,
    typer.Option(
        help="Small groups: leave-out (of the gap; their tasks keep the likeliest label), merge (into one group "
        "'other'), error.",
        autocompletion=completion.one_of(*SMALL_GROUPS),
    ),
]
Pooling = Annotated[
    str | None,
    typer.Option(
        parser=votes_or_learned,
        metavar="NUMBER",
        help="dawid-skene, one-coin: draw workers toward the crowd by this many votes, learned (the default of "
        "dawid-skene) or none.",
    ),
]
Accelerate = Annotated[
    bool,
    typer.Option(
        "--accelerate", help="dawid-skene, one-coin: fewer rounds by extrapolation; worth it with a small --tol."
    ),
]
Probability = Annotated[
    list[str] | None,
    typer.Option(
        help="Judges: column with the probability of the row's label; or, given several times, of each class. By "
        "default probability or probability_<class>, if there are such; none for none."
    ),
]
RunColumn = Annotated[
    str | None,
    typer.Option("--run", help="Judges: column with the run; the runs of a judge on a task are averaged to one vote."),
]
Family = Annotated[str | None, typer.Option(help="Judges: column with the family of judges whose errors go together.")]
Abstained = Annotated[str | None, typer.Option(help="Judges: column that is true where the judge abstains.")]
AbstainLabel = Annotated[list[str] | None, typer.Option(help="Judges: a label that means that the judge abstains.")]
Abstain = Annotated[
    str | None,
    typer.Option(
        help="jury: what an abstention means: leave-out (nothing, the default) or informative (learned from --gold)."
    ),
]
Ties = Annotated[
    str,
    typer.Option(
        help="A tie goes to the first or the last class in order.", autocompletion=completion.one_of("first", "last")
    ),
]
NIter = Annotated[int | None, typer.Option(help="Maximum number of rounds of an iterative method.")]
Tol = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="Stop when a round raises the objective per vote by no more than this.",
    ),
]
Objective = Annotated[
    str,
    typer.Option(help="What fair labels maximise: accuracy, f1.", autocompletion=completion.one_of("accuracy", "f1")),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Something that the labels must keep, such as 'parity(gender) <= 0.05', 'ratio(race, label=hire) >= 0.8', "
        "'opportunity(race, label=1) <= 0.05' or 'changed <= 0.1'; several may be given.",
    ),
]
Believed = Annotated[
    bool,
    typer.Option(
        "--believed", help="Keep what --require says about the truth as the aggregator believes, without --calibrate."
    ),
]
Vary = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="With several --require: the one whose limit is varied, by its number (1, 2, ...) or its text; by default "
        "the first.",
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="The class whose F1 is maximised, with --objective f1; by default the second.")
]
RandomState = Annotated[int, typer.Option(help="Seed for the order of equal tasks and for random draws.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Whether to write the page report.html.")]
Charts = Annotated[
    Path | None, typer.Option(parser=place, metavar="PATH", help="Folder for the page's charts as PNG and SVG.")
]
Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What was labelled, in a line: the page begins with it.")
]
Note = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What the labels are for, or what else a reader of the page should know."),
]
Date = Annotated[
    str | None,
    typer.Option(
        metavar="DAY",
        help="The day that the page states, such as 2026-11-18, or today; by default of SOURCE_DATE_EPOCH, if set.",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where the votes are kept: memory, stream (on disk), spark, or auto by size and free memory.",
        autocompletion=completion.one_of(*ENGINES),
    ),
]
MemoryLimit = Annotated[str | None, typer.Option(help="Memory that the run may use, such as 3GB (auto, stream).")]
Master = Annotated[
    str | None, typer.Option(help="Spark: local[2], spark://host:7077, or sc://host:15002 for Spark Connect.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the last round of a run that was interrupted.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
