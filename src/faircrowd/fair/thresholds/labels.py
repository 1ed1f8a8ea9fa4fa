"""The label of each task, from its sort key and the threshold of its group."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, carry, to_units
from faircrowd.fair.tasks.population import Place, Tasks
from faircrowd.fair.thresholds.sort_keys import SortKeyFormula, cost_of_key, key_of_task
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "Threshold",
    "add_unconstrained",
    "randomized_probabilities",
    "rows_at_key",
    "threshold_labels",
    "unconstrained_labels",
    "unconstrained_probabilities",
]


class Threshold(NamedTuple):
    """Where the deterministic labels of a group change.

    Attributes
    ----------
    key : float
        Tasks with a lower sort key get label 1.
    last_tied : Place or None
        Of the tasks at the key, those up to this evidence and hash get label 1 (more evidence comes first, then a lower
        hash; if the evidence is None, only the hash counts); none of them if None.
    """

    key: float
    last_tied: Place | None


def add_unconstrained(
    tasks: Tasks, formula: SortKeyFormula, unit: float, by_cost: bool, ties_to_1: bool
) -> tuple[NDArray[np.int64], ...]:
    """Sum what the labels without a constraint come to.

    Return the number of labels 1 of each group, their gains as limbs, and the posterior of both classes as limbs.
    """
    counts, gains, posterior = (np.zeros(shape, dtype=np.int64) for shape in ((2,), (2, 2), (2, 2)))
    _add_unconstrained(
        tasks.posterior, tasks.log_odds, tasks.group, formula, unit, by_cost, ties_to_1, counts, gains, posterior
    )
    return counts, gains, posterior


def unconstrained_labels(tasks: Tasks, formula: SortKeyFormula, by_cost: bool, ties_to_1: bool) -> Codes:
    """Return the labels without a constraint: 1 where the cost (or else the sort key) is negative.

    Tasks at zero get label 1 if ``ties_to_1``.
    """
    labels = np.empty(tasks.group.size, dtype=np.int32)
    _label_unconstrained(tasks.posterior, tasks.log_odds, formula, by_cost, ties_to_1, labels)
    return labels


def unconstrained_probabilities(
    tasks: Tasks, formula: SortKeyFormula, by_cost: bool, ties_to_1: bool
) -> NDArray[np.float64]:
    """Return the labels without a constraint as probabilities of 0 and 1."""
    return np.asarray(np.eye(2)[unconstrained_labels(tasks, formula, by_cost, ties_to_1)])


def rows_at_key(tasks: Tasks, formula: SortKeyFormula, group: int, key: float) -> NDArray[np.int64]:
    """Return the rows of the tasks of a group that have this sort key."""
    given = (tasks.posterior, tasks.log_odds, tasks.group, formula, group, key)
    rows = np.empty(_find_rows_at_key(*given, np.empty(0, dtype=np.int64)), dtype=np.int64)
    _find_rows_at_key(*given, rows)
    return rows


def threshold_labels(
    tasks: Tasks, formula: SortKeyFormula, thresholds: tuple[Threshold, Threshold], random_state: int
) -> Codes:
    """Return the labels that the thresholds of the two groups give."""
    labels = np.empty(tasks.group.size, dtype=np.int32)
    keys = thresholds[0].key, thresholds[1].key
    _label_below_key(tasks.posterior, tasks.log_odds, tasks.group, formula, keys, labels)
    for a, threshold in enumerate(thresholds):
        if threshold.last_tied is not None:
            rows = rows_at_key(tasks, formula, a, threshold.key)
            labels[rows[tasks.is_first(rows, threshold.last_tied, random_state)]] = 1
    return labels


def randomized_probabilities(
    tasks: Tasks, formula: SortKeyFormula, keys: tuple[float, float], fractions: tuple[float, float]
) -> NDArray[np.float64]:
    """Return the probability of each label.

    Tasks below the threshold key of their group get label 1 for certain, and tasks at it with the probability given by
    ``fractions``.
    """
    probabilities = np.empty((tasks.group.size, 2))
    _write_probabilities(tasks.posterior, tasks.log_odds, tasks.group, formula, keys, fractions, probabilities)
    return probabilities


@kernel
def _add_unconstrained(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    formula: SortKeyFormula,
    unit: float,
    by_cost: bool,
    ties_to_1: bool,
    counts: NDArray[np.int64],
    gains: NDArray[np.int64],
    posterior_limbs: NDArray[np.int64],
) -> None:
    gain_sums, posterior_sums = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for start in range(0, group.size, TERMS_PER_CARRY):
        # Sums over both groups and over the second one, rather than by group: without indices that depend on the task,
        # in slices, whose indices are seen not to be negative, and by bits instead of branches (all are set, or none),
        # several tasks are added at a time.
        stop = start + TERMS_PER_CARRY
        p, odds, in_group = posterior[start:stop], log_odds[start:stop], group[start:stop]
        count = count_1 = gain = gain_1 = posterior_0 = posterior_1 = np.int64(0)
        for i in range(in_group.size):
            key = key_of_task(formula, p, odds, i)
            cost = cost_of_key(formula, key)
            judged = cost if by_cost else key
            is_labelled = -np.int64(judged <= 0.0 if ties_to_1 else judged < 0.0)
            is_in_1 = -np.int64(in_group[i])
            units = to_units(-cost, unit) & is_labelled
            count -= is_labelled
            count_1 -= is_labelled & is_in_1
            gain += units
            gain_1 += units & is_in_1
            posterior_0 += to_units(p[i, 0], PROBABILITY_UNIT)
            posterior_1 += to_units(p[i, 1], PROBABILITY_UNIT)
        counts[0] += count - count_1
        counts[1] += count_1
        gain_sums[0], gain_sums[1] = gain - gain_1, gain_1
        posterior_sums[0], posterior_sums[1] = posterior_0, posterior_1
        carry(gain_sums, gains)
        carry(posterior_sums, posterior_limbs)


@kernel
def _label_unconstrained(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    formula: SortKeyFormula,
    by_cost: bool,
    ties_to_1: bool,
    labels: Codes,
) -> None:
    for i in range(labels.size):
        key = key_of_task(formula, posterior, log_odds, i)
        judged = cost_of_key(formula, key) if by_cost else key
        labels[i] = np.int32(judged < 0.0 or (ties_to_1 and judged == 0.0))


@kernel
def _find_rows_at_key(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    formula: SortKeyFormula,
    a: int,
    key: float,
    rows: NDArray[np.int64],
) -> int:
    """Write the rows of the tasks of group ``a`` with this key, if there is room for them, and return their number."""
    n = 0
    for i in range(group.size):
        if group[i] == a and key_of_task(formula, posterior, log_odds, i) == key:
            if rows.size:
                rows[n] = i
            n += 1
    return n


@kernel
def _label_below_key(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    formula: SortKeyFormula,
    keys: tuple[float, float],
    labels: Codes,
) -> None:
    key_0, key_1 = keys
    for i in range(group.size):
        key, in_1 = key_of_task(formula, posterior, log_odds, i), group[i]
        labels[i] = np.int32(key < key_0) & (1 - in_1) | np.int32(key < key_1) & in_1  # without a branch


@kernel
def _write_probabilities(
    posterior: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    group: Codes,
    formula: SortKeyFormula,
    keys: tuple[float, float],
    fractions: tuple[float, float],
    probabilities: NDArray[np.float64],
) -> None:
    (key_0, key_1), (fraction_0, fraction_1) = keys, fractions
    for i in range(group.size):
        key, is_in_1 = key_of_task(formula, posterior, log_odds, i), group[i] == 1
        threshold, fraction = key_1 if is_in_1 else key_0, fraction_1 if is_in_1 else fraction_0
        # Without a branch that the processor cannot predict.
        chance = np.int64(key < threshold) + np.int64(key == threshold) * fraction
        probabilities[i, 0], probabilities[i, 1] = 1.0 - chance, chance
