"""What a format is (:class:`Reader`), and a file that is read in it (:class:`Source`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from faircrowd.errors import FileError, InputError
from faircrowd.votes.readers.shared import explained, open_file, plain_integers
from faircrowd.votes.vocabulary import Column

if TYPE_CHECKING:
    from faircrowd.votes.exports.questions import AnswerOptions

__all__ = ["Columns", "Reader", "Source", "SparkFormat"]

Columns: TypeAlias = dict[str, Column]
"""Columns of a table by name, all of one length: Arrow, or an array of Python objects for values of mixed types."""


@dataclass(frozen=True)
class SparkFormat:
    """How Spark itself reads a format.

    Attributes
    ----------
    format : str
        The name of Spark's data source: ``csv``, ``json``, ``parquet``.
    options : mapping
        Options of that data source. A ``sep`` is replaced by the delimiter that the user gives.
    endings : tuple of str
        Endings that mean this format in Spark alone.
    """

    format: str
    options: Mapping[str, str | bool] = field(default_factory=dict)
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A format of files of votes (or of tasks). All functions take the :class:`Source` to read.

    A row is a vote. A file that also describes the tasks gives what it knows of a task as further columns, repeated
    in each of the task's rows; groups and true labels are then found there by name.

    Attributes
    ----------
    name : str
        What users call the format, as in ``read_votes(path, format="csv")``.
    endings : tuple of str
        Endings of file names, in lower case with the dot; may be empty for a format known by its content alone.
    help : str
        The format in one line.
    header : function of a source
        Returns the names of the columns.
    columns : function of a source and names
        Returns these columns.
    blocks : function of a source and names, optional
        Yields the same rows as record batches of one schema, at least one, for the engine that streams. A format
        without it is read whole by ``columns`` there too.
    json_blocks : function of a source and names, optional
        Yields the same rows with every value as JSON text, null where it is missing. It is asked where ``blocks``
        raises :class:`~faircrowd.votes.readers.shared.MixedValues`: no one type holds all values of a column.
    recognises : function of a path, optional
        Returns whether a file (or a folder) is in this format, by its content. It is asked before endings count, so
        it must be quick, and false for anything that it does not know.
    left_out : function of a source, optional
        Returns the number of rows that the reader leaves out, by reason; they are reported with the votes.
    roles : function of a source and of the columns of task, worker and label that users have named, optional
        Returns these with those filled in that the reader knows; raises if users have to choose.
    fact_names : function of a source, optional
        Returns the columns that are facts about tasks.
    notes : function of a source, optional
        Returns what users should know about how the file was read, one line each.
    check_name : function of a source and a name, optional
        Raises if a column of this name was left out on purpose.
    check : function of a source, optional
        Raises if the file is damaged in a way that Spark would not notice; ``columns`` and ``blocks`` notice it.
    count_rows : function of a source, optional
        Returns the number of rows where the file states it, without reading them.
    spark : SparkFormat, optional
        How Spark reads the format. Without it, ``columns`` reads on the driver.
    is_untyped : bool
        Whether all cells are texts (null where they stand for a missing value). In every engine, a column of which
        all values are plainly written integers then becomes integers.
    is_compressible : bool
        Whether a file may be compressed as a whole (``.gz``, ``.bz2``, ``.zst``).
    is_parquet : bool
        Whether the engine that streams can read the file where it is, without a copy.
    takes_folders : bool
        Whether a folder may be read.
    is_export : bool
        Whether the file is an export of a platform, which may also be its own table of tasks.
    """

    name: str
    endings: tuple[str, ...]
    help: str
    header: Callable[["Source"], list[str]]
    columns: Callable[["Source", Sequence[str]], Columns]
    blocks: Callable[["Source", Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    json_blocks: Callable[["Source", Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    recognises: Callable[[Path], bool] | None = None
    left_out: Callable[["Source"], dict[str, int]] | None = None
    roles: Callable[["Source", Mapping[str, str | None]], Mapping[str, str | None]] | None = None
    fact_names: Callable[["Source"], list[str]] | None = None
    notes: Callable[["Source"], list[str]] | None = None
    check_name: Callable[["Source", str], None] | None = None
    check: Callable[["Source"], None] | None = None
    count_rows: Callable[["Source"], int] | None = None
    spark: SparkFormat | None = None
    is_untyped: bool = False
    is_compressible: bool = True
    is_parquet: bool = False
    takes_folders: bool = False
    is_export: bool = False


@dataclass(frozen=True)
class Source:
    """A file, the format it is read in, and the options of that format.

    Attributes
    ----------
    path : Path
    reader : Reader
    delimiter : str, optional
        The separator of columns in a text file, in place of the usual one.
    answers : AnswerOptions, optional
        How the answers of an export become votes.
    """

    path: Path
    reader: Reader
    delimiter: str | None = None
    answers: "AnswerOptions | None" = None

    def __post_init__(self) -> None:
        if self.path.is_dir() and not self.reader.takes_folders:
            raise FileError(f"{self.path} is a folder; name a file in it.")

    def header(self) -> list[str]:
        """Return the names of the columns."""
        with explained(self.path):
            return self.reader.header(self)

    def columns(self, names: Sequence[str]) -> Columns:
        """Return some columns, each ready for :func:`faircrowd.votes.encode.encode`."""
        names = list(dict.fromkeys(names))
        with explained(self.path):
            found = self.reader.columns(self, names)
        return {name: self.typed(name, found.pop(name)) for name in names}  # few columns exist twice

    def blocks(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns as record batches; the texts of a file without types stay texts."""
        names = list(dict.fromkeys(names))
        with explained(self.path):
            if self.reader.blocks is not None:
                yield from self.reader.blocks(self, names)
            else:
                table = _arrow_table(self, self.reader.columns(self, names))
                yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]

    def json_blocks(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns as record batches of JSON texts."""
        assert self.reader.json_blocks is not None  # noqa: S101 - only such a reader raises MixedValues
        with explained(self.path):
            yield from self.reader.json_blocks(self, list(dict.fromkeys(names)))

    def typed(self, name: str, column: Column) -> Column:
        """Return a column of the file with its final type."""
        return plain_integers(self.path, name, column) if self.reader.is_untyped else column

    def left_out(self) -> dict[str, int]:
        """Return the number of rows that the reader leaves out, by reason."""
        return {} if self.reader.left_out is None else self.reader.left_out(self)

    def roles(self, named: Mapping[str, str | None]) -> Mapping[str, str | None]:
        """Return the columns of task, worker and label that users have named, or the reader knows."""
        with explained(self.path):
            return named if self.reader.roles is None else self.reader.roles(self, named)

    def fact_names(self) -> list[str]:
        """Return the columns that are facts about tasks."""
        return [] if self.reader.fact_names is None else self.reader.fact_names(self)

    def notes(self) -> list[str]:
        """Return what users should know about how the file was read."""
        return [] if self.reader.notes is None else self.reader.notes(self)

    def check_name(self, name: str) -> None:
        """Raise if a column of this name was left out on purpose."""
        if self.reader.check_name is not None:
            self.reader.check_name(self, name)

    def open(self) -> pa.NativeFile:
        """Open the file as a stream of bytes, decompressed."""
        return open_file(self.path)


def _arrow_table(source: Source, columns: Columns) -> pa.Table:
    try:
        return pa.table(columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(
            f"{source.path}: a column holds values of mixed types; read it in memory (engine='memory')."
        ) from None
