"""Faults of ``aggregate --engine spark``: the old output or the new one, one sentence, and no process left."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from engines.spark.spark_session import ENVIRONMENT, QUICK
from faircrowd.report import OutputFolder
from faircrowd.storage import publish
from faults.moments import tree

Command = Callable[..., tuple[int, str, str]]
slow = pytest.mark.skipif(not os.environ.get("FAIRCROWD_SLOW"), reason="Java starts anew; FAIRCROWD_SLOW=1 runs it")
OLD = {
    "labels.parquet/part-0.parquet": "old",
    "labels.parquet/_SUCCESS": "",
    "summary.json": "old",
    "labels.csv": "of a run in memory",
    "notes.txt": "mine",
}
SETTINGS = f"""
spark.driver.host 127.0.0.1
spark.driver.extraJavaOptions {QUICK}
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions 2
spark.ui.enabled false
"""


class Place:
    """A folder with votes, the settings of Spark, a folder for temporary files, and an older output."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.tmp = folder, folder / "place" / "out", folder / "tmp"
        self.tmp.mkdir()
        (folder / "spark-defaults.conf").write_text(SETTINGS, encoding="utf-8")
        fc.simulate_crowd(20, 5, random_state=1).votes.to_parquet(folder / "votes.parquet", index=False)
        for name, text in OLD.items():
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.old = tree(self.out)

    def command(self, *more: str) -> list[str]:
        spark = ("--engine", "spark", "--master", "local[2]", "--method", "majority")
        return ["aggregate", str(self.folder / "votes.parquet"), *spark, "--out", str(self.out), *more]

    def fault(self, number: signal.Signals) -> tuple[int, str, str]:
        """Send a signal to a command while Spark writes; return its exit code and its output."""
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).with_name("spark_program.py")), *self.command()],
            env=os.environ | ENVIRONMENT | {"SPARK_CONF_DIR": str(self.folder), "TMPDIR": str(self.tmp)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            while not list(self.out.glob(".faircrowd-*/files/labels.parquet/_temporary")):
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, out, err

    def running(self) -> list[str]:
        """Return the Java processes that have their files here."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.tmp) in (text := path.read_text(errors="replace")):
                    found.append(text)
            except OSError:  # ended meanwhile
                continue
        return found


@pytest.fixture(scope="module")
def place(java: None, tmp_path_factory: pytest.TempPathFactory) -> Place:
    pytest.importorskip("pyspark")
    return Place(tmp_path_factory.mktemp("spark"))


@slow
def test_ctrl_c_while_spark_writes(place: Place) -> None:
    assert place.fault(signal.SIGINT) == (130, "", "faircrowd: interrupted; no results were written.\n")
    assert place.running() == []
    assert tree(place.out.parent) == {"out": "folder", **{f"out/{name}": text for name, text in place.old.items()}}
    assert list(place.tmp.iterdir()) == []


@slow
def test_killed_while_spark_writes_and_run_again(
    place: Place, spark: Any, faircrowd: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place.fault(signal.SIGKILL) == (-9, "", "")
    while place.running():  # Java notices that its parent is gone, and ends
        time.sleep(0.05)
    (litter,) = place.out.glob(".faircrowd-*")
    left = tree(place.out)
    assert {name: left[name] for name in left if not name.startswith(litter.name)} == place.old
    monkeypatch.setattr(tempfile, "tempdir", str(place.tmp))
    code, _, err = faircrowd(*place.command("--worker", "wroker"))
    removed = "removed a folder that a killed run left in"
    assert code == 2
    assert err.splitlines() == [
        f"{removed} {place.out}",
        f"{removed} {place.tmp}",
        "faircrowd: No column 'wroker' in the votes; its columns are 'task', 'worker', 'label'. Did you mean 'worker'?",
    ]
    assert (tree(place.out), list(place.tmp.iterdir())) == (place.old, [])


def test_what_cannot_be_an_output(place: Place, java: None, faircrowd: Command) -> None:
    given = place.folder / "labels.parquet"
    shutil.copy(place.folder / "votes.parquet", given)
    for out, message in (
        ("s3://bucket/run", "s3:/bucket/run is not on a disk of this machine"),
        (place.folder, "would overwrite the input"),
        (given, "labels.parquet is a file; name a folder"),
    ):
        code, _, err = faircrowd("aggregate", given, "--engine", "spark", "--out", out)
        assert (code, message in err, err.count("\n")) == (2, True, 1), err
    assert not Path("s3:").exists()


@slow
def test_java_that_does_not_start(place: Place, java: None) -> None:
    options = {"SPARK_CONF_DIR": str(place.folder), "TMPDIR": str(place.tmp)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "faircrowd", *place.command()],
        env=os.environ | options | {"PYSPARK_SUBMIT_ARGS": "--driver-memory 1k pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
    )
    message = "faircrowd: Spark did not start: Error occurred during initialization of VM Too small maximum heap\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert (tree(place.out), list(place.tmp.iterdir())) == (place.old, [])


@slow
def test_spark_cannot_write(place: Place, spark: Any, faircrowd: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    inside_a_file: Any = lambda folder, name: folder.waiting("summary.json") / name  # noqa: E731
    monkeypatch.setattr(OutputFolder, "new_folder", inside_a_file)
    code, out, err = faircrowd(*place.command())
    assert (code, out) == (2, "")
    assert err.startswith("faircrowd: Spark could not write labels.parquet: ")
    assert err.count("\n") == 1
    assert tree(place.out) == place.old


@slow
def test_all_appears_by_one_exchange(
    place: Place, spark: Any, faircrowd: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files at a moment are what a process killed at that moment leaves."""
    exchange, states = publish._exchange, list[dict[str, str]]()

    def watched(new: Path, place: Path) -> bool:
        states.append(tree(place))
        done = exchange(new, place)
        states.append(tree(place))
        return done

    monkeypatch.setattr(publish, "_exchange", watched)
    code, out, err = faircrowd(*place.command())
    assert (code, err) == (0, "")
    assert out.endswith(f"{place.out}/labels.parquet, model.json, model.npz, summary.json\n")
    new = tree(place.out)
    before, after = ({name: state[name] for name in state if ".faircrowd-" not in name} for state in states)
    assert (before, after) == (place.old, new)
    files = {name for name in new if not name.startswith("labels.parquet/")}
    assert files == {"labels.parquet", "model.json", "model.npz", "notes.txt", "summary.json"}
    labels = sorted(path.name for path in (place.out / "labels.parquet").iterdir())
    parts = [name for name in labels if name.endswith(".parquet")]
    assert labels == sorted(["_SUCCESS", "._SUCCESS.crc", *parts, *(f".{part}.crc" for part in parts)])
    assert len(pd.read_parquet(place.out / "labels.parquet")) == 20
    assert list(place.out.parent.iterdir()) == [place.out]


def test_a_run_in_memory_takes_the_place_of_one_in_spark(place: Place, faircrowd: Command, tmp_path: Path) -> None:
    out = shutil.copytree(place.out, tmp_path / "out")
    code, _, err = faircrowd("aggregate", place.folder / "votes.parquet", "--no-report", "--out", out)
    assert (code, err) == (0, "")
    assert "labels.csv" in tree(out)
    assert not (out / "labels.parquet").exists()
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
