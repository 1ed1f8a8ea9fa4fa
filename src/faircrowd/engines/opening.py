"""Which engine serves which votes."""

import os
import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from faircrowd.engines.local import LocalEngine
from faircrowd.errors import OptionError
from faircrowd.votes import VoteTable, as_votes
from faircrowd.votes.groups import gold_codes
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from faircrowd.engines.spark.votes import SparkVotes

__all__ = ["check_spark", "engine_of", "gold_of", "in_spark", "local_votes", "spark_session", "votes_of"]


def in_spark(data: Any) -> bool:
    """Say whether votes are a Spark frame, or were built of one."""
    return type(data).__module__.startswith(("pyspark.", "faircrowd.engines.spark.votes"))


def votes_of(data: Any, sensitive_features: Any = None, true_labels: Any = None) -> Any:
    """Return votes given as a table, a path or a frame as a VoteTable; of a Spark frame, as SparkVotes.

    ``true_labels`` are the name of a column in Spark; votes elsewhere take them by :func:`gold_of`.
    """
    if not in_spark(data):
        return as_votes(data, sensitive_features)
    from faircrowd.engines.spark.votes import SparkVotes, spark_votes

    if true_labels is not None and not isinstance(true_labels, str):
        raise OptionError("True labels of votes in Spark are the name of a column of theirs: true_labels='truth'.")
    if type(data).__module__.startswith("pyspark.pandas."):
        data = data.to_spark()
    if not isinstance(data, SparkVotes):
        return spark_votes(data, sensitive_features=_names(sensitive_features), true_labels=true_labels)
    if sensitive_features is not None:
        raise OptionError("The groups of votes in Spark are named when these are built: spark_votes(frame, ...).")
    if true_labels is not None and true_labels != data.true_labels:
        raise OptionError(f"Build the votes with spark_votes(frame, true_labels={true_labels!r}) to use these labels.")
    return data


def local_votes(data: Any, sensitive_features: Any = None, *, method: str) -> VoteTable:
    """Return votes as a VoteTable, for a method that does not run in Spark."""
    if in_spark(data):
        raise OptionError(
            f"{method} does not run in Spark; MajorityVote, Wawa, DawidSkene, OneCoinDawidSkene and BayesVote do."
        )
    return as_votes(data, sensitive_features)


def gold_of(votes: Any, true_labels: Any) -> tuple[Any, Any]:
    """Return the votes, with the classes of true labels added, and what ``engine_of`` takes as ``gold``."""
    if true_labels is None:
        return votes, None
    return gold_codes(votes, true_labels) if isinstance(votes, VoteTable) else (votes, True)


def engine_of(votes: "VoteTable | SparkVotes", *, by_group: bool = False, gold: Codes | bool | None = None) -> Any:
    """Return the engine that runs kernels over votes. In Spark the true labels are a column of the votes."""
    if isinstance(votes, VoteTable):
        return LocalEngine(votes, by_group=by_group, gold=None if isinstance(gold, bool) else gold)
    from faircrowd.engines.spark.engine import SparkEngine

    return SparkEngine(votes, by_group=by_group, gold=gold is not None)


def check_spark(master: str | None) -> None:
    """Raise with advice where Spark or Java is not installed."""
    if find_spec("pyspark") is None:
        raise OptionError("Spark is not installed; pip install 'faircrowd[spark]', and Java 17.")
    is_server = master is not None and master.startswith("sc://")
    if not (is_server or shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise OptionError("Java was not found; Spark needs Java 17 or later on the PATH, or JAVA_HOME.")


def spark_session(master: str | None = None, **settings: str) -> Any:
    """Return a session of Spark; raise with advice where Spark or Java is not installed.

    Parameters
    ----------
    master : str, optional
        ``local[2]``, ``spark://host:7077``, or ``sc://host:15002`` for Spark Connect. By default the session that
        there is, or what Spark's own settings name.
    """
    check_spark(master)
    from faircrowd.engines.spark.jobs import opened

    return opened(master, settings)


def _names(sensitive_features: Any) -> Any:
    if sensitive_features is None:
        return ()
    if isinstance(sensitive_features, str):
        return sensitive_features
    if isinstance(sensitive_features, list | tuple) and all(isinstance(name, str) for name in sensitive_features):
        return sensitive_features
    raise OptionError(
        "The groups of votes in Spark are columns, by name: sensitive_features='group'; join a table of tasks first, "
        "or build the votes with spark_votes(frame, tasks=..., sensitive_features=...)."
    )
