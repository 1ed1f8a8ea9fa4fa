"""What each command writes, and how it is done again from its evidence: the registry that ``verify`` goes by.

A command that writes evidence has one entry here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.report import OutputFolder
from faircrowd.runs.file_differences import Field
from faircrowd.runs.fit import fit
from faircrowd.runs.frontiers.frontier_run import FrontierRun
from faircrowd.runs.frontiers.limit_frontier_run import LimitFrontierRun
from faircrowd.runs.frontiers.traced_frontier import FRONTIER_FILES
from faircrowd.runs.new_tasks.apply_rule import apply_again
from faircrowd.runs.options import EngineOptions, RunOptions
from faircrowd.runs.run import Run
from faircrowd.runs.spark_run import fill_in_spark
from faircrowd.runs.write import AUDIT_FILES, PAGE, RUN_FILES, SPARK_LABELS, fill

__all__ = ["MEASURED", "RECORDED", "RecordedCommand", "RecordedRun", "recorded_command", "register"]

MEASURED: dict[str, tuple[Field, ...]] = {
    "certificate.json": (("seconds",),),
    "summary.json": (("version",),),
    "evidence.json": (("version",), ("python",), ("libraries",), ("outputs",), ("certificate", "seconds")),
}
"""Every field that a second run may have otherwise: how long it took, and the versions that it was done with.

They are checked against each other instead, and ``outputs`` against the files (see ``verify``).
"""


@dataclass(frozen=True)
class RecordedRun:
    """A run as its evidence tells it, to be done again.

    Attributes
    ----------
    said : mapping
        The evidence.
    places : mapping of str to Path
        Where the inputs are now, by role.
    in_memory : mapping
        The inputs that were in memory and do not matter to the labels.
    master : str or None
        Another Spark cluster than that of the run.
    """

    said: Mapping[str, Any]
    places: Mapping[str, Path]
    in_memory: Mapping[str, Any] = field(default_factory=dict)
    master: str | None = None

    @property
    def is_in_spark(self) -> bool:
        """Whether the run was done in Spark."""
        return bool(self.said["options"].get("engine") == "spark")


@dataclass(frozen=True)
class RecordedCommand:
    """A command whose runs are recorded in evidence.

    Attributes
    ----------
    name : str
    files : tuple of str
        All files that it may write; one of them in its folder that it did not write is of another run.
    again : callable
        Writes the files of a run again into an open folder.
    replaced : tuple of str
        Files of other commands that it removes.
    """

    name: str
    files: tuple[str, ...]
    again: Callable[[RecordedRun, OutputFolder], None]
    replaced: tuple[str, ...] = ()


RECORDED: dict[str, RecordedCommand] = {}
"""Every command that writes evidence, by name."""


def register(command: RecordedCommand) -> None:
    """Add a command."""
    RECORDED[command.name] = command


def recorded_command(name: object, place: Path) -> RecordedCommand:
    """Return the command that evidence names; raise if there is none such."""
    if not isinstance(name, str) or name not in RECORDED:
        raise InputError(
            f"{place} is evidence of a command {name!r}, which cannot be repeated; this version knows {few(RECORDED)}."
        )
    return RECORDED[name]


def _run_again(run: RecordedRun, folder: OutputFolder) -> None:
    if run.is_in_spark:
        fill_in_spark(_options(run), folder, places=run.places, recorded=run.said, master=run.master)
    else:
        fill(_repeated(run), folder, report=PAGE in run.said["outputs"], recorded=run.said)


def _frontier_again(run: RecordedRun, folder: OutputFolder) -> None:
    done = _repeated(run)
    kind = LimitFrontierRun if done.options.frontier is not None and done.options.frontier.require else FrontierRun
    kind(done).fill(folder, run.said)


def _apply_again(run: RecordedRun, folder: OutputFolder) -> None:
    apply_again(run.said, run.places, folder)


def _options(run: RecordedRun) -> RunOptions:
    files = {role: Path(given["path"]) for role, given in run.said["inputs"].items() if role in run.places}
    return RunOptions.from_dict(run.said["command"], run.said["options"], files)


def _repeated(run: RecordedRun) -> Run:
    options = _options(run)
    # Results in memory and streamed are the same, so evidence does not tell which it was.
    done = fit(replace(options, engine=EngineOptions("auto")), places=run.places)
    return replace(done, options=options, in_memory=run.in_memory)


for _command in (
    RecordedCommand("aggregate", RUN_FILES, _run_again, (SPARK_LABELS,)),
    RecordedCommand("apply", (), _apply_again),  # its file may have any name, also in the folder of another run
    RecordedCommand("audit", AUDIT_FILES, _run_again),
    RecordedCommand("frontier", FRONTIER_FILES, _frontier_again),
):
    register(_command)
