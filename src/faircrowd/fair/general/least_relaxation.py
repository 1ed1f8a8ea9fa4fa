"""Constraints that cannot hold together: which ones clash, and the least relaxation of each that would do."""

from faircrowd.fair.general.best_fractions import least_violation
from faircrowd.fair.general.constrained_solve import ConstrainedProblem
from faircrowd.fair.general.row_matrix import make_rows
from faircrowd.fair.general.soft_dual import sample_of_cells

__all__ = ["Clash", "find_clash", "tightest_limit"]

_PRECISION = 1e-6
MOST_ATOMS = 20_000
"""Of more atoms, a sample tells about how far a constraint that weighs tasks by their posterior must be relaxed."""


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
        if ways:
            is_sampled = self.problem.rows.features.size and self.problem.atoms.mass.size > MOST_ATOMS
            return f"{told}: {', or '.join(ways)}{' (about)' * is_sampled}."
        two_sided = [str(constraints[c]) for c in self.numbers if not constraints[c].level_name]
        if two_sided:
            return f"{told}; {', '.join(two_sided)} has two limits, one of which must be relaxed."
        return f"{told}, and no limit of one of them alone would do."


def find_clash(problem: ConstrainedProblem) -> Clash:
    """Return which constraints cannot hold together; call it for a problem without a solution."""
    kept = list(range(len(problem.constraints)))
    for c in list(kept):
        rest = [other for other in kept if other != c]
        if rest and not _can_hold(problem, rest):
            kept = rest
    for together in (list(range(len(problem.constraints))), kept):  # what mends the whole list, or else the clash
        found = {c: _least_level(problem, together, c) for c in kept}
        levels = {c: level for c, level in found.items() if level is not None}
        if levels:
            break
    return Clash(problem, kept, levels)


def tightest_limit(problem: ConstrainedProblem, number: int) -> float | None:
    """Return the tightest limit of a constraint that can be kept together with the others; None if any can be.

    It is rounded to four digits, to the side that is easier to keep. Call it only if some limit can be kept.
    """
    constraint = problem.constraints[number]
    tightest = problem.with_level(number, 1.0 if constraint.is_floor else 0.0)
    everything = list(range(len(problem.constraints)))
    if _can_hold(tightest, everything):
        return None
    found = _least_level(tightest, everything, number)
    return None if found is None else float(constraint.easier(found))


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
    return loose


def _can_hold(problem: ConstrainedProblem, kept: list[int]) -> bool:
    """Return whether some of the constraints can hold together."""
    compared = [part for part in problem.compared if part.constraint in kept]
    rows = make_rows(compared, problem.grouped, problem.of_cell, problem.counted, problem.tasks.group.size)
    n_atoms = problem.atoms.mass.size
    atoms = problem.atoms._replace(features=problem.weighed_by(rows))
    if rows.features.size and n_atoms > MOST_ATOMS:
        atoms = sample_of_cells(atoms, problem.n_cells, MOST_ATOMS)
    return least_violation(atoms, rows, problem.n_cells).is_feasible
