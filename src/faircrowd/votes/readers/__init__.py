"""Formats of files: one module per format, all registered here and read alike by every engine.

Read in this order: ``reader`` (what a format is), ``text`` (CSV and TSV), ``jsonl``, ``parquet``, ``shared`` (paths,
compression, types of text cells, wording of errors). A new format is a module that defines a :class:`Reader`, and its
name in the line at the end of this file; memory, stream and Spark then read it, and messages list it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from faircrowd._checks import check_choice
from faircrowd.errors import FileError, OptionError
from faircrowd.votes.readers.jsonl import JSONL
from faircrowd.votes.readers.parquet import PARQUET
from faircrowd.votes.readers.reader import Columns, Reader, Source, SparkFormat
from faircrowd.votes.readers.shared import COMPRESSIONS, checked_path, ending_of
from faircrowd.votes.readers.text import CSV, TSV

__all__ = [
    "READERS",
    "Columns",
    "Reader",
    "Source",
    "SparkFormat",
    "find_reader",
    "open_source",
    "read_columns",
    "read_header",
    "reader_of",
    "register",
]

READERS: dict[str, Reader] = {}
"""All formats by name."""


def register(reader: Reader) -> None:
    """Add a format; raise if its name or one of its endings belongs to another."""
    taken = {ending for other in READERS.values() for ending in other.endings} & {*reader.endings}
    if reader.name in READERS or taken:
        raise OptionError(f"There is a format already for {', '.join(sorted(taken)) or repr(reader.name)}.")
    READERS[reader.name] = reader


def find_reader(path: str | os.PathLike[str], format: str | None = None) -> Reader | None:
    """Return the format of a file, None if it is not known: the one named, by content, or by the file's ending."""
    path = Path(path)
    if format is not None:
        check_choice("format", format, tuple(READERS))
        return READERS[format]
    for reader in READERS.values():
        if reader.recognises is not None and path.exists() and reader.recognises(path):
            return reader
    ending, is_compressed = ending_of(path)
    known = (reader for reader in READERS.values() if ending in reader.endings)
    return next((reader for reader in known if reader.is_compressible or not is_compressed), None)


def reader_of(path: str | os.PathLike[str], format: str | None = None) -> Reader:
    """Return the format of a file, as :func:`find_reader`; raise if it is not known, and list those that are."""
    found = find_reader(path, format)
    if found is not None:
        return found
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it.")
    plain, packed = (
        ", ".join(ending for reader in READERS.values() if reader.is_compressible is kind for ending in reader.endings)
        for kind in (False, True)
    )
    raise FileError(
        f"{path}: the ending {path.suffix or '(none)'!r} is not known; use {packed} (each also with "
        f"{', '.join(COMPRESSIONS)}), {plain}."
    )


def open_source(path: str | os.PathLike[str], *, format: str | None = None, delimiter: str | None = None) -> Source:
    """Return a file as a source to read.

    Parameters
    ----------
    path : path
    format : str, optional
        The name of a format of :data:`READERS`; by default the file's content or ending decides.
    delimiter : str, optional
        The separator of a text file, if it is not the usual one of its format.

    Raises
    ------
    FileError
        If there is no such file, or its format is not known.
    """
    path = checked_path(path)
    return Source(path, reader_of(path, format), delimiter)


def read_header(path: str | os.PathLike[str], *, format: str | None = None, delimiter: str | None = None) -> list[str]:
    """Return the names of a file's columns."""
    return open_source(path, format=format, delimiter=delimiter).header()


def read_columns(
    path: str | os.PathLike[str], columns: Sequence[str], *, format: str | None = None, delimiter: str | None = None
) -> Columns:
    """Read some columns of a file, each ready for :func:`faircrowd.votes.encode.encode`."""
    return open_source(path, format=format, delimiter=delimiter).columns(columns)


for _reader in (CSV, TSV, JSONL, PARQUET):
    register(_reader)
