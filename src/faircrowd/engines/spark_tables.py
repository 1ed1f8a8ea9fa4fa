"""Tables in and out of Spark: votes from files and catalogues, labels to files, counts of labels to the driver."""

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.engines.spark_codes import with_values
from faircrowd.engines.spark_jobs import collected, told
from faircrowd.errors import FileError, InputError
from faircrowd.votes.encode import encode
from faircrowd.votes.naming import value_names
from faircrowd.votes.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_labels", "label_table", "read_frame", "write_parquet"]

_TEXT = {".csv": ",", ".tsv": "\t"}
_COMPRESSED = (".gz", ".bz2", ".zst")


def read_frame(session: Any, where: str, delimiter: str | None = None) -> "DataFrame":
    """Read a table of the catalogue, or files that Spark can reach: Parquet, CSV, TSV or JSON lines.

    A path without an ending that tells is taken for Parquet. Values of text files keep their type: numbers are read as
    numbers, as in memory.
    """
    where = re.sub(r"^([A-Za-z][\w+.-]+):/(?=[^/])", r"\1://", where)  # a path of the command line has lost a slash
    endings = [ending.lower() for ending in Path(where).suffixes if ending.lower() not in _COMPRESSED]
    ending = endings[-1] if endings else ""
    read: DataFrame
    with told(f"Spark cannot read {where}"):
        if "/" not in where and not ending and not os.path.exists(where) and session.catalog.tableExists(where):
            read = session.table(where)
        elif ending in _TEXT:
            options = {"header": True, "inferSchema": True, "sep": delimiter or _TEXT[ending], "multiLine": True}
            read = session.read.options(**options, escape='"').csv(where)
        elif ending in (".jsonl", ".json", ".ndjson"):
            read = session.read.json(where)
        else:
            read = session.read.parquet(where)
    return read


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
    """Write a frame as a folder of Parquet files, whole or not at all; the folder must be one that executors reach."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with told(f"Spark could not write {path}"):
            frame.write.mode("overwrite").parquet(new.absolute().as_uri())
        if not new.exists():
            raise FileError(f"Executors wrote {path} to a disk of their own; choose a folder that all of them share.")
        if path.exists():
            shutil.rmtree(path)
        new.rename(path)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def count_labels(
    frame: "DataFrame", *, label: str = "agg_label", group: str = "group"
) -> tuple[NDArray[np.int64], Vocabulary, Vocabulary]:
    """Count the labels of a frame, a group (row) and class (column); return the counts, the groups and the classes.

    The gap of the labels is :func:`faircrowd.fair.certificate.gap_of` of the counts' shares.
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
