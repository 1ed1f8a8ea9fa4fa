"""Sessions of Spark, opened with advice where something is missing; results and failures of its jobs."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from faircrowd._extras import need
from faircrowd.errors import FaircrowdError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_spark", "collected", "spark_errors", "spark_session"]

_OF_PYTHON = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
_OF_JAVA = re.compile(r"^(?:: |Caused by: )?(?:[\w.$]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_LONGEST_CAUSE = 300


def check_spark(master: str | None) -> None:
    """Raise with advice where Spark or Java is not installed."""
    need("pyspark", "spark", "Spark", ", and Java 17")
    is_server = master is not None and master.startswith("sc://")
    if not (is_server or shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise OptionError("Java was not found; Spark needs Java 17 or later on the PATH, or JAVA_HOME.")


def spark_session(master: str | None = None, **settings: str) -> "SparkSession":
    """Return a session of Spark; raise with advice where Spark or Java is not installed.

    Import it as ``from faircrowd.engines import spark_session``.

    Parameters
    ----------
    master : str, optional
        ``local[2]``, ``spark://host:7077``, or ``sc://host:15002`` for Spark Connect. By default the session that
        there is, or what Spark's own settings name.
    **settings
        Settings of Spark by name.
    """
    check_spark(master)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.config(map=settings)
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    with spark_errors(f"Spark did not start on {master or 'its default master'}"):
        return builder.getOrCreate()


def collected(frame: "DataFrame") -> pa.Table:
    """Bring a small frame to the driver as an Arrow table.

    ``toArrow`` raises where the driver runs out of memory; ``collect`` has been seen to return nothing.
    """
    with spark_errors("A job of Spark failed"):
        return frame.toArrow()


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Turn an exception of Spark, which fills a page with Python and Java, into one sentence."""
    try:
        yield
    except FaircrowdError:
        raise
    except Exception as error:
        if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
            cause = "its driver does not answer; did it run out of memory (spark.driver.memory)?"
        elif type(error).__module__.startswith(("pyspark.", "py4j.", "grpc.")):
            cause = _cause(str(error))
        else:
            raise
        raise FaircrowdError(f"{what}: {cause}") from error


def _cause(text: str) -> str:
    """Return the line that names the cause: the last exception of a Python traceback, else the first of Java."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    cause = lines[0] if lines else "no reason was given"
    if "Traceback (most recent call last)" in text and (found := _OF_PYTHON.findall(text)):
        cause = ": ".join(found[-1])
    elif found := [pair for pair in _OF_JAVA.findall(text) if "awaitResult" not in pair[1]]:
        cause = ": ".join(found[0])
    return cause if len(cause) <= _LONGEST_CAUSE else cause[:_LONGEST_CAUSE] + "…"
