"""Dawid-Skene as textbooks write it: dense arrays, plain loops, no code shared with the package."""

import itertools
from typing import Any

import numpy as np
import pandas as pd


def shares(votes: pd.DataFrame, n_tasks: int, n_classes: int) -> Any:
    table = np.zeros((n_tasks, n_classes))
    for task, label in zip(votes.task, votes.label, strict=True):
        table[task, label] += 1
    return table / table.sum(axis=1, keepdims=True)


def maximise(votes: pd.DataFrame, posterior: Any, cell: Any, n_cells: int, smoothing: float) -> Any:
    n_classes = posterior.shape[1]
    counts = np.full((n_cells, n_classes, n_classes), smoothing)
    for row, (task, label) in enumerate(zip(votes.task, votes.label, strict=True)):
        counts[cell[row], label] += posterior[task]
    return counts / counts.sum(axis=1, keepdims=True)


def expect(votes: pd.DataFrame, errors: Any, priors: Any, cell: Any) -> tuple[Any, float]:
    """Return the posterior and the log-likelihood; ``priors`` has one row per task."""
    joint = priors.copy()
    for row, (task, label) in enumerate(zip(votes.task, votes.label, strict=True)):
        joint[task] *= errors[cell[row], label]
    evidence = joint.sum(axis=1)
    return joint / evidence[:, None], float(np.log(evidence).sum())


def likelihood_by_enumeration(votes: pd.DataFrame, errors: Any, priors: Any, cell: Any) -> float:
    """Return the log-likelihood as a sum over every labelling of all tasks; only for a few tasks."""
    n_tasks, n_classes = priors.shape
    total = 0.0
    for labelling in itertools.product(range(n_classes), repeat=n_tasks):
        value = np.prod([priors[t, k] for t, k in enumerate(labelling)])
        for row, (task, label) in enumerate(zip(votes.task, votes.label, strict=True)):
            value *= errors[cell[row], label, labelling[task]]
        total += value
    return float(np.log(total))
