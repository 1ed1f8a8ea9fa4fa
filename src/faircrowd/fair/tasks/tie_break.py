"""The order of equal tasks: more evidence first, then a lower seeded hash; found by counting, without a sort of all."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.tasks.population import Place, Population, Tasks

__all__ = ["first_in_order"]

_MAX_GATHERED_TASKS = 1 << 20
_BITS_PER_COUNT = 16

Find = Callable[..., NDArray[np.int64]]


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
