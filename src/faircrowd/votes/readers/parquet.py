"""Parquet: columns with types."""

from collections.abc import Sequence

import pyarrow.parquet

from faircrowd.votes.readers.reader import Columns, Reader, Source, SparkFormat

__all__ = ["PARQUET"]


def _header(source: Source) -> list[str]:
    return list(pyarrow.parquet.read_schema(source.path).names)


def _columns(source: Source, names: Sequence[str]) -> Columns:
    table = pyarrow.parquet.read_table(source.path, columns=list(names))
    return {name: table.column(name) for name in names}


def _count_rows(source: Source) -> int:
    return int(pyarrow.parquet.read_metadata(source.path).num_rows)


PARQUET = Reader(
    "parquet",
    (".parquet", ".pq"),
    "Apache Parquet",
    header=_header,
    columns=_columns,
    count_rows=_count_rows,
    spark=SparkFormat("parquet"),
    is_compressible=False,
    is_parquet=True,
)
