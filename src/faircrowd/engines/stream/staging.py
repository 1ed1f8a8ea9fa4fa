"""Files of votes as Parquet, block by block: DuckDB then sees the values that the readers in memory see."""

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from faircrowd.errors import InputError
from faircrowd.votes.readers.files import (
    _BLOCK,
    _JSON,
    _PARQUET,
    MISSING,
    _checked,
    _explained,
    _kind,
    _opened,
    _options,
    _parse,
    _typed,
)

__all__ = ["Staged", "stage"]


class Staged(NamedTuple):
    """A Parquet file with the columns of votes.

    Attributes
    ----------
    source : Path
        The file that the user named.
    path : Path
        The file to read: the same, or a copy of a text file.
    types : dict of str to pyarrow.DataType
        The type of each column's values.
    is_text : bool
        Whether the file has no types, so that columns of plain integers are integers.
    """

    source: Path
    path: Path
    types: dict[str, pa.DataType]
    is_text: bool

    def values(self, name: str, found: Any) -> Any:
        """Return distinct values of a column as the reader in memory gives them."""
        found = found.cast(self.types[name])
        return _typed(self.source, name, found.dictionary_encode()) if self.is_text else found


def stage(path: str | os.PathLike[str], names: Sequence[str], folder: Path, delimiter: str | None = None) -> Staged:
    """Make some columns of a file readable as Parquet; text files are copied into a folder, a block at a time.

    Raises
    ------
    InputError
        If a column has a type that only the reader in memory takes.
    """
    path = _checked(path)
    kind = _kind(path)
    copy = folder / "votes.parquet"
    with _explained(path):
        if kind in _PARQUET:
            schema = pa.parquet.read_schema(path)
            return Staged(path, path, {name: _value_type(path, schema.field(name)) for name in names}, is_text=False)
        if kind in _JSON:
            return Staged(path, copy, _write(copy, _json_blocks(path, names)), is_text=False)
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=list(names),
            null_values=list(MISSING),
            strings_can_be_null=True,
        )
        with _opened(path) as stream:
            blocks = pa.csv.open_csv(stream, _options(threads=True), _parse(kind, delimiter), convert)
            return Staged(path, copy, _write(copy, blocks), is_text=True)


def _value_type(path: Path, field: pa.Field) -> pa.DataType:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_string_view(kind):
        return pa.large_string()
    types = pa.types
    taken = (types.is_integer, types.is_float32, types.is_float64, types.is_boolean, types.is_string)
    if any(is_of(kind) for is_of in (*taken, types.is_large_string)):
        return kind
    raise InputError(
        f"{path}: column {field.name!r} is of type {kind}, which cannot be streamed (texts, whole numbers, floats and "
        "truth values can); use --engine memory."
    )


def _write(path: Path, blocks: Any) -> dict[str, pa.DataType]:
    """Write blocks to a Parquet file; return the types of its columns."""
    writer: Any = None
    try:
        for block in blocks:
            if writer is None:
                writer = pa.parquet.ParquetWriter(path, block.schema)
            writer.write(block)
        schema = blocks.schema if writer is None else writer.schema
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        pa.parquet.write_table(schema.empty_table(), path)
    return {field.name: field.type for field in schema}


def _json_blocks(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Read JSON lines; the types of the first block hold for all."""
    parse = pa.json.ParseOptions()
    for lines in _blocks_of_lines(path):
        try:
            table = pa.json.read_json(io.BytesIO(lines), pa.json.ReadOptions(block_size=2 * _BLOCK), parse)
            table = table.select(list(names))
            table.validate(full=True)  # Arrow takes JSON texts unseen, UTF-8 or not
        except (pa.ArrowInvalid, KeyError) as error:
            raise _mixed(path, " ".join(str(error).split())[:200]) from None
        for field in table.schema:
            if not (
                pa.types.is_string(field.type) or pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
            ):
                raise _mixed(path, f"{field.name!r} is read as {field.type}")
        parse = pa.json.ParseOptions(explicit_schema=table.schema, unexpected_field_behavior="ignore")
        yield table


def _mixed(path: Path, found: str) -> InputError:
    return InputError(
        f"{path} cannot be streamed: each field of JSON lines must hold only texts, only whole numbers or only truth "
        f"values ({found}); use --engine memory."
    )


def _blocks_of_lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with _opened(path) as stream:
        while more := stream.read(_BLOCK):
            lines = rest + more
            cut = lines.rfind(b"\n") + 1
            rest = lines[cut:]
            if lines[:cut].strip():
                yield lines[:cut]
    if rest.strip():
        yield rest
