"""Jobs of Spark: results that come whole or not at all, and failures in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from faircrowd.errors import FaircrowdError

__all__ = ["collected", "told"]

_OF_PYTHON = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
_OF_JAVA = re.compile(r"^(?:: |Caused by: )?(?:[\w.$]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_LONGEST = 300


def collected(frame: Any) -> Any:
    """Bring a small frame to the driver as an Arrow table.

    ``toArrow`` raises where the driver runs out of memory; ``collect`` was seen to return nothing.
    """
    with told("A job of Spark failed"):
        return frame.toArrow()


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn an exception of Spark, which is a page of two languages, into one sentence."""
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
    return cause if len(cause) <= _LONGEST else cause[:_LONGEST] + "…"
