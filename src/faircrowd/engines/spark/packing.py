"""From a Spark frame of votes to packed blocks, by joins with small tables and one shuffle of the votes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd._checks import few
from faircrowd.engines.spark.blocks import SCHEMA, SEVERAL, View, from_stream, pack, pieces, stream_of
from faircrowd.engines.spark.codes import column_of, is_missing, survey
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.engines.spark.session import collected, spark_errors
from faircrowd.errors import InputError
from faircrowd.votes.groups import no_group

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Rows", "Summary", "complete_rows", "facts_of", "packed", "summary_of"]

_SUMMARY = "counts binary, no_group binary, no_truth binary"


class Summary(NamedTuple):
    """What one pass over the packed blocks counts; ``no_ids`` is an empty array of the type of the ids."""

    tasks_per_group: NDArray[np.int64]
    most_votes: int
    repeated: int
    no_ids: pa.Array
    tasks_without_group: int = 0


class Rows(NamedTuple):
    """Rows of votes that have a task, a worker and a label; and what one pass over all rows counts.

    Attributes
    ----------
    votes : DataFrame
    read : int
        Number of all rows.
    missing : dict
        How many rows lack a task, a worker or a label, by the first of these that is missing.
    found : list of pyarrow.Table
        For each set of columns, its values and their ``count`` among the votes.
    """

    votes: "DataFrame"
    read: int
    missing: dict[str, int]
    found: list[pa.Table]


def complete_rows(frame: "DataFrame", columns: Mapping[str, str], sets: Sequence[Sequence[str]]) -> Rows:
    """Leave out rows that lack a task, a worker or a label, and count the values of sets of columns.

    ``columns`` maps the new name of each column to its name in the frame.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    votes = _selected(frame, columns)
    is_incomplete, lacks = F.lit(False), {}
    for role in ("task", "worker", "label"):
        lacks[role] = ~is_incomplete & is_missing(votes, role)
        is_incomplete = is_incomplete | is_missing(votes, role)
    counts = {"count": F.count_if(~is_incomplete), "rows": F.count(F.lit(1))}
    counts |= {f"no_{role}": F.count_if(lacking) for role, lacking in lacks.items()}
    total, *found = survey(votes, [[], *sets], counts)
    rows, *missing = (sum(total.column(name).to_pylist()) for name in ("rows", *(f"no_{role}" for role in lacks)))
    return Rows(
        votes.filter(~is_incomplete), rows, {role: n for role, n in zip(lacks, missing, strict=True) if n}, found
    )


def facts_of(
    tasks: "DataFrame", votes: "DataFrame", columns: Mapping[str, str], sets: Sequence[Sequence[str]]
) -> tuple["DataFrame", list[pa.Table]]:
    """Return the rows of a table of tasks whose tasks have votes, and the values of sets of its columns."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    known = _selected(tasks, columns)
    known = known.join(votes.select("task").distinct(), on="task", how="left_semi")
    return known, survey(known, sets, {"count": F.count(F.lit(1))}) if sets else []


def packed(votes: "DataFrame", facts: "DataFrame | None", partitions: int, sizes: dict[str, int]) -> "DataFrame":
    """Pack coded votes into blocks, each with all votes of its tasks.

    Parameters
    ----------
    votes : DataFrame
        Columns task, worker, label, and the codes group and truth where they are columns of the votes.
    facts : DataFrame, optional
        Columns task, group, truth (either may be missing), where they are columns of a table of tasks.
    sizes : dict
        Number of codes: "worker", "label" and "group".
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    # One number for worker and label: the shuffle, and the way from Java to Python, take time by the column.
    kind = "int" if sizes["worker"] * sizes["label"] <= np.iinfo(np.int32).max else "bigint"
    vote = F.col("worker").cast(kind) * F.lit(sizes["label"]).cast(kind) + F.col("label")
    votes = votes.withColumn("vote", vote).drop("worker", "label").repartition(partitions, "task")
    if facts is not None:
        names = [name for name in ("group", "truth") if name in facts.columns]
        several = {name: F.min(name) != F.max(name) for name in names}
        one = [F.when(several[name], F.lit(SEVERAL)).otherwise(F.min(name)).alias(name) for name in names]
        # Partitioned the same way, or Spark may repartition the votes, into as many parts as its settings say.
        votes = votes.join(facts.repartition(partitions, "task").groupBy("task").agg(*one), on="task", how="left")
    # Tasks are sorted where they are packed: Spark's own sort takes several times as long.
    return votes.mapInArrow(partial(pack, sizes=sizes), SCHEMA)


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
