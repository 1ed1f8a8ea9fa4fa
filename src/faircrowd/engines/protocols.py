"""What all kinds of votes and all engines have in common, wherever the votes are kept.

``Votes`` is fulfilled by :class:`faircrowd.VoteTable` (in memory, or mapped from files) and by
:class:`faircrowd.engines.spark.votes.SparkVotes`; ``Engine`` by :class:`faircrowd.engines.LocalEngine` and
:class:`faircrowd.engines.spark.engine.SparkEngine`. A model that uses only these runs in memory, streamed and in Spark.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.votes.account import VotesReport
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["Engine", "Gold", "Role", "SparkFrame", "SumKernel", "TaskKernel", "Votes"]

Role: TypeAlias = Literal["worker", "label", "group"]
"""What has codes that can be replaced; see :meth:`Votes.recoded`."""

Gold: TypeAlias = Codes | bool | None
"""Known true labels: the code of each task (-1 where it is not known), or, in Spark, whether the votes hold them."""

SumKernel: TypeAlias = Callable[..., tuple[NDArray[Any], ...]]
"""A pure function of a block of votes and of parameters that returns arrays."""

TaskKernel: TypeAlias = Callable[..., NDArray[Any]]
"""A pure function of a block of votes and of parameters that returns one row per task of the block."""

RowsT_co = TypeVar("RowsT_co", covariant=True)


class Votes(Protocol):
    """Votes as codes: what models need of them."""

    @property
    def workers(self) -> Vocabulary:
        """What the codes of workers stand for."""

    @property
    def classes(self) -> Vocabulary:
        """What the codes of labels stand for."""

    @property
    def groups(self) -> Vocabulary | None:
        """What the codes of groups stand for; None without groups."""

    @property
    def report(self) -> VotesReport:
        """What happened to every row of the source."""

    @property
    def style(self) -> Style:
        """How results are given back."""

    @property
    def n_votes(self) -> int:
        """Number of votes."""

    @property
    def n_tasks(self) -> int:
        """Number of tasks with at least one vote."""

    @property
    def n_workers(self) -> int:
        """Number of workers with at least one vote (or known to a fitted model)."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def votes_per_worker(self) -> NDArray[np.int64]:
        """Number of votes of each worker."""

    @property
    def most_votes(self) -> int:
        """Number of votes of the task that has the most."""

    def recoded(self, role: Role, vocabulary: Vocabulary, place: Codes) -> Self:
        """Return the votes with the code ``place[i]`` in place of ``i``, and what the new codes stand for.

        A worker's code may run past the vocabulary: those are the workers that a model does not know.
        """

    def notes(self) -> list[str]:
        """Return what users should know about the rows, and about labels or groups that look alike."""


class Engine(Protocol[RowsT_co]):
    """Runs kernels over blocks of votes. A kernel is a pure function of a block of all votes of some tasks.

    With ``ids=True`` a kernel is called with the ids of the block's tasks, in order, after the block.
    """

    def reduce(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the element-wise sum, over the blocks, of the arrays that a kernel returns."""

    def gather(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the arrays that a kernel returns for the blocks, each concatenated; the order may be any."""

    def emit(self, kernel: TaskKernel, *parameters: object, ids: bool = False) -> RowsT_co:
        """Return one row per task: what a kernel returns for the tasks of each block."""


class SparkFrame(Protocol):
    """What is used of a frame of Spark (``pyspark.sql.DataFrame``) outside of ``engines/spark``."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    def drop(self, *cols: str) -> Self:
        """Return the frame without some columns."""

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Collect the frame as a table of Arrow."""
