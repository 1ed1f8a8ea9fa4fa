r"""Bootstrap intervals for the gap, where both the tasks and the workers are a sample.

**What is covered.** The gap of majority labels of a crowd like this one: other tasks of the groups, *and other
workers*. Where workers treat groups differently, this is wider than an interval over tasks alone, and rightly so:
labels that share a worker are wrong together, and more tasks of the same few workers do not change that.

**Replicates.** The Bayesian pigeonhole bootstrap. Every worker has a random weight, exponential with mean 1 (integer
weights would leave tasks without voters and create ties that the crowd does not have). The votes of a task are counted
with the weights of their workers, and its label is the weighted majority. Then as many tasks as a group has are
drawn from the group, with replacement, in proportion to the mean weight of their voters: this is how a worker counts
who is the only voter of a task, where there is no majority to change. A draw of tasks is a multinomial draw of their
labels, so that no task needs a weight of its own. One task is added to each group, divided equally among the classes,
because a rate of 0 or 1 in a small group is not certain.

**The interval.** A gap is a maximum of absolute values, so its replicates are too high where rates are close. A
reweighted majority is effectively the majority of fewer workers, so its replicates are too low. So no replicate of the
gap is used. With :math:`r^*` the replicates of the rates and :math:`\bar r^*` their mean,

.. math:: \text{gap} \pm c, \quad c = \text{quantile of}\;
    \max_k \big(\max_a - \min_a\big)\,(r^*_{ak} - \bar r^*_{ak}):

a gap cannot be further from the true gap than the largest error of a difference of rates, and these errors are centred
before they are compared. No bootstrap of two crossed factors is exact; this one is too wide rather than too narrow
(Owen).

**Few workers.** A spread that is estimated from w workers is itself uncertain. The errors that are due to workers, the
deviations of a replicate's masses from their mean, are therefore multiplied by the ratio of the quantiles of Student's
distribution with w - 1 degrees of freedom and of the normal distribution; the errors of drawing tasks are not. Where
tasks have one vote, the variance of exponential weights is also short of that of new workers by a factor of
(w - 1) / (w + 1), which is made good; with several votes, a reweighted majority varies more, and that makes up for it.
`benchmarks/bootstrap.py` prints the coverage.

References
----------
A. B. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007), 386-411; A. B. Owen and D. Eckles,
Bootstrapping data arrays of arbitrary order, Annals of Applied Statistics 6 (2012), 895-927.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from faircrowd._checks import check_choice, check_confidence, check_count, check_random_state
from faircrowd._kernels import kernel
from faircrowd._steps import count_steps
from faircrowd.aggregate.posterior import TIES, choose
from faircrowd.aggregate.weighted_votes import weigh
from faircrowd.audit.intervals import GapInterval
from faircrowd.audit.workers.worker_counts import groups_in
from faircrowd.engines import Block, LocalEngine
from faircrowd.fair.gap import gap_of
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.votes import VoteTable

__all__ = ["bootstrap_gap"]

_MAX_REPLICATES_AT_ONCE = 128
_MAX_WEIGHTS_AT_ONCE = 1 << 22


def bootstrap_gap(
    votes: VoteTable,
    *,
    ties: str = "first",
    replicates: int = 2000,
    confidence: float = 0.95,
    random_state: int = 0,
) -> GapInterval:
    """Return an interval for the gap of majority labels, where tasks and workers are a random sample.

    Parameters
    ----------
    votes : VoteTable
        With groups.
    ties : {"first", "last"}
        Which class a tie of votes goes to, in the labels of the actual votes. (Random weights are never tied.)
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
    masses = np.empty((replicates, n_groups, n_classes))
    step = min(_MAX_REPLICATES_AT_ONCE, max(_MAX_WEIGHTS_AT_ONCE // votes.n_workers, 1))
    for first in count_steps(range(0, replicates, step), "draw of workers, part"):
        part = masses[first : first + step]
        weights = for_workers.exponential(size=(len(part), votes.n_workers))
        (mass,) = engine.reduce(_replicate, np.ascontiguousarray(weights.T), n_groups, n_classes)
        part[:] = mass.transpose(2, 0, 1)
    return _interval(
        counts.reshape(n_groups, n_classes).astype(np.float64),
        masses,
        confidence,
        for_tasks,
        f"bootstrap of workers and tasks, {replicates:,} replicates",
        _few_workers(votes.votes_per_worker, float(np.mean(np.diff(votes.offsets) == 1)), confidence),
    )


def _few_workers(votes_per_worker: NDArray[np.int64], alone: float, confidence: float) -> float:
    """Return the factor by which the errors that are due to workers are widened, because workers are few.

    ``alone`` is the share of the tasks with one vote.
    """
    given = votes_per_worker.astype(np.float64)
    w = max(float(given.sum() ** 2 / (given**2).sum()), 2.0)  # as many workers with equally many votes
    tail = 0.5 + confidence / 2
    return float(np.sqrt(1 + alone * 2 / (w - 1)) * stdtrit(w - 1, tail) / ndtri(tail))


def _interval(
    counts: NDArray[np.float64],
    masses: NDArray[np.float64],
    confidence: float,
    rng: np.random.Generator,
    method: str,
    widen: float = 1.0,
) -> GapInterval:
    """Draw the labels of each replicate by the mass of each label, and measure how far rates are from their mean."""
    sizes = counts.sum(axis=1)
    probabilities = masses / masses.sum(axis=2, keepdims=True)
    if widen != 1:
        centre = probabilities.mean(axis=0)
        probabilities = np.clip(centre + widen * (probabilities - centre), 0.0, 1.0)
        probabilities /= probabilities.sum(axis=2, keepdims=True)
    probabilities = (probabilities * sizes[:, None] + 1 / probabilities.shape[2]) / (sizes[:, None] + 1)
    rates = rng.multinomial(sizes.astype(np.int64), probabilities) / sizes[:, None]
    errors = np.ptp(rates - rates.mean(axis=0), axis=1).max(axis=1)
    reach = float(np.quantile(errors, confidence, method="higher"))
    gap = gap_of(counts / sizes[:, None])
    return GapInterval(max(gap - reach, 0.0), min(gap + reach, 1.0), gap, confidence, method)


@kernel
def _replicate(block: Block, weights: NDArray[np.float64], n_groups: int, n_classes: int) -> tuple[NDArray[np.float64]]:
    """Sum the mean weight of the voters of each task, by group, label of the task and replicate."""
    _, offsets, worker, label, group, _ = block
    n_replicates = weights.shape[1]
    mass = np.zeros((n_groups, n_classes, n_replicates))
    most = 1
    for t in range(offsets.size - 1):
        most = max(most, offsets[t + 1] - offsets[t])
    scores = np.empty((min(most, n_classes), n_replicates))
    classes = np.empty(scores.shape[0], np.int32)
    for t in range(offsets.size - 1):
        seen = 0  # only the classes that have a vote have a row of scores
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
