r"""From the tasks at hand to all tasks like them: how much to tighten epsilon.

**Problem.** A rule is chosen so that its gap on the sample is at most epsilon. Its gap in the population that the
tasks were drawn from is larger or smaller. By which margin must epsilon be tightened, so that the population gap is
within epsilon with a given probability, although the rule was learned from the same sample?

**Assumptions.** The tasks of a group are independent draws from one distribution, independent of those of other groups,
and all have the same weight. The aggregator is held fixed: it is a given function from votes to a posterior. (One that
was fitted to the same votes is covered as far as its fit would be the same on other tasks of the crowd.) Ties are
broken at random, independently of the task: for two classes with any probability; for more, by a random order of the
classes, or else ties have probability zero.

**Inequality.** In group a, class k is given where :math:`z_j = U_k - U_j > \lambda_k - \lambda_j` for all other
classes j: a corner (orthant) in :math:`K - 1` coordinates, of which only the :math:`\lambda` are learned. Let
:math:`D_a` be the largest difference, over all corners of all classes, between the share of the population and of
the :math:`n_a` sampled tasks that lies in it. Then

.. math:: P(D_a > s + r / n_a) \le c_a \exp(-2 (n_a - r) s^2), \quad
    r = K - 2, \quad c_a = 2 \kappa (n_a + 1)^r,

with :math:`\kappa = 1` for two classes (the second is the complement of the first) and :math:`\kappa = K` for more.

*Proof.* For two classes a corner is a threshold, and this is the inequality of Dvoretzky, Kiefer and Wolfowitz with
Massart's constant. For more, the worst corner can be taken to have r of its coordinates at those of sampled tasks
(or at infinity): shrinking, or growing, a corner until it touches them changes none of its tasks. For each of the
at most :math:`(n_a + 1)^r` choices the other :math:`n_a - r` tasks are independent of the choice, and the same
inequality holds for the last coordinate. Leaving r tasks out moves a share by at most :math:`r / n_a`.

The rates of two groups err by at most :math:`D_a + D_b`, and groups are independent. So

.. math:: P(\text{population gap} > \text{sample gap} + m) \le \sum_{a < b} P(X_a + X_b > m),

where the :math:`X_a` are independent with the tails above (cut off at 1). The margin is the smallest m that makes the
right side at most 1 - confidence. No rate needs to be known, and it holds for every rule of the kind at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfcx

from faircrowd._checks import check_confidence, check_count, check_number, few
from faircrowd._display import Displayed
from faircrowd.errors import OptionError
from faircrowd.fair.tolerances import MARGIN_PRECISION

__all__ = ["Margin", "fewest", "margin_for"]

_MOST_TASKS_NEEDED = 10**12


@dataclass(frozen=True, repr=False)
class Margin(Displayed):
    """By how much epsilon is tightened, so that a promise about all tasks like the ones at hand holds.

    Attributes
    ----------
    margin : float
        With probability ``confidence`` the population gap exceeds the sample gap by no more than this.
    epsilon : float
        The gap that is promised for the population.
    tightened : float
        The gap that is allowed in the sample: ``epsilon - margin``, or 0 where that is negative.
    enough : bool
        Whether the sample is large enough to promise ``epsilon``. If not, the best is a sample gap of 0, and nothing
        is promised.
    inequality : str
        The inequality that the margin is derived from.
    confidence : float
    needed : int or None
        Number of tasks in each group that is enough to promise epsilon; None if no number is (epsilon 0).
    """

    margin: float
    epsilon: float
    tightened: float
    enough: bool
    inequality: str
    confidence: float
    needed: int | None

    def __str__(self) -> str:
        if self.enough:
            return (
                f"a gap of at most {self.tightened:.4g} on these tasks keeps the gap of all tasks like them within "
                f"{self.epsilon:g}, with {self.confidence:.4g} confidence"
            )
        would = "no number of tasks" if self.needed is None else f"about {self.needed:,} tasks in each group"
        return (
            f"these tasks are too few to promise a gap within {self.epsilon:g} with {self.confidence:.4g} confidence: "
            f"the margin is {self.margin:.4g}; {would} would be enough"
        )


def margin_for(
    group_sizes: Sequence[int] | NDArray[np.int64], n_classes: int, epsilon: float, confidence: float
) -> Margin:
    """Return by how much to tighten epsilon, so that the population gap stays within it.

    Parameters
    ----------
    group_sizes : sequence of int
        Number of tasks of each group; at least two groups.
    n_classes : int
    epsilon : float
        The largest gap allowed in the population.
    confidence : float
        The probability with which it is kept, from 0.5 to 1 (1 itself is impossible).

    Returns
    -------
    Margin

    Examples
    --------
    >>> found = margin_for([10_000, 40_000], 2, epsilon=0.05, confidence=0.95)
    >>> found.enough, round(found.margin, 4), round(found.tightened, 4)
    (True, 0.0184, 0.0316)
    >>> print(margin_for([300, 300], 2, epsilon=0.05, confidence=0.95))
    these tasks are too few to promise a gap within 0.05 with 0.95 confidence: the margin is 0.1391; about 2,322 tasks \
in each group would be enough
    """
    sizes = np.asarray([check_count("group_sizes", int(n), least=1) for n in group_sizes], dtype=np.float64)
    n_classes = check_count("n_classes", n_classes, least=2)
    epsilon = check_number("epsilon", epsilon, low=0, high=1)
    confidence = check_confidence("confidence", confidence)
    if sizes.size < 2:
        raise OptionError(f"group_sizes needs the sizes of at least two groups; got {few(sizes.tolist())}.")
    margin = _margin(sizes, n_classes, 1 - confidence)
    return Margin(
        margin=margin,
        epsilon=epsilon,
        tightened=max(epsilon - margin, 0.0),
        enough=margin <= epsilon,
        inequality=_inequality(n_classes),
        confidence=confidence,
        needed=_needed(sizes.size, n_classes, 1 - confidence, epsilon),
    )


def _inequality(n_classes: int) -> str:
    if n_classes == 2:
        return "Dvoretzky-Kiefer-Wolfowitz with Massart's constant, for all thresholds at once, summed over two groups"
    return (
        "Dvoretzky-Kiefer-Wolfowitz with Massart's constant in one coordinate and a union over sampled tasks in the "
        f"other {n_classes - 2}, for all prices of {n_classes} classes at once, summed over two groups"
    )


def _margin(sizes: NDArray[np.float64], n_classes: int, error: float) -> float:
    """Return the smallest margin that is exceeded with a probability of at most ``error``."""
    left_out = n_classes - 2
    if sizes.min() <= left_out:
        return 1.0
    log_front = np.log(2.0 if n_classes == 2 else 2.0 * n_classes) + left_out * np.log(sizes + 1)
    first, second = np.triu_indices(sizes.size, 1)
    rest = sizes - left_out
    shift = left_out / sizes
    low, high = 0.0, 1.0
    while high - low > MARGIN_PRECISION:
        middle = (low + high) / 2
        room = middle - shift[first] - shift[second]
        tail = _sum_tail(room, rest[first], log_front[first], rest[second], log_front[second])
        low, high = (low, middle) if tail.sum() <= error else (middle, high)
    return high


def _sum_tail(
    m: NDArray[np.float64],
    n: NDArray[np.float64],
    log_c: NDArray[np.float64],
    n_other: NDArray[np.float64],
    log_c_other: NDArray[np.float64],
) -> NDArray[np.float64]:
    r"""Return :math:`P(X + Y > m)` of independent X and Y with :math:`P(X > x) = \min(1, c e^{-2 n x^2})`."""
    start, start_other = np.sqrt(log_c / (2 * n)), np.sqrt(log_c_other / (2 * n_other))
    end = np.maximum(m - start_other, start)  # where X is larger, Y is always large enough
    both = n + n_other
    centre = n_other * m / both
    # The density of X times the tail of Y is 4 n x times a normal curve around the centre, whose logarithm at the
    # ends is never positive; there it is exact where the curve itself would underflow.
    top = log_c + log_c_other - 2 * n * n_other / both * m**2
    low, high = np.sqrt(2 * both) * (start - centre), np.sqrt(2 * both) * (end - centre)
    at_low, at_high = np.exp(np.minimum(top - low**2, 0.0)), np.exp(np.minimum(top - high**2, 0.0))
    one_side = np.abs(at_low * erfcx(np.abs(low)) - at_high * erfcx(np.abs(high)))
    area = np.where((low < 0) & (high > 0), np.exp(np.minimum(top, 0.0)) * (erf(high) - erf(low)), one_side)
    inside = n * ((at_low - at_high) / both + centre * np.sqrt(2 * np.pi / both) * area)
    tail = np.exp(np.minimum(log_c - 2 * n * end**2, 0.0)) + inside
    return np.asarray(np.where(m > start + start_other, np.minimum(tail, 1.0), 1.0))


def _needed(n_groups: int, n_classes: int, error: float, epsilon: float) -> int | None:
    """Return how many tasks in each group make the margin at most epsilon."""
    pairs = math.comb(n_groups, 2)  # all equal, so one represents them

    def is_enough(n: int) -> bool:
        return _margin(np.full(2, float(n)), n_classes, error / pairs) <= epsilon

    return fewest(is_enough, 1, _MOST_TASKS_NEEDED)


def fewest(is_enough: Callable[[int], bool], start: int, most: int) -> int | None:
    """Return the smallest number that is enough, by doubling and bisection; None if it is far above ``most``.

    Examples
    --------
    >>> fewest(lambda n: n >= 21, 1, 100), fewest(lambda n: False, 1, 100)
    (21, None)
    """
    high = start
    while not is_enough(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
