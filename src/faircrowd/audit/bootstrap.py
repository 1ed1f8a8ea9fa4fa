r"""Intervals for the gap by the bootstrap: tasks and workers are both a sample.

**What is covered.** The gap of majority labels of a crowd like this one: other tasks of the groups, *and other
workers*. Where workers lean, this is wider than an interval over tasks alone, and rightly so: labels that share a
worker err together, and more tasks of the same few workers do not mend that.

**Replicates.** The Bayesian pigeonhole bootstrap. Every worker has a random weight, exponential with mean 1 (whole
weights would leave tasks without voters and make ties that the crowd does not have). The votes of a task are counted
by the weights of their workers, and its label is the majority of these. Then as many tasks as a group has are
drawn from the group, with replacement, each in proportion to the mean weight of its voters: where one worker
labels a task there is no majority to change, and it is through this that the worker counts. A draw of tasks
is a multinomial draw of their labels, so that no task needs a weight of its own. One task is added to each group,
spread over the classes: a rate of 0 or 1 in a small group is not certain.

**The interval.** A gap is a maximum of absolute values: its replicates lie too high where rates are close. A reweighted
majority is the majority of fewer workers: replicates lie too low. So no replicate of the gap is used. With
:math:`r^*` the replicates of the rates and :math:`\bar r^*` their mean,

.. math:: \text{gap} \pm c, \quad c = \text{quantile of}\;
    \max_k \big(\max_a - \min_a\big)\,(r^*_{ak} - \bar r^*_{ak}):

a gap cannot be further from the true one than the largest error of a difference of rates, and these are centred
before they are compared. As no bootstrap of two crossed factors is exact, this one errs on the wide side (Owen).

References
----------
A. B. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007), 386-411; A. B. Owen and D. Eckles,
Bootstrapping data arrays of arbitrary order, Annals of Applied Statistics 6 (2012), 895-927.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_choice, check_confidence, check_count, check_random_state
from faircrowd.aggregate.posterior import TIES, choose
from faircrowd.aggregate.weighted_votes import weigh
from faircrowd.audit.intervals import GapInterval, check_counts
from faircrowd.audit.workers.worker_counts import groups_in
from faircrowd.engines import LocalEngine
from faircrowd.errors import InputError
from faircrowd.fair.gap import gap_of
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.votes import VoteTable

__all__ = ["bootstrap_counts", "bootstrap_gap"]

_AT_ONCE = 128
_MOST_WEIGHTS = 1 << 22


def bootstrap_gap(
    votes: VoteTable,
    *,
    ties: str = "first",
    replicates: int = 2000,
    confidence: float = 0.95,
    random_state: int = 0,
) -> GapInterval:
    """Return an interval for the gap of majority labels, over tasks and workers.

    Parameters
    ----------
    votes : VoteTable
        With groups.
    ties : {"first", "last"}
        Which class a tie of votes goes to, in the labels as they are. (Random weights are never tied.)
    replicates : int
    confidence : float
    random_state : int or numpy Generator

    Examples
    --------
    >>> from faircrowd import read_votes, simulate_crowd
    >>> crowd = simulate_crowd(400, 20, random_state=1)
    >>> votes = read_votes(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> found = bootstrap_gap(votes, replicates=500)
    >>> round(found.gap, 3), 0 <= found.low < found.gap < found.high <= 1
    (0.123, True)
    """
    check_choice("ties", ties, TIES)
    group, groups = groups_in(votes)
    check_groups(groups)
    replicates, confidence = check_count("replicates", replicates, least=1), check_confidence("confidence", confidence)
    for_workers, for_tasks = check_random_state(random_state).spawn(2)
    engine, n_groups, n_classes = LocalEngine(votes, by_group=True), len(groups), votes.n_classes
    labels = choose(weigh(engine, votes, np.ones(votes.n_workers)), ties)
    counts = np.bincount(group * n_classes + labels, minlength=n_groups * n_classes)
    laws = np.empty((replicates, n_groups, n_classes))
    step = min(_AT_ONCE, max(_MOST_WEIGHTS // votes.n_workers, 1))
    for first in range(0, replicates, step):
        part = laws[first : first + step]
        weights = for_workers.exponential(size=(len(part), votes.n_workers))
        (mass,) = engine.reduce(_replicate, np.ascontiguousarray(weights.T), n_groups, n_classes)
        part[:] = mass.transpose(2, 0, 1)
    return _interval(
        counts.reshape(n_groups, n_classes).astype(np.float64),
        laws,
        confidence,
        for_tasks,
        f"bootstrap of workers and tasks, {replicates:,} replicates",
    )


def bootstrap_counts(
    counts: ArrayLike, *, replicates: int = 2000, confidence: float = 0.95, random_state: int = 0
) -> GapInterval:
    """Return an interval for the gap of given labels, over tasks only.

    Parameters
    ----------
    counts : array-like, shape (n_groups, n_classes)
        How many tasks of each group have each label. A draw of tasks with replacement, a group at a time, is a
        multinomial draw from these.
    replicates, confidence, random_state
        As in :func:`bootstrap_gap`.
    """
    table = check_counts(counts)
    if (table != np.rint(table)).any():
        raise InputError("counts must be whole numbers of tasks to draw tasks from them.")
    replicates, confidence = check_count("replicates", replicates, least=1), check_confidence("confidence", confidence)
    laws = np.broadcast_to(table, (replicates, *table.shape))
    rng = check_random_state(random_state)
    return _interval(table, laws, confidence, rng, f"bootstrap of tasks, {replicates:,} replicates")


def _interval(
    counts: NDArray[np.float64], laws: NDArray[np.float64], confidence: float, rng: np.random.Generator, method: str
) -> GapInterval:
    """Draw the tasks' labels of each replicate from its law, and see how far the rates go from their mean."""
    sizes = counts.sum(axis=1)
    law = laws / laws.sum(axis=2, keepdims=True)
    law = (law * sizes[:, None] + 1 / law.shape[2]) / (sizes[:, None] + 1)
    rates = rng.multinomial(sizes.astype(np.int64), law) / sizes[:, None]
    errors = np.ptp(rates - rates.mean(axis=0), axis=1).max(axis=1)
    reach = float(np.quantile(errors, confidence, method="higher"))
    gap = gap_of(counts / sizes[:, None])
    return GapInterval(max(gap - reach, 0.0), min(gap + reach, 1.0), gap, confidence, method)


@numba.njit(cache=True, nogil=True)
def _replicate(block: Any, weights: Any, n_groups: int, n_classes: int) -> Any:
    """Sum, a group, label and replicate, the mean weight of the voters of each task with that label."""
    _, offsets, worker, label, group, _ = block
    n_replicates = weights.shape[1]
    mass = np.zeros((n_groups, n_classes, n_replicates))
    most = 1
    for t in range(offsets.size - 1):
        most = max(most, offsets[t + 1] - offsets[t])
    scores = np.empty((min(most, n_classes), n_replicates))
    classes = np.empty(scores.shape[0], np.int32)
    for t in range(offsets.size - 1):
        seen = 0  # only the classes that someone voted for have a row of scores
        for i in range(offsets[t], offsets[t + 1]):
            row = 0
            while row < seen and classes[row] != label[i]:
                row += 1
            if row == seen:
                classes[seen] = label[i]
                scores[seen] = 0.0
                seen += 1
            own = weights[worker[i]]
            for b in range(n_replicates):
                scores[row, b] += own[b]
        share = 1.0 / (offsets[t + 1] - offsets[t])
        into = mass[group[t]]
        for b in range(n_replicates):
            best, total = 0, scores[0, b]
            for row in range(1, seen):
                total += scores[row, b]
                if scores[row, b] > scores[best, b]:
                    best = row
            into[classes[best], b] += total * share
    return (mass,)
