"""An order of judges and of tasks that depends on what the judges say, not on names or on the order of rows.

Sums of floating-point numbers, and the folds of a cross-fit, depend on an order. Tasks are ranked by what judges say
about them, judges by what they say about which tasks, tasks again by which judges say it, and so on until nothing
changes (colour refinement, as for graphs). What is then still alike can be exchanged without changing anything.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.log_pool import Logs
from faircrowd.votes.vocabulary import Codes

__all__ = ["NameFreeOrder", "name_free_order"]


class NameFreeOrder(NamedTuple):
    """The judges and the tasks in order."""

    judges: NDArray[np.int64]
    tasks: NDArray[np.int64]


def name_free_order(
    logs: Logs, truth: Codes, family: Codes, covariate: NDArray[np.float64] | None = None
) -> NameFreeOrder:
    """Order judges and tasks by what is known about them; names of classes count only if all else is equal.

    Parameters
    ----------
    logs : ndarray, shape (n_judges, n_tasks, n_classes)
        What the judges say, zero without a vote.
    truth : ndarray of int32, shape (n_tasks,)
    family : ndarray of int32, shape (n_judges,)
    covariate : ndarray, shape (n_tasks,), optional
        A number of each task.
    """
    n_judges, n_tasks, n_classes = logs.shape
    of_truth = np.take_along_axis(logs, truth[None, :, None], axis=2)
    said = _ranks(np.concatenate([of_truth, np.sort(logs, axis=2)], axis=2).reshape(-1, n_classes + 1))
    cells = said.reshape(n_judges, n_tasks)
    n_cells = int(said.max(initial=0)) + 1
    judge = _ranks(np.bincount(family)[family])  # by the size of the family
    task = np.zeros(n_tasks, dtype=np.int64) if covariate is None else _ranks(covariate)
    n_ranks = -1
    # Invariant: ranks only become finer, so that rounds end when their number stays the same.
    while n_ranks < (n_ranks := int(judge.max(initial=0) + task.max(initial=0))):
        task = _ranks(np.column_stack([task, np.sort(judge[:, None] * n_cells + cells, axis=0).T]))
        judge = _ranks(np.column_stack([judge, np.sort(task[None, :] * n_cells + cells, axis=1)]))
    plain = _ranks(logs.reshape(-1, n_classes)).reshape(n_judges, n_tasks)
    tasks = np.lexsort((truth, task))
    judges = np.lexsort((_ranks(plain[:, tasks]), judge))
    tasks = np.lexsort((_ranks(plain[judges].T), truth, task))
    return NameFreeOrder(judges, tasks)


def _ranks(rows: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each row among the distinct rows, in order.

    Examples
    --------
    >>> _ranks(np.array([[2, 1], [1, 5], [2, 1]])).tolist()
    [1, 0, 1]
    """
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
