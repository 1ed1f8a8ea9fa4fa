"""Votes in memory, split into blocks of tasks that threads work on."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircrowd._threads import available_threads
from faircrowd.engines.protocols import SumKernel, TaskKernel
from faircrowd.storage.mapped_arrays import release
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = ["VOTES_PER_BLOCK", "Block", "LocalEngine", "watch_blocks"]

VOTES_PER_BLOCK = 1 << 16
"""A block has at least this many votes, so that calling a kernel costs little beside its work."""
_MAX_BLOCKS = 64

ResultT = TypeVar("ResultT")
_watcher: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


class Block(NamedTuple):
    """All votes of some tasks, and all that a kernel sees of the data.

    Attributes
    ----------
    first : int
        Number of the block's first task; a kernel adds it to index arrays with one row per task.
    offsets : ndarray of int64, shape (n_tasks + 1,)
        The votes of the block's task ``t`` are ``[offsets[t]:offsets[t + 1]]`` of ``worker`` and ``label``.
    worker, label : ndarray of int32
    group : ndarray of int32, shape (n_tasks,)
        The group of each task; empty where there are no groups.
    gold : ndarray of int32, shape (n_tasks,)
        The known true label of each task, -1 where it is not known; empty where none is.
    """

    first: int
    offsets: NDArray[np.int64]
    worker: Codes
    label: Codes
    group: Codes
    gold: Codes


class LocalEngine:
    """Run kernels over the votes of a table.

    A kernel is a pure function of a block (all votes of some tasks) and of parameters. The blocks depend on the votes
    only, never on the number of threads, and sums are made in the order of the blocks: results are the same for
    any number of threads.

    Parameters
    ----------
    votes : VoteTable
    by_group : bool
        Whether kernels see the groups of the tasks.
    gold : ndarray of int32, optional
        True label of each task, -1 where it is not known.
    threads : int, optional
        Number of threads; by default FAIRCROWD_THREADS, or the processors this process may use.
    """

    def __init__(
        self,
        votes: VoteTable,
        *,
        by_group: bool = False,
        gold: Codes | None = None,
        threads: int | None = None,
    ) -> None:
        self._tasks = votes.tasks
        nothing = np.empty(0, dtype=np.int32)
        group = votes.group if by_group and votes.group is not None else nothing
        gold = nothing if gold is None else gold
        # A block's statistics may hold a confusion matrix per worker; more blocks than this would cost more
        # than they gain.
        least = max(VOTES_PER_BLOCK, votes.n_workers * votes.n_classes**2)
        n_blocks = int(np.clip(votes.n_votes // least, 1, _MAX_BLOCKS))
        wanted = np.linspace(0, votes.n_votes, n_blocks + 1)[1:-1]
        cuts = np.concatenate([[0], np.searchsorted(votes.offsets, wanted), [votes.n_tasks]])
        self.blocks = [
            Block(int(a), votes.offsets[a : b + 1], votes.worker, votes.label, group[a:b], gold[a:b])
            for a, b in pairwise(cuts)
            if b > a or n_blocks == 1
        ]
        self.threads = min(threads or available_threads(), len(self.blocks))

    def reduce(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the element-wise sum, over the blocks, of the arrays that a kernel returns."""
        total: list[NDArray[Any]] = []
        for part in self.each(kernel, *parameters, ids=ids):
            if not total:
                total = list(part)
            else:
                for i in range(len(total)):
                    total[i] += part[i]
        return total

    def gather(self, kernel: SumKernel, *parameters: object, ids: bool = False) -> list[NDArray[Any]]:
        """Return the arrays that a kernel returns for the blocks, each concatenated in the order of the blocks."""
        parts = zip(*self.each(kernel, *parameters, ids=ids), strict=True)
        return [np.concatenate(arrays) for arrays in parts]

    def emit(self, kernel: TaskKernel, *parameters: object, ids: bool = False) -> NDArray[Any]:
        """Return one row per task: the rows that a kernel returns for each block, in order."""
        n_tasks = sum(block.offsets.size - 1 for block in self.blocks)
        rows: NDArray[Any] | None = None
        for block, part in zip(self.blocks, self.each(kernel, *parameters, ids=ids), strict=True):
            if len(self.blocks) == 1:
                return np.asarray(part)
            if rows is None:  # filled as the blocks come in, so that no second copy is held
                rows = np.empty((n_tasks, *part.shape[1:]), part.dtype)
            rows[block.first : block.first + len(part)] = part
        assert rows is not None  # noqa: S101 - there is at least one block
        return rows

    def each(self, kernel: Callable[..., ResultT], *parameters: object, ids: bool = False) -> Iterator[ResultT]:
        """Yield what a kernel returns for each block, in order; the three verbs are made of this."""
        watcher = _watcher.get()
        for done, result in enumerate(self._results(kernel, parameters, ids), 1):
            if watcher is not None:
                watcher(done, len(self.blocks))
            yield result

    def _results(self, kernel: Callable[..., ResultT], parameters: tuple[object, ...], ids: bool) -> Iterator[ResultT]:
        if self.threads == 1:
            yield from (_run(kernel, block, (*self._ids(block, ids), *parameters)) for block in self.blocks)
            return
        # No more results wait than there are threads: they may be large.
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[ResultT]] = deque()
            for block in self.blocks:
                waiting.append(pool.submit(_run, kernel, block, (*self._ids(block, ids), *parameters)))
                if len(waiting) > self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _ids(self, block: Block, ids: bool) -> tuple[Vocabulary, ...]:
        return (self._tasks.take(np.arange(block.first, block.first + block.offsets.size - 1)),) if ids else ()


def _run(kernel: Callable[..., ResultT], block: Block, parameters: tuple[object, ...]) -> ResultT:
    """Run a kernel on a block, and release the votes from memory if they are mapped from a file."""
    result = kernel(block, *parameters)
    votes = slice(int(block.offsets[0]), int(block.offsets[-1]))
    release(block.worker[votes], block.label[votes], block.offsets)
    return result


@contextmanager
def watch_blocks(watcher: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``watcher(blocks done, blocks in all)`` after each block of each pass made inside the ``with`` block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
