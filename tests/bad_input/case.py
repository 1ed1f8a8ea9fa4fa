"""The parts of a case of the catalogue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faircrowd.errors import FaircrowdError, InputError, OptionError

__all__ = ["Case", "asked", "read", "refused", "works"]

Content = str | bytes | Callable[[Path], None]
"""The content of a file, or a function that makes it."""


@dataclass(frozen=True)
class Case:
    """Files, a command, and how it must end; and the same in Python.

    Attributes
    ----------
    files : dict
        Name of each file to its content; the good votes.csv and tasks.csv are there too, unless replaced.
    command : str
        The arguments, split at spaces.
    code : int
        The exit code.
    says : str
        Words of the error message (code 2), or of a note.
    labels : dict, optional
        For a command that works: the label of each task in out/labels.csv, as text.
    python : callable, optional
        What to do in Python, given the folder; by default the votes are read and aggregated by majority.
    error : class, optional
        The error that Python raises; None if there is a result.
    answer : dict, optional
        The labels in Python, if they differ from those of the command: in Python ids and labels have types.
    in_python : bool
        Whether the case has a meaning in Python.
    """

    files: Mapping[str, Content]
    command: str
    code: int = 2
    says: str = ""
    labels: Mapping[str, str] | None = None
    python: Callable[[Path], Any] | None = None
    error: type[FaircrowdError] | None = None
    answer: Mapping[Any, Any] | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    file: str = "votes.csv"
    in_python: bool = True


def refused(
    content: Content | None,
    says: str,
    error: type[FaircrowdError] | None = InputError,
    *,
    file: str = "votes.csv",
    answer: Mapping[Any, Any] | None = None,
    **reading: str,
) -> Case:
    """Votes that cannot be used; ``error=None`` if there is a result in Python, though a command needs more."""
    return Case(
        files={} if content is None else {file: content},
        command=_aggregate(file, reading),
        says=says,
        error=error,
        answer=answer,
        reading=reading,
        file=file,
    )


def works(
    content: Content,
    labels: Mapping[str, str],
    *,
    note: str = "",
    answer: Mapping[Any, Any] | None = None,
    file: str = "votes.csv",
    **reading: str,
) -> Case:
    """Votes that look bad but are good, and the label of each task."""
    return Case(
        files={file: content},
        command=_aggregate(file, reading),
        code=0,
        says=note,
        labels=labels,
        answer=answer,
        reading=reading,
        file=file,
    )


def asked(
    options: str,
    says: str,
    python: Callable[[Path], Any] | None = None,
    error: type[FaircrowdError] | None = OptionError,
    *,
    command: str = "aggregate votes.csv --out out",
    code: int = 2,
    **files: Content,
) -> Case:
    """Good files and bad options (or other files: ``tasks`` is tasks.csv); and the same in Python, if possible."""
    return Case(
        files={f"{name}.csv": content for name, content in files.items()},
        command=f"{command} {options}",
        code=code,
        says=says,
        python=python,
        error=error,
        in_python=python is not None,
    )


def read(folder: Path, case: Case) -> Any:
    """Read the votes of a case in Python."""
    from faircrowd import read_votes

    return read_votes(folder / case.file, **case.reading)  # type: ignore[arg-type]


def _aggregate(file: str, reading: Mapping[str, str]) -> str:
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in reading.items())
    return f"aggregate {file} --out out --method majority --no-report{options}"
