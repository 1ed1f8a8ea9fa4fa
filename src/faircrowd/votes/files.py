"""Tables in files: CSV, TSV, JSON lines (each also compressed) and Parquet, to Arrow.

Ids and labels come back as they were written. A CSV file has no types, so its columns are read as text; a
column of which every distinct value is a whole number written plainly (``7``, ``-3``, not ``007`` or ``1.0``)
becomes integers.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from faircrowd._checks import suggestion
from faircrowd.errors import FileError, InputError, MissingColumnError
from faircrowd.votes.vocabulary import as_objects

__all__ = ["MISSING", "read_columns", "read_header"]

MISSING = ("", "NaN", "nan", "<NA>")
"""Cells of a text file that stand for a missing value."""

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".zst")
_BLOCK = 1 << 24


def _kind(path: Path) -> str:
    ending = path.suffixes[-2:] if path.suffix in _COMPRESSED else path.suffixes[-1:]
    kind = ending[0].lower() if ending else ""
    if kind in (*_DELIMITERS, *_JSON) or (kind in _PARQUET and path.suffix not in _COMPRESSED):
        return kind
    raise FileError(
        f"{path}: the ending {path.suffix or '(none)'!r} is not known; "
        "use .csv, .tsv, .jsonl (also with .gz) or .parquet."
    )


def _checked(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        folder = path.parent if str(path.parent) else Path()
        near = [other.name for other in folder.iterdir()] if folder.is_dir() else []
        raise FileError(f"There is no file {path}.{suggestion(path.name, near)}")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty (0 bytes); a header and at least one row are needed.")
    return path


def read_header(path: str | os.PathLike[str], *, delimiter: str | None = None) -> list[str]:
    """Return the names of a file's columns."""
    path = _checked(path)
    kind = _kind(path)
    with _explained(path):
        if kind in _PARQUET:
            return list(pa.parquet.read_schema(path).names)
        if kind in _JSON:
            with pa.input_stream(str(path)) as stream:
                head = stream.read(_BLOCK).decode("utf-8-sig", "replace")
            first = next((line for line in head.splitlines() if line.strip()), "{}")
            record = json.loads(first)
            if not isinstance(record, dict):
                raise FileError(f'{path}: line 1 is not a JSON object such as {{"task": 1, ...}}.')
            return list(record)
        with pa.input_stream(str(path)) as stream:
            options = pa.csv.ReadOptions(block_size=_BLOCK)
            reader = pa.csv.open_csv(stream, options, _parse(kind, delimiter))
            return list(reader.schema.names)


def read_columns(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, *, delimiter: str | None = None
) -> dict[str, Any]:
    """Read some columns of a file (all by default), each ready for ``encode``."""
    path = _checked(path)
    kind = _kind(path)
    with _explained(path):
        if kind in _PARQUET:
            table = pa.parquet.read_table(path, columns=None if columns is None else list(columns))
            return {name: table.column(name) for name in table.column_names}
        if kind in _JSON:
            return _read_json(path, columns)
        names = read_header(path, delimiter=delimiter) if columns is None else list(columns)
        convert = pa.csv.ConvertOptions(
            column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in names},
            include_columns=names,
            null_values=list(MISSING),
            strings_can_be_null=True,
        )
        with pa.input_stream(str(path)) as stream:
            options = pa.csv.ReadOptions(block_size=_BLOCK)
            table = pa.csv.read_csv(stream, options, _parse(kind, delimiter), convert)
    return {name: _typed(table.column(name)) for name in names}


def _parse(kind: str, delimiter: str | None) -> "pa.csv.ParseOptions":
    return pa.csv.ParseOptions(delimiter=delimiter or _DELIMITERS[kind], newlines_in_values=True)


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn a column of text into integers if every value is written as a plain integer."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return column
    texts = column.chunk(0).dictionary
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")).as_py():
        return column
    numbers = texts.cast(pa.int64())
    chunks = [numbers.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=pa.int64())


def _read_json(path: Path, columns: Sequence[str] | None) -> dict[str, Any]:
    try:
        with pa.input_stream(str(path)) as stream:
            table = pa.json.read_json(stream, pa.json.ReadOptions(block_size=_BLOCK))
        missing = [name for name in columns or () if name not in table.column_names]
        if not missing and not any(pa.types.is_timestamp(kind) for kind in table.schema.types):
            return {name: table.column(name) for name in columns or table.column_names}
    except pa.ArrowInvalid:
        pass  # values of mixed types, or a line that is no object: line by line says which
    records = []
    with pa.input_stream(str(path)) as stream:
        text = stream.read().decode("utf-8-sig")
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise FileError(f"{path}, line {number}: not JSON ({error.msg}).") from None
        if not isinstance(record, dict):
            raise FileError(f'{path}, line {number}: not a JSON object such as {{"task": 1, ...}}.')
        records.append(record)
    names = list(columns) if columns is not None else sorted({name for record in records for name in record})
    for name in names:
        if not any(name in record for record in records):
            raise MissingColumnError(f"{path}: no line has the field {name!r}.")
    return {name: as_objects([record.get(name) for record in records]) for name in names}


class _explained:  # noqa: N801 - reads as a word in `with _explained(path)`
    """Turn what Arrow says of a broken file into one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, InputError):
            return
        text = str(error).replace("\n", " ").strip()
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            raise FileError(f"{self.path} is not UTF-8 text; save it as UTF-8 (for example with iconv).") from None
        if isinstance(error, pa.ArrowInvalid | pa.ArrowKeyError | OSError | EOFError | json.JSONDecodeError):
            if "straddling object" in text or "block size" in text.lower():
                text = f"a row is longer than {_BLOCK >> 20} MB, or a quote is not closed"
            raise FileError(f"{self.path} cannot be read: {text[:300]}") from None
