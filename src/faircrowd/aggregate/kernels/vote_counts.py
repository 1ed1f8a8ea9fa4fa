"""Kernels that count votes: scores by weight, and agreement with given labels."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.kernels.class_count import classes_token, width
from faircrowd.aggregate.posterior import check_size
from faircrowd.engines import LocalEngine
from faircrowd.exact.sums import on_grid
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["agreement", "gold_agreement", "majority_agreement", "weigh"]


def weigh(engine: LocalEngine, votes: VoteTable, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum, for each task and class, the weights of the workers who voted for it.

    Where all weights of a task are zero, its votes count alike. A task whose true label the engine knows has a score
    of one for it, and none for others.
    """
    check_size(votes)
    (exact,) = on_grid(weights, n_terms=max(votes.most_votes, 1))
    return engine.emit(_weighted_scores, classes_token(votes.n_classes), exact)


def agreement(engine: LocalEngine, labels: Codes, n_workers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count, for each worker, the votes that agree with the tasks' labels, and all votes."""
    agree, total = engine.reduce(_agreement, labels, n_workers)
    return agree, total


def majority_agreement(engine: Any, votes: Any, weights: NDArray[np.float64], ties: str) -> tuple[Any, Any]:
    """Count the agreement with the weighted majority in one pass: no label a task is held."""
    (exact,) = on_grid(weights, n_terms=max(votes.most_votes, 1))
    agree, total = engine.reduce(_majority_agreement, classes_token(votes.n_classes), exact, ties == "last")
    return agree, total


def gold_agreement(votes: VoteTable, task: Codes, label: Codes, n_classes: int) -> tuple[Any, Any]:
    """Count the agreement with true labels, of which a task may have several; any of them is right."""
    of_task = np.repeat(np.arange(votes.n_tasks), votes.votes_per_task)
    judged = np.isin(of_task, task)
    right = judged & np.isin(of_task * n_classes + votes.label, task.astype(np.int64) * n_classes + label)
    count = votes.n_workers
    return np.bincount(votes.worker[right], minlength=count), np.bincount(votes.worker[judged], minlength=count)


@numba.njit(cache=True, nogil=True)
def _weighted_scores(block, token, weights):  # type: ignore[no-untyped-def]
    K = width(token)
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


@numba.njit(cache=True, nogil=True)
def _agreement(block, labels, n_workers):  # type: ignore[no-untyped-def]
    first, offsets, worker, label, _, _ = block
    agree = np.zeros(n_workers, np.int64)
    total = np.zeros(n_workers, np.int64)
    for t in range(offsets.size - 1):
        for i in range(offsets[t], offsets[t + 1]):
            total[worker[i]] += 1
            if label[i] == labels[first + t]:
                agree[worker[i]] += 1
    return agree, total


@numba.njit(cache=True, nogil=True)
def _majority_agreement(block, token, weights, last):  # type: ignore[no-untyped-def]
    _, offsets, worker, label, _, _ = block
    scores = _weighted_scores(block, token, weights)
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
