"""Engines: where votes are kept (memory, disk, Spark), and how kernels run over them.

Read in this order: ``protocols`` (what all engines and all kinds of votes have in common), ``local`` (votes in memory or
mapped from disk), ``opening`` (which engine serves which votes), ``stream`` (files larger than memory), ``spark``
(votes on a cluster), ``engine_choice`` and ``free_memory`` (memory or stream, by the size of a file).

Users import :func:`read_votes_on_disk`, :func:`choose_engine`, :func:`spark_session` and :func:`spark_votes` from here.
DuckDB and Spark are imported on use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from faircrowd.engines.engine_choice import choose_engine
from faircrowd.engines.local import Block, LocalEngine
from faircrowd.engines.opening import engine_of, gold_of, in_spark, local_votes, spark_session, votes_of

if TYPE_CHECKING:
    from faircrowd.engines.spark.votes import spark_votes
    from faircrowd.engines.stream.read_stream import read_votes_on_disk

__all__ = [
    "Block",
    "LocalEngine",
    "choose_engine",
    "engine_of",
    "gold_of",
    "in_spark",
    "local_votes",
    "read_votes_on_disk",
    "spark_session",
    "spark_votes",
    "votes_of",
]

_HOME = {"read_votes_on_disk": "stream.read_stream", "spark_votes": "spark.votes"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'faircrowd.engines' has no attribute {name!r}")
    return getattr(import_module(f"faircrowd.engines.{_HOME[name]}"), name)
