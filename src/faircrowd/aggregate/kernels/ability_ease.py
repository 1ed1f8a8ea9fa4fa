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
from faircrowd.exact.sums import add_log_likelihood, to_units

__all__ = ["ability_and_ease", "glad_scores"]


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
    value = np.zeros(2, np.int64)
    by_worker = np.zeros(alphas.size, np.int64)
    by_task = np.zeros(offsets.size - 1, np.int64)
    for t in range(offsets.size - 1):
        ease = math.exp(betas[first + t])
        for i in range(offsets[t], offsets[t + 1]):
            alpha = alphas[worker[i]]
            x = alpha * ease
            right = posterior[first + t, label[i]]
            small = math.exp(-abs(x))
            add_log_likelihood(value, right * x - math.log1p(small) - max(x, 0.0))
            sigmoid = (1.0 if x >= 0 else small) / (1.0 + small)
            slope = (right - sigmoid) * ease
            by_worker[worker[i]] += to_units(slope, worker_unit)
            by_task[t] += to_units(slope * alpha, task_unit)
    return value, by_worker, by_task
