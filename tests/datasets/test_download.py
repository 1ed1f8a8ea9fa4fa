"""Where the files of data sets come from: folders, the cache, downloads and their checksums."""

import hashlib
import http.server
import io
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_files import assert_same_crowd, labels_of, write_judgement

from faircrowd.datasets import (
    load_crowd_judgement,
    load_jigsaw_toxicity,
)
from faircrowd.datasets.catalogue import ABOUT, About, RawFile
from faircrowd.datasets.download import find_files, find_home, get_files
from faircrowd.errors import FileError

real = pytest.mark.real


def about(files: dict[str, bytes], base: str = "http://127.0.0.1:9") -> About:
    made = tuple(RawFile(name, f"{base}/{name}", hashlib.sha256(text).hexdigest()) for name, text in files.items())
    return About("tiny", "A tiny set.", "CC0", "Nobody, 2020.", "https://example.org/tiny", made)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A web server in a thread: its address, the folder it serves, and the paths that were asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: Any) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", folder, asked
        made.shutdown()
        thread.join()


Server = tuple[str, Path, list[str]]


def test_the_folder_is_argument_then_environment_then_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_home(tmp_path) == tmp_path
    assert find_home() == tmp_path / "nowhere"
    assert find_home("~/x") == Path.home() / "x"
    monkeypatch.setenv("FAIRCROWD_DATA", "")
    assert find_home().name == "faircrowd"
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileError, match="set FAIRCROWD_DATA"):
        find_home()


def test_files_are_found_in_both_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    votes, tasks = "mTurk_code,11\n5,1", "id,race,two_year_recid\n5,2,1"
    write_judgement(tmp_path / "flat", votes, tasks)
    (tmp_path / "deep").mkdir()
    write_judgement(tmp_path / "deep" / "crowd-judgement", votes.replace("5,1", "5,-1"), tasks)
    assert labels_of(load_crowd_judgement(tmp_path / "flat")) == {(5, 11): 1}
    assert labels_of(load_crowd_judgement(tmp_path / "deep")) == {(5, 11): 0}
    monkeypatch.setenv("FAIRCROWD_DATA", str(tmp_path / "deep"))
    assert labels_of(load_crowd_judgement()) == {(5, 11): 0}
    write_judgement(tmp_path / "deep", votes, tasks)  # the set's own folder is searched first
    assert labels_of(load_crowd_judgement()) == {(5, 11): 0}


def test_a_download_is_kept(server: Server, tmp_path: Path) -> None:
    base, served, asked = server
    files = {"a.csv": b"x\n1\n", "b.csv": b"y\n2\n"}
    for name, text in files.items():
        (served / name).write_bytes(text)
    tiny = about(files, base)
    home = tmp_path / "home"
    (home / "tiny").mkdir(parents=True)
    (home / "tiny" / "b.csv").write_bytes(b"mine")  # existing files are used as they are
    for _ in range(2):
        paths = get_files(tiny, home)
        assert paths == {name: home / "tiny" / name for name in files} == find_files(tiny, home)
    assert paths["a.csv"].read_bytes() == files["a.csv"]
    assert paths["b.csv"].read_bytes() == b"mine"
    assert asked == ["/a.csv"]


def test_a_download_shows_a_bar_on_a_terminal(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    base, served, _ = server
    (served / "a.csv").write_bytes(b"x\n1\n")
    monkeypatch.setattr(sys, "stderr", Terminal())
    get_files(about({"a.csv": b"x\n1\n"}, base), tmp_path)
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "100%" in shown


def test_a_download_with_another_checksum_is_refused(server: Server, tmp_path: Path) -> None:
    base, served, _ = server
    (served / "a.csv").write_bytes(b"x\n1\n")
    (served / "b.csv").write_bytes(b"something else")
    tiny = about({"a.csv": b"x\n1\n", "b.csv": b"y\n2\n", "c.csv": b"z\n3\n"}, base)
    with pytest.raises(
        FileError, match=r"tiny lacks b.csv, c.csv \(what 127.0.0.1:\d+ sent for b.csv does not have the exp"
    ):
        get_files(tiny, tmp_path)
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == ["a.csv"]


def test_a_failed_download_says_what_to_put_where(server: Server, tmp_path: Path) -> None:
    put = rf"; put a.csv of https://example.org/tiny into {tmp_path / 'tiny'}\."
    tiny = about({"a.csv": b"x\n1\n"}, server[0])
    with pytest.raises(FileError, match=rf"tiny lacks a.csv \(127.0.0.1:\d+ answered 404\){put}"):
        get_files(tiny, tmp_path)
    with pytest.raises(FileError, match=f"tiny lacks a.csv{put}"):
        get_files(tiny, tmp_path, download=False)
    with pytest.raises(FileError, match=rf"tiny lacks a.csv \(no connection to 127.0.0.1:9\){put}"):
        get_files(about({"a.csv": b"x\n1\n"}), tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match=r"a.csv cannot be saved \(.+\); put a.csv"):
        get_files(tiny, tmp_path / "file")


def test_downloads_need_pooch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileError, match=r"downloads need pooch \(pip install 'faircrowd\[app\]'\)"):
        get_files(about({"a.csv": b"x\n1\n"}), tmp_path)


@real
def test_a_loader_downloads_missing_files(
    server: Server, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, served, asked = server
    for name in ("crowd-judgement", "jigsaw-toxicity"):
        shutil.copytree(data_folder / name, served / name)
        files = tuple(replace(file, url=f"{base}/{name}/{file.name}") for file in ABOUT[name].files)
        monkeypatch.setitem(ABOUT, name, replace(ABOUT[name], files=files))
    assert_same_crowd(load_crowd_judgement(tmp_path), load_crowd_judgement(data_folder, download=False))
    assert_same_crowd(load_jigsaw_toxicity(tmp_path), load_jigsaw_toxicity(data_folder, download=False))
    assert len(asked) == 5
    (served / "crowd-judgement" / "MTURK_RACE.csv").chmod(0o600)
    (served / "crowd-judgement" / "MTURK_RACE.csv").write_bytes(b"changed")
    with pytest.raises(FileError, match=r"crowd-judgement lacks MTURK_RACE\.csv, BROWARD_CLEAN_SUBSET\.csv .*SHA-256"):
        load_crowd_judgement(tmp_path / "other")
