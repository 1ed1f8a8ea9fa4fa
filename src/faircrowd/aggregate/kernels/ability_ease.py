"""Kernels of GLAD: abilities of workers times ease of tasks.

A vote of worker r on task i is right with probability sigma(x), x = alpha_r * exp(beta_i); a wrong vote is equally
likely to be any other class. With s(x) = log(1 + exp(x)), the log-probability of the vote is x - s(x) where the true
class is the vote's, and -s(x) - log(K - 1) where it is not.
"""

import math

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.aggregate.kernels.class_count import ClassesToken, class_count
from faircrowd.engines import Block
from faircrowd.exact.exponentials import exp, log1p_of_share
from faircrowd.exact.sums import COARSE_UNIT, FINE_PER_COARSE

__all__ = ["ability_and_ease", "glad_scores"]

_TASKS_AT_A_TIME = 256
"""The arrays of the votes of so many tasks stay near the processor."""


@inner_kernel
def _softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


@kernel
def glad_scores(
    block: Block,
    token: ClassesToken,
    alphas: NDArray[np.float64],
    betas: NDArray[np.float64],
    log_priors: NDArray[np.float64],
    unit: float,
) -> NDArray[np.float64]:
    """Return the log joint probability of each task's votes and each class; terms are multiples of ``unit``."""
    K = class_count(token)
    first, offsets, worker, label, _, _ = block
    others = math.log(max(K - 1, 1))
    scores = np.empty((offsets.size - 1, K))
    for t in range(offsets.size - 1):
        ease = math.exp(betas[first + t])
        for k in range(K):
            scores[t, k] = round(log_priors[k] / unit) * unit
        for i in range(offsets[t], offsets[t + 1]):
            x = alphas[worker[i]] * ease
            wrong = round((-_softplus(x) - others) / unit) * unit
            gain = round((x + others) / unit) * unit
            for k in range(K):
                scores[t, k] += wrong
            scores[t, label[i]] += gain
    return scores


@kernel
def ability_and_ease(
    block: Block,
    posterior: NDArray[np.float64],
    alphas: NDArray[np.float64],
    betas: NDArray[np.float64],
    worker_unit: float,
    task_unit: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the expected log-likelihood of a block (up to a constant) and its gradients, as integers that add up.

    ``posterior[i, k]`` is the probability of class k for task i. The value is a pair of limbs
    (:func:`~faircrowd.exact.sums.read_log_likelihood`); the gradients are with respect to the abilities of all workers,
    in multiples of 1 / ``worker_unit``, and to the log-eases of the block's tasks, in multiples of 1 / ``task_unit``.
    """
    first, offsets, worker, label, _, _ = block
    n_tasks = offsets.size - 1
    by_worker = np.zeros(alphas.size, np.int64)
    by_task = np.zeros(n_tasks, np.int64)
    value = np.zeros(2, np.int64)
    most = 0
    for start in range(0, n_tasks, _TASKS_AT_A_TIME):
        most = max(most, offsets[min(start + _TASKS_AT_A_TIME, n_tasks)] - offsets[start])
    alpha, ease, right = np.empty(most), np.empty(most), np.empty(most)
    units = np.empty(most, np.int64), np.empty(most, np.int64)
    for start in range(0, n_tasks, _TASKS_AT_A_TIME):
        stop = min(start + _TASKS_AT_A_TIME, n_tasks)
        skipped = offsets[start]
        workers, labels = worker[skipped : offsets[stop]], label[skipped : offsets[stop]]
        # Codes are not negative; as unsigned numbers they need no test for indices that count from the end.
        for i in range(workers.size):
            alpha[i] = alphas[np.uint32(workers[i])]
        for t in range(start, stop):
            task_ease = exp(betas[first + t])
            for i in range(np.uint64(offsets[t] - skipped), np.uint64(offsets[t + 1] - skipped)):
                ease[i] = task_ease
                right[i] = posterior[first + t, np.uint32(labels[i])]
        coarse, fine = _slopes(alpha[: workers.size], ease, right, worker_unit, task_unit, *units)
        value[0] += coarse
        value[1] += fine
        for i in range(workers.size):
            by_worker[np.uint32(workers[i])] += units[0][i]
        for t in range(start, stop):
            total = np.int64(0)
            for i in range(np.uint64(offsets[t] - skipped), np.uint64(offsets[t + 1] - skipped)):
                total += units[1][i]
            by_task[t] = total
    return value, by_worker, by_task


@inner_kernel
def _slopes(
    alpha: NDArray[np.float64],
    ease: NDArray[np.float64],
    right: NDArray[np.float64],
    worker_unit: float,
    task_unit: float,
    for_worker: NDArray[np.int64],
    for_task: NDArray[np.int64],
) -> tuple[np.int64, np.int64]:
    """Write the slopes of votes, in units, and return the limbs of their log-likelihood.

    ``right`` is the probability that the vote is right, as the posterior has it. Without branches and calls the loop
    works on several votes at a time, which is where GLAD spends its time.
    """
    coarse, fine = np.int64(0), np.int64(0)
    for i in range(alpha.size):
        x = alpha[i] * ease[i]
        small = exp(-abs(x))
        scaled = (right[i] * x - log1p_of_share(small) - (x if x > 0 else 0.0)) * COARSE_UNIT
        whole = np.floor(scaled)
        coarse += np.int64(whole)
        fine += np.int64((scaled - whole) * FINE_PER_COARSE + 0.5)
        sigmoid = np.true_divide(1.0 if x >= 0 else small, 1.0 + small)
        slope = (right[i] - sigmoid) * ease[i]
        for_worker[i] = np.int64(np.floor(slope * worker_unit + 0.5))
        for_task[i] = np.int64(np.floor(slope * alpha[i] * task_unit + 0.5))
    return coarse, fine
