r"""Two classes, two groups: the exact solution from one sort of each group.

**Problem.** Tasks i with group :math:`a_i \in \{0, 1\}`, weight :math:`w_i`, and gain :math:`d_i` of label 1
over label 0 (:math:`2 p_i - 1` for accuracy). With group weights :math:`W_a`, shares :math:`\pi_a = W_a / W` and rates
:math:`r_a = \sum_{i \in a} w_i x_i / W_a`, maximise :math:`\sum_i w_i d_i x_i / W` over
:math:`x_i \in [0, 1]` (a coin is allowed) or :math:`\{0, 1\}` (it is not) such that
:math:`|r_1 - r_0| \le \varepsilon`.

**Method.** A labelling that marks the best of each group is optimal for its rates, so the unknowns are two
counts. With a multiplier :math:`\beta` of the signed gap, a task of group 1 is marked while
:math:`\pi_1 d_i > \beta`, of group 0 while :math:`\pi_0 d_i > -\beta` (theorem recipe_K2 of the paper):
moving :math:`\beta` away from 0 flips labels in the order of their cost a unit of gap. The solution is where
the gap reaches :math:`\pm\varepsilon`, the tied tasks there marked in the fraction that makes it exactly so.
Without a coin, the best labelling for each count of group 1 is bounded by a concave function of the count; a
walk outward from its maximum, until the bound falls below the best labelling found, is exact.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["SLACK", "Side", "Split", "best_counts", "make_side", "relaxed_split"]

SLACK = 1e-13
"""A gap may exceed epsilon by this much: the rounding of epsilon and of the rates themselves."""

_SAME = 1e-15


class Side(NamedTuple):
    r"""One group, its tasks in falling order of gain.

    Attributes
    ----------
    gains : ndarray, shape (n,)
    rates : ndarray, shape (n + 1,)
        ``rates[c]`` is the rate of label 1 if the best c tasks are marked.
    values : ndarray, shape (n + 1,)
        ``values[c]`` is what marking the best c adds to the objective.
    own : int
        Number of tasks that the aggregator itself marks.
    share : float
        Share of the group in all tasks, :math:`\pi_a`.
    """

    gains: NDArray[np.float64]
    rates: NDArray[np.float64]
    values: NDArray[np.float64]
    own: int
    share: float


class Split(NamedTuple):
    r"""The solution with a coin.

    Attributes
    ----------
    sure : tuple of int
        How many of the best tasks of each group are marked for sure.
    tied : tuple of int
        How many after them are tied at the threshold.
    omega : tuple of float
        The fraction of the tied that is marked.
    beta : float
        The multiplier of the signed gap.
    gap : float
        The signed gap, rate of group 1 minus rate of group 0.
    value, bound : float
        What the labels 1 add to the objective, and the dual value that no labelling exceeds.
    """

    sure: tuple[int, int]
    tied: tuple[int, int]
    omega: tuple[float, float]
    beta: float
    gap: float
    value: float
    bound: float


def make_side(gains: NDArray[np.float64], weights: NDArray[np.float64] | None, own: int, total: float) -> Side:
    """Build a side from gains in falling order, their weights (1 if None), and the weight of all tasks."""
    mass = float(gains.size) if weights is None else float(weights.sum())
    rates, values = np.empty(gains.size + 1), np.empty(gains.size + 1)
    _accumulate(gains, np.empty(0) if weights is None else weights, total, mass, rates, values)
    return Side(gains, rates, values, own, mass / total)


def relaxed_split(sides: tuple[Side, Side], epsilon: float) -> Split:
    """Solve with a coin; where several solutions are optimal, the one that changes the fewest labels."""
    own = sides[1].rates[sides[1].own] - sides[0].rates[sides[0].own]
    if abs(own) <= epsilon + SLACK:
        value = sum(side.values[side.own] for side in sides)
        return Split((sides[0].own, sides[1].own), (0, 0), (0.0, 0.0), 0.0, float(own), value, value)
    up = 1 if own > 0 else 0  # the group whose rate must fall
    falls, rises = sides[up], sides[1 - up]
    price, n_falls, t_falls, n_rises, t_rises = _price(falls, rises, abs(own) - epsilon)
    done = (falls.rates[falls.own] - falls.rates[falls.own - n_falls]) + (
        rises.rates[rises.own + n_rises] - rises.rates[rises.own]
    )
    left = max(abs(own) - epsilon - done, 0.0)
    room_falls = falls.rates[falls.own - n_falls] - falls.rates[falls.own - n_falls - t_falls]
    room_rises = rises.rates[rises.own + n_rises + t_rises] - rises.rates[rises.own + n_rises]
    # A label of the smaller group moves the gap more: taking those first changes the fewest.
    if falls.share <= rises.share:
        part_falls = min(left / room_falls, 1.0) if room_falls > 0 else 0.0
        part_rises = min((left - part_falls * room_falls) / room_rises, 1.0) if room_rises > 0 else 0.0
    else:
        part_rises = min(left / room_rises, 1.0) if room_rises > 0 else 0.0
        part_falls = min((left - part_rises * room_rises) / room_falls, 1.0) if room_falls > 0 else 0.0
    sure, tied, omega = [0, 0], [0, 0], [0.0, 0.0]
    sure[up], tied[up], omega[up] = falls.own - n_falls - t_falls, t_falls, 1.0 - part_falls
    sure[1 - up], tied[1 - up], omega[1 - up] = rises.own + n_rises, t_rises, max(part_rises, 0.0)
    rates, value = [0.0, 0.0], 0.0
    for a, side in enumerate(sides):
        low, high = sure[a], sure[a] + tied[a]
        rates[a] = float((1 - omega[a]) * side.rates[low] + omega[a] * side.rates[high])
        value += float((1 - omega[a]) * side.values[low] + omega[a] * side.values[high])
    beta = float(price if up == 1 else -price)
    bound = float(epsilon * price)
    for side, sign in zip(sides, (-1.0, 1.0), strict=True):
        best = _count_above(side.gains, sign * beta / side.share)
        bound += float(side.values[best] - sign * beta * side.rates[best])
    return Split(
        (sure[0], sure[1]),
        (tied[0], tied[1]),
        (omega[0], omega[1]),
        beta,
        rates[1] - rates[0],
        value,
        max(bound, value),
    )


@numba.njit(cache=True, nogil=True)
def best_counts(zero: Any, one: Any, epsilon: float) -> Any:
    """Return the counts (group 0, group 1) of the best labelling without a coin."""
    # The bound is concave in the count of group 1: its first fall is its maximum.
    low, high = 0, one.gains.size
    while low < high:
        middle = (low + high) // 2
        if _bound(zero, one, epsilon, middle + 1) > _bound(zero, one, epsilon, middle):
            low = middle + 1
        else:
            high = middle
    best, changes, answer_0, answer_1 = -np.inf, 0, -1, -1
    for step in (1, -1):
        count = low if step == 1 else low - 1
        while 0 <= count <= one.gains.size and _bound(zero, one, epsilon, count) >= best - _SAME:
            first = np.searchsorted(zero.rates, one.rates[count] - epsilon - SLACK)
            last = np.searchsorted(zero.rates, one.rates[count] + epsilon + SLACK, side="right") - 1
            if first <= last:
                other = min(max(zero.own, first), last)
                value = one.values[count] + zero.values[other]
                moved = abs(count - one.own) + abs(other - zero.own)
                if value > best + _SAME or (value >= best - _SAME and moved < changes):
                    best, changes, answer_0, answer_1 = max(value, best), moved, other, count
            count += step
    return answer_0, answer_1


@numba.njit(cache=True, nogil=True)
def _bound(zero: Any, one: Any, epsilon: float, count: int) -> Any:
    """Return the value of the best labelling with this count in group 1, if group 0 may be split anywhere."""
    low = max(one.rates[count] - epsilon - SLACK, 0.0)
    high = min(one.rates[count] + epsilon + SLACK, 1.0)
    rate = min(max(zero.rates[zero.own], low), high)
    after = min(np.searchsorted(zero.rates, rate, side="right"), zero.gains.size)
    before = max(after - 1, 0)
    width = zero.rates[after] - zero.rates[before]
    part = (rate - zero.rates[before]) / width if width > 0 else 0.0
    return one.values[count] + zero.values[before] + part * (zero.values[after] - zero.values[before])


@numba.njit(cache=True, nogil=True)
def _price(falls: Any, rises: Any, need: float) -> Any:
    """Find the lowest price of a unit of gap at which flips close ``need`` of it, and the flips below and at it."""
    price = np.inf
    for side, down in ((falls, True), (rises, False)):
        low, high = 0, _most_flips(side, down)
        most = high
        while low < high:
            middle = (low + high) // 2
            if _closed(falls, rises, _cost(side, down, middle)) >= need:
                high = middle
            else:
                low = middle + 1
        if low < most:
            price = min(price, _cost(side, down, low))
    below_falls, at_falls = _flips(falls, True, price, False), _flips(falls, True, price, True)
    below_rises, at_rises = _flips(rises, False, price, False), _flips(rises, False, price, True)
    return price, below_falls, at_falls - below_falls, below_rises, at_rises - below_rises


@numba.njit(cache=True, nogil=True)
def _closed(falls: Any, rises: Any, price: float) -> Any:
    """Return by how much all flips at or below a price close the gap."""
    f, r = _flips(falls, True, price, True), _flips(rises, False, price, True)
    return (falls.rates[falls.own] - falls.rates[falls.own - f]) + (rises.rates[rises.own + r] - rises.rates[rises.own])


@numba.njit(cache=True, nogil=True)
def _most_flips(side: Any, down: bool) -> Any:
    return side.own if down else side.gains.size - side.own


@numba.njit(cache=True, nogil=True)
def _cost(side: Any, down: bool, flip: int) -> Any:
    """Return the cost a unit of gap of a group's n-th cheapest flip: down from label 1, or up to it."""
    return side.share * side.gains[side.own - 1 - flip] if down else -side.share * side.gains[side.own + flip]


@numba.njit(cache=True, nogil=True)
def _flips(side: Any, down: bool, price: float, inclusive: bool) -> int:
    """Count a group's flips below a price, or at or below it."""
    low, high = 0, _most_flips(side, down)
    while low < high:
        middle = (low + high) // 2
        cost = _cost(side, down, middle)
        if cost < price or (inclusive and cost == price):
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def _count_above(gains: Any, bound: float) -> int:
    """Count the gains above a bound, in a falling array."""
    low, high = 0, gains.size
    while low < high:
        middle = (low + high) // 2
        if gains[middle] > bound:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def _accumulate(gains: Any, weights: Any, total: float, mass: float, rates: Any, values: Any) -> None:
    """Fill the cumulative rates and values; compensated, so that long sums keep their digits."""
    so_far, value, lost = 0.0, 0.0, 0.0
    rates[0] = 0.0
    values[0] = 0.0
    for i in range(gains.size):
        weight = weights[i] if weights.size else 1.0
        so_far += weight
        term = weight * gains[i] / total - lost
        new = value + term
        lost = (new - value) - term
        value = new
        rates[i + 1] = so_far / mass
        values[i + 1] = value
    rates[gains.size] = 1.0
