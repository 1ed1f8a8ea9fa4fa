"""``faircrowd verify``: recompute the evidence of a folder from its inputs, and name what differs."""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd.cli import options as opt
from faircrowd.cli.audit import full_audit
from faircrowd.cli.console import Console, print_json
from faircrowd.cli.fitting import Fitted, fit_votes, make_labels_fair
from faircrowd.errors import FaircrowdError, FileError, InputError

__all__ = ["verify"]


def verify(
    folder: Annotated[Path, typer.Argument(help="A folder that faircrowd wrote.")],
    votes: Annotated[Path | None, typer.Option(help="The votes, if they have moved.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The tasks, if they have moved.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check the files of a run against its evidence, run it again, and compare: exit 0 if all is as said, else 1."""
    from faircrowd.report.evidence import read_evidence

    console = Console(as_json)
    said = read_evidence(folder)
    try:
        places = _places(folder, said["inputs"], {"votes": votes, "tasks": tasks})
        wrong = _other_inputs(places, said["inputs"])
        checks = len(places) + len(said["outputs"]) + (0 if wrong else 2)
        run = f"faircrowd {said['version']}, {said['command']}, method {said['options']['method']}"
        again = []
        if not wrong:
            with console.waiting("running it again"):
                again = _again(console, folder, said, places)
        wrong += [*_other_outputs(folder, said["outputs"]), *again]
    except FaircrowdError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"The evidence in {folder} is damaged or incomplete ({type(error).__name__}: {error})."
        ) from None
    if as_json:
        print_json({"verified": not wrong, "differences": wrong, "checks": checks, "version": said["version"]})
    elif wrong:
        number = f"{len(wrong)} difference{'s' * (len(wrong) > 1)}"
        console.pairs([("NOT verified", number), *(("differs", line) for line in wrong)])
    else:
        words = f"{checks} checks: inputs and outputs unchanged, results recomputed alike"
        console.pairs([("verified", words), ("run", run)])
    if wrong:
        raise typer.Exit(1)


def _places(folder: Path, inputs: dict[str, Any], moved: dict[str, Path | None]) -> dict[str, Path]:
    """Return where each input is: where the user says, where it was, in the folder of the results or beside it."""
    found = {}
    for role, given in inputs.items():
        was = Path(given["path"])
        tried = [was, folder / was.name, folder.absolute().parent / was.name]
        place = moved[role] or next((path for path in tried if path.exists()), None)
        if place is None:
            raise FileError(f"The {role} {was} of this run are gone; say where they are with --{role} FILE.")
        found[role] = place
    return found


def _other_inputs(places: dict[str, Path], inputs: dict[str, Any]) -> list[str]:
    from faircrowd.report.evidence import file_hash

    return [
        f"the {role} {path} are not those of the run: another SHA-256"
        for role, path in places.items()
        if file_hash(path) != inputs[role]["sha256"]
    ]


def _other_outputs(folder: Path, outputs: dict[str, str]) -> list[str]:
    from faircrowd.report.evidence import file_hash

    wrong = []
    for name, expected in outputs.items():
        if not (folder / name).exists():
            wrong.append(f"{name} is missing")
        elif file_hash(folder / name) != expected:
            wrong.append(f"{name} was changed since the run: another SHA-256")
    return wrong


def _again(console: Console, folder: Path, said: dict[str, Any], places: dict[str, Path]) -> list[str]:
    """Run again with the same options; name what differs from what was said."""
    from faircrowd.report.audit_text import audit_dict
    from faircrowd.report.evidence import differences

    options = said["options"]
    settings = {name: _number(value) for name, value in options["parameters"].items() if name != "by_group"}
    fitted = fit_votes(
        console,
        places["votes"],
        method=options["method"],
        tasks=places.get("tasks"),
        group=options["group"],
        truth=options["truth"],
        gold=options["gold"],
        by_group=bool(options["parameters"].get("by_group")),
        reading=options["reading"],
        settings=settings,
    )
    if said["command"] == "audit":
        audited = ("confidence", "replicates", "random_state", "control")
        found = audit_dict(full_audit(fitted, {name: options[name] for name in audited}))
        return _compare_json(folder / "audit.json", found)
    labels, certificate = fitted.model.posterior_.label_codes, None
    if "epsilon" in options:
        names = ("epsilon", "objective", "decision", "strict", "random_state", "confidence")
        fair = make_labels_fair(fitted.model, {name: options.get(name) for name in names})
        labels, certificate = fair.solved.labels, json.loads(json.dumps(fair.certificate.to_dict()))
    wrong = [f"the certificate in the evidence: {line}" for line in differences(said["certificate"], certificate)]
    wrong += [] if certificate is None else _compare_json(folder / "certificate.json", certificate)
    return wrong + _compare_labels(folder / "labels.csv", fitted, labels)


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value


def _compare_json(path: Path, found: Any) -> list[str]:
    from faircrowd.report.evidence import differences
    from faircrowd.storage.untrusted import read_json

    try:
        said = read_json(path, "result")
    except InputError:
        return [f"{path.name} cannot be read"] if path.exists() else []  # a missing file is named as such
    return [f"{path.name}: {line}" for line in differences(said, found)]


def _compare_labels(path: Path, fitted: Fitted, labels: Any) -> list[str]:
    """Compare labels as the file has them: written as they were then, and read alike."""
    from faircrowd.report import OutputFolder, labels_table

    if not path.exists():  # named as missing
        return []
    with tempfile.TemporaryDirectory() as place:
        with OutputFolder(place) as again:
            again.write_csv(path.name, labels_table(fitted.model.votes_, fitted.model.posterior_, labels))
        expected = _rows(Path(place) / path.name)
    found = _rows(path)
    if found is None or expected is None:
        return [f"{path.name} cannot be read"]
    if len(found) != len(expected):
        return [f"{path.name} has {len(found):,} tasks, recomputed there are {len(expected):,}"]
    wrong = sum(a != b for a, b in zip(found, expected, strict=True))
    return [f"{wrong:,} labels in {path.name} are not those recomputed"] if wrong else []


def _rows(path: Path) -> list[tuple[str, str]] | None:
    """Return task and label of each row as text, or None for a file that has none."""
    import pyarrow as pa
    import pyarrow.csv

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
