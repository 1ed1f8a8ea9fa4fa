"""Any number of classes and groups, randomized: smooth the dual, restrict the linear program, certify.

Many atoms of two classes need neither: one sort solves for them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import SolverError
from faircrowd.fair.program.atoms import Atoms, sum_products
from faircrowd.fair.program.dual import (
    ROUGH,
    atom_margins,
    dual_value,
    near_best_labels,
    rough_multipliers,
    smoothed_multipliers,
)
from faircrowd.fair.program.linear_program import solve_linear_program
from faircrowd.fair.program.two_class_relaxed import solve_two_classes
from faircrowd.fair.rate_constraint import Constraint, RateParity
from faircrowd.fair.tolerances import PROVED_OPTIMAL

__all__ = ["Relaxed", "solve_relaxed"]

_MAX_ATOMS_AT_ONCE = 300
_MAX_ATOMS_NEAR = 250
_FIRST_WIDTH = 3e-4


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The best randomized labelling.

    Attributes
    ----------
    fractions : ndarray, shape (n_atoms, n_classes)
        The fraction of each atom that gets each label.
    multipliers : ndarray, shape (n_groups, n_classes)
    value, bound : float
        The objective, and the dual value that no labelling within the constraint exceeds; they are equal at the
        optimum.
    solver : str
        How it was found, in words.
    """

    fractions: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    value: float
    bound: float
    solver: str


def solve_relaxed(
    atoms: Atoms, group_mass: NDArray[np.float64], constraint: Constraint, start: NDArray[np.float64] | None = None
) -> Relaxed:
    """Solve over atoms.

    A few atoms all go to the linear program. Many of two classes are sorted. Of many others, the minimum of the
    smoothed dual shows which labels can be optimal; atoms with one such label are decided, the program is solved over
    the others, and its multipliers are checked on all atoms: if value and bound differ, or there is no solution, more
    labels are kept and the program is solved again. ``start`` may hold the multipliers of a similar epsilon: the
    program over the atoms whose labels are nearest to changing there mostly has the solution at once.
    """
    n_atoms, n_classes = atoms.gains.shape
    if n_atoms <= _MAX_ATOMS_AT_ONCE and atoms.decided is None:
        allowed = np.ones((n_atoms, n_classes), dtype=bool)
        solved = _restricted(atoms, group_mass, constraint, allowed, f"linear program over {n_atoms:,} atoms")
        if solved is None:
            raise _no_solution()
        return solved
    if n_classes == 2 and atoms.decided is None and isinstance(constraint, RateParity):
        sort = solve_two_classes(atoms, group_mass, constraint.epsilon)
        solved = _certified(atoms, group_mass, constraint, *sort, f"one sort of {n_atoms:,} atoms")
        if solved.bound - solved.value <= PROVED_OPTIMAL:  # always, but for weights that differ by many orders
            return solved
    if start is not None:
        solved = _solved_near(atoms, group_mass, constraint, start)
        near = smoothed_multipliers(atoms, group_mass, constraint, start) if solved is None else start
    elif atoms.decided is None:
        rough = rough_multipliers(atoms, group_mass, constraint)
        solved = _solved_near(atoms, group_mass, constraint, rough, ROUGH)
        near = smoothed_multipliers(atoms, group_mass, constraint, rough, ROUGH) if solved is None else rough
    else:
        solved, near = None, smoothed_multipliers(atoms, group_mass, constraint)
    if solved is not None:
        return solved
    width, widest = _FIRST_WIDTH, float(np.ptp(atoms.gains))
    best: Relaxed | None = None
    allowed = near_best_labels(atoms, group_mass, near, width)
    while True:
        found = _restricted(atoms, group_mass, constraint, allowed, _after_smoothing(allowed))
        if found is not None and (best is None or found.bound - found.value < best.bound - best.value):
            best = found
        if allowed.all() and best is None:
            raise _no_solution()
        if best is not None and (best.bound - best.value <= PROVED_OPTIMAL or allowed.all()):
            return best
        # Labels that were allowed stay allowed; those that the new multipliers, or a wider margin, admit are added.
        width *= 4 if found is None else 2
        allowed |= near_best_labels(atoms, group_mass, near, width)
        if found is not None:
            allowed |= near_best_labels(atoms, group_mass, found.multipliers, width)
        elif width > widest:  # the multipliers are far from any that are of use
            allowed[:] = True


def _solved_near(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    constraint: Constraint,
    near: NDArray[np.float64],
    error: float = 0.0,
) -> Relaxed | None:
    """Solve over the few atoms whose best labels are nearest to each other at these multipliers.

    None if more are needed, as when labels are that near that an error of the multipliers would change others.
    """
    n_atoms = atoms.mass.size
    allowed = np.zeros(atoms.gains.shape, dtype=bool)
    for n_near in (few := min(max(n_atoms // 60, _MAX_ATOMS_AT_ONCE // 3), _MAX_ATOMS_NEAR), 4 * few):
        if n_near >= n_atoms:
            return None
        margin, _ = atom_margins(atoms, group_mass, near)
        width = float(np.partition(margin * (group_mass / group_mass.sum())[atoms.group], n_near)[n_near])
        if width < error:
            return None
        allowed |= near_best_labels(atoms, group_mass, near, width)
        found = _restricted(atoms, group_mass, constraint, allowed, _after_smoothing(allowed))
        if found is not None and found.bound - found.value <= PROVED_OPTIMAL:
            return found
        if found is not None and np.abs(found.multipliers - near).max() <= width:  # else the open labels were others
            near = found.multipliers
    return None


def _after_smoothing(allowed: NDArray[np.bool_]) -> str:
    open_atoms = int(_has_several(allowed).sum())
    return f"smoothed dual, then linear program over {open_atoms:,} of {allowed.shape[0]:,} atoms"


def _has_several(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each atom is allowed more than one label; passes over columns take a third of one by rows."""
    some, several = np.zeros((2, allowed.shape[0]), dtype=bool)
    for is_allowed in allowed.T:
        several |= some & is_allowed
        some |= is_allowed
    return several


def _restricted(
    atoms: Atoms, group_mass: NDArray[np.float64], constraint: Constraint, allowed: NDArray[np.bool_], solver: str
) -> Relaxed | None:
    is_open = _has_several(allowed)
    fractions = allowed.astype(np.float64)
    decided = np.zeros((group_mass.size, atoms.gains.shape[1]))
    decided += 0.0 if atoms.decided is None else atoms.decided.mass
    cell = atoms.group.astype(np.int64) * decided.shape[1] + np.argmax(allowed, axis=1)
    closed = np.where(is_open, 0.0, atoms.mass)
    decided += np.bincount(cell, weights=closed, minlength=decided.size).reshape(decided.shape)
    program = solve_linear_program(
        atoms.gains[is_open],
        atoms.mass[is_open],
        atoms.group[is_open],
        allowed[is_open],
        decided,
        group_mass,
        constraint,
    )
    if program is None:
        return None
    fractions[is_open] = program.fractions
    return _certified(atoms, group_mass, constraint, fractions, program.multipliers, solver)


def _certified(
    atoms: Atoms,
    group_mass: NDArray[np.float64],
    constraint: Constraint,
    fractions: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    solver: str,
) -> Relaxed:
    """Add the value of the labelling, and the bound that the multipliers prove."""
    gained = sum_products(fractions, atoms.mass, atoms.gains)
    value = (gained + (0.0 if atoms.decided is None else atoms.decided.value)) / float(group_mass.sum())
    bound = dual_value(atoms, group_mass, multipliers, constraint)
    return Relaxed(fractions, multipliers, value, max(bound, value), solver)


def _no_solution() -> SolverError:
    return SolverError(
        "HiGHS found no solution of the linear program over all tasks, although there is one (the same label for all); "
        "weights or gains that differ by many orders of magnitude can cause this: bring them closer together."
    )
