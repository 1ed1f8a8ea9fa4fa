"""Every format knows its own files and no others, and damaged or hostile files end in words."""

import copy
import json
import tarfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faircrowd.engines.stream.read_stream import read_votes_on_disk
from faircrowd.errors import DataWarning, FaircrowdError, FileError, OptionError
from faircrowd.votes.exports import EXPORTS, find_export, open_votes
from faircrowd.votes.exports.export_file import ExportFile
from votes.exports import examples
from votes.exports.examples import EXAMPLES, packed
from votes.exports.reading import known_to, read, refusal, rows, see, write

HOSTILE = (None, [], {}, 7, "x", True, [[]], [None], {"a": None}, "[", 1e400, {"x": {"y": [1]}})


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_is_known_to_its_own_format_alone(name: str, tmp_path: Path) -> None:
    kind, make = EXAMPLES[name]
    path = make(tmp_path)
    assert find_export(path) is EXPORTS[kind]
    assert known_to(path) == [kind]


@pytest.mark.parametrize("name", EXAMPLES)
def test_any_file_read_as_any_format_ends_in_words(name: str, tmp_path: Path) -> None:
    path = EXAMPLES[name][1](tmp_path)
    for kind in EXPORTS.values():
        with suppress(FaircrowdError):
            list(kind.answers(ExportFile(path)))


OPTIONS: dict[str, dict[str, Any]] = {
    "potato": {"label": "toxic"},
    "samples.jsonl": {"label": "exact_match,strict-match"},
    "mturk.csv": {"multi": "set"},
    "doccano.zip": {"multi": "set"},
    "promptfoo.json": {"label": "pass"},
    "argilla.json": {"label": "better"},
    "cvat_jobs": {"label": "tag"},
    "cvat.xml": {"label": "tag"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_stream_reads_the_same_votes(name: str, tmp_path: Path) -> None:
    path, options = EXAMPLES[name][1](tmp_path), OPTIONS.get(name, {})
    whole = read(path, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        streamed = read_votes_on_disk(path, **options)
    assert rows(streamed) == rows(whole)
    assert streamed.report.to_dict() == whole.report.to_dict()


def changed(value: Any) -> Iterator[Any]:
    """Yield copies of a value in which one part, however deep, is something else or missing."""
    for path in _paths(value):
        for other in HOSTILE:
            found = copy.deepcopy(value)
            _parent(found, path)[path[-1]] = other
            yield found
        found = copy.deepcopy(value)
        del _parent(found, path)[path[-1]]
        yield found


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*before, key)
        yield from _paths(value[key], (*before, key))


def _parent(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


DOCUMENTS = {
    "prodigy.jsonl": ("prodigy", examples.PRODIGY[:2]),
    "potato.jsonl": ("potato", examples.POTATO_JSONL[:2]),
    "labelbox.ndjson": ("labelbox", examples.LABELBOX),
    "lewidi.json": ("lewidi", examples.LEWIDI),
    "mt_bench.jsonl": ("mt-bench", examples.MT_BENCH[:1]),
    "reward_bench.json": ("reward-bench", examples.REWARD_BENCH),
    "annotations.json": ("alpaca-eval", examples.ALPACA_EVAL[:1]),
    "samples.jsonl": ("lm-eval", examples.LM_EVAL[:1]),
    "lists.jsonl": ("lists", examples.LISTS),
    "log.json": ("inspect", {"version": 2, "eval": {"task": "t"}, "samples": list(examples.INSPECT.values())}),
    "promptfoo.json": ("promptfoo", examples.PROMPTFOO),
    "argilla.json": ("argilla", examples.ARGILLA_FLAT),
    "argilla_nested.json": ("argilla", examples.ARGILLA_NESTED),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_values_of_any_kind_end_in_words(name: str, tmp_path: Path) -> None:
    """Whatever stands in place of a value, a reader gives answers or raises an error of its own."""
    kind, document = DOCUMENTS[name]
    for value in changed(document):
        path = write(tmp_path / name, value)
        find_export(path)
        with suppress(FaircrowdError):
            for answer in EXPORTS[kind].answers(ExportFile(path)):
                assert answer.task is None or isinstance(answer.task, str | int)
                assert answer.worker is None or isinstance(answer.worker, str | int)


PARTS = {
    "ground-truth": examples.GROUND_TRUTH,
    "inspect": examples.INSPECT,
    "potato": {"ann/user_state.json": examples.potato_state("ann", "yes")},
    "cvat": examples.CVAT_JOBS,
}


@pytest.mark.parametrize("kind", PARTS)
def test_files_of_a_folder_may_hold_anything(kind: str, tmp_path: Path) -> None:
    files = PARTS[kind]
    for number, value in enumerate(changed({name: one for name, one in files.items() if not isinstance(one, str)})):
        if number % 3 == 0:
            path = packed({**files, **value}, tmp_path / f"{number}.zip")
            find_export(path)
            with suppress(FaircrowdError):
                list(EXPORTS[kind].answers(ExportFile(path)))
            path.unlink()


@pytest.mark.parametrize("name", EXAMPLES)
def test_cut_files_end_in_words(name: str, tmp_path: Path) -> None:
    path = EXAMPLES[name][1](tmp_path)
    if path.is_dir():
        return
    content = path.read_bytes()
    for end in range(0, len(content), max(1, len(content) // 25)):
        short = write(tmp_path / f"cut-{path.name}", content[:end])
        with suppress(FaircrowdError):
            kind = find_export(short)
            if kind is not None:
                list(kind.answers(ExportFile(short)))


def test_names_that_lead_out_of_an_archive_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "ann.jsonl", [{"id": 1, "text": "outside", "label": ["secret"], "Comments": []}])
    folder = tmp_path / "in" / "deep"
    folder.mkdir(parents=True)
    path = folder / "doccano.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../ann.jsonl", json.dumps({"id": 1, "text": "t", "label": ["x"], "Comments": []}))
    with pytest.raises(FileError, match="leads out"):
        ExportFile(path).inside("../../ann.jsonl")
    assert find_export(path) is None


@pytest.mark.parametrize("name", ["../ann/user_state.json", "/etc/user_state.json"])
def test_files_of_an_archive_are_read_without_touching_the_disk(name: str, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    state = examples.potato_state("ann", "yes")
    for ending in (".zip", ".tar.gz", ".tgz"):
        path = packed({name: state}, tmp_path / f"a{ending}")
        assert see(path, format="potato", label="toxic").votes == 1
        path.unlink()
    assert set(tmp_path.rglob("*")) == before


def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faircrowd.votes.exports.export_file._MOST_UNPACKED", 1 << 20)
    zipped, tarred = tmp_path / "bomb.zip", tmp_path / "bomb.tar.gz"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1_epoch_1.json", b" " * (1 << 23))
    with tarfile.open(tarred, "w:gz") as tar:  # a header alone, which says that two terabytes follow
        info = tarfile.TarInfo("worker-response/iteration-1/0/a.json")
        info.size = 1 << 41
        tar.fileobj.write(info.tobuf())  # type: ignore[union-attr]
    with pytest.raises(FileError, match="as no export does"):
        list(EXPORTS["inspect"].answers(ExportFile(zipped)))
    with pytest.raises(FileError, match="as no export does"):
        list(EXPORTS["ground-truth"].answers(ExportFile(tarred)))
    assert find_export(tarred) is None


def test_a_file_that_is_too_large_for_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faircrowd.votes.exports.export_file._LARGEST_PART", 100)
    for ending in ("", ".zip", ".tar.gz"):
        path = packed(examples.GROUND_TRUTH, tmp_path / f"job{ending}")
        with pytest.raises(FileError, match="larger than"):
            list(EXPORTS["ground-truth"].answers(ExportFile(path)))


def test_locked_and_damaged_archives_say_so(tmp_path: Path) -> None:
    path = packed(examples.INSPECT, tmp_path / "log.eval")
    content = bytearray(path.read_bytes())
    content[60:70] = b"0123456789"
    write(tmp_path / "damaged.eval", bytes(content))
    with pytest.raises(FileError, match=r"damaged|not JSON"):
        list(EXPORTS["inspect"].answers(ExportFile(tmp_path / "damaged.eval")))


def test_a_folder_that_is_no_export_says_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "readme.txt").write_text("nothing")
    with pytest.raises(FileError, match=r"no file in it is one, or a table \(format='list' lists"):
        open_votes(folder)
    packed({"notes/a.txt": "x", "table.csv": "task,worker,label\n1,a,x\n"}, folder)
    with pytest.raises(FileError, match=r"known: table.csv in it looks like a table\.$"):
        open_votes(folder)
    write(folder / "z" / "export.jsonl", examples.PROMPTFOO["results"]["results"])
    with pytest.raises(FileError, match=r"z/export.jsonl in it looks like results of promptfoo, and 1 more file can"):
        open_votes(folder)


def test_the_formats_are_listed() -> None:
    with pytest.raises(OptionError, match=r"^The formats of votes are csv, .*label-studio, .*wide\.$"):
        open_votes(__file__, format="list")


def test_what_is_no_export_is_said_in_words(tmp_path: Path) -> None:
    empty, notes = write(tmp_path / "e.json", "[]"), write(tmp_path / "x.md", "# Title\n\nsome, text\n")
    for options in ({}, {"format": "label-studio"}):
        assert refusal(empty, **options).endswith("e.json is an empty JSON array; export it again.")
    assert refusal(notes, format="label-studio").endswith(
        "x.md does not look like an export of Label Studio; is format=... right?"
    )
    said = refusal(notes)
    assert "the ending '.md' is not known; use .csv" in said
    assert said.endswith("may also be .json, .xlsx, .zip, .tar.gz, .tgz or .eval.")
