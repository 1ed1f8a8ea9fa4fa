"""A file or folder that may be an export: its kind, what it holds, and its records one by one."""

import csv
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, TextIO

import pyarrow as pa
import pyarrow.parquet

from faircrowd.errors import FileError
from faircrowd.storage.scratch import Scratch
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.json_parts import document, items, lines
from faircrowd.votes.exports.spreadsheet import sheet_cells, sheet_rows
from faircrowd.votes.readers.reader import Source
from faircrowd.votes.readers.shared import COMPRESSIONS, MISSING, explained, open_file
from faircrowd.votes.readers.text import CSV, TSV

__all__ = ["ExportFile"]

_HEAD_BYTES = 1 << 18
_ROWS_AT_ONCE = 1 << 12
"""Rows that are turned into Python values at once."""
_FIRST_RECORDS = 20
"""How many records are looked at to recognise a format."""
_MOST_UNPACKED, _MOST_RATIO, _MOST_MEMBERS = 1 << 30, 200, 1_000_000
"""An archive that unpacks to more than 1 GB and to more than 200 times its size is refused, as is one of more files."""
_LARGEST_PART = 1 << 28
"""Bytes of the largest file of a folder or an archive that is read as a whole."""
_DELIMITERS = "\t;|"


class ExportFile:
    """A file or folder that may be an export.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        The separator of a text file, if it is not the one that its first line suggests.
    named : sequence of str
        What users call the columns of task, worker and label.
    """

    def __init__(self, path: Path, delimiter: str | None = None, named: Sequence[str] = ()) -> None:
        self.path, self.named = path, frozenset(named)
        self._delimiter = delimiter

    @cached_property
    def head(self) -> bytes:
        """The first bytes of a file, decompressed; none of a folder."""
        if self.path.is_dir():
            return b""
        with explained(self.path), open_file(self.path) as stream:
            found: bytes = stream.read(_HEAD_BYTES)
            return found.removeprefix(b"\xef\xbb\xbf")

    @cached_property
    def kind(self) -> str:
        """What kind of file it is, by its content.

        One of ``folder``, ``zip``, ``tar``, ``xlsx``, ``parquet``, ``json`` (an array), ``object`` (of JSON),
        ``jsonl``, ``xml`` and ``table`` (text with a header).
        """
        if self.path.is_dir():
            return "folder"
        head = self.head.lstrip()
        if head.startswith(b"PK"):
            return "xlsx" if "xl/workbook.xml" in self.members else "zip"
        if head.startswith(b"PAR1"):
            return "parquet"
        if b"ustar" in self.head[257:265]:
            return "tar"
        if head.startswith(b"["):
            return "json"
        if head.startswith(b"{"):
            return "jsonl" if self._starts_with_line() else "object"
        return "xml" if head.startswith(b"<") else "table"

    @property
    def holds_files(self) -> bool:
        """Whether it is a folder, or an archive of files."""
        return self.kind in ("folder", "zip", "tar")

    def _starts_with_line(self) -> bool:
        """Return whether the first line is a JSON object of its own."""
        line = self.head.lstrip().split(b"\n", 1)[0].rstrip()
        if len(line) > _HEAD_BYTES // 2:  # a long first line ends with its object, unless it is the whole file
            return line.endswith(b"}") or b"\n" not in self.head
        try:
            return isinstance(document(line, str(self.path)), dict)
        except FileError:
            return False

    @cached_property
    def members(self) -> list[str]:
        """The files of a folder or an archive, by their names in it, in order; none of any other file."""
        if self.path.is_dir():
            return sorted(
                file.relative_to(self.path).as_posix()
                for file in self.path.rglob("*")
                if file.is_file() and _is_shown(file.name)
            )
        with self._unpacking():
            if self.head.startswith(b"PK"):
                with zipfile.ZipFile(self.path) as packed:
                    return sorted(
                        one.filename for one in packed.infolist() if not one.is_dir() and _is_shown(one.filename)
                    )
            if b"ustar" in self.head[257:265]:
                with tarfile.open(self.path) as archive:
                    return sorted(one.name.removeprefix("./") for one in self._packed_in(archive))
        return []

    def _packed_in(self, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        """Yield the files of an archive; raise as soon as they are too many or too large."""
        unpacked = 0
        for number, one in enumerate(archive, start=1):
            unpacked += one.size
            self._check_size(number, unpacked)
            if one.isfile() and _is_shown(one.name):
                yield one

    def inside(self, name: str) -> "ExportFile":
        """Return a file of a folder or an archive; archives are unpacked into a temporary folder when first asked."""
        path = self._unpacked / name
        if not path.resolve().is_relative_to(self._unpacked.resolve()) or not path.is_file():
            raise FileError(f"{self.path}: the name {name!r} in the archive leads out of it; export it again.")
        return ExportFile(path, self._delimiter)

    def contents(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Yield the names and the bytes of the files of a folder or an archive, one by one, without unpacking to disk.

        Parameters
        ----------
        wanted : function of str
            Whether a file is read, by its name in the folder.

        Raises
        ------
        FileError
            If the archive is damaged, or a file is larger than 256 MB.
        """
        with self._unpacking():
            if self.kind == "tar":
                with tarfile.open(self.path) as archive:
                    for one in self._packed_in(archive):
                        if wanted(name := one.name.removeprefix("./")):
                            stream = archive.extractfile(one)
                            yield name, b"" if stream is None else self._limited(name, stream, one.size)
            elif self.kind == "zip":
                with zipfile.ZipFile(self.path) as packed:
                    infos = packed.infolist()
                    self._check_size(len(infos), sum(one.file_size for one in infos))
                    for name in filter(wanted, self.members):
                        with packed.open(name) as stream:
                            yield name, self._limited(name, stream, packed.getinfo(name).file_size)
            elif self.kind == "folder":
                for name in filter(wanted, self.members):
                    with (self.path / name).open("rb") as stream:
                        yield name, self._limited(name, stream, os.fstat(stream.fileno()).st_size)

    def _limited(self, name: str, stream: IO[bytes], size: int) -> bytes:
        """Return what a file holds, which may be more than the size that its archive states."""
        content = stream.read(min(size, _LARGEST_PART) + 1)
        if len(content) > min(size, _LARGEST_PART):
            raise FileError(f"{self.path}: {name} is larger than {_LARGEST_PART >> 20} MB, as no file of an export is.")
        return content

    def parts(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
        """Yield the names and the values of the JSON files of a folder or an archive, one by one."""
        for name, content in self.contents(wanted):
            yield name, document(content, f"{self.path}, {name}")

    @cached_property
    def _unpacked(self) -> Path:
        if self.path.is_dir():
            return self.path
        self._scratch = Scratch()
        with self._unpacking():
            if self.kind == "tar":
                with tarfile.open(self.path) as archive:
                    files = list(self._packed_in(archive))
                    archive.extractall(self._scratch.path, files, filter="data")
            else:
                with zipfile.ZipFile(self.path) as packed:
                    self._check_size(len(packed.infolist()), sum(one.file_size for one in packed.infolist()))
                    packed.extractall(self._scratch.path)  # noqa: S202 - zipfile keeps names inside the folder
        return self._scratch.path

    def _check_size(self, members: int, unpacked: int) -> None:
        size = self.path.stat().st_size
        if members > _MOST_MEMBERS or (unpacked > _MOST_UNPACKED and unpacked > _MOST_RATIO * size):
            raise FileError(
                f"{self.path} holds {members:,} files of {unpacked:,} bytes in {size:,} bytes, as no export does; "
                "unpack it and name the folder, if it is one."
            )

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise FileError(f"{self.path} is a damaged or locked archive ({error}); export it again.") from None
        except OSError as error:
            raise FileError(f"{self.path} cannot be unpacked: {error.strerror or error}.") from None

    @cached_property
    def first(self) -> list[Record]:
        """The first records, up to where the file is damaged; none where there are no records."""
        found: list[Record] = []
        if self.kind == "table":  # its reader looks through the whole file for quotes that are not closed
            names, *rest = self.first_cells(_FIRST_RECORDS + 1) or [[]]
            return [dict(zip(map(str, names), row, strict=False)) for row in rest or [[None] * len(names)]]
        try:
            for record in islice(self.records(), _FIRST_RECORDS):
                found.append(record)  # noqa: PERF402 - what was read before the damage is kept
        except FileError:
            if not found:
                raise
        return found

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names in the first records, or in an object of JSON."""
        found = [self.whole] if self.kind == "object" else self.first
        return frozenset(name for record in found for name in record)

    @property
    def is_text(self) -> bool:
        """Whether values have no types: columns of plain integers then become integers."""
        packed = self.members if self.holds_files else ()
        return self.kind == "table" or (bool(packed) and all(name.endswith((".csv", ".tsv")) for name in packed))

    def records(self) -> Iterator[Record]:
        """Yield the rows of a table, or the objects of a JSON array or of JSON lines, as names to values.

        Missing cells of a text file are None.
        """
        kind = self.kind
        if kind == "json":
            yield from items(self.path)
        elif kind == "jsonl":
            yield from lines(self.path)
        elif kind == "xlsx":
            yield from sheet_rows(self.path)
        elif kind == "parquet":
            with explained(self.path), pa.parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(_ROWS_AT_ONCE):
                    yield from batch.to_pylist()
        elif kind == "table":
            source = self.text_source()
            names = source.header()
            if len(set(names)) < len(names):
                again = next(name for name in names if names.count(name) > 1)
                raise FileError(f"{self.path}: column {again!r} occurs {names.count(again)} times; keep one.")
            for block in source.blocks(names):
                for start in range(0, block.num_rows, _ROWS_AT_ONCE):
                    yield from block.slice(start, _ROWS_AT_ONCE).to_pylist()

    def check_not_empty(self) -> None:
        """Raise if it is a JSON array of nothing."""
        if self.kind == "json" and next(iter(self.records()), None) is None:
            raise FileError(f"{self.path} is an empty JSON array; export it again.")

    def first_cells(self, n_rows: int) -> list[Sequence[object]]:
        """Return the first rows of a text file with columns, as lists of cells."""
        text = self.head.decode("utf-8", "replace")
        if len(self.head) > _HEAD_BYTES - 4 and "\n" in text:
            text = text[: text.rindex("\n")]
        return list(islice(_cells(io.StringIO(text, newline=""), self.text_source()), n_rows))

    def cells(self) -> Iterator[Sequence[object]]:
        """Yield the rows of a table without a header, as lists of cells; blank cells are None."""
        if self.kind == "xlsx":
            yield from sheet_cells(self.path)
            return
        source = self.text_source()
        with explained(self.path), source.open() as stream:
            yield from _cells(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), source)

    def text_source(self) -> Source:
        """Return a text file with columns as a source of its format."""
        line = self.head.lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
        found = max(_DELIMITERS, key=line.count)
        delimiter = self._delimiter or (found if line.count(found) > line.count(",") else ",")
        delimiter = {"\\t": "\t"}.get(delimiter, delimiter)
        return Source(self.path, TSV if delimiter == "\t" else CSV, delimiter)

    @cached_property
    def document(self) -> Any:
        """The whole of a JSON file."""
        with explained(self.path), open_file(self.path) as stream:
            return document(stream.read(), str(self.path))

    @cached_property
    def whole(self) -> Record:
        """The one object that a JSON file is, also if it is written in one line; an empty one for any other file."""
        if self.kind == "object":
            return self.document if isinstance(self.document, dict) else {}
        lines_of = list(islice(self.records(), 2)) if self.kind == "jsonl" else []
        return lines_of[0] if len(lines_of) == 1 else {}

    def open(self) -> IO[bytes] | pa.NativeFile:
        """Open a file as a stream of bytes, decompressed."""
        return open_file(self.path)

    @property
    def stem(self) -> str:
        """The name of the file without its endings."""
        name = self.path.name
        for ending in COMPRESSIONS:
            name = name.removesuffix(ending)
        return Path(name).stem


def _cells(text: TextIO, source: Source) -> Iterator[Sequence[object]]:
    try:
        for row in csv.reader(text, delimiter=str(source.delimiter)):
            if any(cell.strip() for cell in row):
                yield [None if cell.strip() in MISSING else cell.strip() for cell in row]
    except (csv.Error, TypeError) as error:
        raise FileError(f"{source.path} cannot be read: {error}.") from None


def _is_shown(name: str) -> bool:
    """Return whether a file is no hidden one, such as those that macOS adds to archives."""
    return not PurePosixPath(name).name.startswith(".")
