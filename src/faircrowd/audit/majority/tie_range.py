r"""Ties: the smallest and the largest gap that the same votes can give, over all ways to break ties.

A task whose highest score is shared by several classes may get any of them. Tasks of one group with the same set J of
tied classes are interchangeable, so a way to break the ties is a count :math:`x_{aJk}` of tasks of group a and set J
that get label k.

The largest gap is that of one label in two groups: all ties that can go to the label do so in one group, and none in
the other. The smallest gap is found, for two classes, by trying every rate that a group can have as the lowest; for
more classes, by an integer program (HiGHS) with the gap as one more variable.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._display import Displayed
from faircrowd.aggregate.posterior import choose
from faircrowd.aggregate.weighted_votes import weigh
from faircrowd.audit.workers.worker_counts import groups_in
from faircrowd.engines import LocalEngine
from faircrowd.errors import InputError
from faircrowd.fair.gap import gap_of
from faircrowd.fair.program.two_class_rounding import shortest_stretch
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["TieRange", "majority_ties", "tie_range"]

_MAX_INTEGER_TIES = 20_000  # with more ties, rounding to integers makes no visible difference
_MAX_NODES = 1_000  # of the search tree; a time limit would make results depend on the machine


@dataclass(frozen=True, eq=False, repr=False)
class TieRange(Displayed):
    """The gaps that are possible, depending on how ties are broken.

    Attributes
    ----------
    smallest, largest : float
        The gap if all ties are broken in favour of parity, or against it. Both are reached.
    bound : float
        No way to break the ties gives a gap below this: equal to ``smallest`` unless the search was cut short.
    first, last : float
        The gap if ties go to the first, or to the last of the tied classes.
    tied, tasks : ndarray of int64, shape (n_groups,)
        Number of tied tasks, and of all tasks.
    """

    smallest: float
    largest: float
    bound: float
    first: float
    last: float
    tied: NDArray[np.int64]
    tasks: NDArray[np.int64]

    @property
    def exact(self) -> bool:
        """Whether ``smallest`` is proved to be the smallest."""
        return self.smallest <= self.bound


def majority_ties(votes: VoteTable) -> TieRange:
    """Return the range of the majority's gap over all ways to break its ties."""
    group, groups = groups_in(votes)
    return tie_range(weigh(LocalEngine(votes), votes, np.ones(votes.n_workers)), group, len(groups))


def tie_range(scores: ArrayLike, group: Codes, n_groups: int | None = None) -> TieRange:
    """Return the range of the gap over all ways to break ties.

    Parameters
    ----------
    scores : array-like, shape (n_tasks, n_classes)
        Votes, probabilities or any scores; the highest of a row wins, and equal ones are tied.
    group : ndarray of int, shape (n_tasks,)
        Codes from 0; every group has a task.
    n_groups : int, optional
        By default, as many as occur.

    Examples
    --------
    >>> ties = tie_range([[2, 1], [1, 1], [0, 2], [1, 1]], np.array([0, 0, 1, 1]))
    >>> ties.smallest, ties.largest
    (0.0, 1.0)
    """
    values, codes = np.asarray(scores, dtype=np.float64), np.asarray(group)
    if values.ndim != 2 or codes.shape != (values.shape[0],) or values.size == 0 or np.isnan(values).any():
        raise InputError(f"Scores need one row per task and one column per class, without NaN; got {values.shape}.")
    n_groups = int(codes.max()) + 1 if n_groups is None else n_groups
    tasks = np.bincount(codes, minlength=n_groups)
    if tasks.size > n_groups or (tasks == 0).any():
        raise InputError(f"Groups must be coded from 0 to {n_groups - 1}, and each must have a task.")
    highest = values == values.max(axis=1, keepdims=True)
    is_tied = highest.sum(axis=1) > 1
    untied, first, last = np.zeros((3, n_groups, values.shape[1]), dtype=np.int64)
    np.add.at(untied, (codes[~is_tied], np.argmax(highest[~is_tied], axis=1)), 1)
    rows, mass = np.unique(np.column_stack([codes[is_tied], highest[is_tied]]), axis=0, return_counts=True)
    ties = _Ties(rows[:, 0], rows[:, 1:].astype(bool), mass, untied, tasks)
    for counts, rule in ((first, "first"), (last, "last")):
        np.add.at(counts, (rows[:, 0], choose(rows[:, 1:], rule)), mass)
    gaps = [gap_of((untied + broken) / tasks[:, None]) for broken in (first, last)]
    smallest, bound = _smallest(ties, min(gaps))
    return TieRange(smallest, _largest(ties), bound, gaps[0], gaps[1], tasks - untied.sum(axis=1), tasks)


class _Ties(NamedTuple):
    """Tied tasks merged by group and tied classes, and the number of untied labels by group and class."""

    group: NDArray[np.int64]
    classes: NDArray[np.bool_]
    mass: NDArray[np.int64]
    untied: NDArray[np.int64]
    tasks: NDArray[np.int64]

    @property
    def most(self) -> NDArray[np.int64]:
        """Number of labels by group and class if all ties that can go to the class do."""
        most = self.untied.copy()
        np.add.at(most, self.group, self.classes * self.mass[:, None])
        return most


def _largest(ties: _Ties) -> float:
    low, high = ties.untied / ties.tasks[:, None], ties.most / ties.tasks[:, None]
    if len(low) < 2:
        return 0.0
    # The highest rate minus the lowest; where one group has both, it or the other group is the next best.
    k = np.arange(low.shape[1])
    tops, bottoms = np.argsort(-high, axis=0, kind="stable")[:2], np.argsort(low, axis=0, kind="stable")[:2]
    reached = high[tops[:, None], k] - low[bottoms[None], k]
    return float(reached[tops[:, None] != bottoms[None]].max())


def _smallest(ties: _Ties, known: float) -> tuple[float, float]:
    """Return the smallest gap found, and a lower bound; ``known`` is the gap of some way to break the ties."""
    if ties.mass.size == 0 or ties.tasks.size == 1:
        return known, known
    if ties.untied.shape[1] == 2:
        found = _closest_rates(ties.untied[:, 1], ties.most[:, 1], ties.tasks)
        return found, found
    found, bound = _program(ties)
    return min(found, known), min(bound, found, known)


def _closest_rates(low: NDArray[np.int64], high: NDArray[np.int64], tasks: NDArray[np.int64]) -> float:
    """Return the smallest range of rates if each group may have any count from ``low`` to ``high``."""
    many = high - low + 1
    group = np.repeat(np.arange(tasks.size), many)
    count = np.arange(group.size) - np.repeat(np.cumsum(many) - many, many) + low[group]
    rate = count / tasks[group]
    order = np.argsort(rate, kind="stable")
    return float(shortest_stretch(group[order], rate[order], tasks.size))


def _program(ties: _Ties) -> tuple[float, float]:
    r"""Minimise e subject to :math:`c_k \le r_{ak} \le c_k + e`; return the gap reached, and a lower bound.

    Over integer counts; with very many ties, over real counts that are then rounded (which changes a few tasks).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, hstack

    (n_groups, n_classes), total = ties.untied.shape, float(ties.tasks.sum())
    atom, label = np.nonzero(ties.classes)
    n_counts, n_cells = atom.size, n_groups * n_classes
    cell, column = ties.group[atom] * n_classes + label, np.arange(n_counts)
    each = coo_array((np.ones(n_counts), (atom, column)), shape=(ties.mass.size, n_counts + n_classes + 1))
    labels = coo_array((np.ones(n_counts), (cell, column)), shape=(n_cells, n_counts))
    # c and e are counted in tasks, so that the solver's tolerances are small parts of one task.
    a, k = np.divmod(np.arange(n_cells), n_classes)
    floors = coo_array((-ties.tasks[a] / total, (np.arange(n_cells), k)), shape=(n_cells, n_classes))
    gap = coo_array(-(ties.tasks[a] / total)[:, None])
    integer = ties.mass.sum() <= _MAX_INTEGER_TIES
    found = milp(
        np.append(np.zeros(n_counts + n_classes), 1.0),
        integrality=np.append(np.full(n_counts, int(integer)), np.zeros(n_classes + 1)),
        bounds=Bounds(0.0, np.append(ties.mass[atom], np.full(n_classes + 1, total))),
        constraints=[
            LinearConstraint(each.tocsr(), ties.mass, ties.mass),
            LinearConstraint(hstack([labels, floors, 0 * gap]).tocsr(), -ties.untied.ravel(), np.inf),
            LinearConstraint(hstack([labels, floors, gap]).tocsr(), -np.inf, -ties.untied.ravel()),
        ],
        options={"node_limit": _MAX_NODES, "mip_rel_gap": 0.0},
    )
    if found.x is None:  # no solution within the limit of the search
        return 1.0, 0.0
    wanted = np.zeros(ties.classes.shape)
    wanted[atom, label] = found.x[:n_counts]
    counts = ties.untied.copy()
    np.add.at(counts, ties.group, _rounded(wanted, ties.mass))
    reached = gap_of(counts / ties.tasks[:, None])
    if integer and found.status == 0:
        return reached, reached
    bound = found.mip_dual_bound if integer else found.fun
    return reached, max(float(bound or 0.0) / total, 0.0)


def _rounded(wanted: NDArray[np.float64], mass: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round each row to integers that sum to its mass: the largest remainders are rounded up."""
    counts = np.floor(wanted + 1e-6).astype(np.int64)
    rank = np.argsort(np.argsort(counts - wanted, axis=1, kind="stable"), axis=1)
    return np.asarray(counts + (rank < (mass - counts.sum(axis=1))[:, None]))
