"""Exports that are broken, cut or hostile get a message in one line, or are read in full; no row is lost in silence."""

import gzip
import io
import json
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faircrowd.cli.app import run
from faircrowd.votes.exports import json_parts
from votes.exports.reading import read, refusal, rows, write

Write = Callable[[Path], None]


def annotation(worker: Any, choice: Any = "yes", **more: Any) -> dict[str, Any]:
    result = {"from_name": "q", "to_name": "t", "type": "choices", "value": {"choices": [choice]}}
    return {"completed_by": worker, "result": [result], **more}


def task(number: Any = 1, annotations: Any = None, **more: Any) -> dict[str, Any]:
    given = [annotation(1), annotation(2, "no")] if annotations is None else annotations
    return {"id": number, "data": {"g": "a"}, "annotations": given, **more}


def text(content: str | bytes) -> Write:
    raw = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(raw) and None


def packed(members: dict[str, bytes]) -> Write:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)

    return write


def tarred(name: str, size: int = 3, kind: bytes = tarfile.REGTYPE) -> Write:
    def write(path: Path) -> None:
        with tarfile.open(path, "w:gz") as file:
            one = tarfile.TarInfo(name)
            one.size, one.type, one.linkname = size if kind == tarfile.REGTYPE else 0, kind, "/etc/passwd"
            file.addfile(one, io.BytesIO(b"x" * size))

    return write


def cut_zip(path: Path) -> None:
    packed({"a.jsonl": b"{}" * 1000})(path)
    path.write_bytes(path.read_bytes()[:-30])


def locked_zip(path: Path) -> None:
    packed({"a.jsonl": b"{}"})(path)
    raw = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(mark) + place
        raw[at : at + 2] = struct.pack("<H", 1)  # the flag of encryption
    path.write_bytes(bytes(raw))


WHOLE = json.dumps([task()])
HOSTILE: dict[str, tuple[str, Write, dict[str, Any], str]] = {
    "cut JSON": ("e.json", text(WHOLE[:-40]), {}, "is not JSON"),
    "JSON with more behind it": ("e.json", text(WHOLE + "]"), {}, "is not JSON"),
    "nothing but a bracket": ("e.json", text("["), {}, "is not JSON"),
    "an empty array": ("e.json", text("[]"), {}, "is an empty JSON array"),
    "no bytes": ("e.json", text(b""), {}, "is empty"),
    "only blanks": ("e.json", text(b"  \n \n"), {}, "is not JSON"),
    "deep lists": ("e.json", text("[" * 100_000 + "]" * 100_000), {}, "nested too deeply"),
    "deep objects": ("e.json", text('[{"a":' * 50_000), {}, "e.json"),
    "deep lists in the data": (
        "e.json",
        text(WHOLE.replace('"a"}', "[" * 100_000 + "]" * 100_000 + "}")),
        {},
        "nested too deeply",
    ),
    "an integer of 10,000 digits": ("e.json", text(WHOLE.replace('"id": 1', '"id": ' + "9" * 10_000)), {}, "number"),
    "broken UTF-8": ("e.json", text(WHOLE.encode().replace(b'"a"', b'"\xff\xfe"')), {}, "UTF-8"),
    "UTF-16": ("e.json", text(WHOLE.encode("utf-16")), {}, "e.json"),
    "half a character": ("e.json", text(WHOLE.replace('"a"', '"\\ud800"')), {}, "no Unicode"),
    "words": ("e.json", text("yes no"), {}, "e.json is not JSON: Expecting value in line 1, column 1"),
    "half an object": ("e.json", text('{"id": 1,\n "x": }'), {}, "in line 2, column 7"),
    "a number": ("e.json", text("42"), {}, "holds one JSON value"),
    "another platform's": ("e.json", text(WHOLE), {"format": "toloka"}, "is no export of Toloka: no column begins"),
    "no report of Appen": ("e.json", text(WHOLE), {"format": "appen"}, "is no report of Appen: it has no '_unit_id'"),
    "no answer": ("e.json", text(WHOLE), {"format": "labelbox"}, "holds no answer; is format=... right?"),
    "a question that is not asked": ("e.json", text(WHOLE), {"label": "Q"}, "has no question 'Q'; its questions: 'q'."),
    "an array of numbers": ("e.json", text("[1, 2, 3]"), {"format": "label-studio"}, "no JSON object"),
    "an array of arrays": ("e.json", text("[[1], [2]]"), {"format": "label-studio"}, "no JSON object"),
    "annotations that are no list": (
        "e.json",
        text(json.dumps([task(annotations={"result": 3})])),
        {"format": "label-studio"},
        "holds no answer",
    ),
    "results that are no objects": (
        "e.json",
        text(json.dumps([task(annotations=[{"completed_by": 1, "result": ["x", 3, None]}])])),
        {},
        "1 empty",
    ),
    "only skipped tasks": (
        "e.json",
        text(json.dumps([task(annotations=[annotation(1, was_cancelled=True)])])),
        {},
        "1 skipped",
    ),
    "ten thousand names": (
        "e.json",
        text(json.dumps([task(), {**task(2), "data": {f"n{i}": i for i in range(10_001)}}])),
        {},
        "more than 10,000 names",
    ),
    "a zip that is cut": ("e.zip", cut_zip, {}, "e.zip"),
    "a zip with a password": ("e.zip", locked_zip, {}, "e.zip"),
    "a zip that climbs out": ("e.zip", packed({"../../evil.jsonl": b"{}"}), {}, "e.zip"),
    "a bomb in a zip": ("e.zip", packed({"a.jsonl": b"\0" * 50_000_000}), {}, "e.zip"),
    "a tar that climbs out": ("e.tar.gz", tarred("../../evil.json"), {}, "e.tar.gz"),
    "a tar with a link": ("e.tar.gz", tarred("worker-response", kind=tarfile.SYMTYPE), {}, "e.tar.gz"),
    "gzip that is cut": ("e.json.gz", text(gzip.compress(WHOLE.encode())[:-10]), {}, "e.json.gz"),
    "no gzip": ("e.json.gz", text(WHOLE), {}, "e.json.gz"),
    "a spreadsheet that is none": ("e.xlsx", packed({"xl/workbook.xml": b"<a>"}), {"format": "records"}, "e.xlsx"),
    "a quote that is not closed": (
        "e.tsv",
        text('ASSIGNMENT:worker_id\tOUTPUT:q\nw\t"yes\nv\tno\n'),
        {"format": "toloka"},
        "e.tsv",
    ),
    "a column twice": (
        "e.tsv",
        text("ASSIGNMENT:worker_id\tOUTPUT:q\tOUTPUT:q\nw\t1\t2\n"),
        {"format": "toloka"},
        "2 times",
    ),
    "NUL bytes": ("e.csv", text(b"annotation_id,annotator\0\n1,2\n"), {}, "NUL"),
    "a folder of nothing": ("folder", lambda path: path.mkdir(), {}, "is a folder"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_exports_get_a_message(tmp_path: Path, name: str) -> None:
    file, make, options, message = HOSTILE[name]
    make(tmp_path / file)
    tracemalloc.start()
    try:
        assert message in refusal(tmp_path / file, **options)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()
    assert not list(tmp_path.parent.glob("evil*"))


@pytest.mark.parametrize("name", ["cut JSON", "deep lists", "a zip that is cut", "a folder of nothing"])
def test_the_command_line_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    file, make, _, message = HOSTILE[name]
    make(tmp_path / file)
    assert run(["aggregate", str(tmp_path / file), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert "bug" not in printed.err


@pytest.mark.parametrize(
    "name", ["cut JSON", "JSON with more behind it", "deep lists", "broken UTF-8", "an array of numbers"]
)
def test_large_files_are_refused_alike(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_parts, "PIECE", 7)
    file, make, _, _ = HOSTILE[name]
    make(tmp_path / file)
    refusal(tmp_path / file, format="label-studio")


STRANGE = {
    "ids of every type": [task(1), task("1", [annotation(True), annotation(2.5, "no")]), task(2**70)],
    "labels of every type": [task(1, [annotation(1, 1), annotation(2, "1"), annotation(3, True), annotation(4, 1.5)])],
    "names with dots and blanks": [{**task(), "data": {"a.b": {"c d": 1}, "": 2, "task": 3, "q": 4}}],
    "a long text": [{**task(), "data": {"g": "x" * 3_000_000}}],
    "a BOM and blanks": [task()],
    "no worker": [task(1, [annotation(None), annotation(2), annotation(3, "no")])],
    "deep data": [{**task(), "data": {"g": json.loads('{"a":' * 40 + "1" + "}" * 40)}}],
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_exports_are_read_in_full(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "e.json", STRANGE[name])
    if "BOM" in name:
        path.write_bytes(b"\xef\xbb\xbf \n" + path.read_bytes())
    votes = read(path)
    given = sum(len(one["annotations"]) for one in STRANGE[name])
    report = votes.report
    assert report.rows_read == given
    assert votes.n_votes + report.rows_aside == given
    assert report.rows_missing.get("worker", 0) == (1 if name == "no worker" else 0) or name == "ids of every type"


def test_large_files_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [task(i, [annotation(1, "é"), annotation(2, "no")]) for i in range(50)]
    whole = read(write(tmp_path / "whole.json", many))
    monkeypatch.setattr(json_parts, "PIECE", 7)
    streamed = read(write(tmp_path / "streamed.json", many))
    assert rows(whole) == rows(streamed)
    assert whole.tasks.to_list() == streamed.tasks.to_list()
    zipped = tmp_path / "streamed.json.gz"
    zipped.write_bytes(gzip.compress((tmp_path / "whole.json").read_bytes()))
    assert rows(read(zipped)) == rows(whole)
