"""Output files: all of them or none, and safe to open in a spreadsheet."""

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from faircrowd._checks import check_path, few
from faircrowd.errors import FileError
from faircrowd.storage.content_hash import content_hash
from faircrowd.storage.publish import publish
from faircrowd.storage.scratch import HIDDEN, Scratch, clear_left, uninterrupted
from faircrowd.storage.written_folders import record_written

__all__ = ["FORMULA", "OutputFolder", "neutralised"]

FORMULA = r"[=+\-@\t\r\n]"
"""How a text begins that a spreadsheet would run as a formula."""
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


class OutputFolder:
    """Write several files into a folder; they appear together at the end, or, after an error, not at all.

    A process that is killed leaves the old files or the new ones (see :func:`faircrowd.storage.publish.publish`), and
    perhaps a folder whose name begins with ``.faircrowd-``, in this folder or next to it; the next run removes it and
    warns.

    Parameters
    ----------
    path : path
    keep : bool, default True
        With False no file appears: each can be read where it waits, and is gone at the end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with OutputFolder(f"{place}/run") as folder:
    ...         folder.write_json("summary.json", {"tasks": 3})
    ...     print(Path(place, "run", "summary.json").read_text().strip())
    {"tasks": 3}
    """

    def __init__(self, path: str | os.PathLike[str], *, keep: bool = True) -> None:
        self.path = Path(path)
        self._keep = keep
        self._pending: dict[str, Path] = {}
        self._stale: set[str] = set()
        self._scratch: Scratch | None = None
        self.replaced: tuple[str, ...] = ()
        self.removed: tuple[str, ...] = ()
        """Files of an older run that new ones replaced, and those that were removed; known at the end."""

    def __enter__(self) -> Self:
        self._made: list[Path] = []
        check_path(self.path)
        try:
            if self.path.is_symlink() and not self.path.exists():
                where = os.readlink(self.path)
                raise FileError(
                    f"{self.path} is a link to {where}, which does not exist; name a folder for the output."
                )
            if self.path.exists() and not self.path.is_dir():
                raise FileError(f"{self.path} is a file; name a folder for the output.")
            for folder in (*reversed(self.path.parents), self.path):
                if not folder.exists():
                    folder.mkdir()
                    self._made.insert(0, folder)
            for place in (self.path, self.path.resolve().parent):
                clear_left(place, HIDDEN)
            self._scratch = Scratch(self.path, HIDDEN)
            self._files = self._scratch.path / "files"
            self._files.mkdir()
        except BaseException as error:
            if self._scratch is not None:
                self._scratch.remove()
            self._remove_made()
            if isinstance(error, OSError):
                raise self._failed(error) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with uninterrupted():
            try:
                if error is None and self._keep:
                    self._publish()
            except OSError as problem:
                error = problem
            finally:
                if self._scratch is not None:
                    self._scratch.remove()
                if error is not None:
                    self._remove_made()
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _publish(self) -> None:
        for name, path in self._pending.items():
            if path.is_file() and (self.path / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, f"{name} in it is a folder")
        older = sorted(name for name in {*self._pending, *self._stale} if os.path.lexists(self.path / name))
        self.replaced = tuple(name for name in self._pending if name in older)
        self.removed = tuple(name for name in older if name not in self._pending)
        publish(self._files, self.path, self._pending, self._stale, HIDDEN)
        record_written(self.path)

    def _remove_made(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):  # someone else may have put a file there
                folder.rmdir()

    def _failed(self, error: OSError) -> FileError:
        why = re.sub(r"^.*\[errno \d+\] ", "", error.strerror or str(error), flags=re.DOTALL)  # as Arrow words it
        return FileError(f"{self.path} cannot be written: {why}.")

    def forget(self, *names: str) -> None:
        """Remove these files and folders of an older run when the new ones appear, unless they are among them."""
        self._stale.update(names)

    def write_json(self, name: str, value: object) -> None:
        """Write a value as JSON, on one line if it is short."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(text) > 100:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
        self.write_text(name, text + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a text as it is."""
        self._new(name).write_text(text, encoding="utf-8", newline="\n")  # the same bytes on every system

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write bytes as they are."""
        self._new(name).write_bytes(content)

    def write_csv(self, name: str, tables: pa.Table | Iterable[pa.Table]) -> None:
        """Write a table as CSV, or several tables with the same columns as one file, one after the other.

        A text that a spreadsheet would run as a formula gets a leading apostrophe.
        """
        writer: pa.csv.CSVWriter | None = None
        path = self._new(name)
        try:
            for table in [tables] if isinstance(tables, pa.Table) else tables:
                safe = _safe(table)
                if writer is None:
                    writer = pa.csv.CSVWriter(path, safe.schema)
                writer.write_table(safe)
        finally:
            if writer is not None:
                writer.close()

    def new_folder(self, name: str) -> Path:
        """Return the path where another process is to write a folder, which appears with the files.

        Executors of Spark may belong to another user, so others may enter the folder where all files wait.
        """
        assert self._scratch is not None  # noqa: S101 - the folder is open
        self._scratch.path.chmod(0o711)
        return self._new(name)

    @property
    def names(self) -> list[str]:
        """The files and folders written so far."""
        return list(self._pending)

    def waiting(self, name: str) -> Path:
        """Return the path of a file that was written, until all files appear."""
        return self._pending[name]

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file and folder written so far."""
        return {name: content_hash(path) for name, path in self._pending.items()}

    def _new(self, name: str) -> Path:
        if Path(name).name != name or name in ("", ".."):
            raise FileError(f"{few([name])} is not a valid name for a file in {self.path}.")
        self._pending[name] = self._files / name
        return self._pending[name]


def _safe(table: pa.Table) -> pa.Table:
    names = [neutralised(pa.chunked_array([[name]]))[0].as_py() for name in table.column_names]
    return pa.table([neutralised(column) for column in table.columns], names=names)


def neutralised(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as they are written for spreadsheets: what would run as a formula gets a leading apostrophe.

    Examples
    --------
    >>> neutralised(pa.chunked_array([["=1+1", "-1", "plain"]])).to_pylist()
    ["'=1+1", '-1', 'plain']
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    risky = pc.and_not(pc.match_substring_regex(column, f"^{FORMULA}"), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(
        risky, pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type)), column
    )
