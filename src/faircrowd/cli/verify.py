"""``faircrowd verify``: recompute the evidence of a folder from its inputs, and name what differs."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from faircrowd.cli import options as opt
from faircrowd.cli.audit import full_audit
from faircrowd.cli.console import Console, print_json
from faircrowd.cli.fitting import fit_votes, make_labels_fair
from faircrowd.errors import InputError

__all__ = ["verify"]


def verify(
    folder: Annotated[Path, typer.Argument(help="A folder that faircrowd wrote.")],
    votes: Annotated[Path | None, typer.Option(help="The votes, if they have moved.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The tasks, if they have moved.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check the files of a run against its evidence, run it again, and compare: exit 0 if all is as said, else 1."""
    from faircrowd.report.evidence import file_hash, read_evidence

    console = Console(as_json)
    said = read_evidence(folder)
    try:
        given = said["inputs"]
        places = {role: _place(folder, given[role]["path"], {"votes": votes, "tasks": tasks}[role]) for role in given}
        wrong = []
        for role, path in places.items():
            if file_hash(path) != given[role]["sha256"]:
                wrong.append(f"the {role} {path} are not those of the run: another SHA-256")
        for name, expected in said["outputs"].items():
            path = folder / name
            if not path.exists():
                wrong.append(f"{name} is missing")
            elif file_hash(path) != expected:
                wrong.append(f"{name} was changed since the run: another SHA-256")
        inputs_are_same = not any("those of the run" in line for line in wrong)
        checks = len(places) + len(said["outputs"])
        if inputs_are_same:
            with console.waiting("running it again"):
                wrong += _again(console, folder, said, places)
            checks += 2
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The evidence in {folder} is incomplete ({type(error).__name__}: {error}).") from None
    if as_json:
        print_json({"verified": not wrong, "differences": wrong, "checks": checks, "version": said["version"]})
    elif wrong:
        console.pairs([("NOT verified", f"{len(wrong)} differences"), *(("differs", line) for line in wrong)])
    else:
        console.pairs(
            [
                ("verified", f"{checks} checks: inputs and outputs unchanged, results recomputed alike"),
                ("run", f"faircrowd {said['version']}, {said['command']}, method {said['options']['method']}"),
            ]
        )
    if wrong:
        raise typer.Exit(1)


def _place(folder: Path, path: str, moved: Path | None) -> Path:
    """Return where an input is: where the user says, where it was, or beside the results."""
    if moved is not None:
        return moved
    here = Path(path)
    beside = folder / here.name
    return beside if not here.exists() and beside.exists() else here


def _again(console: Console, folder: Path, said: dict[str, Any], places: dict[str, Path]) -> list[str]:
    """Run again with the same options; name what differs from what was said."""
    from faircrowd.report.auditing import audit_dict
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
        return [f"audit.json: {line}" for line in differences(_json(folder / "audit.json"), found)]
    posterior, labels, certificate = fitted.model.posterior_, fitted.model.posterior_.label_codes, None
    if "epsilon" in options:
        names = ("epsilon", "objective", "decision", "strict", "random_state", "confidence")
        fair = make_labels_fair(fitted.model, {name: options.get(name) for name in names})
        labels, certificate = fair.solved.labels, fair.certificate.to_dict()
    wrong = [f"certificate: {line}" for line in differences(said["certificate"], certificate)]
    return wrong + _compare_labels(folder / "labels.csv", posterior.classes.take(labels).to_list())


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value


def _compare_labels(path: Path, labels: list[Any]) -> list[str]:
    from faircrowd.votes.files import read_columns

    if not path.exists():
        return []
    found = read_columns(path, ["label"])["label"].to_pylist()
    wrong = sum(_text(a) != _text(b) for a, b in zip(found, labels, strict=False))
    if len(found) != len(labels):
        return [f"labels.csv has {len(found):,} tasks, recomputed there are {len(labels):,}"]
    return [f"{wrong:,} labels in labels.csv are not those recomputed"] if wrong else []


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).removeprefix("'")
