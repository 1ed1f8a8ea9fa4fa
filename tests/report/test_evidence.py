"""Evidence: what it holds."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faircrowd as fc
from faircrowd.errors import FileError, InputError
from faircrowd.report.evidence import EVIDENCE, evidence, read_evidence
from faircrowd.storage.content_hash import content_hash

Make = Callable[..., Path]

VOTES = "task,worker,label,group\n" + "".join(
    f"{t},{w},{(t * w) % 3 % 2},{t % 2}\n" for t in range(30) for w in (1, 2, 4)
)


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evidence") / "votes.csv"
    path.write_text(VOTES)
    return path


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("aggregate", ["--epsilon", 0.1, "--random-state", 3, "--ties", "last", "--method", "majority"]),
        ("aggregate", []),
        ("audit", ["--replicates", 20]),
    ],
)
def test_holds_hashes_options_version_certificate(
    command: str, more: list[Any], votes: Path, tmp_path: Path, make: Make
) -> None:
    out = make(command, votes, "--group", "group", *more, out=tmp_path / "run")
    said = json.loads((out / EVIDENCE).read_text())
    assert said["version"] == fc.__version__
    assert said["command"] == command
    assert said["inputs"] == {"votes": {"path": str(votes), "sha256": sha(votes), "bytes": len(VOTES)}}
    written = {path.name for path in out.iterdir()} - {EVIDENCE}
    assert "report.html" in written
    assert said["outputs"] == {name: sha(out / name) for name in written}
    assert said["options"]["group"] == ["group"]
    assert said["libraries"].keys() == {"numpy", "scipy", "numba", "pyarrow", "vl-convert-python"}
    if "--epsilon" in more:
        assert said["options"]["epsilon"] == 0.1
        assert said["options"]["random_state"] == 3
        assert said["options"]["parameters"]["ties"] == "last"
        assert said["certificate"] == json.loads((out / "certificate.json").read_text())
    else:
        assert said["certificate"] is None
    if command == "audit":
        assert said["options"]["replicates"] == 20
    assert read_evidence(out) == said


def test_inputs_that_are_absent_are_left_out(votes: Path) -> None:
    said = evidence("aggregate", {}, {"votes": votes, "tasks": None}, None)
    assert list(said["inputs"]) == ["votes"]


def test_a_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\0\xff" * 100_000)
    assert content_hash(path) == sha(path)
    with pytest.raises(FileError, match="cannot be read: No such file"):
        content_hash(tmp_path / "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file or directory; name a folder that faircrowd wrote"),
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[1]", "is not evidence of faircrowd"),
        ("{}", "is not evidence of faircrowd"),
        ('{"kind": "faircrowd.FairRule", "schema": 1}', "is not evidence of faircrowd"),
        ('{"kind": "faircrowd.evidence"}', "is not evidence of faircrowd"),
        ('{"kind": "faircrowd.evidence", "schema": "1"}', "is not evidence of faircrowd"),
        ('{"kind": "faircrowd.evidence", "schema": 99}', "has schema 99, newer than 1; update faircrowd"),
    ],
)
def test_what_is_no_evidence_is_refused(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / EVIDENCE).write_text(text)
    with pytest.raises(InputError, match=words):
        read_evidence(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / EVIDENCE).write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match="is not JSON"):
        read_evidence(tmp_path)
