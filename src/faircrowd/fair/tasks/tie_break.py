"""The order of equal tasks: more evidence first, then a lower seeded hash; found by counting, without a sort of all."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.tasks.population import Place, Population, Tasks

__all__ = ["first_in_each", "first_in_order"]

_MAX_GATHERED_TASKS = 1 << 20
_BITS_PER_COUNT = 16

Find = Callable[..., NDArray[np.int64]]
FindEach = Callable[..., tuple[NDArray[np.int64], NDArray[np.int64]]]


def first_in_order(
    tasks: Population,
    find: Find,
    parameters: tuple[Any, ...],
    total: int,
    counts: list[int],
    random_state: int,
    by_evidence: bool = True,
) -> list[Place]:
    """Return evidence and hash of the last of the first ``count`` tasks, for each of some counts.

    Parameters
    ----------
    find : callable
        Returns the rows of those tasks that are to be ordered; a function of a module.
    parameters : tuple
        What ``find`` is given besides the tasks.
    total : int
        The number of the tasks to be ordered.
    counts : list of int
        Each from 1 to ``total``.
    by_evidence : bool
        Whether more evidence comes first; if not, tasks are in the order of their hashes alone, and the evidence of the
        places is None.
    """
    if not counts:
        return []
    if total <= _MAX_GATHERED_TASKS:
        evidence, hashes = tasks.gather(_all, find, parameters, random_state)
        if not by_evidence or not evidence.any():
            ranked = np.partition(hashes, [count - 1 for count in counts])
            return [(0 if by_evidence else None, int(ranked[count - 1])) for count in counts]
        order = np.lexsort((hashes, -evidence))
        return [(int(evidence[order[count - 1]]), int(hashes[order[count - 1]])) for count in counts]
    if not by_evidence:
        anywhere = (find, parameters, None, random_state)
        return [(None, _hash_of_rank(tasks, anywhere, count, total)) for count in counts]
    found, many = tasks.gather(_evidence, find, parameters)
    levels, place = np.unique(-found, return_inverse=True)
    reached = np.append(0, np.cumsum(np.bincount(place, weights=many))).astype(np.int64)
    ends: list[Place] = []
    for count in counts:
        level = int(np.searchsorted(reached, count)) - 1
        where = (find, parameters, -int(levels[level]), random_state)
        inside = int(reached[level + 1] - reached[level])
        ends.append((-int(levels[level]), _hash_of_rank(tasks, where, int(count - reached[level]), inside)))
    return ends


def first_in_each(
    tasks: Population,
    find_each: FindEach,
    parameters: tuple[Any, ...],
    totals: NDArray[np.int64],
    counts: Sequence[list[int]],
    random_state: int,
    by_evidence: bool = True,
) -> list[list[Place]]:
    """Return the same as ``first_in_order`` for each of many sets of tasks, in as few passes over all tasks as fit.

    Parameters
    ----------
    find_each : callable
        Returns the rows of the tasks of all sets, and the number of the set of each; a function of a module.
    totals : ndarray of int64
        The number of the tasks of each set.
    counts : sequence of lists of int
        Those of each set.
    """
    found: list[list[Place]] = [[] for _ in counts]
    asked = np.array([i for i, some in enumerate(counts) if some], dtype=np.int64)
    for i in asked[totals[asked] > _MAX_GATHERED_TASKS].tolist():
        one = (find_each, parameters, i)
        found[i] = first_in_order(tasks, _rows_of_one, one, int(totals[i]), counts[i], random_state, by_evidence)
    few = asked[totals[asked] <= _MAX_GATHERED_TASKS]
    for part in np.split(few, _full(totals[few])) if few.size else []:
        chosen = np.zeros(totals.size, dtype=bool)
        chosen[part] = True
        number, evidence, hashes = tasks.gather(_all_of_each, find_each, parameters, chosen, random_state)
        order = np.lexsort((hashes, -evidence, number) if by_evidence else (hashes, number))
        starts = np.searchsorted(number[order], part)
        for i, start in zip(part.tolist(), starts.tolist(), strict=True):
            ends = order[[start + count - 1 for count in counts[i]]]
            found[i] = [(int(evidence[at]) if by_evidence else None, int(hashes[at])) for at in ends.tolist()]
    return found


def _full(totals: NDArray[np.int64]) -> list[int]:
    """Return where to divide sets so that no part has more than the tasks to be gathered, each set having fewer."""
    places, inside = [], 0
    for i, total in enumerate(totals.tolist()):
        inside += total
        if inside > _MAX_GATHERED_TASKS:
            places.append(i)
            inside = total
    return places


def _hash_of_rank(tasks: Population, where: tuple[Any, ...], rank: int, inside: int) -> int:
    """Return the hash of the task of this rank among tasks of one evidence, by counting in ever finer bins."""
    low, high = 0, 2**64 - 1
    while inside > _MAX_GATHERED_TASKS and high > low:
        shift = max((high - low).bit_length() - _BITS_PER_COUNT, 0)
        (bins,) = tasks.reduce(_count_hashes, *where, low, high, shift)
        at_most = np.cumsum(bins)
        at = int(np.searchsorted(at_most, rank))
        rank -= int(at_most[at - 1]) if at else 0
        low, high = low + (at << shift), min(low + ((at + 1) << shift) - 1, high)
        inside = int(bins[at])
    (hashes,) = tasks.gather(_hashes, *where, low, high)
    return int(np.partition(hashes, rank - 1)[rank - 1])


def _evidence(tasks: Tasks, find: Find, parameters: tuple[Any, ...]) -> tuple[NDArray[Any], ...]:
    rows = find(tasks, *parameters)
    if not tasks.evidence.size:
        return np.zeros(1, dtype=np.int64), np.array([rows.size])
    return np.unique(tasks.evidence[rows], return_counts=True)


def _all(tasks: Tasks, find: Find, parameters: tuple[Any, ...], random_state: int) -> tuple[NDArray[Any], ...]:
    rows = find(tasks, *parameters)
    evidence = tasks.evidence[rows] if tasks.evidence.size else np.zeros(rows.size, dtype=np.int64)
    return evidence, tasks.hashes(rows, random_state)


def _all_of_each(
    tasks: Tasks, find_each: FindEach, parameters: tuple[Any, ...], chosen: NDArray[np.bool_], random_state: int
) -> tuple[NDArray[Any], ...]:
    rows, number = find_each(tasks, *parameters)
    rows, number = rows[chosen[number]], number[chosen[number]]
    evidence = tasks.evidence[rows] if tasks.evidence.size else np.zeros(rows.size, dtype=np.int64)
    return number, evidence, tasks.hashes(rows, random_state)


def _rows_of_one(tasks: Tasks, find_each: FindEach, parameters: tuple[Any, ...], chosen: int) -> NDArray[np.int64]:
    rows, number = find_each(tasks, *parameters)
    return np.asarray(rows[number == chosen])


def _at_evidence(
    tasks: Tasks, find: Find, parameters: tuple[Any, ...], evidence: int | None, random_state: int, low: int, high: int
) -> NDArray[np.uint64]:
    """Return those hashes of the tasks of this evidence (of all, if None) that lie from ``low`` to ``high``."""
    rows = find(tasks, *parameters)
    rows = rows[tasks.evidence[rows] == evidence] if evidence is not None and tasks.evidence.size else rows
    hashes = tasks.hashes(rows, random_state)
    return hashes[(hashes >= np.uint64(low)) & (hashes <= np.uint64(high))]


def _hashes(tasks: Tasks, *parameters: Any) -> tuple[NDArray[Any], ...]:
    return (_at_evidence(tasks, *parameters),)


def _count_hashes(tasks: Tasks, *parameters: Any) -> tuple[NDArray[np.int64], ...]:
    *given, shift = parameters
    hashes = _at_evidence(tasks, *given)
    place = (hashes - np.uint64(given[-2])) >> np.uint64(shift)
    return (np.bincount(place.astype(np.int64), minlength=1 << _BITS_PER_COUNT),)
