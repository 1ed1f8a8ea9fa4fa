"""The kernel that tests whether the votes of a task are independent given its true class.

Notation as in :mod:`faircrowd.aggregate.kernels.confusion_counts`. The *residual* of a vote and a class is one at the
label that was given and zero elsewhere, minus the probabilities of the labels if that class is the true one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.aggregate.kernels.class_count import ClassesToken, class_count
from faircrowd.aggregate.kernels.confusion_counts import code_at, score_tasks
from faircrowd.engines import Block
from faircrowd.exact.sums import TERMS_PER_CARRY, carry, to_units

__all__ = ["N_SUMS", "residual_products"]

N_SUMS = 4
_STEPS_PER_PRODUCT = 2.0**20  # products are rounded to multiples of 2**-20: below is the noise of fitted zeros
_NEGLIGIBLE = 2.0**-40


@kernel
def residual_products(
    block: Block,
    token: ClassesToken,
    log_errors: NDArray[np.float64],
    log_priors: NDArray[np.float64],
    likely_log_errors: NDArray[np.float64],
    likely_log_priors: NDArray[np.float64],
    errors: NDArray[np.float64],
    variances: NDArray[np.float64],
    deviations: NDArray[np.float64],
    units: NDArray[np.float64],
) -> tuple[NDArray[np.int64]]:
    """Sum over tasks, as limbs: the products of residuals, their squares, the largest products, and the belief.

    The products of a task are those of all ordered pairs of its votes, expected over the posterior of its class and
    divided by its number of votes minus one, so that they vary about equally whatever the number of votes. The largest
    products are those that votes would have that always go together; the belief is the probability of the best class.

    Parameters
    ----------
    log_errors, log_priors
        The model that labels the tasks, of which the belief is taken.
    likely_log_errors, likely_log_priors, errors
        The model that is tested: logarithms, and ``errors[cell * K + label, true]`` themselves.
    variances, deviations
        ``variances[cell, true]`` is one minus the sum of the squared probabilities of the labels; its square root.
    units
        The number of units that make one, for each of the sums.
    """
    K = class_count(token)
    _, offsets, worker, label, group, _ = block
    n_groups = log_priors.shape[0]
    sums = np.zeros(N_SUMS, np.int64)
    limbs = np.zeros((N_SUMS, 2), np.int64)
    scores = np.empty((1, K))
    posterior = scores[0]
    residual = np.empty(K)
    for t in range(offsets.size - 1):
        start, stop, g = offsets[t], offsets[t + 1], code_at(group, t, 0)
        score_tasks(block, t, t + 1, token, log_errors, log_priors, scores)
        sums[3] += to_units(_to_probabilities(posterior), units[3])
        if stop - start > 1:
            score_tasks(block, t, t + 1, token, likely_log_errors, likely_log_priors, scores)
            _to_probabilities(posterior)
            product = largest = 0.0
            for k in range(K):
                if posterior[k] < _NEGLIGIBLE:
                    continue
                # All sums over votes are of multiples of one power of two: exact, whatever the order of the votes.
                for j in range(K):
                    residual[j] = 0.0
                own = deviation = variance = 0.0
                for i in range(start, stop):
                    cell = np.int64(worker[i]) * n_groups + g
                    for j in range(K):
                        residual[j] -= errors[cell * K + j, k]
                    residual[label[i]] += 1.0
                    own += 2.0 - 2.0 * errors[cell * K + label[i], k] - variances[cell, k]
                    deviation += deviations[cell, k]
                    variance += variances[cell, k]
                # Over pairs of different votes, a sum of products is the squared sum less the sum of squares.
                squared = 0.0
                for j in range(K):
                    squared += residual[j] * residual[j]
                product += posterior[k] * (squared - own)
                largest += posterior[k] * (deviation * deviation - variance)
            others = stop - start - 1
            product = math.floor(product / others * _STEPS_PER_PRODUCT + 0.5) / _STEPS_PER_PRODUCT
            sums[0] += to_units(product, units[0])
            sums[1] += to_units(product * product, units[1])
            sums[2] += to_units(largest / others, units[2])
        if t % TERMS_PER_CARRY == TERMS_PER_CARRY - 1:
            carry(sums, limbs)
    carry(sums, limbs)
    return (limbs,)


@inner_kernel
def _to_probabilities(score: NDArray[np.float64]) -> float:
    """Turn logarithms into probabilities that sum to one; return the largest."""
    top = score[0]
    for k in range(1, score.size):
        top = max(top, score[k])
    total = 0.0
    for k in range(score.size):
        score[k] = math.exp(score[k] - top)
        total += score[k]
    for k in range(score.size):
        score[k] /= total
    return 1.0 / total
