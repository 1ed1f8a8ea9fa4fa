"""Kernels over packed blocks in Spark: the verbs of an engine, by the DataFrame interface only."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.engines.local import VOTES_PER_BLOCK
from faircrowd.engines.protocols import SumKernel, TaskKernel
from faircrowd.engines.spark.blocks import Named, View, empty_block
from faircrowd.engines.spark.passes import COUNTS, PARTS, SUMS, add_sums, gather_rows, join_sums, sum_rows, too_much
from faircrowd.engines.spark.session import collected
from faircrowd.engines.spark.task_rows import SparkRows
from faircrowd.engines.spark.votes import SparkVotes
from faircrowd.errors import InputError, OptionError
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["SparkEngine", "SparkRows"]

_MAX_VOTES_PER_BLOCK = 1 << 24
_PARAMETER_BYTES = 100 << 20
_RESULT_BYTES = 1 << 30
_MAX_PLACES = 16
"""Sums of partitions meet in at most this many places before they come to the driver."""


class SparkEngine:
    """Run kernels over the packed blocks of a Spark frame.

    Kernels are those of :class:`~faircrowd.engines.LocalEngine`, with two conditions. They are functions of a
    module, looked up by name where they run, so executors need faircrowd installed. And tasks are not numbered here:
    a kernel must not index arrays with one row per task by ``block.first``. With ``ids=True`` a kernel is called with
    the ids of the block's tasks, in order, as a :class:`~faircrowd.votes.Vocabulary` after the block.

    Parameters travel with the code of each pass. A pass returns, for each partition, the sums that are not zero; where
    that is too much for the driver, the sums of several partitions are added up before they come there.

    Parameters
    ----------
    votes : SparkVotes
    by_group : bool
        Whether kernels see the groups of the tasks.
    gold : bool
        Whether kernels see the known true labels of the tasks.
    parameter_bytes : int
        The most that the parameters of a pass may take; Spark Connect takes messages of 128 MiB.
    result_bytes : int
        The most that the results of all partitions may take on the driver; by default as much as Spark's own
        ``spark.driver.maxResultSize``.
    """

    def __init__(
        self,
        votes: SparkVotes,
        *,
        by_group: bool = False,
        gold: bool = False,
        parameter_bytes: int = _PARAMETER_BYTES,
        result_bytes: int = _RESULT_BYTES,
    ) -> None:
        self.votes = votes
        # As in memory: statistics may hold a matrix per worker, and a block should have more votes than that.
        least = int(np.clip(votes.n_workers * votes.n_classes**2, VOTES_PER_BLOCK, _MAX_VOTES_PER_BLOCK))
        self.view = View(by_group and votes.groups is not None, gold, False, least, **votes.codes)
        self.parameter_bytes, self.result_bytes = parameter_bytes, result_bytes

    def reduce(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the element-wise sum, over all tasks, of the arrays of integers that a kernel returns.

        Raises
        ------
        InputError
            If the parameters or the sums are too large for one driver.
        FaircrowdError
            If the tasks that came back are not those that the votes have.
        """
        named = Named.of(kernel)
        total = self._of_nothing(kernel, parameters, ids)
        if any(part.dtype != np.int64 for part in total):
            raise OptionError(
                f"{named.name} returns sums that are not 64-bit integers; other sums depend on their order."
            )
        places = self._places(sum(part.nbytes for part in total))
        tasks = np.zeros_like(self.votes.tasks_per_group)
        run = partial(sum_rows, kernel=named, parameters=parameters, n_groups=tasks.size)
        add_sums(self._pass(run, SUMS, ids, [tasks.size, *(part.size for part in total)], places), tasks, total)
        self.votes.check_tasks(tasks)
        return total

    def gather(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the arrays that a kernel returns for each block, concatenated on the driver in any order.

        The arrays of a block have one length, which may be any: 0 for a block that has nothing to return.

        Raises
        ------
        InputError
            If the parameters or the arrays are too large for one driver. A partition stops once its own arrays are.
        FaircrowdError
            If the tasks that were seen are not those that the votes have.
        """
        named = Named.of(kernel)
        empty = self._of_nothing(kernel, parameters, ids)
        tasks = np.zeros_like(self.votes.tasks_per_group)
        run = partial(
            gather_rows, kernel=named, parameters=parameters, n_groups=tasks.size, max_bytes=self.result_bytes
        )
        found = self._pass(run, PARTS, ids)
        if (size := found.nbytes) > self.result_bytes:
            raise InputError(too_much(named.name, size, self.result_bytes))
        parts: list[list[NDArray[Any]]] = [[part] for part in empty]
        for number, part in zip(found.column("array").to_pylist(), found.column("part"), strict=True):
            if number == COUNTS:
                tasks += np.frombuffer(part.as_buffer(), np.int64)
            else:
                like = empty[number]
                parts[number].append(np.frombuffer(part.as_buffer(), like.dtype).reshape(-1, *like.shape[1:]))
        self.votes.check_tasks(tasks)
        return [np.concatenate(arrays) for arrays in parts]

    def emit(self, kernel: TaskKernel, *parameters: object, ids: bool = False) -> SparkRows:
        """Return one row per task: what a kernel returns for it, as rows that Spark makes when they are needed."""
        self._check_parameters(parameters)
        return SparkRows(self.votes, self.view._replace(with_ids=ids), ((kernel, parameters),))

    def _pass(
        self,
        run: Callable[..., Iterator[pa.RecordBatch]],
        schema: str,
        ids: bool,
        sizes: list[int] | None = None,
        places: int = 0,
    ) -> pa.Table:
        view = self.view._replace(with_ids=ids)
        made = self.votes.stored.select(*view.columns).mapInArrow(partial(run, view=view), schema)
        if places:  # the sums of all partitions are too many for the driver: they meet in a few places first
            made = made.repartition(places).mapInArrow(partial(join_sums, sizes=sizes or []), schema)
        return collected(made)

    def _of_nothing(self, kernel: SumKernel, parameters: tuple[object, ...], ids: bool) -> list[NDArray[Any]]:
        """Return what a kernel returns for no task: sums of zero, with the types of its results."""
        self._check_parameters(parameters)
        more = (Vocabulary(self.votes.no_ids),) if ids else ()
        return [np.array(part) for part in kernel(empty_block(), *more, *parameters)]

    def _check_parameters(self, parameters: tuple[object, ...]) -> None:
        moved = (*parameters, *self.view)
        size = sum(part.nbytes for part in moved if isinstance(part, np.ndarray))
        if size > self.parameter_bytes:
            raise InputError(
                f"The parameters of {self.votes.n_workers:,} workers and {self.votes.n_classes:,} classes take "
                f"{size / 1e6:,.0f} MB, and {self.parameter_bytes / 1e6:,.0f} MB can be sent with a pass; merge rare "
                "classes, use a model without matrices (MajorityVote, Wawa), or raise parameter_bytes."
            )

    def _places(self, dense: int) -> int:
        """Return in how many places sums must meet before they come to the driver; 0 if they may come at once."""
        votes = self.votes
        # A vote touches a row of its worker's matrix, and a touched cell is sent as an index and a sum.
        if min(dense * votes.partitions, 16 * votes.n_classes * votes.n_votes) <= self.result_bytes:
            return 0
        places = min(self.result_bytes // dense, _MAX_PLACES)
        if places < 1:
            raise InputError(
                f"The sums of {votes.n_workers:,} workers and {votes.n_classes:,} classes take {dense / 1e9:,.1f} GB "
                f"on the driver, and {self.result_bytes / 1e9:,.1f} GB are allowed; raise result_bytes and "
                "spark.driver.maxResultSize, or use a model without matrices (MajorityVote, Wawa)."
            )
        return places
