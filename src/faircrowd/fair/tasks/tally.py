"""Labels in numbers: how many there are of each in each group, and what they gain.

Sums of probabilities and gains are sums of integers (:mod:`faircrowd.exact.sums`), so that they are the same to the
bit wherever the tasks lie. Where tasks have weights they are ordinary sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.exact.sums import (
    PROBABILITY_UNIT,
    TERMS_PER_CARRY,
    carry,
    limbs_to_numbers,
    to_limbs,
    to_units,
    unit_for,
)
from faircrowd.fair.objective import Gain
from faircrowd.fair.rate_constraint import rates_of
from faircrowd.fair.tasks.population import Tasks
from faircrowd.votes.vocabulary import Codes

__all__ = ["Tally", "add_expected", "add_labels", "count_groups", "gain_unit", "weigh_expected", "weigh_labels"]


_FEW_CELLS = 16
"""Up to this many counts are taken one after the other."""


class Tally(NamedTuple):
    """The labels before and after, in numbers.

    Attributes
    ----------
    mass : ndarray, shape (n_groups, n_classes, n_classes)
        Weight of the tasks by group, own label and label.
    tasks : ndarray of int64, of the same shape
        Number of these tasks; for randomized labels the expected number, rounded.
    trust : ndarray, shape (2, n_classes)
        Sum of the posterior of the own labels, and of the labels, by label.
    beliefs : ndarray, shape (n_classes,)
        Sum of the posterior of each class; for F1 only.
    gained : ndarray, shape (2,)
        Sum of what the own labels, and the labels, gain; for a matrix of gains only.
    """

    mass: NDArray[np.float64]
    tasks: NDArray[np.int64]
    trust: NDArray[np.float64]
    beliefs: NDArray[np.float64]
    gained: NDArray[np.float64]

    @classmethod
    def of(cls, sums: list[NDArray[np.int64]], gain: Gain) -> "Tally":
        """Read what ``add_labels`` added up."""
        counts, trust, beliefs, gained = sums
        gains = limbs_to_numbers(gained, gain_unit(gain))
        return cls(counts.astype(np.float64), counts, limbs_to_numbers(trust), limbs_to_numbers(beliefs), gains)

    @classmethod
    def expected(cls, sums: list[NDArray[np.int64]], gain: Gain) -> "Tally":
        """Read what ``add_expected`` added up."""
        counts, *others = sums
        mass = limbs_to_numbers(counts)
        return cls.of([np.rint(mass).astype(np.int64), *others], gain)._replace(mass=mass)

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of each class in each group."""
        return rates_of(self.mass.sum(axis=1), self.mass.sum(axis=(1, 2)))

    @property
    def rates_before(self) -> NDArray[np.float64]:
        """The same for the own labels."""
        return rates_of(self.mass.sum(axis=2), self.mass.sum(axis=(1, 2)))

    @property
    def accuracies(self) -> tuple[float, float]:
        """Believed accuracy of the own labels and of the labels."""
        before, after = self.trust.sum(axis=1) / self.mass.sum()
        return float(before), float(after)

    def gain_of_labels(self, gain: Gain) -> float:
        """Return what the labels gain per unit of weight; for F1, the gain of its last step."""
        if gain.name != "f1":
            return self.values(gain)[1]
        k = gain.positive
        gained = gain.matrix[k, k] * self.trust[1, k] + gain.offset[k] * self.mass.sum(axis=(0, 1))[k]
        return float(gained / self.mass.sum())

    def values(self, gain: Gain) -> tuple[float, float]:
        """Return the objective of the own labels and of the labels."""
        if gain.is_accuracy:
            return self.accuracies
        if gain.name == "f1":
            k = gain.positive
            labelled = self.mass.sum(axis=(0, 2))[k], self.mass.sum(axis=(0, 1))[k]
            totals = [float(self.beliefs[k] + count) for count in labelled]
            before, after = (2 * float(p) / n if n > 0 else 0.0 for p, n in zip(self.trust[:, k], totals, strict=True))
            return before, after
        before, after = (float(gained / self.mass.sum()) for gained in self.gained)
        return before, after


def count_groups(tasks: Tasks, n_groups: int) -> tuple[NDArray[np.int64]]:
    """Count the tasks of each group."""
    counts = np.zeros(n_groups, dtype=np.int64)
    _count_groups(tasks.group, counts)
    return (counts,)


def add_labels(tasks: Tasks, labels: Codes, n_groups: int, gain: Gain) -> tuple[NDArray[np.int64], ...]:
    """Add up the labels of some tasks: counts by group, own label and label; trust, beliefs and gains as limbs."""
    n_classes = tasks.posterior.shape[1]
    counts = np.zeros(n_groups * n_classes**2, dtype=np.int64)
    _count(tasks.group, tasks.own, labels, n_classes, counts)
    trust, beliefs = np.zeros((2, n_classes, 2), dtype=np.int64), np.zeros((n_classes, 2), dtype=np.int64)
    gained = np.zeros((2, 2), dtype=np.int64)
    if n_classes == 2:
        _trust_of_two(tasks.posterior, tasks.own, labels, trust)
    for i, found in enumerate((tasks.own, labels)):
        if n_classes != 2:
            _trust(tasks.posterior, found, trust[i])
        if gain.name == "gains":
            _gained(tasks.posterior, found, gain.matrix, gain.offset, gain_unit(gain), gained[i : i + 1])
    if gain.name == "f1":
        _believe(tasks.posterior, beliefs)
    return counts.reshape(n_groups, n_classes, n_classes), trust, beliefs, gained


def add_expected(
    tasks: Tasks, probabilities: NDArray[np.float64], n_groups: int, gain: Gain
) -> tuple[NDArray[np.int64], ...]:
    """Add up what randomized labels of some tasks come to on average: as ``add_labels``, but counts are limbs too.

    Most tasks have one label for certain. They are counted as such; only the others are weighed by their chances.
    """
    n_classes = tasks.posterior.shape[1]
    chances = np.ascontiguousarray(probabilities, dtype=np.float64)
    labels, rows = np.empty(tasks.own.size, dtype=np.int32), np.empty(tasks.own.size, dtype=np.int64)
    rows = rows[: _find_certain(chances, labels, rows)]
    whole, trust, beliefs, gained = add_labels(tasks, labels, n_groups, gain)
    posterior, group, own = tasks.posterior[rows], tasks.group[rows], tasks.own[rows]
    instead = np.zeros_like(whole).ravel(), np.zeros((n_classes, 2), dtype=np.int64)
    _count(group, own, labels[rows], n_classes, instead[0])
    _trust(posterior, labels[rows], instead[1])
    trust[1] -= instead[1]
    whole -= instead[0].reshape(whole.shape)
    counts = np.stack([whole << 26, np.zeros_like(whole)], axis=-1)  # a task is 2**52 units
    _expect(posterior, group, own, chances[rows], counts, trust[1])
    if gain.name == "gains":
        of_label = gain.of(tasks.posterior)
        for i, given in enumerate((np.eye(n_classes)[tasks.own], chances)):
            gained[i] = [limb.sum() for limb in to_limbs((given * of_label).sum(axis=1), gain_unit(gain))]
    return counts, trust, beliefs, gained


def gain_unit(gain: Gain) -> float:
    """Return how many units make a gain of one when gains are added up as integers of 52 bits."""
    return unit_for(float(np.abs(gain.matrix).max() + np.abs(gain.offset).max()))


def weigh_labels(
    tasks: Tasks, labels: Codes, weights: NDArray[np.float64], n_groups: int, gain: Gain
) -> tuple[NDArray[np.float64], ...]:
    """Return mass, trust, beliefs and gains of labels where tasks have weights."""
    n_classes = tasks.posterior.shape[1]
    mass = np.zeros((n_groups, n_classes, n_classes))
    np.add.at(mass, (tasks.group, tasks.own, labels), weights)
    trust, gained = np.zeros((2, n_classes)), np.zeros(2)
    for i, found in enumerate((tasks.own, labels)):
        of_label = np.take_along_axis(tasks.posterior, found[:, None].astype(np.int64), axis=1)[:, 0]
        trust[i] = np.bincount(found, weights * of_label, n_classes)
        gains = (tasks.posterior * gain.matrix.T[found]).sum(axis=1) + gain.offset[found]
        gained[i] = weights @ gains
    return mass, trust, weights @ tasks.posterior, gained


def weigh_expected(
    tasks: Tasks, probabilities: NDArray[np.float64], weights: NDArray[np.float64], n_groups: int, gain: Gain
) -> tuple[NDArray[np.float64], ...]:
    """Return the same of randomized labels on average."""
    n_classes = tasks.posterior.shape[1]
    mass = np.zeros((n_groups, n_classes, n_classes))
    np.add.at(mass, (tasks.group, tasks.own), weights[:, None] * probabilities)
    both = np.eye(n_classes)[tasks.own], probabilities
    trust = np.stack([weights @ (chances * tasks.posterior) for chances in both])
    gained = np.array([weights @ (chances * gain.of(tasks.posterior)).sum(axis=1) for chances in both])
    return mass, trust, weights @ tasks.posterior, gained


@kernel
def _count_groups(group: Codes, counts: NDArray[np.int64]) -> None:
    for start in range(0, group.size, TERMS_PER_CARRY):
        _add_counts(group[start : start + TERMS_PER_CARRY], counts)


@kernel
def _count(group: Codes, own: Codes, labels: Codes, n_classes: int, counts: NDArray[np.int64]) -> None:
    cells, width = np.empty(min(TERMS_PER_CARRY, labels.size), np.int32), np.int32(n_classes)
    for start in range(0, labels.size, TERMS_PER_CARRY):
        stop = start + TERMS_PER_CARRY
        a, before, after = group[start:stop], own[start:stop], labels[start:stop]
        for i in range(after.size):
            cells[i] = (a[i] * width + before[i]) * width + after[i]
        _add_counts(cells[: after.size], counts)


@inner_kernel
def _add_counts(cells: Codes, counts: NDArray[np.int64]) -> None:
    """Add the number of tasks of each cell, cell by cell if there are few: several tasks are compared at a time."""
    if counts.size > _FEW_CELLS:
        for i in range(cells.size):
            counts[cells[i]] += 1
        return
    for cell in range(counts.size):
        wanted, count = np.int32(cell), np.int32(0)
        for i in range(cells.size):
            count += np.int32(1) if cells[i] == wanted else np.int32(0)
        counts[cell] += count


@kernel
def _trust(posterior: NDArray[np.float64], labels: Codes, trust: NDArray[np.int64]) -> None:
    sums = np.zeros(posterior.shape[1], np.int64)
    for start in range(0, labels.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, labels.size)):
            sums[labels[i]] += to_units(posterior[i, labels[i]], PROBABILITY_UNIT)
        carry(sums, trust)


@kernel
def _find_certain(chances: NDArray[np.float64], labels: Codes, others: NDArray[np.int64]) -> int:
    """Write the certain label of each task, or 0; write the rows of tasks without one, and return their number."""
    n_others, n_classes = 0, chances.shape[1]
    for start in range(0, labels.size, TERMS_PER_CARRY):
        chance, label = chances[start : start + TERMS_PER_CARRY], labels[start : start + TERMS_PER_CARRY]
        n_certain = _label_certain_of_two(chance, label) if n_classes == 2 else 0
        if n_certain == label.size:
            continue
        for i in range(label.size):
            certain = -1
            for k in range(n_classes):
                if chance[i, k] != 0.0:
                    certain = k if chance[i, k] == 1.0 and certain < 0 else n_classes
            is_certain = 0 <= certain < n_classes
            label[i] = certain if is_certain else 0
            others[n_others] = start + i  # written over by the next one unless it counts
            n_others += not is_certain
    return n_others


@kernel
def _expect(
    posterior: NDArray[np.float64],
    group: Codes,
    own: Codes,
    chances: NDArray[np.float64],
    counts: NDArray[np.int64],
    trust: NDArray[np.int64],
) -> None:
    """Add up chances by group, own label and label, and the posterior of labels, weighted by their chances."""
    sums = np.zeros(posterior.shape[1], np.int64)
    for start in range(0, group.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, group.size)):
            for k in range(posterior.shape[1]):
                units = to_units(chances[i, k], PROBABILITY_UNIT)
                # There are as many counts as groups: they are not carried, but added up as limbs.
                counts[group[i], own[i], k, 0] += units >> 26
                counts[group[i], own[i], k, 1] += units & (2**26 - 1)
                sums[k] += to_units(chances[i, k] * posterior[i, k], PROBABILITY_UNIT)
        carry(sums, trust)


# Of two classes, without indices that depend on the task, several tasks are added at a time. Slices begin
# at 0, so that the compiler sees that no index is negative, which would count from the end.


@kernel
def _trust_of_two(posterior: NDArray[np.float64], own: Codes, labels: Codes, trust: NDArray[np.int64]) -> None:
    """Add up the posterior of the own labels and of the labels, of two classes."""
    sums = np.zeros((2, 2), np.int64)
    for start in range(0, labels.size, TERMS_PER_CARRY):
        stop = start + TERMS_PER_CARRY
        p, before, after = posterior[start:stop], own[start:stop], labels[start:stop]
        own_0 = own_1 = label_0 = label_1 = np.int64(0)
        for i in range(after.size):
            units_0, units_1 = to_units(p[i, 0], PROBABILITY_UNIT), to_units(p[i, 1], PROBABILITY_UNIT)
            own_0 += units_0 if before[i] == 0 else 0
            own_1 += units_1 if before[i] == 1 else 0
            label_0 += units_0 if after[i] == 0 else 0
            label_1 += units_1 if after[i] == 1 else 0
        sums[0, 0], sums[0, 1], sums[1, 0], sums[1, 1] = own_0, own_1, label_0, label_1
        carry(sums[0], trust[0])
        carry(sums[1], trust[1])


@inner_kernel
def _label_certain_of_two(chances: NDArray[np.float64], labels: Codes) -> int:
    """Write the certain label of each task, or anything; return how many have one."""
    n_certain = 0
    for i in range(labels.size):
        is_0 = (chances[i, 0] == 1.0) & (chances[i, 1] == 0.0)
        is_1 = (chances[i, 0] == 0.0) & (chances[i, 1] == 1.0)
        labels[i] = np.int32(is_1)
        n_certain += is_0 | is_1
    return n_certain


@kernel
def _believe(posterior: NDArray[np.float64], beliefs: NDArray[np.int64]) -> None:
    sums = np.zeros(posterior.shape[1], np.int64)
    for start in range(0, posterior.shape[0], TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, posterior.shape[0])):
            for k in range(posterior.shape[1]):
                sums[k] += to_units(posterior[i, k], PROBABILITY_UNIT)
        carry(sums, beliefs)


@kernel
def _gained(
    posterior: NDArray[np.float64],
    labels: Codes,
    matrix: NDArray[np.float64],
    offset: NDArray[np.float64],
    unit: float,
    limbs: NDArray[np.int64],
) -> None:
    sums = np.zeros(1, np.int64)
    for start in range(0, labels.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, labels.size)):
            gain = offset[labels[i]]
            for k in range(matrix.shape[0]):
                gain += posterior[i, k] * matrix[k, labels[i]]
            sums[0] += to_units(gain, unit)
        carry(sums, limbs)
