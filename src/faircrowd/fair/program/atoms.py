"""Tasks of one group with the same gains are interchangeable: merge them into atoms.

Atoms are in the order of a hash of their group and gains, so that solvers see the same atoms in the same order wherever
the tasks lie and whatever they are called.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import FaircrowdError
from faircrowd.exact.hashing import mix
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.votes.vocabulary import Codes

__all__ = ["Atoms", "Rest", "atom_hashes", "collect", "merge"]


class Rest(NamedTuple):
    """Tasks that are in no atom, each with the label that it gets whatever the solution.

    Attributes
    ----------
    mass : ndarray, shape (n_groups, n_classes)
        Weight of these tasks, a group and label.
    value : float
        What their labels gain, in all.
    """

    mass: NDArray[np.float64]
    value: float


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
        The atom of each task, where that was asked for.
    hashes : ndarray of uint64, shape (n_atoms,), or None
        The hash of each atom.
    rest : Rest or None
        Tasks that are not here.
    """

    gains: NDArray[np.float64]
    mass: NDArray[np.float64]
    group: Codes
    of_task: NDArray[np.int64] | None = None
    hashes: NDArray[np.uint64] | None = None
    rest: Rest | None = None


def merge(gains: NDArray[np.float64], group: Codes, weights: NDArray[np.float64] | None) -> Atoms:
    """Merge tasks into atoms."""
    hashes, first, of_task = _grouped(gains, group)
    mass = np.bincount(of_task, weights=weights, minlength=first.size).astype(np.float64)
    return Atoms(gains[first], mass, group[first], of_task, hashes)


def collect(tasks: Population, gain: Gain, one_in: int = 1) -> Atoms:
    """Gather the atoms of tasks of equal weight; of many, about one in so many."""
    gains, group, mass = tasks.gather(_atoms, gain, one_in)
    return joined(gains, group, mass)


def joined(gains: NDArray[np.float64], group: Codes, mass: NDArray[np.float64], rest: Rest | None = None) -> Atoms:
    """Join the atoms of several pieces."""
    hashes, first, of_row = _grouped(gains, group)
    if (hashes[1:] == hashes[:-1]).any():  # labels are given by hash
        raise FaircrowdError("Two tasks with different posteriors have one hash; change any of them by its last digit.")
    mass = np.bincount(of_row, weights=mass, minlength=first.size).astype(np.float64)
    return Atoms(gains[first], mass, group[first], None, hashes, rest)


def atom_hashes(gains: NDArray[np.float64], group: Codes) -> NDArray[np.uint64]:
    """Return the hash of each row of gains and its group."""
    hashes = np.empty(group.size, dtype=np.uint64)
    _row_hashes(np.ascontiguousarray(gains), group, hashes)
    return hashes


def _atoms(tasks: Tasks, gain: Gain, one_in: int) -> tuple[NDArray[Any], ...]:
    gains, group = gain.of(tasks.posterior), tasks.group
    if one_in > 1:  # all tasks of an atom or none, so that a sample is one of atoms
        rows = np.flatnonzero(atom_hashes(gains, group) % np.uint64(one_in) == 0)
        gains, group = gains[rows], group[rows]
    found = merge(gains, group, None)
    return found.gains, found.group, found.mass


def _grouped(
    gains: NDArray[np.float64], group: Codes
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the sorted hashes of the atoms of rows, the first row of each, and the atom of each row.

    Should two different rows have one hash, neighbours that differ are atoms of their own: maybe more than needed, all
    of them right.
    """
    hashes = atom_hashes(gains, group)
    order = np.argsort(hashes, kind="stable")
    is_new = np.empty(order.size, dtype=np.bool_)
    _mark_new(np.ascontiguousarray(gains), group, hashes, order, is_new)
    of_row = np.empty(order.size, dtype=np.int64)
    of_row[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    return hashes[first], first, of_row


@numba.njit(cache=True, nogil=True)
def _row_hashes(gains: Any, group: Any, hashes: Any) -> None:
    bits = gains.view(np.uint64)
    for i in range(gains.shape[0]):
        key = mix(np.uint64(group[i]) + np.uint64(0x9E3779B97F4A7C15))
        for k in range(gains.shape[1]):
            key = mix(key ^ bits[i, k])
        hashes[i] = key


@numba.njit(cache=True, nogil=True)
def _mark_new(gains: Any, group: Any, hashes: Any, order: Any, is_new: Any) -> None:
    for n in range(order.size):
        i, j = order[n], order[n - 1]
        is_new[n] = n == 0 or hashes[i] != hashes[j] or group[i] != group[j]
        for k in range(gains.shape[1]):
            if gains[i, k] != gains[j, k]:
                is_new[n] = True
