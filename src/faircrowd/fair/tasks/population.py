"""Some tasks as the kernels of the fair rule see them, and the three verbs by which kernels are run over all.

A kernel is a function of :class:`Tasks` and of parameters. ``reduce`` adds up the integers it returns, ``gather`` joins
the rows it returns, in no order, ``emit`` gives a row a task. Solvers use nothing else, so tasks may lie anywhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import task_keys
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

__all__ = ["Population", "Tasks"]


class Tasks(NamedTuple):
    """Some tasks.

    Attributes
    ----------
    posterior : ndarray, shape (n_tasks, n_classes)
    group, own : ndarray of int32, shape (n_tasks,)
        The group, and the aggregator's own label.
    log_odds : ndarray, shape (n_tasks,), or empty where they are not known
    evidence : ndarray of int64, shape (n_tasks,), or empty
    ids : Vocabulary
        The id of task i is number ``first + i``.
    first : int
    """

    posterior: NDArray[np.float64]
    group: Codes
    own: Codes
    log_odds: NDArray[np.float64]
    evidence: NDArray[np.int64]
    ids: Vocabulary
    first: int = 0

    def hashes(self, rows: NDArray[np.int64], random_state: int) -> NDArray[np.uint64]:
        """Return the seeded hash of the ids of some tasks."""
        return task_keys(self.ids, rows + self.first, random_state)

    def is_first(self, rows: NDArray[np.int64], last: tuple[int, int], random_state: int) -> NDArray[np.bool_]:
        """Say of some tasks whether they come no later than one of this evidence and hash; more evidence is first."""
        evidence, highest = last
        if not self.evidence.size:
            return self.hashes(rows, random_state) <= np.uint64(highest)
        found = self.evidence[rows]
        first, at = found > evidence, np.flatnonzero(found == evidence)
        first[at] = self.hashes(rows[at], random_state) <= np.uint64(highest)
        return first


class Population(Protocol):
    """Tasks of known number a group, wherever they lie."""

    @property
    def ties(self) -> str:
        """The class of the aggregator's own label where its posterior is tied."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of tasks of each group."""

    @property
    def sorts(self) -> bool:
        """Whether ``gather`` of a number a task, and a sort of it, is quick."""

    @property
    def has_odds(self) -> bool:
        """Whether log-odds are known."""

    def reduce(self, kernel: Callable[..., tuple[NDArray[np.int64], ...]], *parameters: Any) -> list[NDArray[np.int64]]:
        """Add up what a kernel returns for some tasks over all."""

    def gather(self, kernel: Callable[..., tuple[NDArray[Any], ...]], *parameters: Any) -> list[NDArray[Any]]:
        """Join what a kernel returns for some tasks over all, in no order."""

    def emit(self, kernel: Callable[..., NDArray[Any]], *parameters: Any) -> Any:
        """Return what a kernel returns, a row a task."""
