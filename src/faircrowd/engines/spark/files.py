"""Tables in and out of Spark: votes from files and catalogues, labels to files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from faircrowd.engines.spark.codes import column_of, with_values
from faircrowd.engines.spark.session import collected, spark_errors
from faircrowd.engines.spark.task_rows import SparkRows
from faircrowd.errors import FileError
from faircrowd.votes.readers import READERS, Reader, Source, find_reader, open_source
from faircrowd.votes.readers.shared import MISSING, PLAIN_INTEGER, ending_of, explained
from faircrowd.votes.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["label_table", "on_disk", "read_frame", "write_parquet"]


def read_frame(
    session: "SparkSession", where: str, delimiter: str | None = None, format: str | None = None
) -> "DataFrame":
    """Read a table of the catalogue, or files that Spark can reach, in any format that faircrowd reads.

    A path whose ending names no format is taken for Parquet. A column of CSV or TSV becomes integers where all its
    values are plainly written integers, and stays text otherwise, as in memory: "007" is not 7. A format that Spark
    does not know is read on the driver. Text files that the driver can reach are searched for quotes that are not
    closed, which Spark would not report.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    where : str
        A path or the name of a table.
    delimiter, format : str, optional
        As in :func:`faircrowd.read_votes`.
    """
    # A path of the command line has lost a slash; local files have no host that it stood before.
    where = re.sub(r"^(?!file:|dbfs:)([A-Za-z][\w+.-]+):/(?=[^/])", r"\1://", where)
    reader = find_reader(where, format) or _reader_in_spark(where)
    read: DataFrame
    with spark_errors(f"Spark cannot read {where}"):
        is_file = "/" in where or reader is not None or os.path.exists(where)
        if not is_file and session.catalog.tableExists(where):
            read = session.table(where)
        elif reader is None:
            read = session.read.parquet(where)
        elif reader.spark is None:
            source = open_source(where, format=format, delimiter=delimiter)
            read = session.createDataFrame(pa.table(source.columns(source.header())))
        else:
            _check_files(where, reader, delimiter)
            options = dict(reader.spark.options)
            if delimiter is not None and "sep" in options:
                options["sep"] = delimiter
            read = session.read.format(reader.spark.format).options(**options).load(where)
            read = _typed(read) if reader.is_untyped else read
    return read


def on_disk(where: str | os.PathLike[str]) -> Path:
    """Return a path as the driver would open it; it may not exist there.

    Examples
    --------
    >>> str(on_disk("file:///data/votes.csv")), str(on_disk("votes.csv"))
    ('/data/votes.csv', 'votes.csv')
    """
    return Path(re.sub("^file:(//)?", "", os.fspath(where)))


def _check_files(where: str, reader: Reader, delimiter: str | None) -> None:
    """Raise if a file, or a file of a folder, that the driver can reach is damaged in a way that Spark overlooks."""
    path = on_disk(where)
    if reader.check is None or not path.exists():
        return
    files = [path]
    if path.is_dir():  # Spark reads the files of a folder but for hidden ones
        files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    for file in files:
        with explained(file):
            reader.check(Source(file, reader, delimiter))


def _reader_in_spark(where: str) -> Reader | None:
    """Return the format of an ending that only Spark takes, such as ``.json``."""
    ending, _ = ending_of(Path(where))
    known = (reader for reader in READERS.values() if reader.spark is not None and ending in reader.spark.endings)
    return next(known, None)


def _typed(texts: "DataFrame") -> "DataFrame":
    """Turn columns of plain integers into integers, and what stands for a missing value into null."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    names = texts.columns
    known = texts.select(*(F.when(~column_of(name).isin(*MISSING), column_of(name)).alias(name) for name in names))
    pattern = rf"^{PLAIN_INTEGER}\z"
    are_integers = [F.bool_and(column_of(name).rlike(pattern)).alias(f"c{i}") for i, name in enumerate(names)]
    (found,) = collected(known.agg(*are_integers)).to_pylist()
    kinds = ("bigint" if is_integer else "string" for is_integer in found.values())
    return known.select(*(column_of(name).cast(kind).alias(name) for name, kind in zip(names, kinds, strict=True)))


def label_table(rows: SparkRows, classes: Vocabulary, groups: Vocabulary | None) -> "DataFrame":
    """Return a frame with task, label, label_before, changed, the posterior of each class, and group.

    ``rows`` hold the code of the label, the code of the label before, and the posterior.
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
    names = [f"posterior_{name}" for name in classes.names]
    return frame.select(*order).toDF(*order[:4], *names, *order[4 + len(names) :])


def write_parquet(frame: "DataFrame", path: Path) -> None:
    """Write a frame as a folder of Parquet files, in place of what is there; executors must have access to it."""
    with spark_errors(f"Spark could not write {path.name}"), _distinct_by_capitals(frame):
        frame.write.mode("overwrite").parquet(path.absolute().as_uri())
    if not path.exists():
        raise FileError(f"Executors wrote {path.name} to their own disks; choose a folder that all of them share.")


@contextmanager
def _distinct_by_capitals(frame: "DataFrame") -> Iterator[None]:
    """Allow columns whose names differ only in capitals to be written."""
    name, settings = "spark.sql.caseSensitive", frame.sparkSession.conf
    before = settings.get(name)
    if len({column.lower() for column in frame.columns}) < len(frame.columns):
        settings.set(name, "true")
    try:
        yield
    finally:
        settings.set(name, before)
