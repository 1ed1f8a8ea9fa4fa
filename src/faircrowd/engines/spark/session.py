"""Sessions of Spark: opened with advice where something is missing."""

import os
import shutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from faircrowd.engines.spark.jobs import told
from faircrowd.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_spark", "spark_session"]


def check_spark(master: str | None) -> None:
    """Raise with advice where Spark or Java is not installed."""
    if find_spec("pyspark") is None:
        raise OptionError("Spark is not installed; pip install 'faircrowd[spark]', and Java 17.")
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
    with told(f"Spark did not start on {master or 'its default master'}"):
        return builder.getOrCreate()
