"""The same votes give the same bytes, however they come and whoever computes."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import faircrowd as fc
from faircrowd._threads import available_threads
from faircrowd.cli.app import run

NEEDED = "numpy, scipy, numba, pyarrow, narwhals, typer, rich, jinja2, vl_convert"
"""What an interpreter must have to run the command line."""


@pytest.fixture(scope="module")
def votes() -> pd.DataFrame:
    crowd = fc.simulate_crowd(240, 15, random_state=8)
    third = crowd.votes["task"] % 7 == 0
    labels = crowd.votes["label"].where(~third | (crowd.votes["worker"] % 3 > 0), 2)  # three classes
    groups = crowd.sensitive_features.loc[crowd.votes["task"]].to_numpy()
    return crowd.votes.assign(label=labels.map({0: "no", 1: "yes", 2: "perhaps"}), group=np.array(["a", "b"])[groups])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, votes: pd.DataFrame) -> Path:
    folder = tmp_path_factory.mktemp("determinism")
    votes.to_csv(folder / "votes.csv", index=False)
    shuffled = votes.sample(frac=1, random_state=1)
    shuffled.to_csv(folder / "shuffled.csv", index=False)
    for size in (97, 100_000):
        pa.parquet.write_table(pa.Table.from_pandas(votes, preserve_index=False), folder / f"{size}.parquet", size)
    return folder


def without_place(value: Any) -> Any:
    """What a result says of the crowd: all but seconds, and where and how it was run."""
    if isinstance(value, dict):
        apart = ("seconds", "options", "inputs", "outputs", "version", "python", "libraries", "votes_file")
        return {name: without_place(inner) for name, inner in value.items() if name not in apart}
    return [without_place(inner) for inner in value] if isinstance(value, list) else value


def results(folder: Path) -> dict[str, Any]:
    """The bytes of labels, workers and rule; the numbers of summary, certificate, evidence and page."""
    found: dict[str, Any] = {name: (folder / name).read_bytes() for name in ("labels.csv", "workers.csv", "rule.json")}
    for name in ("summary.json", "certificate.json", "evidence.json"):
        found[name] = json.dumps(without_place(json.loads((folder / name).read_text(encoding="utf-8"))))
    page = (folder / "report.html").read_text(encoding="utf-8")
    page = re.sub(r'"seconds": ?[0-9.e-]+', "", page)
    found["report.html"] = re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", page, re.DOTALL)
    assert found["report.html"]
    with np.load(folder / "model.npz") as model:
        found["model.npz"] = {name: model[name].tobytes() for name in model.files}
    return found


def command(file: Path, out: Path, *more: str) -> list[str]:
    given = ["--group", "group", "--epsilon", "0.02", "--by-group", "--n-iter", "30", "--tol", "1e-9"]
    return ["aggregate", str(file), *given, "--out", str(out), *more]


@pytest.fixture(scope="module")
def expected(place: Path) -> dict[str, Any]:
    assert run(command(place / "votes.csv", place / "expected")) == 0
    assert json.loads((place / "expected" / "certificate.json").read_text(encoding="utf-8"))["changed"] > 0
    return results(place / "expected")


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == value, name


@pytest.mark.parametrize("file", ["votes.csv", "shuffled.csv", "97.parquet", "100000.parquet"])
def test_files(file: str, place: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    """A second time; in another order of rows; as Parquet of small and large row groups."""
    assert run(command(place / file, tmp_path / "out")) == 0
    assert_same(results(tmp_path / "out"), expected)


def test_threads_and_hashes(place: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    """A process with another number of threads than this one, and with other hashes."""
    hashes = "1" if os.environ.get("PYTHONHASHSEED") == "4321" else "4321"
    setting = {"FAIRCROWD_THREADS": "2" if available_threads() == 1 else "1", "PYTHONHASHSEED": hashes}
    arguments = command(place / "shuffled.csv", tmp_path / "out")
    subprocess.run([sys.executable, "-m", "faircrowd", *arguments], env={**os.environ, **setting}, check=True)
    assert_same(results(tmp_path / "out"), expected)


@pytest.mark.parametrize("file", ["shuffled.csv", "97.parquet"])
def test_memory_and_stream(file: str, place: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    assert run(command(place / file, tmp_path / "out", "--engine", "stream")) == 0
    assert_same(results(tmp_path / "out"), expected)


def as_polars(votes: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(votes.reset_index(drop=True))


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda votes: votes,
    "pandas shuffled": lambda votes: votes.sample(frac=1, random_state=2),
    "pandas categories": lambda votes: votes.astype({"label": "category", "group": "category"}),
    "polars": as_polars,
    "polars lazy": lambda votes: as_polars(votes).lazy(),
    "pyarrow": lambda votes: pa.Table.from_pandas(votes, preserve_index=False),
    "pyarrow in pieces": lambda votes: pa.concat_tables(
        pa.Table.from_pandas(part, preserve_index=False) for part in (votes[:1], votes[1:700], votes[700:])
    ),
}


def learned(frame: Any) -> tuple[str, list[Any], bytes, dict[str, Any]]:
    model = fc.DawidSkene(n_iter=30, tol=1e-9, by_group=True, pooling="learned")
    fair = fc.FairCrowd(model, epsilon=0.02).fit(frame, sensitive_features="group")
    result = fair.result_
    certificate = result.certificate.to_dict()
    certificate.pop("seconds")
    return (
        result.rule.to_json(),
        result.solved.labels.tolist(),
        fair.estimator_.posterior_.values.tobytes(),
        certificate,
    )


@pytest.mark.filterwarnings("ignore::faircrowd.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind: str, votes: pd.DataFrame, expected: dict[str, Any]) -> None:
    found, same = learned(FRAMES[kind](votes)), learned(votes)
    assert found == same
    assert (found[0] + "\n").encode() == expected["rule.json"]


def runs(program: str, code: str) -> bool:
    return subprocess.run([program, "-c", code], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def other_python() -> str:
    """FAIRCROWD_TEST_PYTHON, or the newest other Python on the path that has what faircrowd needs."""
    given = os.environ.get("FAIRCROWD_TEST_PYTHON")
    if given:
        assert runs(given, f"import {NEEDED}"), f"FAIRCROWD_TEST_PYTHON is {given}, which lacks some of {NEEDED}"
        return given
    others = [f"python3.{minor}" for minor in range(20, 10, -1) if minor != sys.version_info.minor]
    found = [name for name in others if shutil.which(name) and runs(name, "")]
    for name in found:
        if runs(name, f"import {NEEDED}"):
            return name
    if found:
        pytest.skip(f"{', '.join(found)} lack faircrowd's packages; set FAIRCROWD_TEST_PYTHON to one that has them")
    pytest.skip(f"Python 3.{sys.version_info.minor} is the only one here; set FAIRCROWD_TEST_PYTHON to another")


def test_another_python(other_python: str, place: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    source = str(Path(__file__).parents[1] / "src")
    arguments = command(place / "votes.csv", tmp_path / "out")
    subprocess.run([other_python, "-m", "faircrowd", *arguments], env={**os.environ, "PYTHONPATH": source}, check=True)
    assert_same(results(tmp_path / "out"), expected)
