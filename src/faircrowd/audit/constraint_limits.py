r"""Limits of the level of a constraint, for all tasks like those that were seen.

Labels at hand are a sample, as in :mod:`faircrowd.audit.intervals`. By how much the level of a constraint is beyond its
limit is its *miss*. Two numbers bound it: the most that it may be, on which a pass rests, and the least, on which a
fail rests; each holds with its own probability. Constraints are known here by their comparisons alone.

**The most.** If a constraint is violated, then one difference, one ratio of two rates, or one rate is beyond its
limit. A pass needs all of them to be shown to be within, and can be wrong only if the one that is not is shown to be
within: no correction for their number is needed (an intersection-union test).

**The least.** Any of them may be the one that is wrongly shown to be beyond, so the error is shared among all of them.

**Which limits.**

- The difference of two plain rates of different groups: the exact test of
  :mod:`faircrowd.audit.difference_test`, which the verdict on the gap rests on.
- A rate between fixed limits: Clopper and Pearson's limit on one side.
- A ratio of two rates: Clopper and Pearson's limit of each, each at half of the error. This is exact, too, in that the
  error is at most the one asked for, but conservative: for two groups of one size and like rates the limit is about 1.7
  times as far from the ratio as it need be, because both rates would have to err at once. docs/gate.md has figures.
- What is no plain rate (in a constraint of one's own): Clopper and Pearson's limit times a factor where it is a
  multiple of a share of tasks, else Hoeffding's inequality, with differences treated like ratios.

References
----------
C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), 404-413; R. L. Berger, Technometrics 24 (1982), 295-300
(intersection-union tests); W. Hoeffding, Journal of the American Statistical Association 58 (1963), 13-30.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from faircrowd.audit.difference_test import Pair, extreme_pairs, falling
from faircrowd.audit.intervals import difference_limits
from faircrowd.audit.metrics.counted_labels import CountedConstraint, Rate
from faircrowd.fair.constraints.quantities import Comparison, Difference, Range, Ratio

__all__ = ["MissLimits", "clopper_pearson", "miss_limits"]


class MissLimits(NamedTuple):
    """By how much a level is beyond its limit, and the level that belongs to it.

    Attributes
    ----------
    least, most : float
        Positive if the limit is exceeded.
    low, high : float
        Limits of the level.
    """

    least: float
    most: float
    low: float
    high: float


def clopper_pearson(hits: int, size: int, error: float) -> tuple[float, float]:
    """Return a lower and an upper limit of a rate, each of which alone fails with a probability of at most ``error``.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.2589)
    """
    low = 0.0 if hits == 0 else float(betaincinv(hits, size - hits + 1, error))
    high = 1.0 if hits == size else float(betaincinv(hits + 1, size - hits, 1 - error))
    return low, high


def miss_limits(counted: CountedConstraint, error: float, error_of_least: float) -> MissLimits:
    """Return limits of by how much a constraint is violated, from counts of labels.

    Parameters
    ----------
    counted : CountedConstraint
    error, error_of_least : float
        With what probability ``most`` may be too small, and ``least`` too large.
    """
    exact, others = _sorted_out(
        [(one, [counted.rate(quantity) for quantity in one.quantities]) for one in counted.comparisons]
    )
    n_tests = sum(n for _, n in exact.values()) + sum(_n_tests(one, rates) for one, rates in others)
    share = error_of_least / n_tests
    compared = [*(Difference([], limit) for limit in exact), *(one for one, _ in others)]
    found = [_of_pairs(pairs, limit, error, share) for limit, (pairs, _) in exact.items()]
    found += [_of_comparison(one, rates, error, share) for one, rates in others]
    # Levels are told by the comparison that misses most: all built-in constraints have one limit for all of theirs.
    worst = max(found, key=lambda limits: limits.most)
    least, most = max(limits.least for limits in found), max(limits.most for limits in found)
    match compared[found.index(worst)]:
        case Difference(at_most=limit):
            return MissLimits(least, most, limit + least, limit + most)
        case Ratio(at_least=limit):
            return MissLimits(least, most, limit - most, limit - least)
        case Range(low=low, high=high) if not math.isfinite(low):
            return MissLimits(least, most, high + least, high + most)
        case Range(low=low, high=high) if not math.isfinite(high):
            return MissLimits(least, most, low - most, low - least)
    return worst._replace(least=least, most=most)


def _sorted_out(
    compared: list[tuple[Comparison, list[Rate]]],
) -> tuple[dict[float, tuple[list[Pair], int]], list[tuple[Comparison, list[Rate]]]]:
    """Return pairs of independent rates whose difference has a limit, by the limit, and all other comparisons.

    The pairs are those that the limits depend on, with the number of all differences, both ways round.

    Of two labels, the rates of one mirror the other's: what is the same fact twice is told once.
    """
    exact: dict[float, tuple[list[Pair], int]] = {}
    others, seen = [], set()
    for comparison, rates in compared:
        if not (isinstance(comparison, Difference) and _is_exact(rates)):
            others.append((comparison, rates))
            continue
        key = (comparison.at_most, *(rate.key for rate in rates))
        if key not in seen:
            seen.add(key)
            hits, sizes = (np.array([getattr(rate, name) for rate in rates]) for name in ("hits", "size"))
            pairs, n = exact.get(comparison.at_most, ([], 0))
            n += math.perm(len(rates), 2)
            exact[comparison.at_most] = ([*pairs, *extreme_pairs(hits, sizes)], n)
    return exact, others


def _is_exact(rates: Sequence[Rate]) -> bool:
    """Return whether rates are plain and of different groups, so that they are independent."""
    groups = [group for rate in rates for group in rate.groups]
    return len(rates) > 1 and len(groups) == len(set(groups)) and all(rate.scale == 1.0 for rate in rates)


def _n_tests(comparison: Comparison, rates: Sequence[Rate]) -> int:
    """Return in how many ways a comparison can err toward a violation."""
    if isinstance(comparison, Range):
        return len(rates) * (int(math.isfinite(comparison.low)) + int(math.isfinite(comparison.high)))
    return 2 * len(rates)


def _of_pairs(pairs: list[Pair], limit: float, error: float, share: float) -> MissLimits:
    """Return limits of the largest difference of pairs of rates."""
    ordered = falling(pairs)
    low, high = difference_limits(ordered, error, share)
    x, m, y, n = ordered[0]
    gap = x / m - y / n
    low, high = min(low, gap), min(max(high, gap), 1.0)
    return MissLimits(low - limit, high - limit, low, high)


def _of_comparison(comparison: Comparison, rates: Sequence[Rate], error: float, share: float) -> MissLimits:
    match comparison:
        case Difference(at_most=limit):
            wide, narrow = _intervals(rates, error / 2), _intervals(rates, share)
            high = max(above for _, above in wide) - min(below for below, _ in wide)
            low = max(max(below for below, _ in narrow) - min(above for _, above in narrow), 0.0)
            return MissLimits(low - limit, high - limit, low, high)
        case Ratio(at_least=limit):
            wide, narrow = _intervals(rates, error / 2), _intervals(rates, share)
            low = _ratio(min(below for below, _ in wide), max(above for _, above in wide))
            high = _ratio(min(above for _, above in narrow), max(below for below, _ in narrow))
            return MissLimits(limit - high, limit - low, low, high)
        case Range(low=floor, high=cap):
            wide, narrow = _intervals(rates, error), _intervals(rates, share)
            most = [max(above - cap, floor - below) for below, above in wide]
            least = max(max(below - cap, floor - above) for below, above in narrow)
            worst = int(np.argmax(most))
            ends = wide[worst], narrow[worst]
            return MissLimits(least, most[worst], min(end[0] for end in ends), max(end[1] for end in ends))
    raise TypeError(f"A comparison is a Difference, a Ratio or a Range, not {type(comparison).__name__}.")


def _ratio(smaller: float, larger: float) -> float:
    return min(smaller / larger, 1.0) if larger > 0 else 1.0


def _intervals(rates: Sequence[Rate], error: float) -> list[tuple[float, float]]:
    return [_interval(rate, error) for rate in rates]


def _interval(rate: Rate, error: float) -> tuple[float, float]:
    """Return limits of a quantity, each of which alone fails with a probability of at most ``error``."""
    if rate.scale:
        low, high = (rate.scale * end for end in clopper_pearson(rate.hits, rate.size, error))
        return min(low, high), max(low, high)
    width = rate.span * math.sqrt(-math.log(error) / (2 * rate.size))
    return rate.value - width, rate.value + width
