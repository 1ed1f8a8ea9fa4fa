"""Values of Spark columns and their codes: distinct values come to the driver, which numbers them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.votes.encode import encode
from faircrowd.votes.groups import intersect
from faircrowd.votes.lookalikes import refuse_alike
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Coding", "Lookup", "coding_of", "column_of", "union", "with_values"]

_MAX_BROADCAST_ROWS = 1 << 22
"""Tables with more rows are joined without a broadcast."""


class Coding(NamedTuple):
    """The distinct values of some columns.

    Attributes
    ----------
    found : pyarrow.Table
        One row per distinct value, as Spark gave them, missing values included.
    codes : ndarray of int32
        The code of each of these rows, -1 where a value is missing.
    vocabulary : Vocabulary
        What the codes stand for, in canonical order.
    counts : ndarray of int64
        Number of rows of Spark that have each code.
    """

    found: pa.Table
    codes: Codes
    vocabulary: Vocabulary
    counts: NDArray[np.int64]

    @property
    def lookup(self) -> "Lookup":
        """What executors need to know of it."""
        return Lookup(self.found, self.codes, len(self.vocabulary))

    def within(self, vocabulary: Vocabulary) -> "Coding":
        """Return the coding by a larger vocabulary."""
        place = np.append(vocabulary.code_of(self.vocabulary.values), np.int32(-1))
        return self._replace(codes=place[self.codes], vocabulary=vocabulary)


class Lookup(NamedTuple):
    """The codes of values: one row of ``values``, and one of ``codes``, per value; ``size`` codes in all."""

    values: pa.Table
    codes: Codes
    size: int

    def find(self, wanted: pa.Table) -> Codes:
        """Return the code of each row of a table that has these columns, -1 where it is unknown or missing."""
        wanted = wanted.select(self.values.column_names)
        if self.values.num_columns == 1:
            values = Vocabulary(pa.concat_arrays(self.values.column(0).chunks)) if self.values.num_rows else None
            places = values.code_of(wanted.column(0)) if values else np.full(wanted.num_rows, -1)
        else:
            place = {row: i for i, row in enumerate(_rows(self.values))}
            places = np.array([place.get(row, -1) for row in _rows(wanted)], dtype=np.int64)
        return np.append(self.codes, np.int32(-1))[places]


def coding_of(found: pa.Table, names: Sequence[str]) -> Coding:
    """Code the distinct values of a column (of several: the combinations that occur), with their ``count``."""
    found = found.filter(pc.greater(found.column("count"), 0))
    coded = [encode(found.column(name)) for name in names]
    codes, vocabulary = coded[0] if len(coded) == 1 else intersect(coded)
    counts = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    np.add.at(counts, codes, found.column("count").to_numpy())  # rows with the code -1 go to the extra place at the end
    return Coding(found.select(list(names)), codes, vocabulary, counts[:-1])


def union(classes: Vocabulary, truths: Vocabulary) -> Vocabulary:
    """Return the classes and the true labels that are not among them, as :func:`faircrowd.votes.groups.gold_pairs`."""
    new = truths.take(np.flatnonzero(classes.code_of(truths.values) < 0)).to_list() if len(truths) else []
    refuse_alike("known label", new, classes)
    return encode(as_objects([*classes.to_list(), *new]))[1] if new else classes


def with_values(frame: "DataFrame", name: str, vocabulary: Vocabulary) -> "DataFrame":
    """Replace a column of codes by their values; by names where these are tuples, or of no common type."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    codes = pa.array(np.arange(len(vocabulary), dtype=np.int32))
    table = pa.table({name: codes, name + "_value": _values(vocabulary)})
    order = [F.col(name + "_value").alias(name) if column == name else F.col(column) for column in frame.columns]
    return frame.join(_small(frame, table), on=name, how="left").select(*order)


def column_of(name: str) -> "Column":
    """Return the column of a name, whatever characters are in it."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    return F.col("`" + name.replace("`", "``") + "`")


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _values(vocabulary: Vocabulary) -> pa.Array:
    if not vocabulary.is_mixed:
        return vocabulary.values
    values = vocabulary.to_list()
    if not any(isinstance(value, tuple) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass
    return pa.array(vocabulary.names)


def _small(frame: "DataFrame", table: pa.Table) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    made = frame.sparkSession.createDataFrame(table)
    return F.broadcast(made) if table.num_rows <= _MAX_BROADCAST_ROWS else made
