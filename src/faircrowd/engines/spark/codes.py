"""Values of Spark columns to codes: the distinct values come to the driver, the codes go back by a broadcast join."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd.engines.spark.session import collected
from faircrowd.votes.encode import encode
from faircrowd.votes.groups import intersect
from faircrowd.votes.lookalikes import refuse_alike
from faircrowd.votes.vocabulary import Codes, Vocabulary, as_objects

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Coding", "coding_of", "column_of", "is_missing", "survey", "union", "with_codes", "with_values"]

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

    def within(self, vocabulary: Vocabulary) -> "Coding":
        """Return the coding by a larger vocabulary."""
        place = np.append(vocabulary.code_of(self.vocabulary.values), np.int32(-1))
        return self._replace(codes=place[self.codes], vocabulary=vocabulary)


def survey(frame: "DataFrame", sets: Sequence[Sequence[str]], counts: Mapping[str, "Column"]) -> list[pa.Table]:
    """Count by several sets of columns in one pass; return an Arrow table for each.

    Rows are first counted by all columns at once, because Spark copies each row for each set.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    names = list(dict.fromkeys(name for one in sets for name in one))
    rows = frame.groupBy(*names).agg(*(count.alias(name) for name, count in counts.items()))
    sums = [F.sum(name).alias(name) for name in counts]
    found = collected(rows.groupingSets(sets, *names).agg(F.grouping_id().alias("set"), *sums))
    # Spark numbers a set by one bit per column, the first column's the highest, set if the column is not in the set.
    numbers = [sum((name not in one) << i for i, name in enumerate(reversed(names))) for one in sets]
    return [found.filter(pc.equal(found.column("set"), number)) for number in numbers]


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


def with_codes(frame: "DataFrame", coding: Coding, name: str) -> "DataFrame":
    """Replace the columns of a coding by their code, an int column that is null where a value is missing."""
    names = coding.found.column_names
    known = coding.codes >= 0
    table = coding.found.filter(pa.array(known)).append_column(name + "_code", pa.array(coding.codes[known]))
    joined = frame.join(_small(frame, table), on=names, how="left").drop(*names)
    return joined.withColumnRenamed(name + "_code", name)


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


def is_missing(frame: "DataFrame", name: str) -> "Column":
    """Return whether a column is null or NaN in each row."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    column = frame[name]
    kind = frame.schema[name].dataType.typeName()
    return column.isNull() | F.isnan(column) if kind in ("float", "double") else column.isNull()


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
