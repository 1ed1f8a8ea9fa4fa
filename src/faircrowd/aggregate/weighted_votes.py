"""Weighted votes: scores of classes by the weights of workers, and how often workers agree with labels."""

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.vote_counts import count_agreement, count_majority_agreement, sum_weights
from faircrowd.aggregate.posterior import check_size
from faircrowd.engines import Engine, Votes
from faircrowd.exact.sums import on_grid
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["Agreement", "agreement", "gold_agreement", "majority_agreement", "weigh"]

Agreement: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The number of votes of each worker that agree with labels, and the number of votes compared."""

Rows = TypeVar("Rows")


def weigh(engine: Engine[Rows], votes: Votes, weights: NDArray[np.float64]) -> Rows:
    """Sum, for each task and class, the weights of the workers who voted for it.

    Where all weights of a task are zero, its votes count alike. A task whose true label the engine knows has a score
    of one for that class, and of zero for the others.
    """
    check_size(votes)
    (exact,) = on_grid(weights, n_terms=max(votes.most_votes, 1))
    return engine.emit(sum_weights, classes_token(votes.n_classes), exact)


def agreement(engine: Engine[object], labels: Codes, n_workers: int) -> Agreement:
    """Compare the votes of each worker with the labels of their tasks."""
    agree, total = engine.reduce(count_agreement, labels, n_workers)
    return agree, total


def majority_agreement(engine: Engine[object], votes: Votes, weights: NDArray[np.float64], ties: str) -> Agreement:
    """Compare the votes of each worker with the weighted majority, in one pass that stores no labels."""
    (exact,) = on_grid(weights, n_terms=max(votes.most_votes, 1))
    agree, total = engine.reduce(count_majority_agreement, classes_token(votes.n_classes), exact, ties == "last")
    return agree, total


def gold_agreement(votes: VoteTable, task: Codes, label: Codes, n_classes: int) -> Agreement:
    """Compare the votes of each worker with true labels; a task may have several, and a vote for any of them is right.

    Parameters
    ----------
    task, label : ndarray of int32
        Pairs of a task and a true label of it.
    """
    of_task = np.repeat(np.arange(votes.n_tasks), votes.votes_per_task)
    judged = np.isin(of_task, task)
    right = judged & np.isin(of_task * n_classes + votes.label, task.astype(np.int64) * n_classes + label)
    count = votes.n_workers
    return np.bincount(votes.worker[right], minlength=count), np.bincount(votes.worker[judged], minlength=count)
