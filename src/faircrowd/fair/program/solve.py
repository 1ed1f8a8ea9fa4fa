"""Any number of classes and groups, problem to labels: the linear program, then whole tasks."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import OptionError
from faircrowd.exact.hashing import draw, task_keys
from faircrowd.fair.objective import Gain
from faircrowd.fair.program.assign import (
    apart_from,
    atom_labels,
    atom_law,
    drawn_labels,
    free_labels,
    free_law,
    steps_of,
)
from faircrowd.fair.program.atoms import Atoms, merge
from faircrowd.fair.program.dual import margins, prices_of
from faircrowd.fair.program.many_tasks import MOST, solve_core
from faircrowd.fair.program.relaxed import Relaxed, solve_relaxed
from faircrowd.fair.program.rounding import round_counts
from faircrowd.fair.program.strict import strict_counts
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.population import Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import TIE, tie_widths
from faircrowd.votes.vocabulary import Codes

__all__ = ["solve_program"]

_SAME = 1e-12


def solve_program(
    problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int, strict: bool
) -> Solution:
    """Find the best labels within epsilon, and a bound on what any labels within it are worth."""
    if strict and problem.weights is not None:
        raise OptionError("strict=True counts tasks, and with sample_weight they count differently; leave one out.")
    free = problem.emit(free_labels, gain)
    tally = problem.tally(free, gain)
    if np.ptp(tally.rates, axis=0).max() <= epsilon:
        return _unchanged(problem, gain, free, tally.gain_of_labels(gain))
    if problem.weights is not None:
        return _solve_weights(problem, gain, epsilon, decision, random_state)
    mass = problem.sizes.astype(np.float64)
    atoms, relaxed = solve_core(problem, gain, epsilon)
    ties = _tie_weights(atoms, mass, relaxed)
    bound, solver, optimal = relaxed.bound, relaxed.solver, decision != "deterministic"
    prices = prices_of(relaxed.multipliers, mass)
    coins = (gain, prices, apart_from(atoms, mass, relaxed.multipliers, relaxed.fractions))
    law = partial(problem.emit, atom_law, *coins)
    if decision == "randomized":
        labels = problem.emit(drawn_labels, *coins, random_state)
        return Solution(labels, law, relaxed.multipliers, ties, gain, bound, bound, optimal, solver)
    if strict:
        if atoms.rest is not None:
            raise OptionError(f"strict=True is for up to {MOST:,} different tasks; leave it out.")
        kept = strict_counts(atoms, mass, relaxed, epsilon)
        counts = kept.counts
        value = float((counts * atoms.gains).sum() / mass.sum())
        bound, solver, optimal = kept.bound, f"{solver}, then integer program", kept.bound - value <= 1e-9
    else:
        counts = _rounded(atoms, mass, relaxed, epsilon)
    apart = apart_from(atoms, mass, relaxed.multipliers, counts / atoms.mass[:, None])
    where = np.searchsorted(atoms.hashes, apart.hashes)  # type: ignore[arg-type]
    steps = steps_of(problem, gain, prices, apart, counts[where], random_state)
    labels = problem.emit(atom_labels, gain, prices, apart, steps, random_state)
    return Solution(labels, law, relaxed.multipliers, ties, gain, bound, relaxed.bound, optimal, solver)


def _solve_weights(problem: Problem, gain: Gain, epsilon: float, decision: str, random_state: int) -> Solution:
    mass = problem.group_weights()
    atoms = merge(gain.of(problem.posterior), problem.group, problem.weights)
    relaxed = solve_relaxed(atoms, mass, epsilon)
    of_task = atoms.of_task
    assert of_task is not None  # noqa: S101 - merge gives it

    def law() -> NDArray[np.float64]:
        return np.asarray(relaxed.fractions[of_task])

    if decision == "randomized":
        labels = draw(law(), lambda rows: task_keys(problem.tasks, rows, random_state))
    else:  # whole counts mean nothing where tasks weigh differently
        labels = _spread_weight(problem, of_task, relaxed, random_state)
    ties, bound = _tie_weights(atoms, mass, relaxed), relaxed.bound
    optimal = decision != "deterministic"
    return Solution(labels, law, relaxed.multipliers, ties, gain, bound, bound, optimal, relaxed.solver)


def _unchanged(problem: Problem, gain: Gain, free: Codes, value: float) -> Solution:
    """Keep the labels without a constraint, which are within epsilon."""
    ties: TieWeights = {}
    (kinds,) = problem.gather(_tied_kinds, gain)
    for a, label, *marks in np.unique(kinds, axis=0).tolist():
        members = tuple(np.flatnonzero(marks).tolist())
        ties[a, members] = tuple(float(k == label) for k in members)
    zero = np.zeros((problem.n_groups, problem.n_classes))
    law = partial(problem.emit, free_law, gain)
    return Solution(free, law, zero, ties, gain, value, value, True, "nothing to change")


def _tied_kinds(tasks: Tasks, gain: Gain) -> tuple[NDArray[np.int64], ...]:
    """Return group, label and tied labels of tasks whose best labels are tied, each kind once."""
    gains, free = gain.of(tasks.posterior), free_labels(tasks, gain)
    tied = gains >= gains.max(axis=1, keepdims=True) - TIE
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    return (np.unique(np.column_stack([tasks.group[several], free[several], tied[several]]), axis=0),)


def _rounded(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed, epsilon: float) -> NDArray[np.int64]:
    """Round to whole counts; to those without a gap, if epsilon is less than a task and these are better."""
    counts = round_counts(atoms, mass, relaxed, epsilon)
    if epsilon == 0 or epsilon * mass.min() >= 1 or atoms.rest is not None:
        return counts
    even = round_counts(atoms, mass, solve_relaxed(atoms, mass, 0.0), 0.0)
    ranked = [(max(_gap(atoms, mass, c) - epsilon, _SAME), -float((c * atoms.gains).sum())) for c in (counts, even)]
    return counts if ranked[0] <= ranked[1] else even


def _gap(atoms: Atoms, mass: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    rates = [np.bincount(atoms.group, weights=column, minlength=mass.size) / mass for column in counts.T]
    return float(np.ptp(np.stack(rates, axis=1), axis=0).max())


def _spread_weight(problem: Problem, of_task: NDArray[np.int64], relaxed: Relaxed, random_state: int) -> Codes:
    """Label the tasks of each atom in turn, so that the weight of each label is its fraction to within one task."""
    best: Codes = np.argmax(relaxed.fractions, axis=1).astype(np.int32)
    labels: Codes = best[of_task]
    assert problem.weights is not None  # noqa: S101 - this is for weights
    mixed = np.flatnonzero(relaxed.fractions.max(axis=1) < 1.0)
    rows = np.flatnonzero(np.isin(of_task, mixed))
    rows = problem.ordered(rows, random_state, of_task[rows])
    for atom in mixed:
        own = rows[np.searchsorted(of_task[rows], atom) : np.searchsorted(of_task[rows], atom, side="right")]
        weights = problem.weights[own]
        middle = (np.cumsum(weights) - weights / 2) / weights.sum()
        place = np.searchsorted(np.cumsum(relaxed.fractions[atom]), middle, side="right")
        labels[own] = np.minimum(place, problem.n_classes - 1)
    return labels


def _tie_weights(atoms: Atoms, mass: NDArray[np.float64], relaxed: Relaxed) -> TieWeights:
    """Average the solution over the atoms of a group whose best classes are the same set: theorem recipe_multi."""
    margin, _ = margins(atoms, mass, relaxed.multipliers)
    prices = prices_of(relaxed.multipliers, mass)
    width = tie_widths(prices, mass / mass.sum())[atoms.group]
    several = np.flatnonzero(margin <= width)
    scores = atoms.gains[several] - prices[atoms.group[several]]
    best = scores >= scores.max(axis=1, keepdims=True) - width[several, None]
    sums: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}
    for j, marks in zip(several, best, strict=True):
        members = tuple(np.flatnonzero(marks).tolist())
        weights = atoms.mass[j] * relaxed.fractions[j, list(members)]
        at = (int(atoms.group[j]), members)
        sums[at] = sums.get(at, np.zeros(len(members))) + weights
    return {at: tuple((w / w.sum()).tolist()) for at, w in sums.items() if w.sum() > 0}
