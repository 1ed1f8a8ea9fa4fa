"""Files of votes as Parquet, block by block: DuckDB then sees the values that the readers in memory see."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from faircrowd.errors import FileError, InputError
from faircrowd.votes.readers import Source
from faircrowd.votes.readers.shared import MixedValues, explained
from faircrowd.votes.vocabulary import Column, as_objects

__all__ = ["Staged", "stage"]


class Staged(NamedTuple):
    """A Parquet file with the columns of votes.

    Attributes
    ----------
    source : Source
        The file that the user named.
    path : Path
        The file to read: the same, or a copy of its columns as Parquet.
    types : dict of str to pyarrow.DataType
        The type of each column's values.
    in_json : bool
        Whether values are JSON texts, as columns hold values of mixed types.
    """

    source: Source
    path: Path
    types: dict[str, pa.DataType]
    in_json: bool = False

    def values(self, name: str, found: pa.ChunkedArray) -> Column:
        """Return distinct values of a column as the reader in memory gives them."""
        if self.in_json:
            return as_objects([None if text is None else json.loads(text) for text in found.to_pylist()])
        return self.source.typed(name, found.cast(self.types[name]))


def stage(source: Source, names: Sequence[str], folder: Path) -> Staged:
    """Make some columns of a file readable as Parquet; other formats are copied into a folder, a block at a time.

    Raises
    ------
    InputError
        If a column has a type that only the reader in memory takes.
    """
    in_json = False
    if source.reader.is_parquet:
        path = source.path
        with explained(path):
            schema = pa.parquet.read_schema(path)
    else:
        path = folder / "votes.parquet"
        try:
            schema = _write(path, source.blocks(names), source)
        except MixedValues:
            schema, in_json = _write(path, source.json_blocks(names), source), True
    return Staged(source, path, {name: _value_type(source.path, schema.field(name)) for name in names}, in_json)


def _value_type(path: Path, field: pa.Field) -> pa.DataType:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_string_view(kind):
        return pa.large_string()
    types = pa.types
    taken = (types.is_integer, types.is_float32, types.is_float64, types.is_boolean, types.is_string)
    if any(is_of(kind) for is_of in (*taken, types.is_large_string)):
        return kind
    raise InputError(
        f"{path}: column {field.name!r} is of type {kind}, which cannot be streamed (texts, integers, floats and "
        "truth values can); read it in memory (engine='memory')."
    )


def _write(path: Path, blocks: Iterable[pa.RecordBatch], source: Source) -> pa.Schema:
    """Write blocks to a Parquet file; return its schema."""
    writer: pa.parquet.ParquetWriter | None = None
    try:
        for block in blocks:
            if writer is None:
                writer = pa.parquet.ParquetWriter(path, block.schema)
            if block.num_rows:
                writer.write(block)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise FileError(f"{source.path} cannot be read: it has no rows.")
    return writer.schema
