"""Every epsilon at once: how gap, objective and changed labels trade off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_number
from faircrowd._display import Drawn, Tabular
from faircrowd._steps import count_steps
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.assign import unconstrained_labels, unconstrained_probabilities
from faircrowd.fair.program.atoms import merge
from faircrowd.fair.program.relaxed import solve_relaxed
from faircrowd.fair.rate_constraint import make_constraint
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.left_out import compared_gap, compared_groups, spread_over_groups
from faircrowd.fair.tasks.population import Population
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.flip_cost import flip_path
from faircrowd.fair.thresholds.sort_keys import sort_key_formula, sort_keys
from faircrowd.fair.thresholds.sorted_group import rate_at_count, sort_groups
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

__all__ = ["Frontier", "FrontierPoint", "SweepPoint", "sweep", "trace_frontier", "value_at_gap"]

_SWEEP_POINTS = 21


class FrontierPoint(NamedTuple):
    """One point of a frontier.

    Attributes
    ----------
    gap : float
        The gap reached.
    value : float
        The objective.
    changed : float
        The expected number of labels changed.
    believed_accuracy : float
        Mean posterior probability of the labels.
    """

    gap: float
    value: float
    changed: float
    believed_accuracy: float

    @property
    def accuracy(self) -> float:
        """``believed_accuracy``: the same number under its earlier name."""
        return self.believed_accuracy


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Drawn, Tabular):
    """The best objective of randomized labels for every epsilon, under the posterior that they are made from.

    ``to_frame()`` has one row per point; ``plot()`` shows accuracy against the gap allowed.

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
    real_accuracy : ndarray or None
        The share of labels that are right among tasks whose truth is known, as a mean over draws of randomized labels;
        None if no truth was given.
    style : Style
        The kind of frame that the tasks came in, for ``to_frame``.
    """

    _in_short = ("points", "widest", "exact", "optimality_gap")

    gap: NDArray[np.float64]
    value: NDArray[np.float64]
    changed: NDArray[np.float64]
    believed_accuracy: NDArray[np.float64]
    optimality_gap: float
    exact: bool
    real_accuracy: NDArray[np.float64] | None = None
    style: Style = field(default_factory=Style, repr=False)

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.gap.size

    @property
    def widest(self) -> float:
        """The gap of the unconstrained labels."""
        return float(self.gap[0])

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """``believed_accuracy``: the same numbers under their earlier name."""
        return self.believed_accuracy

    def at(self, epsilon: float) -> FrontierPoint:
        """Return the point of an epsilon, in a time that grows with the logarithm of the number of vertices."""
        epsilon = check_number("epsilon", epsilon, low=0, high=1)
        columns = (self.value, self.changed, self.believed_accuracy)
        gap = min(epsilon, float(self.gap[0]))
        return FrontierPoint(gap, *(value_at_gap(self.gap, column, gap) for column in columns))


def value_at_gap(gaps: NDArray[np.float64], values: NDArray[np.float64], gap: float) -> float:
    """Return what a curve over falling gaps is at a gap: on the line between two points, and the first beyond them.

    Examples
    --------
    >>> value_at_gap(np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.9, 0.8, 0.7, 0.5]), 0.125)
    0.6
    """
    if gap >= gaps[0]:
        return float(values[0])
    right = int(np.searchsorted(-gaps, -gap, side="left"))  # not the first; and the last gap is 0
    left = right - 1
    part = (gaps[left] - gap) / (gaps[left] - gaps[right])
    return float(values[left] + part * (values[right] - values[left]))


def trace_frontier(
    population: Population,
    gain: Gain,
    random_state: int,
    constraint: str = "parity",
    truth: Codes | None = None,
) -> Frontier:
    """Trace the frontier: exactly for two classes and two groups, otherwise by a sweep of certified solutions.

    The tasks must be in memory.

    Parameters
    ----------
    truth : ndarray of int32, optional
        The true class of each task, to score by: -1 where it is not known, -2 where it is not one of the classes.
    """
    problem = population.in_memory("The frontier", "fit with several epsilons")
    truth = None if truth is None or not (truth != -1).any() else truth
    n_compared = compared_groups(problem).size
    if gain.name != "f1" and make_constraint(constraint, 0.0).has_thresholds(n_compared, problem.n_classes):
        found = _exact_with_left_out(problem, gain, random_state, truth)
    else:
        found = _traced(problem, sweep(problem, gain, random_state, constraint=constraint), truth)
    return replace(found, style=problem.style)


def _exact_with_left_out(problem: Problem, gain: Gain, random_state: int, truth: Codes | None) -> Frontier:
    """Trace the compared groups, and add what the others, which keep their labels, contribute to each number."""
    if not problem.left_out:
        return _exact(problem, gain, random_state, truth)
    compared, is_compared = problem.compared(), np.isin(problem.group, compared_groups(problem))
    some = None if truth is None or not (truth[is_compared] != -1).any() else truth[is_compared]
    found = _exact(compared, gain, random_state, some)
    others = ~is_compared
    free = problem.emit(unconstrained_labels, gain)
    weights = np.ones(free.size) if problem.weights is None else problem.weights
    share = float(weights[is_compared].sum() / weights.sum())
    rows = np.flatnonzero(others)

    def with_others(column: NDArray[np.float64], of_others: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(share * column + float(weights[rows] @ of_others / weights.sum()))

    real = None
    if truth is not None:
        known, right = float(weights[truth != -1].sum()), float(weights[others & (free == truth)].sum())
        before = 0.0 if some is None else float(weights[is_compared & (truth != -1)].sum())
        curve = np.zeros(found.gap.size) if found.real_accuracy is None else found.real_accuracy
        real = (before * curve + right) / known
    return replace(
        found,
        value=with_others(found.value, gain.of(problem.posterior[rows])[np.arange(rows.size), free[rows]]),
        believed_accuracy=with_others(found.believed_accuracy, problem.posterior[rows, free[rows]]),
        real_accuracy=real,
    )


def _exact(problem: Problem, gain: Gain, random_state: int, truth: Codes | None) -> Frontier:
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
    real = None
    if truth is not None:
        falling = 1 if own > 0 else 0
        rates = np.empty((2, gap.size))  # of label 1 in each group, from their difference and their weighted mean
        rates[falling] = labelled + rises.share * gap
        rates[1 - falling] = rates[falling] - gap
        real = _really_right(problem, gain, truth, rates)
    return Frontier(gap, value + found.base, changed, accuracy, 0.0, exact=True, real_accuracy=real)


def _really_right(problem: Problem, gain: Gain, truth: Codes, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of right labels where the best tasks of each group get label 1, as many as make its rate.

    Tasks that are equal but for their truth get label 1 with the same probability, as by a randomized rule.
    """
    weights = np.ones(truth.size) if problem.weights is None else problem.weights
    keys = problem.emit(sort_keys, sort_key_formula(gain, problem.has_odds))
    gained = weights * ((truth == 1).astype(np.float64) - (truth == 0))  # whole numbers, if all weights are 1
    right = np.full(rates.shape[1], float(weights[truth == 0].sum()))
    for a in (0, 1):
        rows = np.flatnonzero(problem.group == a)
        rows = rows[np.argsort(keys[rows], kind="stable")]
        last = np.append(np.flatnonzero(np.diff(keys[rows])), rows.size - 1)  # of each run of equal tasks
        rate = np.cumsum(weights[rows])[last] / weights[rows].sum()
        right += np.interp(rates[a], np.append(0.0, rate), np.append(0.0, np.cumsum(gained[rows])[last]))
    return right / float(weights[truth != -1].sum())


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


def _traced(problem: Problem, points: Iterator[SweepPoint], truth: Codes | None = None) -> Frontier:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    known = np.flatnonzero(truth != -1) if truth is not None else np.empty(0, dtype=np.int64)
    rows, right = [], []
    for at in points:
        accuracy = float(weights @ (at.probabilities * problem.posterior).sum(axis=1) / weights.sum())
        unchanged = np.take_along_axis(at.probabilities, at.unconstrained[:, None].astype(np.int64), axis=1)
        changed = float((1.0 - unchanged).sum())
        rows.append((at.epsilon, at.value, changed, accuracy, at.bound - at.value))
        if truth is not None:
            of_truth = np.where(truth[known] >= 0, at.probabilities[known, truth[known]], 0.0)
            right.append(float(np.average(of_truth, weights=weights[known])))
    gap, value, changes, accuracies, short = np.array(rows).T
    real = np.array(right) if right else None
    return Frontier(gap, value, changes, accuracies, float(short.max()), exact=False, real_accuracy=real)


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
        for epsilon in count_steps(_epsilons(problem, free) if epsilons is None else epsilons, "point of the bound"):
            solved = solve(problem, gain, make_constraint(constraint, epsilon), "randomized", random_state)
            chances = solved.probabilities
            value = problem.expected_tally(chances, solved.gain).values(solved.gain)[1]
            yield SweepPoint(epsilon, chances, free, solved.multipliers, solved.gain, value, solved.bound)
        return
    if problem.left_out:
        compared, mass = problem.compared(), problem.group_weights()
        groups = compared_groups(problem)
        free = problem.emit(unconstrained_labels, gain)
        weights = np.ones(free.size) if problem.weights is None else problem.weights
        rows = np.flatnonzero(~np.isin(problem.group, groups))
        of_others = gain.of(problem.posterior[rows])[np.arange(rows.size), free[rows]]
        share, gained = float(mass[groups].sum() / mass.sum()), float(weights[rows] @ of_others / mass.sum())
        for at in sweep(compared, gain, random_state, epsilons, constraint):
            chances = problem.with_left_out(at.probabilities, unconstrained_probabilities, gain)
            multipliers = spread_over_groups(problem, at.multipliers, share)
            value, bound = share * at.value + gained, share * at.bound + gained
            yield SweepPoint(at.epsilon, chances, free, multipliers, gain, value, bound)
        return
    gains, mass = gain.of(problem.posterior), problem.group_weights()
    atoms = merge(gains, problem.group, problem.weights)
    free = problem.own if gain.is_accuracy else np.argmax(gains, axis=1).astype(np.int32)
    before: tuple[float, NDArray[np.float64]] | None = None
    last: tuple[float, NDArray[np.float64]] | None = None
    for epsilon in count_steps(_epsilons(problem, free) if epsilons is None else epsilons, "point of the bound"):
        found = solve_relaxed(atoms, mass, make_constraint(constraint, epsilon), _expected(epsilon, last, before))
        before, last = last, (epsilon, found.multipliers)
        chances = found.fractions if atoms.of_task is None else found.fractions[atoms.of_task]
        yield SweepPoint(epsilon, chances, free, found.multipliers, gain, found.value, found.bound)


def _expected(
    epsilon: float,
    last: tuple[float, NDArray[np.float64]] | None,
    before: tuple[float, NDArray[np.float64]] | None,
) -> NDArray[np.float64] | None:
    """Return the multipliers that those of the last two epsilons lead to expect, on a line through them.

    At 0, where rates must be equal, multipliers may leap: those of the last epsilon are nearer.
    """
    if last is None or before is None or epsilon == 0 or last[0] == before[0]:
        return None if last is None else last[1]
    return np.asarray(last[1] + (epsilon - last[0]) / (last[0] - before[0]) * (last[1] - before[1]))


def _epsilons(problem: Problem, labels: Codes) -> list[float]:
    widest = compared_gap(problem, problem.rates(labels))
    return [float(epsilon) for epsilon in np.linspace(widest, 0.0, _SWEEP_POINTS)]
