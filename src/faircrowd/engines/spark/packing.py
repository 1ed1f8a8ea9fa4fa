"""From a Spark frame of votes to packed blocks: chunks of rows, the codes of their values, one shuffle of parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.engines.spark.blocks import SCHEMA, View, pack, pieces
from faircrowd.engines.spark.chunks import (
    CHUNKS,
    PARTS,
    SEVERAL,
    Sets,
    cut,
    from_stream,
    ids_of,
    place_keys,
    split,
    stream_of,
    values_of,
)
from faircrowd.engines.spark.codes import Coding, column_of
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.engines.spark.session import collected, spark_errors
from faircrowd.errors import FaircrowdError, InputError
from faircrowd.votes.encode import nested_values
from faircrowd.votes.groups import no_group

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Chunks", "Summary", "chunks_of", "facts_of", "packed", "summary_of"]

_SUMMARY = "counts binary, no_group binary, no_truth binary"


class Summary(NamedTuple):
    """What one pass over the packed blocks counts; ``no_ids`` is an empty array of the type of the ids."""

    tasks_per_group: NDArray[np.int64]
    most_votes: int
    repeated: int
    no_ids: pa.Array
    tasks_without_group: int = 0


class Chunks(NamedTuple):
    """Rows of the source as chunks (see :mod:`faircrowd.engines.spark.chunks`), and what one pass over them counts.

    Attributes
    ----------
    stored : DataFrame
        The chunks, kept by Spark until they are packed.
    rows : DataFrame
        The rows that they are made of, under their new names.
    sets : dict
        Names of the columns that are coded together, by what they stand for.
    read : int
        Number of all rows.
    missing : dict
        How many rows lack a task, a worker or a label, by the first of these that is missing.
    found : dict
        For each set of columns, a table of its values and their ``count`` among the rows that lack none of these.
    """

    stored: "DataFrame"
    rows: "DataFrame"
    sets: Sets
    read: int
    missing: dict[str, int]
    found: dict[str, pa.Table]


def chunks_of(frame: "DataFrame", columns: Mapping[str, str], sets: Sets) -> Chunks:
    """Cut votes into chunks, without the rows that lack a task, a worker or a label.

    ``columns`` maps the new name of each column to its name in the frame.
    """
    return _chunks_of(_selected(frame, columns), sets, ("task", "worker", "label"))


def facts_of(tasks: "DataFrame", columns: Mapping[str, str], sets: Sets, votes: Chunks) -> Chunks:
    """Cut the rows of a table of tasks into chunks, those whose tasks have votes."""
    known = _selected(tasks, columns).withColumnRenamed("task", "known")
    voted = votes.stored.mapInArrow(ids_of, votes.rows.select("task").schema).distinct()
    # Ids may be of another type here: 1.0 or "1" in place of 1.
    return _chunks_of(known.join(voted, known["known"] == voted["task"]).drop("known"), sets, ())


def _chunks_of(rows: "DataFrame", sets: Sets, needed: Sequence[str]) -> Chunks:
    from pyspark.sql import functions as F  # noqa: N812 - its usual name
    from pyspark.sql.types import ArrayType, IntegerType, LongType, MapType, StructField, StructType

    for field in rows.schema:
        if isinstance(field.dataType, ArrayType | MapType | StructType):
            raise nested_values(field.dataType.simpleString())
    stored = rows.mapInArrow(partial(cut, sets=sets, needed=needed), CHUNKS).persist()
    names = [name for one in sets.values() for name in one]
    fields = [StructField(name, rows.schema[name].dataType) for name in names]
    schema = StructType([StructField("set", IntegerType()), *fields, StructField("count", LongType())])
    try:
        with spark_errors("Spark cannot give the columns to Python"):
            values = stored.mapInArrow(values_of, schema)
        found = collected(values.groupBy("set", *names).agg(F.sum("count").alias("count")))
    except FaircrowdError:
        stored.unpersist()
        raise
    tables = [found.filter(pc.equal(found.column("set"), number)) for number in range(len(sets) + 1 + len(needed))]
    of_sets = {role: table.select([*sets[role], "count"]) for role, table in zip(sets, tables, strict=False)}
    read, *missing = (sum(table.column("count").to_pylist()) for table in tables[len(sets) :])
    return Chunks(stored, rows, sets, read, {role: n for role, n in zip(needed, missing, strict=True) if n}, of_sets)


def packed(
    chunks: Sequence[Chunks], codings: Mapping[str, Coding], partitions: int, sizes: dict[str, int]
) -> "DataFrame":
    """Pack chunks into blocks, each with all votes of its tasks.

    Parameters
    ----------
    chunks : list of Chunks
        Those of the votes, then those of a table of tasks, if there is one.
    codings : dict
        For each set of columns, the codes of its values.
    sizes : dict
        Number of codes: "worker", "label" and, where groups are known, "group".
    """
    keys = place_keys(partitions)

    def parts(one: Chunks) -> "DataFrame":
        lookups = {role: codings[role].lookup for role in one.sets}
        return one.stored.mapInArrow(partial(split, sets=one.sets, lookups=lookups, keys=keys), PARTS)

    votes, *facts = map(parts, chunks)
    made = votes.unionAll(facts[0]) if facts else votes
    return made.repartition(partitions, "place").mapInArrow(partial(pack, sizes=sizes), SCHEMA)


def summary_of(blocks: "DataFrame", n_groups: int, *, may_lack_groups: bool = False) -> Summary:
    """Count the tasks, and refuse those with no group (unless these may be), or with two groups or true labels."""
    found = collected(blocks.mapInArrow(partial(_summarise, n_groups=n_groups), _SUMMARY)).to_pylist()
    counts = np.stack([np.frombuffer(row["counts"], np.int64) for row in found] or [np.zeros(n_groups + 5, np.int64)])
    *tasks, several, lacking, clashes, repeated, _ = counts.sum(axis=0).tolist()
    for count, what, column in ((several, "group", "no_group"), (clashes, "true label", "no_truth")):
        if count:
            raise InputError(f"{count:,} tasks have more than one {what}: {_some(found, column, count)}.")
    if lacking and (not may_lack_groups or not sum(tasks)):
        raise no_group(lacking, sum(tasks) + lacking, _some(found, "no_group", lacking))
    no_ids = from_stream(found[0]["no_group"])[:0] if found else pa.array([], pa.string())
    return Summary(np.array(tasks, dtype=np.int64), int(counts[:, -1].max()), repeated, no_ids, lacking)


@spare_loaded_objects
def _summarise(batches: Iterable[pa.RecordBatch], *, n_groups: int) -> Iterator[pa.RecordBatch]:
    """Count within each packed row, and name a few tasks whose group or true label is not clear; on an executor."""
    view = View(by_group=True, with_gold=True, with_ids=True, votes=1)
    for batch in batches:
        for piece, repeated in zip(pieces([batch], view), batch.column("repeated").to_pylist(), strict=True):
            assert piece.ids is not None  # noqa: S101 - the view asks for them
            # The codes -2 and -1 are counted after the groups.
            tasks = np.bincount(piece.group % (n_groups + 2), minlength=n_groups + 2)
            several = piece.block.gold == SEVERAL
            counts = [*tasks, several.sum(), repeated, np.diff(piece.block.offsets).max()]
            bad = {"no_group": piece.group == (SEVERAL if tasks[-2] else -1), "no_truth": several}
            named = {name: stream_of(piece.ids.take(np.flatnonzero(rows)[:5]).values) for name, rows in bad.items()}
            row = {"counts": np.array(counts, dtype=np.int64).tobytes(), **named}
            yield pa.record_batch({name: pa.array([value], pa.binary()) for name, value in row.items()})


def _some(found: list[dict[str, Any]], column: str, total: int) -> str:
    return few([name for row in found for name in from_stream(row[column]).to_pylist()], total)


def _selected(frame: "DataFrame", columns: Mapping[str, str]) -> "DataFrame":
    """Return columns under their new names."""
    with spark_errors("Spark cannot distinguish the columns"):  # names that differ only in capitals
        return frame.select(*(_plain(frame, name).alias(role) for role, name in columns.items()))


def _plain(frame: "DataFrame", name: str) -> "Column":
    """Return a column; in columns of floats, -0.0 becomes 0.0, because Spark takes them for two values."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    column = column_of(name)
    kind = frame.schema[name].dataType
    return (column + F.lit(0.0)).cast(kind) if kind.typeName() in ("float", "double") else column
