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

from typing import NamedTuple

from faircrowd.fair.thresholds.flip_order import price_of
from faircrowd.fair.thresholds.sorted_group import Side, new_cache, rank_of, rate_of, value_of
from faircrowd.fair.tolerances import SLACK, TIE

__all__ = ["Split", "relaxed_split", "tied_part"]


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


def relaxed_split(sides: tuple[Side, Side], epsilon: float) -> Split:
    """Solve with a coin; where several solutions are optimal, the one that changes the fewest labels."""
    own = rate_of(sides[1], sides[1].own) - rate_of(sides[0], sides[0].own)
    if abs(own) <= epsilon + SLACK:
        value = sum(value_of(side, side.own, new_cache()) for side in sides)
        return Split((sides[0].own, sides[1].own), (0, 0), (0.0, 0.0), 0.0, own, value, value)
    up = 1 if own > 0 else 0  # the group whose rate must fall
    falls, rises = sides[up], sides[1 - up]
    price, n_falls, t_falls, n_rises, t_rises = price_of(falls, rises, abs(own) - epsilon)
    low_falls, low_rises = falls.own - n_falls - t_falls, rises.own + n_rises
    at_falls, at_rises = rate_of(falls, falls.own - n_falls), rate_of(rises, low_rises)
    done = (rate_of(falls, falls.own) - at_falls) + (at_rises - rate_of(rises, rises.own))
    left = max(abs(own) - epsilon - done, 0.0)
    room_falls = at_falls - rate_of(falls, low_falls)
    room_rises = rate_of(rises, low_rises + t_rises) - at_rises
    # A label of the smaller group moves the gap more: taking those first changes the fewest.
    if falls.share <= rises.share:
        part_falls = min(left / room_falls, 1.0) if room_falls > 0 else 0.0
        part_rises = min((left - part_falls * room_falls) / room_rises, 1.0) if room_rises > 0 else 0.0
    else:
        part_rises = min(left / room_rises, 1.0) if room_rises > 0 else 0.0
        part_falls = min((left - part_rises * room_rises) / room_falls, 1.0) if room_falls > 0 else 0.0
    ends = (low_falls, t_falls, 1.0 - part_falls), (low_rises, t_rises, max(part_rises, 0.0))
    (sure_0, tied_0, omega_0), (sure_1, tied_1, omega_1) = ends[up], ends[1 - up]
    sure, tied, omega = (sure_0, sure_1), (tied_0, tied_1), (omega_0, omega_1)
    beta = float(price if up == 1 else -price)
    rates, value, bound = [], 0.0, float(epsilon * price)
    for a, side in enumerate(sides):
        toll = beta if a == 1 else -beta
        low, high, cache = sure[a], sure[a] + tied[a], new_cache()
        rates.append((1 - omega[a]) * rate_of(side, low) + omega[a] * rate_of(side, high))
        value += (1 - omega[a]) * value_of(side, low, cache) + omega[a] * value_of(side, high, cache)
        best = rank_of(side, -toll / side.share, False)  # those that gain more than their price
        bound += value_of(side, best, cache) - toll * rate_of(side, best)
    return Split(sure, tied, omega, beta, rates[1] - rates[0], value, max(bound, value))


def tied_part(side: Side, split: Split, a: int) -> float | None:
    """Return the fraction marked of a group's tasks at its threshold; None if there is none.

    A rule cannot tell tasks apart that are closer to the threshold than rounding: they count as tied, though the
    solution marks some for sure.
    """
    sure, after, omega = split.sure[a], split.sure[a] + split.tied[a], split.omega[a]
    at = (split.beta if a == 0 else -split.beta) / side.share
    low = min(int(rank_of(side, at - TIE, False)), sure)
    high = max(int(rank_of(side, at + TIE, True)), after)
    width = rate_of(side, high) - rate_of(side, low)
    if (low, high) == (sure, after) or width <= 0:  # those that are near may weigh nothing beside their group
        return omega if split.tied[a] else None
    marked = (1 - omega) * rate_of(side, sure) + omega * rate_of(side, after)
    part = (marked - rate_of(side, low)) / width
    return float(min(max(part, 0.0), 1.0))
