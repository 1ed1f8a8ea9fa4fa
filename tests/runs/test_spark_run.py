"""``verify`` of a folder that Spark wrote: the run is done again in Spark, and each change is noticed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd import _extras
from faircrowd.engines.spark.differences import frame_differences
from faircrowd.errors import InputError, OptionError
from faircrowd.report.evidence import EVIDENCE, VERSIONS
from faircrowd.runs import recorded_runs
from faircrowd.runs.verify import Verification, verify
from faircrowd.storage.content_hash import content_hash
from runs.test_recorded_runs import changed_json, leaves, of_one_kind_each, other

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

LABELS = "labels.parquet"


@pytest.fixture(scope="module")
def done(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in Spark on a folder of votes and a file of tasks."""
    from faircrowd.cli.app import run

    place = tmp_path_factory.mktemp("in_spark")
    crowd = fc.simulate_crowd(90, 9, random_state=5)
    (place / "votes").mkdir()
    crowd.votes.iloc[:200].to_parquet(place / "votes" / "part-0.parquet", index=False)
    crowd.votes.iloc[200:].to_parquet(place / "votes" / "part-1.parquet", index=False)
    tasks = pd.DataFrame({"group": crowd.sensitive_features.map({0: "a", 1: "b"})}).rename_axis("task")
    tasks.to_csv(place / "tasks.csv")
    given = ["aggregate", place / "votes", "--tasks", place / "tasks.csv", "--group", "group", "--method", "majority"]
    engine = ["--engine", "spark", "--master", "local[2]"]
    assert run([*map(str, given), *engine, "--epsilon", "0.05", "--out", str(place / "run")]) == 0
    return place / "run"


@pytest.fixture(scope="module")
def kept() -> dict[str, Path]:
    """The folders of runs that were done again, by their options."""
    return {}


@pytest.fixture
def once(
    done: Path, kept: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Do a run with the same options no second time: its files are copied."""
    fill = recorded_runs.fill_in_spark

    def quick(options: Any, folder: Any, **more: Any) -> None:
        # Results do not depend on the master.
        key = json.dumps([options.to_dict() | {"master": ""}, more["recorded"]["version"], str(more["places"])])
        if key not in kept:
            fill(options, folder, **more)
            kept[key] = tmp_path_factory.mktemp("kept")
            for name in folder.names:
                copy = shutil.copytree if folder.waiting(name).is_dir() else shutil.copy
                copy(folder.waiting(name), kept[key] / name)
            return
        for path in kept[key].iterdir():
            if path.is_dir():
                shutil.copytree(path, folder.new_folder(path.name))
            else:
                folder.write_bytes(path.name, path.read_bytes())
        evidence = json.loads((kept[key] / EVIDENCE).read_text(encoding="utf-8"))
        folder.write_json(EVIDENCE, evidence | {name: more["recorded"][name] for name in VERSIONS})

    monkeypatch.setattr(recorded_runs, "fill_in_spark", quick)


def attacked(done: Path, tmp_path: Path, name: str, attack: Callable[[Path], Any]) -> Verification:
    """What verify finds in a copy of the folder in which one file was changed, and its hash repaired."""
    folder = shutil.copytree(done, tmp_path / "attacked")
    try:
        attack(folder / name)
        if name != EVIDENCE:
            said = json.loads((folder / EVIDENCE).read_text(encoding="utf-8"))
            said["outputs"][name] = content_hash(folder / name)
            (folder / EVIDENCE).write_text(json.dumps(said), encoding="utf-8")
        return verify(folder)
    finally:
        shutil.rmtree(folder)


def test_what_spark_wrote_verifies(done: Path, faircrowd: Callable[..., Any]) -> None:
    said = json.loads((done / EVIDENCE).read_text(encoding="utf-8"))
    assert said["options"]["engine"] == "spark"
    assert said["inputs"]["votes"]["sha256"] == content_hash(done.parent / "votes")
    assert set(said["outputs"]) == {path.name for path in done.iterdir()} - {EVIDENCE}
    code, printed, err = faircrowd("verify", done)
    assert (code, err) == (0, "")
    assert printed.startswith("verified  15 checks: inputs and outputs unchanged, every file recomputed alike")


def rewritten(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Change the labels of a folder of Parquet files, which becomes one file."""
    labels = change(pd.read_parquet(path))
    shutil.rmtree(path)
    path.mkdir()
    labels.to_parquet(path / "part-0.parquet", index=False)


@pytest.mark.usefixtures("once")
def test_every_change_of_labels_is_noticed(done: Path, tmp_path: Path) -> None:
    labels = pd.read_parquet(done / LABELS)
    task = labels["task"].iloc[7]
    same = attacked(done, tmp_path, LABELS, lambda path: rewritten(path, lambda frame: frame.sample(frac=1)))
    assert (same.differences, same.notes) == ((), ())  # rows of Spark have no order
    cells = {}  # one cell of each column, each of another task

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        for row, column in enumerate(frame.columns.drop("task"), 7):
            here = frame["task"] == labels["task"].iloc[row]
            cell = frame.loc[here, column].iloc[0]
            cells[labels["task"].iloc[row], column] = cell = cell.item() if hasattr(cell, "item") else cell
            frame.loc[here, column] = other(cell)
        return frame

    lines = attacked(done, tmp_path, LABELS, lambda path: rewritten(path, change)).differences
    assert set(lines) == {
        f"{LABELS}: task {where}, column {column} is {other(cell)!r}, recomputed {cell!r}"
        for (where, column), cell in cells.items()
    }
    assert len(lines) == len(cells) == len(labels.columns) - 1
    gone = attacked(
        done, tmp_path, LABELS, lambda path: rewritten(path, lambda frame: frame[frame["task"] != task])
    ).differences
    assert gone == (
        f"{LABELS}: the number of rows is 89, recomputed 90",
        f"{LABELS}: the row of task {task} is 'absent', recomputed 'there'",
    )
    twice = attacked(
        done, tmp_path, LABELS, lambda path: rewritten(path, lambda frame: pd.concat([frame, frame.iloc[:1]]))
    ).differences
    assert twice == (f"{LABELS}: the number of rows is 91, recomputed 90",)
    (header,) = attacked(
        done, tmp_path, LABELS, lambda path: rewritten(path, lambda frame: frame.rename(columns={"changed": "kept"}))
    ).differences
    assert header.startswith(f"{LABELS}: the header is ")
    near = attacked(
        done,
        tmp_path,
        LABELS,
        lambda path: rewritten(path, lambda frame: frame.assign(posterior_1=frame["posterior_1"] * (1 + 1e-13))),
    )
    assert near.differences == ()
    assert "differ by rounding" in near.notes[0]
    (torn,) = attacked(
        done, tmp_path, LABELS, lambda path: next(path.glob("part-*.parquet")).write_bytes(b"no table")
    ).differences
    assert torn.startswith(f"{LABELS} cannot be read: ")


@pytest.mark.usefixtures("once")
def test_every_field_of_the_json_files_is_noticed(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from faircrowd.runs import verify as module
    from faircrowd.runs.file_differences import Compared

    monkeypatch.setattr(module, "compare_labels", lambda *_: Compared())  # they are compared in the test above
    for name in ("rule.json", "certificate.json", "summary.json", "model.json"):
        for at in of_one_kind_each(list(leaves(json.loads((done / name).read_text(encoding="utf-8"))))):
            lines = attacked(done, tmp_path, name, lambda path, at=at: changed_json(path, at)).differences
            assert any(line.startswith(f"{name}: ") for line in lines), (name, at, lines)
    value = json.loads((done / EVIDENCE).read_text(encoding="utf-8"))
    for at in of_one_kind_each(list(leaves(value))):
        if at[0] == "options" and at[-1] not in ("master", "engine", "epsilon"):
            continue  # every other option would be another run; those of memory are attacked in test_recorded_runs
        try:
            found = attacked(done, tmp_path, EVIDENCE, lambda path, at=at: changed_json(path, at))
        except (InputError, OptionError):
            assert at[0] in ("schema", "kind", "command", "options", "inputs"), at
            continue
        if at[0] in VERSIONS and not found.differences:
            assert "other versions" in found.notes[0], at
        elif at != ("options", "master"):  # results do not depend on it
            assert found.differences, at


def test_votes_that_changed_are_named(done: Path, tmp_path: Path) -> None:
    votes = shutil.copytree(done.parent / "votes", tmp_path / "votes")
    assert content_hash(votes) == content_hash(done.parent / "votes")
    pd.read_parquet(votes / "part-1.parquet").iloc[1:].to_parquet(votes / "part-1.parquet", index=False)
    lines = verify(done, votes=votes).differences
    assert lines == (f"the votes {votes} are not those of the run: another SHA-256",)


def test_without_spark_it_is_said_what_to_install(
    done: Path, monkeypatch: pytest.MonkeyPatch, faircrowd: Callable[..., Any]
) -> None:
    monkeypatch.setattr(_extras, "find_spec", lambda name: None)
    code, out, err = faircrowd("verify", done)
    assert (code, out) == (2, "")
    assert err == (
        "faircrowd: This run was done in Spark, and only Spark can do it again. Spark needs pyspark: "
        "pip install 'faircrowd[spark]', and Java 17.\n"
    )


def test_votes_that_only_spark_can_reach_have_no_hash(
    spark: Any, tmp_path: Path, faircrowd: Callable[..., Any]
) -> None:
    crowd = fc.simulate_crowd(40, 5, random_state=1)
    spark.createDataFrame(crowd.votes).createOrReplaceTempView("verified_votes")
    given = ("aggregate", "verified_votes", "--method", "majority", "--engine", "spark", "--out", tmp_path / "run")
    assert faircrowd(*given)[0] == 0
    said = json.loads((tmp_path / "run" / EVIDENCE).read_text(encoding="utf-8"))
    assert said["inputs"] == {"votes": {"in_spark": True, "path": "verified_votes"}}
    found = verify(tmp_path / "run")
    assert found.verified
    assert found.notes == (
        "only Spark can reach the votes verified_votes, so there is no hash of them; they were read again",
    )
    spark.createDataFrame(crowd.votes.iloc[:-9]).createOrReplaceTempView("verified_votes")
    assert verify(tmp_path / "run").differences


def test_frames_with_null_keys(spark: Any) -> None:
    one = spark.createDataFrame([(None, 1.0), ("a", None), ("b", 2.0)], "task string, x double")
    assert frame_differences(one, one, "task") == ([], 0)
    new = spark.createDataFrame([(None, 1.5), ("a", 3.0), ("b", 2.0)], "task string, x double")
    assert frame_differences(new, one, "task") == (
        [("task None, column x", 1.5, 1.0), ("task a, column x", 3.0, None)],
        0,
    )
