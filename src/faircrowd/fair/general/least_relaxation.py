"""Constraints that cannot hold together: which ones clash, and the least relaxation of each that would do."""

import math

import numpy as np

from faircrowd.fair.general.best_fractions import find_best_fractions
from faircrowd.fair.general.cell_atoms import CellAtoms
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.row_matrix import make_rows

__all__ = ["Clash", "find_clash"]

_PRECISION = 1e-6
_MOST_ATOMS = 20_000
"""Of more atoms, a sample tells about how far a constraint must be relaxed."""


class Clash:
    """Constraints that cannot hold together.

    Attributes
    ----------
    numbers : list of int
        The numbers of the constraints; without any one of them, the others can hold.
    levels : dict of int to float
        For some of them, the least relaxed limit with which all can hold.
    """

    def __init__(self, problem: ConstrainedProblem, numbers: list[int], levels: dict[int, float]) -> None:
        self.problem = problem
        self.numbers = numbers
        self.levels = levels

    @property
    def message(self) -> str:
        """What clashes, and what would do, in words."""
        constraints, n_tasks = self.problem.constraints, self.problem.tasks.group.size
        texts = [str(constraints[c]) for c in self.numbers]
        if len(texts) == 1:
            told = f"{texts[0]} cannot be kept"
        else:
            both = "both" if len(texts) == 2 else "all"
            told = f"{', '.join(texts[:-1])} and {texts[-1]} cannot {both} hold"
        ways = [constraints[c].relaxed_words(level, n_tasks) for c, level in self.levels.items()]
        return f"{told}: {', or '.join(ways)}." if ways else f"{told}, and no limit of one of them alone would do."


def find_clash(problem: ConstrainedProblem) -> Clash:
    """Return which constraints cannot hold together; call it for a problem without a solution."""
    kept = list(range(len(problem.constraints)))
    for c in list(kept):
        rest = [other for other in kept if other != c]
        if rest and not _can_hold(problem, rest):
            kept = rest
    levels = {}
    for c in kept:
        level = _least_level(problem, kept, c)
        if level is not None:
            levels[c] = level
    return Clash(problem, kept, levels)


def _least_level(problem: ConstrainedProblem, kept: list[int], number: int) -> float | None:
    """Return the limit of one constraint nearest to its own with which all can hold; None if there is none."""
    constraint = problem.constraints[number]
    if not constraint.level_name:
        return None
    loosest = 0.0 if constraint.is_floor else 1.0
    if not _can_hold(problem.with_level(number, loosest), kept):
        return None
    tight, loose = constraint.level, loosest
    while abs(loose - tight) > _PRECISION:
        middle = (tight + loose) / 2
        if _can_hold(problem.with_level(number, middle), kept):
            loose = middle
        else:
            tight = middle
    # Rounded to four digits towards the side on which it can hold.
    step = 10.0 ** (math.floor(math.log10(max(abs(loose), 1e-12))) - 3)
    rounded = math.floor(loose / step) * step if constraint.is_floor else math.ceil(loose / step) * step
    return min(max(rounded, 0.0), 1.0)


def _can_hold(problem: ConstrainedProblem, kept: list[int]) -> bool:
    """Return whether some of the constraints can hold together."""
    compared = [part for part in problem.compared if part.constraint in kept]
    rows = make_rows(compared, problem.grouped, problem.of_cell)
    return find_best_fractions(_atoms_for(problem, rows.weighs_posterior), rows, problem.n_cells).is_feasible


def _atoms_for(problem: ConstrainedProblem, weighs_posterior: bool) -> CellAtoms:
    """Return atoms that tell whether constraints can hold: gains do not matter, nor posteriors if none is weighed."""
    atoms = problem.atoms
    if not weighs_posterior:  # only how many tasks of a cell get an outcome counts
        mass = np.bincount(atoms.cell, weights=atoms.mass, minlength=problem.n_cells).astype(np.float64)
        cells = np.arange(problem.n_cells, dtype=np.int32)
        n_tasks = np.bincount(atoms.cell, weights=atoms.n_tasks, minlength=problem.n_cells).astype(np.int64)
        nothing = np.zeros((problem.n_cells, atoms.gains.shape[1]))
        return CellAtoms(nothing, np.empty((problem.n_cells, 0)), cells, mass, n_tasks)
    atoms = atoms._replace(gains=np.zeros_like(atoms.gains), features=problem.posterior)
    if atoms.mass.size <= _MOST_ATOMS:
        return atoms
    step = -(-atoms.mass.size // _MOST_ATOMS)
    some = atoms.some(np.argsort(atoms.cell, kind="stable")[::step])
    whole = np.bincount(atoms.cell, weights=atoms.mass, minlength=problem.n_cells)
    seen = np.bincount(some.cell, weights=some.mass, minlength=problem.n_cells)
    return some._replace(mass=some.mass * (whole / np.where(seen > 0, seen, 1.0))[some.cell])
