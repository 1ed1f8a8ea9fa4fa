"""From a problem with two classes and two groups to labels, by one threshold per group.

The problem and the method are stated in :mod:`faircrowd.fair.thresholds`. Tasks of equal weight are solved in a window
around the thresholds, wherever the tasks are stored; tasks with weights are sorted in memory.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.gap import within
from faircrowd.fair.objective import Gain
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.population import Population, Rows
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.integer import best_allowed_counts
from faircrowd.fair.thresholds.labels import (
    randomized_probabilities,
    threshold_labels,
    unconstrained_labels,
    unconstrained_probabilities,
)
from faircrowd.fair.thresholds.relaxed import RelaxedThresholds, relaxed_thresholds, rule_tied_fraction
from faircrowd.fair.thresholds.sort_keys import sort_key_formula
from faircrowd.fair.thresholds.sorted_group import SortedGroup, SortedGroups, sort_groups
from faircrowd.fair.thresholds.window import (
    deterministic_threshold,
    drawn_threshold,
    randomized_threshold,
    solve_in_window,
    unconstrained_totals,
)
from faircrowd.fair.whole_tasks.allowance import Allowance
from faircrowd.fair.whole_tasks.drawn_weights import draw_weighted_labels

__all__ = ["solve_thresholds", "weighted_probabilities"]


def solve_thresholds(
    problem: Population[Rows], gain: Gain, epsilon: float, allowed: Sequence[Allowance], random_state: int
) -> Solution[Rows]:
    """Find the best labels whose gap is at most epsilon.

    Parameters
    ----------
    allowed : sequence of Allowance
        What is allowed to deterministic labels, in the order in which it is tried. If empty, labels are drawn from the
        best randomized ones.
    """
    if problem.weights is not None:
        return _solve_weighted(problem, gain, epsilon, allowed, random_state)
    formula = sort_key_formula(gain, problem.has_odds)
    unconstrained = unconstrained_totals(problem, formula, by_cost=not gain.is_accuracy)
    base = float(
        gain.offset[0] + sum(w * p for w, p in zip(gain.matrix[:, 0], unconstrained.mean_posterior, strict=True) if w)
    )
    if within(abs(unconstrained.signed_gap), epsilon):
        by = (formula, not gain.is_accuracy, problem.ties == "last")
        labels, value = problem.emit(unconstrained_labels, *by), base + unconstrained.gain
        probabilities = partial(problem.emit, unconstrained_probabilities, *by)
        return Solution(
            labels,
            probabilities,
            np.zeros((2, 2)),
            _unconstrained_ties(problem.ties),
            gain,
            value,
            value,
            True,
            "nothing to change",
        )
    found = solve_in_window(problem, formula, unconstrained, epsilon, allowed)
    threshold = deterministic_threshold if allowed else drawn_threshold
    thresholds = tuple(threshold(problem, formula, found, a, random_state) for a in (0, 1))
    labels = problem.emit(threshold_labels, formula, thresholds, random_state)
    multipliers, ties = _rule(found.groups, found.relaxed, problem.ties)
    bound = base + found.relaxed.bound
    (key_0, fraction_0), (key_1, fraction_1) = randomized_threshold(found, 0), randomized_threshold(found, 1)
    keys, fractions = (key_0, key_1), (fraction_0, fraction_1)
    probabilities = partial(problem.emit, randomized_probabilities, formula, keys, fractions)
    solver = "thresholds by selection, exact"
    return Solution(labels, probabilities, multipliers, ties, gain, bound, bound, True, solver, found.excess)


def _solve_weighted(
    population: Population[Rows], gain: Gain, epsilon: float, allowed: Sequence[Allowance], random_state: int
) -> Solution[Rows]:
    problem = population.in_memory("sample_weight", "leave it out")
    found = sort_groups(problem, gain, random_state)
    relaxed = relaxed_thresholds(found.groups, epsilon)
    multipliers, ties = _rule(found.groups, relaxed, problem.ties)
    probabilities, bound = weighted_probabilities(problem, found, relaxed), found.base + relaxed.bound
    counts, excess = best_allowed_counts(found.groups, relaxed, epsilon, allowed)
    if counts is None:
        labels = draw_weighted_labels(problem, probabilities(), random_state)
    else:
        labels = np.zeros(problem.group.size, dtype=np.int32)
        for rows, count in zip(found.order or (), counts, strict=True):
            labels[rows[:count]] = 1
    is_optimal = counts is None  # labels that do not follow the order of a group may be better than those that do
    solver = "one sort of each group, " + ("exact" if is_optimal else "labels rounded to whole tasks")
    emitted, emit = population.from_memory(labels), population.from_memory
    return Solution(
        emitted, lambda: emit(probabilities()), multipliers, ties, gain, bound, bound, is_optimal, solver, excess
    )


def weighted_probabilities(
    problem: Problem, found: SortedGroups, relaxed: RelaxedThresholds
) -> Callable[[], NDArray[np.float64]]:
    """Return a function that computes the probabilities of the randomized solution, for tasks with weights."""

    def probabilities() -> NDArray[np.float64]:
        x = np.zeros(problem.group.size)
        for rows, certain, tied, fraction in zip(
            found.order or (), relaxed.n_certain, relaxed.n_tied, relaxed.tied_fraction, strict=True
        ):
            x[rows[:certain]] = 1.0
            x[rows[certain : certain + tied]] = fraction
        return np.stack([1.0 - x, x], axis=1)

    return probabilities


def _rule(
    groups: tuple[SortedGroup, SortedGroup], relaxed: RelaxedThresholds, ties: str
) -> tuple[NDArray[np.float64], TieWeights]:
    """Return the multipliers of the thresholds, and the weights of both labels for tasks at the thresholds."""
    multipliers = 0.5 * relaxed.multiplier * np.array([[1.0, -1.0], [-1.0, 1.0]])
    weights: TieWeights = {}
    for a in (0, 1):
        has_ties = relaxed.multiplier or any(relaxed.n_tied)
        fraction = rule_tied_fraction(groups[a], relaxed, a) if has_ties else None
        if fraction is not None:
            weights[a, (0, 1)] = (1.0 - fraction, fraction)
        elif relaxed.multiplier == 0.0:
            weights[a, (0, 1)] = _unconstrained_ties(ties)[a, (0, 1)]
    return multipliers, weights


def _unconstrained_ties(ties: str) -> TieWeights:
    return {(a, (0, 1)): (0.0, 1.0) if ties == "last" else (1.0, 0.0) for a in (0, 1)}
