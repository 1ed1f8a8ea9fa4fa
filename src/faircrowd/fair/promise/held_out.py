"""Tasks in two parts: some that a rule is learned from, and the others, which are held out from that."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import task_keys
from faircrowd.fair.tasks.problem import Problem

__all__ = ["Halves", "split"]

_SALT = 0x5F3759DF
"""The split has hashes of its own, so that it says nothing about ties, which are drawn by those of the seed."""


class Halves(NamedTuple):
    """The two parts of a problem.

    Attributes
    ----------
    learned, held_out : Problem
    """

    learned: Problem
    held_out: Problem


def split(problem: Problem, share: float, random_state: int) -> Halves | None:
    """Put the tasks of each group with the lowest seeded hashes into the first part, and the others into the second.

    The split depends on the ids of the tasks, their groups and the seed, not on the order of rows.

    Parameters
    ----------
    problem : Problem
    share : float
        Of each group, rounded down, for the first part.
    random_state : int

    Returns
    -------
    Halves or None
        None if a group is too small to be split.
    """
    counts = np.floor(problem.sizes * share).astype(np.int64)
    if counts.min() < 1 or (problem.sizes - counts).min() < 1:
        return None
    hashes = task_keys(problem.tasks, np.arange(problem.group.size), random_state ^ _SALT)
    order = np.lexsort((hashes, problem.group))
    starts = np.cumsum(problem.sizes) - problem.sizes
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - np.repeat(starts, problem.sizes)
    first = rank < counts[problem.group]
    return Halves(_part(problem, np.flatnonzero(first)), _part(problem, np.flatnonzero(~first)))


def _part(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    return replace(
        problem,
        tasks=problem.tasks.take(rows),
        posterior=problem.posterior[rows],
        group=problem.group[rows],
        own=problem.own[rows],
        log_odds=None if problem.log_odds is None else problem.log_odds[rows],
        evidence=None if problem.evidence is None else problem.evidence[rows],
    )
