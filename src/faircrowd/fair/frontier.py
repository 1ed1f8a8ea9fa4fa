"""Every epsilon at once: how gap, objective and changed labels trade off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_number
from faircrowd.fair.atoms import merge
from faircrowd.fair.binary import sort_groups
from faircrowd.fair.objective import Gain, expected_f1
from faircrowd.fair.problem import Problem
from faircrowd.fair.relaxed import solve_relaxed
from faircrowd.fair.solve import solve
from faircrowd.fair.threshold import Side
from faircrowd.votes.vocabulary import Codes

__all__ = ["Frontier", "FrontierPoint", "Solution", "sweep", "trace_frontier"]

_POINTS = 21


class FrontierPoint(NamedTuple):
    """One point: the gap reached, the objective, expected number of labels changed, and expected accuracy."""

    gap: float
    value: float
    changed: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best objective for every epsilon, with a coin.

    Attributes
    ----------
    gap : ndarray
        Falling from the gap of the labels without a constraint to 0.
    value : ndarray
        The best objective with at most this gap.
    changed : ndarray
        Expected number of labels that differ from those without a constraint.
    accuracy : ndarray
        Expected accuracy; the same as ``value`` where that is the objective.
    optimality_gap : float
        Bound minus value at the point where they differ most.
    exact : bool
        Whether the points are all vertices of a piecewise-linear curve, so that values between are exact too.
    """

    gap: NDArray[np.float64]
    value: NDArray[np.float64]
    changed: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    optimality_gap: float
    exact: bool

    def at(self, epsilon: float) -> FrontierPoint:
        """Return the point of an epsilon, in the logarithm of the number of vertices."""
        epsilon = check_number("epsilon", epsilon, low=0, high=1)
        columns = (self.value, self.changed, self.accuracy)
        if epsilon >= self.gap[0]:
            return FrontierPoint(float(self.gap[0]), *(float(y[0]) for y in columns))
        right = int(np.searchsorted(-self.gap, -epsilon, side="left"))
        right = min(right, self.gap.size - 1)
        left = max(right - 1, 0)
        width = self.gap[left] - self.gap[right]
        part = (self.gap[left] - epsilon) / width if width > 0 else 0.0
        return FrontierPoint(epsilon, *(float(y[left] + part * (y[right] - y[left])) for y in columns))


def trace_frontier(problem: Problem, gain: Gain, random_state: int) -> Frontier:
    """Trace the whole frontier: exactly for two classes and groups, else by a sweep of certified solutions."""
    if gain.name != "f1" and problem.n_classes == 2 and problem.n_groups == 2:
        return _exact(problem, gain, random_state)
    return _traced(problem, sweep(problem, gain, random_state))


def _exact(problem: Problem, gain: Gain, random_state: int) -> Frontier:
    found = sort_groups(problem, gain, random_state)
    zero, one = found.sides
    own = one.rates[one.own] - zero.rates[zero.own]
    falls, rises = (one, zero) if own > 0 else (zero, one)
    if gain.is_accuracy:
        gap, value, changed, _ = _path(falls, rises, abs(own), falls.values, rises.values)
        value += found.base
        return Frontier(gap, value, changed, value, 0.0, exact=True)
    right = [_accuracy_gained(side, gain) for side in (falls, rises)]
    gap, value, changed, accuracy = _path(falls, rises, abs(own), *right)
    accuracy += float(np.average(problem.posterior[:, 0], weights=problem.weights))
    return Frontier(gap, value + found.base, changed, accuracy, 0.0, exact=True)


def _accuracy_gained(side: Side, gain: Gain) -> NDArray[np.float64]:
    """Return what marking the best so many tasks adds to the accuracy; their posterior follows from their gain."""
    (lose, gone), (miss, hit) = gain.matrix
    rise = (hit - miss) - (gone - lose)
    p = (side.gains - (gone - lose) - (gain.offset[1] - gain.offset[0])) / rise if rise else np.nan
    return np.concatenate([[0.0], np.cumsum(side.share * np.diff(side.rates) * (2 * p - 1))])


class Solution(NamedTuple):
    """The best labelling with a coin for one epsilon.

    Attributes
    ----------
    epsilon : float
    law : ndarray, shape (n_tasks, n_classes)
        Probability of each label.
    free : ndarray of int32, shape (n_tasks,)
        The labels without a constraint.
    multipliers : ndarray, shape (n_groups, n_classes)
    gain : Gain
    value, bound : float
    """

    epsilon: float
    law: NDArray[np.float64]
    free: Codes
    multipliers: NDArray[np.float64]
    gain: Gain
    value: float
    bound: float


def _traced(problem: Problem, solutions: Iterator[Solution]) -> Frontier:
    weights = np.ones(problem.group.size) if problem.weights is None else problem.weights
    rows = []
    for at in solutions:
        accuracy = float(weights @ (at.law * problem.posterior).sum(axis=1) / weights.sum())
        changed = float((1.0 - np.take_along_axis(at.law, at.free[:, None].astype(np.int64), axis=1)).sum())
        rows.append((at.epsilon, at.value, changed, accuracy, at.bound - at.value))
    gap, value, changes, accuracies, short = np.array(rows).T
    return Frontier(gap, value, changes, accuracies, float(short.max()), exact=False)


def sweep(
    problem: Problem, gain: Gain, random_state: int, epsilons: Sequence[float] | None = None
) -> Iterator[Solution]:
    """Solve for falling epsilons (by default spread evenly over the gap), each from the multipliers of the last."""
    if gain.name == "f1":
        free = solve(problem, gain, 1.0, "randomized", random_state).labels
        for epsilon in _epsilons(problem, free) if epsilons is None else epsilons:
            solved = solve(problem, gain, epsilon, "randomized", random_state)
            value = expected_f1(problem, solved.probabilities[:, 1])
            law = solved.probabilities
            yield Solution(epsilon, law, free, solved.multipliers, solved.gain, value, solved.bound)
        return
    gains, mass = gain.of(problem.posterior), problem.group_weights()
    atoms = merge(gains, problem.group, problem.weights)
    free = problem.own if gain.is_accuracy else np.argmax(gains, axis=1).astype(np.int32)
    start = None
    for epsilon in _epsilons(problem, free) if epsilons is None else epsilons:
        found = solve_relaxed(atoms, mass, epsilon, start)
        start = found.multipliers
        law = found.fractions if atoms.of_task is None else found.fractions[atoms.of_task]
        yield Solution(epsilon, law, free, found.multipliers, gain, found.value, found.bound)


def _epsilons(problem: Problem, labels: Codes) -> list[float]:
    widest = float(np.ptp(problem.rates(labels), axis=0).max())
    return [float(epsilon) for epsilon in np.linspace(widest, 0.0, _POINTS)]


@numba.njit(cache=True, nogil=True)
def _path(falls: Any, rises: Any, gap: float, right_f: Any, right_r: Any) -> Any:
    """Flip labels in the order of their cost a unit of gap, until there is no gap.

    ``right_f`` and ``right_r`` hold what marking the best tasks of each group adds to the accuracy. Invariant: the
    labels flipped so far are the cheapest ones, so gap and value are a point of the frontier.
    """
    most = falls.own + rises.gains.size - rises.own + 1
    gaps, values, changed, right = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    f, r, n = falls.own, rises.own, 0
    gaps[0], values[0], changed[0], right[0] = gap, falls.values[f] + rises.values[r], 0.0, right_f[f] + right_r[r]
    while gaps[n] > 0.0 and n + 1 < most:
        cost_f = falls.share * falls.gains[f - 1] if f > 0 else np.inf
        cost_r = -rises.share * rises.gains[r] if r < rises.gains.size else np.inf
        if cost_f < cost_r or (cost_f == cost_r and falls.share <= rises.share):
            f -= 1
        else:
            r += 1
        n += 1
        gaps[n] = falls.rates[f] - rises.rates[r]
        values[n] = falls.values[f] + rises.values[r]
        changed[n] = changed[n - 1] + 1.0
        right[n] = right_f[f] + right_r[r]
    if gaps[n] < 0.0:  # the last flip is done in part
        part = gaps[n - 1] / (gaps[n - 1] - gaps[n])
        values[n] = values[n - 1] + part * (values[n] - values[n - 1])
        right[n] = right[n - 1] + part * (right[n] - right[n - 1])
        changed[n] = changed[n - 1] + part
        gaps[n] = 0.0
    return gaps[: n + 1], values[: n + 1], changed[: n + 1], right[: n + 1]
