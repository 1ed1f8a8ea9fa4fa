"""Atoms: tasks of one group with the same gains are interchangeable, and are solved for as one.

Groups are numbered by their size and content, and atoms are in the order of a hash of their group and gains, so that
solvers see the same atoms in the same order wherever the tasks lie and whatever tasks and groups are called. Tasks find
their atom by this hash; should two atoms have the same one, all are hashed again with another salt.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd._threads import for_rows_in_threads
from faircrowd.errors import SolverError
from faircrowd.exact.hashing import mix
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "Atoms",
    "DecidedTasks",
    "atom_hashes",
    "collect",
    "join",
    "merge",
    "merge_by_weight",
    "number_groups",
    "number_weighted_groups",
    "order_by_group",
    "sum_products",
]

_MAX_SALTS = 16
"""Two atoms share a hash with a probability of about 2^-64 per pair and salt: a second salt is hardly ever needed."""


_NUMBERS_AT_A_TIME = 1 << 16


class DecidedTasks(NamedTuple):
    """Tasks that are in no atom, each with a label that no solution changes.

    Attributes
    ----------
    mass : ndarray, shape (n_groups, n_classes)
        Weight of these tasks, by group and label.
    value : float
        The sum of what their labels gain.
    """

    mass: NDArray[np.float64]
    value: float


class Atoms(NamedTuple):
    """Tasks merged by group and gains; merging loses nothing.

    Attributes
    ----------
    gains : ndarray, shape (n_atoms, n_classes)
        What each label gains per unit of weight.
    mass : ndarray, shape (n_atoms,)
        Weight of the tasks of each atom.
    group : ndarray of int32, shape (n_atoms,)
    of_task : ndarray of int64, shape (n_tasks,), or None
        The atom of each task, from ``merge``.
    hashes : ndarray of uint64, shape (n_atoms,), or None
        The hash of each atom, in rising order.
    decided : DecidedTasks or None
        Tasks that are in no atom.
    salt : int
        What the hashes were salted with.
    task_weight : ndarray, shape (n_atoms,), or None
        The weight of each task of an atom, if tasks of different weights are in different atoms; None if it is 1.
    """

    gains: NDArray[np.float64]
    mass: NDArray[np.float64]
    group: Codes
    of_task: NDArray[np.int64] | None = None
    hashes: NDArray[np.uint64] | None = None
    decided: DecidedTasks | None = None
    salt: int = 0
    task_weight: NDArray[np.float64] | None = None

    @property
    def n_tasks(self) -> NDArray[np.float64]:
        """Number of tasks of each atom."""
        return np.rint(self.mass if self.task_weight is None else self.mass / self.task_weight)

    def gained(self, counts: NDArray[np.int64]) -> float:
        """Return what labels gain, given how many tasks of each atom get each label; decided tasks included."""
        weight = np.ones(1) if self.task_weight is None else self.task_weight
        return sum_products(counts, weight, self.gains) + (0.0 if self.decided is None else self.decided.value)

    def totals(self, counts: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
        """Return the weight of each label in each group, shape (n_groups, n_classes); decided tasks included."""
        weight = 1.0 if self.task_weight is None else self.task_weight
        columns = [np.bincount(self.group, weights=weight * column, minlength=n_groups) for column in counts.T]
        return np.asarray(np.stack(columns, axis=1) + (0.0 if self.decided is None else self.decided.mass))


def sum_products(parts: NDArray[Any], weight: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """Return the sum of ``parts * weight[:, None] * gains``, the same bits as numpy's sum of this array.

    The array itself would be as large as the gains, and its memory takes longer to get than the sum. So it is made in
    pieces, and these are added up as numpy adds up the halves of an array. ``weight`` may have one number for all rows.
    """
    n_classes = gains.shape[1]

    def add(first: int, last: int) -> float:
        if last - first > _NUMBERS_AT_A_TIME:
            half = (last - first) // 2
            middle = first + half - half % 8
            return add(first, middle) + add(middle, last)
        rows = slice(first // n_classes, -(-last // n_classes))
        products = parts[rows] * (weight if weight.size == 1 else weight[rows, None]) * gains[rows]
        skipped = rows.start * n_classes
        return float(products.ravel()[first - skipped : last - skipped].sum())

    return add(0, gains.size)


def merge_by_weight(gains: NDArray[np.float64], group: Codes, weights: NDArray[np.float64]) -> Atoms:
    """Merge tasks of equal weight into atoms."""
    found = _grouped(np.column_stack([gains, weights]), group)
    hashes, first, of_task = found.hashes, found.first, found.of_row()
    mass = np.bincount(of_task, weights=weights, minlength=first.size).astype(np.float64)
    return Atoms(gains[first], mass, group[first], of_task, hashes, task_weight=weights[first])


def merge(gains: NDArray[np.float64], group: Codes, weights: NDArray[np.float64] | None) -> Atoms:
    """Merge tasks into atoms."""
    found = _grouped(gains, group)
    of_task = found.of_row()
    mass = np.bincount(of_task, weights=weights, minlength=found.first.size).astype(np.float64)
    return Atoms(_take_rows(gains, found.first), mass, group[found.first], of_task, found.hashes)


def order_by_group(group: Codes, n_groups: int) -> NDArray[np.int64]:
    """Return the order by group that leaves the rows of each group in the order in which they are."""
    few = group.astype(np.uint16) if n_groups <= 1 << 16 else group  # numpy counts numbers of 16 bits, and sorts others
    return np.argsort(few, kind="stable")


def number_groups(tasks: Population, gain: Gain) -> Codes:
    """Return a number for each group that does not depend on its name: smaller groups first, then by their gains."""
    (sums,) = tasks.reduce(_sum_hashes, gain, tasks.n_groups)
    return _numbers(tasks.sizes, sums)


def number_weighted_groups(gains: NDArray[np.float64], group: Codes, weights: NDArray[np.float64]) -> Codes:
    """Return the same for tasks with weights."""
    sizes = np.bincount(group)
    return _numbers(sizes, _hash_sums(np.column_stack([gains, weights]), group, sizes.size))


def _numbers(sizes: NDArray[np.int64], sums: NDArray[np.int64]) -> Codes:
    numbers = np.empty(sizes.size, dtype=np.int32)
    numbers[np.lexsort((sums, sizes))] = np.arange(sizes.size)
    return numbers


def _sum_hashes(tasks: Tasks, gain: Gain, n_groups: int) -> tuple[NDArray[np.int64]]:
    return (_hash_sums(gain.of(tasks.posterior), tasks.group, n_groups),)


def _hash_sums(rows: NDArray[np.float64], group: Codes, n_groups: int) -> NDArray[np.int64]:
    """Return the sum over the rows of each group of a hash of 24 bits, which is exact in any order."""
    hashes = atom_hashes(rows, np.zeros(group.size, dtype=np.int32)) >> np.uint64(40)
    return np.bincount(group, weights=hashes.astype(np.float64), minlength=n_groups).astype(np.int64)


def collect(tasks: Population, gain: Gain, numbers: Codes | None = None, one_in: int = 1) -> Atoms:
    """Gather the atoms of tasks of equal weight: all of them, or about one in ``one_in``.

    Their groups are numbered by ``numbers``, or as those of the tasks.
    """
    numbers = np.arange(tasks.n_groups, dtype=np.int32) if numbers is None else numbers
    gains, group, mass = tasks.gather(_atoms, gain, numbers, one_in)
    return join(gains, group, mass)


def join(
    gains: NDArray[np.float64], group: Codes, mass: NDArray[np.float64], decided: DecidedTasks | None = None
) -> Atoms:
    """Join the atoms of several pieces; each has a hash of its own."""
    for salt in range(_MAX_SALTS):
        hashes = atom_hashes(gains, group, salt)
        if (hashes[1:] > hashes[:-1]).all():  # the atoms of one piece, joined already
            return Atoms(gains, mass, group, None, hashes, decided, salt)
        found = _grouped(gains, group, salt, hashes)
        if not (found.hashes[1:] == found.hashes[:-1]).any():
            mass = np.bincount(found.of_row(), weights=mass, minlength=found.first.size).astype(np.float64)
            return Atoms(_take_rows(gains, found.first), mass, group[found.first], None, found.hashes, decided, salt)
    raise SolverError(
        "Tasks with different posteriors keep having the same hash; this should not happen. Please report it."
    )


def atom_hashes(gains: NDArray[np.float64], group: Codes, salt: int = 0) -> NDArray[np.uint64]:
    """Return the hash of each row of gains and its group."""
    hashes, gains = np.empty(group.size, dtype=np.uint64), np.ascontiguousarray(gains)
    for_rows_in_threads(lambda at: _row_hashes(gains[at], group[at], np.uint64(salt), hashes[at]), group.size)
    return hashes


def _atoms(
    tasks: Tasks, gain: Gain, numbers: Codes, one_in: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    gains, group = gain.of(tasks.posterior), numbers[tasks.group]
    if one_in > 1:  # all tasks of an atom or none, so that the sample is one of atoms
        rows = np.flatnonzero(atom_hashes(gains, group) % np.uint64(one_in) == 0)
        gains, group = gains[rows], group[rows]
    found = _grouped(gains, group)
    return _take_rows(gains, found.first), group[found.first], found.sizes().astype(np.float64)


class _Grouped(NamedTuple):
    """Rows that are equal, together.

    Attributes
    ----------
    hashes : ndarray of uint64
        The hash of each atom, in rising order.
    first : ndarray of int64
        The first row of each atom.
    order : ndarray of int64
        All rows, in the order of the atoms.
    starts : ndarray of int64
        Where each atom begins in that order.
    """

    hashes: NDArray[np.uint64]
    first: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of rows of each atom."""
        return np.diff(self.starts, append=self.order.size)

    def of_row(self) -> NDArray[np.int64]:
        """Return the atom of each row."""
        of_row = np.empty(self.order.size, dtype=np.int64)
        of_row[self.order] = np.repeat(np.arange(self.starts.size), self.sizes())
        return of_row


def _take_rows(values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return rows that lie anywhere in memory, which is what takes its time."""
    taken = np.empty((rows.size, values.shape[1]))
    for_rows_in_threads(lambda at: np.take(values, rows[at], axis=0, out=taken[at], mode="clip"), rows.size)
    return taken


def _grouped(
    gains: NDArray[np.float64], group: Codes, salt: int = 0, hashes: NDArray[np.uint64] | None = None
) -> _Grouped:
    """Group equal rows to atoms.

    If different rows have the same hash, neighbours that differ become atoms of their own: there may then be more atoms
    than needed, each of them correct. ``hashes`` are those of the rows, if they are known.
    """
    hashes = atom_hashes(gains, group, salt) if hashes is None else hashes
    order = np.argsort(hashes, kind="stable")
    is_new = np.empty(order.size, dtype=np.bool_)
    _mark_new(np.ascontiguousarray(gains), group, hashes, order, is_new)
    starts = np.flatnonzero(is_new)
    first = order[starts]
    return _Grouped(hashes[first], first, order, starts)


@kernel
def _row_hashes(gains: NDArray[np.float64], group: Codes, salt: np.uint64, hashes: NDArray[np.uint64]) -> None:
    bits = gains.view(np.uint64)
    start = np.uint64(0x9E3779B97F4A7C15) ^ (salt << np.uint64(32))  # groups are numbered from 0, below 2^32
    for i in range(gains.shape[0]):
        key = mix(np.uint64(group[i]) + start)
        for k in range(gains.shape[1]):
            key = mix(key ^ bits[i, k])
        hashes[i] = key


@kernel
def _mark_new(
    gains: NDArray[np.float64],
    group: Codes,
    hashes: NDArray[np.uint64],
    order: NDArray[np.int64],
    is_new: NDArray[np.bool_],
) -> None:
    for n in range(order.size):
        i, j = order[n], order[n - 1]
        is_new[n] = n == 0 or hashes[i] != hashes[j]
        if not is_new[n]:  # rows lie anywhere in memory: those of different hashes are not read
            is_new[n] = group[i] != group[j]
            for k in range(gains.shape[1]):
                if gains[i, k] != gains[j, k]:
                    is_new[n] = True
