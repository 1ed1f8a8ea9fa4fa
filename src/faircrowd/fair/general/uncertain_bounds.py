r"""How far rates of uncertain groups may be from the truth.

A rate that is weighted by the probabilities of a group is right if, among tasks of similar probability, a task's label
does not depend on its group. If it does, the rate is off by the covariance of the two (Chen et al., "Fairness under
unawareness", 2019). That covariance cannot be seen without the groups, but it is bounded: among tasks of a weight of w
in all, a weight of :math:`\sum_i w_i q_{ia}` is in the group, and these are at worst the tasks that add most to the
rate, or least. Assumed is only that probabilities are right on average among tasks of similar probability.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.constraints.quantities import Comparison, Quantity
from faircrowd.fair.general.constrained_solve import ConstrainedProblem

__all__ = ["uncertain_ranges"]

_BINS = 20
"""Probabilities are similar if they are in the same twentieth; 0 and 1 are similar to themselves alone."""


def uncertain_ranges(problem: ConstrainedProblem, number: int, fractions: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return what a constraint's level is at worst, and the range of each of its quantities.

    None if all groups that it compares are known. Without a level if it speaks of the truth, whose covariance with the
    group is not known either.
    """
    _, partition, comparisons = problem.compared[number]
    column = problem.partitions[partition].uncertain
    if not column:
        return None
    found: dict[str, Any] = {"column": column, "level": None, "ranges": []}
    if problem.constraints[number].is_about_truth:
        return found
    items = _Items(problem, partition, fractions)
    worst: list[tuple[float, float]] = []
    for comparison in comparisons:
        ranges = [items.range_of(quantity) for quantity in comparison.quantities]
        if any(ends is None for ends in ranges):
            return found
        low, high = np.array([ends for ends in ranges if ends is not None]).T
        found["ranges"].append(
            {quantity.name: [float(low[i]), float(high[i])] for i, quantity in enumerate(comparison.quantities)}
        )
        worst.append(_worst(comparison, low, high))
    found["level"] = max(worst)[1]
    return found


def _worst(comparison: Comparison, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float]:
    """Return by how much a limit is missed at worst, and the level that this is."""
    middle = (low + high) / 2
    cases = []
    for a in range(low.size):
        for b in range(low.size):
            values = np.clip(middle, *np.sort([low[b], high[a]])) if a != b else middle.copy()
            values[b], values[a] = low[b], high[a]
            cases.append((comparison.miss(values), comparison.level(values)))
        alone = middle.copy()
        alone[a] = low[a]
        cases.append((comparison.miss(alone), comparison.level(alone)))
    return max(cases)


class _Items:
    """The parts of the atoms that get each outcome."""

    def __init__(self, problem: ConstrainedProblem, partition: int, fractions: NDArray[np.float64]) -> None:
        self.shape = problem.grouped[partition].shape
        atom, self.outcome = np.nonzero(fractions)
        self.mass = problem.atoms.mass[atom] * fractions[atom, self.outcome]
        self.groups, self.chances = problem.memberships(partition, atom)
        self.features = np.column_stack([np.ones(atom.size), problem.posterior[atom]])

    def range_of(self, quantity: Quantity) -> tuple[float, float] | None:
        """Return the least and the most that a quantity of one group can be; None if it is of several."""
        groups = quantity.groups(self.shape)
        if groups.size != 1:
            return None
        inside, value = np.nonzero(self.groups == groups[0])
        chance = self.chances[inside, value]
        similar = np.where(chance >= 1.0, _BINS + 1, np.where(chance <= 0.0, 0, 1 + np.floor(_BINS * chance)))
        likeness = similar.astype(np.int64)
        mass, outcome = self.mass[inside], self.outcome[inside]
        member = np.bincount(likeness, weights=mass * chance, minlength=_BINS + 2)
        table = quantity.table(self.shape)[groups[0]]
        if table[1:].any():
            added = np.einsum("nf,nf->n", table[:, outcome].T, self.features[inside])
        else:  # tasks of one outcome add the same
            n_outcomes = self.shape[2]
            cell = likeness * n_outcomes + outcome
            mass = np.bincount(cell, weights=mass, minlength=(_BINS + 2) * n_outcomes).astype(np.float64)
            likeness, outcome = np.divmod(np.arange(mass.size), n_outcomes)
            added = table[0, outcome]
        low = high = 0.0
        for one in np.flatnonzero(member).tolist():
            here = np.flatnonzero(likeness == one)
            order = here[np.argsort(added[here], kind="stable")]
            low += _filled(mass[order], added[order], float(member[one]))
            high += _filled(mass[order[::-1]], added[order[::-1]], float(member[one]))
        return low, high


def _filled(mass: NDArray[np.float64], added: NDArray[np.float64], member: float) -> float:
    """Return what the first items add whose mass is ``member`` in all, the last of them in part."""
    before = np.concatenate([[0.0], np.cumsum(mass)[:-1]])
    return float((np.clip(member - before, 0.0, mass) * added).sum())
