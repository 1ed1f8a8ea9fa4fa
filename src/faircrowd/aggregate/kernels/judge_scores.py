"""Kernels of a jury: what the votes of judges say about each class, weighed and summed by task.

NumPy does the work: juries are small beside crowds, and their votes may be rows of probabilities.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.calibration.log_pool import PSEUDO_VOTES, evidence
from faircrowd.engines import Block
from faircrowd.votes.vocabulary import Codes

__all__ = ["Bench", "gold_judge_logs", "judge_scores", "total_weights", "vote_logs"]

_LEAST_PROBABILITY = 1e-4
"""Smaller probabilities count as this one: no judge alone can exclude a class."""
_GRID = 2.0**36
"""Terms of sums are rounded to multiples of 1 / this, so that sums do not depend on the order of the judges."""


class Bench(NamedTuple):
    """The judges of some votes.

    Attributes
    ----------
    n_classes : int
    family : ndarray of int32, shape (n_workers,)
        The family of each judge; one without a family is a family of its own.
    probability, stated : ndarray or None
        Those of all votes, as in :class:`~faircrowd.votes.judges.judge_votes.JudgeVotes`.
    """

    n_classes: int
    family: Codes
    probability: NDArray[np.float64] | None
    stated: NDArray[np.float64] | None


def vote_logs(
    label: Codes, n_classes: int, probability: NDArray[np.float64] | None, stated: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the logarithms of the probabilities that votes give to the classes, all of them finite.

    A label without probabilities is no claim of certainty: each class gets :data:`PSEUDO_VOTES` more.

    Examples
    --------
    >>> np.exp(vote_logs(np.array([1]), 2, None, None)).round(4).tolist()
    [[0.1875, 0.8125]]
    >>> np.exp(vote_logs(np.array([1]), 2, np.array([[0.3, 0.7]]), np.array([1.0]))).round(4).tolist()
    [[0.3, 0.7]]
    """
    if probability is None or stated is None:
        given = np.zeros((label.size, n_classes))
        given[np.arange(label.size), label] = 1.0
        pseudo = np.full((label.size, 1), PSEUDO_VOTES)
    else:
        given, pseudo = probability, (PSEUDO_VOTES * (1.0 - stated))[:, None]
    shares = (given + pseudo) / (1.0 + n_classes * pseudo)
    if (shares < _LEAST_PROBABILITY).any():
        shares = np.maximum(shares, _LEAST_PROBABILITY)
        shares = shares / np.sort(shares, axis=1).sum(axis=1, keepdims=True)
    return np.asarray(np.log(shares))


class _Heard(NamedTuple):
    """The votes of a block, by the families that gave them.

    Attributes
    ----------
    task, worker : ndarray
        The task and the judge of each vote.
    logs : ndarray, shape (n_votes, n_classes)
        What it says about each class: logarithms of probabilities.
    pair : ndarray
        The pair of a task and a family that it belongs to.
    size : ndarray, shape (n_pairs,)
        Number of votes of each pair.
    of_pair : ndarray, shape (n_pairs,)
        The task of each pair.
    evidence : ndarray, shape (n_tasks, 1)
        How much each family of a task counts: the less, the more there are, because they depend on each other.
    """

    task: NDArray[np.int64]
    worker: Codes
    logs: NDArray[np.float64]
    pair: NDArray[np.int64]
    size: NDArray[np.int64]
    of_pair: NDArray[np.int64]
    evidence: NDArray[np.float64]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of tasks: the sum over families of the mean of their judges' values.

        All terms are rounded to multiples of one number. The sums are then exact, and judges that say the same have
        exactly that as their mean.
        """
        steps = np.rint(values * _GRID)
        means = np.rint(_summed(self.pair, steps, self.size.size) / self.size[:, None])
        return self.evidence * (_summed(self.of_pair, means, len(self.evidence)) / _GRID)


def _summed(place: NDArray[np.int64], values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Sum rows by their place."""
    return np.stack([np.bincount(place, column, count) for column in values.T], axis=1).astype(np.float64)


def _heard(block: Block, bench: Bench) -> _Heard:
    family, counts = np.asarray(bench.family), np.diff(block.offsets)
    votes = slice(int(block.offsets[0]), int(block.offsets[-1]))
    task, worker = np.repeat(np.arange(counts.size), counts), block.worker[votes]
    n_families = int(family.max(initial=0)) + 1
    keys = task * np.int64(n_families) + family[worker]
    present, pair, size = np.unique(keys, return_inverse=True, return_counts=True)
    of_pair = present // n_families
    given = (None if values is None else values[votes] for values in (bench.probability, bench.stated))
    logs = vote_logs(block.label[votes], bench.n_classes, *given)
    return _Heard(
        task, worker, logs, pair.reshape(-1), size, of_pair, evidence(np.bincount(of_pair, minlength=counts.size))
    )


def judge_scores(
    block: Block, bench: Bench, weights: NDArray[np.float64], shifts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the scores of the tasks of a block: the shift of the class, and what families say, by their weights."""
    heard = _heard(block, Bench(*bench))
    return heard.sums(weights[heard.worker][:, None] * heard.logs) + shifts


def total_weights(block: Block, bench: Bench, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the votes of each task of a block count in all."""
    heard = _heard(block, Bench(*bench))
    return heard.sums(weights[heard.worker][:, None])[:, 0]


def gold_judge_logs(block: Block, bench: Bench) -> tuple[NDArray[np.float64], Codes]:
    """Return, for the tasks of a block whose label is known: what each judge says (zero without a vote); the label.

    The first array has the shape (n_known, n_workers, n_classes); votes count as in :func:`judge_scores`.
    """
    bench = Bench(*bench)
    heard = _heard(block, bench)
    known = np.flatnonzero(block.gold >= 0) if block.gold.size else np.empty(0, dtype=np.int64)
    place = np.full(block.offsets.size - 1, -1)
    place[known] = np.arange(known.size)
    rows = place[heard.task] >= 0
    share = heard.evidence[heard.task] / heard.size[heard.pair][:, None]
    found = np.zeros((known.size, len(bench.family), bench.n_classes))
    np.add.at(found, (place[heard.task[rows]], heard.worker[rows]), (share * heard.logs)[rows])
    return found, block.gold[known]
