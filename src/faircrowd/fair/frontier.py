"""Every epsilon at once: how gap, objective and changed labels trade off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_number
from faircrowd.fair.constraint import make_constraint
from faircrowd.fair.gap import gap_of
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import merge
from faircrowd.fair.program.relaxed import solve_relaxed
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.population import Population
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.flip_cost import flip_path
from faircrowd.fair.thresholds.sorted_group import rate_at_count, sort_groups
from faircrowd.votes.vocabulary import Codes

__all__ = ["Frontier", "FrontierPoint", "SweepPoint", "sweep", "trace_frontier"]

_SWEEP_POINTS = 21


class FrontierPoint(NamedTuple):
    """One point: the gap reached, the objective, the expected number of labels changed, and the believed accuracy."""

    gap: float
    value: float
    changed: float
    believed_accuracy: float

    @property
    def accuracy(self) -> float:
        """``believed_accuracy``: the same number under its earlier name."""
        return self.believed_accuracy


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best objective of randomized labels for every epsilon, under the posterior that they are made from.

    Attributes
    ----------
    gap : ndarray
        Falling from the gap of the unconstrained labels to 0.
    value : ndarray
        The best objective with at most this gap.
    changed : ndarray
        Expected number of labels that differ from the unconstrained ones.
    believed_accuracy : ndarray
        Mean posterior probability of the labels; the same as ``value`` where accuracy is the objective.
    optimality_gap : float
        Bound minus value at the point where they differ most.
    exact : bool
        Whether the points are all vertices of a piecewise-linear curve, so that values between them are exact too.
    """

    gap: NDArray[np.float64]
    value: NDArray[np.float64]
    changed: NDArray[np.float64]
    believed_accuracy: NDArray[np.float64]
    optimality_gap: float
    exact: bool

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """``believed_accuracy``: the same numbers under their earlier name."""
        return self.believed_accuracy

    def at(self, epsilon: float) -> FrontierPoint:
        """Return the point of an epsilon, in a time that grows with the logarithm of the number of vertices."""
        epsilon = check_number("epsilon", epsilon, low=0, high=1)
        columns = (self.value, self.changed, self.believed_accuracy)
        if epsilon >= self.gap[0]:
            return FrontierPoint(float(self.gap[0]), *(float(y[0]) for y in columns))
        right = int(np.searchsorted(-self.gap, -epsilon, side="left"))  # not the first; and the last gap is 0
        left = right - 1
        part = (self.gap[left] - epsilon) / (self.gap[left] - self.gap[right])
        return FrontierPoint(epsilon, *(float(y[left] + part * (y[right] - y[left])) for y in columns))


def trace_frontier(population: Population, gain: Gain, random_state: int, constraint: str = "parity") -> Frontier:
    """Trace the frontier: exactly for two classes and two groups, otherwise by a sweep of certified solutions.

    The tasks must be in memory.
    """
    problem = population.in_memory("The frontier", "fit with several epsilons")
    if gain.name != "f1" and make_constraint(constraint, 0.0).has_thresholds(problem.n_groups, problem.n_classes):
        return _exact(problem, gain, random_state)
    return _traced(problem, sweep(problem, gain, random_state, constraint=constraint))


def _exact(problem: Problem, gain: Gain, random_state: int) -> Frontier:
    # The groups are sorted again: to keep them from the labels would take as much memory as half the posterior.
    found = sort_groups(problem, gain, random_state)
    zero, one = found.groups
    own = rate_at_count(one, one.own_count) - rate_at_count(zero, zero.own_count)
    falls, rises = (one, zero) if own > 0 else (zero, one)
    gap, value, changed, labelled = flip_path(falls, rises, abs(own))
    accuracy = value + found.base
    if not gain.is_accuracy:
        accuracy = _accuracy_gained(value, labelled, gain)
        accuracy += float(np.average(problem.posterior[:, 0], weights=problem.weights))
    return Frontier(gap, value + found.base, changed, accuracy, 0.0, exact=True)


def _accuracy_gained(value: NDArray[np.float64], labelled: NDArray[np.float64], gain: Gain) -> NDArray[np.float64]:
    """Return what labels 1 add to the accuracy, from what they add to the objective and the share of tasks labelled 1.

    A label 1 adds ``rise * p + start`` to the objective and ``2 * p - 1`` to the accuracy.
    """
    (lose, gone), (miss, hit) = gain.matrix
    rise, start = (hit - miss) - (gone - lose), (gone - lose) + (gain.offset[1] - gain.offset[0])
    return 2 * (value - start * labelled) / rise - labelled if rise else np.full(value.size, np.nan)


class SweepPoint(NamedTuple):
    """The best randomized labelling for one epsilon.

    Attributes
    ----------
    epsilon : float
    probabilities : ndarray, shape (n_tasks, n_classes)
        Probability of each label.
    unconstrained : ndarray of int32, shape (n_tasks,)
        The unconstrained labels.
    multipliers : ndarray, shape (n_groups, n_classes)
    gain : Gain
    value, bound : float
    """

    epsilon: float
    probabilities: NDArray[np.float64]
    unconstrained: Codes
    multipliers: NDArray[np.float64]
    gain: Gain
    value: float
    bound: float


def _traced(problem: Problem, points: Iterator[SweepPoint]) -> Frontier:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    rows = []
    for at in points:
        accuracy = float(weights @ (at.probabilities * problem.posterior).sum(axis=1) / weights.sum())
        unchanged = np.take_along_axis(at.probabilities, at.unconstrained[:, None].astype(np.int64), axis=1)
        changed = float((1.0 - unchanged).sum())
        rows.append((at.epsilon, at.value, changed, accuracy, at.bound - at.value))
    gap, value, changes, accuracies, short = np.array(rows).T
    return Frontier(gap, value, changes, accuracies, float(short.max()), exact=False)


def sweep(
    problem: Problem,
    gain: Gain,
    random_state: int,
    epsilons: Sequence[float] | None = None,
    constraint: str = "parity",
) -> Iterator[SweepPoint]:
    """Solve for falling epsilons (by default evenly spaced down to 0), each from the multipliers of the one before."""
    if gain.name == "f1":
        free = solve(problem, gain, make_constraint(constraint, 1.0), "randomized", random_state).labels
        for epsilon in _epsilons(problem, free) if epsilons is None else epsilons:
            solved = solve(problem, gain, make_constraint(constraint, epsilon), "randomized", random_state)
            chances = solved.probabilities
            value = problem.expected_f1(chances)
            yield SweepPoint(epsilon, chances, free, solved.multipliers, solved.gain, value, solved.bound)
        return
    gains, mass = gain.of(problem.posterior), problem.group_weights()
    atoms = merge(gains, problem.group, problem.weights)
    free = problem.own if gain.is_accuracy else np.argmax(gains, axis=1).astype(np.int32)
    start = None
    for epsilon in _epsilons(problem, free) if epsilons is None else epsilons:
        found = solve_relaxed(atoms, mass, make_constraint(constraint, epsilon), start)
        start = found.multipliers
        chances = found.fractions if atoms.of_task is None else found.fractions[atoms.of_task]
        yield SweepPoint(epsilon, chances, free, found.multipliers, gain, found.value, found.bound)


def _epsilons(problem: Problem, labels: Codes) -> list[float]:
    widest = gap_of(problem.rates(labels))
    return [float(epsilon) for epsilon in np.linspace(widest, 0.0, _SWEEP_POINTS)]
