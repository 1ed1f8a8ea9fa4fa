r"""The two groups of a problem, sorted: the rate and the value of each count of labels 1, in little memory.

If the best :math:`c` tasks of a group get label 1, the group's rate is their share of its weight, and the *value* is
what they add to the objective, :math:`\sum w_i d_i / W`. If all weights are equal the rate is :math:`c / n`, and no
rates are stored; values are stored once per block of tasks, and the rest of a block is added when a value is needed.

A sorted group may also be a *window*: only runs of equal tasks around the place where labels change, with the number
and the gain of the better tasks before them. Its values are sums of integers, the same to the bit wherever the tasks
are stored.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import inner_kernel, kernel
from faircrowd.exact.sums import to_limbs, to_units
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.thresholds.sort_keys import costs_of_keys, sort_key_formula, sort_keys, sort_keys_by_group

__all__ = [
    "BLOCK_SIZE",
    "SortedGroup",
    "SortedGroups",
    "cost_at_rank",
    "count_below_cost",
    "first_count_with_rate",
    "largest_known_count",
    "least_known_count",
    "make_sorted_group",
    "make_sorted_group_without_values",
    "make_window_group",
    "new_value_cache",
    "rate_at_count",
    "sort_groups",
    "value_at_count",
]

BLOCK_SIZE = 64
"""Values are stored once per this many tasks."""


class SortedGroup(NamedTuple):
    r"""One group, with its tasks in the order in which they get label 1.

    Attributes
    ----------
    costs : ndarray, shape (n_tasks,)
        What label 1 loses against label 0, in ascending order: minus the gains :math:`d_i`.
    weights : ndarray, shape (n_tasks,)
        In the same order; empty if all are 1.
    rates : ndarray, shape (n_tasks + 1,)
        The rate of each count of labels 1; empty if all weights are 1.
    block_values : ndarray, shape (n_tasks // 64 + 1,)
        What label 1 for the best 0, 64, 128, ... tasks adds to the objective.
    own_count : int
        Number of tasks that get label 1 without a constraint.
    share : float
        Share of the group in the weight of all tasks, :math:`\pi_a`.
    total_weight : float
        Weight of all tasks of both groups.
    n_tasks : int
        Number of tasks of the group.
    run_starts : ndarray of int64, shape (n_runs + 1,)
        A window: the number of tasks before each run of equal costs, and up to the end of the last run; ``costs`` has
        one entry per run. Empty otherwise.
    gain_high, gain_low : ndarray of int64, shape (n_runs,)
        A window: the gain of the tasks before each run, in units, as limbs (see :mod:`faircrowd.exact.sums`).
    unit : float
        A window: the number of units that make one.
    """

    costs: NDArray[np.float64]
    weights: NDArray[np.float64]
    rates: NDArray[np.float64]
    block_values: NDArray[np.float64]
    own_count: int
    share: float
    total_weight: float
    n_tasks: int
    run_starts: NDArray[np.int64]
    gain_high: NDArray[np.int64]
    gain_low: NDArray[np.int64]
    unit: float


class SortedGroups(NamedTuple):
    """A problem with each group sorted.

    Attributes
    ----------
    groups : pair of SortedGroup
    order : pair of ndarray or None
        With weights: the rows of the tasks of each group, in order.
    base : float
        The objective if every task gets label 0.
    """

    groups: tuple[SortedGroup, SortedGroup]
    order: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    base: float


def sort_groups(problem: Problem, gain: Gain, random_state: int) -> SortedGroups:
    """Sort the tasks of each group by ascending sort key."""
    formula = sort_key_formula(gain, problem.has_odds)
    order = None
    if problem.weights is None:
        keys: list[NDArray[np.float64]] = problem.gather(sort_keys_by_group, formula)
        for part in keys:
            part.sort()
    else:
        of_task = problem.emit(sort_keys, formula)
        order = _row_order(problem, of_task, 0, random_state), _row_order(problem, of_task, 1, random_state)
        keys = [of_task[rows] for rows in order]
    total = float(problem.group.size if problem.weights is None else problem.weights.sum())

    def sorted_group(a: int) -> SortedGroup:
        costs = costs_of_keys(formula, keys[a]) if formula.is_log_odds else keys[a]
        zero_end: Literal["left", "right"] = "right" if problem.ties == "last" else "left"
        own_count = int(np.searchsorted(keys[a] if gain.is_accuracy else costs, 0.0, zero_end))
        weights = None if problem.weights is None or order is None else problem.weights[order[a]]
        return make_sorted_group(costs, weights, own_count, total)

    base = gain.offset[0] + sum(
        gained * np.average(p, weights=problem.weights)
        for gained, p in zip(gain.matrix[:, 0], problem.posterior.T, strict=True)
        if gained
    )
    return SortedGroups((sorted_group(0), sorted_group(1)), order, float(base))


def _row_order(problem: Problem, keys: NDArray[np.float64], group: int, random_state: int) -> NDArray[np.int64]:
    members = np.flatnonzero(problem.group == group)
    return problem.ordered(members, random_state, keys[members])


def make_sorted_group(
    costs: NDArray[np.float64], weights: NDArray[np.float64] | None, own_count: int, total_weight: float
) -> SortedGroup:
    """Build a sorted group from ascending costs, their weights (1 if None), and the weight of all tasks."""
    group_weight, rates = float(costs.size), np.empty(0)
    if weights is not None:
        group_weight = float(weights.sum())
        rates = np.append(0.0, np.cumsum(weights) / group_weight)
        rates[-1] = 1.0
    given = np.empty(0) if weights is None else weights
    block_values = np.zeros(costs.size // BLOCK_SIZE + 1)
    _add_blocks(costs, given, total_weight, block_values)
    none, share = np.empty(0, dtype=np.int64), group_weight / total_weight
    return SortedGroup(
        costs, given, rates, block_values, own_count, share, total_weight, costs.size, none, none, none, 1.0
    )


def make_sorted_group_without_values(
    costs: NDArray[np.float64], own_count: int, total_weight: float, n_before: int = 0, n_tasks: int | None = None
) -> SortedGroup:
    """Build a sorted group of tasks of equal weight for which ``value_at_count`` is not needed.

    Parameters
    ----------
    costs : ndarray
        The costs of all tasks of the group in ascending order, or of neighbours in this order.
    n_before, n_tasks : int
        The number of tasks before these, and of all tasks of the group.
    """
    none, empty = np.empty(0, dtype=np.int64), np.empty(0)
    n_tasks = costs.size if n_tasks is None else n_tasks
    starts = none if costs.size == n_tasks else np.arange(n_before, n_before + costs.size + 1)
    share = n_tasks / total_weight
    return SortedGroup(costs, empty, empty, empty, own_count, share, total_weight, n_tasks, starts, none, none, 1.0)


def make_window_group(
    costs: NDArray[np.float64],
    counts: NDArray[np.int64],
    before: tuple[int, int, int],
    *,
    own_count: int,
    n_tasks: int,
    total_weight: float,
    unit: float,
) -> SortedGroup:
    """Build a window of a group.

    Parameters
    ----------
    costs : ndarray, shape (n_runs,)
        The cost of each run of equal tasks, in ascending order.
    counts : ndarray of int64, shape (n_runs,)
        The number of tasks of each run.
    before : tuple of int
        The number of tasks before the first run, and their gain as limbs.
    """
    run_starts = before[0] + np.append(0, np.cumsum(counts)).astype(np.int64)
    high, low = to_limbs(-costs, unit)
    high = before[1] + np.append(0, np.cumsum(high * counts))[:-1]
    low = before[2] + np.append(0, np.cumsum(low * counts))[:-1]
    empty, share = np.empty(0), n_tasks / total_weight
    return SortedGroup(costs, empty, empty, empty, own_count, share, total_weight, n_tasks, run_starts, high, low, unit)


def count_below_cost(group: SortedGroup, cost: float, inclusive: bool) -> int:
    """Count the tasks whose cost is below ``cost``, or at most ``cost`` if ``inclusive``."""
    at = np.searchsorted(group.costs, cost, "right" if inclusive else "left")
    return int(group.run_starts[at] if group.run_starts.size else at)


@inner_kernel
def least_known_count(group: SortedGroup) -> int:
    """Return the least count of labels 1 whose value is known: 0 unless the group is a window."""
    return int(group.run_starts[0]) if group.run_starts.size else 0


@inner_kernel
def largest_known_count(group: SortedGroup) -> int:
    """Return the largest count of labels 1 whose value is known: all tasks unless the group is a window."""
    return int(group.run_starts[-1]) if group.run_starts.size else group.n_tasks


@inner_kernel
def _run_at_rank(group: SortedGroup, rank: int) -> int:
    """Return the last run that starts at a rank or before it; ``np.searchsorted`` takes half a second to compile."""
    low, high = 0, group.run_starts.size
    while low < high:
        middle = (low + high) // 2
        if group.run_starts[middle] <= rank:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inner_kernel
def cost_at_rank(group: SortedGroup, rank: int) -> float:
    """Return the cost of the task with a rank (0 for the best); infinite outside a window."""
    if not group.run_starts.size:
        return float(group.costs[rank])
    if rank < group.run_starts[0]:
        return -np.inf
    return group.costs[_run_at_rank(group, rank)] if rank < group.run_starts[-1] else np.inf


@kernel
def rate_at_count(group: SortedGroup, count: int) -> float:
    """Return the rate of label 1 if the best ``count`` tasks get it."""
    return group.rates[count] if group.rates.size else count / group.n_tasks


@inner_kernel
def first_count_with_rate(group: SortedGroup, rate: float, above: bool | np.bool_) -> int:
    """Return the least count whose rate is at least ``rate``, or above it if ``above``; if none is, n_tasks + 1."""
    low, high = 0, group.n_tasks + 1
    if not group.rates.size:
        # The answer is the product rounded down, or 1 or 2 more: the rounding error of the product is far below one.
        low = min(max(int(rate * group.n_tasks), low), high)
        high = min(low + 2, high)
    while low < high:
        middle = (low + high) // 2
        found = rate_at_count(group, middle)
        if found < rate or (above and found == rate):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def new_value_cache() -> NDArray[np.float64]:
    """Return an empty cache for ``value_at_count``."""
    return np.full(BLOCK_SIZE + 1, -1.0)


@kernel
def value_at_count(group: SortedGroup, count: int, cache: NDArray[np.float64]) -> float:
    """Return what label 1 for the best ``count`` tasks adds to the objective.

    The cache holds the values of the last block that was used, and the number of this block in its last place: a walk
    over neighbouring counts adds each task once. A window does not use the cache.
    """
    if group.run_starts.size:
        run = min(_run_at_rank(group, count), group.costs.size - 1)
        more = count - group.run_starts[run]
        units = to_units(-group.costs[run], group.unit)
        coarse = group.gain_high[run] + more * (units >> 26)
        fine = group.gain_low[run] + more * (units & (2**26 - 1))
        return float((coarse * 2.0**26 + fine) / group.unit / group.total_weight)
    block = count // BLOCK_SIZE
    if cache[BLOCK_SIZE] != block:
        cache[BLOCK_SIZE] = block
        value, lost = group.block_values[block], 0.0
        cache[0] = value
        start = block * BLOCK_SIZE
        for i in range(start, min(start + BLOCK_SIZE - 1, group.costs.size)):
            term = _gain(group.costs, group.weights, i) / group.total_weight - lost
            new = value + term
            lost = (new - value) - term
            value = new
            cache[i + 1 - start] = value
    return float(cache[count - block * BLOCK_SIZE])


@inner_kernel
def _gain(costs: NDArray[np.float64], weights: NDArray[np.float64], i: int) -> float:
    return float(-costs[i] * weights[i] if weights.size else -costs[i])


@kernel
def _add_blocks(
    costs: NDArray[np.float64], weights: NDArray[np.float64], total_weight: float, block_values: NDArray[np.float64]
) -> None:
    """Add up blocks of gains by compensated summation, so that long sums keep their digits."""
    value, lost = 0.0, 0.0
    for block in range(block_values.size - 1):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once: an addition need not wait for the previous one
        for i in range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE, 4):
            a += _gain(costs, weights, i)
            b += _gain(costs, weights, i + 1)
            c += _gain(costs, weights, i + 2)
            d += _gain(costs, weights, i + 3)
        term = ((a + b) + (c + d)) / total_weight - lost
        new = value + term
        lost = (new - value) - term
        value = new
        block_values[block + 1] = value
