"""Which engine serves which votes."""

from typing import TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from faircrowd._types import ByTask, TableLike
from faircrowd.engines.local import LocalEngine
from faircrowd.engines.protocols import Engine, Gold, SparkFrame, Votes
from faircrowd.engines.spark.engine import SparkEngine, SparkRows
from faircrowd.engines.spark.votes import SparkVotes, spark_votes
from faircrowd.errors import OptionError
from faircrowd.votes import VoteTable, as_votes
from faircrowd.votes.groups import gold_codes
from faircrowd.votes.vocabulary import Codes

__all__ = ["engine_of", "gold_of", "in_spark", "votes_in_memory", "votes_of"]


def in_spark(data: object) -> bool:
    """Return whether votes are a Spark frame, or were built from one."""
    return not _is_local(data)


@overload
def votes_of(
    data: SparkFrame | SparkVotes, sensitive_features: ByTask | None = None, true_labels: ByTask | None = None
) -> SparkVotes: ...
@overload
def votes_of(
    data: TableLike | VoteTable, sensitive_features: ByTask | None = None, true_labels: ByTask | None = None
) -> VoteTable: ...
def votes_of(
    data: TableLike | VoteTable | SparkFrame | SparkVotes,
    sensitive_features: ByTask | None = None,
    true_labels: ByTask | None = None,
) -> VoteTable | SparkVotes:
    """Return votes given as a table, a path or a frame as a VoteTable; votes of a Spark frame as SparkVotes.

    In Spark, ``true_labels`` is the name of a column; elsewhere :func:`gold_of` takes true labels.
    """
    if isinstance(data, SparkVotes):
        column = _column(true_labels)
        if sensitive_features is not None:
            raise OptionError("The groups of votes in Spark are named when these are built: spark_votes(frame, ...).")
        if column is not None and column != data.true_labels:
            raise OptionError(f"Build the votes with spark_votes(frame, true_labels={column!r}) to use these labels.")
        return data
    if _is_local(data):
        return as_votes(data, sensitive_features)
    column = _column(true_labels)
    return spark_votes(_plain(data), sensitive_features=_columns(sensitive_features), true_labels=column)


def votes_in_memory(votes: Votes) -> VoteTable:
    """Return the votes; raise if they are in Spark."""
    if not isinstance(votes, VoteTable):
        raise OptionError("This is computed from votes in memory, and these votes are in Spark.")
    return votes


@overload
def gold_of(votes: VoteTable, true_labels: ByTask | None) -> tuple[VoteTable, Codes | None]: ...
@overload
def gold_of(votes: SparkVotes, true_labels: ByTask | None) -> tuple[SparkVotes, bool | None]: ...
@overload
def gold_of(votes: Votes, true_labels: ByTask | None) -> tuple[Votes, Gold]: ...
def gold_of(votes: Votes, true_labels: ByTask | None) -> tuple[Votes, Gold]:
    """Return the votes, with the classes of true labels added, and what :func:`engine_of` takes as ``gold``."""
    if true_labels is None:
        return votes, None
    return gold_codes(votes, true_labels) if isinstance(votes, VoteTable) else (votes, True)


@overload
def engine_of(votes: VoteTable, *, by_group: bool = False, gold: Gold = None) -> LocalEngine: ...
@overload
def engine_of(votes: SparkVotes, *, by_group: bool = False, gold: Gold = None) -> SparkEngine: ...
@overload
def engine_of(
    votes: Votes, *, by_group: bool = False, gold: Gold = None
) -> Engine[NDArray[np.float64] | SparkRows]: ...
def engine_of(votes: Votes, *, by_group: bool = False, gold: Gold = None) -> Engine[NDArray[np.float64] | SparkRows]:
    """Return the engine that runs kernels over votes. In Spark the true labels are a column of the votes."""
    if isinstance(votes, SparkVotes):
        return SparkEngine(votes, by_group=by_group, gold=gold is not None)
    if not isinstance(votes, VoteTable):
        raise OptionError(f"No engine serves votes of type {type(votes).__name__}.")
    return LocalEngine(votes, by_group=by_group, gold=None if isinstance(gold, bool) else gold)


def _is_local(data: object) -> TypeGuard[TableLike | VoteTable]:
    """Return whether votes are not in Spark; asked by the name of a module, so that Spark need not be installed."""
    return not isinstance(data, SparkVotes) and not type(data).__module__.startswith("pyspark.")


def _plain(frame: object) -> object:
    """Return a frame of Spark, also for one with the interface of pandas."""
    of_pandas = type(frame).__module__.startswith("pyspark.pandas.")
    to_spark = getattr(frame, "to_spark", None) if of_pandas else None
    return frame if to_spark is None else to_spark()


def _column(true_labels: ByTask | None) -> str | None:
    if true_labels is None or isinstance(true_labels, str):
        return true_labels
    raise OptionError("True labels of votes in Spark are the name of a column of theirs: true_labels='truth'.")


def _columns(sensitive_features: ByTask | None) -> list[str]:
    if sensitive_features is None:
        return []
    names = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return [str(name) for name in names]
    raise OptionError(
        "The groups of votes in Spark are columns, by name: sensitive_features='group'; join a table of tasks first, "
        "or build the votes with spark_votes(frame, tasks=..., sensitive_features=...)."
    )
