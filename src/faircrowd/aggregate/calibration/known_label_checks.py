"""What speaks against trusting known labels: too few, of other tasks, of one class, or not a random sample."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from faircrowd._checks import few
from faircrowd._types import ByTask
from faircrowd.aggregate.calibration.accuracy_estimate import exact_mean
from faircrowd.aggregate.calibration.log_pool import Logs
from faircrowd.engines import Votes
from faircrowd.votes import VoteTable
from faircrowd.votes.encode import encode
from faircrowd.votes.groups import label_facts, truth_codes
from faircrowd.votes.vocabulary import Codes

__all__ = ["doubts_about_labels", "doubts_about_sample", "unusable_labels"]

_FEW_LABELS = 20
_UNUSUAL = 0.01
"""The sample of known labels is called unusual if a random one were as unusual with this probability."""


def unusable_labels(votes: Votes, true_labels: ByTask) -> list[str]:
    """Return which known labels nobody voted for, and how many are of tasks without votes."""
    if not isinstance(votes, VoteTable) or true_labels is None:
        return []
    found, (_, strange) = list[str](), truth_codes(votes, true_labels)
    if strange:
        found.append(
            f"some known labels are labels that nobody voted for: {few(strange)}; the votes cannot find them, so such "
            "tasks count as wrong"
        )
    key, column = label_facts(true_labels)
    lost = int(np.count_nonzero((votes.tasks.code_of(key) < 0) & (encode(column)[0] >= 0)))
    return [*found, f"{lost:,} known labels are of tasks without votes, and are not used"] if lost else found


def doubts_about_labels(votes: Votes, logs: Logs, truth: Codes, group: Codes | None) -> list[str]:
    """Return whether the known labels are few, of other tasks, or all of one class or group.

    Parameters
    ----------
    logs : ndarray, shape (n_models, n_known, n_classes)
        Log-probabilities of the models for the tasks whose label is known.
    truth, group : ndarray of int32, shape (n_known,)
        The known labels, and the groups of these tasks.
    """
    found, n, n_kinds = list[str](), truth.size, np.unique(truth).size
    if n < _FEW_LABELS:
        found.append(
            f"only {n} known label{'s' * (n != 1)}: the weights hardly move from what is usual, and the interval of "
            f"the accuracy is wide; get {_FEW_LABELS} or more, at best 50 to 100"
        )
    labels = np.argmax(logs.mean(axis=0), axis=1)
    shares = [np.bincount(codes, minlength=logs.shape[2]) / n for codes in (labels, truth)]
    right, chance = float((labels == truth).mean()), float((shares[0] * shares[1]).sum())
    if n >= _FEW_LABELS and n_kinds > 1 and right < chance + 2 * math.sqrt(chance * (1 - chance) / n):
        found.append(
            f"the votes find only {right:.1%} of the known labels, which is no better than chance; are the known "
            "labels given by task id?"
        )
    if votes.n_classes > 1 and n_kinds == 1:
        name = votes.classes.names[truth[0]]
        found.append(f"all known labels are {name!r}; they say little about the other classes")
    groups = votes.groups
    if group is not None and groups is not None and len(groups) > 1 and np.unique(group).size == 1:
        found.append(f"all known labels are of group {groups.names[group[0]]!r}; they say nothing about other groups")
    return found


def doubts_about_sample(votes: VoteTable, task: NDArray[np.int64], confidence: NDArray[np.float64]) -> list[str]:
    """Return how the tasks with known labels differ from a random sample of the tasks.

    Parameters
    ----------
    task : ndarray of int64, shape (n_known,)
        The tasks whose label is known.
    confidence : ndarray, shape (n_tasks,)
        The probability of the label of each task.
    """
    found = list[str]()
    n, n_tasks = task.size, votes.n_tasks
    left = 1 - n / n_tasks
    if left <= 0 or n < 2:
        return found
    mean, there = exact_mean(confidence), exact_mean(confidence[task])
    spread = exact_mean((confidence - mean) ** 2)
    if spread > 0 and 2 * ndtr(-abs(there - mean) / (spread * left / n) ** 0.5) < _UNUSUAL:
        found.append(
            f"the tasks with known labels are {'easier' if there > mean else 'harder'} than the others (a "
            f"confidence of {there:.1%} against {mean:.1%}), so they do not look like a random sample, which the "
            "estimated accuracy assumes"
        )
    found += _doubts_about_votes(votes.votes_per_task, task)
    if votes.groups is None or votes.group is None or len(votes.groups) < 2:
        return found
    size, known = (np.bincount(codes, minlength=len(votes.groups)) for codes in (votes.group, votes.group[task]))
    names = [f"of group {name!r}" for name in votes.groups.names]
    small = size * n < n_tasks  # less than one known label to be expected: too little for the test, so taken as one
    if small.any():
        size, known = (np.append(counts[~small], counts[small].sum()) for counts in (size, known))
        names = [*(name for name, is_small in zip(names, small, strict=True) if not is_small), "of small groups"]
    if size[-1] * n < n_tasks:  # still too little, all small groups together
        size, known = size[:-1], known[:-1]
    if size.size < 2 or not known.any():
        return found
    expected = size / size.sum() * known.sum()
    if chdtrc(size.size - 1, float(((known - expected) ** 2 / expected).sum()) / left) < _UNUSUAL:
        a = int(np.argmax(np.abs(known - expected) / np.sqrt(expected)))
        found.append(
            f"of the known labels {known[a] / n:.1%} are {names[a]}, of all tasks {size[a] / n_tasks:.1%}, so they "
            "do not look like a random sample, which the estimated accuracy assumes; estimates by group are not "
            "affected"
        )
    return found


def _doubts_about_votes(votes_per_task: NDArray[np.integer], task: NDArray[np.int64]) -> list[str]:
    """Return whether tasks with known labels have more votes than others, or fewer: control tasks are shown to many."""
    counts = votes_per_task.astype(np.int64)
    n, n_tasks, total, there = task.size, counts.size, int(counts.sum()), int(counts[task].sum())
    spread = (n_tasks * int((counts**2).sum()) - total**2) / n_tasks**2
    if spread <= 0 or n >= n_tasks:
        return []
    if 2 * ndtr(-abs(there / n - total / n_tasks) / (spread * (1 - n / n_tasks) / n) ** 0.5) >= _UNUSUAL:
        return []
    return [
        f"the {n:,} tasks with known labels have {there / n:.1f} votes each, other tasks "
        f"{(total - there) / (n_tasks - n):.1f}: someone chose them, it seems, and they do not look like a random "
        "sample, which the estimated accuracy assumes"
    ]
