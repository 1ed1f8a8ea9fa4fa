"""Crowds drawn from known distributions: the paper's synthetic experiments, for any number of classes and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import check_count, check_random_state, few
from faircrowd._display import Displayed
from faircrowd.errors import OptionError
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Vocabulary

__all__ = ["SimulatedCrowd", "simulate_crowd"]


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedCrowd(Displayed):
    """A crowd whose truth is known.

    Attributes
    ----------
    votes : frame
        Columns ``task``, ``worker``, ``label`` (pandas where it is installed, a pyarrow table otherwise).
    sensitive_features : Series
        The group A of each task (a frame with columns task and group where pandas is not installed).
    truth : Series
        The true label Y of each task.
    skills : ndarray, shape (n_workers, n_groups)
        The probability that a worker's vote is right, by group.
    """

    votes: Any
    sensitive_features: Any
    truth: Any
    skills: NDArray[np.float64]


def simulate_crowd(
    n_tasks: int = 2000,
    n_workers: int = 100,
    votes_per_task: int | None = 5,
    *,
    group_shares: Sequence[float] = (0.4, 0.6),
    class_shares: ArrayLike = ((0.6, 0.4), (0.4, 0.6)),
    skill_ranges: ArrayLike = ((0.5, 1.0), (0.6, 1.0)),
    random_state: int | np.random.Generator = 0,
) -> SimulatedCrowd:
    r"""Draw a crowd: groups, true labels, skills, and votes.

    A task's group A follows ``group_shares``; its true label Y follows row A of ``class_shares``; worker r has in
    group a the skill :math:`P_r(a) = P(\tilde Y_r = Y \mid A = a)`, uniform on ``skill_ranges[a]``; a wrong vote is
    uniform over the other classes. The defaults are the crowd of the paper's comparison (its section 5.2, as
    printed: P(A = 1) = 0.6 and P(Y = 1 | A = a) = 0.4, 0.6).

    Parameters
    ----------
    n_tasks, n_workers : int
    votes_per_task : int or None
        Each task is voted on by this many workers, drawn without replacement from the pool; by all if None.
    group_shares : sequence of float
        P(A = a), for as many groups as there are shares.
    class_shares : array-like, shape (n_groups, n_classes)
        P(Y = k | A = a). One row serves all groups.
    skill_ranges : array-like, shape (n_groups, 2)
        Range of the skills in each group. One row serves all groups.
    random_state : int or numpy Generator
        The one source of randomness.

    Returns
    -------
    SimulatedCrowd

    Examples
    --------
    The paper's convergence experiment, adversarial crowd, all of 20 workers voting on every task:

    >>> crowd = simulate_crowd(
    ...     n_tasks=500, n_workers=20, votes_per_task=None, group_shares=(0.5, 0.5),
    ...     class_shares=(0.5, 0.5), skill_ranges=((0.2, 0.6), (0.1, 0.6)), random_state=1,
    ... )
    >>> len(crowd.votes)
    10000
    """
    n_tasks = check_count("n_tasks", n_tasks, least=1)
    n_workers = check_count("n_workers", n_workers, least=1)
    each = n_workers if votes_per_task is None else check_count("votes_per_task", votes_per_task, least=1)
    if each > n_workers:
        raise OptionError(f"votes_per_task={each} is more than the {n_workers} workers there are.")
    shares = _probabilities("group_shares", _rows("group_shares", group_shares, 1))[0]
    classes = _probabilities("class_shares", _rows("class_shares", class_shares, shares.size))
    ranges = _rows("skill_ranges", skill_ranges, shares.size)
    if ranges.shape[1] != 2 or not (ranges >= 0).all() or not (ranges <= 1).all() or (np.diff(ranges) < 0).any():
        raise OptionError("skill_ranges needs a pair (low, high) within [0, 1] for each group.")
    rng = check_random_state(random_state)

    group = _draw(rng, np.broadcast_to(shares, (n_tasks, shares.size)))
    truth = _draw(rng, classes[group])
    skills = rng.uniform(ranges[:, 0], ranges[:, 1], size=(n_workers, shares.size))
    worker = _pools(rng, n_tasks, n_workers, each)
    right = rng.random((n_tasks, each)) < skills[worker, group[:, None]]
    other = rng.integers(1, classes.shape[1], size=(n_tasks, each)) if classes.shape[1] > 1 else 0
    label = np.where(right, truth[:, None], (truth[:, None] + other) % classes.shape[1])

    tasks = np.arange(n_tasks)
    style, index = Style(), {"task": Vocabulary.of(tasks.tolist())}
    votes = style.columns({"task": np.repeat(tasks, each), "worker": worker.ravel(), "label": label.ravel()})
    return SimulatedCrowd(votes, style.series(index, "group", group), style.series(index, "truth", truth), skills)


def _rows(name: str, values: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, one row per group; got {few([values])}.") from None
    if rows.ndim != 2 or rows.shape[0] not in (1, n_groups):
        raise OptionError(f"{name} needs one row, or one for each of the {n_groups} groups; got shape {rows.shape}.")
    return np.broadcast_to(rows, (n_groups, rows.shape[1]))


def _probabilities(name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    if not (rows >= 0).all() or not np.allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-9):
        raise OptionError(f"{name} must be probabilities that sum to one; got {rows.tolist()}.")
    return rows


def _draw(rng: np.random.Generator, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw one value per row, with the probabilities in that row."""
    drawn = (rng.random((probabilities.shape[0], 1)) >= np.cumsum(probabilities, axis=1)).sum(axis=1)
    return np.asarray(np.minimum(drawn, probabilities.shape[1] - 1))


def _pools(rng: np.random.Generator, n_tasks: int, n_workers: int, each: int) -> NDArray[np.int64]:
    """Draw ``each`` different workers for every task, all sets equally likely (Floyd's sampling)."""
    if each == n_workers:
        return np.tile(np.arange(n_workers), (n_tasks, 1))
    chosen = np.empty((n_tasks, each), dtype=np.int64)
    for i, last in enumerate(range(n_workers - each, n_workers)):
        drawn = rng.integers(0, last + 1, size=n_tasks)
        taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, last, drawn)
    return chosen
