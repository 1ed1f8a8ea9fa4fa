"""The folder of a studio: files that were dropped, and jobs with their results."""

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from faircrowd.errors import FileError, InputError
from faircrowd.storage.untrusted import read_json

__all__ = ["FINAL", "Job", "Workspace", "guess_files"]

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
FINAL = (DONE, FAILED, CANCELLED)
"""The states that a job does not leave."""

_LONGEST_NAME = 120
_VOTES_NAME = re.compile(r"vote|annotation|judg|rating|export|answer", re.I)
_TASKS_NAME = re.compile(r"task|item|group|known|meta", re.I)
_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')


@dataclass(frozen=True)
class Job:
    """A job in its folder: what was asked for, its state, and its result.

    Attributes
    ----------
    folder : Path
        ``job.json`` holds what was asked for, ``state.json`` how far it is, ``progress.json`` what it does now, and
        ``result`` what it wrote.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The number of the job, as addresses of pages hold it."""
        return self.folder.name

    @property
    def result(self) -> Path:
        """The folder of what the job wrote."""
        return self.folder / "result"

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What was asked for: ``kind``, ``made`` (a time), and the options of that kind; it never changes."""
        return _read_object(self.folder / "job.json")

    @property
    def kind(self) -> str:
        """What the job is to do: "overview", "run" or "prices"; empty if that cannot be read."""
        try:
            return str(self.asked.get("kind", ""))
        except InputError:
            return ""

    @property
    def state(self) -> dict[str, Any]:
        """How far the job is: ``state``, and ``message`` if it failed."""
        try:
            return _read_object(self.folder / "state.json")
        except InputError:
            return {"state": FAILED, "message": "The state of this job cannot be read."}

    @property
    def progress(self) -> dict[str, Any]:
        """What the job is doing: ``text``, and ``share`` between 0 and 1 where it is known."""
        try:
            return _read_object(self.folder / "progress.json")
        except InputError:
            return {}

    @property
    def is_done(self) -> bool:
        """Whether the job ended with a result."""
        return bool(self.state["state"] == DONE)

    def set_state(self, state: str, message: str | None = None) -> None:
        """Write the state of the job."""
        write_json(self.folder / "state.json", {"state": state, "message": message})


class Workspace:
    """The folder of a studio.

    Parameters
    ----------
    folder : path
        Made if it is not there. Files lie in ``files``, jobs in ``jobs``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     workspace = Workspace(Path(place))
    ...     saved = workspace.save("../votes.csv", [b"task,worker,label", b"..."], limit=100)
    ...     job = workspace.new_job({"kind": "run"})
    ...     saved.name, [path.name for path in workspace.files()], job.name, job.state["state"]
    ('votes.csv', ['votes.csv'], '0001', 'queued')
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        if self.folder.exists() and not self.folder.is_dir():
            raise FileError(f"{folder} is a file; name a folder for the studio.")
        self._files, self._jobs = self.folder / "files", self.folder / "jobs"
        try:
            for place in (self._files, self._jobs):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{folder} cannot be used for the studio: {error.strerror}.") from None

    def files(self) -> list[Path]:
        """Return the files that were dropped, by name."""
        return sorted(
            (path for path in self._files.iterdir() if not path.name.startswith(".")), key=lambda path: path.name
        )

    def file(self, name: str) -> Path:
        """Return the path of a file by its name; raise if there is none."""
        found = {path.name: path for path in self.files()}
        if name not in found:
            raise InputError(f"There is no file {name!r} in the studio.")
        return found[name]

    def save(self, name: str, pieces: Iterable[bytes], limit: int) -> Path:
        """Save a file that arrives in pieces, under its name or the next one that is free.

        Raises
        ------
        InputError
            If it is larger than ``limit`` bytes; nothing of it is kept.
        """
        with self.receive(name, limit) as receiver:
            for piece in pieces:
                receiver.write(piece)
        assert receiver.saved is not None  # noqa: S101 - no error was raised
        return receiver.saved

    def receive(self, name: str, limit: int) -> "Receiver":
        """Return what writes a file that arrives in pieces."""
        return Receiver(self._files, safe_name(name), limit)

    def jobs(self, kind: str | None = None) -> list[Job]:
        """Return all jobs, or those of a kind, the newest first."""
        found = [Job(path) for path in self._jobs.iterdir() if path.name.isdecimal() and (path / "job.json").is_file()]
        found.sort(key=lambda job: int(job.name), reverse=True)
        return [job for job in found if kind is None or job.kind == kind]

    def job(self, name: str) -> Job:
        """Return a job by its number; raise if there is none."""
        path = self._jobs / name
        if not name.isdecimal() or not (path / "job.json").is_file():
            raise InputError(f"There is no job {name!r} in the studio.")
        return Job(path)

    def new_job(self, asked: Mapping[str, Any]) -> Job:
        """Write down a job that is to be done."""
        number = max((int(path.name) for path in self._jobs.iterdir() if path.name.isdecimal()), default=0)
        while True:
            number += 1
            job = Job(self._jobs / f"{number:04d}")
            try:
                job.folder.mkdir()
            except FileExistsError:  # another tab was quicker
                continue
            break
        job.set_state(QUEUED)
        write_json(job.folder / "job.json", {**asked, "made": datetime.now(UTC).isoformat(timespec="seconds")})
        return job


class Receiver:
    """Writes a file that arrives in pieces: whole, or not at all."""

    def __init__(self, folder: Path, name: str, limit: int) -> None:
        self._folder, self._name, self._limit = folder, name, limit
        self._left = limit
        self.saved: Path | None = None

    def __enter__(self) -> "Receiver":
        self._part = self._folder / f".{os.urandom(8).hex()}.part"
        self._file = self._part.open("xb")
        return self

    def write(self, piece: bytes) -> None:
        """Write a piece; raise if the file gets too large."""
        self._left -= len(piece)
        if self._left < 0:
            raise InputError(f"{self._name} is larger than {self._limit:,} bytes, the limit of this studio.")
        self._file.write(piece)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._file.close()
        try:
            if error is None:
                self.saved = self._publish()
        finally:
            self._part.unlink(missing_ok=True)

    def _publish(self) -> Path:
        """Give the file its name, or the next one that is free; another file is never replaced."""
        stem, dot, ending = self._name.partition(".")
        for number in range(1, 10_000):
            path = self._folder / (self._name if number == 1 else f"{stem}-{number}{dot}{ending}")
            try:
                os.link(self._part, path)
            except FileExistsError:
                continue
            return path
        raise InputError(f"There are too many files called {self._name}.")


def guess_files(names: Sequence[str]) -> tuple[str, str]:
    """Guess by their names which file holds the votes and which says more about tasks; empty where nothing says so.

    Examples
    --------
    >>> guess_files(["tasks.csv", "votes.csv"]), guess_files(["a.csv"]), guess_files(["a.csv", "b.csv"])
    (('votes.csv', 'tasks.csv'), ('a.csv', ''), ('', ''))
    """
    tasks = [name for name in names if _TASKS_NAME.search(name) and not _VOTES_NAME.search(name)]
    others = [name for name in names if name not in tasks]
    votes = [name for name in others if _VOTES_NAME.search(name)] or others
    found = votes[0] if len(votes) == 1 else ""
    return found, tasks[0] if found and len(tasks) == 1 else ""


def safe_name(name: str) -> str:
    r"""Return the name under which a file is kept: no folders, no control characters, not hidden, not too long.

    Examples
    --------
    >>> safe_name("../../etc/passwd"), safe_name(".hidden"), safe_name("C:\\votes.csv"), safe_name("")
    ('passwd', 'hidden', 'votes.csv', 'file')
    """
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", name))[-1]
    shown = "".join(c for c in _NOT_IN_NAMES.sub("_", last) if c.isprintable()).strip(" .")
    if len(shown.encode()) > _LONGEST_NAME:
        stem, dot, ending = shown.rpartition(".")
        ending = ending[-20:] if dot else ""
        room = _LONGEST_NAME - len(ending.encode()) - 1
        shown = (stem or shown).encode()[:room].decode(errors="ignore") + (f".{ending}" if dot else "")
    return shown or "file"


def write_json(path: Path, value: object) -> None:
    """Write JSON so that a reader finds the old file or the new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(value, ensure_ascii=False, allow_nan=False), encoding="utf-8", newline="\n")
    part.replace(path)


def _read_object(path: Path) -> dict[str, Any]:
    found = read_json(path, "job")
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no job of faircrowd.")
    return found
