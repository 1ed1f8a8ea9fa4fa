"""JSON lines: one object per line. Arrow reads them where it keeps every value as written, else Python line by line."""

import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from faircrowd.errors import FileError, MissingColumnError
from faircrowd.votes.lookup import is_missing
from faircrowd.votes.readers.reader import Columns, Reader, Source, SparkFormat
from faircrowd.votes.readers.shared import BLOCK_BYTES, MixedValues, read_head
from faircrowd.votes.vocabulary import as_objects

__all__ = ["JSONL", "json_records"]

_RECORDS_FOR_HEADER = 1000
"""How many records are searched for names of fields: one record may lack some."""


def _header(source: Source) -> list[str]:
    """Return the fields of the first records, in the order in which they appear."""
    head = read_head(source.path)
    is_complete = len(head) < BLOCK_BYTES
    text = head.decode("utf-8-sig", "strict" if is_complete else "ignore")  # a cut may fall inside a character
    lines = text.split("\n")
    if not is_complete and len(lines) > 1:
        lines.pop()
    records = list(islice(_records(source.path, lines), _RECORDS_FOR_HEADER))
    if is_complete and not records:
        raise FileError(f"{source.path} has no rows; at least one line with a JSON object is needed.")
    return list(dict.fromkeys(name for record in records for name in record))


def _columns(source: Source, names: Sequence[str]) -> Columns:
    try:
        with source.open() as stream:
            table = pa.json.read_json(stream, pa.json.ReadOptions(block_size=BLOCK_BYTES))
        if set(names) <= set(table.column_names) and all(_is_kept(table.schema.field(name).type) for name in names):
            found = {name: table.column(name) for name in names}
            for column in found.values():
                column.validate(full=True)  # Arrow does not check whether JSON texts are UTF-8
            return found
    except pa.ArrowException:
        pass  # values of mixed types, or a line that is not an object: line by line, the message names the line
    with source.open() as stream:
        records = list(_records(source.path, stream.read().decode("utf-8-sig").split("\n")))
    for name in names:
        _check_found(source.path, name, any(name in record for record in records))
    return {name: as_objects([record.get(name) for record in records]) for name in names}


def _is_kept(kind: pa.DataType) -> bool:
    """Return whether Arrow keeps values as written: it turns texts into times, and large integers into floats."""
    return not (pa.types.is_timestamp(kind) or pa.types.is_floating(kind))


def _records(path: Path, lines: Sequence[str], first: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the objects of lines, of which the first has this number."""
    for number, line in enumerate(lines, start=first):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # not JSON, a number of 5,000 digits, deep nesting
            raise FileError(f"{path}, line {number}: not JSON ({getattr(error, 'msg', error)}).") from None
        if not isinstance(record, dict):
            raise FileError(f'{path}, line {number}: not a JSON object such as {{"task": 1, ...}}.')
        yield record


def json_records(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, a block of lines at a time."""
    for records in _blocks_of_records(source):
        yield from records


def _blocks_of_records(source: Source) -> Iterator[Iterator[dict[str, Any]]]:
    first = 1
    for lines in _blocks_of_lines(source):
        yield _records(source.path, lines.decode("utf-8-sig" if first == 1 else "utf-8").split("\n"), first)
        first += lines.count(b"\n")


def _blocks(source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield blocks; the types of the first block hold for all, and values of other types are read as JSON texts."""
    parse = pa.json.ParseOptions()
    for lines in _blocks_of_lines(source):
        try:
            table = pa.json.read_json(io.BytesIO(lines), pa.json.ReadOptions(block_size=2 * BLOCK_BYTES), parse)
            table = table.select(list(names))
            table.validate(full=True)  # Arrow does not check whether JSON texts are UTF-8
        except (pa.ArrowInvalid, KeyError):
            raise MixedValues from None
        for field in table.schema:
            if not (
                pa.types.is_string(field.type) or pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
            ):
                raise MixedValues
        parse = pa.json.ParseOptions(explicit_schema=table.schema, unexpected_field_behavior="ignore")
        yield from table.to_batches()


def _json_blocks(source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield blocks of JSON texts, each value written in one way; what is missing is null."""
    found = set[str]()
    schema = pa.schema([(name, pa.string()) for name in names])
    yield pa.RecordBatch.from_pylist([], schema=schema)
    for records in map(list, _blocks_of_records(source)):
        found.update(name for name in names if any(name in record for record in records))
        columns = [[_json_text(record.get(name)) for record in records] for name in names]
        yield pa.RecordBatch.from_arrays([pa.array(column, type=pa.string()) for column in columns], schema=schema)
    for name in names:
        _check_found(source.path, name, name in found)


def _json_text(value: object) -> str | None:
    return None if is_missing(value) else json.dumps(value)


def _check_found(path: Path, name: str, is_found: bool) -> None:
    if not is_found:
        raise MissingColumnError(f"{path}: no line has the field {name!r}.")


def _blocks_of_lines(source: Source) -> Iterator[bytes]:
    rest = b""
    with source.open() as stream:
        while more := stream.read(BLOCK_BYTES):
            lines = rest + more
            cut = lines.rfind(b"\n") + 1
            rest = lines[cut:]
            if lines[:cut].strip():
                yield lines[:cut]
    if rest.strip():
        yield rest


JSONL = Reader(
    "jsonl",
    (".jsonl", ".ndjson"),
    "JSON lines: one object per line",
    header=_header,
    columns=_columns,
    blocks=_blocks,
    json_blocks=_json_blocks,
    spark=SparkFormat("json", endings=(".json",)),
)
