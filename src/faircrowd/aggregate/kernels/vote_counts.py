"""Kernels that count votes: sums of weights, and agreement with labels."""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.aggregate.kernels.class_count import ClassesToken, class_count
from faircrowd.engines import Block
from faircrowd.votes.vocabulary import Codes

__all__ = ["count_agreement", "count_majority_agreement", "sum_weights"]


@kernel
def sum_weights(block: Block, token: ClassesToken, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum, for each task and class, the weights of the workers who voted for it.

    Where all weights of a task are zero, its votes count alike. A task with a known true label has a score of one for
    that class, and of zero for the others.
    """
    K = class_count(token)
    _, offsets, worker, label, _, gold = block
    scores = np.zeros((offsets.size - 1, K))
    for t in range(offsets.size - 1):
        if gold.size and gold[t] >= 0:
            scores[t, gold[t]] = 1.0
            continue
        total = 0.0
        for i in range(offsets[t], offsets[t + 1]):
            weight = weights[worker[i]]
            scores[t, label[i]] += weight
            total += weight
        if total == 0.0:
            for i in range(offsets[t], offsets[t + 1]):
                scores[t, label[i]] += 1.0
    return scores


@kernel
def count_agreement(block: Block, labels: Codes, n_workers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count each worker's votes that agree with the labels of their tasks, and all votes of each worker."""
    first, offsets, worker, label, _, _ = block
    agree = np.zeros(n_workers, np.int64)
    total = np.zeros(n_workers, np.int64)
    for t in range(offsets.size - 1):
        for i in range(offsets[t], offsets[t + 1]):
            total[worker[i]] += 1
            if label[i] == labels[first + t]:
                agree[worker[i]] += 1
    return agree, total


@kernel
def count_majority_agreement(
    block: Block, token: ClassesToken, weights: NDArray[np.float64], last: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the same for the labels of the weighted majority; ``last``: whether the last class of a tie wins."""
    _, offsets, worker, label, _, _ = block
    scores = sum_weights(block, token, weights)
    agree = np.zeros(weights.size, np.int64)
    total = np.zeros(weights.size, np.int64)
    for t in range(offsets.size - 1):
        best = 0
        for k in range(1, scores.shape[1]):
            if scores[t, k] > scores[t, best] or (last and scores[t, k] == scores[t, best]):
                best = k
        for i in range(offsets[t], offsets[t + 1]):
            total[worker[i]] += 1
            if label[i] == best:
                agree[worker[i]] += 1
    return agree, total
