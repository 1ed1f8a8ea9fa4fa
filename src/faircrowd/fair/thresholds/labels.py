"""Two classes, two groups: which tasks get label 1, by their keys."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import draw
from faircrowd.exact.sums import PROBABILITY_UNIT, TERMS_PER_CARRY, carry, to_units
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.thresholds.scores import Key, cost_of, key_of
from faircrowd.votes.vocabulary import Codes

__all__ = ["Cut", "coin_labels", "coin_law", "cut_labels", "own_law", "own_marks", "own_totals", "tied_at"]


class Cut(NamedTuple):
    """Where the labels of a group change: tasks of a lower key get label 1, and of those at the key none or the first.

    ``first`` holds evidence and hash of the last of these: more evidence comes first, then a lower hash.
    """

    key: float
    first: tuple[int, int] | None


def own_totals(tasks: Tasks, key: Key, unit: float, by_cost: bool, last: bool) -> tuple[NDArray[np.int64], ...]:
    """Sum, a group, the tasks that the aggregator marks and what they gain; and the posterior of both classes."""
    counts, gains, beliefs = (np.zeros(shape, dtype=np.int64) for shape in ((2,), (2, 2), (2, 2)))
    _own_totals(tasks.posterior, tasks.log_odds, tasks.group, key, unit, by_cost, last, counts, gains, beliefs)
    return counts, gains, beliefs


def own_marks(tasks: Tasks, key: Key, by_cost: bool, last: bool) -> Codes:
    """Return the labels without a constraint."""
    labels = np.empty(tasks.group.size, dtype=np.int32)
    _mark_own(tasks.posterior, tasks.log_odds, key, by_cost, last, labels)
    return labels


def own_law(tasks: Tasks, key: Key, by_cost: bool, last: bool) -> NDArray[np.float64]:
    """Return the labels without a constraint as probabilities."""
    return np.asarray(np.eye(2)[own_marks(tasks, key, by_cost, last)])


def tied_at(tasks: Tasks, key: Key, group: int, value: float) -> NDArray[np.int64]:
    """Return the tasks of a group that have a key."""
    given = (tasks.posterior, tasks.log_odds, tasks.group, key, group, value)
    rows = np.empty(_find_key(*given, np.empty(0, dtype=np.int64)), dtype=np.int64)
    _find_key(*given, rows)
    return rows


def cut_labels(tasks: Tasks, key: Key, cuts: tuple[Cut, Cut], random_state: int) -> Codes:
    """Return the labels that two cuts make."""
    labels = np.empty(tasks.group.size, dtype=np.int32)
    bounds = np.array([cut.key for cut in cuts])
    _mark_below(tasks.posterior, tasks.log_odds, tasks.group, key, bounds, labels)
    for a, cut in enumerate(cuts):
        if cut.first is not None:
            rows = tied_at(tasks, key, a, cut.key)
            labels[rows[tasks.is_first(rows, cut.first, random_state)]] = 1
    return labels


def coin_law(tasks: Tasks, key: Key, bounds: tuple[float, float], parts: tuple[float, float]) -> NDArray[np.float64]:
    """Return the probability of each label: a group's tasks at its bound get label 1 with the chance of their group."""
    law = np.empty((tasks.group.size, 2))
    _mix_at(tasks.posterior, tasks.log_odds, tasks.group, key, np.array(bounds), np.array(parts), law)
    return law


def coin_labels(
    tasks: Tasks, key: Key, bounds: tuple[float, float], parts: tuple[float, float], random_state: int
) -> Codes:
    """Draw labels from ``coin_law``."""
    return draw(coin_law(tasks, key, bounds, parts), lambda rows: tasks.hashes(rows, random_state))


@numba.njit(cache=True, nogil=True)
def _own_totals(
    posterior: Any,
    log_odds: Any,
    group: Any,
    key: Any,
    unit: float,
    by_cost: bool,
    last: bool,
    counts: Any,
    gains: Any,
    beliefs: Any,
) -> None:
    sums, seen = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for start in range(0, group.size, TERMS_PER_CARRY):
        for i in range(start, min(start + TERMS_PER_CARRY, group.size)):
            value = key_of(key, posterior, log_odds, i)
            cost = cost_of(key, value)
            judged = cost if by_cost else value
            is_marked = np.int64(judged < 0.0) | (np.int64(judged == 0.0) & np.int64(last))
            counts[group[i]] += is_marked  # no branch to foresee
            sums[group[i]] += is_marked * to_units(-cost, unit)
            seen[0] += to_units(posterior[i, 0], PROBABILITY_UNIT)
            seen[1] += to_units(posterior[i, 1], PROBABILITY_UNIT)
        carry(sums, gains)
        carry(seen, beliefs)


@numba.njit(cache=True, nogil=True)
def _mark_own(posterior: Any, log_odds: Any, key: Any, by_cost: bool, last: bool, labels: Any) -> None:
    for i in range(labels.size):
        value = key_of(key, posterior, log_odds, i)
        judged = cost_of(key, value) if by_cost else value
        labels[i] = np.int32(judged < 0.0 or (last and judged == 0.0))


@numba.njit(cache=True, nogil=True)
def _find_key(posterior: Any, log_odds: Any, group: Any, key: Any, member: int, value: float, rows: Any) -> Any:
    """Write the tasks of a group that have this key, if there is room for them, and return their number."""
    n = 0
    for i in range(group.size):
        if group[i] == member and key_of(key, posterior, log_odds, i) == value:
            if rows.size:
                rows[n] = i
            n += 1
    return n


@numba.njit(cache=True, nogil=True)
def _mark_below(posterior: Any, log_odds: Any, group: Any, key: Any, bounds: Any, labels: Any) -> None:
    for i in range(group.size):
        labels[i] = np.int32(key_of(key, posterior, log_odds, i) < bounds[group[i]])


@numba.njit(cache=True, nogil=True)
def _mix_at(posterior: Any, log_odds: Any, group: Any, key: Any, bounds: Any, parts: Any, law: Any) -> None:
    for i in range(group.size):
        value, bound = key_of(key, posterior, log_odds, i), bounds[group[i]]
        law[i, 1] = 1.0 if value < bound else (parts[group[i]] if value == bound else 0.0)
        law[i, 0] = 1.0 - law[i, 1]
