"""What each of many epsilons would give: rates, thresholds, labels changed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.constraint import prices_of, rates_of
from faircrowd.fair.frontier import SweepPoint, sweep
from faircrowd.fair.gap import gap_of
from faircrowd.fair.objective import Gain
from faircrowd.fair.rule import thresholds_of
from faircrowd.fair.tasks.left_out import compared_gap, compared_groups
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.integer import best_allowed_counts
from faircrowd.fair.thresholds.relaxed import relaxed_thresholds
from faircrowd.fair.thresholds.sorted_group import new_value_cache, sort_groups, value_at_count
from faircrowd.fair.whole_tasks import allowances

__all__ = ["Choice", "choices"]


class Choice(NamedTuple):
    """The labels of one epsilon, in numbers.

    Attributes
    ----------
    epsilon, gap, believed_accuracy : float
        The gap allowed, the gap reached, and the believed accuracy.
    rates : ndarray, shape (n_groups, n_classes)
    moved : ndarray, shape (n_groups, n_classes, n_classes)
        Number of tasks by group, the aggregator's own label and the label; expected numbers for randomized labels.
    thresholds : ndarray, shape (n_groups,), or None
        Two classes: the posterior of the second above which a task of each group gets it.
    """

    epsilon: float
    gap: float
    believed_accuracy: float
    rates: NDArray[np.float64]
    moved: NDArray[np.float64]
    thresholds: NDArray[np.float64] | None

    @property
    def changed(self) -> float:
        """How many labels differ from the aggregator's own."""
        return float(self.moved.sum() - np.einsum("akk->", self.moved))


def choices(problem: Problem, gain: Gain, epsilons: Sequence[float], random_state: int) -> list[Choice]:
    """Return what each epsilon would give, largest first.

    Two classes and groups, accuracy: the best deterministic labels, from one sort for all epsilons. Otherwise the best
    randomized labels, from a warm-started sweep.
    """
    falling = sorted(epsilons, reverse=True)
    n_compared = compared_groups(problem).size
    if problem.n_classes == 2 and n_compared == 2 and gain.is_accuracy and problem.weights is None:
        found = _deterministic(problem.compared(), gain, falling, random_state)
        return [_with_left_out(problem, choice) for choice in found] if problem.left_out else found
    return [_randomized(problem, at) for at in sweep(problem, gain, random_state, falling)]


def _deterministic(problem: Problem, gain: Gain, epsilons: Sequence[float], random_state: int) -> list[Choice]:
    found = sort_groups(problem, gain, random_state)
    sizes = np.array([group.costs.size for group in found.groups])
    own = np.array([group.own_count for group in found.groups])
    allowed = allowances(problem, gain)
    made = []
    for epsilon in epsilons:
        relaxed = relaxed_thresholds(found.groups, epsilon)
        counts = np.array(best_allowed_counts(found.groups, relaxed, epsilon, allowed)[0])
        prices = prices_of(0.5 * relaxed.multiplier * np.array([[1.0, -1.0], [-1.0, 1.0]]), sizes.astype(np.float64))
        rates = np.stack([1 - counts / sizes, counts / sizes], axis=1)
        moved = np.zeros((2, 2, 2))
        moved[:, 0, 1], moved[:, 1, 0] = np.maximum(counts - own, 0), np.maximum(own - counts, 0)
        moved[:, 1, 1], moved[:, 0, 0] = np.minimum(counts, own), sizes - np.maximum(counts, own)
        value = found.base + sum(
            value_at_count(group, c, new_value_cache()) for group, c in zip(found.groups, counts, strict=True)
        )
        thresholds = thresholds_of(prices, gain.matrix, gain.offset)
        made.append(Choice(epsilon, gap_of(rates), value, rates, moved, thresholds))
    return made


def _with_left_out(problem: Problem, choice: Choice) -> Choice:
    """Return a choice with the groups that are left out, whose tasks keep the aggregator's own label."""
    groups, tally = compared_groups(problem), problem.tally(problem.own)
    rates, moved = tally.rates_before, tally.tasks.astype(np.float64)
    rates[groups], moved[groups] = choice.rates, choice.moved
    share = float(problem.sizes[groups].sum() / problem.sizes.sum())
    compared_before = problem.compared().tally(problem.compared().own).accuracies[0]
    accuracy = tally.accuracies[0] + share * (choice.believed_accuracy - compared_before)
    thresholds = np.full(problem.n_groups, 0.5)
    if choice.thresholds is not None:
        thresholds[groups] = choice.thresholds
    return Choice(choice.epsilon, choice.gap, accuracy, rates, moved, thresholds)


def _randomized(problem: Problem, at: SweepPoint) -> Choice:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    n_groups, n_classes = problem.n_groups, problem.n_classes
    cell = problem.group.astype(np.int64) * n_classes + problem.own

    def summed(scale: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [np.bincount(cell, scale * at.probabilities[:, k], n_groups * n_classes) for k in range(n_classes)]
        return np.stack(columns, axis=1).astype(np.float64).reshape(n_groups, n_classes, n_classes)

    mass = summed(weights)
    rates = rates_of(mass.sum(axis=1), mass.sum(axis=(1, 2)))
    thresholds = None
    if n_classes == 2:
        prices = prices_of(at.multipliers, problem.group_weights())
        thresholds = thresholds_of(prices, at.gain.matrix, at.gain.offset)
    accuracy = float(weights @ (at.probabilities * problem.posterior).sum(axis=1) / weights.sum())
    moved = mass if problem.weights is None else summed(np.ones(weights.size))
    return Choice(at.epsilon, compared_gap(problem, rates), accuracy, rates, moved, thresholds)
