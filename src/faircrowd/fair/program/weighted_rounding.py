"""Deterministic labels where tasks have weights, for any number of classes and groups.

The randomized solution splits some atoms between labels. Their tasks are labelled from the heaviest to the lightest,
each with the label that its group is most short of, so that what is missing in the end is about the weight of a light
task. The labels of the lightest tasks, and of those that are nearly tied, are then chosen together by an integer
program.
"""

import numpy as np
from numpy.typing import NDArray

from faircrowd._kernels import kernel
from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import atom_margins
from faircrowd.fair.program.strict import best_counts_of_free_atoms
from faircrowd.fair.rate_constraint import Constraint
from faircrowd.fair.tolerances import WHOLE_COUNT
from faircrowd.votes.vocabulary import Codes

__all__ = ["round_weighted_counts"]

_FREE_ATOMS = 120
"""About this many atoms are left to the integer program."""

_NODES = 500
_RELATIVE_GAP = 1e-5
"""When the integer program stops: its labels are not claimed to be the best."""

_SECONDS = 60.0
"""A last resort: what is found in a time depends on the machine."""


def round_weighted_counts(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    fractions: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    constraint: Constraint,
) -> NDArray[np.int64]:
    """Return how many tasks of each atom get each label, shape (n_atoms, n_classes).

    Parameters
    ----------
    atoms : Atoms
        From ``merge_by_weight``.
    fractions : ndarray, shape (n_atoms, n_classes)
        The randomized solution.
    """
    weight = atoms.task_weight
    assert weight is not None  # noqa: S101 - this is for weights
    expected = atoms.n_tasks[:, None] * fractions
    counts = np.floor(expected + WHOLE_COUNT).astype(np.int64)
    mixed = np.flatnonzero(counts.sum(axis=1) < atoms.n_tasks)
    heaviest_first = mixed[np.lexsort((mixed, -weight[mixed], atoms.group[mixed]))]
    left = expected[heaviest_first] - counts[heaviest_first]
    _label_what_is_missing(
        atoms.group[heaviest_first], weight[heaviest_first], np.maximum(left, 0.0), counts, heaviest_first
    )
    free = _free_atoms(atoms, group_mass, multipliers, mixed)
    found = best_counts_of_free_atoms(atoms, group_mass, free, counts, constraint, _SECONDS, _RELATIVE_GAP, _NODES)
    return counts if found is None else found[0]


def _free_atoms(
    atoms: Atoms, group_mass: NDArray[np.float64], multipliers: NDArray[np.float64], mixed: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which atoms are left to the integer program: in each group the lightest mixed ones, and nearly tied ones.

    Nearly tied atoms come in the order of what it costs to move one of their tasks.
    """
    weight = atoms.task_weight
    assert weight is not None  # noqa: S101 - this is for weights
    margin, _ = atom_margins(atoms, group_mass, multipliers)
    is_mixed = np.zeros(margin.size, dtype=bool)
    is_mixed[mixed] = True
    free = np.zeros(margin.size, dtype=bool)
    per_group = max(_FREE_ATOMS // group_mass.size, 2)
    for order, chosen in ((weight, is_mixed), (margin * weight, ~is_mixed)):
        rows = np.flatnonzero(chosen)
        rows = rows[np.lexsort((rows, order[rows], atoms.group[rows]))]
        rank = np.arange(rows.size) - np.searchsorted(atoms.group[rows], atoms.group[rows])
        free[rows[rank < per_group // 2]] = True
    return free


@kernel
def _label_what_is_missing(
    group: Codes,
    weight: NDArray[np.float64],
    left: NDArray[np.float64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> None:
    """Label the tasks that are left of each atom, each with that of its labels that its group is most short of."""
    n_classes = left.shape[1]
    short = np.zeros(n_classes)
    for n in range(rows.size):
        if n == 0 or group[n] != group[n - 1]:
            short[:] = 0.0
        n_left = int(np.rint(left[n].sum()))
        short += weight[n] * left[n]
        for _ in range(n_left):
            best = -1
            for k in range(n_classes):
                if left[n, k] > 0.0 and (best < 0 or short[k] > short[best]):
                    best = k
            counts[rows[n], best] += 1
            short[best] -= weight[n]
