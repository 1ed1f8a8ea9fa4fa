"""How individual leanings add up in the majority: exact, by the Poisson-binomial distribution. Two classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import few
from faircrowd._display import Displayed
from faircrowd._kernels import kernel
from faircrowd._types import ByTask
from faircrowd.audit.majority.poisson_binomial import add_up, as_rates, majority_tails, survival
from faircrowd.audit.workers.worker_counts import check_truth, groups_in, range_over_groups
from faircrowd.engines import Block, LocalEngine
from faircrowd.errors import InputError, OptionError
from faircrowd.exact.sums import mass_unit
from faircrowd.fair.gap import gap_of
from faircrowd.votes import VoteTable
from faircrowd.votes.vocabulary import Codes

__all__ = ["CrowdGap", "MajorityRates", "crowd_gap", "group_rates", "majority_rates"]

_NEGLIGIBLE = 1e-25  # tails of a distribution below this are cut off; see add_up


@dataclass(frozen=True, eq=False, repr=False)
class MajorityRates(Displayed):
    r"""The probability that the majority says 1, by group.

    Attributes
    ----------
    strict : ndarray, shape (n_groups,)
        More than half of the votes: a tie goes to 0 (``ties="first"``).
    loose : ndarray, shape (n_groups,)
        Half or more: a tie goes to 1 (``ties="last"``, the paper's :math:`\ge R/2`).
    """

    strict: NDArray[np.float64]
    loose: NDArray[np.float64]

    @property
    def gap_strict(self) -> float:
        """Largest difference between two groups, ties to 0."""
        return gap_of(self.strict[:, None])

    @property
    def gap_loose(self) -> float:
        """Largest difference between two groups, ties to 1."""
        return gap_of(self.loose[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class CrowdGap(Displayed):
    """The gap that the workers' own rates imply, and the observed gap.

    Attributes
    ----------
    implied : MajorityRates
        If each worker voted by their own rate in the task's group, independently of the others.
    observed : MajorityRates
        Of the actual majority.
    mean_gap : float
        Mean over votes of the voter's own gap, where it is known.
    """

    implied: MajorityRates
    observed: MajorityRates
    mean_gap: float


def majority_rates(rates: ArrayLike) -> MajorityRates:
    """Return the exact rates of the majority of independent voters, all of whom vote on every task.

    Parameters
    ----------
    rates : array-like, shape (n_voters, n_groups)
        The probability that each voter says 1 in each group.

    Examples
    --------
    Each leans by .1; together they lean by .21:

    >>> crowd = majority_rates([[0.4, 0.5]] * 7)
    >>> crowd.strict.round(3), round(crowd.gap_strict, 3)
    (array([0.29, 0.5 ]), 0.21)
    """
    values = group_rates(rates)
    n_voters = values.shape[0]
    strict, loose = survival(values, n_voters // 2 + 1), survival(values, (n_voters + 1) // 2)
    return MajorityRates(np.minimum(strict, 1.0), np.minimum(loose, 1.0))


def crowd_gap(votes: VoteTable, worker_rates: ArrayLike, *, truth: ByTask | None = None) -> CrowdGap:
    r"""Return the gap of the majority that the workers' own rates imply, over the tasks' actual voters.

    For each task, the distribution of the number of ones is that of its own voters, with their rates in its group; the
    probabilities of a majority are then averaged over the tasks of a group. The rest of the observed gap is due to
    votes that are correlated because tasks differ within a group, above all in their truth. With ``truth``, rates
    are by group and true class, and votes need be independent only given both.

    Parameters
    ----------
    votes : VoteTable
        Two classes, with groups.
    worker_rates : array-like, shape (n_workers, n_groups) or, with truth, (n_workers, n_groups, 2)
        The probability that a worker says class 1; NaN where it is not needed.
    truth : Series, dict, frame or ndarray of int, optional
        The true label of tasks by their ids, or an array with the class code of each task, -1 where it is not known.
        Only tasks with a known class then count, for the implied and for the observed rates.
    """
    group, groups = groups_in(votes)
    if votes.n_classes != 2:
        raise InputError(f"How leanings add up is computed for two classes; these votes have {votes.n_classes}.")
    n_groups = len(groups)
    shape = (votes.n_workers, n_groups) if truth is None else (votes.n_workers, n_groups, 2)
    rates = np.ascontiguousarray(worker_rates, dtype=np.float64)
    if rates.shape != shape or ((rates < 0) | (rates > 1)).any():
        raise OptionError(f"worker_rates must be probabilities of shape {shape}; got shape {rates.shape}.")
    cell = group
    if truth is not None:
        known = check_truth(votes, truth)
        cell = np.where(known >= 0, group * 2 + known, -1).astype(np.int32)
    engine, unit = LocalEngine(votes, by_group=True), mass_unit(votes.n_tasks)
    by_cell = rates.reshape(votes.n_workers, -1)
    # Integers add up to the same sum in every order.
    mass, tasks, lacking = engine.reduce(_tails, cell, by_cell, votes.most_votes, n_groups, unit)
    if lacking[0]:
        few_tasks = np.flatnonzero(engine.emit(_lacks_rate, cell, by_cell))[:5]
        raise InputError(
            f"worker_rates lacks the rate of a worker who voted on {few(votes.tasks.some(few_tasks), int(lacking[0]))}."
        )
    if (tasks == 0).any():
        raise InputError("A group has no task with a known truth; leave truth out, or give some.")
    means = mass / unit / tasks
    gaps = np.fmax.reduce(range_over_groups(rates, axis=1).reshape(votes.n_workers, -1), axis=1)
    weights = np.where(np.isnan(gaps), 0, votes.votes_per_worker)
    mean_gap = float(np.nansum(gaps * weights) / weights.sum()) if weights.any() else float("nan")
    return CrowdGap(MajorityRates(means[0], means[1]), MajorityRates(means[2], means[3]), mean_gap)


def group_rates(rates: ArrayLike) -> NDArray[np.float64]:
    """Return rates with one row per voter and one column per group, or raise."""
    values = as_rates(rates)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 1:
        raise OptionError(f"Rates need one row per voter and one column per group; got shape {values.shape}.")
    return values


@kernel
def _tails(
    block: Block, cell: Codes, rates: NDArray[np.float64], most: int, n_groups: int, unit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sum by group the probabilities of more than half ones and of half or more, and whether the votes have them.

    Also return the number of tasks counted in each group, and the number of tasks where a rate is missing.
    """
    first, offsets, worker, label, group, _ = block
    mass = np.zeros((4, n_groups), np.int64)
    tasks = np.zeros(n_groups, np.int64)
    lacking = np.zeros(1, np.int64)
    probability = np.zeros(most + 1)
    own = np.empty(most)
    for t in range(offsets.size - 1):
        start, stop, c, g = offsets[t], offsets[t + 1], cell[first + t], group[t]
        if c < 0:
            continue
        n, ones = stop - start, 0
        known = True
        for i in range(start, stop):
            own[i - start] = rates[worker[i], c]
            known = known and not np.isnan(own[i - start])
            ones += label[i]
        if not known:
            lacking[0] += 1
            continue
        low, high = add_up(own[:n], probability, _NEGLIGIBLE)
        strict, loose = majority_tails(probability, n, high)
        for s in range(low, high + 1):
            probability[s] = 0.0
        mass[0, g] += np.int64(strict * unit + 0.5)
        mass[1, g] += np.int64(loose * unit + 0.5)
        mass[2, g] += np.int64(unit) * (2 * ones > n)
        mass[3, g] += np.int64(unit) * (2 * ones >= n)
        tasks[g] += 1
    return mass, tasks, lacking


@kernel
def _lacks_rate(block: Block, cell: Codes, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Emit whether each task that counts has a voter without a rate."""
    first, offsets, worker, _, _, _ = block
    found = np.zeros(offsets.size - 1, np.bool_)
    for t in range(offsets.size - 1):
        c = cell[first + t]
        for i in range(offsets[t], offsets[t + 1]):
            found[t] = found[t] or (c >= 0 and np.isnan(rates[worker[i], c]))
    return found
