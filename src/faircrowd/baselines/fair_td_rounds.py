r"""The rounds of FairTD over sparse votes: each is one pass over the votes.

**Model.** Worker w answers :math:`y_{wj} = t_j + b_{wa} + e`, with :math:`t_j` the truth of task j in group a,
:math:`b_{wa}` the worker's bias there and e noise of variance :math:`s_w^2`. **A round.**

1. If the gap between the groups' shares of :math:`t_j > 1/2` is above epsilon, draw a worker and group whose bias
   offsets it, with probability proportional to the bias. This bias is kept: for the round it counts as zero.
2. :math:`t_j` is the mean of :math:`y_{wj} - b_{wa}` with weights :math:`1/s_w^2`.
3. :math:`b_{wa}` is the mean of :math:`y_{wj} - t_j` over the worker's tasks in the group.
4. :math:`s_w^2 = (0.1 + \sum_j (y_{wj} - t_j - b_{wa})^2) / n_w`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.votes.vocabulary import Codes

__all__ = ["State", "Votes", "run_rounds"]

_PRIOR_SQUARES = 0.1
_ROUNDS_PER_CALL = 1024


class Votes(NamedTuple):
    """Votes of the workers that take part, sorted by task.

    Attributes
    ----------
    offsets, worker, label : ndarray
        As in ``VoteTable``; labels are 0 and 1.
    group : ndarray, shape (n_tasks,)
    counts : ndarray, shape (n_workers, 2)
        Number of votes of each worker in each group; none is zero.
    fixed : ndarray, shape (2,)
        Number of further tasks of each group with label 1, which the rounds do not change.
    sizes : ndarray, shape (2,)
        Number of all tasks of each group.
    """

    offsets: NDArray[np.int64]
    worker: NDArray[np.int64]
    label: NDArray[np.float64]
    group: Codes
    counts: NDArray[np.float64]
    fixed: NDArray[np.float64]
    sizes: NDArray[np.float64]


class State(NamedTuple):
    """Where the rounds ended.

    Attributes
    ----------
    truth : ndarray, shape (n_tasks,)
        The truth of each task, where the gap was smallest (the last, if the rounds converged).
    rounds : int
        Number of rounds that were run.
    converged : bool
        Whether the last round left the gap within epsilon, and changed no truth by more than the tolerance.
    """

    truth: NDArray[np.float64]
    rounds: int
    converged: bool


def run_rounds(votes: Votes, epsilon: float, *, n_iter: int, tol: float, rng: np.random.Generator) -> State:
    """Run rounds until the gap is within epsilon and the truths have settled, or ``n_iter`` have been run."""
    truth = rng.uniform(0.1, 0.9, votes.group.size)
    bias = rng.uniform(-0.1, 0.1, votes.counts.shape)
    weight = np.ones(votes.counts.shape[0])
    best, least = truth.copy(), np.full(1, np.inf)
    done, converged = 0, False
    while done < n_iter and not converged:
        draws = rng.random(min(_ROUNDS_PER_CALL, n_iter - done))
        run, converged = _run(*votes, truth, bias, weight, best, least, draws, epsilon, tol)
        done += run
    return State(truth if converged else best, done, bool(converged))


@kernel
def _run(
    offsets: NDArray[np.int64],
    worker: NDArray[np.int64],
    label: NDArray[np.float64],
    group: Codes,
    counts: NDArray[np.float64],
    fixed: NDArray[np.float64],
    sizes: NDArray[np.float64],
    truth: NDArray[np.float64],
    bias: NDArray[np.float64],
    weight: NDArray[np.float64],
    best: NDArray[np.float64],
    least: NDArray[np.float64],
    draws: NDArray[np.float64],
    epsilon: float,
    tol: float,
) -> tuple[int, bool]:
    """Run one round per draw; return how many were run, and whether they converged."""
    gap = _signed_gap(truth, group, fixed, sizes)
    for i in range(draws.size):
        if abs(gap) > epsilon:
            _keep_one(bias, gap, draws[i])
        moved = _update(offsets, worker, label, group, counts, truth, bias, weight)
        gap = _signed_gap(truth, group, fixed, sizes)
        if abs(gap) < least[0]:
            least[0] = abs(gap)
            best[:] = truth
        if abs(gap) <= epsilon and moved <= tol:
            return i + 1, True
    return draws.size, False


@inner_kernel
def _signed_gap(
    truth: NDArray[np.float64], group: Codes, fixed: NDArray[np.float64], sizes: NDArray[np.float64]
) -> float:
    ones = fixed.copy()
    for j in range(truth.size):
        if truth[j] > 0.5:
            ones[group[j]] += 1.0
    gap: float = ones[1] / sizes[1] - ones[0] / sizes[0]
    return gap


@inner_kernel
def _keep_one(bias: NDArray[np.float64], gap: float, draw: float) -> None:
    """Set to zero a bias that offsets the gap, drawn with probability proportional to its size."""
    cells = bias.reshape(-1)  # worker by worker, group 0 and group 1
    lift = 1.0 if gap > 0 else -1.0  # a bias of this sign in group 0, of the other in group 1, offsets the gap
    total = 0.0
    for i in range(cells.size):
        total += max(cells[i] * (lift if i % 2 == 0 else -lift), 0.0)
    left, chosen = draw * total, -1
    for i in range(cells.size):
        size = cells[i] * (lift if i % 2 == 0 else -lift)
        if size > 0.0:
            chosen = i
            left -= size
            if left < 0.0:
                break
    if chosen >= 0:
        cells[chosen] = 0.0


@inner_kernel
def _update(
    offsets: NDArray[np.int64],
    worker: NDArray[np.int64],
    label: NDArray[np.float64],
    group: Codes,
    counts: NDArray[np.float64],
    truth: NDArray[np.float64],
    bias: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> float:
    """Update truths, biases and weights in place; return the largest change of a truth."""
    sums, squares = np.zeros(counts.shape), np.zeros(counts.shape[0])
    moved = 0.0
    for j in range(truth.size):
        a, start, stop = group[j], offsets[j], offsets[j + 1]
        above, below = 0.0, 0.0
        for v in range(start, stop):
            w = worker[v]
            above += weight[w] * (label[v] - bias[w, a])
            below += weight[w]
        new = above / below
        moved = max(moved, abs(new - truth[j]))
        truth[j] = new
        for v in range(start, stop):
            rest = label[v] - new
            sums[worker[v], a] += rest
            squares[worker[v]] += rest * rest
    for w in range(counts.shape[0]):
        residual = squares[w]  # minus n b^2 for each group, it is the sum of (y - t - b)^2
        for a in range(2):
            bias[w, a] = sums[w, a] / counts[w, a]
            residual -= sums[w, a] * bias[w, a]
        weight[w] = (counts[w, 0] + counts[w, 1]) / (_PRIOR_SQUARES + max(residual, 0.0))
    return moved
