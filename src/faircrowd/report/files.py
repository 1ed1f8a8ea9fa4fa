"""Output files: whole or not at all, and safe to open in a spreadsheet."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from faircrowd._checks import check_path
from faircrowd.errors import FileError

__all__ = ["OutputFolder"]

_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


class OutputFolder:
    """Write several files into a folder; they appear together at the end, or, after an error, not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with OutputFolder(f"{place}/run") as folder:
    ...         folder.write_json("summary.json", {"tasks": 3})
    ...     print(Path(place, "run", "summary.json").read_text().strip())
    {"tasks": 3}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._pending: dict[str, Path] = {}
        self._stale: set[str] = set()

    def __enter__(self) -> Self:
        self._made: list[Path] = []
        check_path(self.path)
        try:
            if self.path.exists() and not self.path.is_dir():
                raise FileError(f"{self.path} is a file; name a folder for the output.")
            for folder in (*reversed(self.path.parents), self.path):
                if not folder.exists():
                    folder.mkdir()
                    self._made.insert(0, folder)
            self._place = Path(tempfile.mkdtemp(prefix=".faircrowd-", dir=self.path))
        except OSError as error:
            self._remove_made()
            raise self._failed(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._publish()
        except OSError as problem:
            error = problem
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
            if error is not None:
                self._remove_made()
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _publish(self) -> None:
        for name in self._pending:
            if (self.path / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, f"{name} in it is a folder")
        for name, pending in self._pending.items():
            os.replace(pending, self.path / name)
        for name in self._stale - set(self._pending):
            (self.path / name).unlink(missing_ok=True)

    def _remove_made(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):  # someone else may have put a file there
                folder.rmdir()

    def _failed(self, error: OSError) -> FileError:
        return FileError(f"{self.path} cannot be written: {error.strerror or error}.")

    def forget(self, *names: str) -> None:
        """Remove these files of an older run when the new ones appear, unless they are among them."""
        self._stale.update(names)

    def write_json(self, name: str, value: Any) -> None:
        """Write a value as JSON; a small one on one line."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(text) > 100:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
        self.write_text(name, text + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a text as it is."""
        self._new(name).write_text(text, encoding="utf-8")

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write bytes as they are."""
        self._new(name).write_bytes(content)

    def write_csv(self, name: str, table: pa.Table) -> None:
        """Write a table as CSV. A text that a spreadsheet would run as a formula gets a leading apostrophe."""
        safe = [_neutralised(column) for column in table.columns]
        names = [_neutralised(pa.chunked_array([[name]]))[0].as_py() for name in table.column_names]
        pa.csv.write_csv(pa.table(safe, names=names), self._new(name))

    @property
    def names(self) -> list[str]:
        """The files written so far."""
        return list(self._pending)

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file written so far."""
        found = {}
        for name, path in self._pending.items():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return found

    def _new(self, name: str) -> Path:
        self._pending[name] = self._place / name
        return self._pending[name]


def _neutralised(column: Any) -> Any:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    risky = pc.and_not(pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(
        risky, pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type)), column
    )
