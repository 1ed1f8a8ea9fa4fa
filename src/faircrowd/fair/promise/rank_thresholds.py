r"""Thresholds at ranks of held-out tasks, whose rates in the population have a known law.

**Two classes.** Let the tasks of a group be ordered by how much label 1 gains over label 0, equal ones by their seeded
hash, a uniform number. Of n such tasks, drawn at random, give label 1 to the k first, and to every new task that would
come before the last of them. The share of all tasks of the group that get label 1 is then

.. math:: R \sim \text{Beta}(k, n + 1 - k),

whatever the distribution of the tasks is: the classical law of a uniform order statistic. It holds for every k that is
fixed before these n tasks are looked at, and groups are independent. So

.. math:: P(\text{gap} \le \varepsilon) = \sum_a \int f_a(r) \prod_{b \ne a} \big(F_b(r + \varepsilon) - F_b(r)\big) dr

(group a has the smallest rate) is a number that does not depend on anything unknown.

**More classes.** Labels are tried in turn, from the last class to the second (:mod:`faircrowd.fair.tasks.in_turn`). For
each the tasks that are left are ordered by how much the class leads those before it, at prices of rivals that are fixed
beforehand, and the first :math:`k` of them get it. These tasks are a random sample of what is left of the population,
so the law above applies again: the rates of all classes are those of Tukey's statistically equivalent blocks,

.. math:: (R_1, \dots, R_K) \sim \text{Dirichlet}(k_1, \dots, k_K), \quad k_1 + \dots + k_K = n + 1,

and each of them is Beta. The probability that one class or another has a gap above epsilon is at most the sum over
classes, which is little more than the probability itself.

**Procedure.** A fifth of the tasks is for learning: which rates each group should have in the best labels whose gap is
at most some e, and the prices of rivals. The ranks of the other tasks that make these rates become the thresholds.
Taken is the largest e of a grid for which the probability above is at least the confidence. The tasks that determine
the thresholds have no part in the choice of the ranks, so the law applies: for two classes the probability is exact,
for more it is a lower bound.

References
----------
J. W. Tukey, Non-parametric estimation II: statistically equivalent blocks and tolerance regions, Annals of Mathematical
Statistics 18 (1947), 529-539; D. A. S. Fraser, Sequentially determined statistically equivalent blocks, Annals of
Mathematical Statistics 22 (1951), 372-381.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from faircrowd.exact.hashing import task_keys, uniforms
from faircrowd.fair.objective import Gain
from faircrowd.fair.promise.held_out import split
from faircrowd.fair.promise.margin import fewest
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.rate_constraint import RateParity, prices_of
from faircrowd.fair.rule import FairRule
from faircrowd.fair.solution import TieWeights
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.in_turn import InTurn, lead_of, tie_weights
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.tie_precision import learn_tie_precision
from faircrowd.fair.tolerances import tie_widths

__all__ = ["chance_of_gap", "chance_within", "promise_by_ranks", "ranks_needed", "ranks_of"]

LEARNED = 0.2
"""The share of the tasks that rates are learned from; the others determine thresholds."""

_STEPS = 64
_NODES = 200
_MOST_TASKS_NEEDED = 10**9
_NO_RATE = 1e-12
"""Less is rounding: the class is not given."""


class _Aim(NamedTuple):
    """What is learned: the rates of all classes in each group, the prices of rivals, and the gain of the labels."""

    rates: NDArray[np.float64]
    rivals: NDArray[np.float64]
    gain: Gain


def promise_by_ranks(
    problem: Problem, gain: Gain, epsilon: float, confidence: float, random_state: int
) -> tuple[Promise, FairRule | None]:
    """Return the promise, and the rule that it is about; None if there are too few tasks."""
    parts = split(problem, LEARNED, random_state)
    if parts is None:  # no rate is known
        worst = ranks_needed(np.tile(_worst_rates(problem.n_classes), (problem.n_groups, 1)), epsilon, confidence)
        return _statement(epsilon, confidence, None, worst, problem.group.size, 0), None
    learned, held_out = parts
    counts = (learned.group.size, held_out.group.size)

    @cache
    def at(step: int) -> _Aim:
        asked = RateParity(epsilon * step / _STEPS)
        solved = solve(learned, gain, asked, "randomized", random_state)
        columns = (np.bincount(learned.group, column, learned.n_groups) for column in solved.probabilities.T)
        rates = np.stack(list(columns), axis=1) / learned.sizes[:, None]
        return _Aim(rates, prices_of(solved.multipliers, learned.sizes.astype(np.float64)), solved.gain)

    def is_kept(step: int) -> bool:
        return chance_of_gap(ranks_of(at(step).rates, held_out.sizes), epsilon) >= confidence

    if not is_kept(0):
        needed = ranks_needed(at(0).rates, epsilon, confidence)
        return _statement(epsilon, confidence, None, needed, *counts), None
    low, high = 0, _STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    rule = _rule(held_out, ranks_of(at(low).rates, held_out.sizes), at(low), problem.sizes, epsilon, random_state)
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
    """Return the parameters of the Dirichlet law of the rates of each group, which add up to its size plus 1.

    All are at least 1, except that a rate of 0 has 0: no task ever gets this class.

    Examples
    --------
    >>> ranks_of(np.array([[0.5, 0.3, 0.2], [0.0, 0.999, 0.001]]), np.array([9, 99]))
    array([[ 5,  3,  2],
           [ 0, 99,  1]])
    """
    found = np.empty(rates.shape, dtype=np.int64)
    for a, (row, n) in enumerate(zip(rates, sizes.tolist(), strict=True)):
        exact = np.where(row > _NO_RATE, row, 0.0)
        exact[np.argsort(-exact, kind="stable")[n + 1 :]] = 0.0  # of more classes than tasks, the rarest
        exact *= (n + 1) / exact.sum()
        ranks = np.where(exact > 0, np.maximum(np.floor(exact), 1.0), 0.0)
        while ranks.sum() != n + 1:  # the class that is farthest from its rate, of those that stay above 0
            step = np.sign(n + 1 - ranks.sum())
            away = np.where((exact > 0) & (ranks + step >= 1), step * (exact - ranks), -np.inf)
            ranks[int(away.argmax())] += step
        found[a] = ranks
    return found


def chance_of_gap(ranks: NDArray[np.int64], epsilon: float) -> float:
    r"""Return a lower bound for the probability that the rates of no class differ by more than epsilon.

    The rates of each group are independent of those of others, and Dirichlet with its row of ``ranks``. The bound is
    the probability itself if at most two classes ever occur, as these mirror each other.

    Examples
    --------
    >>> round(chance_of_gap(np.array([[501, 500], [501, 500]]), 0.05), 4)
    0.9748
    >>> round(chance_of_gap(np.array([[334, 333, 333], [334, 333, 333]]), 0.05), 4)
    0.9471
    """
    used = np.flatnonzero(ranks.any(axis=0))
    sizes = ranks.sum(axis=1) - 1
    chances = [chance_within(ranks[:, k], sizes, epsilon) for k in (used if used.size > 2 else used[1:])]
    return max(1.0 - sum(1.0 - chance for chance in chances), 0.0)


def chance_within(ranks: NDArray[np.int64], sizes: NDArray[np.int64], epsilon: float) -> float:
    r"""Return the probability that the rates of one class differ by at most epsilon.

    They are independent, each Beta(rank, size + 1 - rank). A rank of 0 is a rate of exactly 0, and a rank of size + 1
    one of exactly 1.

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

    Parameters
    ----------
    rates : ndarray, shape (n_groups, n_classes)

    Examples
    --------
    >>> [ranks_needed(np.array([[1 - rate, rate]] * 2), 0.05, 0.95) for rate in (0.5, 0.2, 0.05)]
    [958, 612, 179]
    >>> ranks_needed(np.full((2, 3), 1 / 3), 0.05, 0.95)
    1271
    """

    def is_enough(n: int) -> bool:
        return chance_of_gap(ranks_of(rates, np.full(len(rates), n - math.floor(n * LEARNED))), epsilon) >= confidence

    return fewest(is_enough, 8, _MOST_TASKS_NEEDED)


def _worst_rates(n_classes: int) -> NDArray[np.float64]:
    """Return rates that need the most tasks, or nearly so: two or three classes that are equally common."""
    common = min(n_classes, 3)
    return np.repeat([1.0 / common, 0.0], [common, n_classes - common])


def _rule(
    held_out: Problem,
    ranks: NDArray[np.int64],
    aim: _Aim,
    sizes: NDArray[np.int64],
    epsilon: float,
    random_state: int,
) -> FairRule:
    """Return the rule that gives each label to as many held-out tasks of each group as their ranks say."""
    gains, shares = aim.gain.of(held_out.posterior), sizes / sizes.sum()
    n_classes = held_out.n_classes
    rivals = aim.rivals if n_classes > 2 else np.zeros_like(aim.rivals)
    rows = [np.flatnonzero(held_out.group == a) for a in range(held_out.n_groups)]
    prices, splits = rivals.copy(), np.zeros(rivals.shape)
    widths = tie_widths(np.ones(rivals.shape), shares)
    beyond = 1.0 + 2 * float(np.abs(aim.gain.matrix).max() + np.abs(aim.gain.offset).max() + np.abs(rivals).max())
    for a, left in enumerate(rows):
        for k in range(n_classes - 1, 0, -1):
            rank = int(ranks[a, k])
            if not 0 < rank <= left.size:  # no task, or all that are left
                prices[a, k], splits[a, k] = (beyond, 1.0) if rank == 0 else (-beyond, 0.0)
                left = left if rank == 0 else left[:0]
                continue
            lead = lead_of(k, gains[left], rivals[a])
            prices[a, k] = least = float(np.partition(lead, left.size - rank)[left.size - rank])
            drawn = uniforms(task_keys(held_out.tasks, left, random_state))
            is_above, is_tied = lead - least > widths[a], np.abs(lead - least) <= widths[a]
            # A tied task gets the label if its number is at least the split; the last of the rank has that number.
            splits[a, k] = np.sort(drawn[is_tied])[int(is_above.sum()) - rank]
            left = left[~(is_above | is_tied & (drawn >= splits[a, k]))]
    ties: TieWeights = {}
    in_turn: InTurn | None = InTurn(rivals, splits)
    if n_classes == 2:  # one threshold is the same for both labels
        prices = prices[:, 1:] / 2 * np.array([-1.0, 1.0])
        known = (ranks > 0).all(axis=1)
        ties, in_turn = {(int(a), (0, 1)): tie_weights((0, 1), splits[a]) for a in np.flatnonzero(known)}, None
    return FairRule(
        classes=tuple(held_out.classes.to_list()),
        groups=tuple(held_out.groups.to_list()),
        prices=prices,
        gain_matrix=aim.gain.matrix,
        gain_offset=aim.gain.offset,
        shares=shares,
        epsilon=epsilon,
        random_state=random_state,
        ties=ties,
        precision=learn_tie_precision(held_out, aim.gain, prices, shares, ties, in_turn),
        merged=held_out.merged_groups,
        in_turn=in_turn,
    )
