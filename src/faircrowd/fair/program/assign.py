"""From counts an atom to labels a task: that of highest score, but for the few atoms that the solution treats apart."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.exact.hashing import draw
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.atoms import Atoms, atom_hashes
from faircrowd.fair.program.dual import best_of, margins
from faircrowd.fair.tasks.population import Population, Tasks
from faircrowd.fair.tasks.tie_break import first_in_order
from faircrowd.votes.vocabulary import Codes

__all__ = ["Apart", "apart_from", "atom_labels", "atom_law", "drawn_labels", "free_labels", "free_law", "steps_of"]

Step = tuple[int, tuple[int, int] | None]
"""A label, and evidence and hash of the last task that gets it; None if all that are left do."""


class Apart(NamedTuple):
    """Atoms that do not simply get the label of highest score.

    Attributes
    ----------
    hashes : ndarray of uint64
        Their hashes, rising.
    widest : float
        No other task has labels as near to each other as this.
    shares : ndarray, shape (n_apart, n_classes)
        What part of each atom gets each label.
    """

    hashes: NDArray[np.uint64]
    widest: float
    shares: NDArray[np.float64]


def apart_from(
    atoms: Atoms, mass: NDArray[np.float64], multipliers: NDArray[np.float64], shares: NDArray[np.float64]
) -> Apart:
    """Return the atoms whose shares are not those of the label of highest score."""
    assert atoms.hashes is not None  # noqa: S101 - only atoms of tasks with weights have none
    margin, best = margins(atoms, mass, multipliers)
    rows = np.flatnonzero(shares[np.arange(best.size), best] < 1.0)
    return Apart(atoms.hashes[rows], float(margin[rows].max(initial=-1.0)), shares[rows])


def atom_law(tasks: Tasks, gain: Gain, prices: NDArray[np.float64], apart: Apart) -> NDArray[np.float64]:
    """Return the probability of each label."""
    best, rows, place = _apart(tasks, gain, prices, apart)
    law = np.zeros(tasks.posterior.shape)
    law[np.arange(best.size), best] = 1.0
    law[rows] = apart.shares[place]
    return law


def drawn_labels(tasks: Tasks, gain: Gain, prices: NDArray[np.float64], apart: Apart, random_state: int) -> Codes:
    """Draw labels from ``atom_law``."""
    return draw(atom_law(tasks, gain, prices, apart), lambda rows: tasks.hashes(rows, random_state))


def atom_labels(
    tasks: Tasks,
    gain: Gain,
    prices: NDArray[np.float64],
    apart: Apart,
    steps: tuple[tuple[Step, ...], ...],
    random_state: int,
) -> Codes:
    """Return labels without a coin; the tasks of an atom that is apart get its labels step by step, in their order."""
    labels, rows, place = _apart(tasks, gain, prices, apart)
    for atom in np.unique(place):
        left = rows[place == atom]
        for label, last in steps[atom]:
            first = np.ones(left.size, dtype=bool) if last is None else tasks.is_first(left, last, random_state)
            labels[left[first]] = label
            left = left[~first]
    return labels


def steps_of(
    tasks: Population,
    gain: Gain,
    prices: NDArray[np.float64],
    apart: Apart,
    counts: NDArray[np.int64],
    random_state: int,
) -> tuple[tuple[Step, ...], ...]:
    """Return how tasks of the atoms that are apart get labels in these counts; those of more evidence keep theirs."""
    if not (counts > 0).sum(axis=1).max(initial=0) > 1:
        return tuple(((int(label), None),) for label in np.argmax(counts, axis=1))
    (own,) = tasks.reduce(_count_own, gain, prices, apart)
    found = []
    for atom, of_label in enumerate(counts):
        kept = int(np.argmax(own[atom]))
        order = [k for k in (kept, *(k for k in range(of_label.size) if k != kept)) if of_label[k]]
        reached = np.cumsum(of_label[order])[:-1].tolist()
        ends = first_in_order(tasks, _rows_of, (gain, prices, apart, atom), int(of_label.sum()), reached, random_state)
        found.append(tuple(zip(order, [*ends, None], strict=True)))
    return tuple(found)


def free_labels(tasks: Tasks, gain: Gain) -> Codes:
    """Return the labels without a constraint: the aggregator's own for accuracy, else those that gain the most."""
    return tasks.own if gain.is_accuracy else np.argmax(gain.of(tasks.posterior), axis=1).astype(np.int32)


def free_law(tasks: Tasks, gain: Gain) -> NDArray[np.float64]:
    """Return the labels without a constraint as probabilities."""
    return np.asarray(np.eye(tasks.posterior.shape[1])[free_labels(tasks, gain)])


def _apart(
    tasks: Tasks, gain: Gain, prices: NDArray[np.float64], apart: Apart
) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels of highest score, and the tasks of atoms that are apart with the number of their atom."""
    gains = gain.of(tasks.posterior)
    margin, best = best_of(gains, tasks.group, prices)
    rows = np.flatnonzero(margin <= apart.widest)
    hashes = atom_hashes(gains[rows], tasks.group[rows])
    place = np.minimum(np.searchsorted(apart.hashes, hashes), apart.hashes.size - 1)
    found = apart.hashes[place] == hashes
    return best, rows[found], place[found]


def _rows_of(tasks: Tasks, gain: Gain, prices: NDArray[np.float64], apart: Apart, atom: int) -> NDArray[np.int64]:
    _, rows, place = _apart(tasks, gain, prices, apart)
    return np.asarray(rows[place == atom])


def _count_own(tasks: Tasks, gain: Gain, prices: NDArray[np.float64], apart: Apart) -> tuple[NDArray[np.int64], ...]:
    _, rows, place = _apart(tasks, gain, prices, apart)
    shape = apart.shares.shape
    return (np.bincount(place * shape[1] + tasks.own[rows], minlength=shape[0] * shape[1]).reshape(shape),)
