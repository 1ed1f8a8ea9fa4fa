"""Engines: where votes are kept (memory, disk, Spark), and how kernels run over them.

Read in this order: ``protocols`` (what all kinds of votes, and all engines, have in common), ``local`` (votes in
memory or mapped from disk), ``opening`` (which engine serves which votes), ``stream`` (files larger than memory),
``spark`` (votes on a cluster), ``engine_choice`` and ``free_memory`` (memory or stream, by the size of a file).

Users import :func:`read_votes_on_disk`, :func:`choose_engine`, :func:`spark_session` and :func:`spark_votes` from here.
DuckDB and Spark are imported on use.
"""

from faircrowd.engines.engine_choice import choose_engine
from faircrowd.engines.local import Block, LocalEngine
from faircrowd.engines.opening import engine_of, gold_of, in_spark, votes_in_memory, votes_of
from faircrowd.engines.protocols import Engine, Votes
from faircrowd.engines.spark.session import spark_session
from faircrowd.engines.spark.votes import SparkVotes, spark_votes
from faircrowd.engines.stream.read_stream import read_votes_on_disk

__all__ = [
    "Block",
    "Engine",
    "LocalEngine",
    "SparkVotes",
    "Votes",
    "choose_engine",
    "engine_of",
    "gold_of",
    "in_spark",
    "read_votes_on_disk",
    "spark_session",
    "spark_votes",
    "votes_in_memory",
    "votes_of",
]
