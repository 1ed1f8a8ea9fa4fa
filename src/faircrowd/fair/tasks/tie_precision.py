r"""How near to each other scores may be to count as tied, so that a rounded posterior has the ties of an exact one.

Many tasks of a small crowd have the same posterior, say 2/3, and a rule splits those that lie at its threshold. A
posterior that is stored in 32 bits or with six digits is a little beside the threshold, on one side, and all its tasks
would get one label. So a rule takes as tied what is as near as :data:`DIGITS` digits can tell, wherever the tasks that
it was learned from leave that much room: no task may be so near to a tie without being tied itself.

Rounding a posterior by at most r moves the difference of two scores by at most :math:`s r`, where :math:`s` is the
*sensitivity* :math:`\max_{kl} \sum_j |M_{jk} - M_{jl}|` of the gains M: 2 for accuracy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.fair.objective import Gain
from faircrowd.fair.solution import TieWeights
from faircrowd.fair.tasks.in_turn import InTurn
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.fair.tolerances import tie_widths
from faircrowd.votes.frames import frame_of, is_frame

__all__ = [
    "DIGITS",
    "ROOM",
    "Near",
    "TiePrecision",
    "digits_of",
    "learn_tie_precision",
    "near_ties",
    "sensitivity",
    "step_of",
]

DIGITS = 6
"""Digits after the point with which a posterior has the same ties as the exact one, where there is room."""

ROOM = 2.5 * 0.5 * 10.0**-DIGITS
"""In units of posterior: tied tasks and others must be farther apart than the rounding of both, and a little more."""


_TASKS_AT_ONCE = 1 << 16
_TASKS_PER_BLOCK = 1 << 10


class TiePrecision(NamedTuple):
    """How a rule recognises ties, per group.

    Attributes
    ----------
    tie_widths : ndarray
        How near to each other the scores of a task must be to be tied.
    tied_shares : ndarray
        The share of the tasks that were tied when the rule was learned.
    """

    tie_widths: NDArray[np.float64]
    tied_shares: NDArray[np.float64]


def sensitivity(gain_matrix: NDArray[np.float64]) -> float:
    """Return by how much the difference of two scores may change if each probability changes by up to one.

    Examples
    --------
    >>> sensitivity(np.eye(3))
    2.0
    """
    return float(np.abs(gain_matrix[:, :, None] - gain_matrix[:, None, :]).sum(axis=0).max())


def learn_tie_precision(
    tasks: Population,
    gain: Gain,
    prices: NDArray[np.float64],
    shares: NDArray[np.float64],
    ties: TieWeights,
    in_turn: InTurn | None = None,
) -> TiePrecision:
    """Return the widest ties, up to :data:`DIGITS` digits, that no task is in which is not tied now."""
    least = tie_widths(prices, shares)
    if not ties and in_turn is None:
        return TiePrecision(least, np.zeros(least.size))
    room = sensitivity(gain.matrix) * ROOM
    n_bins = math.ceil(math.log2(room / float(least.min()))) + 1 if room > least.min() else 1
    beside, tied = tasks.reduce(_count_near, gain, prices, in_turn, least, room, n_bins)
    free = np.full(least.size, room)
    for i in range(n_bins):  # a distance in bin i is more than room / 2 ** (i + 1)
        free[beside[:, i] > 0] = room / 2.0 ** (i + 1)
    split = np.isin(np.arange(least.size), [group for group, _ in ties]) | (in_turn is not None)
    return TiePrecision(np.where(split, np.maximum(least, free / 2), least), tied / np.maximum(tasks.sizes, 1))


def step_of(posterior: object) -> float:
    """Return the distance of neighbouring numbers near 1 in the kind of number that a posterior is kept in.

    Examples
    --------
    >>> step_of(np.zeros((1, 2))), step_of(np.zeros((1, 2), dtype=np.float32)) == 2.0**-23
    (0.0, True)
    """
    if is_frame(posterior):
        kinds = [str(kind).lower() for kind in frame_of(posterior).schema.values()]
    else:
        kinds = [str(getattr(posterior, "dtype", ""))]
    steps = {"float16": 2.0**-10, "float32": 2.0**-23}
    return max((steps.get(kind, 0.0) for kind in kinds), default=0.0)


def digits_of(posterior: NDArray[np.float64], most: int = DIGITS) -> int | None:
    """Return with how many digits after the point the probabilities were written; None if with more than ``most``.

    Examples
    --------
    >>> digits_of(np.array([[0.25, 0.75], [0.5, 0.5]])), digits_of(np.array([[1 / 3, 2 / 3]]))
    (2, None)
    """
    for digits in range(1, most + 1):
        scaled = posterior * 10.0**digits
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 + 4e-16 * 10.0**digits).all():
            return digits
    return None


class Near(NamedTuple):
    """Tasks that are near a tie: how many, and the share of tasks that were tied in the group with the most of them."""

    tasks: int
    tied_share: float


def near_ties(distances: NDArray[np.float64], group: NDArray[np.int32], precision: TiePrecision, reach: float) -> Near:
    """Count the tasks that are not tied, but whose scores are nearer to each other than ``reach``.

    Only groups count in which less than half as many tasks are tied as when the rule was learned.

    Parameters
    ----------
    distances : ndarray, shape (n_tasks,)
        The score of the best label of each task minus that of the second.
    """
    sizes = np.maximum(np.bincount(group, minlength=precision.tied_shares.size), 1)
    tied = np.bincount(group[distances <= precision.tie_widths[group]], minlength=sizes.size) / sizes
    fewer = tied < precision.tied_shares / 2
    near = fewer[group] & (distances > precision.tie_widths[group]) & (distances <= reach)
    return Near(int(near.sum()), float(precision.tied_shares[group[near]].max(initial=0.0)))


def _count_near(
    tasks: Tasks,
    gain: Gain,
    prices: NDArray[np.float64],
    in_turn: InTurn | None,
    least: NDArray[np.float64],
    room: float,
    n_bins: int,
) -> tuple[NDArray[np.int64], ...]:
    beside, tied = np.zeros((least.size, n_bins), np.int64), np.zeros(least.size, np.int64)
    for first in range(0, tasks.group.size, _TASKS_AT_ONCE):  # gains take as much memory as the posterior
        rows = slice(first, first + _TASKS_AT_ONCE)
        scores, group, charged = gain.of(tasks.posterior[rows]), tasks.group[rows], prices
        if in_turn is not None:
            scores, charged = in_turn.scores(scores, prices, group), np.zeros_like(prices)
        _add_near(scores, charged, group, least, room, beside, tied)
    return beside, tied


@kernel
def _add_near(
    gains: NDArray[np.float64],
    prices: NDArray[np.float64],
    group: NDArray[np.int32],
    least: NDArray[np.float64],
    room: float,
    beside: NDArray[np.int64],
    tied: NDArray[np.int64],
) -> None:
    """Count tasks with a tie, and labels that are near the best but not tied with it: by halves of ``room``."""
    n_classes = gains.shape[1]
    for start in range(0, gains.shape[0], _TASKS_PER_BLOCK):
        stop = min(start + _TASKS_PER_BLOCK, gains.shape[0])
        if n_classes != 2 or _any_near(gains[start:stop], prices, group[start:stop], least, room):
            _add_block(gains, prices, group, least, room, start, stop, beside, tied)


@inner_kernel
def _any_near(
    gains: NDArray[np.float64],
    prices: NDArray[np.float64],
    group: NDArray[np.int32],
    least: NDArray[np.float64],
    room: float,
) -> bool:
    """Return whether a task of two classes has a tie, or its labels are near it; several are compared at a time."""
    n_near = np.int64(0)
    for i in range(gains.shape[0]):
        a = group[i]
        n_near += abs((gains[i, 0] - prices[a, 0]) - (gains[i, 1] - prices[a, 1])) <= max(room, least[a])
    return bool(n_near > 0)


@inner_kernel
def _add_block(
    gains: NDArray[np.float64],
    prices: NDArray[np.float64],
    group: NDArray[np.int32],
    least: NDArray[np.float64],
    room: float,
    start: int,
    stop: int,
    beside: NDArray[np.int64],
    tied: NDArray[np.int64],
) -> None:
    n_classes = gains.shape[1]
    for i in range(start, stop):
        a = group[i]
        best, second = -np.inf, -np.inf
        for k in range(n_classes):  # without a branch that the processor cannot predict
            score = gains[i, k] - prices[a, k]
            second = max(second, min(score, best))
            best = max(best, score)
        if best - second > max(room, least[a]):  # few tasks have a second label near the best
            continue
        top, has_tie = -1, False
        for k in range(n_classes):
            if top < 0 and gains[i, k] - prices[a, k] == best:
                top = k
        for k in range(n_classes):
            distance = best - (gains[i, k] - prices[a, k])
            if k != top and distance <= least[a]:
                has_tie = True
            elif k != top and distance <= room:
                beside[a, min(int(math.log2(room / distance)), beside.shape[1] - 1)] += 1
        tied[a] += has_tie
