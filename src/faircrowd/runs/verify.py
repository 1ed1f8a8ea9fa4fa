"""``verify``: recompute the evidence of a folder from its inputs, and name what differs."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faircrowd._types import PathOrText
from faircrowd.aggregate.saved import MODEL_FILES
from faircrowd.engines.spark.files import on_disk
from faircrowd.engines.spark.session import check_spark
from faircrowd.errors import FaircrowdError, FileError, InputError, MissingPackageError, OptionError
from faircrowd.fair.certificate import EARLIER_NAMES
from faircrowd.report import OutputFolder
from faircrowd.report.evidence import EVIDENCE, VERSIONS, evidence_place, read_evidence, versions
from faircrowd.runs.dossiers.check_dossier import check_dossiers
from faircrowd.runs.file_differences import ABSENT, Compared, Difference, compare_files
from faircrowd.runs.folder_checks import check_folder
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.recorded_runs import MEASURED, RecordedCommand, RecordedRun, recorded_command
from faircrowd.runs.spark_run import compare_labels
from faircrowd.runs.write import PAGE
from faircrowd.storage.content_hash import content_hash
from faircrowd.storage.untrusted import read_json

__all__ = ["Verification", "verify"]

_TRUTH = "truth"
"""The input that no label depends on: without it, a run is repeated all the same."""
_CHECKED_IN_PART = {
    "labels.csv": "the posterior and the reasons in labels.csv",
    "summary.json": "summary.json but for what follows from the labels",
    "rule.json": "the ties in rule.json",
    "certificate.json": "what certificate.json says about the solver",
}
"""What is recomputed of a folder without the inputs of its run."""
_OF_TRUTH: dict[str, str] = {
    PAGE: "report.html",
    "summary.json": "what summary.json says about the truth",
    "workers.csv": "the audit in workers.csv",
}
"""The files that do depend on it."""
_NOT_OF_TRUTH = {"worker", "votes", "agreement"}
"""Columns of workers.csv that no truth is needed for."""


@dataclass(frozen=True)
class Verification:
    """What a comparison of a folder with its evidence found.

    Attributes
    ----------
    differences : tuple of str
        What differs; none if the folder is as its evidence says.
    checks : int
        How many things were compared: inputs and outputs with their hashes, and each file with the one recomputed.
    version : str
        The version of faircrowd that did the run.
    run : str
        The run in a few words.
    unverified : tuple of str
        What could not be recomputed, because inputs of the run were in memory.
    notes : tuple of str
        What differs without changing a value: rounding, layout, and versions of libraries.
    """

    differences: tuple[str, ...]
    checks: int
    version: str
    run: str
    unverified: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether everything was recomputed, and nothing differs."""
        return not self.differences and not self.unverified

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values, ready for JSON."""
        return {
            "verified": self.verified,
            "differences": list(self.differences),
            "unverified": list(self.unverified),
            "notes": list(self.notes),
            "checks": self.checks,
            "version": self.version,
        }


def verify(
    folder: PathOrText,
    *,
    votes: PathOrText | None = None,
    tasks: PathOrText | None = None,
    rule: PathOrText | None = None,
    master: str | None = None,
    progress: Progress = QUIET,
) -> Verification:
    """Compare the files of a run with its evidence, do the run again, and compare every file with the new one.

    Parameters
    ----------
    folder : path
        Written by a command of :data:`faircrowd.runs.recorded_runs.RECORDED`, or by ``FairCrowd.write``; or a file of
        labels with evidence beside it, as ``faircrowd apply`` writes it.
    votes, tasks, rule : path, optional
        Where the inputs are, if they have moved; the model lies beside the rule.
    master : str, optional
        The Spark cluster, if not that of the run; results do not depend on it.

    Raises
    ------
    InputError
        If there is no evidence, or it is damaged.
    """
    place = evidence_place(Path(folder))
    said = read_evidence(place)
    moved = {"votes": votes, "tasks": tasks, "rule": rule}
    try:
        return _verified(place, said, moved, master, progress)
    except FaircrowdError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        where = folder if place.name == EVIDENCE else place
        raise InputError(
            f"The evidence in {where} is damaged or incomplete ({type(error).__name__}: {error})."
        ) from None


def _verified(
    place: Path,
    said: dict[str, Any],
    moved: Mapping[str, PathOrText | None],
    master: str | None,
    progress: Progress,
) -> Verification:
    folder = place.parent
    done_by = f"faircrowd {said['version']}, {said['command']}"
    done_by += f", method {said['options']['method']}" if "method" in said["options"] else ""
    command = recorded_command(said["command"], place)
    in_memory = {role: given for role, given in said["inputs"].items() if given.get("in_memory") is True}
    files = {role: given for role, given in said["inputs"].items() if role not in in_memory}
    can_repeat = set(in_memory) <= {_TRUTH}
    places = _places(folder, files, moved) if can_repeat else {}
    run = RecordedRun(said, places, in_memory, master)
    if run.is_in_spark:
        _check_spark(run)
    found = Compared(_changed_inputs(places, files))
    checks = sum("sha256" in given for given in files.values()) * bool(places) + len(said["outputs"])
    unverified: list[str] = []
    is_same_input = not found.differences
    found.differences += _changed_outputs(place, command, said["outputs"])
    found.differences += _inconsistent(folder, said)
    if not can_repeat:
        checks += check_folder(folder, said, found)
        unverified = _not_repeated(in_memory, said["outputs"])
    elif is_same_input:
        with progress.waiting("running it again"), tempfile.TemporaryDirectory() as scratch:
            checks += _again(place, run, command, Path(scratch), found)
        unverified = [] if not in_memory else _truth_was_in_memory(said["outputs"])
        found.notes += [
            f"only Spark can reach the {_named(role, given['path'])}, so there is no hash of them; they were read again"
            for role, given in files.items()
            if "sha256" not in given
        ]
    if place.name == EVIDENCE:
        checks += check_dossiers(folder, said, found)
    found.notes += _other_versions(said)
    lines = dict.fromkeys(map(str, found.differences))
    return Verification(tuple(lines), checks, said["version"], done_by, tuple(unverified), tuple(found.notes))


def _places(folder: Path, inputs: Mapping[str, Any], moved: Mapping[str, PathOrText | None]) -> dict[str, Path]:
    """Return where each input is: where the caller says, where it was, in the folder of the results or next to it."""
    found = {}
    for role, given in inputs.items():
        was = Path(given["path"])
        if role in MODEL_FILES:
            continue  # beside the rule
        tried = [was, folder / was.name, folder.absolute().parent / was.name]
        if given.get("in_spark") is True or given["path"].startswith("file:"):
            tried = [was]
        else:
            tried = [path for path in tried if path.exists()]
        place = moved[role] or next(iter(tried), None)
        if place is None:
            they_are = "they are" if _is(role) == "are" else "it is"
            raise FileError(
                f"The {_named(role, was)} of this run {_is(role)} gone; say where {they_are} with {role}=..."
            )
        found[role] = Path(place)
    return {role: found[role] if role in found else found["rule"].parent / role for role in inputs}


def _named(role: str, path: PathOrText) -> str:
    return f"{'model' if role in MODEL_FILES else role} {path}"


def _is(role: str) -> str:
    return "are" if role in ("votes", "tasks") else "is"


def _check_spark(run: RecordedRun) -> None:
    try:
        check_spark(run.master or run.said["options"]["master"])
    except (MissingPackageError, OptionError) as error:
        raise OptionError(f"This run was done in Spark, and only Spark can do it again. {error}") from None


def _changed_inputs(places: Mapping[str, Path], inputs: Mapping[str, Any]) -> list[Difference | str]:
    return [
        f"the {_named(role, path)} {_is(role)} not {'those' if _is(role) == 'are' else 'that'} of the run: "
        "another SHA-256"
        for role, path in places.items()
        if "sha256" in inputs[role] and content_hash(on_disk(path)) != inputs[role]["sha256"]
    ]


def _changed_outputs(place: Path, command: RecordedCommand, outputs: Mapping[str, str]) -> list[Difference | str]:
    """Compare the files with their hashes, and find those of another run."""
    folder = place.parent
    wrong: list[Difference | str] = []
    for name, expected in outputs.items():
        if not (folder / name).exists():
            wrong.append(f"{name} is missing")
        elif content_hash(folder / name) != expected:
            wrong.append(f"{name} was changed since the run: another SHA-256")
    strange = [name for name in (*command.files, *command.replaced) if name not in outputs and name != EVIDENCE]
    return wrong + [f"{name} is not a file of this run" for name in strange if (folder / name).exists()]


def _inconsistent(folder: Path, said: Mapping[str, Any]) -> list[Difference | str]:
    """Compare what cannot be recomputed where it is written twice."""
    wrong: list[Difference | str] = []
    if said["certificate"] is not None:
        seconds = said["certificate"].get("seconds", ABSENT)
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
            wrong.append(Difference(EVIDENCE, "certificate.seconds", seconds, 0.0, "at least"))
        wrong += _same_field(folder / "certificate.json", "seconds", seconds)
    return wrong + _same_field(folder / "summary.json", "version", said["version"])


def _same_field(path: Path, name: str, expected: object) -> list[Difference]:
    try:
        value = read_json(path, "result").get(name, ABSENT)
    except (InputError, AttributeError):
        return []  # missing, or found to be damaged when it is compared
    return [] if value == expected else [Difference(path.name, name, value, expected, f"in {EVIDENCE}")]


def _again(place: Path, run: RecordedRun, command: RecordedCommand, scratch: Path, found: Compared) -> int:
    """Do the run again, and compare its files with those in the folder; return how many were compared."""
    folder, outputs = place.parent, run.said["outputs"]
    with OutputFolder(scratch, keep=False) as new:
        try:
            command.again(run, new)
        except OptionError as error:
            raise InputError(f"The options in {place} are not those of a run: {error}") from None
        names = new.names
        absent = [name for name in (*outputs, place.name) if name not in names]
        found.differences += [f"{name} is not a file that such a run writes" for name in absent]
        for name in names:
            if name != place.name and name not in outputs:
                found.differences.append(f"{name} is not listed among the outputs in {place.name}")
            if not (folder / name).exists() or (name == PAGE and run.in_memory):
                continue  # a missing file is reported already
            compared = _compare(folder / name, new.waiting(name), run)
            found.notes += compared.notes
            found.differences += compared.differences
    return len(names)


def _compare(written: Path, expected: Path, run: RecordedRun) -> Compared:
    if expected.is_dir():
        return compare_labels(written, expected, run.master or run.said["options"]["master"])
    kind = EVIDENCE if expected.name.endswith(f".{EVIDENCE}") else expected.name
    return compare_files(
        written,
        expected,
        MEASURED.get(kind, ()),
        EARLIER_NAMES if kind in ("certificate.json", EVIDENCE) else None,
        _is_of_truth if run.in_memory else None,
    )


def _is_of_truth(line: Difference) -> bool:
    """Return whether a field depends on true labels."""
    if line.file == "summary.json":
        return line.place.startswith(("truth", "accuracy"))
    return line.file == "workers.csv" and not any(line.place.endswith(f"column {name}") for name in _NOT_OF_TRUTH)


def _truth_was_in_memory(outputs: Mapping[str, str]) -> list[str]:
    parts = [words for name, words in _OF_TRUTH.items() if name in outputs]
    return [f"{part}: the truth of this run was given in memory" for part in parts]


def _not_repeated(in_memory: Mapping[str, Any], outputs: Mapping[str, str]) -> list[str]:
    given = [role.replace("_", " ") for role in in_memory]
    parts = [_CHECKED_IN_PART.get(name, name) for name in outputs]
    return [
        f"{_listed(given)} of this run {'were' if len(given) > 1 else 'was'} given in memory, so it cannot be done "
        f"again; compared with their hashes alone: {_listed(parts)}"
    ]


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _other_versions(said: Mapping[str, Any]) -> list[str]:
    """Return the versions of the run that are not those of today."""
    now, was = versions(), {name: said[name] for name in VERSIONS}
    pairs = {"faircrowd": (was["version"], now["version"]), "Python": (was["python"], now["python"])}
    pairs |= {name: (was["libraries"].get(name), value) for name, value in now["libraries"].items()}
    other = [f"{name} {before} (now {after})" for name, (before, after) in pairs.items() if before != after]
    strange = set(was["libraries"]) - set(now["libraries"])
    other += [f"{name} {was['libraries'][name]}" for name in sorted(strange)]
    return [f"the run says that it was done with other versions: {', '.join(other)}"] if other else []
