"""Engines: where the blocks of votes lie, and how sums over them are made."""

from faircrowd.engines.local import Block, LocalEngine
from faircrowd.engines.opening import engine_of, gold_of, in_spark, local_votes, spark_session, votes_of

__all__ = [
    "Block",
    "LocalEngine",
    "engine_of",
    "gold_of",
    "in_spark",
    "local_votes",
    "spark_session",
    "votes_of",
]
