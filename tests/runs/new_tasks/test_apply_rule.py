"""``verify`` of the labels that a saved rule gave new tasks: they are made again, and each change is noticed."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import FileError, InputError
from faircrowd.report.evidence import VERSIONS
from faircrowd.runs.verify import Verification, verify
from runs.test_recorded_runs import changed_json, leaves, sampled, write_table

LABELS, EVIDENCE = "new.csv", "new.csv.evidence.json"


@pytest.fixture(scope="module", params=["two classes", "three classes"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, new votes, and the labels of these by its rule."""
    from faircrowd.cli.app import run

    folder = tmp_path_factory.mktemp("applied")
    rng = np.random.default_rng(4)
    n_classes = 2 if request.param == "two classes" else 3
    for name, start in {"old": 0, "new": 1000}.items():
        task = np.repeat(np.arange(start, start + 120), 5)
        truth = rng.integers(0, n_classes, 120) * (rng.random(120) < 0.5 + 0.3 * (np.arange(120) % 2))
        label = np.where(rng.random(600) < 0.7, truth[task - start], rng.integers(0, n_classes, 600))
        votes = pd.DataFrame({"task": task, "worker": np.tile(np.arange(5), 120), "label": label})
        votes.to_csv(folder / f"{name}.csv" if name == "old" else folder / "votes.csv", index=False)
        tasks = pd.DataFrame({"task": np.arange(start, start + 120), "side": np.where(np.arange(120) % 2, "a", "b")})
        tasks.to_csv(folder / f"{name}_tasks.csv", index=False)
    given = ["aggregate", folder / "old.csv", "--tasks", folder / "old_tasks.csv", "--group", "side"]
    assert run([*map(str, given), "--epsilon", "0.05", "--no-report", "--out", str(folder / "run")]) == 0
    given = ["apply", folder / "run" / "rule.json", folder / "votes.csv", "--tasks", folder / "new_tasks.csv"]
    assert run([*map(str, given), "--out", str(folder / LABELS)]) in (0, 4)
    return folder


def attacked(place: Path, tmp_path: Path, name: str, attack: Callable[[Path], Any]) -> Verification:
    """What verify finds where one file was changed, and its hash repaired."""
    folder = shutil.copytree(place, tmp_path / "attacked")
    try:
        attack(folder / name)
        said = json.loads((folder / EVIDENCE).read_text(encoding="utf-8"))
        if name != EVIDENCE:
            for role, given in said["inputs"].items():
                said["inputs"][role] = {**given, "path": given["path"].replace(str(place), str(folder))}
            said["options"] = json.loads(json.dumps(said["options"]).replace(str(place), str(folder)))
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            if name in said["outputs"]:
                said["outputs"][name] = digest
            for given in said["inputs"].values():
                if Path(given["path"]) == folder / name:
                    given |= {"sha256": digest, "bytes": (folder / name).stat().st_size}
            (folder / EVIDENCE).write_text(json.dumps(said), encoding="utf-8")
        return verify(folder / LABELS)
    finally:
        shutil.rmtree(folder)


def test_unchanged_labels_verify_by_either_name(place: Path) -> None:
    for given in (LABELS, EVIDENCE):
        found = verify(place / given)
        assert (found.verified, found.differences, found.notes) == (True, (), ())
        assert (found.checks, found.run) == (5 + 1 + 2, f"faircrowd {fc.__version__}, apply")


def test_every_column_is_noticed(place: Path, tmp_path: Path) -> None:
    with (place / LABELS).open(encoding="utf-8", newline="") as opened:
        header, *rows = csv.reader(opened)
    assert {"label", "label_before", "changed", "posterior_0", "group", "why"} <= set(header)
    for column, name in enumerate(header):
        cell = rows[7][column]
        is_whole = cell.isdigit()
        new = (
            repr(float(cell) + 1e-6)
            if "." in cell and name != "why"
            else str(int(cell) + 1)
            if is_whole
            else f"{cell}x"
        )
        table = [header, *(list(cells) for cells in rows)]
        table[8][column] = new
        found = attacked(place, tmp_path, LABELS, lambda path, table=table: write_table(path, table))
        where = f"{LABELS}: row 8 (task {rows[7][0]}), column {name} is "
        assert found.differences == (f"{where}{new!r}, recomputed {cell!r}",)
    found = attacked(place, tmp_path, LABELS, lambda path: write_table(path, [header, *rows[:-1]]))
    assert found.differences == (f"{LABELS}: the number of rows is 119, recomputed 120",)


def test_every_field_of_the_evidence_is_noticed(place: Path, tmp_path: Path) -> None:
    value = json.loads((place / EVIDENCE).read_text(encoding="utf-8"))
    for at in leaves(value):
        try:
            found = attacked(place, tmp_path, EVIDENCE, lambda path, at=at: changed_json(path, at))
        except (InputError, FileError):
            assert at[0] in ("schema", "kind", "command", "options", "inputs", "certificate"), at
            continue
        if at[0] in VERSIONS:
            assert "other versions" in found.notes[0], at
        elif at[-1] not in ("min_group", "on_duplicate", "on_missing"):  # these options change nothing here
            assert found.differences, at


def test_a_price_in_the_rule_is_noticed(place: Path, tmp_path: Path) -> None:
    def dearer(path: Path) -> None:
        changed_json(path, ("prices", 0, 1), lambda price: price + 0.3)
        changed_json(path, ("prices", 1, 1), lambda price: price - 0.3)

    rule = place / "run" / "rule.json"
    before = rule.read_bytes()
    try:
        dearer(rule)
        assert verify(place / LABELS).differences == (f"the rule {rule} is not that of the run: another SHA-256",)
    finally:
        rule.write_bytes(before)
    lines = attacked(place, tmp_path, "run/rule.json", dearer).differences
    assert any("column label is" in line for line in lines)
    assert all(line.startswith(f"{LABELS}: ") for line in lines)


def test_inputs_that_moved_are_found_or_named(place: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(place, tmp_path / "there")
    (tmp_path / "here").mkdir()
    for name in (LABELS, EVIDENCE):
        shutil.copy(folder / name, tmp_path / "here" / name)
    (folder / "run").rename(tmp_path / "moved")
    said = json.loads((folder / EVIDENCE).read_text(encoding="utf-8").replace(str(place), str(tmp_path / "gone")))
    (tmp_path / "here" / EVIDENCE).write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(FileError, match=r"The rule .*rule.json of this run is gone; say where it is with rule=\.\.\."):
        verify(tmp_path / "here" / LABELS)
    now = {"votes": folder / "votes.csv", "tasks": folder / "new_tasks.csv", "rule": tmp_path / "moved" / "rule.json"}
    assert verify(tmp_path / "here" / LABELS, **now).verified
    model = tmp_path / "moved" / "model.npz"
    model.write_bytes(model.read_bytes() + b"x")
    lines = verify(tmp_path / "here" / LABELS, **now).differences
    assert lines == (f"the model {model} is not that of the run: another SHA-256",)
    model.unlink()
    with pytest.raises(FileError, match=r"model.npz cannot be read: No such file"):
        verify(tmp_path / "here" / LABELS, **now)


def test_evidence_under_another_name_is_not_that_of_the_labels(place: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(place, tmp_path / "renamed")
    (folder / EVIDENCE).rename(folder / "other.csv.evidence.json")
    lines = verify(folder / "other.csv.evidence.json").differences
    assert "other.csv.evidence.json is not a file that such a run writes" in lines
    with pytest.raises(FileError, match=r"new.csv.evidence.json cannot be read: .*a file of labels that it wrote"):
        verify(folder / LABELS)


def test_the_command_line_and_its_codes(place: Path, tmp_path: Path, faircrowd: Callable[..., Any]) -> None:
    code, said, err = faircrowd("verify", place / LABELS)
    assert (code, err) == (0, "")
    assert said.splitlines()[0] == "verified  8 checks: inputs and outputs unchanged, every file recomputed alike"
    folder = shutil.copytree(place, tmp_path / "copy")
    rows = sampled((folder / LABELS).read_text(encoding="utf-8").splitlines(keepends=True), 5)
    (folder / LABELS).write_text("".join(rows), encoding="utf-8")
    code, said, _ = faircrowd("verify", folder / LABELS, "--json")
    assert code == 1
    assert json.loads(said)["differences"][0] == f"{LABELS} was changed since the run: another SHA-256"
    (folder / "votes.csv").unlink()
    said = (folder / EVIDENCE).read_text(encoding="utf-8").replace(f"{place}/votes.csv", f"{tmp_path}/gone.csv")
    (folder / EVIDENCE).write_text(said, encoding="utf-8")
    code, _, err = faircrowd("verify", folder / LABELS)
    assert (code, "say where they are with --votes FILE" in err) == (2, True)
