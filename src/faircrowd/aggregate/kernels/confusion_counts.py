"""Kernels of the models with confusion matrices: Dawid-Skene, one-coin, Bayes.

Notation of this module: K classes, W workers, G groups (1 without groups). ``cells`` number the pairs of a worker and
a group, cell = worker * G + group. ``log_errors[cell * K + label, true]`` is the logarithm of the probability
that the worker answers ``label`` where the true class is ``true``; ``log_priors[group, true]`` that of the
class. ``token`` stands for K (see :mod:`faircrowd.aggregate.kernels.class_count`). Probabilities are counted in integer
units: ``cell_unit`` of them make one vote, ``prior_unit`` make one task (see :mod:`faircrowd.exact.sums`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.aggregate.kernels.class_count import ClassesToken, class_count
from faircrowd.engines import Block
from faircrowd.exact.sums import add_log_likelihood
from faircrowd.votes.vocabulary import Codes

_TASKS_AT_A_TIME = 128
"""Votes of so few tasks stay in the cache: each of the three steps of a round then runs over all of them in turn, which
a processor does faster than all steps for one task after another."""

__all__ = ["code_at", "expected_counts", "joint_scores", "score_tasks", "share_counts"]


@kernel
def joint_scores(
    block: Block, token: ClassesToken, log_errors: NDArray[np.float64], log_priors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log joint probability of each task's votes and each class.

    Where the true label is known, all other classes have probability zero.
    """
    K = class_count(token)
    n_tasks = block.offsets.size - 1
    gold = block.gold
    scores = np.empty((n_tasks, K))
    start = np.int64(0)  # for a plain 0, numba would compile another kernel
    score_tasks(block, start, n_tasks, token, log_errors, log_priors, scores)
    for t in range(gold.size):
        for k in range(K):
            if gold[t] >= 0 and k != gold[t]:
                scores[t, k] = -np.inf
    return scores


@kernel
def expected_counts(
    block: Block,
    token: ClassesToken,
    log_errors: NDArray[np.float64],
    log_priors: NDArray[np.float64],
    cell_unit: float,
    prior_unit: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sum the expected counts of (cell, label, true class) and (group, true class) under the posterior.

    The third array is the log-likelihood of the votes (and of the true labels, where they are known), as limbs.
    """
    K = class_count(token)
    n_tasks = block.offsets.size - 1
    counts = np.zeros(log_errors.shape, np.int64)
    priors = np.zeros(log_priors.shape, np.int64)
    limbs = np.zeros(2, np.int64)
    posterior = np.empty((_TASKS_AT_A_TIME, K))
    for first in range(0, n_tasks, _TASKS_AT_A_TIME):
        last = min(first + _TASKS_AT_A_TIME, n_tasks)
        score_tasks(block, first, last, token, log_errors, log_priors, posterior)
        _to_posteriors(block.gold, first, last, token, posterior, limbs)
        _count(block, first, last, token, posterior, cell_unit, prior_unit, counts, priors)
    return counts, priors, limbs


@kernel
def share_counts(
    block: Block,
    token: ClassesToken,
    only_gold: bool,
    n_cells: int,
    n_groups: int,
    cell_unit: float,
    prior_unit: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sum the same counts where the posterior of a task is its known label, or else its shares of votes.

    With ``only_gold``, tasks whose true label is not known are left out.
    """
    K = class_count(token)
    _, offsets, _, label, _, gold = block
    counts = np.zeros((n_cells * K, K), np.int64)
    priors = np.zeros((n_groups, K), np.int64)
    n_tasks = offsets.size - 1
    posterior = np.empty((_TASKS_AT_A_TIME, K))
    for first in range(0, n_tasks, _TASKS_AT_A_TIME):
        last = min(first + _TASKS_AT_A_TIME, n_tasks)
        for place in range(last - first):
            t = first + place
            start, stop, known = offsets[t], offsets[t + 1], code_at(gold, t, -1)
            for k in range(K):
                posterior[place, k] = 1.0 if k == known else 0.0
            if known < 0 and not only_gold:
                for i in range(np.uint64(start), np.uint64(stop)):
                    posterior[place, label[i]] += 1.0
                for k in range(K):
                    posterior[place, k] /= stop - start
        _count(block, first, last, token, posterior, cell_unit, prior_unit, counts, priors)
    return counts, priors


@inner_kernel
def code_at(values: Codes, t: int | np.int64, otherwise: int) -> np.int32:
    """Return the code of a task; another value where tasks have none."""
    return values[t] if values.size else np.int32(otherwise)


@inner_kernel
def score_tasks(
    block: Block,
    first: int | np.int64,
    last: int,
    token: ClassesToken,
    log_errors: NDArray[np.float64],
    log_priors: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Write the log joint probability of the votes of tasks and of each class into the first rows of ``scores``."""
    K = class_count(token)
    _, offsets, worker, label, group, _ = block
    n_groups = log_priors.shape[0]
    for place in range(last - first):
        t = first + place
        g = code_at(group, t, 0)
        for k in range(K):
            scores[place, k] = log_priors[g, k]
        for i in range(np.uint64(offsets[t]), np.uint64(offsets[t + 1])):
            row = _row(worker[i], label[i], g, n_groups, K)
            for k in range(K):
                scores[place, k] += log_errors[row, k]


@inner_kernel
def _to_posteriors(
    gold: Codes,
    first: int,
    last: int,
    token: ClassesToken,
    scores: NDArray[np.float64],
    limbs: NDArray[np.int64],
) -> None:
    """Turn the scores of some tasks into posteriors, in place, and add the log-likelihood of their votes to limbs."""
    K = class_count(token)
    for t in range(last - first):
        known = code_at(gold, first + t, -1)
        if known >= 0:
            evidence = scores[t, known]
            for k in range(K):
                scores[t, k] = 1.0 if k == known else 0.0
        elif K == 2:  # the general case without a branch that no processor can foresee
            one, two = scores[t, 0], scores[t, 1]
            top = max(one, two)
            small = math.exp(min(one, two) - top)
            total = 1.0 + small
            better, worse = 1.0 / total, small / total
            scores[t, 0] = better if one >= two else worse
            scores[t, 1] = worse if one >= two else better
            evidence = top + math.log(total)
        else:
            best, top = 0, scores[t, 0]
            for k in range(1, K):
                best = k if scores[t, k] > top else best
                top = max(top, scores[t, k])
            for other in range(K - 1):
                k = other + (other >= best)
                scores[t, k] = math.exp(scores[t, k] - top)
            scores[t, best] = 1.0
            total = 0.0
            for k in range(K):
                total += scores[t, k]
            for k in range(K):
                scores[t, k] /= total
            evidence = top + math.log(total)
        add_log_likelihood(limbs, evidence)


@inner_kernel
def _count(
    block: Block,
    first: int,
    last: int,
    token: ClassesToken,
    posterior: NDArray[np.float64],
    cell_unit: float,
    prior_unit: float,
    counts: NDArray[np.int64],
    priors: NDArray[np.int64],
) -> None:
    """Add the votes of some tasks, whose posteriors are the first rows of ``posterior``."""
    K = class_count(token)
    _, offsets, worker, label, group, _ = block
    n_groups = priors.shape[0]
    mass = np.empty(K, np.int64)
    for place in range(last - first):
        t = first + place
        g = code_at(group, t, 0)
        for k in range(K):
            mass[k] = np.int64(posterior[place, k] * cell_unit + 0.5)
            priors[g, k] += np.int64(posterior[place, k] * prior_unit + 0.5)
        for i in range(np.uint64(offsets[t]), np.uint64(offsets[t + 1])):
            row = _row(worker[i], label[i], g, n_groups, K)
            for k in range(K):
                counts[row, k] += mass[k]


@inner_kernel
def _row(worker: np.int32, label: np.int32, g: np.int32, n_groups: int, K: int) -> np.uint64:
    """Return the row of a vote in the tables: unsigned, as no row is counted from the end."""
    cell = np.uint64(np.uint32(worker)) * np.uint64(n_groups) + np.uint64(np.uint32(g))
    return cell * np.uint64(K) + np.uint64(np.uint32(label))
