"""From the solution over atoms to the label of each task.

Most tasks get the label of highest score. The tasks of a few atoms, nearly all of them tied at the prices of the
solution, are split between labels as the solution says.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import Atoms, atom_hashes
from faircrowd.fair.program.dual import atom_margins, label_margins
from faircrowd.fair.tasks.population import Place, Population, Tasks
from faircrowd.fair.tasks.tie_break import first_in_each
from faircrowd.votes.vocabulary import Codes

__all__ = [
    "SplitAtoms",
    "find_split_atoms",
    "label_cuts",
    "label_probabilities",
    "labels_by_cuts",
    "unconstrained_labels",
    "unconstrained_probabilities",
]

LabelCut = tuple[int, Place | None]
"""A label, and evidence and hash of the last task that gets it; None if all remaining tasks do."""


class SplitAtoms(NamedTuple):
    """Atoms whose tasks do not all get the label of highest score.

    Attributes
    ----------
    hashes : ndarray of uint64
        The hash of each of these atoms, in rising order.
    widest : float
        The largest margin between the best two labels of these atoms: tasks of a larger one are not among them.
    shares : ndarray, shape (n_split, n_classes)
        The fraction of each atom that gets each label.
    salt : int
        What the hashes were salted with.
    numbers : ndarray of int32, shape (n_groups,), or None
        The number of each group in the hashes; None if it is that of the tasks.
    """

    hashes: NDArray[np.uint64]
    widest: float
    shares: NDArray[np.float64]
    salt: int = 0
    numbers: Codes | None = None


def find_split_atoms(
    atoms: Atoms,
    mass: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    shares: NDArray[Any],
    numbers: Codes | None = None,
    sums: NDArray[np.float64] | None = None,
) -> SplitAtoms:
    """Return the atoms that do not all get their label of highest score; ``numbers`` are those of the groups.

    If ``shares`` are numbers of tasks, ``sums`` are those of all labels.
    """
    assert atoms.hashes is not None  # noqa: S101 - only atoms of tasks with weights have none
    margin, best = atom_margins(atoms, mass, multipliers)
    of_best = shares[np.arange(best.size), best]
    rows = np.flatnonzero(of_best < (1.0 if sums is None else sums))
    split = shares[rows] if sums is None else shares[rows] / sums[rows, None]
    return SplitAtoms(atoms.hashes[rows], float(margin[rows].max(initial=-1.0)), split, atoms.salt, numbers)


def label_probabilities(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], split: SplitAtoms
) -> NDArray[np.float64]:
    """Return the probability of each label."""
    best, rows, place = _place_tasks(tasks, gain, prices, split)
    probabilities = np.zeros(tasks.posterior.shape)
    probabilities[np.arange(best.size), best] = 1.0
    probabilities[rows] = split.shares[place]
    return probabilities


def labels_by_cuts(
    tasks: Tasks,
    gain: Gain,
    prices: NDArray[np.float64],
    split: SplitAtoms,
    cuts: tuple[tuple[LabelCut, ...], ...],
    random_state: int,
) -> Codes:
    """Return labels; the tasks of a split atom get its labels one after another, in the order of the tasks."""
    labels, rows, place = _place_tasks(tasks, gain, prices, split)
    by_atom = np.argsort(place, kind="stable")
    found = np.unique(place)
    bounds = np.searchsorted(place[by_atom], [found, found + 1])
    for atom, begin, end in zip(found, *bounds, strict=True):
        left = rows[by_atom[begin:end]]
        for label, last in cuts[atom]:
            first = np.ones(left.size, dtype=bool) if last is None else tasks.is_first(left, last, random_state)
            labels[left[first]] = label
            left = left[~first]
    return labels


def label_cuts(
    tasks: Population,
    gain: Gain,
    prices: NDArray[np.float64],
    split: SplitAtoms,
    counts: NDArray[np.int64],
    random_state: int,
    by_evidence: bool = True,
) -> tuple[tuple[LabelCut, ...], ...]:
    """Return where, in the order of the tasks of each split atom, one label ends and the next begins.

    Each atom gets its labels in these counts; tasks of more evidence keep the aggregator's own label, unless the order
    is that of hashes alone.
    """
    if not (counts > 0).sum(axis=1).max(initial=0) > 1:
        return tuple(((int(label), None),) for label in np.argmax(counts, axis=1))
    (own,) = tasks.reduce(_count_own, gain, prices, split)
    orders = []
    for of_label, kept in zip(counts, np.argmax(own, axis=1).tolist(), strict=True):
        orders.append([k for k in (kept, *(k for k in range(of_label.size) if k != kept)) if of_label[k]])
    reached = [np.cumsum(of_label[order])[:-1].tolist() for of_label, order in zip(counts, orders, strict=True)]
    find = _rows_and_atoms, (gain, prices, split)
    ends = first_in_each(tasks, *find, counts.sum(axis=1), reached, random_state, by_evidence)
    return tuple(tuple(zip(order, [*end, None], strict=True)) for order, end in zip(orders, ends, strict=True))


def unconstrained_labels(tasks: Tasks, gain: Gain) -> Codes:
    """Return the labels without a constraint: the aggregator's own for accuracy, else those that gain the most."""
    return tasks.own if gain.is_accuracy else np.argmax(gain.of(tasks.posterior), axis=1).astype(np.int32)


def unconstrained_probabilities(tasks: Tasks, gain: Gain) -> NDArray[np.float64]:
    """Return the labels without a constraint as probabilities."""
    return np.asarray(np.eye(tasks.posterior.shape[1])[unconstrained_labels(tasks, gain)])


def _place_tasks(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], split: SplitAtoms
) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels of highest score, and the tasks of split atoms with the number of their atom."""
    gains = gain.of(tasks.posterior)
    margin, best = label_margins(gains, tasks.group, prices)
    rows = np.flatnonzero(margin <= split.widest)
    group = tasks.group[rows] if split.numbers is None else split.numbers[tasks.group[rows]]
    hashes = atom_hashes(gains[rows], group, split.salt)
    place = np.minimum(np.searchsorted(split.hashes, hashes), split.hashes.size - 1)
    found = split.hashes[place] == hashes
    return best, rows[found], place[found]


def _rows_and_atoms(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], split: SplitAtoms
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return _place_tasks(tasks, gain, prices, split)[1:]


def _count_own(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], split: SplitAtoms
) -> tuple[NDArray[np.int64], ...]:
    _, rows, place = _place_tasks(tasks, gain, prices, split)
    shape = split.shares.shape
    return (np.bincount(place * shape[1] + tasks.own[rows], minlength=shape[0] * shape[1]).reshape(shape),)
