"""Any number of classes and groups, with a coin: smooth, restrict, certify."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import best_labels, dual_value, smoothed_multipliers
from faircrowd.fair.program.linear_program import solve_linear_program

__all__ = ["Relaxed", "solve_relaxed"]

_FEW = 300
_FIRST_WIDTH = 3e-4
_CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The best labelling with a coin.

    Attributes
    ----------
    fractions : ndarray, shape (n_atoms, n_classes)
        What fraction of each atom gets each label.
    multipliers : ndarray, shape (n_groups, n_classes)
    value, bound : float
        The objective, and the dual value that no labelling within epsilon exceeds; they are equal at the
        optimum.
    solver : str
        In words, how it was found.
    """

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    value: float
    bound: float
    solver: str


def solve_relaxed(
    atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float, start: NDArray[np.float64] | None = None
) -> Relaxed:
    """Solve over atoms.

    Few atoms go to the linear program whole. Of many, the minimum of the smoothed dual tells the labels that
    can be optimal; atoms with one such label are decided, the program is solved over the rest, and its
    multipliers are checked on all atoms: if value and bound differ, or there is no solution, more labels are kept and
    the program is solved again. ``start`` may hold the multipliers of a near epsilon.
    """
    n_atoms, n_classes = atoms.gains.shape
    if n_atoms <= _FEW and atoms.rest is None:
        allowed = np.ones((n_atoms, n_classes), dtype=bool)
        whole = _restricted(atoms, group_mass, epsilon, allowed, f"linear program over {n_atoms:,} atoms")
        if whole is None:
            raise RuntimeError("HiGHS found no solution of the linear program over all tasks.")
        return whole
    near = smoothed_multipliers(atoms, group_mass, epsilon, start)
    width = _FIRST_WIDTH
    best: Relaxed | None = None
    allowed = best_labels(atoms, group_mass, near, width)
    while True:
        open_atoms = int((allowed.sum(axis=1) > 1).sum())
        said = f"smoothed dual, then linear program over {open_atoms:,} of {n_atoms:,} atoms"
        found = _restricted(atoms, group_mass, epsilon, allowed, said)
        if found is not None and (best is None or found.bound - found.value < best.bound - best.value):
            best = found
        if allowed.all() and best is None:
            raise RuntimeError("HiGHS found no solution of the linear program over all tasks.")
        if best is not None and (best.bound - best.value <= _CLOSE or allowed.all()):
            return best
        # Labels that were allowed stay so; those that the new multipliers, or a wider margin, let in come along.
        width *= 4 if found is None else 2
        allowed |= best_labels(atoms, group_mass, near, width)
        if found is not None:
            allowed |= best_labels(atoms, group_mass, found.multipliers, width)


def _restricted(
    atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float, allowed: NDArray[np.bool_], solver: str
) -> Relaxed | None:
    is_open = allowed.sum(axis=1) > 1
    fractions = allowed.astype(np.float64)
    decided = np.zeros((group_mass.size, atoms.gains.shape[1]))
    decided += 0.0 if atoms.rest is None else atoms.rest.mass
    closed = np.flatnonzero(~is_open)
    cell = atoms.group[closed].astype(np.int64) * decided.shape[1] + np.argmax(allowed[closed], axis=1)
    decided += np.bincount(cell, weights=atoms.mass[closed], minlength=decided.size).reshape(decided.shape)
    program = solve_linear_program(
        atoms.gains[is_open], atoms.mass[is_open], atoms.group[is_open], allowed[is_open], decided, group_mass, epsilon
    )
    if program is None:
        return None
    fractions[is_open] = program.fractions
    gained = float((atoms.mass[:, None] * fractions * atoms.gains).sum())
    value = (gained + (0.0 if atoms.rest is None else atoms.rest.value)) / float(group_mass.sum())
    bound = dual_value(atoms, group_mass, program.multipliers, epsilon)
    return Relaxed(fractions, program.multipliers, value, max(bound, value), solver)
