"""Spark for the tests: a session in this process, on two threads."""

import functools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ENVIRONMENT", "QUICK", "java", "spark"]

# Executors look up the kernels of tests by name too.
ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
}

QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Options of Java for jobs of some seconds: the quick compiler, one thread for memory, Spark's own code unchecked."""


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Java is not installed; where CI is set, that is a failure."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return
    message = "no Java: Spark needs Java 17 or later on the PATH (or JAVA_HOME)"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    """Return a session of Spark on two threads of this machine."""
    os.environ |= ENVIRONMENT
    from faircrowd.engines import spark_session

    remember_names()
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.python.daemon.module": "engines.spark.quick_daemon",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # To compile plans for so few rows, or to plan them anew on the way, takes longer than to run them; the tests
        # of servers leave these settings alone.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.maxResultSize": "4m",
    }
    session = spark_session("local[2]", **settings)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def remember_names() -> None:
    """Ask Java once, instead of at each use, whether a name is a package or a class: it searches 300 archives."""
    from py4j.java_gateway import JavaPackage, JVMView

    for kind in (JVMView, JavaPackage):
        kind.__getattr__ = functools.cache(kind.__getattr__)
