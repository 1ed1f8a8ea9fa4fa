"""The best randomized labels of two sorted groups: thresholds, and the fraction of tied tasks that get label 1.

The problem and the method are stated in :mod:`faircrowd.fair.thresholds`.
"""

from typing import NamedTuple

from faircrowd.fair.thresholds.flip_cost import price_to_close_gap
from faircrowd.fair.thresholds.sorted_group import (
    SortedGroup,
    count_below_cost,
    new_value_cache,
    rate_at_count,
    value_at_count,
)
from faircrowd.fair.tolerances import SLACK, TIE

__all__ = ["RelaxedThresholds", "relaxed_thresholds", "rule_tied_fraction"]


class RelaxedThresholds(NamedTuple):
    r"""The best randomized labels.

    Attributes
    ----------
    n_certain : pair of int
        Per group, the number of the best tasks that get label 1 for certain.
    n_tied : pair of int
        Per group, the number of tasks after them that are tied at the threshold.
    tied_fraction : pair of float
        Per group, the fraction of the tied tasks that get label 1.
    multiplier : float
        The multiplier :math:`\beta` of the signed gap.
    signed_gap : float
        The rate of group 1 minus the rate of group 0.
    value, bound : float
        What the labels 1 add to the objective, and the dual value that no labelling exceeds.
    """

    n_certain: tuple[int, int]
    n_tied: tuple[int, int]
    tied_fraction: tuple[float, float]
    multiplier: float
    signed_gap: float
    value: float
    bound: float


def relaxed_thresholds(groups: tuple[SortedGroup, SortedGroup], epsilon: float) -> RelaxedThresholds:
    """Find the best randomized labels; of several that are optimal, those that change the fewest labels."""
    own_gap = rate_at_count(groups[1], groups[1].own_count) - rate_at_count(groups[0], groups[0].own_count)
    if abs(own_gap) <= epsilon + SLACK:
        value = sum(value_at_count(group, group.own_count, new_value_cache()) for group in groups)
        own_counts = (groups[0].own_count, groups[1].own_count)
        return RelaxedThresholds(own_counts, (0, 0), (0.0, 0.0), 0.0, own_gap, value, value)
    falling_group = 1 if own_gap > 0 else 0
    falling, rising = groups[falling_group], groups[1 - falling_group]
    price, n_falling, tied_falling, n_rising, tied_rising = price_to_close_gap(falling, rising, abs(own_gap) - epsilon)
    certain_falling, certain_rising = falling.own_count - n_falling - tied_falling, rising.own_count + n_rising
    rate_falling = rate_at_count(falling, falling.own_count - n_falling)
    rate_rising = rate_at_count(rising, certain_rising)
    closed = (rate_at_count(falling, falling.own_count) - rate_falling) + (
        rate_rising - rate_at_count(rising, rising.own_count)
    )
    left = max(abs(own_gap) - epsilon - closed, 0.0)
    room_falling = rate_falling - rate_at_count(falling, certain_falling)
    room_rising = rate_at_count(rising, certain_rising + tied_rising) - rate_rising
    # A label of the smaller group moves the gap more: taking those first changes the fewest labels.
    if falling.share <= rising.share:
        part_falling = min(left / room_falling, 1.0) if room_falling > 0 else 0.0
        part_rising = min((left - part_falling * room_falling) / room_rising, 1.0) if room_rising > 0 else 0.0
    else:
        part_rising = min(left / room_rising, 1.0) if room_rising > 0 else 0.0
        part_falling = min((left - part_rising * room_rising) / room_falling, 1.0) if room_falling > 0 else 0.0
    found = (
        (certain_falling, tied_falling, 1.0 - part_falling),
        (certain_rising, tied_rising, max(part_rising, 0.0)),
    )
    (certain_0, tied_0, fraction_0), (certain_1, tied_1, fraction_1) = found[falling_group], found[1 - falling_group]
    n_certain, n_tied, tied_fraction = (certain_0, certain_1), (tied_0, tied_1), (fraction_0, fraction_1)
    multiplier = float(price if falling_group == 1 else -price)
    rates, value, bound = [], 0.0, float(epsilon * price)
    for a, group in enumerate(groups):
        charge = multiplier if a == 1 else -multiplier  # what a unit of this group's rate costs
        low, high, fraction = n_certain[a], n_certain[a] + n_tied[a], tied_fraction[a]
        cache = new_value_cache()
        rates.append((1 - fraction) * rate_at_count(group, low) + fraction * rate_at_count(group, high))
        value += (1 - fraction) * value_at_count(group, low, cache) + fraction * value_at_count(group, high, cache)
        best = count_below_cost(group, -charge / group.share, False)  # the tasks that gain more than they are charged
        bound += value_at_count(group, best, cache) - charge * rate_at_count(group, best)
    return RelaxedThresholds(
        n_certain, n_tied, tied_fraction, multiplier, rates[1] - rates[0], value, max(bound, value)
    )


def rule_tied_fraction(group: SortedGroup, relaxed: RelaxedThresholds, a: int) -> float | None:
    """Return the fraction with label 1 of the tasks at the threshold of group ``a``; None if there is no such task.

    A rule cannot distinguish tasks that are closer to the threshold than rounding: they count as tied, even those that
    get label 1 for certain in the solution.
    """
    certain, after = relaxed.n_certain[a], relaxed.n_certain[a] + relaxed.n_tied[a]
    fraction = relaxed.tied_fraction[a]
    at = (relaxed.multiplier if a == 0 else -relaxed.multiplier) / group.share
    low = min(int(count_below_cost(group, at - TIE, False)), certain)
    high = max(int(count_below_cost(group, at + TIE, True)), after)
    width = rate_at_count(group, high) - rate_at_count(group, low)
    if (low, high) == (certain, after) or width <= 0:  # near tasks may have a weight that vanishes in their group's
        return fraction if relaxed.n_tied[a] else None
    label_1 = (1 - fraction) * rate_at_count(group, certain) + fraction * rate_at_count(group, after)
    part = (label_1 - rate_at_count(group, low)) / width
    return float(min(max(part, 0.0), 1.0))
