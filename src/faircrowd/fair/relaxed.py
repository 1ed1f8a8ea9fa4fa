"""Any number of classes and groups, with a coin: smooth, restrict, certify."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.atoms import Atoms
from faircrowd.fair.dual import best_labels, dual_value, smoothed_multipliers
from faircrowd.fair.program import solve_program

__all__ = ["Relaxed", "solve_relaxed"]

_FEW = 3000
_FIRST_WIDTH = 2e-3
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
    multipliers are checked on all atoms: if value and bound differ, more labels are kept and the program is
    solved again. ``start`` may hold the multipliers of a near epsilon.
    """
    n_atoms, n_classes = atoms.gains.shape
    if n_atoms <= _FEW:
        allowed = np.ones((n_atoms, n_classes), dtype=bool)
        return _restricted(atoms, group_mass, epsilon, allowed, f"linear program over {n_atoms:,} atoms")
    near = smoothed_multipliers(atoms, group_mass, epsilon, start)
    width = _FIRST_WIDTH
    best: Relaxed | None = None
    while True:
        allowed = best_labels(atoms, group_mass, near, width)
        open_atoms = int((allowed.sum(axis=1) > 1).sum())
        said = f"smoothed dual, then linear program over {open_atoms:,} of {n_atoms:,} atoms"
        found = _restricted(atoms, group_mass, epsilon, allowed, said)
        if best is None or found.bound - found.value < best.bound - best.value:
            best = found
        if best.bound - best.value <= _CLOSE or open_atoms == n_atoms:
            return best
        near, width = best.multipliers, 2 * width


def _restricted(
    atoms: Atoms, group_mass: NDArray[np.float64], epsilon: float, allowed: NDArray[np.bool_], solver: str
) -> Relaxed:
    is_open = allowed.sum(axis=1) > 1
    fractions = allowed.astype(np.float64)
    decided = np.zeros((group_mass.size, atoms.gains.shape[1]))
    closed = np.flatnonzero(~is_open)
    np.add.at(decided, (atoms.group[closed], np.argmax(allowed[closed], axis=1)), atoms.mass[closed])
    program = solve_program(
        atoms.gains[is_open], atoms.mass[is_open], atoms.group[is_open], allowed[is_open], decided, group_mass, epsilon
    )
    fractions[is_open] = program.fractions
    value = float((atoms.mass[:, None] * fractions * atoms.gains).sum() / group_mass.sum())
    bound = dual_value(atoms, group_mass, program.multipliers, epsilon)
    return Relaxed(fractions, program.multipliers, value, max(bound, value), solver)
