"""JSON lines to columns: by Arrow where it keeps every value as written, else line by line."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from faircrowd.errors import FileError, MissingColumnError
from faircrowd.votes.vocabulary import as_objects

__all__ = ["json_names", "read_json"]

_SAMPLE = 1000
"""So many records are searched for names of fields: one record may lack some."""


def json_names(path: Path, head: bytes, *, is_whole: bool) -> list[str]:
    """Return the fields of the records in the head of a file, in the order in which they appear."""
    text = head.decode("utf-8-sig", "strict" if is_whole else "ignore")  # a cut may fall inside a character
    lines = text.split("\n")
    if not is_whole and len(lines) > 1:
        lines.pop()
    records = list(islice(_records(path, lines), _SAMPLE))
    if is_whole and not records:
        raise FileError(f"{path} has no rows; at least one line with a JSON object is needed.")
    return list(dict.fromkeys(name for record in records for name in record))


def read_json(path: Path, opened: Callable[[], Any], columns: Sequence[str], block: int) -> dict[str, Any]:
    """Read some columns of a file of JSON lines."""
    try:
        with opened() as stream:
            table = pa.json.read_json(stream, pa.json.ReadOptions(block_size=block))
        if set(columns) <= set(table.column_names) and all(_kept(table.schema.field(name).type) for name in columns):
            found = {name: table.column(name) for name in columns}
            for column in found.values():
                column.validate(full=True)  # Arrow takes JSON texts unseen, UTF-8 or not
            return found
    except pa.ArrowException:
        pass  # values of mixed types, or a line that is no object: line by line says which
    with opened() as stream:
        records = list(_records(path, stream.read().decode("utf-8-sig").split("\n")))
    for name in columns:
        if not any(name in record for record in records):
            raise MissingColumnError(f"{path}: no line has the field {name!r}.")
    return {name: as_objects([record.get(name) for record in records]) for name in columns}


def _kept(kind: pa.DataType) -> bool:
    """Whether Arrow keeps values as written: it makes times of texts, and floats of large integers."""
    return not (pa.types.is_timestamp(kind) or pa.types.is_floating(kind))


def _records(path: Path, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # no JSON, a number of 5,000 digits, a deep nest
            raise FileError(f"{path}, line {number}: not JSON ({getattr(error, 'msg', error)}).") from None
        if not isinstance(record, dict):
            raise FileError(f'{path}, line {number}: not a JSON object such as {{"task": 1, ...}}.')
        yield record
