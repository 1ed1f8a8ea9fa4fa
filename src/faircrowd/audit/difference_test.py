r"""An exact test of the difference of two rates, from counts alone.

**Hypothesis.** Two independent binomial counts, x of m with rate p and y of n with rate q. Is :math:`p - q` below
:math:`\delta`? The p-value is for the hypothesis that it is not:

.. math:: \sup_{q}\; P\big(T(X, Y) \le T(x, y)\big), \quad X \sim B(m, q + \delta),\; Y \sim B(n, q),

with the score statistic of Farrington and Manning,

.. math:: T = \frac{x / m - y / n - \delta}{\sqrt{\tilde p (1 - \tilde p) / m + \tilde q (1 - \tilde q) / n}},

where :math:`\tilde p - \tilde q = \delta` are the rates that the counts are likeliest under. T rises in x and falls in
y, so among all rates with :math:`p - q \ge \delta` the worst lie on the line (Röhmel and Mansmann), and the samples at
least as extreme as the one at hand are, for each x, those from some y on: a staircase. For each q its probability is a
sum of products of two binomial probabilities. The test is thus exact for any sizes of groups, however small or unequal
(Chan and Zhang): its level is at most the one asked for, except that the largest probability over q is searched for on
a fine grid and around its highest points.

With more than 5,000 tasks in the smaller group, T is compared with the normal distribution instead.
`benchmarks/gate.py` prints how often verdicts by this test err.

References
----------
C. P. Farrington and G. Manning, Statistics in Medicine 9 (1990), 1447-1454; I. S. F. Chan and Z. Zhang, Biometrics 55
(1999), 1202-1209; J. Röhmel and U. Mansmann, Biometrical Journal 41 (1999), 149-170.
"""

import math
from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from faircrowd._kernels import inner_kernel, kernel

__all__ = ["Pair", "extreme_pairs", "falling", "ordered_differences", "p_value_below", "upper_limit"]

Pair = tuple[int, int, int, int]
"""How many of how many tasks in one group, and in another."""

_MOST_EXACT = 5_000
_SAME_STATISTIC = 1e-9  # statistics that are nearer to each other are of equally extreme samples
_LEAST_GRID, _MOST_GRID = 200, 2_000
_REFINED, _ROUNDS = 4, 3
_LIMIT_PRECISION = 1e-6


def p_value_below(x: int, m: int, y: int, n: int, delta: float) -> float:
    """Return the p-value of the hypothesis that a rate exceeds another by ``delta`` or more.

    A small value is evidence that the difference is below delta.

    Parameters
    ----------
    x, m : int
        How many of how many tasks have the label in the first group.
    y, n : int
        The same of the second group.
    delta : float
        From -1 to 1.

    Examples
    --------
    >>> round(p_value_below(7, 15, 12, 15, 0.0), 4)
    0.0341
    >>> p_value_below(3, 10, 3, 10, 0.05) > 0.3
    True
    """
    if delta >= 1:  # certain, but for the end itself
        return 0.0
    if delta <= -1:
        return 1.0
    if m > n:  # the same question about the complements, the other way round
        x, m, y, n = n - y, n, m - x, m
    if m > _MOST_EXACT:
        return float(ndtr(_statistic(x, m, y, n, delta)))
    stairs = _stairs(x, m, y, n, delta)
    return min(_highest(stairs, m, n, delta), 1.0)


def upper_limit(x: int, m: int, y: int, n: int, error: float) -> float:
    """Return a limit that the difference of two rates exceeds with a probability of at most ``error``.

    It is the smallest difference that the test rejects at this level, to six digits and rounded up.

    Examples
    --------
    >>> round(upper_limit(5, 56, 0, 29, 0.05), 3)
    0.179
    """
    difference = x / m - y / n
    low, high = difference, 1.0
    if p_value_below(x, m, y, n, low) <= error:  # only if nothing was seen of which more could have been
        return difference
    spread = math.sqrt((x + 1) * (m - x + 1) / m / (m + 2) ** 2 + (y + 1) * (n - y + 1) / n / (n + 2) ** 2)
    step = 2 * spread
    while low + step < high:  # from where it is likely to be outwards
        if p_value_below(x, m, y, n, low + step) <= error:
            high = low + step
            break
        low, step = low + step, 2 * step
    from scipy.optimize import brentq  # slow to import

    found = brentq(lambda delta: p_value_below(x, m, y, n, delta) - error, low, high, xtol=_LIMIT_PRECISION / 2)
    while p_value_below(x, m, y, n, found) > error:
        found = min(found + _LIMIT_PRECISION / 2, 1.0)
    return float(found)


def ordered_differences(counts: NDArray[np.int64]) -> list[Pair]:
    r"""Return count and size of a class in two groups, both ways round, by falling difference of rates.

    Of two classes one is enough, as the other mirrors it. Of the groups of one size, only that of the largest count
    comes first, and only that of the smallest count comes second: the statistic rises in the first count and falls in
    the second, so that no other pair of these sizes has a higher limit, upper or lower. n tasks have fewer than
    :math:`\sqrt{2n}` sizes of groups, so that there are fewer than 2n differences of a class, however many the groups.

    Examples
    --------
    >>> ordered_differences(np.array([[5, 5], [9, 1], [7, 3]]))  # groups of one size
    [(9, 10, 5, 10)]
    >>> ordered_differences(np.array([[1, 1], [2, 1]]))
    [(2, 3, 1, 2), (1, 2, 2, 3)]
    """
    sizes = counts.sum(axis=1)
    columns = counts.T if counts.shape[1] > 2 else counts[:, :1].T
    return falling(pair for column in columns for pair in extreme_pairs(column, sizes))


def falling(pairs: Iterable[Pair]) -> list[Pair]:
    """Return pairs by falling difference of rates."""
    return sorted(pairs, key=lambda one: one[2] / one[3] - one[0] / one[1])


def extreme_pairs(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[Pair]:
    """Return the pairs of groups whose difference may have the highest limit; see :func:`ordered_differences`."""
    order = np.lexsort((hits, sizes))
    starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
    ends = np.append(starts[1:], order.size) - 1
    least, most = (hits[order[at]].tolist() for at in (starts, ends))
    alone, of_size = (starts == ends).tolist(), sizes[order[starts]].tolist()
    return [
        (most[i], of_size[i], least[j], of_size[j])
        for i, j in product(range(len(alone)), repeat=2)
        if i != j or not alone[i]
    ]


def _highest(stairs: NDArray[np.int64], m: int, n: int, delta: float) -> float:
    """Return the largest probability of a staircase over the second rate."""
    least, most = max(0.0, -delta), min(1.0, 1.0 - delta)
    # The probability changes over as little as a standard deviation of the larger group's rate.
    size = min(max(_LEAST_GRID, int(4 * math.sqrt(n))), _MOST_GRID)
    angle = np.linspace(0.0, 1.0, size)
    q = least + (most - least) * np.sin(np.pi / 2 * angle) ** 2
    found = _probabilities(stairs, m, n, q, delta)
    peaks = np.argsort(-found, kind="stable")[:_REFINED]
    best, width = float(found[peaks[0]]), 1.0 / (size - 1)
    centres = angle[peaks]
    for _ in range(_ROUNDS):
        fine = np.clip(centres[:, None] + width * np.linspace(-1, 1, 11), 0.0, 1.0)
        q = least + (most - least) * np.sin(np.pi / 2 * fine) ** 2
        found = _probabilities(stairs, m, n, q.ravel(), delta).reshape(fine.shape)
        at = found.argmax(axis=1)
        centres, width = fine[np.arange(len(fine)), at], width / 5
        best = max(best, float(found.max()))
    return best


@kernel
def _statistic(x: int, m: int, y: int, n: int, delta: float) -> float:
    """Return the difference minus delta in units of its standard deviation, at the likeliest rates that differ so."""
    p, q = x / m, y / n
    away = p - q - delta
    # The likeliest p solves a cubic equation (Farrington and Manning, appendix 1).
    ratio = n / m
    a = 1 + ratio
    b = -(1 + ratio + p + ratio * q + delta * (ratio + 2))
    c = delta * delta + delta * (2 * p + ratio + 1) + p + ratio * q
    d = -p * delta * (1 + delta)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = math.copysign(math.sqrt(max((b / (3 * a)) ** 2 - c / (3 * a), 0.0)), v)
    if u == 0.0:
        likely = -b / (3 * a)
    else:
        w = (math.pi + math.acos(min(max(v / u**3, -1.0), 1.0))) / 3
        likely = 2 * u * math.cos(w) - b / (3 * a)
    likely = min(max(likely, max(delta, 0.0)), min(1.0, 1.0 + delta))
    other = min(max(likely - delta, 0.0), 1.0)
    variance = likely * (1 - likely) / m + other * (1 - other) / n
    if variance <= 1e-14 / min(m, n):
        if abs(away) < _SAME_STATISTIC:
            return 0.0
        return math.copysign(np.inf, away)
    return away / math.sqrt(variance)


@kernel
def _stairs(x: int, m: int, y: int, n: int, delta: float) -> NDArray[np.int64]:
    """Return, for each count of the first group, from which count of the second on a sample is as extreme."""
    reached = _statistic(x, m, y, n, delta) + _SAME_STATISTIC
    stairs = np.empty(m + 1, np.int64)
    j = 0
    for i in range(m + 1):  # the steps never go down
        while j <= n and _statistic(i, m, j, n, delta) > reached:
            j += 1
        stairs[i] = j
    return stairs


@inner_kernel
def _window(n: int, p: float, chances: NDArray[np.float64]) -> tuple[int, int]:
    """Write the binomial probabilities of all counts that matter; return the first of these and the one after them."""
    mode = min(int((n + 1) * p), n)
    chances[mode] = total = 1.0
    low = mode
    while low > 0 and chances[low] > 1e-20:
        chances[low - 1] = chances[low] * low * (1 - p) / ((n - low + 1) * p)
        low -= 1
        total += chances[low]
    high = mode
    while high < n and chances[high] > 1e-20:
        chances[high + 1] = chances[high] * (n - high) * p / ((high + 1) * (1 - p))
        high += 1
        total += chances[high]
    for i in range(low, high + 1):
        chances[i] /= total
    return low, high + 1


@kernel
def _probabilities(
    stairs: NDArray[np.int64], m: int, n: int, rates: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    """Return the probability of a staircase for each rate of the second group."""
    found = np.zeros(rates.size)
    ones, others = np.empty(m + 1), np.empty(n + 1)
    for r in range(rates.size):
        low, high = _window(m, min(max(rates[r] + delta, 0.0), 1.0), ones)
        start, end = _window(n, min(max(rates[r], 0.0), 1.0), others)
        for j in range(end - 2, start - 1, -1):  # from here on, the chance of a count or more
            others[j] += others[j + 1]
        for i in range(low, high):
            j = stairs[i]
            if j < end:
                found[r] += ones[i] * others[max(j, start)]
    return found
