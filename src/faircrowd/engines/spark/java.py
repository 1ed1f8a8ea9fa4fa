"""Spark for one command: a Java process that ends with it and leaves nothing."""

import logging
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from faircrowd.engines.spark.session import check_spark, spark_errors, spark_session
from faircrowd.errors import FaircrowdError, FileError
from faircrowd.storage.scratch import Scratch, clear_left, uninterrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["running"]

_SECONDS_TO_END = 30
"""How long Java may take to end before it is killed."""
_SHOW_LOG = "FAIRCROWD_TRACEBACK"
"""Environment variable that shows what Java and Spark log."""
_JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Environment variable with options of Java."""
_REASON = re.compile(r"^.*(?:error|exception|invalid|unrecognized).*$(?:\n\S.*$)?", re.MULTILINE | re.IGNORECASE)


@contextmanager
def running(master: str | None, **settings: str) -> Iterator["SparkSession"]:
    """Yield a session of Spark; the Java process that was started for it has ended when this ends.

    That process has its temporary files (those of shuffles too, unless Spark's settings name a place) in a folder of
    ours: if it is killed, the next run removes them. What Java and Spark log to the terminal is hidden, because a
    command reports in one sentence why it ended; with ``FAIRCROWD_TRACEBACK`` it is shown.
    """
    check_spark(master)
    clear_left()
    if _gateway() is not None or (master or "").startswith("sc://") or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield spark_session(master, **settings)  # in a process that is not ours
        return
    try:
        scratch = Scratch()
    except OSError as error:  # not about the output folder
        raise FileError(f"A folder for temporary files cannot be made: {error}; TMPDIR names another place.") from None
    on_interrupt, level = signal.getsignal(signal.SIGINT), logging.root.manager.disable
    try:
        if not os.environ.get(_SHOW_LOG):
            logging.disable()
        with uninterrupted():
            _start(scratch.path, master, settings)
        session = spark_session(master, **settings)
        # Spark has put its own handler here. It asks Java to end its jobs, over a connection that is busy until then.
        _on_interrupt(on_interrupt)
        yield session
    finally:
        _on_interrupt(on_interrupt)
        with uninterrupted():
            _end()
            scratch.remove()
        logging.disable(level)


def _gateway() -> Any:
    """Return the connection to the Java process, if there is one."""
    module = sys.modules.get("pyspark.core.context")
    return None if module is None else module.SparkContext._gateway


def _on_interrupt(handler: "Callable[[int, FrameType | None], object] | int | None") -> None:
    """Set what happens on Ctrl-C."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _start(folder: Path, master: str | None, settings: dict[str, str]) -> None:
    """Start Java; Spark finds it there."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    if master is not None:
        conf.setMaster(master)
    before, log = os.environ.get(_JAVA_OPTIONS), folder / "log"
    os.environ[_JAVA_OPTIONS] = f"{before or ''} -Djava.io.tmpdir={shlex.quote(str(folder))}"
    try:
        with spark_errors("Spark did not start"), log.open("wb") as stream:
            where = {} if os.environ.get(_SHOW_LOG) else {"stdout": stream, "stderr": stream}
            SparkContext._ensure_initialized(gateway=launch_gateway(conf, where))
    except OSError as error:
        raise FaircrowdError(f"Spark did not start: {error}.") from None
    except FaircrowdError as error:
        reason = _REASON.search(log.read_text(encoding="utf-8", errors="replace"))
        raise FaircrowdError(f"Spark did not start: {' '.join(reason[0].split())}") if reason else error from None
    finally:
        os.environ.pop(_JAVA_OPTIONS)
        if before is not None:
            os.environ[_JAVA_OPTIONS] = before


def _end() -> None:
    """End Java, whatever it does, and let Spark forget it. Java is not asked to end: it may not answer."""
    if (gateway := _gateway()) is None:
        return
    from pyspark import SparkContext

    if (context := SparkContext._active_spark_context) is not None:
        with suppress(AttributeError):  # the context was not complete yet
            context._accumulatorServer.shutdown()
        context._jsc = None
    gateway.proc.stdin.close()  # Java runs as long as this is open
    until = time.monotonic() + _SECONDS_TO_END
    while gateway.proc.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    gateway.proc.kill()  # does nothing if it has ended
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
