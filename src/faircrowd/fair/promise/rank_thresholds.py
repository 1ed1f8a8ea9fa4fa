r"""Two classes: thresholds at ranks of held-out tasks, whose rates in the population have a known law.

**Law.** Let the tasks of a group be ordered by how much label 1 gains over label 0, equal ones by their seeded hash, a
uniform number. Of n such tasks, drawn at random, give label 1 to the k first, and to every new task that would come
before the last of them. The share of all tasks of the group that get label 1 is then

.. math:: R \sim \text{Beta}(k, n + 1 - k),

whatever the distribution of the tasks is: the classical law of a uniform order statistic. It holds for every k that is
fixed before these n tasks are looked at, and groups are independent. So

.. math:: P(\text{gap} \le \varepsilon) = \sum_a \int f_a(r) \prod_{b \ne a} \big(F_b(r + \varepsilon) - F_b(r)\big) dr

(group a has the smallest rate) is a number that does not depend on anything unknown.

**Procedure.** A fifth of the tasks is for learning: which rate each group should have in the best labels whose gap is
at most some e. The ranks of the other tasks that make these rates become the thresholds. Taken is the largest e of a
grid for which the probability above is at least the confidence. The tasks that determine the thresholds have no part
in the choice of the ranks, so the law applies, and the probability is exact.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from faircrowd.exact.hashing import task_keys, uniforms
from faircrowd.fair.constraint import DemographicParity
from faircrowd.fair.objective import Gain
from faircrowd.fair.promise.held_out import split
from faircrowd.fair.promise.margin import fewest
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.rule import FairRule
from faircrowd.fair.solution import TieWeights
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.tie_precision import learn_tie_precision
from faircrowd.fair.tolerances import tie_widths

__all__ = ["chance_within", "promise_by_ranks", "ranks_needed"]

LEARNED = 0.2
"""The share of the tasks that rates are learned from; the others determine thresholds."""

_STEPS = 64
_NODES = 200
_MOST_TASKS_NEEDED = 10**9


def promise_by_ranks(
    problem: Problem, gain: Gain, epsilon: float, confidence: float, random_state: int
) -> tuple[Promise, FairRule | None]:
    """Return the promise for two classes, and the rule that it is about; None if there are too few tasks."""
    parts = split(problem, LEARNED, random_state)
    if parts is None:
        worst = ranks_needed(np.full(problem.n_groups, 0.5), epsilon, confidence)
        return _statement(epsilon, confidence, None, worst, problem.group.size, 0), None
    learned, held_out = parts
    counts = (learned.group.size, held_out.group.size)

    @cache
    def at(step: int) -> tuple[NDArray[np.float64], Gain]:
        asked = DemographicParity(epsilon * step / _STEPS)
        solved = solve(learned, gain, asked, "randomized", random_state)
        ones = np.bincount(learned.group, solved.probabilities[:, 1], learned.n_groups)
        return np.clip(ones / learned.sizes, 0.0, 1.0), solved.gain

    def is_kept(step: int) -> bool:
        return chance_within(ranks_of(at(step)[0], held_out.sizes), held_out.sizes, epsilon) >= confidence

    if not is_kept(0):
        needed = ranks_needed(at(0)[0], epsilon, confidence)
        return _statement(epsilon, confidence, None, needed, *counts), None
    low, high = 0, _STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    rates, found = at(low)
    rule = _rule(held_out, ranks_of(rates, held_out.sizes), found, problem.sizes, epsilon, random_state)
    return _statement(epsilon, confidence, epsilon * low / _STEPS, None, *counts), rule


def _statement(
    epsilon: float, confidence: float, tightened: float | None, needed: int | None, learned: int, held_out: int
) -> Promise:
    return Promise(
        method="ranks",
        epsilon=epsilon,
        confidence=confidence,
        tightened=epsilon if tightened is None else tightened,
        enough=tightened is not None,
        needed=needed,
        learned=learned,
        held_out=held_out,
        grounds=f"its thresholds are ranks of {held_out:,} held-out tasks",
    )


def ranks_of(rates: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many tasks of each group get label 1: 0 for none ever, size + 1 for all, otherwise 1 to size."""
    ranks = np.clip(np.rint(rates * (sizes + 1)).astype(np.int64), 1, sizes)
    return np.where(rates == 0, 0, np.where(rates == 1, sizes + 1, ranks))


def chance_within(ranks: NDArray[np.int64], sizes: NDArray[np.int64], epsilon: float) -> float:
    r"""Return the probability that independent rates, each Beta(rank, size + 1 - rank), differ by at most epsilon.

    A rank of 0 is a rate of exactly 0, and a rank of size + 1 one of exactly 1.

    Examples
    --------
    >>> round(chance_within(np.array([500, 500]), np.array([1000, 1000]), 0.05), 4)
    0.9748
    >>> round(chance_within(np.array([0, 2]), np.array([50, 49]), 0.05), 4)
    0.7101
    """
    k, rest = ranks.astype(np.float64), (sizes + 1 - ranks).astype(np.float64)
    if epsilon >= 1:
        return 1.0
    nothing, everything = k == 0, rest == 0
    if nothing.any() or everything.any():
        if nothing.any() and everything.any():
            return 0.0
        k, rest = k[~(nothing | everything)], rest[~(nothing | everything)]
        # One end of the range is certain.
        return float(np.prod(betainc(k, rest, epsilon) if nothing.any() else betainc(rest, k, epsilon)))
    total = 0.0
    for a in range(k.size):
        x, weight = _nodes(k[a], rest[a], 1.0 - epsilon)
        above = np.minimum(x + epsilon, 1.0)
        others = np.delete(np.arange(k.size), a)[:, None]
        inside = betainc(k[others], rest[others], above) - betainc(k[others], rest[others], x)
        total += float(weight @ np.prod(np.maximum(inside, 0.0), axis=0))
    return min(total, 1.0)


def _nodes(k: float, rest: float, kink: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points and weights of an integral over a Beta distribution: Gauss-Legendre in the angle of its rate.

    Below and above the kink, a rate where the integrand has one, there are points of their own.
    """
    centre, reach = math.asin(math.sqrt(k / (k + rest))), 6.5 / math.sqrt(k + rest)
    low, high = max(centre - reach, 0.0), min(centre + reach, math.pi / 2)
    middle = min(max(math.asin(math.sqrt(kink)), low), high)
    at, unit = _legendre()
    pieces = [
        ((start + end) / 2 + (end - start) / 2 * at, (end - start) * unit)
        for start, end in ((low, middle), (middle, high))
        if end > start
    ]
    angle, weight = (np.concatenate(part) for part in zip(*pieces, strict=True))
    x = np.sin(angle) ** 2
    log_density = (2 * k - 1) * np.log(np.sin(angle)) + (2 * rest - 1) * np.log(np.cos(angle)) - betaln(k, rest)
    return x, np.asarray(weight * np.exp(log_density))


@cache
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(_NODES)


def ranks_needed(rates: NDArray[np.float64], epsilon: float, confidence: float) -> int | None:
    """Return how many tasks in each group are enough to promise epsilon if labels of gap 0 have these rates.

    Examples
    --------
    >>> [ranks_needed(np.full(2, rate), 0.05, 0.95) for rate in (0.5, 0.2, 0.05)]
    [958, 612, 179]
    """

    def is_enough(n: int) -> bool:
        sizes = np.full(rates.size, n - math.floor(n * LEARNED))
        return chance_within(ranks_of(rates, sizes), sizes, epsilon) >= confidence

    return fewest(is_enough, 8, _MOST_TASKS_NEEDED)


def _rule(
    held_out: Problem,
    ranks: NDArray[np.int64],
    gain: Gain,
    sizes: NDArray[np.int64],
    epsilon: float,
    random_state: int,
) -> FairRule:
    """Return the rule that gives label 1 to as many held-out tasks of each group as their ranks say."""
    shares = sizes / sizes.sum()
    gains = held_out.posterior @ gain.matrix + gain.offset
    surplus = gains[:, 1] - gains[:, 0]
    ends = gain.matrix[:, 1] - gain.matrix[:, 0] + gain.offset[1] - gain.offset[0]
    rows = [np.flatnonzero(held_out.group == a) for a in range(held_out.n_groups)]
    prices = np.empty((held_out.n_groups, 2))
    for a, (here, k) in enumerate(zip(rows, ranks.tolist(), strict=True)):
        if k == 0:
            least = float(ends.max()) + 1.0
        elif k > here.size:
            least = float(ends.min()) - 1.0
        else:
            least = float(np.partition(surplus[here], here.size - k)[here.size - k])
        prices[a] = -least / 2, least / 2
    widths = tie_widths(prices, shares)
    ties: TieWeights = {}
    for a, (here, k) in enumerate(zip(rows, ranks.tolist(), strict=True)):
        if not 0 < k <= here.size:
            continue
        scores = gains[here] - prices[a]
        lead = scores[:, 1] - scores[:, 0]
        tied = here[np.abs(lead) <= widths[a]]
        above = int(np.count_nonzero(lead > widths[a]))
        drawn = np.sort(uniforms(task_keys(held_out.tasks, tied, random_state)))
        # A tied task gets label 1 if its number is at least the weight of label 0; the last of the k has that number.
        weight = float(drawn[max(tied.size - (k - above), 0)]) if k > above else 1.0
        ties[a, (0, 1)] = (weight, 1.0 - weight)
    return FairRule(
        classes=tuple(held_out.classes.to_list()),
        groups=tuple(held_out.groups.to_list()),
        prices=prices,
        gain_matrix=gain.matrix,
        gain_offset=gain.offset,
        shares=shares,
        epsilon=epsilon,
        random_state=random_state,
        ties=ties,
        precision=learn_tie_precision(held_out, gain, prices, shares, ties),
        merged=held_out.merged_groups,
    )
