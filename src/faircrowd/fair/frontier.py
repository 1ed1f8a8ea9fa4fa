"""Every epsilon at once: how gap, objective and changed labels trade off."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_number
from faircrowd.fair.binary import sort_groups
from faircrowd.fair.objective import Gain
from faircrowd.fair.problem import Problem
from faircrowd.fair.solve import solve

__all__ = ["Frontier", "FrontierPoint", "trace_frontier"]

_POINTS = 21


class FrontierPoint(NamedTuple):
    """One point: the gap reached, the objective, and the expected number of labels changed."""

    gap: float
    value: float
    changed: float


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
    exact : bool
        Whether the points are all vertices of a piecewise-linear curve, so that values between are exact too.
    """

    gap: NDArray[np.float64]
    value: NDArray[np.float64]
    changed: NDArray[np.float64]
    exact: bool

    def at(self, epsilon: float) -> FrontierPoint:
        """Return the point of an epsilon, in the logarithm of the number of vertices."""
        epsilon = check_number("epsilon", epsilon, low=0, high=1)
        if epsilon >= self.gap[0]:
            return FrontierPoint(float(self.gap[0]), float(self.value[0]), float(self.changed[0]))
        right = int(np.searchsorted(-self.gap, -epsilon, side="left"))
        right = min(right, self.gap.size - 1)
        left = max(right - 1, 0)
        width = self.gap[left] - self.gap[right]
        part = (self.gap[left] - epsilon) / width if width > 0 else 0.0
        between = [float(y[left] + part * (y[right] - y[left])) for y in (self.value, self.changed)]
        return FrontierPoint(epsilon, *between)


def trace_frontier(problem: Problem, gain: Gain, random_state: int) -> Frontier:
    """Trace the whole frontier: exactly for two classes and groups, else by a sweep of certified solutions."""
    if problem.n_classes == 2 and problem.n_groups == 2 and gain.name != "f1":
        found = sort_groups(problem, gain, random_state)
        zero, one = found.sides
        own = one.rates[one.own] - zero.rates[zero.own]
        falls, rises = (one, zero) if own > 0 else (zero, one)
        gap, value, changed = _path(falls, rises, abs(own))
        return Frontier(gap, value + found.base, changed, exact=True)
    widest = float(np.ptp(problem.rates(problem.own), axis=0).max())
    points = []
    for epsilon in np.linspace(widest, 0.0, _POINTS):
        solved = solve(problem, gain, float(epsilon), "deterministic", random_state)
        moved = 1.0 - solved.probabilities[np.arange(problem.own.size), problem.own]
        points.append((float(epsilon), solved.bound, float(moved.sum())))
    gap, value, changed = (np.asarray(column) for column in zip(*points, strict=True))
    return Frontier(gap, value, changed, exact=False)


@numba.njit(cache=True, nogil=True)
def _path(falls: Any, rises: Any, gap: float) -> Any:
    """Flip labels in the order of their cost a unit of gap, until there is no gap.

    Invariant: the labels flipped so far are the cheapest ones, so gap and value are a point of the frontier.
    """
    most = falls.own + rises.gains.size - rises.own + 1
    gaps, values, changed = np.empty(most), np.empty(most), np.empty(most)
    f, r, n = falls.own, rises.own, 0
    gaps[0], values[0], changed[0] = gap, falls.values[f] + rises.values[r], 0.0
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
    if gaps[n] < 0.0:  # the last flip is done in part
        part = gaps[n - 1] / (gaps[n - 1] - gaps[n])
        values[n] = values[n - 1] + part * (values[n] - values[n - 1])
        changed[n] = changed[n - 1] + part
        gaps[n] = 0.0
    return gaps[: n + 1], values[: n + 1], changed[: n + 1]
