"""Kernels of the models with confusion matrices: Dawid-Skene, one-coin, Bayes.

Notation of this module: K classes, W workers, G groups (1 without groups). ``cells`` number the pairs of a worker and
a group, cell = worker * G + group. ``log_errors[cell * K + label, true]`` is the logarithm of the probability
that the worker answers ``label`` where the true class is ``true``; ``log_priors[group, true]`` that of the
class. ``token`` stands for K (see :mod:`faircrowd.aggregate.kernels.class_count`). Probabilities are counted in integer
units: ``cell_unit`` of them make one vote, ``prior_unit`` make one task (see :mod:`faircrowd.exact.sums`).
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.kernels.class_count import ClassesToken, class_count
from faircrowd.engines import Block
from faircrowd.exact.sums import add_log_likelihood
from faircrowd.votes.vocabulary import Codes

__all__ = ["code_at", "expected_counts", "joint_scores", "score_task", "share_counts"]


@numba.njit(cache=True, nogil=True)
def joint_scores(
    block: Block, token: ClassesToken, log_errors: NDArray[np.float64], log_priors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log joint probability of each task's votes and each class.

    Where the true label is known, all other classes have probability zero.
    """
    K = class_count(token)
    _, offsets, worker, label, group, gold = block
    n_groups = log_priors.shape[0]
    scores = np.empty((offsets.size - 1, K))
    score = np.empty(K)
    for t in range(offsets.size - 1):
        g, known = code_at(group, t, 0), code_at(gold, t, -1)
        score_task(offsets[t], offsets[t + 1], worker, label, g, n_groups, token, log_errors, log_priors, score)
        for k in range(K):
            scores[t, k] = score[k] if known < 0 or k == known else -np.inf
    return scores


@numba.njit(cache=True, nogil=True)
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
    _, offsets, worker, label, group, gold = block
    n_groups = log_priors.shape[0]
    counts = np.zeros(log_errors.shape, np.int64)
    priors = np.zeros(log_priors.shape, np.int64)
    limbs = np.zeros(2, np.int64)
    posterior = np.empty(K)
    mass = np.empty(K, np.int64)
    for t in range(offsets.size - 1):
        start, stop, g, known = offsets[t], offsets[t + 1], code_at(group, t, 0), code_at(gold, t, -1)
        score_task(start, stop, worker, label, g, n_groups, token, log_errors, log_priors, posterior)
        if known >= 0:
            evidence = posterior[known]
            for k in range(K):
                posterior[k] = 1.0 if k == known else 0.0
        else:
            top = posterior[0]
            for k in range(1, K):
                top = max(top, posterior[k])
            total = 0.0
            for k in range(K):
                posterior[k] = math.exp(posterior[k] - top)
                total += posterior[k]
            for k in range(K):
                posterior[k] /= total
            evidence = top + math.log(total)
        add_log_likelihood(limbs, evidence)
        _count(start, stop, worker, label, g, token, posterior, cell_unit, prior_unit, mass, counts, priors)
    return counts, priors, limbs


@numba.njit(cache=True, nogil=True)
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
    _, offsets, worker, label, group, gold = block
    counts = np.zeros((n_cells * K, K), np.int64)
    priors = np.zeros((n_groups, K), np.int64)
    posterior = np.empty(K)
    mass = np.empty(K, np.int64)
    for t in range(offsets.size - 1):
        start, stop, g, known = offsets[t], offsets[t + 1], code_at(group, t, 0), code_at(gold, t, -1)
        if known < 0 and only_gold:
            continue
        for k in range(K):
            posterior[k] = 1.0 if k == known else 0.0
        if known < 0:
            for i in range(start, stop):
                posterior[label[i]] += 1.0
            for k in range(K):
                posterior[k] /= stop - start
        _count(start, stop, worker, label, g, token, posterior, cell_unit, prior_unit, mass, counts, priors)
    return counts, priors


@numba.njit(cache=True, nogil=True)
def code_at(values: Codes, t: int, otherwise: int) -> np.int32:
    """Return the code of a task; another value where tasks have none."""
    return values[t] if values.size else np.int32(otherwise)


@numba.njit(cache=True, nogil=True)
def score_task(
    start: int,
    stop: int,
    worker: Codes,
    label: Codes,
    g: np.int32,
    n_groups: int,
    token: ClassesToken,
    log_errors: NDArray[np.float64],
    log_priors: NDArray[np.float64],
    score: NDArray[np.float64],
) -> None:
    """Write the log joint probability of a task's votes and each class into ``score``."""
    K = class_count(token)
    for k in range(K):
        score[k] = log_priors[g, k]
    for i in range(start, stop):
        row = (np.int64(worker[i]) * n_groups + g) * K + label[i]
        for k in range(K):
            score[k] += log_errors[row, k]


@numba.njit(cache=True, nogil=True)
def _count(
    start: int,
    stop: int,
    worker: Codes,
    label: Codes,
    g: np.int32,
    token: ClassesToken,
    posterior: NDArray[np.float64],
    cell_unit: float,
    prior_unit: float,
    mass: NDArray[np.int64],
    counts: NDArray[np.int64],
    priors: NDArray[np.int64],
) -> None:
    K = class_count(token)
    n_groups = priors.shape[0]
    for k in range(K):
        mass[k] = np.int64(posterior[k] * cell_unit + 0.5)
        priors[g, k] += np.int64(posterior[k] * prior_unit + 0.5)
    for i in range(start, stop):
        row = (np.int64(worker[i]) * n_groups + g) * K + label[i]
        for k in range(K):
            counts[row, k] += mass[k]
