"""Tables in files: CSV, TSV, JSON lines (each also compressed) and Parquet, to Arrow.

Ids and labels come back as they were written. A CSV file has no types, so its columns are read as text; a
column of which every distinct value is a whole number written plainly (``7``, ``-3``, not ``007`` or ``1.0``)
becomes integers.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from faircrowd._checks import check_path, few, suggestion
from faircrowd.errors import FileError, OptionError
from faircrowd.votes.readers.jsonl import json_names, read_json

__all__ = ["MISSING", "read_columns", "read_header"]

MISSING = ("", "NaN", "nan", "<NA>")
"""Cells of a text file that stand for a missing value."""

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCK = 1 << 24


def read_header(path: str | os.PathLike[str], *, delimiter: str | None = None) -> list[str]:
    """Return the names of a file's columns."""
    path = _checked(path)
    kind = _kind(path)
    with _explained(path):
        if kind in _PARQUET:
            return list(pa.parquet.read_schema(path).names)
        with _opened(path) as stream:
            head = stream.read(_BLOCK)
        if b"\0" in head:
            raise FileError(f"{path} holds NUL bytes; it is no text, or UTF-16: save it as UTF-8.")
        if kind in _JSON:
            return json_names(path, head, is_whole=len(head) < _BLOCK)
        with _opened(path) as stream:
            return list(pa.csv.open_csv(stream, _options(threads=False), _parse(kind, delimiter)).schema.names)


def read_columns(
    path: str | os.PathLike[str], columns: Sequence[str], *, delimiter: str | None = None
) -> dict[str, Any]:
    """Read some columns of a file, each ready for ``encode``."""
    path = _checked(path)
    kind = _kind(path)
    names = list(dict.fromkeys(columns))
    with _explained(path):
        if kind in _PARQUET:
            table = pa.parquet.read_table(path, columns=names)
            return {name: table.column(name) for name in names}
        if kind in _JSON:
            return read_json(path, lambda: _opened(path), names, _BLOCK)
        try:
            table = _read_text(path, names, _parse(kind, delimiter), threads=True)
        except pa.ArrowInvalid:  # one thread knows the number of the row
            table = _read_text(path, names, _parse(kind, delimiter), threads=False)
        return {name: _typed(path, name, table.column(name)) for name in names}


def _kind(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    kind = "".join(endings[-2:-1] if endings and endings[-1] in _COMPRESSED else endings[-1:])
    if kind in (*_DELIMITERS, *_JSON) or (kind in _PARQUET and kind == endings[-1]):
        return kind
    raise FileError(
        f"{path}: the ending {path.suffix or '(none)'!r} is not known; "
        "use .csv, .tsv, .jsonl (also with .gz) or .parquet."
    )


def _checked(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    check_path(path)
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError, ValueError):
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileError(f"There is no file {path}.{suggestion(path.name, near)}") from None
    except OSError as error:
        raise FileError(f"{few([str(path)])} cannot be read: {error.strerror}.") from None
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it.")
    if not path.is_file():
        raise FileError(f"{path} is a pipe or a device; votes are read twice, so save them in a file.")
    if size == 0:
        raise FileError(f"{path} is empty (0 bytes); a header and at least one row are needed.")
    return path


def _opened(path: Path) -> Any:
    return pa.input_stream(str(path), compression=_COMPRESSED.get(path.suffix.lower()))


def _read_text(path: Path, names: list[str], parse: "pa.csv.ParseOptions", *, threads: bool) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in names},
        include_columns=names,
        null_values=list(MISSING),
        strings_can_be_null=True,
    )
    with _opened(path) as stream:
        return pa.csv.read_csv(stream, _options(threads=threads), parse, convert)


def _options(*, threads: bool) -> "pa.csv.ReadOptions":
    return pa.csv.ReadOptions(block_size=_BLOCK, use_threads=threads)


def _parse(kind: str, delimiter: str | None) -> "pa.csv.ParseOptions":
    delimiter = _DELIMITERS[kind] if delimiter is None else {"\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise OptionError(f"delimiter={delimiter!r} must be one plain character, such as ',', ';', '|' or '\\t'.")
    return pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _typed(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn a column of text into integers if every value is written as a plain integer."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return column
    texts = column.chunk(0).dictionary
    if pc.any(pc.match_substring(texts, "\0")).as_py():
        raise FileError(f"{path}: column {name!r} holds NUL bytes; remove them, or save the file anew.")
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")).as_py():
        return column
    numbers = texts.cast(pa.int64())
    chunks = [numbers.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=pa.int64())


class _explained:  # noqa: N801 - reads as a word in `with _explained(path)`
    """Turn what Arrow says of a broken file into one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        text = " ".join(str(error).split())
        if isinstance(error, UnicodeDecodeError) or (isinstance(error, pa.ArrowException) and "UTF8" in text):
            raise FileError(f"{self.path} is not UTF-8 text; save it as UTF-8 (for example with iconv).") from None
        if isinstance(error, pa.ArrowException | OSError) and not isinstance(error, MemoryError):
            if "Empty CSV" in text:
                text = "it has no rows; a header and at least one row are needed"
            elif "straddling object" in text or "block size" in text.lower():
                text = f"a row is longer than {_BLOCK >> 20} MB, or a quote is not closed"
            raise FileError(f"{self.path} cannot be read: {text[:300]}") from None
