"""``verify``: recompute the evidence of a folder from its inputs, and name what differs."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from faircrowd._types import PathOrText
from faircrowd.errors import FaircrowdError, FileError, InputError
from faircrowd.fair.certificate import EARLIER_NAMES
from faircrowd.report import OutputFolder, labels_table
from faircrowd.report.audit_text import audit_dict
from faircrowd.report.evidence import differences, file_hash, read_evidence
from faircrowd.runs.fit import fit
from faircrowd.runs.options import RunOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.run import Run
from faircrowd.storage.untrusted import read_json

__all__ = ["Verification", "verify"]

_ONLY_SCORED = ("truth",)
"""Inputs that no label depends on."""


@dataclass(frozen=True)
class Verification:
    """What a comparison of a folder with its evidence found.

    Attributes
    ----------
    differences : tuple of str
        What differs; none if the folder is as its evidence says.
    checks : int
        How many things were compared.
    version : str
        The version of faircrowd that did the run.
    run : str
        The run in a few words.
    """

    differences: tuple[str, ...]
    checks: int
    version: str
    run: str

    @property
    def verified(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values, ready for JSON."""
        return {
            "verified": self.verified,
            "differences": list(self.differences),
            "checks": self.checks,
            "version": self.version,
        }


def verify(
    folder: PathOrText,
    *,
    votes: PathOrText | None = None,
    tasks: PathOrText | None = None,
    progress: Progress = QUIET,
) -> Verification:
    """Compare the files of a run with its evidence, do the run again, and compare the results.

    Parameters
    ----------
    folder : path
        Written by ``faircrowd aggregate``, ``faircrowd audit`` or ``FairCrowd.write``.
    votes, tasks : path, optional
        Where the inputs are, if they have moved.

    Raises
    ------
    InputError
        If there is no evidence, or the votes are not there as files.
    """
    folder = Path(folder)
    said = read_evidence(folder)
    moved = {"votes": votes, "tasks": tasks}
    try:
        places = _places(folder, said["inputs"], moved)
        wrong = _changed_inputs(places, said["inputs"])
        checks = len(places) + len(said["outputs"]) + (0 if wrong else 2)
        run = f"faircrowd {said['version']}, {said['command']}, method {said['options']['method']}"
        again = []
        if not wrong:
            with progress.waiting("running it again"):
                again = _again(folder, said, places)
        wrong += [*_changed_outputs(folder, said["outputs"]), *again]
    except FaircrowdError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"The evidence in {folder} is damaged or incomplete ({type(error).__name__}: {error})."
        ) from None
    return Verification(tuple(wrong), checks, said["version"], run)


def _places(folder: Path, inputs: Mapping[str, Any], moved: Mapping[str, PathOrText | None]) -> dict[str, Path]:
    """Return where each input is: where the caller says, where it was, in the folder of the results or next to it."""
    found = {}
    for role, given in inputs.items():
        if given.get("in_memory") is True:
            if role in _ONLY_SCORED:
                continue
            raise InputError(
                f"The {role} of this run were given in memory, so verify cannot repeat it; it needs a run "
                "whose votes, groups and known labels were given as files."
            )
        was = Path(given["path"])
        tried = [was, folder / was.name, folder.absolute().parent / was.name]
        place = moved[role] or next((path for path in tried if path.exists()), None)
        if place is None:
            raise FileError(f"The {role} {was} of this run are gone; say where they are with {role}=...")
        found[role] = Path(place)
    return found


def _changed_inputs(places: Mapping[str, Path], inputs: Mapping[str, Any]) -> list[str]:
    return [
        f"the {role} {path} are not those of the run: another SHA-256"
        for role, path in places.items()
        if file_hash(path) != inputs[role]["sha256"]
    ]


def _changed_outputs(folder: Path, outputs: Mapping[str, str]) -> list[str]:
    wrong = []
    for name, expected in outputs.items():
        if not (folder / name).exists():
            wrong.append(f"{name} is missing")
        elif file_hash(folder / name) != expected:
            wrong.append(f"{name} was changed since the run: another SHA-256")
    return wrong


def _again(folder: Path, said: Mapping[str, Any], places: Mapping[str, Path]) -> list[str]:
    """Do the run again with the same options; name what differs from the evidence."""
    run = fit(RunOptions.from_dict(said["command"], said["options"], places))
    if run.options.audit is not None:
        assert run.audit is not None  # noqa: S101 - fit has checked the groups
        return _compare_json(folder / "audit.json", audit_dict(run.audit))
    certificate = None if run.certificate is None else json.loads(json.dumps(run.certificate.to_dict()))
    wrong = [
        f"the certificate in the evidence: {line}" for line in differences(_renamed(said["certificate"]), certificate)
    ]
    wrong += [] if certificate is None else _compare_json(folder / "certificate.json", certificate)
    return wrong + _compare_labels(folder / "labels.csv", run)


def _renamed(said: object) -> object:
    """Return a certificate of an earlier version with today's names; anything else as it is."""
    return {EARLIER_NAMES.get(name, name): value for name, value in said.items()} if isinstance(said, dict) else said


def _compare_json(path: Path, found: object) -> list[str]:
    try:
        said = read_json(path, "result")
    except InputError:
        return [f"{path.name} cannot be read"] if path.exists() else []  # a missing file is reported already
    return [f"{path.name}: {line}" for line in differences(_renamed(said), found)]


def _compare_labels(path: Path, run: Run) -> list[str]:
    """Compare the labels as text: the new ones are written and read the same way as those in the file."""
    if not path.exists():  # reported already
        return []
    with tempfile.TemporaryDirectory() as place:
        with OutputFolder(place) as again:
            again.write_csv(path.name, labels_table(run.votes, run.posterior, run.labels))
        expected = _rows(Path(place) / path.name)
    found = _rows(path)
    if found is None or expected is None:
        return [f"{path.name} cannot be read"]
    if len(found) != len(expected):
        return [f"{path.name} has {len(found):,} tasks, recomputed there are {len(expected):,}"]
    wrong = sum(a != b for a, b in zip(found, expected, strict=True))
    return [f"{wrong:,} labels in {path.name} are not those recomputed"] if wrong else []


def _rows(path: Path) -> list[tuple[str, str]] | None:
    """Return task and label of each row as text, or None if the file does not have them."""
    convert = pa.csv.ConvertOptions(
        column_types={"task": pa.string(), "label": pa.string()}, include_columns=["task", "label"]
    )
    try:
        table = pa.csv.read_csv(
            path, parse_options=pa.csv.ParseOptions(newlines_in_values=True), convert_options=convert
        )
    except (pa.ArrowException, OSError, KeyError):
        return None
    return list(zip(*(table[name].to_pylist() for name in ("task", "label")), strict=True))
