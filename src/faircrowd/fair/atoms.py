"""Tasks of one group with the same gains are interchangeable: merge them into atoms."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.votes.vocabulary import Codes

__all__ = ["Atoms", "merge"]

_SAMPLE = 4096


class Atoms(NamedTuple):
    """Tasks merged by group and gains; merging loses nothing.

    Attributes
    ----------
    gains : ndarray, shape (n_atoms, n_classes)
        What each label gains, a unit of weight.
    mass : ndarray, shape (n_atoms,)
        Weight of the tasks of an atom.
    group : ndarray of int32, shape (n_atoms,)
    of_task : ndarray of int64, shape (n_tasks,), or None
        The atom of each task; None if each task is an atom of its own.
    """

    gains: NDArray[np.float64]
    mass: NDArray[np.float64]
    group: Codes
    of_task: NDArray[np.int64] | None


def merge(gains: NDArray[np.float64], group: Codes, weights: NDArray[np.float64] | None) -> Atoms:
    """Merge tasks into atoms, unless hardly any are alike."""
    n_tasks = gains.shape[0]
    mass = np.ones(n_tasks) if weights is None else weights
    keys = np.empty(n_tasks, dtype=np.uint64)
    _row_keys(gains, group, keys)
    if n_tasks > _SAMPLE:
        # A sample of keys, not of rows: all copies of a row are in it or none, in whatever order rows come.
        sample = keys[keys % np.uint64(n_tasks // _SAMPLE) == 0]
        if np.unique(sample).size > 0.9 * sample.size:
            return Atoms(gains, mass, group, None)
    _, first, of_task = np.unique(keys, return_index=True, return_inverse=True)
    if not _same(gains, group, first, of_task):  # two different rows with one key: as good as never
        return Atoms(gains, mass, group, None)
    return Atoms(gains[first], np.bincount(of_task, weights=mass).astype(np.float64), group[first], of_task)


@numba.njit(cache=True, nogil=True)
def _row_keys(gains: Any, group: Any, keys: Any) -> None:
    bits = gains.view(np.uint64)
    for i in range(gains.shape[0]):
        key = np.uint64(group[i]) + np.uint64(0x9E3779B97F4A7C15)
        for k in range(gains.shape[1]):
            key = (key ^ bits[i, k]) * np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(31)
        keys[i] = key


@numba.njit(cache=True, nogil=True)
def _same(gains: Any, group: Any, first: Any, of_task: Any) -> bool:
    for i in range(gains.shape[0]):
        j = first[of_task[i]]
        if group[i] != group[j]:
            return False
        for k in range(gains.shape[1]):
            if gains[i, k] != gains[j, k]:
                return False
    return True
