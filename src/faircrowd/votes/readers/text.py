"""CSV and TSV: text with a header and one row per line.

Ids and labels come back as they were written. Such a file has no types, so its columns are read as text; a column
of which every value is an integer written plainly (``7``, ``-3``, not ``007`` or ``1.0``) becomes integers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from faircrowd.errors import FileError, OptionError
from faircrowd.votes.readers.quotes import check_quotes, watched_quotes
from faircrowd.votes.readers.reader import Columns, Reader, Source, SparkFormat
from faircrowd.votes.readers.shared import BLOCK_BYTES, MISSING, read_head

__all__ = ["CSV", "MAX_COLUMNS", "TSV"]

MAX_COLUMNS = 10_000
"""A file with more columns is refused."""


@dataclass(frozen=True)
class _Delimited:
    """Text whose columns are separated by one character."""

    delimiter: str

    def header(self, source: Source) -> list[str]:
        parsing = self._parsing(source)
        _check_width(source, read_head(source.path), parsing.delimiter)
        try:
            with source.open() as stream:
                names = list(pa.csv.open_csv(stream, _blocked(threads=False), parsing).schema.names)
        except pa.ArrowInvalid:
            self.check(source)
            raise
        if any("\n" in name or "\r" in name for name in names):
            self.check(source)
        return names

    def columns(self, source: Source, names: Sequence[str]) -> Columns:
        convert = _converting(names)
        try:
            with watched_quotes(source, self._delimiter_of(source)), source.open() as stream:
                table = pa.csv.read_csv(stream, _blocked(threads=True), self._parsing(source), convert)
        except pa.ArrowInvalid:  # one thread knows the number of the row
            with source.open() as stream:
                table = pa.csv.read_csv(stream, _blocked(threads=False), self._parsing(source), convert)
        return {name: table.column(name) for name in names}

    def blocks(self, source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with watched_quotes(source, self._delimiter_of(source)), source.open() as stream:
            convert = _converting(names)
            blocks = pa.csv.open_csv(stream, _blocked(threads=True), self._parsing(source), convert)
            yield pa.RecordBatch.from_pylist([], schema=blocks.schema)
            yield from blocks

    def check(self, source: Source) -> None:
        check_quotes(source, self._delimiter_of(source))

    def _delimiter_of(self, source: Source) -> str:
        given = source.delimiter
        delimiter = self.delimiter if given is None else {"\\t": "\t"}.get(given, given)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise OptionError(f"delimiter={delimiter!r} must be one plain character, such as ',', ';', '|' or '\\t'.")
        return delimiter

    def _parsing(self, source: Source) -> "pa.csv.ParseOptions":
        return pa.csv.ParseOptions(delimiter=self._delimiter_of(source), newlines_in_values=True)


def _check_width(source: Source, head: bytes, delimiter: str) -> None:
    """Raise if the first line has more columns than a table of votes or tasks has: to parse them takes very long."""
    line = re.split(rb"[\r\n]", head.lstrip(b"\r\n"), maxsplit=1)[0]
    columns = line.count(delimiter.encode()) + 1
    if columns > MAX_COLUMNS:
        raise FileError(
            f"{source.path}: the first line has {columns:,} columns, and at most {MAX_COLUMNS:,} are read. Give one "
            f"row per vote or task; if the columns are not separated by {delimiter!r}, give delimiter=..."
        )


def _blocked(*, threads: bool) -> "pa.csv.ReadOptions":
    return pa.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=threads)


def _converting(names: Sequence[str]) -> "pa.csv.ConvertOptions":
    return pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=list(names),
        null_values=list(MISSING),
        strings_can_be_null=True,
    )


def _reader(name: str, delimiter: str, help: str) -> Reader:
    text = _Delimited(delimiter)
    return Reader(
        name,
        (f".{name}",),
        help,
        header=text.header,
        columns=text.columns,
        blocks=text.blocks,
        check=text.check,
        spark=SparkFormat("csv", {"header": True, "sep": delimiter, "multiLine": True, "escape": '"'}),
        is_untyped=True,
    )


CSV = _reader("csv", ",", "text with a header, columns separated by commas")
TSV = _reader("tsv", "\t", "text with a header, columns separated by tabs")
