"""Tables in and out of Spark: votes from files and catalogues, labels to files, counts of labels to the driver."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.engines.spark.codes import column_of, with_values
from faircrowd.engines.spark.jobs import collected, told
from faircrowd.errors import FileError, InputError
from faircrowd.votes.encode import encode
from faircrowd.votes.readers.files import MISSING
from faircrowd.votes.value_names import value_names
from faircrowd.votes.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_labels", "label_table", "read_frame", "write_parquet"]

_TEXT = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".json", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".zst")
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})\z"
"""Whole numbers as :func:`faircrowd.read_votes` takes them."""


def read_frame(session: Any, where: str, delimiter: str | None = None) -> "DataFrame":
    """Read a table of the catalogue, or files that Spark can reach: Parquet, CSV, TSV or JSON lines.

    A path without an ending that tells is taken for Parquet. A column of CSV or TSV is one of numbers where all of it
    are whole numbers as one writes them, and else of texts, as in memory: "007" is not 7.
    """
    # A path of the command line has lost a slash; local files have no host that it stood before.
    where = re.sub(r"^(?!file:|dbfs:)([A-Za-z][\w+.-]+):/(?=[^/])", r"\1://", where)
    endings = [ending.lower() for ending in Path(where).suffixes if ending.lower() not in _COMPRESSED]
    ending = endings[-1] if endings else ""
    read: DataFrame
    with told(f"Spark cannot read {where}"):
        is_file = "/" in where or ending in (*_TEXT, *_JSON, ".parquet") or os.path.exists(where)
        if not is_file and session.catalog.tableExists(where):
            read = session.table(where)
        elif ending in _TEXT:
            options = {"header": True, "sep": delimiter or _TEXT[ending], "multiLine": True}
            read = _typed(session.read.options(**options, escape='"').csv(where))
        elif ending in _JSON:
            read = session.read.json(where)
        else:
            read = session.read.parquet(where)
    return read


def _typed(texts: "DataFrame") -> "DataFrame":
    """Turn columns of whole numbers into numbers, and what stands for a missing value into null."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    names = texts.columns
    known = texts.select(*(F.when(~column_of(name).isin(*MISSING), column_of(name)).alias(name) for name in names))
    are_whole = [F.bool_and(column_of(name).rlike(_WHOLE)).alias(f"c{i}") for i, name in enumerate(names)]
    (found,) = collected(known.agg(*are_whole)).to_pylist()
    kinds = ("bigint" if is_whole else "string" for is_whole in found.values())
    return known.select(*(column_of(name).cast(kind).alias(name) for name, kind in zip(names, kinds, strict=True)))


def label_table(rows: Any, classes: Vocabulary, groups: Vocabulary | None) -> "DataFrame":
    """Return a frame with task, label, label_before, changed, the posterior of each class, and group.

    ``rows`` are emitted: the codes of label and label before, and the posterior.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    numbers = [f"p{k}" for k in range(len(classes))]
    frame = rows.frame(["label", "label_before", *numbers])
    frame = frame.withColumn("label", F.col("label").cast("int"))
    frame = frame.withColumn("label_before", F.col("label_before").cast("int"))
    frame = frame.withColumn("changed", F.col("label") != F.col("label_before"))
    for name in ("label", "label_before"):
        frame = with_values(frame, name, classes)
    order = ["task", "label", "label_before", "changed", *numbers]
    if groups is not None:
        frame = with_values(frame, "group", groups)
        order.append("group")
    names = [f"posterior_{name}" for name in value_names(classes)]
    return frame.select(*order).toDF(*order[:4], *names, *order[4 + len(names) :])


def write_parquet(frame: "DataFrame", path: Path) -> None:
    """Write a frame as a folder of Parquet files, in place of what is there; executors must reach that place."""
    with told(f"Spark could not write {path.name}"), _capitals(frame):
        frame.write.mode("overwrite").parquet(path.absolute().as_uri())
    if not path.exists():
        raise FileError(f"Executors wrote {path.name} to a disk of their own; choose a folder that all of them share.")


@contextmanager
def _capitals(frame: "DataFrame") -> Iterator[None]:
    """Let columns whose names differ in capitals alone be written."""
    name, settings = "spark.sql.caseSensitive", frame.sparkSession.conf
    before = settings.get(name)
    if len({column.lower() for column in frame.columns}) < len(frame.columns):
        settings.set(name, "true")
    try:
        yield
    finally:
        settings.set(name, before)


def count_labels(
    frame: "DataFrame", *, label: str = "agg_label", group: str = "group"
) -> tuple[NDArray[np.int64], Vocabulary, Vocabulary]:
    """Count the labels of a frame, a group (row) and class (column); return the counts, the groups and the classes.

    The gap of the labels is :func:`faircrowd.fair.gap.gap_of` of the counts' shares.
    """
    for name in (label, group):
        if name not in frame.columns:
            raise InputError(f"The labels have no column {name!r}; there are {', '.join(frame.columns)}.")
    found = collected(frame.groupBy(group, label).count())
    rows, groups = encode(found.column(group))
    columns, classes = encode(found.column(label))
    counts = found.column("count").to_numpy()
    if (missing := (rows < 0) | (columns < 0)).any():
        raise InputError(f"{int(counts[missing].sum()):,} rows have no {label!r} or no {group!r}; fill them in first.")
    table = np.zeros((len(groups), len(classes)), dtype=np.int64)
    table[rows, columns] = counts
    return table, groups, classes
