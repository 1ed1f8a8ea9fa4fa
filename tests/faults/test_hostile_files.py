"""Rules, evidence, models and checkpoints that are edited, cut, newer or hostile are refused, quickly and cheaply."""

import io
import json
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.aggregate.confusion import Confusion
from faircrowd.cli.app import run
from faircrowd.errors import InputError
from faircrowd.report.evidence import read_evidence

Run = Callable[..., tuple[int, str, str]]
TEXTS = {
    "empty": "",
    "no JSON": "{",
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep, but not too deep for Python": '{"kind": ' + "[" * 60 + "]" * 60 + "}",
    "a million keys": "{" + ",".join(f'"{i}": 0' for i in range(1_000_000)) + "}",
    "a number": "5",
    "a list": "[]",
    "null": "null",
    "NaN": "NaN",
    "a long number": "9" * 5000,
    "a NUL": '"\\u0000"',
    "half a character": '{"kind": "\\ud800"}',
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with rule, certificate, model and evidence."""
    folder = tmp_path_factory.mktemp("done")
    crowd = fc.simulate_crowd(80, 8, random_state=4)
    crowd.votes.to_csv(folder / "votes.csv", index=False)
    pd.DataFrame({"group": crowd.sensitive_features}).rename_axis("task").to_csv(folder / "tasks.csv")
    given = ["--tasks", folder / "tasks.csv", "--group", "group", "--epsilon", 0.05, "--no-report"]
    assert run([*map(str, ["aggregate", folder / "votes.csv", *given, "--out", folder / "run"])]) == 0
    return folder


@pytest.fixture
def place(done: Path, tmp_path: Path) -> Path:
    shutil.copytree(done, tmp_path / "copy")
    return tmp_path / "copy"


def readers(place: Path) -> dict[str, Callable[[], Any]]:
    return {
        "rule.json": lambda: fc.FairRule.from_json((place / "run" / "rule.json").read_text(encoding="utf-8")),
        "evidence.json": lambda: read_evidence(place / "run"),
        "model.json": lambda: fc.load_model(place / "run"),
    }


def refused(read: Callable[[], Any], most: int = 40_000_000) -> str:
    """Return the reason; the refusal may take no more memory than the order of the file."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read()
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert len(message) < 700
    assert "\n" not in message
    return message


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["rule.json", "evidence.json", "model.json"])
def test_texts_that_are_none_of_these(name: str, text: str, place: Path) -> None:
    (place / "run" / name).write_text(TEXTS[text], encoding="utf-8")
    if text == "a million keys":  # counting its memory takes longer than reading it
        with pytest.raises(InputError):
            readers(place)[name]()
    else:
        refused(readers(place)[name])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", '"0.1"', "[]", "1e300", "null"])
@pytest.mark.parametrize("key", ["prices", "shares", "gain_matrix", "gain_offset", "epsilon"])
def test_numbers_that_no_rule_has(key: str, number: str, place: Path) -> None:
    path = place / "run" / "rule.json"
    rule = json.loads(path.read_text(encoding="utf-8"))
    inner = rule[key]
    while isinstance(inner, list) and isinstance(inner[0], list):
        inner = inner[0]
    if isinstance(inner, list):
        inner[0] = "HERE"
    else:
        rule[key] = "HERE"
    text = json.dumps(rule).replace('"HERE"', number)
    path.write_text(text, encoding="utf-8")
    if number == '"0.1"':
        return  # numpy and float read a number in quotes; nothing is lost
    refused(readers(place)["rule.json"])


@pytest.mark.parametrize("name", ["rule.json", "evidence.json", "model.json"])
def test_newer_schemas_and_cut_files(name: str, place: Path) -> None:
    path = place / "run" / name
    text = path.read_text(encoding="utf-8")
    path.write_text(json.dumps({**json.loads(text), "schema": 99}), encoding="utf-8")
    assert "; update faircrowd" in refused(readers(place)[name])
    for part in (1, len(text) // 2, len(text) - 3):
        path.write_text(text[:part], encoding="utf-8")
        refused(readers(place)[name])


def test_keys_that_no_rule_has(place: Path) -> None:
    path = place / "run" / "rule.json"
    rule = json.loads(path.read_text(encoding="utf-8"))
    many = {f"key {i}": 0 for i in range(100_000)}
    path.write_text(json.dumps({**rule, **many}), encoding="utf-8")
    assert "it has 'key 0'" in refused(readers(place)["rule.json"], most=100_000_000)


def npy(shape: Any, kind: str = "<f8", body: bytes = b"") -> bytes:
    """The bytes of an array with any header."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def pickled() -> bytes:
    kept = io.BytesIO()
    np.lib.format.write_array(kept, np.array([print], dtype=object), allow_pickle=True)
    return kept.getvalue()


def packed(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


ZEROS = bytes(60_000_000)
ARRAYS = {
    "huge by its header": npy((10**12,)),
    "larger than any number": npy((10**30, 10**30)),
    "of negative length": npy((-1, -5)),
    "pickled": pickled(),
    "of objects": npy((2,), "|O"),
    "a zip bomb": npy((7_500_000,), body=ZEROS),
    "cut": npy((8, 1, 2, 2), body=bytes(100)),
    "longer than it says": npy((8, 1, 2, 2), body=bytes(1000)),
    "no array": b"hello",
    "of nothing": b"",
    "of a long header": b"\x93NUMPY\x02\x00" + (10**9).to_bytes(4, "little") + b"{" * 1000,
    "of code": b"\x93NUMPY\x01\x00\x40\x00" + b"__import__('os').abort()".ljust(63) + b"\n",
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_no_model_has(name: str, place: Path) -> None:
    path = place / "run" / "model.npz"
    with zipfile.ZipFile(path) as file:
        members = {one: file.read(one) for one in file.namelist()}
    packed(path, {**members, "shown_errors.npy": ARRAYS[name]})
    refused(readers(place)["model.json"], most=5_000_000)


@pytest.mark.parametrize("shape", [[10**12], [10**6, 10**6], [-1], ["a"], [1.5], [[]], None, 5])
def test_shapes_that_no_model_has(shape: Any, place: Path) -> None:
    path = place / "run" / "model.json"
    model = json.loads(path.read_text(encoding="utf-8"))
    model["arrays"]["shown_errors"] = shape
    path.write_text(json.dumps(model), encoding="utf-8")
    refused(readers(place)["model.json"], most=5_000_000)


def test_names_in_an_archive_lead_nowhere(place: Path) -> None:
    path = place / "run" / "model.npz"
    with zipfile.ZipFile(path) as file:
        members = {one: file.read(one) for one in file.namelist()}
    packed(path, {**members, "../../escaped.npy": npy((1,), body=bytes(8)), "/escaped.npy": b"x"})
    assert fc.load_model(place / "run").votes_.n_workers == 8  # other members are not read
    assert not list(place.parent.rglob("escaped*"))
    model = json.loads((place / "run" / "model.json").read_text(encoding="utf-8"))
    model["arrays"]["../../escaped"] = [1]
    (place / "run" / "model.json").write_text(json.dumps(model), encoding="utf-8")
    fc.load_model(place / "run")  # another array is read from the archive, never from the disk
    assert not list(place.parent.rglob("escaped*"))


START = Confusion(np.full((3, 1, 2, 2), 0.5), np.full((1, 2), 0.5))


@pytest.mark.parametrize("name", [*ARRAYS, "edited", "of NaN"])
def test_checkpoints(name: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    kept = Checkpoint(path, "run", resume=True)
    kept.save([1.0, 2.0], START)
    history, parameters = kept.load(START)
    assert history == [1.0, 2.0]
    np.testing.assert_array_equal(parameters.errors, START.errors)
    with zipfile.ZipFile(path) as file:
        members = {one: file.read(one) for one in file.namelist()}
    nan = npy((3, 1, 2, 2), body=np.full(12, np.nan).tobytes())
    bad = {**ARRAYS, "edited": npy((4, 1, 2, 2), body=bytes(128)), "of NaN": nan}[name]
    packed(path, {**members, "parameter_0.npy": bad})
    assert "leave resume=True out" in refused(lambda: kept.load(START), most=5_000_000)


@pytest.mark.parametrize("name", ["rule.json", "model.json", "evidence.json", "certificate.json", "summary.json"])
@pytest.mark.parametrize("text", ["deep lists", "NaN", "a list"])
def test_the_command_line_says_it_in_one_line(name: str, text: str, place: Path, faircrowd: Run) -> None:
    (place / "run" / name).write_text(TEXTS[text], encoding="utf-8")
    if name in ("evidence.json", "certificate.json"):
        code, out, err = faircrowd(
            "verify", place / "run", "--votes", place / "votes.csv", "--tasks", place / "tasks.csv"
        )
        assert code == (2 if name == "evidence.json" else 1), (out, err)
        assert name in out + err
    else:
        new = ["--tasks", place / "tasks.csv", "--out", place / "new" / "labels.csv"]
        code, out, err = faircrowd("apply", place / "run" / "rule.json", place / "votes.csv", *new)
        assert code == 2
        assert not (place / "new").exists()
    assert "bug" not in out + err
    assert err.count("\n") == (code == 2)
