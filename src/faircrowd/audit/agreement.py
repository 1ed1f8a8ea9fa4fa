r"""Agreement of the crowd beyond chance: Krippendorff's alpha for nominal labels.

Tasks u with :math:`m_u \ge 2` votes, :math:`n_{uk}` of them for class k, can be paired. With
:math:`n_k = \sum_u n_{uk}` and :math:`n = \sum_k n_k` over these tasks, alpha is :math:`1 - D_o / D_e`, where

.. math:: D_o = \sum_u \sum_k \frac{n_{uk} (m_u - n_{uk})}{m_u - 1}, \qquad
          D_e = \sum_k \frac{n_k (n - n_k)}{n - 1}.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Displayed
from faircrowd._kernels import kernel
from faircrowd.engines import Block, LocalEngine
from faircrowd.votes import Vocabulary, VoteTable

__all__ = ["Agreement", "krippendorff_alpha"]


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Displayed):
    """Krippendorff's alpha: 1 for full agreement, 0 for agreement as by chance, negative for less than that.

    Attributes
    ----------
    alpha : float
        Over all tasks. NaN where it is not defined: no task has two votes, or all votes that can be paired are
        equal, so that there would be no disagreement by chance either.
    by_group : ndarray, shape (n_groups,)
        Alpha within each group, compared with chance in that group; empty without groups.
    groups : Vocabulary or None
    tasks, votes : ndarray of int64, shape (n_groups,)
        Number of tasks with two votes or more, and of votes on them, in each group (overall, without groups).
    single : int
        Number of tasks with one vote, which carry no information about agreement and are left out.
    """

    alpha: float
    by_group: NDArray[np.float64]
    groups: Vocabulary | None
    tasks: NDArray[np.int64]
    votes: NDArray[np.int64]
    single: int


def krippendorff_alpha(votes: VoteTable) -> Agreement:
    """Return the agreement of the votes, over all tasks and by group.

    Workers need not vote on every task. Counts are integers, so the result does not depend on the order of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> import faircrowd as fc
    >>> votes = fc.read_votes(pd.DataFrame({
    ...     "task": [1, 1, 2, 2, 3, 3, 4], "worker": [1, 2, 1, 2, 1, 2, 1], "label": list("aabbabb"),
    ... }))
    >>> agreement = krippendorff_alpha(votes)
    >>> round(agreement.alpha, 3), agreement.single
    (0.444, 1)
    """
    n_groups = 1 if votes.groups is None else len(votes.groups)
    most = int(votes.votes_per_task.max(initial=0))
    engine = LocalEngine(votes, by_group=True)
    tasks, pairs, labels = engine.reduce(_disagreement, n_groups, votes.n_classes, most)
    paired = tasks.copy()
    paired[:, :2] = 0
    by_group = np.array([_alpha(p, n) for p, n in zip(pairs, labels, strict=True)])
    return Agreement(
        alpha=_alpha(pairs.sum(axis=0), labels.sum(axis=0)),
        by_group=by_group if votes.groups is not None else np.empty(0),
        groups=votes.groups,
        tasks=paired.sum(axis=1),
        votes=labels.sum(axis=1),
        single=int(tasks[:, 1].sum()),
    )


def _alpha(pairs: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    """Return alpha from the ordered pairs of votes that differ, by votes per task, and the votes of each class."""
    total = int(labels.sum())
    chance = float(sum(n * (total - n) for n in labels.tolist()))
    if chance == 0:
        return float("nan")
    observed = float((pairs[2:] / np.arange(1, pairs.size - 1)).sum())
    return 1.0 - observed * (total - 1) / chance


@kernel
def _disagreement(
    block: Block, n_groups: int, n_classes: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count tasks and pairs of differing votes by group and votes per task, and labels that can be paired."""
    _, offsets, _, label, group, _ = block
    tasks = np.zeros((n_groups, most + 2), np.int64)
    pairs = np.zeros((n_groups, most + 2), np.int64)
    labels = np.zeros((n_groups, n_classes), np.int64)
    counts = np.zeros(n_classes, np.int64)
    for t in range(offsets.size - 1):
        start, stop = offsets[t], offsets[t + 1]
        g, m = (group[t] if group.size else 0), stop - start
        tasks[g, m] += 1
        if m < 2:
            continue
        for i in range(start, stop):
            counts[label[i]] += 1
        for i in range(start, stop):
            pairs[g, m] += m - counts[label[i]]
            labels[g, label[i]] += 1
        for i in range(start, stop):
            counts[label[i]] = 0
    return tasks, pairs, labels
