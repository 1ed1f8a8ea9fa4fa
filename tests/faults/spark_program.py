"""The command line, with a Spark job that never finishes writing labels. Not a test; used by tests here."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from faircrowd.cli import main
from faircrowd.engines.spark import files as spark_tables

write = spark_tables.write_parquet


def endless(batches: Iterable[Any]) -> Iterator[Any]:
    """Never yield, on an executor."""
    time.sleep(1e6)
    yield from batches


def write_endless(frame: Any, path: Path) -> None:
    """Begin to write a frame."""
    write(frame.mapInArrow(endless, frame.schema), path)


if __name__ == "__main__":
    spark_tables.write_parquet = write_endless
    main()
