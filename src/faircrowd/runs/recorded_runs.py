"""What each command writes, and how it is done again from its evidence: the registry that ``verify`` goes by.

A command that writes ``evidence.json`` has one entry here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircrowd._checks import few
from faircrowd.errors import InputError
from faircrowd.report import OutputFolder
from faircrowd.runs.file_differences import Field
from faircrowd.runs.fit import fit
from faircrowd.runs.frontier_run import FRONTIER_FILES, FrontierRun
from faircrowd.runs.options import EngineOptions, RunOptions
from faircrowd.runs.run import Run
from faircrowd.runs.write import AUDIT_FILES, PAGE, RUN_FILES, SPARK_LABELS, fill

__all__ = ["MEASURED", "RECORDED", "RecordedCommand", "recorded_command", "register"]

MEASURED: dict[str, tuple[Field, ...]] = {
    "certificate.json": (("seconds",),),
    "summary.json": (("version",),),
    "evidence.json": (("version",), ("python",), ("libraries",), ("outputs",), ("certificate", "seconds")),
}
"""Every field that a second run may have otherwise: how long it took, and the versions that it was done with.

They are checked against each other instead, and ``outputs`` against the files (see ``verify``).
"""


@dataclass(frozen=True)
class RecordedCommand:
    """A command whose runs are recorded in evidence.json.

    Attributes
    ----------
    name : str
    files : tuple of str
        All files that it may write; one of them in its folder that it did not write is of another run.
    again : callable
        Writes the files of a run again into an open folder, from its evidence, the places of its inputs by role, and
        the inputs that were in memory and do not matter to the labels.
    replaced : tuple of str
        Files of other commands that it removes.
    """

    name: str
    files: tuple[str, ...]
    again: Callable[[Mapping[str, Any], Mapping[str, Path], Mapping[str, Any], OutputFolder], None]
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


def _run_again(
    said: Mapping[str, Any], places: Mapping[str, Path], in_memory: Mapping[str, Any], folder: OutputFolder
) -> None:
    fill(_repeated(said, places, in_memory), folder, report=PAGE in said["outputs"], recorded=said)


def _frontier_again(
    said: Mapping[str, Any], places: Mapping[str, Path], in_memory: Mapping[str, Any], folder: OutputFolder
) -> None:
    FrontierRun(_repeated(said, places, in_memory)).fill(folder, said)


def _repeated(said: Mapping[str, Any], places: Mapping[str, Path], in_memory: Mapping[str, Any]) -> Run:
    files = {role: Path(given["path"]) for role, given in said["inputs"].items() if role in places}
    options = RunOptions.from_dict(said["command"], said["options"], files)
    # Results do not depend on the engine, so evidence does not name it.
    run = fit(replace(options, engine=EngineOptions("auto")), places=places)
    return replace(run, options=options, in_memory=in_memory)


for _command in (
    RecordedCommand("aggregate", RUN_FILES, _run_again, (SPARK_LABELS,)),
    RecordedCommand("audit", AUDIT_FILES, _run_again),
    RecordedCommand("frontier", FRONTIER_FILES, _frontier_again),
):
    register(_command)
